"""Compiling ahead, with every core: processes take from one list what none has begun, the longest first."""

import importlib
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from . import cache_folders
from .jit import C_FUNCTIONS, DISABLED, CFunction

MODULES = (
    "contact.interior_point", "impact.evaluate", "mechanics.evaluate", "contact.step", "contact.jobs", "integrate.behind",
    "integrate.record", "collide.detect", "collide.narrow", "articulated.contact_step", "articulated.evaluate",
    "symbolic.placed", "symbolic.evaluate", "linalg.iterate", "batch.kernel", "board", "particles.step",
    "particles.detect", "collide.distance", "collide.particles", "collide.query", "collide.query_mesh",
    "collide.query_points", "linalg.conjugate_gradient", "linalg.lcp", "linalg.matching", "linalg.scaling",
    "interact.entry", "articulated.answer", "mechanics.joint_state", "impact.cone_sweeps", "view.shading", "view.raster",
    "view.normals",
)  # fmt: skip
"""Every module with entry points, those that take longest to compile first."""


def everything() -> list[CFunction]:
    """Every entry point of the package, those that take longest to compile first."""
    for module in MODULES:
        importlib.import_module(f"dalembert.{module}")
    return _longest_first(C_FUNCTIONS.values())


def _longest_first(items: Iterable[CFunction]) -> list[CFunction]:
    return sorted(items, key=lambda item: MODULES.index(item.name.rpartition(".")[0]))


def compile_ahead(wanted: Iterable[CFunction]) -> None:
    """Compile what is not on disk yet, with as many processes as there are cores."""
    if DISABLED:
        return
    missing = [item for item in _longest_first(dict.fromkeys(wanted)) if not item.kept]
    if not missing or not cache_folders.anywhere():
        return
    from . import objects

    objects.announce_compilation()
    names = [item.name for item in missing]
    helpers = [_start(names) for _ in range(min(os.cpu_count() or 1, len(missing)) - 1)]
    compile_free(names)
    for helper in helpers:
        if helper is not None:
            helper.wait()


def compile_free(names: Sequence[str]) -> None:
    """Compile those of these names that no other process is at."""
    from . import objects

    for module in MODULES:
        if any(name.rpartition(".")[0] == module for name in names):
            importlib.import_module(f"dalembert.{module}")
    objects.patient = False
    try:
        for item in _longest_first(C_FUNCTIONS.values()):
            if item.name in names and not item.kept:
                try:
                    item.compile()
                except objects.Busy:
                    continue
    finally:
        objects.patient = True


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
