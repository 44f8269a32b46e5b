"""Compiling ahead, with every core: processes take from one list what none has begun, the longest first."""

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

import numba

from . import board, cache_folders, kernel_cache
from .articulated import closed
from .articulated import contact_step as articulated_step
from .articulated import evaluate as articulated
from .batch import kernel as batch
from .collide import detect, narrow
from .contact import converging, limits, step
from .impact import evaluate as impact
from .integrate import behind
from .linalg import iterate
from .mechanics import element_forces, fields, pair_forces, special
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


EVERYTHING: tuple[Compiled, ...] = (
    step.COMPILED, mechanics.COMPILED, converging.COMPILED, impact.COMPILED, element_forces.COMPILED, limits.COMPILED,
    pair_forces.COMPILED, special.COMPILED, fields.COMPILED, behind.COMPILED, detect.COMPILED,
    *dict.fromkeys(compiled for _, compiled in narrow.BY_FAMILY.values()), articulated_step.COMPILED, articulated.COMPILED,
    closed.COMPILED, placed.COMPILED, lagrangian.COMPILED, iterate.COMPILED, batch.COMPILED, board.COMPILED,
    particle_step.COMPILED, particle_detect.COMPILED,
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
