"""Ctrl-C during a run.

A Python signal handler runs between any two Python instructions. An exception raised there would be lost in a callback
from compiled code (ctypes only prints it), and elsewhere could leave an incomplete frame. So a run defers the signal:
it takes effect immediately in a user function, and otherwise at the next `poll`, which runs call between two calls of
compiled code. While kernels compile the same holds: Numba and LLVM have callbacks and finalizers, in which Python prints
the exception and continues. Only the main thread of a process receives signals; in other threads this module has no effect.
"""

from __future__ import annotations

import contextlib
import threading

# Those of the module `signal` without its enumerations, which take 10 µs a call: as long as many a step.
from _signal import getsignal, signal
from collections.abc import Callable, Iterator
from signal import SIGINT
from time import perf_counter
from typing import Any


class _State:
    """handler : what handled the signal before; None where nothing is deferred. waiting : arguments of a signal that came
    meanwhile. immediate : whether a function of the user's runs. compiling : whether it is compilation, and not a run, that
    defers."""

    __slots__ = ("compiling", "handler", "immediate", "waiting")

    def __init__(self) -> None:
        self.handler: Callable[..., Any] | None = None
        self.waiting: tuple[Any, ...] | None = None
        self.immediate = self.compiling = False


INTERRUPT = int(SIGINT)

_state = _State()
_main = threading.main_thread().ident


class Deferred:
    """A context within which Ctrl-C waits for `poll`, for a function of the user's, or for the end."""

    __slots__ = ("_before", "_nested")

    def __enter__(self) -> None:
        self._before: Any = None  # the handler of the signal, or whether a function of the user's runs
        self._nested = _state.handler is not None  # a function of the user's runs another scene
        if threading.get_ident() != _main:
            return
        if self._nested:
            self._before, _state.immediate = _state.immediate, False
            return
        handler = getsignal(INTERRUPT)
        if callable(handler):
            self._before = _state.handler = handler
            _state.waiting, _state.immediate = None, False
            signal(INTERRUPT, _arrive)

    def __exit__(self, *error: object) -> None:
        handler = self._before
        if handler is None:
            return
        if self._nested:
            _state.immediate = handler
            return
        signal(INTERRUPT, handler)
        waiting, _state.handler, _state.waiting = _state.waiting, None, None
        if waiting is not None:
            handler(*waiting)


def _arrive(*arguments: Any) -> None:
    _state.waiting = arguments
    if _state.immediate:
        _deliver()


def _deliver() -> None:
    waiting, _state.waiting = _state.waiting, None
    if waiting is not None and _state.handler is not None:
        _state.handler(*waiting)


def poll() -> None:
    """Let a signal that waits take effect: raises KeyboardInterrupt, unless the program has another handler."""
    if _state.waiting is not None and threading.get_ident() == _main:
        _deliver()


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of the user's; Ctrl-C takes effect in it at once."""
    if _state.handler is None or threading.get_ident() != _main:
        return function(*arguments)
    immediate, _state.immediate = _state.immediate, True
    try:
        if _state.waiting is not None:
            _deliver()
        return function(*arguments)
    finally:
        _state.immediate = immediate


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """A context within which Ctrl-C waits for `poll_compilation`. Within a run it waits for `poll`, as ever: kernels may be
    compiled in the middle of a frame."""
    if _state.handler is not None or threading.get_ident() != _main:
        yield
        return
    with Deferred():
        _state.compiling = True
        try:
            yield
        finally:
            _state.compiling = False


def poll_compilation() -> None:
    """Let a signal that waits take effect where only `compiling` defers it."""
    if _state.compiling:
        poll()


# The pace of a run ----------------------------------------------------------------------------------------------------
# How many steps one call of compiled code may take, so that a run can be interrupted.

POLL_INTERVAL = 0.05  # s, about, between two calls of `poll`
FIRST, MOST = 16, 1 << 24  # steps of the first call, and of any
FASTER = 8  # how much longer a call may be than the one before


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
        self.steps = max(1, min(int(self.steps * min(FASTER, POLL_INTERVAL / max(took, 1e-9))), MOST))
        poll()
