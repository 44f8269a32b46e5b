"""Which contact a step left unsolved: the residual of Coulomb's law at each contact, and the masses that it acts between.

This is computed in plain NumPy from what a step left behind, and only where a step missed its tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..collide.tables import ISLANDS
from ..model.compile import Model
from ..model.tables import STATE_SIZE
from .points import Owners, owners_of, rows_of
from .solvers import DEFAULT

SYMMETRIC = np.array([[0, 3, 4], [3, 1, 5], [4, 5, 2]])  # where xx, yy, zz, xy, xz and yz stand
FAR_APART = 100.0  # masses in such a ratio are what makes a step hard
EXPLAINS = 0.1  # of the residual of the step: a contact with less than that is not its cause


@dataclass(frozen=True)
class WorstContact:
    """The contact with the largest residual of a step.

    a, b : names of bodies or obstacles. position : (3,) m. residual : m/s, of the natural map. force : N, that would close it
    within the step. heaviest, lightest : names of bodies of its island, whose masses (kg) are `heavy` and `light`.
    """

    a: str
    b: str
    position: np.ndarray
    residual: float
    force: float
    heaviest: str
    lightest: str
    heavy: float
    light: float

    @property
    def ratio(self) -> float:
        """Of the masses of its island, 1 or more."""
        return self.heavy / self.light if self.light > 0.0 else np.inf

    def __str__(self) -> str:
        place = ", ".join(f"{x + 0.0:.4g}" for x in self.position)
        text = f"between {self.a!r} and {self.b!r} at ({place}) m"
        if self.ratio > FAR_APART:
            text += (
                f"; masses there are 1:{self.ratio:.3g} (from {self.light:.3g} kg, {self.lightest!r}, to {self.heavy:.3g} "
                f"kg, {self.heaviest!r})"
            )
        return text


def project_dual(x: np.ndarray, friction: np.ndarray) -> np.ndarray:
    """The nearest points to x (n, 3) of the cones x_n ≥ μ |x_t|, which are dual to those of friction."""
    tangent = np.hypot(x[:, 1], x[:, 2])
    along = (friction * x[:, 0] + tangent) / (1.0 + friction**2)
    share = np.where(tangent > 0.0, along / np.where(tangent > 0.0, tangent, 1.0), 0.0)
    onto = np.stack([friction * along, share * x[:, 1], share * x[:, 2]], axis=1)
    onto[along <= 0.0] = 0.0
    return np.where((x[:, 0] >= friction * tangent)[:, None], x, onto)


def residuals(rows: Any, u: np.ndarray, response: np.ndarray, compliance: np.ndarray | float = 0.0) -> np.ndarray:
    """(n,) m/s: the natural map of Coulomb's law, as `cone.natural_map` has it. u : (n, 3) relative velocities in the frames
    of the contacts. response, compliance : (n,) 1/kg, in the direction of the normal; contacts without response have no
    residual."""
    known = response > 0.0
    response = response + compliance
    k = np.where(known, response, 1.0)[:, None]
    u_hat = u.copy()
    u_hat[:, 0] += compliance * rows.impulse[:, 0] + rows.bias + rows.friction * np.hypot(u[:, 1], u[:, 2])
    x = rows.impulse - u_hat / k
    found = np.linalg.norm(u_hat - k * project_dual(-x, rows.friction), axis=1)
    return np.where(known & np.isfinite(found), found, 0.0)


def velocities(model: Model, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """v (m/s) and ω (rad/s, world axes) of all bodies and, last, of the world: (bodies + 1, 3) each, from a state vector."""
    count = len(model.body_names)
    parts, bodies = y[: STATE_SIZE * count].reshape(count, STATE_SIZE), model.tables["bodies"][:count]
    v, omega = np.zeros((count + 1, 3)), np.zeros((count + 1, 3))
    v[:-1] = parts[:, 7:10] * bodies.inverse_mass[:, None]
    inverse = bodies.inverse_inertia[:, SYMMETRIC]
    turned_back = _turn(parts[:, 3:7], parts[:, 10:13], -1.0)
    omega[:-1] = _turn(parts[:, 3:7], np.einsum("nij,nj->ni", inverse, turned_back), 1.0)
    return v, omega


def _turn(q: np.ndarray, vectors: np.ndarray, sign: float) -> np.ndarray:
    """R x of vectors (n, 3) by unit quaternions (n, 4), or Rᵀ x with sign −1."""
    t = 2.0 * sign * np.cross(q[:, 1:], vectors)
    return vectors + q[:, :1] * t + sign * np.cross(q[:, 1:], t)


def worst_contact(
    collision: Any, model: Model, y: np.ndarray, response: np.ndarray, dt: float, compliance: np.ndarray | float = 0.0
) -> WorstContact | None:
    """The contact with the largest residual of the step that led to the state y; None if there are no contacts.

    response, compliance : (n,) 1/kg, of each contact in the direction of its normal, and of its surfaces. dt : s, of the
    step.
    """
    rows = rows_of(collision)
    if not len(rows) or not (response > 0.0).any():
        return None
    v, omega = velocities(model, y)
    relative = v[rows.b] + np.cross(omega[rows.b], rows.arm_b) - v[rows.a] - np.cross(omega[rows.a], rows.arm_a)
    found = residuals(rows, np.einsum("nij,nj->ni", rows.frame.reshape(-1, 3, 3), relative), response, compliance)
    worst = int(np.argmax(found))
    owners = Owners(model.scene)
    a, b, _ = owners_of(rows[worst : worst + 1], collision, owners)
    heavy, light = _extremes(collision, model, worst)
    masses = model.tables["bodies"].mass
    return WorstContact(
        owners.names[a[0]], owners.names[b[0]], rows.position[worst].copy(), float(found[worst]),
        float(found[worst] / (response[worst] * dt)) if response[worst] > 0.0 else 0.0,
        model.body_names[heavy], model.body_names[light], float(masses[heavy]), float(masses[light]),
    )  # fmt: skip


def _extremes(collision: Any, model: Model, contact: int) -> tuple[int, int]:
    """The heaviest and the lightest body of the island of a contact."""
    islands = collision.islands[: int(collision.counts[ISLANDS])]
    own = islands[(islands.first <= contact) & (contact < islands.end)]
    row, world = rows_of(collision)[contact], len(model.body_names)
    members = [body for body in (int(row.a), int(row.b)) if body < world]
    if len(own):
        members += collision.members[own[0].first_member : own[0].end_member].tolist()
    masses = model.tables["bodies"].mass
    return max(members, key=lambda body: masses[body]), min(members, key=lambda body: masses[body])


def described(worst: WorstContact | None, residual: float, contacts: int) -> str:
    """Where the residual of a step (m/s) with so many contacts is, in words that follow it; nothing where it is not known."""
    if worst is None and contacts:
        return ""
    if worst is None or worst.residual < EXPLAINS * residual:
        return ", at a stop, dry friction or a motor of a joint"
    return f", {worst}"


def ways_out(settings: Any, worst: WorstContact | None, joint_coordinates: bool) -> str:
    """What a user may change. settings : `solvers.StepSettings`."""
    ways = [f"allow more iterations than {settings.iterations}", "a larger tolerance", "a smaller dt"]
    if settings.solver == DEFAULT and not joint_coordinates:
        ways.append('solver="interior_point"')
    if worst is not None and worst.ratio > FAR_APART:
        ways.append("masses that are nearer to each other")
    return ", ".join(ways[:-1]) + f" or {ways[-1]}"
