"""Queries of a tree from Python, behind one kernel (`query`); inverse kinematics, equilibria, linearization and normal
modes: the parts of `simulation.articulation.Articulation`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.c_function import DERIVATIVE, MEASURE
from ...core.jit import njit
from ...core.kernel import array, kernel, out
from ...core.math3 import load3, matvec, scale, store3
from ...core.simd import load, store
from ...linalg.block_matrix import load_3, store_3
from ...model.compile import compile_scene
from ...model.tree import Tree
from ...scene.checks import positive, real_array, unit_quaternion
from ...scene.scene import Scene
from ..kinematics import load9
from ..mechanism import Mechanism
from .dynamics import (
    accelerate,
    factorize,
    fill_jacobian,
    fill_matrix,
    inverse_dynamics,
    link_accelerations,
    momentum,
    solve,
)
from .kinematics import coordinate_rates, displace_coordinates, update_links
from .mechanism import JointMechanism

POSES, FORWARD, INVERSE, MATRIX, SOLVE, JACOBIAN, MOMENTUM, RATES, DISPLACED = range(9)


@kernel
def query(task: int, u: array(), w: array(), argument: array(), result: out(), tree: Tree) -> int:
    """Do a task at coordinates u and speeds w; returns 0, or 1 + the freedom without inertia.

    POSES : result = x, rotation, v, ω of each link (18 numbers).
    FORWARD : argument = gravity (3), efforts (m); result = ẇ. INVERSE : argument = gravity, ẇ; result = efforts.
    MATRIX : result = mass matrix (m × m). SOLVE : result = its inverse times the argument (m).
    JACOBIAN : argument = link, point in its frame (3); result (6 × m). RATES : result = u̇.
    DISPLACED : result = u after a displacement along the speeds, the argument (m).
    MOMENTUM : argument = a point; result = mass, Σ m x, P, L about it.
    """
    update_links(u, w, tree)
    limp = -1
    if task == POSES:
        store_links(result, tree)
    elif task == FORWARD:
        apply_gravity(load_3(argument, 0), tree)
        copy_part(argument, 3, tree.efforts)
        limp = accelerate(tree)
        copy_part(tree.rates, 0, result)
    elif task == INVERSE:
        apply_gravity(load_3(argument, 0), tree)
        rates = tree.rates
        copy_part(argument, 3, rates)
        link_accelerations(rates, tree)
        inverse_dynamics(rates, result, tree)
    elif task == MATRIX:
        fill_matrix(tree)
        copy_part(tree.matrix, 0, result)
    elif task == SOLVE:
        fill_matrix(tree)
        limp = factorize(tree)
        copy_part(argument, 0, result)
        if limp < 0:
            solve(result, 0, tree)
    elif task == JACOBIAN:
        node = int(load(argument, 0))
        arm = matvec(load9(tree.motion[node].rotation), load_3(argument, 1))
        fill_jacobian(node, arm, result, tree)
    elif task == MOMENTUM:
        mass, first, total, turning = momentum(load_3(argument, 0), tree)
        store(result, 0, mass)
        store_3(result, 1, first)
        store_3(result, 4, total)
        store_3(result, 7, turning)
    elif task == RATES:
        coordinate_rates(u, w, result, tree)
    else:
        copy_part(u, 0, result)
        displace_coordinates(result, 1.0, argument, tree)
    return 1 + limp


@njit
def copy_part(source, at, target):
    """target = source[at : at + target.size]."""
    for k in range(target.shape[0]):
        store(target, k, load(source, at + k))


@njit
def store_links(out, tree):
    """x, rotation, v, ω of each link, 18 numbers, into out."""
    motion = tree.motion
    for i in range(motion.shape[0]):
        own, at = motion[i], 18 * i
        store_3(out, at, load3(own.x))
        for k in range(9):
            store(out, at + 3 + k, own.rotation[k])
        store_3(out, at + 12, load3(own.v))
        store_3(out, at + 15, load3(own.omega))


@njit
def apply_gravity(gravity, tree):
    """Set the forces on all links to their weights."""
    motion, nodes = tree.motion, tree.nodes
    for i in range(nodes.shape[0]):
        store3(motion[i].force, scale(nodes[i].mass, gravity))
        store3(motion[i].torque, (0.0, 0.0, 0.0))


# Inverse kinematics ----------------------------------------------------------------------------------------------------


Vector = NDArray[np.float64]
ITERATIONS = 200
FIRST_DAMPING = 1e-3  # of the largest diagonal entry of JᵀJ
DAMPING_FALLS, DAMPING_GROWS = 0.2, 5.0  # factors after a step that reduced the error, and after one that did not
LEAST_DAMPING, MOST_DAMPING = 1e-15, 1e12  # below, Gauss–Newton to rounding; above, steps too short to matter
LEAST_SQUARE = 1e-12  # (m or rad)²: scale of the damping where no speed moves the targets


class InverseKinematics:
    """The part of `Articulation` about inverse kinematics."""

    speeds: tuple[str, ...]
    pose: Callable[..., tuple[Vector, Vector]]
    jacobian: Callable[..., Vector]
    displaced: Callable[..., Vector]

    def inverse_kinematics(
        self, start: ArrayLike, targets: Mapping[str, ArrayLike | tuple[ArrayLike, ArrayLike]], *,
        points: Mapping[str, ArrayLike] | None = None, tolerance: float = 1e-9,
    ) -> Vector:  # fmt: skip
        """Coordinates near `start` that bring bodies or links to their targets.

        targets : name → position (3,) m, world axes, of the centre of mass or of `points[name]` (body frame); or
            (position, quaternion (w, x, y, z), body → world), where position None leaves the position free.
        tolerance : largest error, m and rad.

        Uses the Levenberg–Marquardt method on displacements along the speeds. Raises ValueError, with the smallest
        error found, if no coordinates near the start reach the targets.
        """
        if not isinstance(targets, Mapping):
            raise TypeError(
                f"inverse kinematics: targets is {targets!r:.80}; give (start, targets), with targets={{name: position}}"
            )
        limit = positive("inverse kinematics", "tolerance", tolerance, "m, rad")
        goals = [self._target(name, target, points or {}) for name, target in targets.items()]
        u = np.array(start, float)
        error, jacobian = self._miss(u, goals)
        damping = FIRST_DAMPING
        for _ in range(ITERATIONS):
            if np.abs(error).max(initial=0.0) <= limit:
                return u
            square = jacobian.T @ jacobian
            size = max(float(np.diag(square).max(initial=0.0)), LEAST_SQUARE)
            change = np.linalg.solve(square + damping * size * np.eye(len(square)), jacobian.T @ error)
            tried = self.displaced(u, change)
            left, next_jacobian = self._miss(tried, goals)
            if left @ left < error @ error:
                u, error, jacobian, damping = tried, left, next_jacobian, max(DAMPING_FALLS * damping, LEAST_DAMPING)
            elif damping > MOST_DAMPING:
                break
            else:
                damping *= DAMPING_GROWS
        raise ValueError(
            f"inverse kinematics: no coordinates near the start reach {', '.join(targets)}; the smallest error is "
            f"{np.abs(error).max():.3g}; try another start, or a target within reach"
        )

    def _target(self, name: str, target: Any, points: Mapping[str, ArrayLike]) -> tuple[str, Any, Any, Vector]:
        from scipy.spatial.transform import Rotation  # here and below, as it is slow to load

        position, orientation = target if isinstance(target, tuple) and len(target) == 2 else (target, None)
        point = real_array(name, "point", points.get(name, (0.0, 0.0, 0.0)), (3,))
        if position is not None:
            position = real_array(name, "target", position, (3,))
        turned = None
        if orientation is not None:
            w, x, y, z = unit_quaternion(name, "target orientation", orientation)
            turned = Rotation.from_quat([x, y, z, w])
        if position is None and turned is None:
            raise ValueError(f"target of {name!r}: it has neither position nor orientation; give at least one")
        return name, position, turned, point

    def _miss(self, u: Vector, goals: list[tuple[str, Any, Any, Vector]]) -> tuple[Vector, Vector]:
        """The errors to the targets (m, rad), and their Jacobian on displacements along the speeds."""
        from scipy.spatial.transform import Rotation

        errors, rows = [np.zeros(0)], [np.zeros((0, len(self.speeds)))]
        for name, position, turned, point in goals:
            x, rotation = self.pose(u, name)
            jacobian = self.jacobian(u, name, point)
            if position is not None:
                errors.append(position - x - rotation @ point)
                rows.append(jacobian[:3])
            if turned is not None:
                errors.append((turned * Rotation.from_matrix(rotation).inv()).as_rotvec())
                rows.append(jacobian[3:])
        return np.concatenate(errors), np.concatenate(rows)


# Equilibria, and small motions about a state ---------------------------------------------------------------------------
#
# All forces of the scene act, and loops stay closed. Displacements from a state are along the speeds: of quaternions they
# are rotation vectors. Derivatives are central differences of two steps, extrapolated, with relative errors of about 1e-9.


STEP = 1e-3  # m or rad, of the differences: truncation O(STEP⁴) and rounding are about equal
EQUILIBRIUM_ITERATIONS = 100
LONGEST = 0.5  # m or rad: the largest displacement of a Newton step
SHORTEST = 1e-6  # the share of a Newton step after which halving gives up
LINEAR_RANK, LOOP_RANK = 1e-12, 1e-9  # relative: smaller singular values of slopes, and of the rates of loops, are zero


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
        """The scene in joint coordinates, compiled once."""
        if self.scene.particles:
            raise ValueError(
                f"scene {self.scene.name!r}: particles have no joint coordinates; use a scene without particles"
            )
        model = compile_scene(self.scene, hubs=False, coordinates="joint")
        return JointMechanism(model, Mechanism(model.system()))

    def accelerations(
        self, u: ArrayLike, w: ArrayLike, efforts: ArrayLike | None = None, *, time: float = 0.0
    ) -> Vector:
        """(m,) ẇ under all forces of the scene, its loop constraints, and efforts (N, N m) along the speeds, at a time
        (s).

        Raises ValueError if the equations have no solution.
        """
        own, n, m = self._mechanism, len(self.coordinates), len(self.speeds)
        z = own.z.copy()
        z[:n], z[n : n + m] = real_array("coordinates", "u", u, (n,)), real_array("speeds", "w", w, (m,))
        own.efforts[:] = 0.0 if efforts is None else real_array("efforts", "τ", efforts, (m,))
        out = np.zeros(own.size)
        status = own.call(DERIVATIVE, time, z, out)
        own.efforts[:] = 0.0
        if status:
            raise ValueError(f"scene {self.scene.name!r}: no accelerations at this state (status {status})")
        return out[n : n + m]

    def equilibrium(self, start: ArrayLike, *, tolerance: float = 1e-10) -> Vector:
        """Coordinates near `start` at which the scene is at rest: accelerations are at most `tolerance` times those at
        the start.

        Uses Newton's method on the accelerations at zero speed; steps are halved until the accelerations decrease.
        Raises ValueError if it finds no equilibrium.
        """
        u = np.array(real_array("coordinates", "u", start, (len(self.coordinates),)))
        still = np.zeros(len(self.speeds))
        value = self.accelerations(u, still)
        goal = tolerance * max(float(np.abs(value).max(initial=0.0)), 1.0)
        for _ in range(EQUILIBRIUM_ITERATIONS):
            if np.abs(value).max(initial=0.0) <= goal:
                return u
            slope = self._slope(u, still)
            free = self._free_directions(u)
            change = free @ np.linalg.lstsq(slope @ free, -value, rcond=LINEAR_RANK)[0]
            change *= min(1.0, LONGEST / max(float(np.abs(change).max()), 1e-300))
            length = 1.0
            while length > SHORTEST:
                tried = self.displaced(u, length * change)
                trial = self.accelerations(tried, still)
                if np.linalg.norm(trial) < np.linalg.norm(value):
                    break
                length *= 0.5
            else:
                break
            u, value = tried, trial
        raise ValueError(
            f"scene {self.scene.name!r}: no equilibrium near the start; the largest acceleration left is "
            f"{np.abs(value).max():.3g}; try another start"
        )

    def linearize(self, u: ArrayLike, w: ArrayLike, *, time: float = 0.0) -> tuple[Vector, Vector]:
        """(A, B) of ẋ = A x + B τ about a state: x = (displacement along the speeds, change of w), τ efforts along the
        speeds.

        A (2 m, 2 m); B (2 m, m). About a state of rest, A is [0 1; −M⁻¹ K, −M⁻¹ C].
        """
        position, speed = np.array(u, float), np.array(w, float)
        m = len(self.speeds)
        a, b = np.zeros((2 * m, 2 * m)), np.zeros((2 * m, m))
        a[:m, m:] = np.eye(m)
        a[:m, :m] = self._drift(position, speed)
        a[m:, :m] = self._slope(position, speed, time)
        a[m:, m:] = _differences(lambda d: self.accelerations(position, speed + d, time=time), m)
        b[m:] = _differences(lambda d: self.accelerations(position, speed, d, time=time), m)
        return a, b

    def normal_modes(self, u: ArrayLike) -> Modes:
        """The undamped normal modes about an equilibrium, K φ = ω² M φ, for displacements that the loop constraints
        allow.
        """
        from scipy.linalg import eigh  # here and below, as it is slow to load

        position = np.array(u, float)
        still = np.zeros(len(self.speeds))
        free = self._free_directions(position)
        mass = free.T @ self.mass_matrix(position) @ free
        rates = np.linalg.lstsq(free, self._slope(position, still) @ free, rcond=None)[0]
        stiffness = -mass @ rates
        squares, shapes = eigh(0.5 * (stiffness + stiffness.T), mass)
        return Modes(squares, free @ shapes)

    def _slope(self, u: Vector, w: Vector, time: float = 0.0) -> Vector:
        """∂ẇ of displacements along the speeds."""
        return _differences(lambda d: self.accelerations(self.displaced(u, d), w, time=time), len(self.speeds))

    def _drift(self, u: Vector, w: Vector) -> Vector:
        """∂(rates of displacements)/∂(displacements) at fixed speeds, which is not zero for rotation vectors.

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
            own.call(MEASURE, 0.0, z, out)
            columns.append(own.system.rates.copy())
        return np.asarray(null_space(np.stack(columns, axis=1), rcond=LOOP_RANK))


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
