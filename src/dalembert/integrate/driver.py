"""The driver of one integration as a C function, with its tables; `Driver`, the stepper of a run, is last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.c_function import C_SIGNATURE, CARRY, array_type, call_pointer, make_view, part_of, viewer
from ..core.checkpoint_fields import COUNT, REAL, Field
from ..core.interrupt import Pace
from ..core.jit import DISABLED, CFunction, intrinsic, njit, types
from ..core.simd import clear, copy
from ..core.status import MAX_STEPS, OK
from ..core.tables import TableFunction, allocate, column, table_at
from . import state as integration
from .explicit import advance, dense_coefficients, extra_stages
from .state import CLOCK, PLAN, Functions, Options, Work
from .stepper import Stepper

# Matrices -------------------------------------------------------------------------------------------------------------


if DISABLED:

    def as_rows(array, rows, columns):
        """(rows, columns) view of a contiguous float64 array."""
        return array.reshape(rows, columns)

else:

    @intrinsic
    def as_rows(typing_context, array, rows, columns):
        """(rows, columns) view of a contiguous float64 array."""

        kind = array_type(np.float64, 2)

        def generate(context, builder, signature, arguments):
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            return make_view(context, builder, kind, data, arguments[1:])

        return kind(array, types.int64, types.int64), generate


# Tables ---------------------------------------------------------------------------------------------------------------

PROGRESS = np.dtype([("stop", "i8"), ("count", "i8"), ("each", "i8"), ("most", "i8")], align=True)
"""The next of the stops; how many rows were written; 1: each step is recorded, 0: the state at each stop; most steps of the
run."""


class Record(NamedTuple):
    """Times to end on and what is recorded, m rows at most."""

    progress: Any  # PROGRESS, one row
    stops: np.ndarray  # s, increasing
    times: np.ndarray  # (m,) s
    states: np.ndarray  # (m n,)
    polynomials: np.ndarray  # (m degree n,), the polynomial that ends at each row; or empty


def make_record(stops: np.ndarray, each: bool, most: int, rows: int, n: int, degree: int) -> Record:
    """Buffers for so many rows; degree : of the polynomials, 0 for none."""
    progress = np.array([(0, 0, int(each), most)], PROGRESS).view(np.recarray)
    return Record(progress, stops, np.empty(rows), np.empty(rows * n), np.empty(rows * n * degree))


NO_RECORD = make_record(np.zeros(0), False, 0, 0, 0, 0)


RECORD = -1  # in place of the number of steps: record until the buffers are full

SYSTEM = np.dtype(
    [("address", "i8"), ("handle", "i8"), ("completes", "i8"), ("numbers", "i8"), ("events", "i8"), ("carried", "i8"),
     ("look", "i8")]
)  # fmt: skip
"""The first three of `Functions`; how many numbers the state has with what is carried; how many events; how many carried;
the last of `Functions`."""


class Stepping(NamedTuple):
    """The arguments of `advance` besides y and dydt; rows of two-dimensional arrays one after another.

    Units: y is that of each component of the state, g that of each event function.
    """

    system: Any = column("1", SYSTEM, writer="OdeStepper")
    events: Any = column(dtype=np.int64, writer="OdeStepper", doc="the addresses of `Functions`")
    event_data: Any = column(dtype=np.int64, writer="OdeStepper")
    plan: Any = column(
        dtype=PLAN,
        unit="a 1, b 1, c 1, error 1, dense 1, extra_a 1, extra_c 1, beta 1, rtol 1, atol 1, h_max s",
        writer="state.make_options",
    )
    clock: Any = column(dtype=CLOCK, unit="t s, h s, error_last 1, origin s", writer="explicit")
    signs: Any = column(unit="1", writer="explicit", doc="these are those of `Work`")
    k: Any = column(unit="y/s", writer="explicit")
    stage: Any = column(unit="y", writer="explicit")
    y_new: Any = column(unit="y", writer="explicit")
    spare: Any = column(unit="y", writer="explicit")
    y_before: Any = column(unit="y", writer="driver.record")
    values: Any = column(unit="g", writer="explicit")
    weights: Any = column(unit="y", writer="state.make_options")
    momentum: Any = column(unit="1", writer="state.make_options")
    direction: Any = column(dtype=np.int64, writer="state.make_options")
    state: Any = column(
        "carried_size", unit="y", writer="driver.proceed",
        doc="y and dydt with what is carried behind them; empty where nothing is",
    )  # fmt: skip
    rates: Any = column("carried_size", unit="y/s", writer="driver.proceed")
    progress: Any = column(dtype=PROGRESS, writer="driver.record", doc="these are those of `Record`")
    stops: Any = column(unit="s", writer="make_record")
    times: Any = column(unit="s", writer="driver.record")
    states: Any = column(unit="y", writer="driver.record")
    polynomials: Any = column(unit="y", writer="driver.record")


# The driver as a C function -------------------------------------------------------------------------------------------
# It is compiled once; Python and other kernels call it alike.
#
#     integration_entry(data, most steps, t_end, y, n, dydt, n) -> status              see `explicit.advance`
#
# or, with RECORD in place of the number of steps, as `record` does. `data` is the address of a table `Stepping`.

_floats = viewer(np.float64)


@njit
def record(context, plan, y, dydt, work, tables):
    """Go on until a status that is not OK, or until the buffers are full; writes the arrays of `Record`. Returns a status."""
    clock, progress, stops, times = tables.clock, tables.progress[0], tables.stops, tables.times
    states, polynomials = tables.states, tables.polynomials
    now, n = clock[0], y.shape[0]
    progress.count = 0
    while progress.stop < stops.shape[0] and progress.count < times.shape[0]:
        steps, t_before, count = now.steps, now.t, progress.count
        copy(work.y_before, y)
        allowed = progress.most - steps
        if progress.each != 0:
            allowed = min(1, allowed)
        status = advance(context, plan, y, dydt, work, clock, stops[progress.stop], allowed)
        if (progress.each != 0 and now.steps > steps) or (progress.each == 0 and status == OK):
            times[count] = now.t
            copy(part_of(states, n * count, n), y)
            if polynomials.shape[0] > 0:
                h = now.t - t_before
                now.evaluations += plan.extra
                failed = extra_stages(context, t_before, work.y_before, h, plan, work.k, work.stage)
                if failed != OK:
                    return failed
                size = plan.degree * n
                dense_coefficients(plan, work.k, h, as_rows(part_of(polynomials, size * count, size), plan.degree, n))
            progress.count += 1
        if status == OK:
            progress.stop += 1
        elif status != MAX_STEPS or now.steps >= progress.most:
            return status
    return OK


@njit
def proceed(most, t_end, y, dydt, tables):
    """Integrate until t_end (s), as `advance` does, by at most so many steps. Returns a status."""
    own, plan, clock = tables.system[0], tables.plan[0], tables.clock
    context = Functions(own.address, own.handle, own.completes, tables.events, tables.event_data, own.carried, own.look)
    work = Work(
        tables.signs, as_rows(tables.k, plan.rows, own.numbers), tables.stage, tables.y_new, tables.spare,
        tables.y_before, as_rows(tables.values, 3, own.events), tables.weights, tables.momentum, tables.direction,
    )  # fmt: skip
    if most == RECORD:
        return record(context, plan, y, dydt, work, tables)
    if own.carried == 0:
        return advance(context, plan, y, dydt, work, clock, t_end, most)
    state, rates = tables.state, tables.rates
    extend(state, y)
    extend(rates, dydt)
    if clock[0].valid != 0:
        status = call_pointer(own.address, own.handle, CARRY, clock[0].t, state, rates)
        if status != OK:
            return status
    status = advance(context, plan, state, rates, work, clock, t_end, most)
    copy(y, state)
    copy(dydt, rates)
    return status


@njit
def extend(longer, source):
    """Copy an array to the front of a longer one, and clear the rest."""
    clear(longer)
    for i in range(source.shape[0]):
        longer[i] = source[i]


def integration_entry(data, most, t_end, y, n, dydt, m):
    return proceed(most, t_end, _floats(y, n), _floats(dydt, m), table_at(Stepping, data))


INTEGRATION_ENTRY = CFunction(integration_entry, C_SIGNATURE)


class OdeStepper(TableFunction):
    """The driver of one system as a C function: its task is the most steps, its time the end (s)."""

    def __init__(
        self, functions: Functions, options: Options, work: Work, clock: np.recarray, recorded: Record = NO_RECORD
    ) -> None:
        n, carried = options.weights.size, functions.carried
        own = (*functions[:3], n, options.direction.size, carried, functions.look)
        system = np.array([own], SYSTEM).view(np.recarray)
        arrays = {name: value.reshape(-1) for name, value in work._asdict().items()}
        tables = allocate(
            Stepping, {"carried_size": n if carried else 0}, system=system, events=functions.events,
            event_data=functions.event_data, plan=options.plan, clock=clock, **arrays, **recorded._asdict(),
        )  # fmt: skip
        super().__init__(INTEGRATION_ENTRY, proceed, tables)
        self._known: tuple[Any, ...] = (None, None)  # the arrays of the last call, and how compiled code is given them

    def call(self, task: int, t: float, values_in: np.ndarray, values_out: np.ndarray) -> int:
        """See `TableFunction.call`; a run calls it with the same arrays each time."""
        if values_in is not self._known[0] or values_out is not self._known[1]:
            where = (values_in.ctypes.data, values_in.size, values_out.ctypes.data, values_out.size)
            self._known = (values_in, values_out, *where)
        return int(self._function(self.data, task, t, *self._known[2:]))


# The stepper of a run -------------------------------------------------------------------------------------------------


class Driver(Stepper):
    """Integrates y' = f(t, y) from frame to frame.

    functions : the addresses of the system. options : see `state.make_options`. step : fixed step (s), or 0.
    """

    def __init__(self, functions: Functions, options: integration.Options, step: float) -> None:
        self._options, self._step, self._carried = options, step, functions.carried
        self._work = integration.make_work(options)
        self._signs = self._work.signs
        self._clock = integration.make_clock(0.0, step)
        # Views of arrays are read many times faster than those of records.
        self._now, self._land = self._clock.view(np.ndarray)["t"], options.plan.view(np.ndarray)["land"]
        self._pace = Pace()
        self._columns = {
            "t": (0.0, REAL[1]), "h": (0.0, REAL[1]), "error_last": (0.0, REAL[1]), "origin": REAL, "count": COUNT,
            "event": (-1, max(0, len(self._signs) - 1)), "started": (0, 1), "valid": (0, 1),
        }  # fmt: skip
        self.between: Callable[[], None] | None = None  # called from time to time in a long call of `run`
        self.stepper = OdeStepper(functions, options, self._work, self._clock)

    def restart(self, time: float) -> None:
        """Start again at a time (s)."""
        self._clock[:] = integration.make_clock(time, self._step)

    def changed(self) -> None:
        """Discard what was derived from the state, which was changed from outside."""
        self._clock[0].valid = 0

    def run(self, y: np.ndarray, dydt: np.ndarray, target: float, land: bool = False) -> int:
        """Step y until `target` (s), in place. Returns a status. Adaptive methods end there exactly; fixed steps end with the
        first step that does not end before it, or, with `land`, there exactly, by a shorter step. Raises
        KeyboardInterrupt."""
        self._land[0] = land
        while True:
            status = self.stepper.call(self._pace.begin(), target, y, dydt)
            if status != MAX_STEPS:
                return status
            self._pace.end()
            if self.between is not None:
                self.between()

    def fields(self) -> list[Field]:
        """The fields of a checkpoint, besides the state and its derivative."""
        return [Field("clock", self._clock, columns=self._columns), Field("signs", self._signs, -1.0, 1.0)]

    def attempt(self, y: np.ndarray) -> np.ndarray:
        """The state that a step was tried with and that is not finite, at a stage or at its end; else y."""
        for tried in (self._work.stage, self._work.y_new):
            state = tried[: tried.size - self._carried]
            if not (np.isfinite(state).all() or np.isnan(state).all()):  # the latter: not computed yet
                return state
        return y

    @property
    def step(self) -> float:
        """The length of the step that was tried last, or that comes next, s."""
        return float(self._clock[0].h)

    @property
    def time(self) -> float:
        """Time of the state, s."""
        return float(self._now[0])

    @property
    def event(self) -> int:  # type: ignore[override]
        """The event that the last call stopped at."""
        return int(self._clock[0].event)

    @property
    def counts(self) -> dict[str, int]:
        """Steps accepted and rejected, and evaluations of f."""
        clock: Any = self._clock[0]
        return {"steps": int(clock.steps), "rejected": int(clock.rejected), "evaluations": int(clock.evaluations)}
