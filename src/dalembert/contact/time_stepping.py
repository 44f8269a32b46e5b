"""A run by time steps of contact: the tables of a step, their growth, and the call of its kernel."""

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
from ..core.thread_pool import CONTACT_JOBS, CONTACT_SLOT, FUNCTIONS, ThreadPool
from ..dynamics.mechanism import Mechanism
from ..integrate.stepper import FixedStepper, StepEvents
from ..model.compile import Model
from ..model.tables import MOTOR
from .limits import LIMITS_ENTRY, SoftMechanism, limits_task, with_soft_rows
from .parallel import RUN_STEPS
from .solve import run_job
from .solvers import SOLVERS, ContactSolver, StepSettings, linked, make_stepping, slowness
from .step import STEP_ENTRY, run_steps
from .tables import AT_MOST, CALLBACKS, HELD, SOFT, STEP_STAGES, ContactTables

FINISHER = "interior_point"  # of islands that sweeps leave unsolved

# What a checkpoint has of the records
SAVED_OF_REPORT = {"steps": COUNT, "naps": COUNT}
SAVED_OF_OPTIONS = {"start": REAL, "fresh": (0.0, 1.0)}
SAVED_OF_BOUNDS = {"impulse": REAL, "state": (float(HELD), float(AT_MOST))}
SAVED_OF_SOFT = {"state": (float(HELD), float(AT_MOST))}


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


def _address_of(callback: Any) -> int:
    """Of a C callback."""
    return int(ctypes.cast(callback, ctypes.c_void_p).value or 0)


class ContactStepper(FixedStepper):
    """Steps a mechanism with contact from frame to frame."""

    need_room = NEED_ROOM

    def __init__(
        self, model: Model, mechanism: Mechanism, collision: Collision, ledger: int, settings: StepSettings,
        events: StepEvents,
    ) -> None:  # fmt: skip
        self._plain, self._mechanism = mechanism, with_soft_rows(model, mechanism)
        own = self._mechanism
        soft = own.rows if isinstance(own, SoftMechanism) else np.zeros(0, SOFT).view(np.recarray)
        collision.linked[:] = linked(mechanism.system)
        tables = make_stepping(self._mechanism.system, model.size, ledger, settings, soft)
        self._solver = SOLVERS[settings.solver]
        self._begin(collision, tables, settings, events)

    def _begin(self, collision: Collision, tables: Any, settings: StepSettings, events: StepEvents) -> None:
        """Step by these tables, in any coordinates."""
        super().__init__(settings, tables.options, tables.report, events)
        self._finisher: ContactSolver | None = None
        self._pool = ThreadPool(settings.threads)
        self._detector = Detector(collision, self._pool)
        self._tables = tables
        self._workspace = self._make_workspace(self._solver)
        self._fit()

    def _make_workspace(self, solver: ContactSolver) -> Any:
        """The workspace of a solver."""
        return solver.make_workspace(self._mechanism, self.settings, self._tables.bounds)

    @property
    def bodies(self) -> ContactStepper:
        """This stepper."""
        return self

    @property
    def collision(self) -> Collision:
        """The tables of collision detection, as the last step left them."""
        return self._detector.collision

    def _fit(self) -> None:
        """Make as much room as the contacts need, and write the addresses of all tables."""
        self._tables = grow(self._tables, contacts=len(self.collision.contacts))
        self._workspace = (self._finisher or self._solver).fit_workspace(self._workspace, self.collision.contacts)
        workspace, callbacks = address_table(self._workspace), np.zeros(1, CALLBACKS).view(np.recarray)
        tables = ContactTables(self._mechanism.system, self.collision, self._tables, callbacks)
        callbacks.mechanism, callbacks.mechanism_data = self._mechanism.address, self._mechanism.data
        callbacks.plain, callbacks.plain_data = self._plain.address, self._plain.data
        callbacks.detector, callbacks.detector_data = self._detector.address, self._detector.data
        callbacks.limits, callbacks.solver = self._limits_address(tables), self._solver_address(self._solver, tables)
        callbacks.finisher = 0 if self._finisher is None else self._solver_address(self._finisher, tables)
        callbacks.workspace = workspace.ctypes.data
        self._fit_coordinates(tables)
        # Each thread but the first has its own room for the system of one body.
        own = [
            self._tables._replace(support_system=self._tables.support_system.copy())
            for _ in range(1, self._pool.threads)
        ]
        each = [tables, *(tables._replace(stepping=stepping) for stepping in own)]
        self._addresses: Any = each, [address_table(one) for one in each], workspace
        for thread, table in enumerate(self._addresses[1]):
            self._pool.set_slot(thread, CONTACT_SLOT, int(table.ctypes.data))
        self._kernel, job = self._plain_kernel(tables) if DISABLED else self._compiled_kernel()
        self._pool.job_queue[FUNCTIONS + CONTACT_JOBS] = job

    def _fit_coordinates(self, tables: ContactTables) -> None:
        """Write the addresses of the function and the tables of other coordinates than those of bodies."""

    def _compiled_kernel(self) -> tuple[Callable[[np.ndarray, np.ndarray, float], int], int]:
        """The run of steps, and the address of the jobs of threads."""
        function, data = C_TYPE(STEP_ENTRY.address), int(self._addresses[1][0].ctypes.data)

        def run(y: np.ndarray, dydt: np.ndarray, stop: float) -> int:
            return int(function(data, RUN_STEPS, stop, y.ctypes.data, y.size, dydt.ctypes.data, dydt.size))

        return run, STEP_ENTRY.address

    def _plain_kernel(self, tables: ContactTables) -> tuple[Callable[[np.ndarray, np.ndarray, float], int], int]:
        """The same without compilation."""

        def job(slot: int, kind: int, t: float, nothing: int, begin: int, result: int, end: int) -> int:
            best = view(result, 1)
            best[0] = max(best[0], run_job(kind, begin, end, tables))
            return OK

        self._job = C_TYPE(job)
        return lambda y, dydt, stop: int(run_steps(y, dydt, stop, tables)), _address_of(self._job)

    def _limits_address(self, tables: ContactTables) -> int:
        """Of the function of bounds and soft rows; 0 where there are none."""
        if not len(tables.stepping.bounds) + len(tables.stepping.soft):
            return 0
        if not DISABLED:
            return LIMITS_ENTRY.address

        def call(data: int, task: int, h: float, y: int, n: int, answer: int, m: int) -> int:
            return int(limits_task(task, h, view(y, n), view(answer, m), tables))

        self._limits = C_TYPE(call)
        return _address_of(self._limits)

    def _solver_address(self, solver: ContactSolver, tables: ContactTables) -> int:
        """Of a solver's C function; 0 for Gauss–Seidel, which is part of the step."""
        compiled, function = solver.compiled, solver.function
        if compiled is None or function is None:
            return 0
        if not DISABLED:
            return compiled.address
        self._callback = C_TYPE(lambda data, task, t, *_: int(function(task, t, tables, self._workspace)))
        return _address_of(self._callback)

    def restart(self, time: float) -> None:
        """Begin anew at a time (s)."""
        self.report.iterations = 0
        super().restart(time)

    def changed(self) -> None:
        """The state was changed from outside: forget events and the contacts ahead, and wake all bodies."""
        super().changed()
        self._tables.options.fresh = 1
        self.collision.asleep[:-1] = AWAKE
        self._tables.slow[:] = self._slowness()

    def _slowness(self) -> np.ndarray:
        """For `Stepping.slow`, at the start."""
        return slowness(self._mechanism.system)

    def missed(self) -> str:
        """The message of a step that misses the tolerance."""
        report = self.report[0]
        return (
            f"at t = {self.time:.9g} s the contact solver {self.settings.solver!r} ends with a residual of "
            f"{report.residual:.3g} m/s instead of {report.aim:.3g}; allow more iterations than {self.settings.iterations}, "
            "a larger tolerance or a smaller dt"
        )

    def make_steps(self, y: np.ndarray, dydt: np.ndarray, stop: float) -> int:
        """See `FixedStepper.make_steps`."""
        if isinstance(self._mechanism, SoftMechanism):
            self._mechanism.synchronize()
        return super().make_steps(y, dydt, stop)

    def call_kernel(self, y: np.ndarray, dydt: np.ndarray, stop: float) -> int:
        """Make steps until `stop` (s after the start). Returns a status."""
        with self._pool:
            return self._kernel(y, dydt, stop)

    def grow(self) -> None:
        """Give collision detection and the tables as much room as it asked for, and the step the converging solver if it asked
        for that."""
        if self.report.wants_finisher[0] and self._finisher is None:
            self._finisher = SOLVERS[FINISHER]
            self._workspace = self._make_workspace(self._finisher)
        self.report.wants_finisher = 0
        self._detector.make_room()
        self._fit()

    def room(self) -> dict[str, int]:
        """The lengths of `fields` that do not follow from the model."""
        counts = self.collision.counts
        return {"pairs": int(counts[PAIRS]), "contacts": int(counts[CONTACTS])}

    def make_room(self, room: dict[str, int]) -> None:
        """Give `fields` these lengths."""
        self._detector.set_counts(room["pairs"], room["contacts"])
        self._fit()

    def fields(self) -> list[Field]:
        """What carries over from step to step, beside the state."""
        return [
            Field("report", self.report, columns=SAVED_OF_REPORT),
            Field("options", self._tables.options, columns=SAVED_OF_OPTIONS),
            Field("bounds", self._tables.bounds, columns=SAVED_OF_BOUNDS),
            Field("soft", self._tables.soft, columns=SAVED_OF_SOFT),
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
        """Resume from the `fields` written by a checkpoint. Raises CheckpointError for values that cannot be."""
        check(self.collision)
        super().put_back()

    def attempt(self, y: np.ndarray) -> np.ndarray:
        """The state at which the last step failed; y if it did not."""
        return y if np.isfinite(self._tables.saved).all() else self._tables.saved

    def frame(self) -> dict[str, Any]:
        """What a trajectory records of the contacts: see `Trajectory`."""
        report = self.report[0]
        forces = np.zeros((len(self.collision.linked), 3))  # of the bodies and of the world
        contacts = self._contacts()
        impulses = self._impulses(contacts)
        np.add.at(forces, contacts.b, impulses)
        np.add.at(forces, contacts.a, -impulses)
        values = {
            "contact_force": forces[:-1] / self.settings.dt,
            "contacts": len(contacts),
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
        rows = self._contacts()
        impulses = self._impulses(rows)
        return [
            Contact(
                a=names[row.a],
                b=names[row.b],
                position=row.position.copy(),
                normal=row.frame[:3].copy(),
                separation=float(row.separation),
                force=impulse / self.settings.dt,
            )
            for row, impulse in zip(rows, impulses, strict=True)
        ]

    def efforts(self, model: Model) -> dict[str, float]:
        """The force of each stop, dry friction and motor in the last step, N or N m along its coordinate."""
        efforts: dict[str, float] = {}
        forces = self._mechanism.system.forces
        for bound in self._tables.bounds[self._tables.bounds.soft < 0]:
            name, side = model.force_names[forces.ledger[bound.force]], float(forces.side[bound.force])
            efforts[name] = efforts.get(name, 0.0) + side * float(bound.impulse) / self.settings.dt
        if self.report.steps[0] > 0:
            soft = self._tables.soft
            for row in soft[forces.kind[soft.force] == MOTOR]:
                efforts[model.force_names[forces.ledger[row.force]]] = float(row.impulse) / self.settings.dt
        return efforts

    def _contacts(self) -> Any:
        return self.collision.contacts[: int(self.collision.counts[CONTACTS])]

    @staticmethod
    def _impulses(contacts: Any) -> np.ndarray:
        """(n, 3) N s on the second body, world axes."""
        return np.einsum("ij,ijk->ik", contacts.impulse, contacts.frame.reshape(-1, 3, 3))

    @property
    def timer(self) -> dict[str, float]:
        """Time of each stage of a step, in cycles of the processor."""
        return dict(zip(STEP_STAGES, self._tables.timer.tolist(), strict=False))

    def contact_report(self) -> ContactReport:
        """How the contacts were solved in the run so far."""
        report = self.report[0]
        return ContactReport(
            self.settings.solver, float(report.worst_penetration), float(report.worst_residual), int(report.unsolved)
        )
