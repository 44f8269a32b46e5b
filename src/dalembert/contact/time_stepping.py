"""A run by time steps of contact: the tables of a step, room for what it finds, and the call of its kernel."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..collide.detect import Detector, check, fields_of
from ..collide.tables import AWAKE, CONTACTS, NEED_ROOM, PAIRS, UNMOVED, Collision
from ..core.c_function import C_TYPE, view
from ..core.checkpoint_fields import COUNT, LARGE, REAL, Field, prefixed
from ..core.jit import DISABLED
from ..core.status import OK
from ..core.tables import address_table, grow
from ..core.thread_pool import CALLBACKS_SLOT, CONTACT_JOBS, FUNCTIONS, STEPPING_SLOT, SYSTEM_SLOT, ThreadPool
from ..dynamics.mechanism import Mechanism
from ..integrate.stepper import FixedStepper, StepEvents
from ..model.compile import Model
from ..model.tables import MOTOR, System
from .limits import LIMITS_ENTRY as COMPILED_LIMITS
from .limits import SoftMechanism, with_soft_rows
from .limits import limits_task as perform_limits
from .parallel import RUN_STEPS
from .solve import CALLBACKS, Callbacks, do_job
from .solvers import SOLVERS, StepSettings, linked, make_tables, slowness
from .step import STEP_ENTRY, run_steps
from .tables import AT_MOST, HELD, SOFT, STEP_STAGES, Stepping

KEPT_OF_REPORT = {"steps": COUNT, "naps": COUNT}
KEPT_OF_OPTIONS = {"start": REAL, "fresh": (0.0, 1.0)}
KEPT_OF_BOUNDS = {"impulse": REAL, "state": (float(HELD), float(AT_MOST))}
KEPT_OF_SOFT = {"state": (float(HELD), float(AT_MOST))}


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


class ContactStepper(FixedStepper):
    """Steps a mechanism with contact from frame to frame."""

    need_room = NEED_ROOM

    def __init__(
        self, model: Model, mechanism: Mechanism, collision: Collision, ledger: int, settings: StepSettings,
        events: StepEvents,
    ) -> None:  # fmt: skip
        self._plain, self._mechanism = mechanism, with_soft_rows(model, mechanism)
        soft = (
            self._mechanism.rows if isinstance(self._mechanism, SoftMechanism) else np.zeros(0, SOFT).view(np.recarray)
        )
        collision.linked[:] = linked(mechanism.system)
        tables = make_tables(self._mechanism.system, model.size, ledger, settings, soft)
        self._solver = SOLVERS[settings.solver]
        self._workspace = self._solver.make_workspace(self._mechanism, settings, tables.bounds)
        self._begin(collision, tables, settings, events)

    def _begin(self, collision: Collision, tables: Any, settings: StepSettings, events: StepEvents) -> None:
        """Step by these tables, in any coordinates."""
        super().__init__(settings, tables.options, tables.report, events)
        self._team = ThreadPool(settings.threads)
        self._detector = Detector(collision, self._team)
        self._tables = tables
        self._fit()

    @property
    def bodies(self) -> ContactStepper:
        """This stepper."""
        return self

    @property
    def collision(self) -> Collision:
        """The tables of collision detection, as the last step left them."""
        return self._detector.collision

    def _fit(self) -> None:
        """As much room as the contacts need, and the addresses of it all."""
        self._tables = grow(self._tables, contacts=len(self.collision.contacts))
        self._workspace = self._solver.fit_workspace(self._workspace, self.collision.contacts)
        tables = (self._mechanism.system, self.collision, self._tables)
        addresses = tuple(address_table(table) for table in (*tables, self._workspace))
        callbacks = Callbacks(
            self._mechanism.address, self._mechanism.data, self._plain.address, self._plain.data, self._detector.address,
            self._detector.data, self._solver_address(*tables), 0,
        )  # fmt: skip
        data = np.array([*callbacks, *(table.ctypes.data for table in addresses)], np.int64)
        data[CALLBACKS - 1] = data.ctypes.data
        self._addresses = addresses, data
        self._tables.options.limits, self._tables.options.data = (
            self._limits_address(callbacks, *tables),
            data.ctypes.data,
        )
        self._seat_threads()
        if DISABLED:
            self._march, self._job = self._plain_march(callbacks, *tables), C_TYPE(self._plain_job(callbacks, *tables))
            self._team.job_queue[FUNCTIONS + CONTACT_JOBS] = ctypes.cast(self._job, ctypes.c_void_p).value or 0
        else:
            self._march = self._compiled()
            self._team.job_queue[FUNCTIONS + CONTACT_JOBS] = STEP_ENTRY.address

    def _seat_threads(self) -> None:
        """The tables of a step on the desk of each thread; all but the first have their own room to work."""
        own = [self._tables._replace(own_system=self._tables.own_system.copy()) for _ in range(1, self._team.threads)]
        self._own = own, [self._addresses[0][2], *map(address_table, own)]
        for thread, table in enumerate(self._own[1]):
            self._team.set_slot(thread, STEPPING_SLOT, int(table.ctypes.data))
            self._team.set_slot(thread, SYSTEM_SLOT, int(self._addresses[0][0].ctypes.data))
            self._team.set_slot(thread, CALLBACKS_SLOT, int(self._addresses[1].ctypes.data))

    @staticmethod
    def _plain_job(callbacks: Callbacks, *tables: Any) -> Callable[..., int]:
        def job(slot: int, kind: int, t: float, nothing: int, begin: int, result: int, end: int) -> int:
            best = view(result, 1)
            best[0] = max(best[0], do_job(kind, begin, end, callbacks, *tables))
            return OK

        return job

    @staticmethod
    def _plain_march(callbacks: Callbacks, *tables: Any) -> Callable[[np.ndarray, np.ndarray, float], int]:
        return lambda y, dydt, stop: int(run_steps(callbacks, y, dydt, stop, *tables))

    def _compiled(self) -> Callable[[np.ndarray, np.ndarray, float], int]:
        function, data = C_TYPE(STEP_ENTRY.address), int(self._addresses[1].ctypes.data)
        return lambda y, dydt, stop: int(
            function(data, RUN_STEPS, stop, y.ctypes.data, y.size, dydt.ctypes.data, dydt.size)
        )

    def _limits_address(self, callbacks: Callbacks, system: System, collision: Collision, stepping: Stepping) -> int:
        """Of what bounds and soft rows do; 0 where there are none."""
        if not len(stepping.bounds) + len(stepping.soft):
            return 0
        if not DISABLED:
            return COMPILED_LIMITS.address

        def call(data: int, task: int, h: float, y: int, n: int, answer: int, m: int) -> int:
            return int(perform_limits(task, h, view(y, n), view(answer, m), callbacks, system, stepping))

        self._limits = C_TYPE(call)
        return int(ctypes.cast(self._limits, ctypes.c_void_p).value or 0)

    def _solver_address(self, *tables: Any) -> int:
        """Of the solver's C function; 0 for Gauss–Seidel, which is part of the step."""
        compiled, perform = self._solver.compiled, self._solver.perform
        if compiled is None or perform is None:
            return 0
        if not DISABLED:
            return compiled.address

        def call(data: int, task: int, *_: Any) -> int:
            callbacks = Callbacks(*self._addresses[1][:CALLBACKS].tolist())
            return int(perform(task, callbacks, *tables, self._workspace))

        self._callback = C_TYPE(call)
        return int(ctypes.cast(self._callback, ctypes.c_void_p).value or 0)

    def restart(self, time: float) -> None:
        """Begin anew at a time (s)."""
        self.report.iterations = 0
        super().restart(time)

    def changed(self) -> None:
        """The state was changed from outside: what events were, what slept and what is ahead is not known."""
        super().changed()
        self._tables.options.fresh = 1
        self.collision.asleep[:-1] = AWAKE
        self._tables.slow[:] = slowness(self._mechanism.system)

    def missed(self) -> str:
        """What to say of a step that misses the tolerance."""
        report = self.report[0]
        return (
            f"at t = {self.time:.9g} s the contact solver {self.settings.solver!r} ends with a residual of "
            f"{report.residual:.3g} m/s instead of {report.aim:.3g}; allow more iterations than {self.settings.iterations}, "
            "a larger tolerance or a smaller dt"
        )

    def make_steps(self, y: np.ndarray, dydt: np.ndarray, stop: float) -> int:
        """See `FixedStepper.make_steps`."""
        if isinstance(self._mechanism, SoftMechanism):
            self._mechanism.follow()
        return super().make_steps(y, dydt, stop)

    def call_kernel(self, y: np.ndarray, dydt: np.ndarray, stop: float) -> int:
        """Make steps until so long after the start (s). Returns a status."""
        with self._team:
            return self._march(y, dydt, stop)

    def grow(self) -> None:
        """Give collision detection and the tables as much room as it asked for."""
        self._detector.make_room()
        self._fit()

    def room(self) -> dict[str, int]:
        """The lengths of what `fields` has, where the model does not tell them."""
        counts = self.collision.counts
        return {"pairs": int(counts[PAIRS]), "contacts": int(counts[CONTACTS])}

    def make_room(self, room: dict[str, int]) -> None:
        """Give `fields` these lengths."""
        self._detector.set_counts(room["pairs"], room["contacts"])
        self._fit()

    def fields(self) -> list[Field]:
        """What is remembered from step to step, beside the state."""
        return [
            Field("report", self.report, columns=KEPT_OF_REPORT),
            Field("options", self._tables.options, columns=KEPT_OF_OPTIONS),
            Field("bounds", self._tables.bounds, columns=KEPT_OF_BOUNDS),
            Field("soft", self._tables.soft, columns=KEPT_OF_SOFT),
            *self._own_fields(),
            *prefixed("collision", fields_of(self.collision)),
            *prefixed("events", self._events.fields()),
        ]

    def _own_fields(self) -> list[Field]:
        tables = self._tables
        return [
            Field("asleep", self.collision.asleep, UNMOVED, LARGE),
            Field("slow", tables.slow, -np.inf),
            Field("passes", tables.passes, 0, LARGE),
            Field("waits", tables.waits, 0, LARGE),
            Field("impulses of joints", tables.joint_impulses),
        ]

    def put_back(self) -> None:
        """`fields` were written: go on from there. Raises CheckpointError for what cannot be."""
        check(self.collision)
        super().put_back()

    def attempt(self, y: np.ndarray) -> np.ndarray:
        """The state of the last step that was tried, if that failed."""
        return y if np.isfinite(self._tables.saved).all() else self._tables.saved

    def frame(self) -> dict[str, Any]:
        """What is recorded of the contacts: see `Trajectory`."""
        report = self.report[0]
        forces = np.zeros((len(self.collision.linked), 3))  # of the bodies and of the world
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

    def asleep(self, model: Model) -> list[str]:
        """The names of bodies that sleep."""
        return [name for name, number in zip(model.body_names, self.collision.asleep, strict=False) if number != AWAKE]

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
        """What each stop, dry friction and motor exerted in the last step, N or N m along its coordinate."""
        found: dict[str, float] = {}
        forces = self._mechanism.system.forces
        for bound in self._tables.bounds[self._tables.bounds.soft < 0]:
            name, side = model.force_names[forces.ledger[bound.force]], float(forces.side[bound.force])
            found[name] = found.get(name, 0.0) + side * float(bound.impulse) / self.settings.dt
        if self.report.steps[0] > 0:
            soft = self._tables.soft
            for row in soft[forces.kind[soft.force] == MOTOR]:
                found[model.force_names[forces.ledger[row.force]]] = float(row.impulse) / self.settings.dt
        return found

    def _found(self) -> Any:
        return self.collision.contacts[: int(self.collision.counts[CONTACTS])]

    @staticmethod
    def _impulses(found: Any) -> np.ndarray:
        """(n, 3) N s on the second body, world axes."""
        return np.einsum("ij,ijk->ik", found.impulse, found.frame.reshape(-1, 3, 3))

    @property
    def timer(self) -> dict[str, float]:
        """What the stages of a step took, in ticks of the processor."""
        return dict(zip(STEP_STAGES, self._tables.timer.tolist(), strict=False))

    def contact_report(self) -> ContactReport:
        """How the contacts were solved in the run so far."""
        report = self.report[0]
        return ContactReport(
            self.settings.solver, float(report.worst_penetration), float(report.worst_residual), int(report.unsolved)
        )
