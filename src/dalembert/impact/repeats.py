"""Events that follow each other closely: muting of repeated events, messages, and the end of a run.

Forces of contact are found to a tolerance, and where several contacts of a body share them they are not unique. An
event that was handled may then happen again at the same instant, with no change of the contacts: the force that the law
finds and the one that is distributed differ by more than the slack of the event function. Such an event is *muted*: the
slack of its comparison doubles at each repetition, until time advances. Slacks begin at the rounding of the quantity,
so that 20 to 30 repetitions reach a millionth of its size; `AT_ONCE` end the run.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable

import numpy as np

from ..core.checkpoint_fields import Field
from ..core.status import NoSolution, warn

AT_ONCE = 200  # most events at one instant
INSTANT = 1e-7  # of size / speed: events of one contact that are nearer in time are the same
MANY = 500  # events, which take seconds: so many in less than `SHORT` of simulated time are said to be many
SHORT = 0.1  # s
MOST_WARNINGS = 3  # of one run

Pair = tuple[str, str]


class Repeats:
    """Counts the events of a run by contact and instant. size : m, of the smallest thing that touches."""

    def __init__(self, size: float) -> None:
        self._size = size
        self._at_once, self._last = np.zeros(1, np.int64), np.full(1, -np.inf)
        self._handled: dict[Hashable, tuple[float, int]] = {}
        self._pairs: Counter[Pair] = Counter()
        self._recent: deque[tuple[float, Pair]] = deque(maxlen=MANY)
        self._warned, self._next = 0, 0

    def fields(self) -> list[Field]:
        """What carries over from one instant to the next."""
        return [Field("events at once", self._at_once, 0, AT_ONCE), Field("last instant", self._last, -np.inf)]

    def count(self, time: float, speed: float, what: Hashable, pair: Pair) -> None:
        """Count an event at a time (s): `what` identifies the contact and the kind of event. speed : m/s, that is typical.

        Raises NoSolution where events follow each other without time passing. Warns of many in a short time.
        """
        at_once = time <= self._last[0] + 1e-14 * max(1.0, abs(time))
        self._at_once[0] = self._at_once[0] + 1 if at_once else 0
        self._last[0] = time
        window = INSTANT * self._size / max(speed, 1e-300)
        handled = {key: entry for key, entry in self._handled.items() if time - entry[0] <= window}
        handled[what] = (time, handled.get(what, (time, 0))[1] + 1)
        self._handled = handled
        self._recent.append((time, pair))
        if self._at_once[0] >= AT_ONCE:
            names, often = self._most_frequent(AT_ONCE)
            raise NoSolution(
                f"contacts changed {AT_ONCE} times at t = {time:.9g} s without coming to rest, {often} times between "
                f"{names[0]!r} and {names[1]!r}; use method='time_stepping', or shapes that touch in fewer points"
            )
        self._warn(time)

    def repetitions(self, what: Hashable) -> int:
        """How often the event happened at this instant, less one."""
        return max(0, self._handled.get(what, (0.0, 0))[1] - 1)

    def _most_frequent(self, last: int) -> tuple[Pair, int]:
        return Counter(pair for _, pair in list(self._recent)[-last:]).most_common(1)[0]

    def _warn(self, time: float) -> None:
        """Warn of `MANY` events in less than `SHORT` of time, at most `MOST_WARNINGS` times, ever more seldom."""
        self._next = max(0, self._next - 1)
        if self._warned >= MOST_WARNINGS or self._next > 0 or len(self._recent) < MANY:
            return
        span = time - self._recent[0][0]
        if span >= SHORT:
            return
        names, often = self._most_frequent(MANY)
        self._warned += 1
        self._next = MANY * 10**self._warned
        warn(
            f"{MANY} events of contact in {span:.3g} s before t = {time:.6g} s, {often} of them between {names[0]!r} and "
            f"{names[1]!r}: each is located, so the run is slow; reduce the restitution, increase the distances "
            "between bodies, or use method='time_stepping', which handles many impacts in one step"
        )
