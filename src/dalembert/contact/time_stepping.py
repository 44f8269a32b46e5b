"""The stepper of the method "time_stepping": the tables of a step, their growth, and the call of its kernel."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..collide.curved import DISTANCE_ENTRY, distance
from ..collide.detect import STILL, Detector, check, fields_of
from ..collide.tables import AWAKE, CONTACTS, DISTANCE, LANE_COUNTS, NEED_ROOM, PAIRS, UNMOVED, Collision
from ..core.c_function import C_TYPE, view
from ..core.checkpoint_fields import COUNT, LARGE, REAL, Field, prefixed
from ..core.jit import DISABLED, CFunction
from ..core.status import OK
from ..core.tables import address_table, aligned, allocate, grow
from ..core.thread_pool import CONTACT_JOBS, CONTACT_SLOT, FUNCTIONS, WIDE_JOBS, ThreadPool
from ..dynamics.mechanism import Mechanism
from ..integrate.stepper import FixedStepper, StepEvents
from ..linalg.supernodal_analysis import supernodal_tables
from ..model.compile import Model
from ..model.tables import MOTOR
from .contact_point import Contact
from .continuous import CONTINUOUS_ENTRY, continuous_task
from .diagnosis import WorstContact, described, ways_out, worst_contact
from .limits import LIMITS_ENTRY, SoftMechanism, limits_task, with_soft_rows
from .mechanism_impacts import IMPACTS_ENTRY, MechanismImpacts, bounces, impacts_task
from .parallel import ALONE, RUN_STEPS, SUMS
from .points import UNKNOWN, Owners, frame_of, impulses_of, owners_of, rows_of
from .rows import Rows
from .solvers import SOLVERS, ContactSolver, StepSettings, linked, make_stepping, no_workspace, slowness
from .step import STEP_ENTRY, run_step_job, run_steps
from .surface_laws import Surfaces
from .surface_rows import SURFACES_ENTRY, surfaces_task
from .surface_tables import (
    compliance_of,
    fields_of_surfaces,
    fit_surfaces,
    make_surfaces,
    room_of_surfaces,
    torques_of,
    with_room_of_surfaces,
    with_sizes,
)
from .tables import AT_MOST, CALLBACKS, HELD, RESPONSE, ROW, SOFT, STEP_STAGES, STRUCK, ContactTables
from .wide_rows import BEFORE_POINT, SIZE, WIDE_ENTRY, run_wide_job

FINISHER = "interior_point"  # of islands that sweeps leave unsolved
LEAST_STRUCK = 64  # rows of the table of impacts in free motion, once something is fast
MANY = 32  # colliders of a scene whose large islands are swept in groups of pairs

# What a checkpoint has of the records
SAVED_OF_REPORT = {
    "steps": COUNT, "naps": COUNT, "wants_finisher": (0.0, 1.0), "jolted": (0.0, 2.0), "crowded": (0.0, 1.0), "last": REAL
}  # fmt: skip
SAVED_OF_OPTIONS = {"start": REAL, "fresh": (0.0, 1.0), "fast": (0.0, 1.0)}
SAVED_OF_BOUNDS = {"impulse": REAL, "state": (float(HELD), float(AT_MOST))}
SAVED_OF_SOFT = {"state": (float(HELD), float(AT_MOST))}


@dataclass(frozen=True)
class ContactReport:
    """How accurately the contacts of a run were solved.

    penetration : m, the deepest overlap. residual : m/s, the largest residual of the natural map of Coulomb's law.
    unsolved : the number of steps, of `steps`, in which it stayed above the tolerance; a step takes `dt` (s). where :
    the recorded contact with the largest residual, in words; force : N, the force that would remove this residual
    within a step. impacts : impacts of bodies that move farther than their thickness in a step, found by continuous
    collision detection. held : half steps with so many of these impacts that fast bodies were stopped at their current
    position. caught : how often elastic bodies that touched others on several sides would bounce more than 1000 times
    at once; then they lost energy."""

    solver: str
    penetration: float
    residual: float
    unsolved: int
    steps: int = 0
    dt: float = 0.0
    where: str = ""
    force: float = 0.0
    impacts: int = 0
    held: int = 0
    caught: int = 0

    def verdict(self) -> str:
        """What was not solved, as sentences; empty if every step was solved and no body was held or caught."""
        text = ""
        if self.unsolved:
            share = f" ({100.0 * self.unsolved / self.steps:.3g} %)" if self.steps else ""
            text = (
                f"in {self.unsolved} of {self.steps} steps{share} contact forces miss the tolerance; at worst a velocity of "
                f"contact is off by {self.residual:.3g} m/s, {length(self.residual * self.dt)} in a step"
            )
            if self.where:
                text += f". The largest error at a frame is {self.where}"
                text += f": a force of {self.force:.3g} N would correct it" if self.force > 0.0 else ""
        if self.held:
            text += (
                f"{'. In' if text else 'in'} {self.held} of {2 * self.steps} half steps there were too many impacts: fast "
                "bodies stopped for the rest of these half steps but kept their momenta, so the energy has an error (see "
                "the work of projection). Use a smaller dt"
            )
        if self.caught:
            text += (
                f"{'. In' if text else 'in'} {self.caught} solutions of {self.steps} steps elastic bodies were caught "
                "between others and still approached them after 1000 bounces; then they lost energy as without restitution "
                "(see the work of contact: impacts). Leave gaps between them, or use a smaller dt"
            )
        return text


def length(meters: float) -> str:
    """A length in mm, µm or nm."""
    unit, name = next(((u, n) for u, n in ((1e-3, "mm"), (1e-6, "µm")) if meters >= u), (1e-9, "nm"))
    return f"{meters / unit:.3g} {name}"


def _address_of(callback: Any) -> int:
    """Of a C callback."""
    return int(ctypes.cast(callback, ctypes.c_void_p).value or 0)


# Tables of a factorization, in the order of `supernodal_tables`.
FACTOR = "sizes", "next_edge", "scale", "rows", "values", "work"


def _room_of_factor(workspace: Any) -> dict[str, int]:
    """How much room the factorization of the converging solver has; zeros without that solver."""
    matrix = workspace.problem.matrix if hasattr(workspace, "problem") else None
    return {f"room for {kind}": 0 if matrix is None else len(getattr(matrix, kind)) for kind in FACTOR}


def _with_factor(workspace: Any, lengths: list[int]) -> Any:
    """A workspace of that solver with as much; others as they are."""
    if not hasattr(workspace, "problem"):
        return workspace
    return workspace._replace(problem=workspace.problem._replace(matrix=supernodal_tables(*lengths)))


class ContactStepper(FixedStepper):
    """Steps a mechanism with contact from frame to frame."""

    need_room = NEED_ROOM
    _is_wide = False
    _worst: WorstContact | None = None  # of all frames so far
    _after: np.ndarray | None = None  # the state of the bodies that the last call stepped

    def __init__(
        self, model: Model, mechanism: Mechanism, collision: Collision, ledger: int, settings: StepSettings,
        events: StepEvents,
    ) -> None:  # fmt: skip
        self._model = model
        self._plain, self._mechanism = mechanism, with_soft_rows(model, mechanism)
        own = self._mechanism
        soft = own.rows if isinstance(own, SoftMechanism) else np.zeros(0, SOFT).view(np.recarray)
        collision.linked[:] = linked(mechanism.system)
        tables = make_stepping(self._mechanism.system, model.size, ledger, settings, soft)
        self._surfaces = make_surfaces(model, collision, ledger)
        tables = with_sizes(tables, collision, self._surfaces)
        self._solver = SOLVERS[settings.solver]
        # Whether the contacts of large islands are swept in groups of pairs: in scenes of many bodies, by Gauss–Seidel
        self._is_wide = len(collision.colliders) >= MANY and self._solver.compiled is None
        self._begin(collision, tables, settings, events)

    def _begin(self, collision: Collision, tables: Any, settings: StepSettings, events: StepEvents) -> None:
        """Step by these tables, in any coordinates."""
        super().__init__(settings, tables.options, tables.report, events)
        self._finisher: ContactSolver | None = None
        self._is_watched = False  # whether continuous collision detection is at hand
        self._factor: list[int] = []  # the room for a factorization that a checkpoint asks for
        self._pool = ThreadPool(settings.threads)
        collision.still[0] = STILL
        self._detector = Detector(collision, self._pool)
        self._model = getattr(self, "_model", None) or self._mechanism.model  # type: ignore[attr-defined]
        self._owners, self._tables = Owners(self._model.scene), tables
        self._workspace = self._make_workspace(self._solver)
        self._fit()

    def _make_workspace(self, solver: ContactSolver) -> Any:
        """The workspace of a solver."""
        if self._surfaces is None or solver.make_workspace is no_workspace:
            return solver.make_workspace(self._mechanism, self.settings, self._tables.bounds)
        return solver.make_workspace(self._mechanism, self.settings, self._tables.bounds, laws=True)

    @property
    def bodies(self) -> ContactStepper:
        """This stepper."""
        return self

    @property
    def collision(self) -> Collision:
        """The tables of collision detection, as the last step left them."""
        return self._detector.collision

    def keep_finisher(self) -> None:
        """Note that the converging solver is at hand, if it is, in a report that is an earlier one."""
        if self._finisher is not None:
            self.report.wants_finisher = 1

    def keep_awake(self, bodies: np.ndarray) -> None:
        """Wake bodies, given as flags, with all that fell asleep with them, and count anew how long they are slow."""
        asleep, slow = self.collision.asleep, self._tables.slow
        sleeping = np.unique(asleep[: len(bodies)][bodies])
        for number in sleeping[sleeping > AWAKE]:
            asleep[asleep == number] = AWAKE
        slow[bodies] = np.minimum(slow[bodies], 0.0)

    @property
    def contact_tables(self) -> ContactTables:
        """The tables of a step."""
        return self._addresses[0][0]  # type: ignore[no-any-return]

    @property
    def handed_tables(self) -> Any:
        """The same, as the argument of kernels."""
        return self._addresses[0 if DISABLED else 1][0]

    @property
    def address_of_tables(self) -> int:
        """Where compiled code finds them."""
        return int(self._addresses[1][0].ctypes.data)

    def _fit(self) -> None:
        """Make as much room as the contacts need, and write the addresses of all tables."""
        self._tables = grow(self._tables, contacts=len(self.collision.contacts))
        if self._is_watched or self.report.room[0] > 0:
            self._fit_struck()
        self._workspace = (self._finisher or self._solver).fit_workspace(self._workspace, self.collision.contacts)
        if self._is_wide:
            room = len(self.collision.contacts)  # the system gives memory only to what is written
            wide, bodies = aligned(SIZE * room, np.float64), aligned(LANE_COUNTS * room, np.int32)
            self._tables = self._tables._replace(wide=wide, wide_bodies=bodies, wide_sums=np.zeros(SUMS * room + 1))
            self._tables = self._tables._replace(wide_before=aligned(BEFORE_POINT * room, np.float64))
            numbers, motion = {"single_wide": SIZE, "single_before": BEFORE_POINT}, len(self._tables.motion)
            singles = {name: aligned(size * room, np.float32) for name, size in numbers.items()}
            for name in ("single_motion", "single_before_motion"):
                singles[name] = aligned(motion, np.float32)
            self._tables = self._tables._replace(**singles)
        workspace, callbacks = address_table(self._workspace), np.zeros(1, CALLBACKS).view(np.recarray)
        tables = ContactTables(self._mechanism.system, self.collision, self._tables, callbacks)
        callbacks.mechanism, callbacks.mechanism_data = self._mechanism.address, self._mechanism.data
        callbacks.plain, callbacks.plain_data = self._plain.address, self._plain.data
        callbacks.detector, callbacks.detector_data = self._detector.address, self._detector.data
        callbacks.limits, callbacks.solver = self._limits_address(tables), self._solver_address(self._solver, tables)
        callbacks.finisher = self._solver_address(self._finisher or self._solver, tables)
        callbacks.workspace = workspace.ctypes.data
        self._fit_coordinates(tables)
        self._fit_surfaces(tables)
        callbacks.continuous = self._continuous_address(tables)
        callbacks.impacts = self._impacts_address(tables)
        # Each thread but the first has its own room for the system of one body.
        own = [
            self._tables._replace(support_system=self._tables.support_system.copy(), wide_result=np.zeros(1))
            for _ in range(1, self._pool.threads)
        ]
        each = [tables, *(tables._replace(stepping=stepping) for stepping in own)]
        self._addresses: Any = each, [address_table(one) for one in each], workspace
        for thread, table in enumerate(self._addresses[1]):
            self._pool.set_slot(thread, CONTACT_SLOT, int(table.ctypes.data))
        self._kernel, job = self._plain_kernel(tables) if DISABLED else self._compiled_kernel()
        self._pool.job_queue[FUNCTIONS + CONTACT_JOBS] = job
        self._pool.job_queue[FUNCTIONS + WIDE_JOBS] = self._wide_address(tables)

    def _fit_struck(self) -> None:
        """Give the table of impacts in free motion more room where it is full, and keep what it has."""
        old, used = self._tables.struck, int(self.report.struck[0])
        room = max(LEAST_STRUCK, int(self.report.room[0]))
        if room > len(old):
            table: Any = np.zeros(room, STRUCK).view(np.recarray)
            table[:used] = old[:used]
            slots = np.zeros(1 << (2 * room - 1).bit_length(), np.int64)  # a step begins with an empty table
            before: Any = np.zeros(room, STRUCK).view(np.recarray)
            before[: len(old)] = self._tables.struck_before
            self._tables = self._tables._replace(struck=table, struck_before=before, struck_slots=slots)

    def _fit_coordinates(self, tables: ContactTables) -> None:
        """Write the addresses of the function and the tables of other coordinates than those of bodies."""

    def _fit_surfaces(self, tables: ContactTables) -> None:
        """Write the addresses of the function and the tables of surface laws, where there are any."""
        if self._surfaces is None:
            return
        fitted = fit_surfaces(self._surfaces, self.collision, self._workspace, *self._lengths_of_rows())
        self._surfaces, callbacks = fitted, tables.callbacks
        self._surface_addresses = address_table(fitted)
        callbacks.surface_tables = self._surface_addresses.ctypes.data
        if not DISABLED:
            callbacks.surfaces = self._surfaces_entry().address
            return
        do = self._surfaces_function(fitted)

        def call(data: int, task: int, h: float, y: int, n: int, out: int, m: int) -> int:
            return int(do(task, h, view(y, n), view(out, m), tables))

        self._surfaces_callback = C_TYPE(call)
        callbacks.surfaces = _address_of(self._surfaces_callback)

    def _lengths_of_rows(self) -> tuple[int, int]:
        """The longest path and the longest span of rows in joint coordinates."""
        return 0, 0

    def _surfaces_entry(self) -> CFunction:
        """The function of surface laws in these coordinates."""
        return SURFACES_ENTRY

    def _surfaces_function(self, surfaces: Surfaces) -> Callable[..., int]:
        """The same without compilation: (task, h, y, out, tables) → status."""
        return lambda task, h, y, out, tables: int(surfaces_task(task, h, y, out, tables, surfaces))

    def _compiled_kernel(self) -> tuple[Callable[[np.ndarray, np.ndarray, float], int], int]:
        """The run of steps, and the address of the jobs of threads."""
        function, data = C_TYPE(STEP_ENTRY.address), int(self._addresses[1][0].ctypes.data)
        known: tuple[Any, ...] = (None, None)  # the arrays of the last call, and where they are: mostly the same

        def run(y: np.ndarray, dydt: np.ndarray, stop: float) -> int:
            nonlocal known
            if y is not known[0] or dydt is not known[1]:
                known = (y, dydt, y.ctypes.data, y.size, dydt.ctypes.data, dydt.size)
            return int(function(data, RUN_STEPS, stop, *known[2:]))

        return run, STEP_ENTRY.address

    def _plain_kernel(self, tables: ContactTables) -> tuple[Callable[[np.ndarray, np.ndarray, float], int], int]:
        """The same without compilation."""

        def job(slot: int, kind: int, t: float, nothing: int, begin: int, result: int, end: int) -> int:
            best = view(result, 1)
            best[0] = max(best[0], run_step_job(kind, t, begin, end, tables))
            return OK

        self._job = C_TYPE(job)
        return lambda y, dydt, stop: int(run_steps(y, dydt, stop, tables)), _address_of(self._job)

    def _wide_address(self, tables: ContactTables) -> int:
        """Of the function of jobs over groups of contacts; 0 where there are none."""
        if not self._is_wide:
            return 0
        if not DISABLED:
            return WIDE_ENTRY.address

        def job(slot: int, kind: int, t: float, nothing: int, begin: int, result: int, end: int) -> int:
            best = view(result, 1)
            best[0] = max(best[0], run_wide_job(kind % ALONE, t, begin, end, tables))
            return OK

        self._wide_job = C_TYPE(job)
        return _address_of(self._wide_job)

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

    def _continuous_address(self, tables: ContactTables) -> int:
        """Of continuous collision detection, and of the distances that it measures; 0 where nothing has been fast yet."""
        if not self._is_watched:
            return 0
        functions = self.collision.functions
        if not DISABLED:
            functions[DISTANCE] = DISTANCE_ENTRY.address
            return CONTINUOUS_ENTRY.address

        def measure(data: int, number: int, bound: float, *_: int) -> int:
            return int(distance(number, bound, tables.collision))

        def call(data: int, task: int, h: float, y: int, n: int, out: int, m: int) -> int:
            return int(continuous_task(task, h, view(y, n), view(out, m), tables))

        self._measure, self._continuous = C_TYPE(measure), C_TYPE(call)
        functions[DISTANCE] = _address_of(self._measure)
        return _address_of(self._continuous)

    def _rows(self) -> Rows:
        """Those of joint coordinates; none in those of bodies."""
        return allocate(Rows, dict.fromkeys(("contacts", "path", "span", "bounds"), 0), indices=np.zeros(0, np.int64))

    def _impacts_address(self, tables: ContactTables) -> int:
        """Of the impacts of mechanisms; 0 where nothing that has joints can bounce."""
        if not bounces(tables):
            return 0
        sizes = {"contacts": len(self.collision.contacts), "bounds": len(tables.stepping.bounds)}
        own = allocate(MechanismImpacts, sizes, rows=self._rows())
        self._impact_rows = own, address_table(own)
        tables.callbacks.impact_rows = self._impact_rows[1].ctypes.data
        if not DISABLED:
            return IMPACTS_ENTRY.address
        self._impacts = C_TYPE(lambda data, task, h, *_: int(impacts_task(task, h, own, tables)))
        return _address_of(self._impacts)

    def restart(self, time: float) -> None:
        """Begin anew at a time (s)."""
        self.report.iterations = self.report.passed = 0
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
        report, worst = self.report[0], self.worst()
        where = described(worst, float(report.residual), int(self.collision.counts[CONTACTS]))
        return (
            f"at t = {self.time:.9g} s the contact solver {self.settings.solver!r} ends with a residual of "
            f"{report.residual:.3g} m/s instead of {report.aim:.3g}{where}; "
            f"{ways_out(self.settings, worst, self._model.tree is not None)}"
        )

    def worst(self) -> WorstContact | None:
        """The contact with the largest residual of the last step; None where nothing touched."""
        rows, count = self._responses(), int(self.collision.counts[CONTACTS])
        if self._after is None or not count or rows.size < ROW * count:  # no step was made since a restart
            return None
        response = rows.reshape(-1, ROW)[:count, RESPONSE]
        compliance = compliance_of(self._surfaces, count)
        kinematics = self._mechanism.system.kinematics
        return worst_contact(
            self.collision, self._model, self._after, kinematics, response, self.settings.dt, compliance
        )

    def _responses(self) -> np.ndarray:
        """Those of the contacts, `ROW` numbers each."""
        return self._tables.rows

    def run(self, y: np.ndarray, dydt: np.ndarray, target: float) -> int:
        """See `FixedStepper.run`."""
        self._after = y
        return super().run(y, dydt, target)

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
        """Give collision detection and the tables as much room as it asked for, and the step the converging solver if it
        asked for that."""
        if self.report.wants_finisher[0]:
            self._take_finisher()
        self._is_watched = self._is_watched or bool(self.report.wants_continuous[0])
        self._detector.make_room()
        self._fit()

    def _take_finisher(self) -> None:
        """Have the converging solver for islands that sweeps leave unsolved."""
        if self._finisher is None:
            self._finisher = SOLVERS[FINISHER]
            self._workspace = self._make_workspace(self._finisher)

    def room(self) -> dict[str, int]:
        """The lengths of `fields` that do not follow from the model, and how much room there is. A step that asks for more
        room is made again, and detection then begins from what it has found; so a copy asks when the run does."""
        counts = self.collision.counts
        return {
            "pairs": int(counts[PAIRS]), "contacts": int(counts[CONTACTS]), **room_of_surfaces(self._surfaces),
            **self._detector.room(), "room for impacts": len(self._tables.struck), "continuous": int(self._is_watched),
            **_room_of_factor(self._workspace),
        }  # fmt: skip

    def make_room(self, room: dict[str, int]) -> None:
        """Give `fields` these lengths, and as much room."""
        self._detector.set_counts(room["pairs"], room["contacts"])
        self._detector.make_room(room)
        self.report.room[0] = room["room for impacts"]
        self._factor = [room[f"room for {kind}"] for kind in FACTOR]
        self._is_watched = self._is_watched or room["continuous"] > 0
        if self._surfaces is not None:
            self._surfaces = with_room_of_surfaces(self._surfaces, room["torques"])
        self._fit()

    def fields(self) -> list[Field]:
        """What carries over from step to step, beside the state."""
        return [
            Field("report", self.report, columns=SAVED_OF_REPORT),
            Field("options", self._tables.options, columns=SAVED_OF_OPTIONS),
            Field("bounds", self._tables.bounds, columns=SAVED_OF_BOUNDS),
            Field("soft", self._tables.soft, columns=SAVED_OF_SOFT),
            *self._own_fields(),
            *prefixed("surfaces", fields_of_surfaces(self._surfaces)),
            *prefixed("collision", fields_of(self.collision)),
            *prefixed("events", self._events.fields()),
        ]

    def memory_fields(self) -> list[Field]:
        """Those of them that a step that is made again must begin with, beside the state and the report: all but the warm
        start of contacts, which may be a better one. Their lengths never change."""
        return [
            Field("options", self._tables.options),
            Field("bounds", self._tables.numbers_of_bounds),
            Field("soft", self._tables.numbers_of_soft),
            *self._own_fields(),
        ]

    @property
    def mechanism_system(self) -> Any:
        """The tables of the mechanism."""
        return self._plain.system

    def _own_fields(self) -> list[Field]:
        tables = self._tables
        return [
            Field("asleep", self.collision.asleep, UNMOVED, LARGE),
            Field("slow", tables.slow, -np.inf),
            Field("passes", tables.passes, 0, LARGE),
            Field("waits", tables.waits, 0, LARGE),
            Field("aims", tables.aims, 0.0),
            Field("bears", tables.bears, 0.0, 1.0),
            Field("last speeds", tables.last_speeds),
            Field("impulses of joints", tables.joint_impulses),
        ]

    def put_back(self) -> None:
        """Resume from the `fields` written by a checkpoint. Raises CheckpointError for values that cannot be."""
        check(self.collision)
        self._contacts().pair[:] = UNKNOWN
        self.report.passed = 0
        if self.report.wants_finisher[0]:
            self._take_finisher()
        if any(self._factor):
            self._workspace = _with_factor(self._workspace, self._factor)
        self._is_watched = self._is_watched or bool(self._tables.options.fast[0])
        self._fit()
        super().put_back()

    def attempt(self, y: np.ndarray) -> np.ndarray:
        """The state at which the last step failed; y if it did not."""
        return y if np.isfinite(self._tables.saved).all() else self._tables.saved

    def frame(self) -> dict[str, Any]:
        """What a trajectory records of the contacts: see `Trajectory`."""
        report = self.report.view(np.ndarray)[0]  # a plain record is read faster
        values = frame_of(self.collision, self._owners, self.settings.dt, self._struck())
        values |= {"penetration": float(report["deepest"]), "contact_residual": float(report["largest_residual"])}
        report["deepest"] = report["largest_residual"] = 0.0
        residual = float(report["residual"])
        if residual > report["aim"] and residual > (0.0 if self._worst is None else self._worst.residual):
            self._worst = self.worst() or self._worst
        return values

    def asleep(self, model: Model) -> list[str]:
        """The names of bodies that sleep."""
        return [name for name, number in zip(model.body_names, self.collision.asleep, strict=False) if number > AWAKE]

    def contacts(self, model: Model) -> list[Contact]:
        """The contacts of the last step, and what impacts in its free motion did."""
        owners, rows = self._owners, self._contacts()
        first, second, _ = owners_of(rows, self.collision, owners)
        struck = self._struck()
        return [
            Contact(
                a=owners.names[owners.of_collider[row.a]],
                b=owners.names[owners.of_collider[row.b]],
                position=row.position.copy(),
                normal=row.frame[:3].copy(),
                separation=0.0,
                force=impulse / self.settings.dt,
                torque=row.moment / self.settings.dt,
            )
            for row, impulse in zip(struck, impulses_of(struck), strict=True)
        ] + [
            Contact(
                a=owners.names[a],
                b=owners.names[b],
                position=row.position.copy(),
                normal=row.frame[:3].copy(),
                separation=float(row.separation),
                force=impulse / self.settings.dt,
                torque=torque / self.settings.dt,
            )
            for a, b, row, impulse, torque in zip(
                first, second, rows, self._impulses(rows), torques_of(rows, self._surfaces), strict=True
            )
        ]

    def efforts(self, model: Model) -> dict[str, float]:
        """The force of each stop, dry friction and motor in the last step, N or N m along its coordinate."""
        efforts: dict[str, float] = {}
        forces = self._mechanism.system.forces
        for bound in self._tables.bounds[self._tables.bounds.soft < 0]:
            name, side = model.force_names[forces.ledger[bound.force]], float(forces.side[bound.force])
            efforts[name] = efforts.get(name, 0.0) + side * float(bound.impulse + bound.earlier) / self.settings.dt
        if self.report.steps[0] > 0:
            soft = self._tables.soft
            for row in soft[forces.kind[soft.force] == MOTOR]:
                efforts[model.force_names[forces.ledger[row.force]]] = (
                    float(row.impulse + row.earlier) / self.settings.dt
                )
            commands = self._mechanism.system.commands
            for row in commands[commands.row >= 0]:
                efforts[model.force_names[row.entry]] = float(self._tables.joint_impulses[row.row]) / self.settings.dt
        return efforts

    def _struck(self) -> Any:
        """What impacts in the free motion of the last step did, (n,) records of `tables.STRUCK`."""
        return self._tables.struck[: int(self.report.struck[0])]

    def _contacts(self) -> Any:
        return rows_of(self.collision)

    @staticmethod
    def _impulses(contacts: Any) -> np.ndarray:
        """(n, 3) N s on the second body, world axes."""
        return impulses_of(contacts)

    @property
    def timer(self) -> dict[str, float]:
        """Time of each stage of a step, in cycles of the processor."""
        return dict(zip(STEP_STAGES, self._tables.timer.tolist(), strict=False))

    def contact_report(self) -> ContactReport:
        """How the contacts were solved in the run so far."""
        report, worst = self.report[0], self._worst
        found: dict[str, Any] = {} if worst is None else {"where": str(worst), "force": worst.force}
        return ContactReport(
            self.settings.solver, float(report.worst_penetration), float(report.worst_residual), int(report.unsolved),
            steps=int(report.steps), dt=float(self.settings.dt), impacts=int(report.impacts), held=int(report.held),
            caught=int(report.caught), **found,
        )  # fmt: skip
