"""Reports on stderr which kernels are being compiled, how many remain, and the estimated time.

On a terminal this is one line that changes, with a bar; elsewhere a line for each kernel when it is finished. A process
that helps another one to compile (`simulation.precompile`) writes events to a pipe instead, so that one process alone
writes to the terminal.

The compilation time of each kernel is stored in a small file of the cache, for the next estimate.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import cache_folders

LABELS = {
    "contact.converge": "converging contact solver", "contact.continuous": "impacts of fast bodies",
    "contact.joint_space_continuous": "impacts of fast robots", "contact.mechanism_impacts": "impacts of mechanisms",
    "contact.step": "contact solver",
    "contact.joint_space": "contact of robots", "contact": "contact", "dynamics": "rigid bodies and joints",
    "dynamics.cables": "cables", "sensors": "sensors",
    "impact": "contact by events", "integrate": "integration methods", "collide.detect": "collision detection",
    "collide.narrow_phase": "collision of shapes", "collide.particles": "collision of particles",
    "collide": "collision queries", "dynamics.joint_space": "joint coordinates",
    "symbolic": "symbolic coordinates", "linalg": "linear solvers",
    "ensemble": "batches", "core.thread_pool": "threads", "deformable.contact": "collision of particles",
    "view": "pictures", "deformable": "cloth, soft bodies and particles", "pairwise": "forces between particles",
}  # fmt: skip
"""What kernels are for, by the beginning of their names."""

SECONDS = {
    "dynamics.mechanism": 30.0, "contact.joint_space": 15.0, "deformable.step": 18.0, "contact.converge": 12.0,
    "contact": 10.0, "impact": 7.0, "deformable": 5.0, "dynamics": 5.0, "integrate": 4.0, "linalg": 4.0, "symbolic": 3.0,
    "collide": 3.0, "ensemble": 2.0,
}  # fmt: skip
"""About how long they take, where that is not known from last time."""

UNKNOWN = 1.0  # s, for functions of the user's
FILE, LARGEST, MOST = "durations.json", 65536, 400  # of the file of durations: bytes, and kernels
LONGEST = 3600.0  # s
PATIENCE = 0.4  # s before something is shown on a terminal
REFRESH = 0.1  # s between two updates of the line


def label(name: str) -> str:
    """What a kernel is for, with its module."""
    what = purpose(name)
    return name if not what else f"{what} ({name.rpartition('.')[0] or name})"


def purpose(name: str) -> str:
    """What a kernel is for, in words; empty for a function of the user's."""
    return _by_beginning(LABELS, name) or ""


def _by_beginning(table: Mapping[str, Any], name: str) -> Any:
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        if ".".join(parts[:count]) in table:
            return table[".".join(parts[:count])]
    return None


# How long kernels take --------------------------------------------------------------------------------------------------


def known_durations() -> dict[str, float]:
    """Kernel → seconds that it took last time; empty where there is no sensible record."""
    for path in cache_folders.find("", FILE):
        try:
            with open(path, "rb") as file:
                found = json.loads(file.read(LARGEST))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return {name: float(s) for name, s in list(found.items())[:MOST] if _is_duration(name, s)}
    return {}


def _is_duration(name: Any, seconds: Any) -> bool:
    good = type(seconds) in (int, float) and 0.0 <= seconds <= LONGEST  # NaN is not
    return good and isinstance(name, str) and len(name) < 100 and name.isprintable()


def keep_durations(new: Mapping[str, float]) -> None:
    """Write to disk how long kernels of this package took."""
    own = {name: round(min(s, LONGEST), 3) for name, s in new.items() if _by_beginning(LABELS, name) is not None}
    if own and cache_folders.is_writable():
        both = {**known_durations(), **own}
        cache_folders.write("", FILE, json.dumps(dict(list(both.items())[-MOST:]), indent=0).encode())


def expected(name: str, known: Mapping[str, float]) -> float:
    """About how long a kernel takes, s."""
    return max(0.01, known.get(name, _by_beginning(SECONDS, name) or UNKNOWN))


# What goes on -----------------------------------------------------------------------------------------------------------


@dataclass
class _Task:
    """A kernel that is being compiled, or waited for. waiting : the process that compiles it, or -1 for an unknown one."""

    begun: float
    helper: bool = False
    waiting: int = 0


@dataclass
class _State:
    running: dict[str, _Task] = field(default_factory=dict)
    pending: list[str] = field(default_factory=list)  # of the batch, not finished
    done: dict[str, float] = field(default_factory=dict)  # → s
    known: dict[str, float] = field(default_factory=dict)
    processes: int = 1
    batch: bool = False

    @property
    def work(self) -> tuple[float, float]:
        """Seconds of work done and in all, as expected."""
        done = total = sum(self.done.values())
        for name in dict.fromkeys([*self.pending, *self.running]):
            begun = name in self.running
            elapsed = time.perf_counter() - self.running[name].begun if begun else 0.0
            done += elapsed
            total += elapsed + self._rest(name)
        return done, total

    @property
    def pace(self) -> float:
        """How much longer kernels take than expected: the computer may be another one, or busy."""
        return (1.0 + sum(self.done.values())) / (1.0 + sum(expected(name, self.known) for name in self.done))

    def _rest(self, name: str) -> float:
        """Seconds that a kernel still takes, about; what takes longer than last time is thought to end soon."""
        whole, task = self.pace * expected(name, self.known), self.running.get(name)
        elapsed = 0.0 if task is None else time.perf_counter() - task.begun
        return max(whole - elapsed, 0.1 * elapsed)

    @property
    def seconds_left(self) -> float:
        """Of wall time, about."""
        done, total = self.work
        return max([(total - done) / self.processes, *map(self._rest, self.running)])


_state = _State()
_lock = threading.RLock()
_tell: Callable[..., None] | None = None  # in a process that helps
_live: Any = None


def tell(write: Callable[..., None] | None) -> None:
    """Pass all events to `write`, as (what, name), instead of printing: in a helper process."""
    global _tell
    _tell = write


@contextlib.contextmanager
def batch(names: Sequence[str], processes: int) -> Iterator[dict[str, float]]:
    """While these kernels are compiled; gives the seconds that each took."""
    global _state
    with _lock:
        _state = _State(pending=list(names), known=known_durations(), processes=processes, batch=True)
        done = _state.done
    if _tell is None and not _on_terminal():
        each = "1 process" if processes == 1 else f"{processes} processes"
        _say(f"compiling {_kernels(len(names))} (first run only), about {_state.seconds_left:.0f} s on {each} ...")
    start = time.perf_counter()
    try:
        yield done
        whole = True
    except BaseException:
        whole = False
        raise
    finally:
        with _lock:
            _state = _State()
            _stop_live()
        if _tell is None:
            keep_durations(done)
            if whole and done and _on_terminal():
                _say(f"compiled {_kernels(len(done))} in {time.perf_counter() - start:.0f} s")


def _kernels(count: int) -> str:
    return "1 kernel" if count == 1 else f"{count} kernels"


def begin(name: str, helper: bool = False) -> None:
    """A kernel begins to compile."""
    if _tell is not None:
        _tell("begin", name)
        return
    with _lock:
        if not _state.batch and not _state.known:
            _state.known = known_durations()
        _state.running[name] = _Task(time.perf_counter(), helper)
        _start_live()


def end(name: str, helper: bool = False) -> None:
    """It is compiled."""
    if _tell is not None:
        _tell("end", name)
        return
    with _lock:
        task = _state.running.pop(name, None)
        if task is None:
            return
        seconds = time.perf_counter() - task.begun
        if name in _state.pending:
            _state.pending.remove(name)
        _state.done[name] = seconds
        left = len(_state.pending)
        if not _state.batch:
            _state.done.clear()
            if not _state.running:
                _stop_live()
    if not _on_terminal():
        before = _state.known.get(name)
        last = "" if before is None else f" (last time {before:.1f} s)"
        _say(f"compiled {label(name)} in {seconds:.1f} s{last}{f'; {left} left' if left else ''}")
    if not _state.batch:
        keep_durations({name: seconds})


@contextlib.contextmanager
def compiling(name: str) -> Iterator[None]:
    """While a kernel is compiled in this process."""
    begin(name)
    try:
        yield
        end(name)
    finally:
        leave(name)


def wait(name: str, process: int) -> None:
    """Another process compiles a kernel that is needed here. process : its number, or 0."""
    with _lock:
        task = _state.running.setdefault(name, _Task(time.perf_counter()))
        if task.waiting:
            return
        task.waiting = process or -1
        _start_live()
    if not _on_terminal():
        _say(f"{_waiting(name, task)} ...")


def leave(name: str, helper: bool = False) -> None:
    """A kernel is no longer compiled here: it was abandoned, or another process has compiled it."""
    with _lock:
        task = _state.running.get(name)
        if task is not None and task.helper == helper:
            del _state.running[name]
            if not _state.batch and not _state.running:
                _stop_live()


def say(line: str) -> None:
    """A line of its own, between those of the progress."""
    with _lock:
        if _live is not None and _live.bar is not None:
            _live.bar.console.print(f"dalembert: {line}", markup=False, highlight=False)
            return
    _say(line)


def _waiting(name: str, task: _Task) -> str:
    who = f"process {task.waiting}" if task.waiting > 0 else "another process"
    return f"waiting for {who}, which compiles {label(name)}"


def _say(line: str) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):  # no stderr, or a closed one
        print(f"dalembert: {line}", file=sys.stderr, flush=True)


def _on_terminal() -> bool:
    try:
        return sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "", None)
    except (AttributeError, ValueError):
        return False


# On a terminal ----------------------------------------------------------------------------------------------------------


def _start_live() -> None:
    global _live
    if _live is None and _on_terminal():
        _live = _Live()


def _stop_live() -> None:
    global _live
    live, _live = _live, None
    if live is not None:
        live.stop()


class _Live:
    """The line on a terminal, which a thread brings up to date; there is none while things are quick."""

    def __init__(self) -> None:
        self.bar: Any = None
        self._task: Any = None
        self._stopped = threading.Event()
        threading.Thread(target=self._run, name="progress of compiling", daemon=True).start()
        atexit.register(self.stop)

    def stop(self) -> None:
        """Take the line away."""
        self._stopped.set()
        with _lock:
            bar, self.bar = self.bar, None
        if bar is not None:
            bar.stop()
        atexit.unregister(self.stop)

    def _run(self) -> None:
        if self._stopped.wait(PATIENCE):
            return
        while not self._stopped.wait(REFRESH):
            with _lock:
                if _live is not self:
                    return
                if self.bar is None:
                    self._begin()
                self._update()

    def _begin(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
        from rich.table import Column

        said = TextColumn("{task.fields[said]}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis"))
        console = Console(stderr=True)
        self.bar = Progress(
            BarColumn(20), said, console=console, transient=True, auto_refresh=False, redirect_stdout=False,
            redirect_stderr=False,
        )  # fmt: skip
        self._task = self.bar.add_task("", total=1.0, said="")
        self.bar.start()

    def _update(self) -> None:
        done, total = _state.work
        self.bar.update(self._task, completed=done, total=max(total, 1e-9), said=line())
        self.bar.refresh()


def line() -> str:
    """What goes on, in one line."""
    waits = [_waiting(name, task) for name, task in _state.running.items() if task.waiting]
    names = dict.fromkeys(purpose(name) or name for name, task in _state.running.items() if not task.waiting)
    if not names and waits:
        return waits[0]
    left = len(_state.pending)
    count = f"{left} to compile" if left else "compiling"
    return f"{count}, about {max(1, math.ceil(_state.seconds_left))} s: {', '.join(names)}"
