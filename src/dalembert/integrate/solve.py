"""`solve`: integrate y' = f(t, y) from Python; the classes of its results come first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core.c_function import RAISED, WRONG_LENGTH
from ..core.status import EVENT, MAX_STEPS, MESSAGES, OK
from ..core.user_function import Adapter, Pointer
from .driver import RECORD, OdeStepper, make_record
from .state import Functions, Options, make_clock, make_options, make_work
from .tableaus import Array, Tableau
from .tableaus import method as find_method

# What it returns ------------------------------------------------------------------------------------------------------


@dataclass
class Solution:
    """A solution with n components at m times: every step, or the given `times`.

    Call it with a time (s) within the run to interpolate; this needs dense=True.
    """

    t: Array  # (m,) seconds
    y: Array  # (m, n)
    status: int
    message: str
    steps: int
    rejected: int
    evaluations: int
    event_times: tuple[Array, ...]  # for each event, its times (s)
    event_states: tuple[Array, ...]  # for each event, (count, n)
    polynomials: Array | None = field(default=None, repr=False)  # (m - 1, degree, n)

    def __call__(self, t: ArrayLike) -> Array:
        """The state at time(s) t by the method's dense output: (n,) or (len(t), n). Raises ValueError for times outside
        the run, and without dense=True.
        """
        if self.polynomials is None:
            raise ValueError("this solution has no dense output: call solve(..., dense=True)")
        at = np.asarray(t, dtype=np.float64)
        if not np.all((at >= self.t[0]) & (at <= self.t[-1])):
            raise ValueError(f"t = {t!r} lies outside the run, from {float(self.t[0])} to {float(self.t[-1])}")
        if not len(self.polynomials):
            return np.broadcast_to(self.y[0], (*at.shape, self.y.shape[1])).copy()
        step = np.clip(np.searchsorted(self.t, at, side="left") - 1, 0, len(self.polynomials) - 1)
        theta = ((at - self.t[step]) / (self.t[step + 1] - self.t[step]))[..., None]
        total = np.zeros((*at.shape, self.y.shape[1]))
        for j in range(self.polynomials.shape[1] - 1, -1, -1):
            total = theta * (self.polynomials[step, j] + total)
        return self.y[step] + total


class IntegrationError(RuntimeError):
    """Raised if an integration fails; `solution` holds everything up to the failure."""

    def __init__(self, message: str, solution: Solution) -> None:
        super().__init__(message)
        self.solution = solution


# The call -------------------------------------------------------------------------------------------------------------

Function = Callable[[float, Array], Any]
BUFFER = 1024  # rows that are recorded in one call


@dataclass(frozen=True)
class Event:
    """A function g(t, y) → number whose sign changes are events.

    direction : −1 finds zeros where g falls, +1 where it rises, 0 both. terminal : whether to stop at the first event.
    """

    function: Function
    direction: int = 0
    terminal: bool = False


def solve(
    f: Function,
    y0: ArrayLike,
    t0: float,
    t1: float,
    method: str = "dormand_prince",
    *,
    dt: float | None = None,
    rtol: float = 1e-6,
    atol: float | None = None,
    times: ArrayLike | None = None,
    events: Sequence[Event | Function] = (),
    dense: bool = False,
    max_step: float = np.inf,
    max_steps: int = 1_000_000,
) -> Solution:
    """Integrate y' = f(t, y) from y0 at t0 to t1 (s).

    f : returns n numbers. A function compiled by Numba runs at compiled speed; any other callable works too.
    dt : length of a fixed step (s); methods without error control need it; with it, methods with error control take
        fixed steps.
    rtol, atol : the error of each component in a step is kept below atol + rtol |y|. Default of atol: rtol.
    times : increasing, in [t0, t1]: steps end at these times, and only these are recorded. Default: every step is
        recorded.
    events : `Event` objects, or functions g(t, y). dense : store the method's interpolant, see `Solution.__call__`.

    For symplectic_euler the first half of y are positions, the second half momenta. Raises ValueError for invalid
    input, and `IntegrationError` if the run fails; if f raised an exception, it is the cause.
    """
    tableau = find_method(method)
    y = _finite("y0", np.atleast_1d(np.array(y0, dtype=np.float64)))
    if y.ndim != 1 or not y.size:
        raise ValueError(f"y0 must be a vector of numbers, not an array of shape {y.shape}")
    watched = tuple(item if isinstance(item, Event) else Event(item) for item in events)
    stops = _stops(float(t0), float(t1), times)
    if dense and times is not None:
        raise ValueError("times and dense=True exclude each other; give one of them")
    options = _options(method, tableau, y.size, dt, rtol, rtol if atol is None else atol, watched, float(max_step))
    if max_steps < 1:
        raise ValueError(f"max_steps must be at least 1, not {max_steps}")
    adapter = Adapter((f,), size=y.size)
    pointer = (
        Pointer(adapter) if adapter.compiled else None
    )  # which compiles it once for all functions of the same content
    if pointer is None or not np.isfinite(pointer(float(t0), y)).all():
        _require_derivative(f, float(t0), y)
    run = _Run(adapter, watched, options, y, make_clock(float(t0), 0.0 if dt is None else float(dt)), dense)
    return run.to_the_end(stops, times is None, max_steps)


def _require_derivative(f: Function, t: float, y: Array) -> None:
    """Raises ValueError where f does not return a derivative at the start."""
    start = np.asarray(f(t, y.copy()), dtype=np.float64)
    if start.shape != y.shape:
        raise ValueError(f"f(t0, y0) has shape {start.shape}, but y0 has shape {y.shape}; f is called as f(t, y)")
    _finite("f(t0, y0)", start)


class _Run:
    """One call of `solve`: the arrays the kernel works on, and what has been recorded."""

    def __init__(
        self, f: Adapter, watched: Sequence[Event], options: Options, y: Array, clock: np.recarray, dense: bool
    ) -> None:
        self.watched, self.options, self.y, self.clock, self.dense = watched, options, y, clock, dense
        self.pointers = [Pointer(f), *(Pointer(item.function, scalar=True) for item in watched)]
        addresses = [pointer.address for pointer in self.pointers]
        self.functions = Functions(
            addresses[0], 0, 0, np.array(addresses[1:], dtype=np.int64), np.zeros(len(addresses) - 1, np.int64)
        )
        self.t: list[Array] = []
        self.states: list[Array] = []
        self.polynomials: list[Array] = []
        self.found: list[tuple[int, float, Array]] = []

    def to_the_end(self, stops: Array, each: bool, max_steps: int) -> Solution:
        n, degree = self.y.size, int(self.options.plan.degree[0])
        dydt, now = np.full(n, np.nan), self.clock[0]
        if each or stops[0] == now.t:
            self._keep(np.array([now.t]), self.y[None].copy(), np.empty((0, degree, n)))
        rows = BUFFER if each else min(BUFFER, len(stops))
        record = make_record(stops, each, max_steps, rows, n, degree if self.dense else 0)
        stepper = OdeStepper(self.functions, self.options, make_work(self.options), self.clock, record)
        progress, status = record.progress[0], OK
        progress.stop = int(stops[0] == now.t and not each)
        while progress.stop < len(stops) and status in (OK, EVENT):
            status = stepper.call(RECORD, 0.0, self.y, dydt)
            count = int(progress.count)
            polynomials = record.polynomials.reshape(rows if self.dense else 0, degree, n)
            self._keep(
                record.times[:count].copy(), record.states.reshape(rows, n)[:count].copy(), polynomials[:count].copy()
            )
            if any(pointer.error is not None for pointer in self.pointers):
                status = RAISED
            if status == EVENT:
                self.found.append((int(now.event), float(now.t), self.y.copy()))
                if self.watched[now.event].terminal:
                    break
                status = OK
        if status != OK and not (self.t and self.t[-1].size and self.t[-1][-1] == now.t):
            self._keep(np.array([now.t]), self.y[None].copy(), np.empty((0, degree, n)))
        if status in (OK, EVENT):
            return self._solution(status, MESSAGES[status])
        raise self._failure(status, max_steps)

    def _keep(self, t: Array, states: Array, polynomials: Array) -> None:
        if t.size:
            self.t.append(t)
            self.states.append(states)
            self.polynomials.append(polynomials)

    def _solution(self, status: int, message: str) -> Solution:
        now = self.clock[0]
        n = self.y.size
        at = [[(t, y) for which, t, y in self.found if which == i] for i in range(len(self.watched))]
        return Solution(
            np.concatenate(self.t),
            np.concatenate(self.states),
            status,
            message,
            int(now.steps),
            int(now.rejected),
            int(now.evaluations),
            tuple(np.array([t for t, _ in hits]) for hits in at),
            tuple(np.array([y for _, y in hits]).reshape(-1, n) for hits in at),
            np.concatenate(self.polynomials) if self.dense else None,
        )

    def _failure(self, status: int, max_steps: int) -> IntegrationError:
        now = self.clock[0]
        errors = [pointer.error for pointer in self.pointers if pointer.error is not None]
        if errors:
            reason = f"the function raised {type(errors[0]).__name__}: {errors[0]}"
            errors[0].add_note(f"while integrating, in the step from t = {float(now.t)!r} s")
            if not isinstance(errors[0], Exception):
                raise errors[0]  # KeyboardInterrupt and its like
        elif status == WRONG_LENGTH:
            reason = "the number of values that f returned differs from that of y0"
        else:
            reason = MESSAGES.get(status, f"status {status}")
        if status == MAX_STEPS:
            reason += f" (max_steps is {max_steps})"
        message = f"integration stopped at t = {float(now.t)!r} s after {int(now.steps)} steps: {reason}"
        failure = IntegrationError(message, self._solution(status, message))
        failure.__cause__ = errors[0] if errors else None
        return failure


def _options(
    name: str,
    tableau: Tableau,
    n: int,
    dt: float | None,
    rtol: float,
    atol: float,
    watched: Sequence[Event],
    max_step: float,
) -> Options:
    if dt is None and not tableau.error.shape[0]:
        raise ValueError(f"method {name!r} takes fixed steps: give dt")
    if dt is not None and not 0.0 < dt < np.inf:
        raise ValueError(f"dt must be positive and finite, not {dt!r}")
    if not (0.0 <= rtol < np.inf and 0.0 <= atol < np.inf and rtol + atol > 0.0):
        raise ValueError(f"rtol and atol must be finite, ≥ 0 and not both zero; got {rtol!r} and {atol!r}")
    if not max_step > 0.0:
        raise ValueError(f"max_step must be positive, not {max_step!r}")
    directions = [item.direction for item in watched]
    if any(direction not in (-1, 0, 1) for direction in directions):
        raise ValueError(f"an event's direction must be -1, 0 or 1, not {directions}")
    if tableau.partitioned == 2:
        raise ValueError(f"method {name!r} needs the free motion of a mechanism; run it with simulate")
    if tableau.partitioned and n % 2:
        raise ValueError(f"{name} takes y as positions then momenta, half and half, but y0 has {n} numbers")
    return make_options(
        tableau,
        n,
        adaptive=dt is None,
        rtol=rtol,
        atol=atol,
        momentum=np.repeat([0.0, 1.0], n // 2) if tableau.partitioned else None,
        direction=directions,
        land=True,
        h_max=max_step,
    )


def _stops(t0: float, t1: float, times: ArrayLike | None) -> Array:
    if not (np.isfinite(t0) and np.isfinite(t1) and t0 <= t1):
        raise ValueError(f"t0 and t1 must be finite with t0 ≤ t1, not {t0!r} and {t1!r}")
    if times is None:
        return np.array([t1])
    stops = _finite("times", np.array(times, dtype=np.float64).reshape(-1))
    if not stops.size or np.any(np.diff(stops) <= 0.0) or stops[0] < t0 or stops[-1] > t1:
        raise ValueError(f"times must be strictly increasing and lie in [t0, t1] = [{t0!r}, {t1!r}]")
    return stops


def _finite(name: str, values: Array) -> Array:
    if not np.all(np.isfinite(values)):
        bad = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"{name} must be finite, but its number {bad} is {values.flat[bad]!r}")
    return values
