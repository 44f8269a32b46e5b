"""Time of a run: the requested time, and the times of its frames.

Methods with fixed steps end on multiples of the step, so the time of a run and the requested time differ by up to a
step. The difference must not add up over calls of `advance`: requested durations are summed on their own, without
rounding errors that could drift. Frames lie at multiples of their interval from time zero, however a run is divided
into calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

ROUNDING = 1e-12  # of a time: thousands of roundings of 1e-16
MOST_FRAMES = 1e8  # of one call: hours of computing, and the memory of a large computer
SAME_FRAME = 1e-6  # of the interval between frames: times closer than this are one frame


class AskedTime:
    """The time until which a run was asked to go, s: `total` + `rest`, the rounding error of the first."""

    def __init__(self, time: float = 0.0) -> None:
        self.begin(time)

    def begin(self, time: float) -> None:
        """Count from a time (s)."""
        self.total, self.rest = time, 0.0

    def add(self, duration: float) -> float:
        """Ask for more time (s). Returns the time until which to go, s. The summation is compensated: D. E. Knuth, *The Art
        of Computer Programming* 2, 4.2.2, theorem B."""
        before, self.total = self.total, self.total + duration
        part = self.total - before
        self.rest += (before - (self.total - part)) + (duration - part)
        return self.total + self.rest


def slack(time: float) -> float:
    """The rounding error (s) by which a run to a time (s) may miss it."""
    return ROUNDING * max(1.0, abs(time))


def require_few_frames(duration: float, rate: float, step: float | None = None) -> None:
    """Raises ValueError for more frames than `MOST_FRAMES`. duration : s; rate : Hz; step : s, of a method with fixed steps,
    each of which ends in one frame at most."""
    frames = duration * (rate if step is None else min(rate, 1.0 / step))
    if frames > MOST_FRAMES:
        raise ValueError(
            f"frame_rate is {rate:.6g} Hz, so that {frames:.3g} frames would be recorded in {duration:.6g} s; give a lower "
            "frame_rate, or a shorter duration"
        )


def next_frame(time: float, rate: float) -> float:
    """The first multiple of 1/rate (Hz) after a time, s."""
    return (math.floor(time * rate + SAME_FRAME) + 1) / rate


def frame_times(start: float, rate: float, end: float, reached: Callable[[], float] | None = None) -> Iterator[float]:
    """The times at which a run from `start` to `end` (s) stops to record a frame: multiples of 1/rate (Hz), and the end.

    reached : the current time of the run, s. A fixed step may pass several of these times, which are then left out.
    """
    while start < end - slack(end):
        stop = next_stop(start, rate, end)
        yield stop
        start = stop if reached is None else max(stop, reached())


def next_stop(time: float, rate: float, end: float) -> float:
    """The next frame after a time, or the end if that comes first, s."""
    frame = next_frame(time, rate)
    return frame if frame <= end + slack(end) else end
