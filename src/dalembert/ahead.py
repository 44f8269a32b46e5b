"""Compiling ahead, with every core: processes take from one list what none has begun, the longest first."""

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

import numba

from . import board, cache_folders, kernel_cache
from .articulated import contact_step as articulated_step
from .articulated import evaluate as articulated
from .batch import kernel as batch
from .collide import detect, narrow
from .contact import interior_point, jobs, step
from .impact import evaluate as impact
from .integrate import behind, record
from .integrate.solve import solve
from .linalg import iterate
from .mechanics import evaluate as mechanics
from .particles import detect as particle_detect
from .particles import step as particle_step
from .symbolic import evaluate as lagrangian
from .symbolic import placed


class Compiled(Protocol):
    """What is compiled as a whole: `kept` tells whether it is on disk."""

    name: str

    @property
    def kept(self) -> bool: ...

    def compile(self) -> None: ...


class Integration:
    """The kernel behind `solve`, which takes arrays and so is compiled by a call."""

    name = "integrate"

    @property
    def kept(self) -> bool:
        return bool(record.record._cache.kept)

    def compile(self) -> None:
        solve(lambda t, y: -y, [1.0], 0.0, 1.0, method="euler", dt=1.0)


INTEGRATION = Integration()
EVERYTHING: tuple[Compiled, ...] = (
    interior_point.COMPILED, impact.COMPILED, mechanics.COMPILED, step.COMPILED, jobs.COMPILED,
    behind.COMPILED, INTEGRATION, detect.COMPILED, detect.COMPILED_JOB,
    *(compiled for _, compiled in narrow.BY_FAMILY.values()), impact.COMPILED_WATCH,
    articulated_step.COMPILED, articulated.COMPILED, articulated.COMPILED_EVENT, placed.COMPILED, lagrangian.COMPILED,
    iterate.COMPILED, placed.COMPILED_EVENT, batch.COMPILED, board.COMPILED, particle_step.COMPILED,
    particle_detect.COMPILED,
)  # fmt: skip
"""All that takes long to compile, the longest first."""


def compile_ahead(wanted: Iterable[Compiled]) -> None:
    """Compile what is not on disk yet, with as many processes as there are cores."""
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return
    chosen = set(map(id, wanted))
    missing = [item for item in EVERYTHING if id(item) in chosen and not item.kept]
    if not missing or not cache_folders.anywhere():
        return
    kernel_cache.announce_compilation()
    names = [item.name for item in missing]
    helpers = [_start(names) for _ in range(min(os.cpu_count() or 1, len(missing)) - 1)]
    compile_free(names)
    for helper in helpers:
        if helper is not None:
            helper.wait()


def compile_free(names: Sequence[str]) -> None:
    """Compile those of these names that no other process is at."""
    kernel_cache.patient = False
    try:
        for item in EVERYTHING:
            if item.name in names and not item.kept:
                try:
                    item.compile()
                except kernel_cache.Busy:
                    continue
    finally:
        kernel_cache.patient = True


def _start(names: Sequence[str]) -> "subprocess.Popen[bytes] | None":
    """A process that does the same; None where none is to be had: this one will do it all."""
    path = os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]))
    try:
        return subprocess.Popen(
            [sys.executable, "-c", f"from dalembert.ahead import compile_free; compile_free({list(names)!r})"],
            env={**os.environ, "PYTHONPATH": path}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError:
        return None
