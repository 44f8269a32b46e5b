"""Static equilibrium of mechanisms, closed loops and cables included: poses in which all forces balance, at rest.

With f(q) the forces and torques on the bodies at rest, and constraints C(q) = 0 with the Jacobian J, an equilibrium is

    f + Jᵀ λ = 0,   C = 0.

Motions that the constraints allow are z = Z s, with Z a basis of the null space of J. In them the condition is g = Zᵀ f
= 0, and with λ of the least squares the stiffness of the whole is H = −Zᵀ ∂(f + Jᵀ λ)/∂q Z. Newton's step is H⁻¹ g. To
decrease the energy and avoid saddle points, eigenvalues of H are replaced by their absolute values (`linalg.newton`
does the same for a function), and the step is halved until the forces do work along it. After each step the pose is
projected onto C = 0. If g vanishes and H has a negative eigenvalue, the equilibrium is unstable; a small step along its
eigenvector leaves it.

Derivatives are central differences of the engine's own forces and Jacobian. A cable that may go slack is an inequality,
ℓ ≤
L: its tension is max(0, T + k (ℓ − L)) with a multiplier T that is updated until the stretch vanishes (the method of
multipliers: M. Hestenes, J. Optim. Theory Appl. 4, 1969).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.c_function import MEASURE
from ..core.status import OK, NoSolution
from ..dynamics.mechanism import Mechanism
from ..model.compile import Model, compile_scene
from ..model.tables import CABLE, CABLE_NOW, CABLE_PULL, STATE_SIZE, STOP
from ..scene.forces.cable import ElasticCable, SlackCable
from ..scene.scene import Scene, require_scene
from .control import JointReader

Vector = NDArray[np.float64]

STEP = 1e-5  # of the size of the model, and rad: of central differences
CLOSED = 1e-13  # of the size of the model: constraints that are closed
NEUTRAL = 1e-7  # of the largest stiffness: a smaller one is none
RANK = 1e-9  # of the largest singular value of J: rows that are independent
LONGEST = 0.3  # of the size of the model, and rad: the longest step
AWAY = 1e-2  # the same: the step that leaves an unstable equilibrium
FAR = 50.0  # sizes of the model: what moved so far falls
ROUNDS_OF_SLACK = 40
STRETCHED = 1e-9  # of its length: a slack cable that is longer by less is as long as it may be
STIFF = 1e3  # of weight over length: the stiffness that stands for a slack cable at first


@dataclass(frozen=True)
class Equilibrium:
    """A static equilibrium; found by `equilibrium`.

    position : (n, 3) m, of the centres of mass. orientation : (n, 4) unit quaternions (w, x, y, z), body → world;
    bodies in the order of `bodies`. residual : N or N m, the largest unbalanced force or torque. converged : whether it
    is below the tolerance.
    stable : whether the energy has a minimum, apart from `neutral` motions, along which it is constant (to rounding).
    stiffness : eigenvalues of the stiffness in the motions that the constraints allow, ascending (N/m, N m/rad, with
    the size of the model as the unit of length).
    joint_forces : joint → force (3,) N and torque (3,) N m on its second body, at the joint, world axes.
    tensions : piece of cable → N; negative if a taut cable would have to push. energy : J, potential. steps : number of
    Newton steps.
    """

    bodies: tuple[str, ...]
    position: Vector
    orientation: Vector
    residual: float
    converged: bool
    stable: bool
    neutral: int
    stiffness: Vector
    joint_forces: dict[str, tuple[Vector, Vector]]
    tensions: dict[str, float]
    energy: float
    steps: int
    warnings: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        kind = "stable" if self.stable else "unstable"
        if self.neutral:
            kind += f", {self.neutral} neutral motions"
        state = f"residual {self.residual:.3g} N after {self.steps} steps" + (
            "" if self.converged else ", not converged"
        )
        return "\n".join([f"{kind} equilibrium: {state}, energy {self.energy:.6g} J", *self.warnings])


def equilibrium(
    scene: Scene, *, stable: bool = True, tolerance: float = 1e-9, max_steps: int = 500, held: tuple[str, ...] = ()
) -> Equilibrium:
    """Find the static equilibrium that is reached from the initial poses by decreasing the energy.

    stable : True: the search continues from an unstable equilibrium. False: the first equilibrium is returned, stable
    or not. tolerance : bound on the residual, relative to the weights and forces in the scene. held : names of joints
    (hinges, sliders) that keep their initial coordinate, as if by a brake.

    Velocities are zero, so dampers, drag and dry friction have no effect. Motors with stiffness act as springs; motors
    with an effort, or with a speed and damping, act as constant efforts. Motions of joints keep their value at t = 0.
    At the equilibrium no joint may be at a stop.

    Raises ValueError for scenes with particles, links, bodies in contact or ideal motors, and if a joint ends beyond a
    stop; `NoSolution` if a body falls without bound.

    >>> import dalembert as dal
    >>> scene = dal.Scene("ladder")
    >>> bar = scene.add_body("bar", dal.Box(0.1, 0.1, 1.0), mass=2.0, position=(0, 0, 0.5))
    >>> pivot = scene.hinge("pivot", dal.WORLD, bar, at=(0, 0, 0), axis=(0, 1, 0))
    >>> rope = scene.cable("rope", [(dal.WORLD, (-1, 0, 1)), (bar, (0, 0, 1))], stretch=1000.0)
    >>> found = dal.equilibrium(scene)
    >>> found.stable
    True
    """
    require_scene(scene)
    _require_statics(scene)
    brakes = [_brake(scene, name) for name in held]
    try:
        model = compile_scene(scene, hubs=False)
    finally:
        for name in brakes:
            del scene.joints[name]
    search = _Search(model, tolerance)
    steps = search.descend(stable, max_steps)
    for _ in range(ROUNDS_OF_SLACK):
        if search.tighten():
            break
        steps += search.descend(stable, max_steps)
    return search.result(steps, set(brakes))


def _brake(scene: Scene, name: str) -> str:
    """Hold the coordinate of a joint by a motion. Returns its name."""
    brake = f"brake of {name}"
    scene.add_motion(brake, name, "set")
    return brake


def _require_statics(scene: Scene) -> None:
    """Raises ValueError for what has no place here."""
    owner = f"equilibrium of scene {scene.name!r}"
    if not scene.bodies:
        raise ValueError(f"{owner}: it has no bodies; add one with add_body")
    if scene.particles:
        raise ValueError(
            f"{owner}: it has particles ({next(iter(scene.particles))!r}); only bodies have an equilibrium here"
        )
    if scene.links:
        raise ValueError(f"{owner}: link {next(iter(scene.links))!r} has no mass; use a body in place of the link")
    if scene.touching():
        raise ValueError(
            f"{owner}: bodies have a material, and contacts are not supported here; add them with material=None, "
            "or run the scene with damping until it rests"
        )
    for force in scene.forces.values():
        if force.kind == "servo":
            raise ValueError(
                f"{owner}: motor {force.name!r} has a speed but no damping; hold its joint (held=[...]) or leave the "
                "motor out"
            )


class _Search:
    """Newton's method on the poses of a model. n bodies; displacements are (6 n,): of each body x (m), then a turn times the
    size of the model (m), world axes."""

    def __init__(self, model: Model, tolerance: float) -> None:
        self.model, self.tolerance, self.length = model, tolerance, float(model.length)
        system = model.system()
        system.settings.deficient = 1
        forces = system.forces
        weight = self._weight(system)
        self.slack = np.flatnonzero(forces.kind == STOP)
        self.slack = self.slack[[self._is_cable(model, int(force.ledger)) for force in forces[self.slack]]]
        self.stops = [int(i) for i in np.flatnonzero(forces.kind == STOP) if i not in self.slack]
        for i in self.slack:
            force = forces[i]
            force.kind, force.address = CABLE_PULL, system.coordinates[force.coordinate].curve
            force.target, force.stiffness = force.rest, STIFF * weight / force.rest
        self.mechanism = Mechanism(system)
        self.system = system
        self.n = len(model.body_names)
        self.free = np.repeat(system.bodies.mass[: self.n] > 0.0, 6)
        self.units = np.tile([1.0] * 3 + [1.0 / self.length] * 3, self.n)
        self.y = model.initial.copy()
        for k in range(self.n):
            self.y[STATE_SIZE * k + 7 : STATE_SIZE * (k + 1)] = 0.0
        self._dydt = np.empty(model.size)
        self._places = _places(system.incidences)
        self.scale = max(weight, float(np.abs(self._forces(self.y)).max()))

    @staticmethod
    def _is_cable(model: Model, entry: int) -> bool:
        return isinstance(model.scene.forces[model.force_names[entry]], SlackCable)

    def _weight(self, system: Any) -> float:
        """The weight of everything (N), at least what 1e-3 of it per m/s² is."""
        g = float(np.linalg.norm(self.model.scene.gravity))
        return float(system.bodies.mass.sum()) * max(g, 1e-3)

    # The engine's forces and constraints ------------------------------------------------------------------------------

    def _measure(self, y: Vector) -> None:
        status = self.mechanism(MEASURE, 0.0, y, self._dydt)
        if status != OK:
            raise NoSolution(
                f"equilibrium of scene {self.model.name!r}: the forces cannot be evaluated (status {status})"
            )

    def _forces(self, y: Vector) -> Vector:
        """(6 n,) f, in the units of displacements."""
        self._measure(y)
        kin = self.system.kinematics[: self.n]
        return np.where(self.free, np.hstack([kin.force, kin.torque]).ravel() * self.units, 0.0)

    def _both(self, y: Vector) -> tuple[Vector, Vector]:
        """f, and J (rows, 6 n)."""
        f = self._forces(y)
        if not self.system.error.size:
            return f, np.zeros((0, 6 * self.n))
        jacobian = np.zeros((self.system.error.size, 6 * self.n))
        for rows, columns, source, factor in self._places:
            jacobian[rows, columns] = factor[0] * self.system.jacobian[source[0]]
            if len(source) > 1:  # of a point: its sign, and its arm
                jacobian[rows, columns] *= self.system.jacobian[source[1]]
        return f, np.where(self.free, jacobian * self.units, 0.0)

    def moved(self, z: Vector, y: Vector) -> Vector:
        """The state after a displacement."""
        y = y.copy()
        for k, (shift, turn) in enumerate((z * self.units).reshape(self.n, 2, 3)):
            at = STATE_SIZE * k
            y[at : at + 3] += shift * 1.0
            turned = np.array(_product(_quaternion(turn), y[at + 3 : at + 7]))
            y[at + 3 : at + 7] = turned / np.linalg.norm(turned)
        return self._with_turns(y)

    def _with_turns(self, y: Vector) -> Vector:
        """The same with the coordinates that count turns as they are there, so that the next ones are nearest to them."""
        system = self.system
        if len(system.coordinates):
            from ..dynamics.forces import read_coordinates

            near, rates = y[system.coordinates.at].copy(), np.zeros(len(system.coordinates))
            read_coordinates(
                y, y, system.bodies[: self.n], system.kinematics, system.coordinates, system.curves, near, rates
            )
            y[system.coordinates.at] = near
        return y

    def closed(self, y: Vector) -> Vector | None:
        """The pose on C = 0 that is nearest; None where it is not found."""
        for _ in range(30):
            _, jacobian = self._both(y)
            error = self.system.error.copy()
            if not error.size or np.abs(error).max() <= CLOSED * self.length:
                return y
            previous = np.abs(error).max()
            y = self.moved(-np.linalg.lstsq(jacobian, error, rcond=RANK)[0], y)
            if not np.isfinite(y).all():
                return None
        return y if previous <= 1e-9 * self.length else None

    # Newton's method --------------------------------------------------------------------------------------------------

    def allowed(self, jacobian: Vector) -> Vector:
        """Z, (6 n, m): an orthonormal basis of what the constraints allow."""
        rows = np.vstack([jacobian, np.eye(6 * self.n)[~self.free]])
        if not len(rows):
            return np.eye(6 * self.n)
        _, sizes, basis = np.linalg.svd(rows)
        return np.asarray(basis[int((sizes > RANK * max(sizes.max(), 1e-300)).sum()) :].T)

    def stiffness(self, y: Vector, multipliers: Vector, basis: Vector) -> Vector:
        """H, (m, m): minus the derivative of f + Jᵀ λ in the motions of the basis."""
        h, columns = STEP * self.length, []
        for z in basis.T:
            ends = []
            for sign in (1.0, -1.0):
                f, jacobian = self._both(self.moved(sign * h * z, y))
                ends.append(f + jacobian.T @ multipliers)
            columns.append(-(basis.T @ (ends[0] - ends[1])) / (2.0 * h))
        found = np.array(columns).reshape(len(columns), len(columns)).T
        return 0.5 * (found + found.T)

    def descend(self, stable: bool, most: int) -> int:
        """Go to an equilibrium. Returns the number of steps. Raises NoSolution."""
        y = self.closed(self.y)
        if y is None:
            raise NoSolution(
                f"equilibrium of scene {self.model.name!r}: its joints cannot be closed from the initial poses"
            )
        self.y, start = y, y.copy()
        for step in range(most):
            f, jacobian = self._both(self.y)
            basis = self.allowed(jacobian)
            multipliers = np.asarray(np.linalg.lstsq(jacobian.T, -f, rcond=RANK)[0], np.float64)
            g = basis.T @ f
            hessian = self.stiffness(self.y, multipliers, basis)
            sizes, vectors = np.linalg.eigh(hessian) if len(g) else (np.zeros(0), np.zeros((0, 0)))
            self.sizes, self.multipliers = sizes, multipliers
            self.residual = float(np.abs(g).max(initial=0.0))
            floor = max(NEUTRAL * float(np.abs(sizes).max(initial=0.0)), 1e-9 * self.scale / self.length)
            if self.residual <= self.tolerance * self.scale:
                if not stable or not sizes.size or sizes[0] > -floor:
                    return step
                d = basis @ vectors[:, 0] * AWAY * self.length
            else:
                d = basis @ (vectors @ ((vectors.T @ g) / np.maximum(np.abs(sizes), floor)))
                d *= min(1.0, LONGEST * self.length / float(np.abs(d).max()))
            if not self._step(d, f):
                return step
            if np.abs(self.y - start)[self._positions()].max() > FAR * self.length:
                self._falls(start)
        return most

    def _positions(self) -> Any:
        return (STATE_SIZE * np.arange(self.n)[:, None] + np.arange(3)).ravel()

    def _falls(self, start: Vector) -> None:
        far = np.abs((self.y - start)[self._positions()]).reshape(self.n, 3).max(axis=1)
        name = self.model.body_names[int(far.argmax())]
        raise NoSolution(
            f"equilibrium of scene {self.model.name!r}: body {name!r} moves away without bound; "
            "connect it by a joint, a spring or a cable"
        )

    def _step(self, d: Vector, f: Vector) -> bool:
        """Go along d, or a part of it along which the forces do work. Returns whether there is one."""
        energy = self._energy(self.y)
        work = float(f @ d)
        for _ in range(40):
            y = self.closed(self.moved(d, self.y))
            if y is not None:
                # Work by Simpson's rule: f changes little in direction over a short step.
                middle = self.closed(self.moved(0.5 * d, self.y))
                if middle is not None:
                    done = (f @ d + 4.0 * self._forces(middle) @ d + self._forces(y) @ d) / 6.0
                    gained = self._energy(y) - energy
                    rounding = 1e-12 * (abs(energy) + self.scale * self.length)
                    if done > 1e-4 * work or -gained > 1e-4 * abs(work) or abs(done) <= rounding:
                        self.y = y
                        return True
            d, work = 0.5 * d, 0.5 * work
        return False

    def _energy(self, y: Vector) -> float:
        """Potential energy (J)."""
        self._measure(y)
        return float(self.system.energies[1])

    # Cables that may go slack -----------------------------------------------------------------------------------------

    def tighten(self) -> bool:
        """Update the multipliers of cables that may go slack. Returns whether all are as long as they may be, or slack."""
        self._measure(self.y)
        done = True
        for i in self.slack.tolist():
            force = self.system.forces[i]
            stretch = self._length(i) - force.rest
            tension = max(force.stiffness * stretch, 0.0)
            over = self._length(i) - force.target
            if (tension > 0.0 and abs(over) > STRETCHED * force.target) or over > STRETCHED * force.target:
                done = False
            force.rest = force.target - tension / force.stiffness
        return done

    def _length(self, i: int) -> float:
        """The length of the cable of a force where it was found last (m)."""
        return float(self.system.curves[self.system.forces[i].address + CABLE_NOW])

    # The result -------------------------------------------------------------------------------------------------------

    def result(self, steps: int, brakes: set[str]) -> Equilibrium:
        """What was found. Raises ValueError where it is beyond a stop."""
        energy = self._energy(self.y)
        bodies = self.y[: STATE_SIZE * self.n].reshape(self.n, STATE_SIZE)
        self._require_stops()
        tensions = self._tensions()
        system, rows = self.system, len(self.system.joints)
        reactions = self._reactions()
        floor = max(NEUTRAL * float(np.abs(self.sizes).max(initial=0.0)), 1e-9 * self.scale / self.length)
        joint_forces = {
            name: reactions[j] for j, name in enumerate(self.model.joint_names[:rows]) if name not in brakes
        }  # fmt: skip
        warnings = [
            f"cable {name!r} would have to push ({t:.3g} N)" for name, t in tensions.items() if t < -1e-9 * self.scale
        ]
        assert len(system.bodies) >= self.n
        return Equilibrium(
            self.model.body_names, bodies[:, :3].copy(), bodies[:, 3:7].copy(), self.residual,
            self.residual <= self.tolerance * self.scale, bool(not self.sizes.size or self.sizes[0] > -floor),
            int((np.abs(self.sizes) <= floor).sum()), self.sizes, joint_forces, tensions, energy, steps, warnings,
        )  # fmt: skip

    def _reactions(self) -> list[tuple[Vector, Vector]]:
        """Force and torque of each joint on its second body, at the joint."""
        system, found = self.system, []
        _, jacobian = self._both(self.y)
        for j, joint in enumerate(system.joints):
            where = system.reactions[j]
            if where.body >= self.n:  # both ends are in the world
                found.append((np.zeros(3), np.zeros(3)))
                continue
            rows = slice(int(joint.row), int(joint.row) + int(joint.rows))
            on_body = slice(6 * int(where.body), 6 * int(where.body) + 6)
            wrench = (jacobian[rows, on_body].T @ self.multipliers[rows]) / self.units[on_body] * where.sign
            arm = system.kinematics[where.body].rotation.reshape(3, 3) @ where.anchor
            found.append((wrench[:3], wrench[3:] - np.cross(arm, wrench[:3])))
        return found

    def _tensions(self) -> dict[str, float]:
        """Of taut cables their multipliers, of others their forces (N)."""
        system, found = self.system, {}
        for part in system.parts:
            if part.kind == CABLE:
                found[self.model.joint_names[part.joint]] = -float(self.multipliers[part.row])
        self._measure(self.y)
        for i, force in enumerate(system.forces):
            if force.kind == CABLE_PULL:
                name = self.model.force_names[force.ledger]
                assert isinstance(self.model.scene.forces[name], ElasticCable | SlackCable)
                found[name] = max(0.0, float(force.stiffness * (self._length(i) - force.rest)))
        return found

    def _require_stops(self) -> None:
        """Raises ValueError for a joint that is beyond a stop."""
        values = JointReader(self.model).read(self.y)
        for i in self.stops:
            force = self.system.forces[i]
            limit = self.model.scene.forces[self.model.force_names[force.ledger]]
            name = limit.joint.coordinate_name(limit.coordinate)
            value = values[name][0]
            if force.side * (value - force.rest) < -1e-9:
                raise ValueError(
                    f"equilibrium of scene {self.model.name!r}: joint {name!r} would be at {value:.4g}, beyond its "
                    f"stop at {force.rest:.4g}, and stops are not supported here; hold the joint (held=[{name!r}]) "
                    "with its initial pose at the stop, or change the stop"
                )


def _places(incidences: Any) -> list[tuple[Any, Any, Any, Any]]:
    """Where the numbers of the sparse J are in the dense one: rows, columns, places in the sparse one and factors. The rows
    of a point are σ (1, −[r]×), and stored as σ and r."""
    plain: list[tuple[int, int, int]] = []
    signs: list[tuple[int, int, int]] = []
    arms: list[tuple[int, int, int, int, float]] = []
    for item in incidences:
        row, body, at = int(item.row), int(item.body), int(item.offset)
        if not item.is_point:
            plain += [(row + r, 6 * body + c, at + 6 * r + c) for r in range(int(item.rows)) for c in range(6)]
            continue
        signs += [(row + k, 6 * body + k, at) for k in range(3)]
        for k in range(3):
            one, other = (k + 1) % 3, (k + 2) % 3
            arms += [
                (row + k, 6 * body + 3 + one, at + 1 + other, at, 1.0),
                (row + k, 6 * body + 3 + other, at + 1 + one, at, -1.0),
            ]
    found: list[tuple[Any, Any, Any, Any]] = []
    for items in (plain, signs):
        if items:
            rows, columns, source = np.array(items).T
            found.append((rows, columns, (source,), (1.0,)))
    if arms:
        numbers = np.array([item[:4] for item in arms]).T
        factors = np.array([item[4] for item in arms])
        found.append((numbers[0], numbers[1], (numbers[2], numbers[3]), (factors,)))
    return found


def _quaternion(turn: Vector) -> Any:
    angle = float(np.linalg.norm(turn))
    if angle == 0.0:
        return (1.0, 0.0, 0.0, 0.0)
    return (np.cos(0.5 * angle), *(np.sin(0.5 * angle) / angle * turn))


def _product(p: Any, q: Any) -> tuple[float, ...]:
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3], p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1], p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
    )  # fmt: skip
