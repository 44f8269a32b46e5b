"""A rotation matrix or a quaternion? The same free body in both, and how each drifts.

With R: x, R, P, L, 18 numbers for each body, Ṙ = [ω]× R. With q: x, q, P, L, 13 numbers, q̇ = ½ ω q. In both ω = R I⁻¹ Rᵀ L.
Finite steps drift from RᵀR = 1 in six ways, and from |q| = 1 in one, which a division corrects; a matrix that is no longer a
rotation also gives a wrong ω. The scene is the body itself; `compare` integrates it both ways with `dalembert.solve`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..integrate.solve import solve
from ..scene.checks import rotation_matrix
from ..scene.scene import Scene
from ..scene.shapes import Box
from ._common import require, require_ledger

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 20.0, "method": "dop853", "dt": 0.01, "frame_rate": 5.0}
STEP = 0.02  # s, of the comparison


def build(spin: float = 5.0) -> Scene:
    """A free box that spins at `spin` rad/s about an axis between its own."""
    scene = Scene("rotation drift", gravity=(0.0, 0.0, 0.0))
    scene.description = "a free body, integrated with a rotation matrix and with a quaternion"
    omega = spin / np.sqrt(14.0) * np.array([1.0, 2.0, 3.0])
    scene.add_body(
        "box", Box(0.4, 0.25, 0.1), mass=2.0, angular_velocity=omega, velocity=(0.1, 0.0, 0.0), color="#72b7b2"
    )
    return scene


@dataclass(frozen=True)
class Drift:
    """How one representation fared: rotations (times, 3, 3) as they are, worst ‖RᵀR − 1‖, evaluations, and seconds."""

    rotation: np.ndarray
    orthogonality: float
    numbers: int
    evaluations: int
    seconds: float


def _as_it_is(function: Any) -> Any:
    return function


@lru_cache(maxsize=4)
def _systems(mass: float, moments: tuple[float, float, float], compiled: bool) -> tuple[Any, Any]:
    """f(t, y) with 18 and with 13 numbers, for principal moments (kg m²) along the body's axes."""
    import numba

    i1, i2, i3 = moments
    brought: Callable[[Any], Any] = numba.njit if compiled else _as_it_is

    @brought
    def spin(r: Any, momentum: Any) -> Any:
        """R I⁻¹ Rᵀ L, for R by rows."""
        a = (r[0] * momentum[0] + r[3] * momentum[1] + r[6] * momentum[2]) / i1
        b = (r[1] * momentum[0] + r[4] * momentum[1] + r[7] * momentum[2]) / i2
        c = (r[2] * momentum[0] + r[5] * momentum[1] + r[8] * momentum[2]) / i3
        return (
            r[0] * a + r[1] * b + r[2] * c,
            r[3] * a + r[4] * b + r[5] * c,
            r[6] * a + r[7] * b + r[8] * c,
        )

    @brought
    def with_matrix(t: Any, y: Any) -> Any:
        out = np.zeros(18)
        x, y_, z = spin(y[3:12], y[15:18])
        for k in range(3):
            out[k] = y[12 + k] / mass
            out[3 + k] = y_ * y[9 + k] - z * y[6 + k]
            out[6 + k] = z * y[3 + k] - x * y[9 + k]
            out[9 + k] = x * y[6 + k] - y_ * y[3 + k]
        return out

    @brought
    def with_quaternion(t: Any, y: Any) -> Any:
        out = np.zeros(13)
        size = np.sqrt(y[3] * y[3] + y[4] * y[4] + y[5] * y[5] + y[6] * y[6])
        w, a, b, c = y[3] / size, y[4] / size, y[5] / size, y[6] / size
        r = np.empty(9)
        r[0], r[1], r[2] = 1 - 2 * (b * b + c * c), 2 * (a * b - w * c), 2 * (a * c + w * b)
        r[3], r[4], r[5] = 2 * (a * b + w * c), 1 - 2 * (a * a + c * c), 2 * (b * c - w * a)
        r[6], r[7], r[8] = 2 * (a * c - w * b), 2 * (b * c + w * a), 1 - 2 * (a * a + b * b)
        ox, oy, oz = spin(r, y[10:13])
        for k in range(3):
            out[k] = y[7 + k] / mass
        w, a, b, c = y[3], y[4], y[5], y[6]
        out[3] = -0.5 * (ox * a + oy * b + oz * c)
        out[4] = 0.5 * (ox * w + oy * c - oz * b)
        out[5] = 0.5 * (oy * w + oz * a - ox * c)
        out[6] = 0.5 * (oz * w + ox * b - oy * a)
        return out

    return with_matrix, with_quaternion


def compare(
    scene: Scene, times: np.ndarray, *, method: str = "rk4", dt: float = STEP, compiled: bool = False
) -> dict[str, Drift]:
    """Integrate the scene's body with a "matrix" and with a "quaternion", steps of `dt` (s), recorded at `times`.

    compiled : compile both systems by Numba first, for `seconds` that tell what each costs.
    """
    body = scene.bodies["box"]
    moments = np.diag(body.inertia)
    i1, i2, i3 = moments.tolist()
    with_matrix, with_quaternion = _systems(body.mass, (i1, i2, i3), compiled)
    spin = body.rotation @ body.inertia @ body.rotation.T @ body.angular_velocity
    momentum = body.mass * body.velocity
    starts = {
        "matrix": (with_matrix, np.concatenate([body.position, body.rotation.ravel(), momentum, spin])),
        "quaternion": (with_quaternion, np.concatenate([body.position, body.orientation, momentum, spin])),
    }
    results = {}
    for name, (function, start) in starts.items():
        if compiled:
            solve(function, start, 0.0, dt, method, dt=dt)  # outside the clock
        begin = time.perf_counter()
        solution = solve(function, start, times[0], times[-1], method, dt=dt, times=times)
        seconds = time.perf_counter() - begin
        if name == "matrix":
            rotations = solution.y[:, 3:12].reshape(-1, 3, 3)
        else:
            squares = np.sum(solution.y[:, 3:7] ** 2, axis=1)
            units = solution.y[:, 3:7] / np.sqrt(squares)[:, None]
            rotations = squares[:, None, None] * np.array([rotation_matrix(q) for q in units])
        defects = np.linalg.norm(rotations.transpose(0, 2, 1) @ rotations - np.eye(3), axis=(1, 2))
        results[name] = Drift(rotations, float(defects.max()), start.size, solution.evaluations, seconds)
    return results


def nearest_rotation(matrices: np.ndarray) -> np.ndarray:
    """(n, 3, 3): the rotations nearest to some matrices."""
    u, _, v = np.linalg.svd(matrices)
    return u @ v


def check(run: Simulation) -> None:
    """Both drift with the fifth power of the step, the quaternion less; both turn as the engine says, in as many calls."""
    trajectory = run.trajectory
    truth = np.array([rotation_matrix(q) for q in trajectory.orientation.values[:, 0]])
    coarse = compare(run.model.scene, trajectory.times)
    fine = compare(run.model.scene, trajectory.times, dt=0.5 * STEP)
    for name in ("matrix", "quaternion"):
        require(f"attitude by the {name}", nearest_rotation(fine[name].rotation), truth, 5e-5)
        ratio = coarse[name].orthogonality / fine[name].orthogonality
        require(f"fall of the drift of the {name}, as a power of the step", np.log2(ratio), 5.0, 0.2)
    require("calls", coarse["matrix"].evaluations, coarse["quaternion"].evaluations, 0.0)
    if not coarse["quaternion"].orthogonality < 0.5 * coarse["matrix"].orthogonality:
        raise AssertionError("the quaternion drifted as much as the matrix")
    require_ledger(run, energy=1e-11)
