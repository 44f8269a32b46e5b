"""Equilibria of a scene in joint coordinates, and small motions about a state: all forces of the scene act, loops are held.

Displacements from a state are along the speeds: of quaternions they are rotation vectors. Derivatives are central differences
of two steps, extrapolated, good to about 1e-9 of the size of what is differentiated.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..mechanics.mechanism import Mechanism
from ..model.compile import compile_scene
from ..pointer import DERIVATIVE, MEASURE
from ..scene.checks import real_array
from ..scene.scene import Scene
from .driver import JointMechanism

Vector = NDArray[np.float64]
STEP = 1e-3
ITERATIONS = 100


class Modes(NamedTuple):
    """Normal modes: squares of the angular frequencies (rad²/s²; negative where the motion grows), least first, and their
    shapes (m, modes), displacements along the speeds, of unit modal mass."""

    squares: Vector
    shapes: Vector

    @property
    def frequencies(self) -> Vector:
        """Hz; NaN where the motion grows."""
        with np.errstate(invalid="ignore"):
            return np.sqrt(self.squares) / (2.0 * np.pi)


class SmallMotions:
    """The part of `Articulation` about equilibria and small motions."""

    scene: Scene
    coordinates: tuple[str, ...]
    speeds: tuple[str, ...]
    mass_matrix: Callable[..., Vector]
    displaced: Callable[..., Vector]

    @functools.cached_property
    def _mechanism(self) -> JointMechanism:
        if self.scene.particles:
            raise ValueError(
                f"scene {self.scene.name!r}: its particles are no coordinates; ask this of a scene without"
            )
        model = compile_scene(self.scene, hubs=False, coordinates="joint")
        return JointMechanism(model, Mechanism(model.system()))

    def accelerations(
        self, u: ArrayLike, w: ArrayLike, efforts: ArrayLike | None = None, *, time: float = 0.0
    ) -> Vector:
        """(m,) ẇ under all forces of the scene, with its loops held, and efforts (N, N m) along the speeds at a time (s).

        Raises ValueError where it cannot be found.
        """
        own, n, m = self._mechanism, len(self.coordinates), len(self.speeds)
        z = own.z.copy()
        z[:n], z[n : n + m] = real_array("coordinates", "u", u, (n,)), real_array("speeds", "w", w, (m,))
        own.efforts[:] = 0.0 if efforts is None else real_array("efforts", "τ", efforts, (m,))
        out = np.zeros(own.size)
        status = own.perform(DERIVATIVE, time, z, out)
        own.efforts[:] = 0.0
        if status:
            raise ValueError(f"scene {self.scene.name!r}: no accelerations at this state (status {status})")
        return out[n : n + m]

    def equilibrium(self, start: ArrayLike, *, tolerance: float = 1e-10) -> Vector:
        """Coordinates near `start` at which everything can rest: accelerations within `tolerance` of those at the start.

        By Newton's method on accelerations at rest, with steps halved until they fall. Raises ValueError where there are none
        near by.
        """
        u = np.array(real_array("coordinates", "u", start, (len(self.coordinates),)))
        still = np.zeros(len(self.speeds))
        value = self.accelerations(u, still)
        goal = tolerance * max(float(np.abs(value).max(initial=0.0)), 1.0)
        for _ in range(ITERATIONS):
            if np.abs(value).max(initial=0.0) <= goal:
                return u
            slope = self._slope(u, still)
            free = self._free_directions(u)
            change = free @ np.linalg.lstsq(slope @ free, -value, rcond=1e-12)[0]
            change *= min(1.0, 0.5 / max(float(np.abs(change).max()), 1e-300))
            length = 1.0
            while length > 1e-6:
                tried = self.displaced(u, length * change)
                found = self.accelerations(tried, still)
                if np.linalg.norm(found) < np.linalg.norm(value):
                    break
                length *= 0.5
            else:
                break
            u, value = tried, found
        raise ValueError(
            f"scene {self.scene.name!r}: no equilibrium near the start; what is left of accelerations is "
            f"{np.abs(value).max():.3g}; try another start"
        )

    def linearize(self, u: ArrayLike, w: ArrayLike, *, time: float = 0.0) -> tuple[Vector, Vector]:
        """(A, B) of ẋ = A x + B τ about a state: x = (displacement along the speeds, change of w), τ efforts along these.

        A (2 m, 2 m); B (2 m, m). About a state of rest, A is [0 1; −M⁻¹ K, −M⁻¹ C].
        """
        place, speed = np.array(u, float), np.array(w, float)
        m = len(self.speeds)
        a, b = np.zeros((2 * m, 2 * m)), np.zeros((2 * m, m))
        a[:m, m:] = np.eye(m)
        a[:m, :m] = self._drift(place, speed)
        a[m:, :m] = self._slope(place, speed, time)
        a[m:, m:] = _differences(lambda d: self.accelerations(place, speed + d, time=time), m)
        b[m:] = _differences(lambda d: self.accelerations(place, speed, d, time=time), m)
        return a, b

    def normal_modes(self, u: ArrayLike) -> Modes:
        """The normal modes about an equilibrium, without dampers: K φ = ω² M φ, along what loops leave free."""
        from scipy.linalg import eigh  # here and below, as it is slow to load

        place = np.array(u, float)
        still = np.zeros(len(self.speeds))
        free = self._free_directions(place)
        mass = free.T @ self.mass_matrix(place) @ free
        rates = np.linalg.lstsq(free, self._slope(place, still) @ free, rcond=None)[0]
        stiffness = -mass @ rates
        squares, shapes = eigh(0.5 * (stiffness + stiffness.T), mass)
        return Modes(squares, free @ shapes)

    def _slope(self, u: Vector, w: Vector, time: float = 0.0) -> Vector:
        """∂ẇ of displacements along the speeds."""
        return _differences(lambda d: self.accelerations(self.displaced(u, d), w, time=time), len(self.speeds))

    def _drift(self, u: Vector, w: Vector) -> Vector:
        """How the rates of displacements depend on these at fixed speeds: turns do, as their axes turn with each other.

        With the angular velocity ω in fixed axes, R turned by a small θ as (1 + θ×) R keeps Ṙ = ω× R if θ̇ = ω × θ.
        """
        a = np.zeros((len(self.speeds), len(self.speeds)))
        for first in self._mechanism.turns:
            x, y, z = w[first : first + 3]
            a[first : first + 3, first : first + 3] = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
        return a

    def _free_directions(self, u: Vector) -> Vector:
        """(m, k): displacements along the speeds that loops allow."""
        own, m = self._mechanism, len(self.speeds)
        if len(own.tables.wanted) == 0:
            return np.eye(m)
        from scipy.linalg import null_space

        columns = []
        z, out = own.z.copy(), np.zeros(own.size)
        for w in np.eye(m):
            z[: len(u)], z[len(u) : len(u) + m] = u, w
            own.perform(MEASURE, 0.0, z, out)
            columns.append(own.system.rates.copy())
        return np.asarray(null_space(np.stack(columns, axis=1), rcond=1e-9))


def _differences(function: Callable[[Vector], Any], size: int) -> Vector:
    """The derivative of a function of (size,) at zero, by central differences of h and h/2 extrapolated: error O(h⁴)."""
    columns = []
    for k in range(size):
        slopes = []
        for h in (STEP, 0.5 * STEP):
            d = np.zeros(size)
            d[k] = h
            slopes.append((function(d) - function(-d)) / (2.0 * h))
        columns.append((4.0 * slopes[1] - slopes[0]) / 3.0)
    return np.stack(columns, axis=1) if columns else np.zeros((0, 0))
