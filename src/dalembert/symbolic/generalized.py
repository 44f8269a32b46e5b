"""`GeneralizedCoordinates`: poses of the bodies of a scene as expressions in the user's coordinates.

First the conversion of states of bodies to coordinates (`nearest`), then the C function that runs them (`placed_task`),
then orientations as expressions, and the class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core.c_function import (
    C_SIGNATURE,
    COMPLETE_EVALUATED,
    DERIVATIVE,
    EVENT,
    FORCES,
    MEASURE,
    RECORD,
    WRITE,
    call_pointer,
    viewer,
)
from ..core.jit import CFunction, njit
from ..core.math3 import add, congruence, cross, dot, from_matrix, load3, scale, store3, sub, symvec
from ..core.renamed import renamed_method
from ..core.simd import load, store
from ..core.tables import column, part, table_at
from ..dynamics.joint_space.mechanism import FORWARD_KINEMATICS, copy_tail_back
from ..dynamics.joint_space.state import copy_tail, momenta, record_projection
from ..dynamics.kinematics import load6, load9
from ..linalg.block_ldl import load_3x3
from ..linalg.block_matrix import load_3, store_3
from ..model.tables import STATE_SIZE, System
from ..scene.body import Body
from ..scene.checks import rotation_matrix
from ..scene.scene import Scene
from .constrained import FILL, Equations, accelerate, end_step, offsets, prepare, project
from .expressions import Constraints, Generated, Node, Variables, derivatives, dot_nodes, needed

# From states of bodies to generalized coordinates: the nearest poses, and the rates --------------------------------------


SEARCHES = 50  # Gauss–Newton steps, at most
Evaluate = Callable[[np.ndarray], np.ndarray]  # u → what `GeneralizedCoordinates.kinematics` returns


def parts(y: np.ndarray, bodies: int) -> np.ndarray:
    """(bodies, 13): (x, q, P, L) of each body, from a state vector."""
    return y[: STATE_SIZE * bodies].reshape(-1, STATE_SIZE)


def nearest(
    evaluate: Evaluate, bodies: Sequence[Body], states: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(u, u̇): the poses nearest to those of the bodies in the metric of the masses, by Newton's method from u, and the rates
    whose momenta are nearest. states : see `parts`."""
    u, previous = u.copy(), np.inf
    for _ in range(SEARCHES):
        jacobian, metric, missing, _ = _misfit(evaluate(u), bodies, states)
        square = float(np.einsum("bi,bij,bj", missing, metric, missing))
        if not square < previous:
            break
        previous = square
        u += _least_squares(jacobian, metric, missing)
    jacobian, metric, _, missing = _misfit(evaluate(u), bodies, states)
    return u, _least_squares(jacobian, metric, missing)


def _misfit(found: np.ndarray, bodies: Sequence[Body], states: np.ndarray) -> tuple[np.ndarray, ...]:
    """J, the metric of the masses, how far each body is from where u has it, and its velocity less the drift."""
    metric = np.zeros((len(bodies), 6, 6))
    missing, rates = np.zeros((len(bodies), 6)), np.zeros((len(bodies), 6))
    for b, body in enumerate(bodies):
        own, target = found[b, 3:12].reshape(3, 3), rotation_matrix(states[b, 3:7])
        metric[b, :3, :3] = body.mass * np.eye(3)
        metric[b, 3:, 3:] = own @ body.inertia @ own.T
        missing[b] = *(states[b, :3] - found[b, :3]), *turn_of(target @ own.T)
        spin = np.linalg.solve(target @ body.inertia @ target.T, states[b, 10:13])
        rates[b] = np.concatenate([states[b, 7:10] / body.mass, spin]) - found[b, 12:18]
    return found[:, 24:].reshape(len(bodies), 6, -1), metric, missing, rates


def turn_of(rotation: np.ndarray) -> np.ndarray:
    """The rotation vector of a rotation matrix, rad."""
    axial = 0.5 * np.array(
        [rotation[2, 1] - rotation[1, 2], rotation[0, 2] - rotation[2, 0], rotation[1, 0] - rotation[0, 1]]
    )
    sine = float(np.linalg.norm(axial))
    angle = np.arctan2(sine, 0.5 * (np.trace(rotation) - 1.0))
    return np.asarray(axial * (angle / sine if sine > 0.0 else 1.0))


def _least_squares(jacobian: np.ndarray, metric: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """The x for which J x is nearest to `missing`; the smallest where there are several."""
    weighted = np.einsum("bij,bjn->bin", metric, jacobian)
    mass = np.einsum("bim,bin->mn", jacobian, weighted)
    return np.asarray(np.linalg.lstsq(mass, np.einsum("bin,bi->n", weighted, missing), rcond=1e-13)[0])


# The C function --------------------------------------------------------------------------------------------------------
#
# The bodies of a scene in generalized coordinates; see `core.c_function` for its tasks. z = (u, v), then what the
# state of the mechanism has after its bodies: particles, turn counts of angles, the ledger.
#
# Generated code computes poses and Jacobians; forces are those of the mechanism whose state has bodies in it. With
# v = J u̇ + drift, v̇ = J ü + γ for both velocities of a body,
#
#     M = Σ Jᵀ (m, I) J,   f = Σ Jᵀ ((F, τ) − (m, I) γ − (0, ω × I ω)).


FIXED = 24  # numbers of a body before its Jacobian: x, R, drift and bias
OPTIONS = np.dtype([("address", "i8"), ("mechanism", "i8"), ("handle", "i8"), ("time", "f8")], align=True)
"""Addresses of the generated function and of the mechanism, what to hand that, and the time of the last whole step (s)."""


class Placed(NamedTuple):
    """A mechanism whose poses are computed by generated code."""

    options: Any = column("1", OPTIONS)
    equations: Any = part(Equations)
    system: Any = part(System)
    motion: Any = column(doc="results of the generated function: 24 + 6 n numbers a body, then constraints")
    y: Any = column(doc="the state of the mechanism")
    dydt: Any = column()


_floats = viewer(np.float64)
_addresses = viewer(np.int64)


@njit
def placed_task(task, t, z, dzdt, placed):
    """Do one of the tasks; returns a status."""
    if task == FILL:
        return fill(t, z, dzdt, placed)
    if task == FORWARD_KINEMATICS:
        load_inputs(z, placed)
        return forward_kinematics(t, placed.equations.inputs, placed)
    rows = placed.equations.plan[0].rows
    if task in (DERIVATIVE, MEASURE):
        load_inputs(z, placed)
        status = prepare(t, z, placed.equations)
    else:
        placed.options[0].time = t
        if task == COMPLETE_EVALUATED and rows == 0:
            end_step(placed.equations)
            return 0
        load_inputs(z, placed)
        status = prepare(t, z, placed.equations)
        if status == 0 and rows > 0:
            status = project_constraints(t, z, placed)
        if status == 0:
            end_step(placed.equations)
    return finish(t, z, dzdt, placed) if status == 0 else status


@njit
def load_inputs(z, placed):
    """Write the inputs of generated code, and the part of the mechanism's state after its bodies, from z."""
    n, inputs = placed.equations.plan[0].n, placed.equations.inputs
    for i in range(2 * n):
        inputs[i] = z[i]
    copy_tail(z, 2 * n, placed.y, STATE_SIZE * placed.system.settings[0].rigid)


@njit
def forward_kinematics(t, inputs, placed):
    """Poses and velocities of the bodies from u and v: the mechanism's state and its rows of the kinematics table. Returns a
    status."""
    motion, system, y = placed.motion, placed.system, placed.y
    n, bodies, kinematics = placed.equations.plan[0].n, system.bodies, system.kinematics
    status = call_pointer(placed.options[0].address, 0, DERIVATIVE, t, inputs, motion)
    for b in range(system.settings[0].rigid):
        at, kin = b * (FIXED + 6 * n), kinematics[b]
        rotation = load_3x3(motion, at + 3)
        v = velocity(motion, at + 12, at + FIXED, inputs, n, n)
        omega = velocity(motion, at + 15, at + FIXED + 3 * n, inputs, n, n)
        store3(kin.x, load_3(motion, at))
        for k in range(9):
            kin.rotation[k] = rotation[k]
        store3(kin.v, v)
        store3(kin.omega, omega)
        to = STATE_SIZE * b
        q = from_matrix(rotation)
        store_3(y, to, load_3(motion, at))
        for k in range(4):
            store(y, to + 3 + k, q[k])
        store_3(y, to + 7, scale(bodies[b].mass, v))
        store_3(y, to + 10, symvec(congruence(rotation, load6(bodies[b].inertia)), omega))
    return status


@njit
def velocity(motion, base, jacobian, rates, first, n):
    """Three rows of J times `rates` from `first`, plus three numbers at `base`."""
    x, y, z = load_3(motion, base)
    for i in range(n):
        rate = load(rates, first + i)
        x += load(motion, jacobian + i) * rate
        y += load(motion, jacobian + n + i) * rate
        z += load(motion, jacobian + 2 * n + i) * rate
    return (x, y, z)


@njit
def fill(t, inputs, values, placed):
    """M, f and the constraints, into `values`. Returns a status."""
    status = forward_kinematics(t, inputs, placed)
    if status == 0:
        status = call_pointer(placed.options[0].mechanism, placed.options[0].handle, FORCES, t, placed.y, placed.dydt)
    if status != 0:
        return status
    plan, motion = placed.equations.plan[0], placed.motion
    n, rigid = plan.n, placed.system.settings[0].rigid
    force, gap, _, _, _, end = offsets(n, plan.holonomic, plan.rows)
    for k in range(gap):
        store(values, k, 0.0)
    for b in range(rigid):
        add_body(b, n, values, force, placed)
    at = rigid * (FIXED + 6 * n)
    for k in range(end - gap):
        store(values, gap + k, load(motion, at + k))
    return 0


@njit
def add_body(b, n, values, force, placed):
    """The share of one body in M (its lower triangle) and f."""
    motion = placed.motion
    body, kin, at = placed.system.bodies[b], placed.system.kinematics[b], b * (FIXED + 6 * n)
    inertia, omega = congruence(load9(kin.rotation), load6(body.inertia)), load3(kin.omega)
    left = sub(load3(kin.force), scale(body.mass, load_3(motion, at + 18)))
    turning = add(symvec(inertia, load_3(motion, at + 21)), cross(omega, symvec(inertia, omega)))
    moment = sub(load3(kin.torque), turning)
    for i in range(n):
        v_i, w_i = column_at(motion, at + FIXED + i, n), column_at(motion, at + FIXED + 3 * n + i, n)
        p, spin = scale(body.mass, v_i), symvec(inertia, w_i)
        store(values, force + i, load(values, force + i) + dot(v_i, left) + dot(w_i, moment))
        for j in range(i + 1):
            v_j, w_j = column_at(motion, at + FIXED + j, n), column_at(motion, at + FIXED + 3 * n + j, n)
            store(values, i * n + j, load(values, i * n + j) + dot(p, v_j) + dot(spin, w_j))


@njit
def column_at(a, at, stride):
    """Three numbers, `stride` apart: a column of a Jacobian of three rows."""
    return (load(a, at), load(a, at + stride), load(a, at + 2 * stride))


@njit
def finish(t, z, dzdt, placed):
    """ż after `prepare`: rates, accelerations, and the rates of the mechanism for the rest. Returns a status."""
    equations = placed.equations
    n, step = equations.plan[0].n, equations.step
    accelerate(equations)
    for i in range(n):
        store(dzdt, i, load(z, n + i))
        store(dzdt, n + i, load(step, i))
    reactions(n, placed)
    call_pointer(placed.options[0].mechanism, placed.options[0].handle, WRITE, t, placed.y, placed.dydt)
    copy_tail_back(placed.dydt, STATE_SIZE * placed.system.settings[0].rigid, dzdt, 2 * n)
    return 0


@njit
def reactions(n, placed):
    """The constraint forces on each body, m v̇ − F and I ω̇ + ω × I ω − T, into the kinematics table."""
    system, motion, step = placed.system, placed.motion, placed.equations.step
    bodies, kinematics = system.bodies, system.kinematics
    for b in range(system.settings[0].rigid):
        kin, at = kinematics[b], b * (FIXED + 6 * n)
        inertia, omega = congruence(load9(kin.rotation), load6(bodies[b].inertia)), load3(kin.omega)
        acceleration = velocity(motion, at + 18, at + FIXED, step, 0, n)
        turning = velocity(motion, at + 21, at + FIXED + 3 * n, step, 0, n)
        moment = add(symvec(inertia, turning), cross(omega, symvec(inertia, omega)))
        store3(kin.linear, sub(scale(bodies[b].mass, acceleration), load3(kin.force)))
        store3(kin.angular, sub(moment, load3(kin.torque)))


@njit
def project_constraints(t, z, placed):
    """Project u and v onto the constraints; the change of energy and momenta goes to the ledger. Returns a status."""
    before = energy_and_momenta(t, placed)
    status = project(t, z, placed.equations)
    if status != 0:
        return status
    record_projection(z, before, energy_and_momenta(t, placed), placed.system)
    return 0


@njit
def energy_and_momenta(t, placed):
    """(energy (J), momentum, angular momentum about the origin) of bodies and particles, at the state that was prepared."""
    call_pointer(placed.options[0].mechanism, placed.options[0].handle, RECORD, t, placed.y, placed.dydt)
    total, turning = momenta(placed.y, placed.system)
    return placed.system.energies[0] + placed.system.energies[1], total, turning


# With EVENT `data` is the address of an event function of y, and after it that of the tables.
def bodies_in_coordinates(data, task, t, z, n, dzdt, m):
    if task == EVENT:
        at = _addresses(data, 2)
        placed = table_at(Placed, at[1])
        placed_task(FORWARD_KINEMATICS, t, _floats(z, n), _floats(z, n), placed)
        return call_pointer(at[0], 0, EVENT, t, placed.y, _floats(dzdt, m))
    return placed_task(task, t, _floats(z, n), _floats(dzdt, m), table_at(Placed, data))


PLACED_ENTRY = CFunction(bodies_in_coordinates, C_SIGNATURE)


# Orientations as nodes -------------------------------------------------------------------------------------------------
#
# Rotation matrices, row by row, from the forms that a user may write, and angular velocities from them.


Rotation = list[Node]  # nine


def rotation_of(what: str, orientation: Any, variables: Variables) -> Rotation:
    """From a 3 × 3 matrix, a quaternion (w, x, y, z), or (axis, angle), of which quaternion and axis need not be of unit
    length. Raises TypeError or ValueError that begin with `what`.
    """
    shape = getattr(orientation, "shape", None)
    if shape == (3, 3):
        entries = list(orientation) if not isinstance(orientation, np.ndarray) else orientation.ravel().tolist()
        return [variables.read(f"{what}, entry {k} of its matrix", entry) for k, entry in enumerate(entries)]
    if isinstance(orientation, str) or not hasattr(orientation, "__len__"):
        raise TypeError(f"{what} is {orientation!r}; give a matrix, a quaternion, or (axis, angle)")
    if len(orientation) == 4:
        return _of_quaternion(
            [variables.read(f"{what}, {name}", q) for name, q in zip("wxyz", orientation, strict=True)]
        )
    if len(orientation) == 2 and hasattr(orientation[0], "__len__") and len(orientation[0]) == 3:
        axis = [variables.read(f"{what}, axis", a) for a in orientation[0]]
        return _of_angle(axis, variables.read(f"{what}, angle", orientation[1]))
    raise ValueError(f"{what} is {orientation!r}; give a 3 × 3 matrix, a quaternion (w, x, y, z), or (axis, angle)")


def _of_quaternion(q: Sequence[Node]) -> Rotation:
    """1 + 2 (w [r]× + [r]×²)/|q|², r = (x, y, z)."""
    w, x, y, z = q
    s = 2.0 / dot_nodes(q, q)
    return [
        1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y),
        s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x),
        s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y),
    ]  # fmt: skip


def _of_angle(axis: Sequence[Node], angle: Node) -> Rotation:
    """Rodrigues: cos φ 1 + sin φ [n]× + (1 − cos φ) n nᵀ."""
    call = angle.graph.call
    length = call("sqrt", dot_nodes(axis, axis))
    x, y, z = (a / length for a in axis)
    c, s = call("cos", angle), call("sin", angle)
    rest = 1.0 - c
    return [
        c + rest * x * x, rest * x * y - s * z, rest * x * z + s * y,
        rest * x * y + s * z, c + rest * y * y, rest * y * z - s * x,
        rest * x * z - s * y, rest * y * z + s * x, c + rest * z * z,
    ]  # fmt: skip


def angular_velocity(rotation: Rotation, rate: Rotation) -> list[Node]:
    """ω, from [ω]× = Ṙ Rᵀ."""
    rows = [rotation[3 * k : 3 * k + 3] for k in range(3)]
    rates = [rate[3 * k : 3 * k + 3] for k in range(3)]
    return [dot_nodes(rates[2], rows[1]), dot_nodes(rates[0], rows[2]), dot_nodes(rates[1], rows[0])]


# The public class ------------------------------------------------------------------------------------------------------

NOT_A_ROTATION = 1e-9  # of R Rᵀ − 1: with a larger error R is not a rotation


class GeneralizedCoordinates:
    """Your own coordinates u for a scene: ``Simulation(scene, coordinates=GeneralizedCoordinates(...))``.

    Parameters
    ----------
    scene : its joints are not constraints here; they hold because the coordinates allow no other motion.
    coordinates, velocities, time, constraints, nonholonomic, parameters : see `Lagrangian`.
    place : name of a body → the position of its centre of mass (m), world axes, or (position, orientation), as SymPy
        expressions in u and t. An orientation is a rotation matrix (3 × 3, from the body's frame to the world), a
        quaternion (w, x, y, z), or (axis, angle). Default: the orientation in the scene.
    start : initial guess (default: zeros) for the coordinates at the start, which are computed from the poses of the
        bodies in the scene.

    The code of v = J u̇ + drift and v̇ = J ü + bias is derived from x(u, t) and R(u, t), with ω from Ṙ Rᵀ, so that

        Jᵀ M J ü = Jᵀ (Q − M bias − gyroscopic terms) + Gᵀ λ.

    Raises TypeError or ValueError, naming the body or symbol.
    """

    def __init__(
        self,
        scene: Scene,
        coordinates: Sequence[Any],
        place: Mapping[str, Any],
        *,
        velocities: Sequence[Any] | None = None,
        time: Any = None,
        constraints: Sequence[Any] = (),
        nonholonomic: Sequence[Any] = (),
        parameters: Mapping[Any, float] | None = None,
        start: Any = None,
    ) -> None:
        self.scene = scene
        self.variables = variables = Variables(coordinates, time, velocities, parameters)
        self.coordinates = tuple(variables.names)
        self.start = variables.numbers("start", start)
        self.bodies = list(scene.bodies.values())
        for name in place:
            if name not in scene.bodies:
                raise ValueError(f"place: there is no body {name!r}; there are {', '.join(scene.bodies) or 'none'}")
        nodes = []
        for body in self.bodies:
            if body.name not in place:
                raise ValueError(f"place: body {body.name!r} is missing; give its position in terms of the coordinates")
            nodes += _motion(*_pose(body, place[body.name], variables), variables)
        self.rows = Constraints(variables, constraints, nonholonomic)
        nodes += self.rows.nodes()
        self.moving = variables.t in needed(nodes)  # whether they depend on time, so that constraints do work
        self.generated = Generated(nodes, variables.inputs)
        self.parameters = np.array(list(variables.parameters.values()))
        self._require_rotations()

    @property
    def compiled_parts(self) -> tuple[Any, ...]:
        """The parts that a run needs, in addition to the generated code."""
        return (PLACED_ENTRY,)

    @property
    def source(self) -> str:
        """The generated Python source."""
        return self.generated.source

    def kinematics(self, u: ArrayLike, v: ArrayLike | None = None, t: float = 0.0) -> np.ndarray:
        """(bodies, 24 + 6 n): x, R (row by row), drift and bias of (x, turn), and the Jacobian of both."""
        n = len(self.coordinates)
        inputs = np.concatenate([self.variables.numbers("u", u), self.variables.numbers("v", v), self.parameters])
        found = self.generated(float(t), inputs)
        return found[: len(self.bodies) * (FIXED + 6 * n)].reshape(len(self.bodies), FIXED + 6 * n)

    if not TYPE_CHECKING:
        evaluate = renamed_method("evaluate", "kinematics")

    def position(self, u: ArrayLike, t: float = 0.0) -> np.ndarray:
        """(bodies, 3): centres of mass, m."""
        return self.kinematics(u, None, t)[:, :3]

    def rotation(self, u: ArrayLike, t: float = 0.0) -> np.ndarray:
        """(bodies, 3, 3): rotation matrices, body → world."""
        return self.kinematics(u, None, t)[:, 3:12].reshape(-1, 3, 3)

    def jacobian(self, u: ArrayLike, t: float = 0.0) -> np.ndarray:
        """(bodies, 6, n): J of (v, ω) = J u̇ + drift, world axes."""
        return self.kinematics(u, None, t)[:, FIXED:].reshape(len(self.bodies), 6, -1)

    def drift(self, u: ArrayLike, t: float = 0.0) -> np.ndarray:
        """(bodies, 6): velocities at constant coordinates."""
        return self.kinematics(u, None, t)[:, 12:18]

    def bias(self, u: ArrayLike, v: ArrayLike, t: float = 0.0) -> np.ndarray:
        """(bodies, 6): accelerations at constant rates, J̇ u̇ plus the rate of the drift."""
        return self.kinematics(u, v, t)[:, 18:24]

    def mass_matrix(self, u: ArrayLike, t: float = 0.0) -> np.ndarray:
        """(n, n): Jᵀ M J."""
        jacobian, rotations = self.jacobian(u, t), self.rotation(u, t)
        total = np.zeros((len(self.coordinates), len(self.coordinates)))
        for body, j, r in zip(self.bodies, jacobian, rotations, strict=True):
            total += body.mass * j[:3].T @ j[:3] + j[3:].T @ r @ body.inertia @ r.T @ j[3:]
        return total

    def nearest(self, y: ArrayLike, t: float = 0.0, near: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """(u, u̇) closest to a state of the bodies, such as a row of ``run.trajectory.state``, in the mass metric. The
        search starts from the coordinates `near`, or `start`."""
        u = self.start if near is None else self.variables.numbers("near", near)
        states = parts(np.asarray(y, dtype=np.float64), len(self.bodies))
        return nearest(lambda at: self.kinematics(at, None, t), self.bodies, states, u)

    def _require_rotations(self) -> None:
        """Raises ValueError for a body whose orientation is no rotation, at the start or at other coordinates."""
        generator = np.random.default_rng(0)
        for spread in (0.0, 0.1, 0.5):
            u = self.start + spread * generator.normal(size=len(self.start))
            for body, r in zip(self.bodies, self.rotation(u, spread), strict=True):
                error = float(np.abs(r @ r.T - np.eye(3)).max())
                if not (error <= NOT_A_ROTATION and np.linalg.det(r) > 0.0):
                    raise ValueError(
                        f"place: the orientation of body {body.name!r} is not a rotation at {', '.join(self.coordinates)} = "
                        f"{u.tolist()}: R Rᵀ is off by {error:.3g}, det R = {np.linalg.det(r):.9g}"
                    )


def _pose(body: Body, place: Any, variables: Variables) -> tuple[list[Node], list[Node]]:
    """Position and rotation of a body as nodes. Raises TypeError or ValueError, naming the body."""
    what = f"place of body {body.name!r}"
    if isinstance(place, str) or not hasattr(place, "__len__") or len(place) not in (2, 3):
        raise TypeError(f"{what} is {place!r}; give (x, y, z), or ((x, y, z), orientation)")
    position, orientation = (place, rotation_matrix(body.orientation)) if len(place) == 3 else place
    if isinstance(position, str) or not hasattr(position, "__len__") or len(position) != 3:
        raise TypeError(f"{what}: its position is {position!r}; give three expressions")
    x = [variables.read(f"{what}, {axis}", value) for axis, value in zip("xyz", position, strict=True)]
    rotation = rotation_of(f"orientation of body {body.name!r}", orientation, variables)
    if set(variables.v) & set(needed([*x, *rotation])):
        raise ValueError(f"{what} contains rates; it can depend on coordinates and time only")
    return x, rotation


def _motion(x: list[Node], rotation: list[Node], variables: Variables) -> list[Node]:
    """The outputs of one body: the numbers that FIXED counts, and J."""
    one = variables.graph.node(1.0)

    def velocities(direction: dict[Node, Node]) -> list[Node]:
        """(v, ω) where the variables change at the rates `direction`."""
        rates = derivatives([*x, *rotation], direction)
        return [*rates[:3], *angular_velocity(rotation, rates[3:])]

    columns = [velocities({u: one}) for u in variables.u]
    drift = velocities({variables.t: one})
    jacobian = [[column[k] for column in columns] for k in range(6)]
    moving = [dot_nodes(row, variables.v) + still for row, still in zip(jacobian, drift, strict=True)]
    bias = derivatives(moving, variables.motion)
    return [*x, *rotation, *drift, *bias, *(node for row in jacobian for node in row)]
