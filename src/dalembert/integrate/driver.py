"""The integration of a run in progress: options, clock and scratch of one method, and the call of the stepping kernel."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core.c_function import C_SIGNATURE, CARRY, array_type, call_pointer, make_view, part_of, viewer
from ..core.checkpoint_fields import COUNT, REAL, Field
from ..core.interrupt import Pace
from ..core.jit import DISABLED, CFunction, intrinsic, njit, types
from ..core.simd import clear, copy
from ..core.status import MAX_STEPS, OK
from ..core.tables import TableFunction, column, table_at
from . import state as integration
from .explicit import advance, dense_coefficients, extra_stages
from .state import CLOCK, PLAN, Functions, Options, Work
from .stepper import Stepper

# ----------------------------------------------------------------------------------------------------------------------
# Arrays of numbers as matrices, inside compiled code.


@intrinsic
def as_rows(typing_context, array, rows, columns):
    """(rows, columns) view of a contiguous float64 array."""

    kind = array_type(np.float64, 2)

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return make_view(context, builder, kind, data, arguments[1:])

    return kind(array, types.int64, types.int64), generate


if DISABLED:

    def as_rows(array, rows, columns):
        """(rows, columns) view of a contiguous float64 array."""
        return array.reshape(rows, columns)


# ----------------------------------------------------------------------------------------------------------------------
# Where a run of `solve` went: it goes on until buffers are full.


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


@njit
def record(context, plan, y, dydt, work, signs, clock, progress, stops, times, states, polynomials):
    """Go on until a status that is not OK, or until the buffers are full; see `Record`. Returns a status."""
    now, n = clock[0], y.shape[0]
    progress.count = 0
    while progress.stop < stops.shape[0] and progress.count < times.shape[0]:
        steps, t_before, count = now.steps, now.t, progress.count
        copy(work.y_before, y)
        allowed = progress.most - steps
        if progress.each != 0:
            allowed = min(1, allowed)
        status = advance(context, plan, y, dydt, work, signs, clock, stops[progress.stop], allowed)
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


# ----------------------------------------------------------------------------------------------------------------------
# The driver behind a C pointer: what steps runs is compiled once, and Python and other kernels call it alike.
#
#     advance(data, most steps, t_end, y, n, dydt, n) -> status                             see `advance.advance`
#
# or, with RECORD in place of the number of steps, as `record.record` does.
# `data` is the address of a table of the arrays of `Stepping`.


SYSTEM = np.dtype(
    [("address", "i8"), ("handle", "i8"), ("completes", "i8"), ("numbers", "i8"), ("events", "i8"), ("carried", "i8")]
)
"""The first three of `Functions`; how many numbers the state has with what is carried; how many events; how many carried."""


class Stepping(NamedTuple):
    """Everything that `advance` is given beside y and dydt; rows of two-dimensional arrays one after another."""

    system: Any = column("1", SYSTEM)
    events: Any = column(dtype=np.int64, doc="the addresses of `Functions`")
    event_data: Any = column(dtype=np.int64)
    plan: Any = column("1", PLAN)
    signs: Any = column()
    clock: Any = column("1", CLOCK)
    k: Any = column(doc="these are those of `Work`")
    stage: Any = column()
    y_new: Any = column()
    spare: Any = column()
    y_before: Any = column()
    values: Any = column()
    weights: Any = column()
    momentum: Any = column()
    direction: Any = column(dtype=np.int64)
    state: Any = column(doc="y and dydt with what is carried behind them; empty where nothing is")
    rates: Any = column()
    progress: Any = column(dtype=PROGRESS, doc="these are those of `Record`")
    stops: Any = column()
    times: Any = column()
    states: Any = column()
    polynomials: Any = column()


RECORD = -1
_floats = viewer(np.float64)


@njit
def proceed(most, t_end, y, dydt, tables):
    """Integrate until t_end (s), as `advance` does, by at most so many steps. Returns a status."""
    own, plans = tables.system[0], tables.plan
    context = Functions(own.address, own.handle, own.completes, tables.events, tables.event_data, own.carried)
    work = Work(
        as_rows(tables.k, plans[0].rows, own.numbers), tables.stage, tables.y_new, tables.spare,
        tables.y_before, as_rows(tables.values, 3, own.events), tables.weights, tables.momentum,
        tables.direction,
    )  # fmt: skip
    clock = tables.clock
    if most == RECORD:
        return record(
            context, plans[0], y, dydt, work, tables.signs, clock, tables.progress[0], tables.stops,
            tables.times, tables.states, tables.polynomials,
        )  # fmt: skip
    if own.carried == 0:
        return advance(context, plans[0], y, dydt, work, tables.signs, clock, t_end, most)
    state, rates = tables.state, tables.rates
    extend(state, y)
    extend(rates, dydt)
    if clock[0].valid != 0:
        status = call_pointer(own.address, own.handle, CARRY, clock[0].t, state, rates)
        if status != OK:
            return status
    status = advance(context, plans[0], state, rates, work, tables.signs, clock, t_end, most)
    copy(y, state)
    copy(dydt, rates)
    return status


@njit
def extend(longer, given):
    """Copy what is given to the front of an array that is longer, and clear the rest."""
    clear(longer)
    for i in range(given.shape[0]):
        longer[i] = given[i]


def integration_entry(data, most, t_end, y, n, dydt, m):
    return proceed(most, t_end, _floats(y, n), _floats(dydt, m), table_at(Stepping, data))


INTEGRATION_ENTRY = CFunction(integration_entry, C_SIGNATURE)


class OdeStepper(TableFunction):
    """The driver of one system behind a C pointer: its task is the most steps, its time where to stop, s."""

    def __init__(
        self, functions: Functions, options: Options, work: Work, signs: np.ndarray, clock: np.recarray,
        recorded: Record = NO_RECORD,
    ) -> None:  # fmt: skip
        system = np.array(
            [(*functions[:3], options.weights.size, options.direction.size, functions.carried)],
            SYSTEM,
        ).view(np.recarray)
        tables = Stepping(
            system, functions.events, functions.event_data, options.plan, signs, clock, work.k.reshape(-1), *work[1:5],
            work.values.reshape(-1), *work[6:], *np.zeros((2, options.weights.size if functions.carried else 0)),
            *recorded,
        )  # fmt: skip
        super().__init__(INTEGRATION_ENTRY, proceed, tables)


# ----------------------------------------------------------------------------------------------------------------------


class Driver(Stepper):
    """Integrates y' = f(t, y) from frame to frame.

    functions : the addresses of the system. options : see `state.make_options`. step : fixed step (s), or 0.
    """

    def __init__(self, functions: Functions, options: integration.Options, step: float) -> None:
        self._options, self._step, self._carried = options, step, functions.carried
        self._work = integration.make_work(options)
        self._clock = integration.make_clock(0.0, step)
        self._signs, self._pace = integration.make_signs(options), Pace()
        self._kept = {
            "t": (0.0, REAL[1]), "h": (0.0, REAL[1]), "error_last": (0.0, REAL[1]), "origin": REAL, "count": COUNT,
            "event": (-1, max(0, len(self._signs) - 1)), "started": (0, 1), "valid": (0, 1),
        }  # fmt: skip
        self.stepper = OdeStepper(functions, options, self._work, self._signs, self._clock)

    def restart(self, time: float) -> None:
        """Begin anew at a time (s)."""
        self._clock[:] = integration.make_clock(time, self._step)

    def changed(self) -> None:
        """The state was changed from outside: forget what was derived from it."""
        self._clock[0].valid = 0

    def run(self, y: np.ndarray, dydt: np.ndarray, target: float, land: bool = False) -> int:
        """Step y until `target` (s), in place. Returns a status. Adaptive methods end there exactly; fixed steps end with the
        first step that does not end before it, or, with `land`, there exactly, by a shorter step. Raises
        KeyboardInterrupt."""
        self._options.plan.land = int(land)
        while True:
            status = self.stepper.call(self._pace.begin(), target, y, dydt)
            if status != MAX_STEPS:
                return status
            self._pace.end()

    def fields(self) -> list[Field]:
        """What is remembered from step to step, beside the state and its derivative."""
        return [Field("clock", self._clock, columns=self._kept), Field("signs", self._signs, -1.0, 1.0)]

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
        return float(self._clock[0].t)

    @property
    def event(self) -> int:  # type: ignore[override]
        """The event that the last call stopped at."""
        return int(self._clock[0].event)

    @property
    def counts(self) -> dict[str, int]:
        """Steps accepted and rejected, and evaluations of f."""
        clock: Any = self._clock[0]
        return {"steps": int(clock.steps), "rejected": int(clock.rejected), "evaluations": int(clock.evaluations)}
