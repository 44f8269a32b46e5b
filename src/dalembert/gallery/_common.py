"""Common parts of the scenes: thin rods, comparisons, and equations of motion in reduced coordinates for checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..scene.body import Body
from ..scene.scene import Scene
from ..scene.shapes import Capsule

if TYPE_CHECKING:
    from ..simulation.simulation import Simulation

SLENDER = 1e-3  # moment of a thin rod about its own axis over that across it


def pointing(direction: ArrayLike) -> tuple[float, float, float, float]:
    """The shortest rotation, (w, x, y, z), that takes z to a direction."""
    x, y, z = np.asarray(direction, float) / np.linalg.norm(direction)
    if z < -1.0 + 1e-15:
        return (0.0, 1.0, 0.0, 0.0)
    w = float(np.sqrt(0.5 * (1.0 + z)))
    return (w, float(-y / (2.0 * w)), float(x / (2.0 * w)), 0.0)


def thin_rod(
    scene: Scene, name: str, start: ArrayLike, end: ArrayLike, mass: float, *, radius: float = 0.02, **fields: Any
) -> Body:
    """A uniform thin rod from `start` to `end` (m), m l²/12 across; `radius` is that of its picture."""
    a, b = np.asarray(start, float), np.asarray(end, float)
    length = float(np.linalg.norm(b - a))
    across = mass * length**2 / 12.0
    return scene.add_body(
        name, Capsule(radius, length), mass=mass, inertia=(across, across, SLENDER * across), position=0.5 * (a + b),
        orientation=pointing(b - a), **fields,
    )  # fmt: skip


def require(what: str, value: ArrayLike, reference: ArrayLike, tolerance: float) -> None:
    """Raise AssertionError unless `value` is within `tolerance` (absolute) of `reference` everywhere."""
    error = float(np.abs(np.asarray(value, float) - np.asarray(reference, float)).max())
    if not error <= tolerance:
        raise AssertionError(f"{what}: off by {error:.3g}, more than {tolerance:.3g}")


def require_ledger(run: Simulation, *, energy: float, joints: float = 1e-12, rates: float = 1e-10) -> None:
    """The error of the energy is `energy` of its scale at most; joints hold to `joints` (m) and `rates` (m/s)."""
    report = run.report
    require("energy error", report.energy_residual_relative, 0.0, energy)
    require("joint error", report.joint_error, 0.0, joints)
    require("joint velocity error", report.joint_velocity_error, 0.0, rates)


# A body that rolls over an edge or a curved face comes ½ κ v² h² too deep in a step, which position correction takes back:
# that lifts its weight, and is of the first order in h over a run. Bounds of scenes are up to twice what was measured.
def require_energy(run: Simulation, *, error: float, integration: float = 1e-10) -> None:
    """The error of the energy is `error` of its scale at most, and that part of it which neither projection nor constraints
    have made `integration`."""
    report = run.report
    require("energy error", report.energy_residual_relative, 0.0, error)
    require("energy error of the integration", report.integration_error / report.energy_scale, 0.0, integration)


def require_solved(run: Simulation, *, penetration: float) -> None:
    """Every step met the solver's tolerance, no overlap was more than `penetration` (m), and the energy has no error."""
    contact = run.report.contact
    assert contact is not None and contact.unsolved == 0, f"steps above the tolerance: {contact}"
    require("penetration", contact.penetration, 0.0, penetration)
    require_energy(run, error=1e-10)


def reaction_impulse(run: Simulation) -> np.ndarray:
    """(frames, 3) N s: what has been given so far by whatever holds or carries from outside: pins, joints to the world,
    obstacles."""
    from ..model.tables import LEDGER, REACTION_IMPULSE

    common = run.trajectory.state.values[:, -len(LEDGER) :]
    return np.asarray(common[:, REACTION_IMPULSE : REACTION_IMPULSE + 3])


def integrate(function: Callable[..., Any], start: ArrayLike, times: ArrayLike, **options: Any) -> Any:
    """SciPy's DOP853 at tight tolerance from times[0], where the state is `start`; the result's `y` is (n, times)."""
    from scipy.integrate import solve_ivp  # only checks need it, and it is slow to load

    t = np.asarray(times, float)
    result = solve_ivp(
        function, (t[0], t[-1]), start, method="DOP853", t_eval=t, **({"rtol": 1e-12, "atol": 1e-13} | options)
    )
    if result.status < 0:
        raise AssertionError(f"reference: {result.message}")
    return result


class PlanarTree:
    """The equations of motion of bodies in the x–z plane, hung on one another, in their absolute angles.

    Points are complex numbers x + i z. At angle θ (about +y, from z towards x) a body vector r is r exp(−iθ), so that
    every centre of mass is s + Σ_j r_ij exp(−iθ_j), with s the place of a sliding base. Then Σ m Re(p̄_a p̈) + I θ̈_a
    equals Σ m Re(p̄_a (−i g)) for each coordinate a, where p_a = ∂p/∂a (d'Alembert's principle).

    Parameters
    ----------
    masses : (n,) kg. vectors : (n, angles) complex, m. inertias : (angles,) kg m², about the centres of mass.
    base : mass of a base that slides along x (kg), its rolling wheels included; coordinate 0 is then its place.
    """

    def __init__(
        self, masses: ArrayLike, vectors: ArrayLike, inertias: ArrayLike, *, base: float | None = None,
        gravity: float = 9.81,
    ) -> None:  # fmt: skip
        self.masses, self.vectors = np.asarray(masses, float), np.asarray(vectors, complex)
        self.slides = int(base is not None)
        self.own = np.diag(np.concatenate([[] if base is None else [base], np.asarray(inertias, float)]))
        self.gravity = gravity

    def points(self, coordinates: np.ndarray) -> np.ndarray:
        """(n,) complex: the centres of mass."""
        place = coordinates[0] if self.slides else 0.0
        return place + self.vectors @ np.exp(-1j * coordinates[self.slides :])

    def velocities(self, coordinates: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """(n,) complex: their velocities."""
        return self._jacobian(self.vectors * np.exp(-1j * coordinates[self.slides :])) @ rates

    def _jacobian(self, turned: np.ndarray) -> np.ndarray:
        return np.concatenate([np.ones((len(turned), self.slides)), -1j * turned], axis=1)

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray:
        """The derivative of (coordinates, rates)."""
        coordinates, rates = np.split(y, 2)
        turned = self.vectors * np.exp(-1j * coordinates[self.slides :])
        jacobian = self._jacobian(turned)
        weighted = self.masses[:, None] * jacobian.conj()
        push = -1j * self.gravity + turned @ rates[self.slides :] ** 2
        matrix = self.own + (weighted.T @ jacobian).real
        return np.concatenate([rates, np.linalg.solve(matrix, (push @ weighted).real)])


def mobility(joints: Sequence[Any], bodies: int) -> int:
    """Grübler's count: 6 for each body less the rows of the joints."""
    return 6 * bodies - sum(joint.rows for joint in joints)
