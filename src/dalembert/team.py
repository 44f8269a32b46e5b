"""Threads at a board; see `board`."""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from typing import Any

import numpy as np

from .board import COMPILED, DESK, DESKS, GIVE_WAY, OPEN, THREADS
from .jit import DISABLED
from .pointer import C_TYPE


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Team:
    """A board, and threads that look at it while the team is entered (`with team:`). Without compilation there is one."""

    def __init__(self, threads: int = 1) -> None:
        self.threads = 1 if DISABLED else threads
        self.board = np.zeros(DESKS + DESK * self.threads, np.int64)
        self.board[THREADS] = self.threads
        self._wake = [threading.Semaphore(0) for _ in range(1, self.threads)]
        if not self._wake:
            return
        self.board[GIVE_WAY] = _give_way_address()
        closed, function = threading.Event(), C_TYPE(COMPILED.address)
        for thread, wake in enumerate(self._wake, 1):
            threading.Thread(target=_help, args=(function, self.board, thread, wake, closed), daemon=True).start()
        weakref.finalize(self, _dismiss, self._wake, closed)

    def seat(self, thread: int, entry: int, address: int) -> None:
        """Put the address of a table on the desk of a thread."""
        self.board[DESKS + DESK * thread + entry] = address

    def __enter__(self) -> Team:
        self.board[OPEN] = 1
        for wake in self._wake:
            wake.release()
        return self

    def __exit__(self, *_: object) -> None:
        self.board[OPEN] = 0


def _help(function: Any, board: np.ndarray, thread: int, wake: threading.Semaphore, closed: threading.Event) -> None:
    """What a thread does; a call of a C function leaves the interpreter to others."""
    while True:
        wake.acquire()
        if closed.is_set():
            return
        function(board.ctypes.data, thread, 0.0, 0, board.size, 0, 0)


def _dismiss(wake: list[threading.Semaphore], closed: threading.Event) -> None:
    closed.set()
    for semaphore in wake:
        semaphore.release()


def _give_way_address() -> int:
    """The address of the system's function that lets other threads run; 0 where there is none."""
    try:
        function = ctypes.CDLL(None).sched_yield if os.name == "posix" else ctypes.WinDLL("kernel32").SwitchToThread  # type: ignore[attr-defined]
        return int(ctypes.cast(function, ctypes.c_void_p).value or 0)
    except (OSError, AttributeError):
        return 0
