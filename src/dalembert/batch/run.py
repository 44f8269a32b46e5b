"""`run_batch`: many runs of one scene inside one compiled call a thread."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..board import MOST_THREADS
from ..clock import frame_times
from ..model.compile import Model
from ..scene.scene import Scene
from ..simulation.checks import positive
from ..team import cores
from .result import Batch
from .structure import differences
from .threads import Record, Thread, work_together
from .vary import varied_by_name
from .workspace import Varied, Workspace

NUMBER_BYTES, NUMBERS_BESIDE = 8, 4  # of a frame beside the state: energies, errors of joints


def run_batch(
    scenes: Scene | Model | Iterable[Scene | Model],
    duration: float,
    *,
    vary: Mapping[str, ArrayLike] | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
    **settings: Any,
) -> Batch:
    """Run many members of one scene for `duration` seconds, on all cores, and return the `Batch`.

    Members share the structure of one scene (bodies, joints, forces by name and kind) and differ in numbers. Each gives the
    same bits as its run by `simulate`, whatever the number of threads. A member that fails keeps what it recorded and does
    not stop the others.

    Parameters
    ----------
    scenes : one scene, or compiled Model, with `vary`; or one a member: any numbers in them may differ.
    vary : name → array of one row a member (SI units): "gravity" (m, 3); of a body ".mass" (m,), which is that of a body of
        the same shape and another density, ".position" (m, 3), ".velocity" (m, 3), ".orientation" (m, 4), ".angular_velocity"
        (m, 3), at the start; of a joint of one freedom ".position" and ".speed" (m,), which move all that it carries (rad, or
        m; the names are those of `Simulation.joint_state`); of a spring or a motor ".stiffness", ".damping", ".rest",
        ".target", ".limit", ".position" (m,). Nothing is compiled, so that this takes a fraction of the time of scenes.
        Points of joints and forces stay where they are on their bodies.
    threads : as many as there are cores, if not given.
    progress : is told now and then how many members were begun, and of how many.
    settings : those of `Simulation`, by integration methods.

    Raises ValueError for what batches cannot run (contact, events, controllers, generalized coordinates, iterative solvers of
    constraints, time steps of particles), for members of another structure, and for bad arguments; MemoryError where the
    record would not fit. Ctrl-C ends the batch cleanly (`interrupted`).

    >>> import dalembert as dal
    >>> scene = dal.Scene("pendulum")
    >>> bob = scene.add_body("bob", dal.Sphere(0.1), mass=1.0, position=(0.0, 0.0, -1.0))
    >>> pivot = scene.hinge("pivot", dal.WORLD, bob, at=(0, 0, 0), axis=(0, 1, 0))
    >>> batch = dal.run_batch(scene, 1.0, vary={"pivot.position": [0.1, 0.2, 0.3]}, coordinates="joint")
    >>> batch.position.shape
    (3, 61, 1, 3)
    """
    end = positive("duration", duration, "s")
    count = threads_of(threads)
    if vary is not None and not isinstance(scenes, Scene | Model):
        raise ValueError("vary changes numbers of one scene; give that scene, or scenes without vary")
    members = iter([scenes] if isinstance(scenes, Scene | Model) else scenes)
    first = next(members, None)
    if first is None:
        raise ValueError("there are no scenes to run; give one a member, or one scene with vary")
    template = Workspace(first, **settings)
    kept: list[Any] = []
    if vary is not None:
        varied, number = varied_by_name(template, vary)
    else:
        varied, number, kept = differences(template, itertools.chain([first], members))
    return run_together(template, settings, (varied, number, kept), end, count, progress)


def run_together(
    template: Workspace, settings: dict[str, Any], members: tuple[list[Varied], int, list[Any]], end: float, threads: int,
    progress: Callable[[int, int], Any] | None = None,
) -> Batch:  # fmt: skip
    """Run members until `end` (s). members : what varies, their number, and what must live as long as they run."""
    varied, number, kept = members
    targets = instants(end, template.frames)
    _require_room(number, len(targets) + 1, template.model.size)
    record = Record(number, targets, template.model.size)
    count = 1 if template.model.slow else min(threads, number)
    start = time.perf_counter()
    runs = [template, *(Workspace(template.model, **settings) for _ in range(count - 1))]
    workers = [Thread(run, varied, targets, record) for run in runs]
    interrupted = work_together(workers, record, progress)
    return Batch(template, settings, varied, kept, record, end, time.perf_counter() - start, interrupted, count)


def threads_of(threads: int | None) -> int:
    """How many threads to take: as many as there are cores, if not given. Raises ValueError."""
    if threads is None:
        return min(cores(), MOST_THREADS)
    if not (isinstance(threads, int) and 1 <= threads <= MOST_THREADS):
        raise ValueError(f"threads is {threads!r}; give a whole number from 1 to {MOST_THREADS}")
    return threads


def instants(end: float, frames: float) -> np.ndarray:
    """The instants that `Simulation.advance` stops at, s."""
    return np.array(list(frame_times(0.0, frames, end)))


def room_of(rows: int, size: int) -> int:
    """Bytes that a member's frames take."""
    return rows * (size + NUMBERS_BESIDE) * NUMBER_BYTES


def _require_room(members: int, rows: int, size: int) -> None:
    """Raises MemoryError where the record would not fit in the machine's memory."""
    needed = members * room_of(rows, size)
    try:
        room = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return
    if needed > 0.9 * room:
        raise MemoryError(
            f"{members} members of {rows} frames take {needed / 1e9:.3g} GB, and the machine has {room / 1e9:.3g} GB; record "
            "fewer frames a second (frames=...), or run fewer members at a time"
        )
