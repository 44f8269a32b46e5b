"""How many steps one call of compiled code may take, so that a run can be interrupted."""

from __future__ import annotations

from time import perf_counter

from .interrupt import poll

LOOK = 0.05  # s between two looks at the keyboard, about
FIRST, MOST, FASTER = (
    16,
    1 << 24,
    8,
)  # steps of the first call, and of any; how much longer a call may be than the one before


class Pace:
    """How many `steps` the next call may take, from how long the one before took. No step depends on it."""

    def __init__(self) -> None:
        self.steps = FIRST
        self._start = 0.0

    def begin(self) -> int:
        """A call begins; returns how many steps it may take."""
        self._start = perf_counter()
        return self.steps

    def end(self) -> None:
        """The call took as many steps as it might. Raises KeyboardInterrupt where Ctrl-C was pressed meanwhile."""
        took = perf_counter() - self._start
        self.steps = max(1, min(int(self.steps * min(FASTER, LOOK / max(took, 1e-9))), MOST))
        poll()
