"""Finds the contact that a step left unsolved: the residual of Coulomb's law at each contact, and the effective masses
there.

It is computed in plain NumPy from the tables after a step, and only if the step missed its tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..collide.tables import ISLANDS
from ..model.compile import Model
from ..model.tables import STATE_SIZE
from .points import Owners, impulses_of, owners_of, rows_of
from .solvers import DEFAULT

SYMMETRIC = np.array([[0, 3, 4], [3, 1, 5], [4, 5, 2]])  # where xx, yy, zz, xy, xz and yz stand
FAR_APART = 100.0  # masses in such a ratio are what makes a step hard
JAMMED = 100.0  # times the speed of a kinematic body: where bodies would have to be faster, they cannot give way to it
EXPLAINS = 0.1  # of the residual of the step: a contact with less than that is not its cause


@dataclass(frozen=True)
class WorstContact:
    """The contact with the largest residual of a step.

    a, b : names of bodies or obstacles. position : (3,) m. residual : m/s, of the natural map. force : N, that would close it
    within the step. heaviest, lightest : names of bodies of its island, whose masses (kg) are `heavy` and `light`. jams : the
    kinematic body that presses its island against what does not give way; empty if none does.
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
    jams: str = ""

    @property
    def ratio(self) -> float:
        """Of the masses of its island, 1 or more."""
        return self.heavy / self.light if self.light > 0.0 else np.inf

    def __str__(self) -> str:
        place = ", ".join(f"{x + 0.0:.4g}" for x in self.position)
        text = f"between {self.a!r} and {self.b!r} at ({place}) m"
        if self.jams:
            return f"{text}; the kinematic body {self.jams!r} presses bodies there against fixed ones"
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
    u_hat[:, 1:] += rows.bend[:, 1:]
    u_hat[:, 0] += compliance * rows.impulse[:, 0] + rows.bias + rows.friction * np.hypot(u_hat[:, 1], u_hat[:, 2])
    x = rows.impulse - u_hat / k
    found = np.linalg.norm(u_hat - k * project_dual(-x, rows.friction), axis=1)
    return np.where(known & np.isfinite(found), found, 0.0)


def velocities(model: Model, y: np.ndarray, kinematics: Any) -> tuple[np.ndarray, np.ndarray]:
    """v (m/s) and ω (rad/s, world axes) of all bodies and, last, of the world: (bodies + 1, 3) each, from a state vector; of
    kinematic bodies from the table `kinematics`."""
    count = len(model.body_names)
    parts, bodies = y[: STATE_SIZE * count].reshape(count, STATE_SIZE), model.tables["bodies"][:count]
    v, omega = np.zeros((count + 1, 3)), np.zeros((count + 1, 3))
    v[:-1] = parts[:, 7:10] * bodies.inverse_mass[:, None]
    inverse = bodies.inverse_inertia[:, SYMMETRIC]
    turned_back = _turn(parts[:, 3:7], parts[:, 10:13], -1.0)
    omega[:-1] = _turn(parts[:, 3:7], np.einsum("nij,nj->ni", inverse, turned_back), 1.0)
    moved = np.flatnonzero(bodies.inverse_mass == 0.0)
    v[moved], omega[moved] = kinematics.v[moved], kinematics.omega[moved]
    return v, omega


def _turn(q: np.ndarray, vectors: np.ndarray, sign: float) -> np.ndarray:
    """R x of vectors (n, 3) by unit quaternions (n, 4), or Rᵀ x with sign −1."""
    t = 2.0 * sign * np.cross(q[:, 1:], vectors)
    return vectors + q[:, :1] * t + sign * np.cross(q[:, 1:], t)


def worst_contact(
    collision: Any,
    model: Model,
    y: np.ndarray,
    kinematics: Any,
    response: np.ndarray,
    dt: float,
    compliance: np.ndarray | float = 0.0,
) -> WorstContact | None:
    """The contact with the largest residual of the step that led to the state y; None if there are no contacts.

    kinematics : the table of velocities, for kinematic bodies. response, compliance : (n,) 1/kg, of each contact in the
    direction of its normal, and of its surfaces. dt : s, of the step.
    """
    rows = rows_of(collision)
    if not len(rows) or not (response > 0.0).any():
        return None
    v, omega = velocities(model, y, kinematics)
    relative = v[rows.b] + np.cross(omega[rows.b], rows.arm_b) - v[rows.a] - np.cross(omega[rows.a], rows.arm_a)
    found = residuals(rows, np.einsum("nij,nj->ni", rows.frame.reshape(-1, 3, 3), relative), response, compliance)
    worst = int(np.argmax(found))
    owners = Owners(model.scene)
    a, b, _ = owners_of(rows[worst : worst + 1], collision, owners)
    own = _island_of(worst, collision)
    heavy, light = _extremes(rows[worst], own, collision, model)
    masses = model.tables["bodies"].mass
    jams = -1 if own is None else jamming_body(rows[own.first : own.end], model, y, v, omega)
    return WorstContact(
        owners.names[a[0]], owners.names[b[0]], rows.position[worst].copy(), float(found[worst]),
        float(found[worst] / (response[worst] * dt)) if response[worst] > 0.0 else 0.0,
        model.body_names[heavy], model.body_names[light], float(masses[heavy]), float(masses[light]),
        model.body_names[jams] if jams >= 0 else "",
    )  # fmt: skip


def _island_of(contact: int, collision: Any) -> Any:
    """The row of the island of a contact; None where it has none."""
    islands = collision.islands[: int(collision.counts[ISLANDS])]
    own = islands[(islands.first <= contact) & (contact < islands.end)]
    return own[0] if len(own) else None


def _extremes(row: Any, own: Any, collision: Any, model: Model) -> tuple[int, int]:
    """The heaviest and the lightest body that move freely, of a contact and its island."""
    masses = model.tables["bodies"].mass
    members = [body for body in (int(row.a), int(row.b)) if body < len(model.body_names)]
    if own is not None:
        members += collision.members[own.first_member : own.end_member].tolist()
    free = [body for body in members if masses[body] > 0.0] or members
    return max(free, key=lambda body: masses[body]), min(free, key=lambda body: masses[body])


# If bodies cannot give way to a kinematic one, no velocities satisfy all contacts, and the impulses z of the solver grow with
# each iteration, while they balance ever better on the bodies between. For velocities u at which no contact closes,
#
#     0 ≤ z · (J u + b) = (Jᵀ z) · u + z · b,    so    |u|_M ≥ −z · b / |Jᵀ z|_W,
#
# where b are the velocities that kinematic bodies give to the contacts. It is exact without friction, as z_n ≥ 0. If this
# speed is many times that of the kinematic bodies, they jam.


def jamming_body(rows: Any, model: Model, y: np.ndarray, v: np.ndarray, omega: np.ndarray) -> int:
    """The kinematic body that presses the bodies of the contacts `rows` against what does not give way; −1 if none does.

    v, omega : as `velocities` returns them.
    """
    count, bodies = len(model.body_names), model.tables["bodies"]
    moved = np.append(bodies.inverse_mass[:count] == 0.0, True)
    push, sums, turns = impulses_of(rows), np.zeros((count + 1, 3)), np.zeros((count + 1, 3))
    work = np.zeros(count + 1)
    for body, arm, sign in ((rows.a, rows.arm_a, -1.0), (rows.b, rows.arm_b, 1.0)):
        np.add.at(sums, body, sign * push)
        np.add.at(turns, body, sign * np.cross(arm, push))
        np.add.at(work, body, sign * np.einsum("ij,ij->i", push, v[body] + np.cross(omega[body], arm)))
    found = np.unique(np.concatenate([rows.a, rows.b]))
    free, pressing = found[~moved[found]], found[moved[found]]
    closing = -work[pressing].sum()
    if not len(free) or not closing > 0.0:
        return -1
    turned = _turn(y[: STATE_SIZE * count].reshape(count, STATE_SIZE)[free, 3:7], turns[free], -1.0)
    inverse = bodies.inverse_inertia[free][:, SYMMETRIC]
    square = (bodies.inverse_mass[free] * (sums[free] ** 2).sum(axis=1)).sum()
    square += np.einsum("ni,nij,nj->", turned, inverse, turned)
    speed = np.linalg.norm(v[pressing], axis=1).max() * np.sqrt(bodies.mass[free].sum())
    if closing <= JAMMED * speed * np.sqrt(square):
        return -1
    return int(pressing[np.argmin(work[pressing])])


def described(worst: WorstContact | None, residual: float, contacts: int) -> str:
    """Where the residual of a step (m/s) with so many contacts is, in words that follow it; nothing where it is not known."""
    if worst is None and contacts:
        return ""
    if worst is None or worst.residual < EXPLAINS * residual:
        return ", at a stop, dry friction or a motor of a joint"
    return f", {worst}"


def ways_out(settings: Any, worst: WorstContact | None, joint_coordinates: bool) -> str:
    """What a user may change. settings : `solvers.StepSettings`."""
    if worst is not None and worst.jams:
        return f"end the motion of {worst.jams!r}, or move it by a joint whose motor has a largest force"
    ways = [f"allow more iterations than {settings.iterations}", "a larger tolerance", "a smaller dt"]
    if settings.solver == DEFAULT and not joint_coordinates:
        ways.append('solver="interior_point"')
    if worst is not None and worst.ratio > FAR_APART:
        ways.append("masses that differ less")
    return ", ".join(ways[:-1]) + f" or {ways[-1]}"
