"""Ahead-of-time compilation on all cores: processes take kernels from one list, the slowest to compile first."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..contact.solvers import SOLVERS
from ..core import cache_folders, compile_progress, interrupt
from ..core.jit import C_FUNCTIONS, DISABLED, CFunction
from ..core.thread_pool import cores

MODULES = (
    "deformable.step", "deformable.joint_space_carriers", "deformable.carriers", "deformable.rounds", "contact.joint_space",
    "contact.step", "dynamics.mechanism", "contact.converge", "impact.system",
    "contact.cone_solver", "dynamics.particle_forces", "dynamics.joint_space.mechanism", "dynamics.joint_space.loops",
    "contact.limits", "contact.joint_space_surfaces", "contact.surface_rows", "collide.curved", "contact.continuous",
    "contact.mechanism_impacts", "contact.joint_space_continuous", "impact.grazing",
    "contact.rolling", "contact.wide_rows", "contact.points", "dynamics.commands", "dynamics.cables",
    "collide.detect", "collide.narrow_phase", "deformable.contact", "linalg.krylov", "integrate.driver",
    "symbolic.generalized", "symbolic.constrained", "ensemble.batch_kernel", "core.thread_pool", "collide.particles",
    "collide.query", "linalg.conjugate_gradient", "linalg.lcp", "linalg.matching", "linalg.equilibrate",
    "pairwise.forces", "dynamics.joint_space.queries", "dynamics.forces", "impact.contact_law", "view.canvas",
    "view.drawing", "sensors.kernels",
)  # fmt: skip
"""The modules of the package with entry points, those that take longest to compile first."""


def everything() -> list[CFunction]:
    """Every entry point of the package, those that take longest to compile first."""
    for module in MODULES:
        importlib.import_module(f"dalembert.{module}")
    len(SOLVERS)  # which imports those that are not in the list
    return _longest_first(C_FUNCTIONS.values())


def _longest_first(items: Iterable[CFunction]) -> list[CFunction]:
    def place(item: CFunction) -> int:
        module = item.name.rpartition(".")[0]
        return MODULES.index(module) if module in MODULES else len(MODULES)

    return sorted(items, key=place)


def precompile(wanted: Iterable[CFunction]) -> dict[str, float]:
    """Compile what is not on disk yet, with as many processes as there are cores.

    Returns kernel → seconds. Ctrl-C ends all of these processes. What a process was at that dies is compiled by the others.
    """
    if DISABLED:
        return {}
    missing = [item for item in _longest_first(dict.fromkeys(wanted)) if not item.is_cached]
    if not missing or not cache_folders.is_writable():
        return {}
    names = [item.name for item in missing]
    count = min(cores(), len(missing))
    helpers: list[Helper] = []
    with interrupt.compiling(), compile_progress.batch(names, count) as seconds:
        try:
            for _ in range(count - 1):
                helpers += filter(None, [Helper.start(names)])
            compile_free(names)
            while helpers:
                helpers[0].wait(0.1)
                interrupt.poll_compilation()
                for helper in [helper for helper in helpers if helper.over]:
                    helpers.remove(helper)
                    if helper.died():
                        compile_free(names)
            compile_free(names, patient=True)  # what other processes than these are at
        finally:
            for helper in helpers:
                helper.stop()
    return dict(seconds)


def compile_free(names: Sequence[str], patient: bool = False) -> None:
    """Compile those of these names that no other process is at; the others too, if `patient`, when that has not."""
    from ..core import object_cache as objects

    for module in dict.fromkeys(name.rpartition(".")[0] for name in names):
        importlib.import_module(f"dalembert.{module}")
    before, objects.patient = objects.patient, patient
    try:
        for item in _longest_first(C_FUNCTIONS.values()):
            if item.name in names and not item.is_cached:
                try:
                    item.compile()
                except objects.Busy:
                    continue
    finally:
        objects.patient = before


HELP = "from dalembert.simulation.precompile import help_compile; help_compile({names!r})"


class Helper:
    """A process that compiles what no other one is at, and tells of it through a pipe. It ends when this process does."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process, self._at = process, ""
        self._reader = threading.Thread(target=self._read, name="progress of a helper", daemon=True)
        self._reader.start()

    @classmethod
    def start(cls, names: Sequence[str]) -> Helper | None:
        """None where no process is to be had: this one will do it all."""
        path = os.pathsep.join(filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")]))
        try:
            return cls(
                subprocess.Popen(
                    [sys.executable, "-c", HELP.format(names=list(names))],
                    env={**os.environ, "PYTHONPATH": path}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL, text=True,
                )
            )  # fmt: skip
        except OSError:
            return None

    def _read(self) -> None:
        """Pass on what it tells of."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            what, _, name = line.strip().partition(" ")
            if what == "begin":
                self._at = name
                compile_progress.begin(name, helper=True)
            elif what == "end" and name == self._at:
                self._at = ""
                compile_progress.end(name, helper=True)

    @property
    def over(self) -> bool:
        return self._process.poll() is not None

    def wait(self, seconds: float) -> None:
        """Wait for its end, but not for longer."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def died(self) -> bool:
        """Of a process that is over: whether it ended before it was done. Says so."""
        self._close()
        if self._process.returncode == 0:
            return False
        how = f"killed by signal {-self._process.returncode}" if self._process.returncode < 0 else "it failed"
        if self._at:
            compile_progress.leave(self._at, helper=True)
            what = f", which compiled {compile_progress.label(self._at)}, ended early ({how}); it is compiled by another one"
        else:
            what = f", which helped to compile, ended early ({how})"
        compile_progress.say(f"process {self._process.pid}{what}")
        return True

    def stop(self) -> None:
        """End it at once, without unfinished files."""
        self._process.kill()
        self._process.wait()
        self._close()

    def _close(self) -> None:
        self._reader.join(timeout=5.0)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        cache_folders.remove_parts(self._process.pid)


def help_compile(names: Sequence[str]) -> None:
    """What a helper does: `compile_free`. Ctrl-C, which reaches it too, and the end of its parent end it at once."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:  # as in background jobs of a shell
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    def end_with_parent() -> None:
        while os.read(0, 1):
            pass
        os._exit(1)

    def tell(what: str, name: str) -> None:
        os.write(1, f"{what} {name}\n".encode())

    threading.Thread(target=end_with_parent, daemon=True).start()
    compile_progress.tell(tell)
    compile_free(names)
    os._exit(0)  # Python would take its time


def table(seconds: Mapping[str, float]) -> list[tuple[str, str, str, str]]:
    """Of all kernels: name, purpose, the seconds that it took now, and where it is kept, in the cache or elsewhere."""
    rows, base = [], cache_folders.preferred()
    for item in everything():
        took = f"{seconds[item.name]:.1f}" if item.name in seconds else ""
        folder = None if item.path is None else item.path.parent
        if folder is None:
            place = "the library of the package" if item.is_cached else "not kept"
        else:
            place = folder.name if folder.parent == base else str(folder)
        rows.append((item.name, compile_progress.purpose(item.name), took, place))
    return rows
