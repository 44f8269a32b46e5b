"""Timing that a busy machine cannot skew: engines take turns, and the shortest turn of each counts."""

import sys
import time
from collections.abc import Callable

Advance = Callable[[int], None]  # go on by so many steps


def duration_of(advance: Advance, steps: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds a step."""
    start = clock()
    advance(steps)
    return (clock() - start) / steps


def race(
    engines: dict[str, Advance], most: int, turns: int = 5, budget: float = 0.1,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:  # fmt: skip
    """Seconds a step of each: the least of `turns` turns of about `budget` s and at most `most` steps, taken alternately.
    clock : `time.process_time` where nothing but this process is to count.

    An engine that fails is left out, and the reason printed.
    """
    best: dict[str, float] = {}
    for turn in range(-1, turns):
        for name, advance in engines.items():
            if turn >= 0 and name not in best:
                continue
            try:
                if turn < 0:  # the first steps load what is loaded late
                    advance(1)
                    best[name] = duration_of(advance, min(5, most), clock)
                else:
                    steps = int(min(max(budget / best[name], 1), most))
                    best[name] = min(best[name], duration_of(advance, steps, clock))
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
                best.pop(name, None)
    return best


def built(makers: dict[str, Callable[[], Advance]]) -> dict[str, Advance]:
    """Those that can be made here; why the others cannot is printed."""
    engines = {}
    for name, make in makers.items():
        try:
            engines[name] = make()
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
    return engines
