"""A run by time steps of contact: the tables of a step, room for what it finds, and the call of its kernel."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numba
import numpy as np

from ..addresses import address_table
from ..collide.detect import Detector
from ..collide.tables import CONTACT, CONTACTS, NEED_ROOM, Collision
from ..mechanics.evaluate import Mechanism
from ..model.compile import Model
from ..model.tables import BOUNDED, FIELD, STOP, System
from ..no_solution import NoSolution
from ..pointer import C_TYPE
from ..status import EVENT, OK
from .bearing import SIZE as SIZE_OF_SYSTEM
from .interior_point import COMPILED as COMPILED_SOLVER
from .interior_point import solve_system
from .interior_point_tables import GROUP, STEP, Problem, workspace
from .solve import Walls
from .step import COMPILED, march
from .step_events import StepEvents
from .tables import (
    AT_LEAST,
    BOUND,
    GAUSS_SEIDEL,
    HELD,
    INTERIOR_POINT,
    MOTION,
    OPTIONS,
    REPORT,
    ROW,
    STEP_STAGES,
    Stepping,
)

SOLVERS = {"gauss_seidel": GAUSS_SEIDEL, "interior_point": INTERIOR_POINT}


class StepSettings(NamedTuple):
    """How a step is made.

    dt : s. solver : a name of `SOLVERS`. iterations : most passes of the solver. tolerance : m/s, the residual at
    which it stops. margin : m, pairs nearer than this are looked at. slop : m, overlap that is left alone.
    stop_unsolved : whether a step whose solver misses the tolerance ends the run.
    """

    dt: float
    solver: str
    iterations: int
    tolerance: float
    margin: float
    slop: float
    stop_unsolved: bool


@dataclass(frozen=True)
class Contact:
    """One point of contact; vectors (3,) in world axes.

    a, b : names of bodies or "world". position : m. normal : unit, from a to b. separation : m, negative where they overlap.
    force : N, on b, the mean over the step.
    """

    a: str
    b: str
    position: np.ndarray
    normal: np.ndarray
    separation: float
    force: np.ndarray


@dataclass(frozen=True)
class ContactReport:
    """How the contacts of a run were solved. penetration : m, the deepest overlap met. residual : m/s, the largest of
    the natural map of Coulomb's law. unsolved : steps in which it stayed above the tolerance."""

    solver: str
    penetration: float
    residual: float
    unsolved: int


class TimeStepping:
    """Steps a mechanism with contact from frame to frame."""

    def __init__(
        self, mechanism: Mechanism, collision: Collision, size: int, ledger: int, settings: StepSettings,
        events: StepEvents,
    ) -> None:  # fmt: skip
        system = mechanism.system
        bodies, rows = len(system.bodies), len(system.error)

        def row(dtype: Any) -> Any:
            return np.zeros(1, dtype).view(np.recarray)

        options = row(OPTIONS)
        options.dt, options.margin, options.iterations = settings.dt, settings.margin, settings.iterations
        options.tolerance, options.solver, options.ledger = settings.tolerance, SOLVERS[settings.solver], ledger
        options.slop = settings.slop
        options.predict = int((system.forces.kind != FIELD).any())
        options.fresh = 1
        self.settings = settings
        self.report = row(REPORT)
        self._mechanism = mechanism
        self._detector = Detector(collision)
        self._tables = Stepping(
            options=options,
            report=self.report,
            saved=np.zeros(size),
            motion=np.zeros(MOTION * (bodies + 1)),
            shift=np.zeros(MOTION * (bodies + 1)),
            rows=np.zeros(0),
            corrections=np.zeros(0),
            first_impulses=np.zeros(0),
            first_motion=np.zeros(MOTION * (bodies + 1)),
            first_joint_impulses=np.zeros(rows),
            bounds=_bounds(system, size),
            targets=np.zeros(rows),
            joint_impulses=np.zeros(rows),
            change=np.zeros(rows),
            rates=np.zeros(rows),
            ticks=np.zeros(len(STEP_STAGES) + 3),
            levels=np.zeros(bodies + 1, np.int64),
            queue=np.zeros(bodies + 1, np.int64),
            link_starts=np.zeros(bodies + 2, np.int64),
            links=np.zeros(0, np.int64),
            own_rows=np.zeros(0),
            own_system=np.zeros(SIZE_OF_SYSTEM),
            standing=np.zeros(MOTION * (bodies + 1)),
            kept_motion=np.zeros(MOTION * (bodies + 1)),
            kept_impulses=np.zeros(0),
        )
        self._start = 0.0
        self._events = events
        self.event = -1  # the event that the last call stopped at
        self._problem = _problem(mechanism, settings, self._tables.bounds)
        self._fit()

    @property
    def collision(self) -> Collision:
        """The tables of collision detection, as the last step left them."""
        return self._detector.collision

    def _fit(self) -> None:
        """As much room as the contacts need, and the addresses of it all."""
        room = len(self.collision.contacts)
        self._tables = self._tables._replace(
            rows=np.zeros(ROW * room), corrections=np.zeros(room), first_impulses=np.zeros(3 * room),
            links=np.zeros(2 * room, np.int64), own_rows=np.zeros(ROW * room), kept_impulses=np.zeros(3 * room),
        )  # fmt: skip
        self._problem = self._problem._replace(contacts=self.collision.contacts)
        needed = int(self._problem.step[0].envelope_needed)
        if needed > len(self._problem.envelope):
            self._problem = self._problem._replace(envelope=np.zeros(needed + needed // 2))
        if len(self._problem.cones) < room and self.settings.solver != "gauss_seidel":
            self._problem = self._problem._replace(**self._workspace(room))
        tables = (self._mechanism.system, self.collision, self._tables, self._problem)
        addresses = tuple(address_table(table) for table in tables)
        walls = Walls(
            self._mechanism.address, self._mechanism.data, self._detector.address, self._detector.data,
            self._solver_address(), int(addresses[-1].ctypes.data),
        )  # fmt: skip
        self._addresses = addresses, np.array([*walls, *(table.ctypes.data for table in addresses)], np.int64)
        self._march = self._plain(walls, *tables) if numba.config.DISABLE_JIT else self._compiled()

    @staticmethod
    def _plain(walls: Walls, *tables: Any) -> Callable[[np.ndarray, np.ndarray, float], int]:
        return lambda y, dydt, stop: int(march(walls, y, dydt, stop, *tables))

    def _compiled(self) -> Callable[[np.ndarray, np.ndarray, float], int]:
        function, data = C_TYPE(COMPILED.address), int(self._addresses[1].ctypes.data)
        return lambda y, dydt, stop: int(function(data, 0, stop, y.ctypes.data, y.size, dydt.ctypes.data, dydt.size))

    def _workspace(self, contacts: int) -> dict[str, Any]:
        system = self._mechanism.system
        groups, rows = len(self._problem.groups), len(self._problem.target)
        found = workspace(len(system.bodies), contacts, groups, rows)
        return {**found, "envelope": self._problem.envelope}

    def _solver_address(self) -> int:
        if self.settings.solver == "gauss_seidel":
            return 0
        if not numba.config.DISABLE_JIT:
            return COMPILED_SOLVER.address
        self._callback = C_TYPE(lambda *_: int(solve_system(self._problem)))
        return int(ctypes.cast(self._callback, ctypes.c_void_p).value or 0)

    def restart(self, time: float) -> None:
        """Begin anew at a time (s)."""
        self._start = time
        self.report.steps = self.report.iterations = 0
        self._events.waiting.clear()
        self.changed()

    def changed(self) -> None:
        """The state was changed from outside: what events were is not known."""
        self._events.forget()
        self._tables.options.fresh = 1

    def run(self, y: np.ndarray, dydt: np.ndarray, target: float, end: float) -> int:
        """Step y until `target` (s) is reached, in place. Returns a status. Raises NoSolution at a step that misses the
        tolerance, if that is to end the run."""
        if len(self._events) == 0 and not self.settings.stop_unsolved:
            return self._steps(y, dydt, target - self._start)
        while True:
            if self._events.waiting:
                self.event = self._events.waiting.pop(0)
                return EVENT
            status = OK if self._events.known else self._events.look(self.time, y)
            done = float(self.report.steps[0]) * self.settings.dt
            if status != OK or done + 1e-9 * self.settings.dt >= target - self._start:
                return status
            unsolved = int(self.report.unsolved[0])
            status = self._steps(y, dydt, done + self.settings.dt)
            if self.settings.stop_unsolved and self.report.unsolved[0] > unsolved:
                raise NoSolution(self._missed())
            if status == OK:
                status = self._events.look(self.time, y)
            if status != OK:
                return status

    def _missed(self) -> str:
        """What to say of a step that misses the tolerance."""
        report = self.report[0]
        return (
            f"at t = {self.time:.9g} s the contact solver {self.settings.solver!r} ends with a residual of "
            f"{report.residual:.3g} m/s instead of {report.aim:.3g}; allow more iterations than {self.settings.iterations}, "
            "a larger tolerance or a smaller dt"
        )

    def _steps(self, y: np.ndarray, dydt: np.ndarray, stop: float) -> int:
        """Steps until so long after the start, with as much room as they need. Returns a status."""
        while True:
            status = self._march(y, dydt, stop)
            if status != NEED_ROOM:
                return status
            self._detector.make_room()
            self._fit()

    def attempt(self, y: np.ndarray) -> np.ndarray:
        """The state of the last step that was tried."""
        return y

    def frame(self) -> dict[str, Any]:
        """What is recorded of the contacts: see `Trajectory`."""
        report = self.report[0]
        forces = np.zeros((len(self._mechanism.system.bodies) + 1, 3))
        found = self._found()
        impulses = self._impulses(found)
        np.add.at(forces, found.b, impulses)
        np.add.at(forces, found.a, -impulses)
        values = {
            "contact_force": forces[:-1] / self.settings.dt,
            "contacts": len(found),
            "penetration": float(report.deepest),
            "contact_residual": float(report.largest_residual),
        }
        report.deepest = report.largest_residual = 0.0
        return values

    def contacts(self, model: Model) -> list[Contact]:
        """The contacts of the last step."""
        names = [*model.body_names, "world"]
        found = self._found()
        impulses = self._impulses(found)
        return [
            Contact(
                a=names[row.a],
                b=names[row.b],
                position=row.position.copy(),
                normal=row.frame[:3].copy(),
                separation=float(row.separation),
                force=impulse / self.settings.dt,
            )
            for row, impulse in zip(found, impulses, strict=True)
        ]

    def efforts(self, model: Model) -> dict[str, float]:
        """What each stop, dry friction and ideal motor exerted in the last step, N or N m along its coordinate."""
        found: dict[str, float] = {}
        forces = self._mechanism.system.forces
        for bound in self._tables.bounds:
            name, side = model.force_names[forces.ledger[bound.force]], float(forces.side[bound.force])
            found[name] = found.get(name, 0.0) + side * float(bound.impulse) / self.settings.dt
        return found

    def _found(self) -> Any:
        return self.collision.contacts[: int(self.collision.counts[CONTACTS])]

    @staticmethod
    def _impulses(found: Any) -> np.ndarray:
        """(n, 3) N s on the second body, world axes."""
        return np.einsum("ij,ijk->ik", found.impulse, found.frame.reshape(-1, 3, 3))

    @property
    def ticks(self) -> dict[str, float]:
        """What the stages of a step took, in ticks of the processor."""
        return dict(zip(STEP_STAGES, self._tables.ticks.tolist(), strict=False))

    def contact_report(self) -> ContactReport:
        """How the contacts were solved in the run so far."""
        report = self.report[0]
        return ContactReport(
            self.settings.solver, float(report.worst_penetration), float(report.worst_residual), int(report.unsolved)
        )

    @property
    def time(self) -> float:
        """Time of the state, s."""
        return self._start + int(self.report.steps[0]) * self.settings.dt

    @property
    def counts(self) -> dict[str, int]:
        """Steps made; each takes one evaluation of the forces."""
        steps = int(self.report.steps[0])
        return {"steps": steps, "rejected": 0, "evaluations": steps}


def _bounds(system: System, size: int) -> Any:
    """What acts on coordinates within bounds, one row a force; `size` is that of the state."""
    chosen = np.flatnonzero(system.forces.kind >= BOUNDED)
    bounds = np.zeros(len(chosen), BOUND).view(np.recarray)
    for bound, number in zip(bounds, chosen, strict=True):
        force = system.forces[number]
        coordinate = system.coordinates[force.coordinate]
        bound.force, bound.a, bound.b = number, coordinate.a, coordinate.b
        bound.entry = size - len(system.power) + force.ledger
        bound.least, bound.most = (0.0, np.inf) if force.kind == STOP else (-np.inf, np.inf)
        bound.state = AT_LEAST if force.kind == STOP else HELD
    return bounds


def _problem(mechanism: Mechanism, settings: StepSettings, bounds: Any) -> Problem:
    """The tables of the converging solver, with no room for contacts yet."""
    system = mechanism.system
    bodies, rows, world = len(system.bodies), len(system.error) + len(bounds), len(system.bodies)
    step = np.zeros(1, STEP).view(np.recarray)
    step.max_iterations, step.tolerance = settings.iterations, settings.tolerance
    joints = len(system.joints)
    groups = np.zeros(joints + len(bounds), GROUP).view(np.recarray)
    for group, joint in zip(groups[:joints], system.joints, strict=True):
        held = sorted(set(system.incidences.body[joint.first : joint.last].tolist()))
        group.a, group.b = held[0], held[1] if len(held) > 1 else world
    groups.a[joints:], groups.b[joints:] = bounds.a, bounds.b
    return Problem(
        step=step,
        mass=np.array(system.bodies.mass),
        inverse_mass=np.array(system.bodies.inverse_mass),
        inertia=np.zeros(6 * bodies),
        inverse_inertia=np.zeros(6 * bodies),
        velocity=np.zeros(6 * bodies),
        contacts=np.zeros(0, CONTACT).view(np.recarray),
        groups=groups,
        jacobian=np.zeros(12 * rows),
        target=np.zeros(rows),
        multiplier=np.zeros(rows),
        **workspace(bodies, 0, 0, 0),
    )
