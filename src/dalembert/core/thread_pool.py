"""Threads that share the work of a step, and give the same bits however many they are.

A job is a range of items, and a C function that does some of them: begin … end. The one who steps, thread 0, writes the job
on a *board*, and everyone takes chunks of it until none is left. Chunks touch nothing of each other's, and what they return
is put together by a maximum, so that it does not matter who does which, or when; a thread that sleeps is not waited for.

The board is an array of int64. Its TICKET holds the number of the job, and that of the next chunk: a chunk is taken by
raising it with a compare-and-swap, which fails where the job has changed. While a job is being written down the ticket is one
that nobody can raise. DONE counts the chunks done. Each thread has a *desk* there: the addresses of the tables that the
functions need, some of them its own, and the result of what it did.
"""

from __future__ import annotations

import ctypes
import os
import platform
import threading
import weakref
from typing import Any

import numpy as np

from .c_function import C_SIGNATURE, C_TYPE, viewer
from .jit import DISABLED, CFunction, cgutils, inlined, intrinsic, ir, njit, types

# Words of the board; those that threads contend for have a cache line each.
TICKET, DONE, OPEN = 0, 8, 16
FUNCTION, KIND, BEGIN, END, SIZE, CHUNKS, THREADS, GIVE_WAY = range(24, 32)
FUNCTIONS = 32  # addresses of the functions of jobs, by family:
COLLIDE_JOBS, CONTACT_JOBS = range(2)
SLOTS, SLOT = 40, 16  # where desks begin, and their size
COLLISION_SLOT, CONTACT_SLOT, RESULT = 0, 1, 8
MOST_THREADS = 64
CHUNK_BITS = 32
NO_CHUNK = (1 << CHUNK_BITS) - 1
PATIENCE = 2000  # looks at the board before a thread lets others have its core
X86 = platform.machine() in ("x86_64", "AMD64")

_floats = viewer(np.float64)
_words = viewer(np.int64)


def _word(context, builder, array_type, array, index):
    """Pointer to a word of the board."""
    data = context.make_array(array_type)(context, builder, array).data
    return cgutils.gep_inbounds(builder, data, index)


@intrinsic
def _read(typing_context, job_queue, at):
    """A word, with all that was written before it was."""

    def generate(context, builder, signature, arguments):
        return builder.load_atomic(_word(context, builder, signature.args[0], *arguments), "acquire", 8)

    return types.int64(job_queue, types.int64), generate


@intrinsic
def _write(typing_context, job_queue, at, value):
    """Write a word, after all that was written before."""

    def generate(context, builder, signature, arguments):
        pointer = _word(context, builder, signature.args[0], *arguments[:2])
        builder.store_atomic(arguments[2], pointer, "release", 8)
        return context.get_dummy_value()

    return types.void(job_queue, types.int64, types.int64), generate


@intrinsic
def _raise(typing_context, job_queue, at, old):
    """Whether the word was `old`, and is now one more."""

    def generate(context, builder, signature, arguments):
        pointer = _word(context, builder, signature.args[0], *arguments[:2])
        more = builder.add(arguments[2], ir.Constant(ir.IntType(64), 1))
        found = builder.cmpxchg(pointer, arguments[2], more, "acq_rel", "acquire")
        return builder.extract_value(found, 1)

    return types.boolean(job_queue, types.int64, types.int64), generate


@intrinsic
def _count(typing_context, job_queue, at):
    """One more, whoever else counts."""

    def generate(context, builder, signature, arguments):
        pointer = _word(context, builder, signature.args[0], *arguments)
        builder.atomic_rmw("add", pointer, ir.Constant(ir.IntType(64), 1), "acq_rel")
        return context.get_dummy_value()

    return types.void(job_queue, types.int64), generate


@intrinsic
def _pause(typing_context):
    """Tell the core that this is a loop of waiting."""

    def generate(context, builder, signature, arguments):
        if X86:
            builder.call(
                cgutils.get_or_insert_function(
                    builder.module, ir.FunctionType(ir.VoidType(), []), "llvm.x86.sse2.pause"
                ),
                [],
            )
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def _call_job(typing_context, address, slot, kind, begin, result, end):
    """Do the items of a job; all are int64."""

    def generate(context, builder, signature, arguments):
        word, number = ir.IntType(64), ir.DoubleType()
        kind_of = ir.FunctionType(word, [word, word, number, word, word, word, word])
        function = builder.inttoptr(arguments[0], kind_of.as_pointer())
        slot, kind, begin, result, end = arguments[1:]
        return builder.call(function, [slot, kind, ir.Constant(number, 0.0), ir.Constant(word, 0), begin, result, end])

    word = types.int64
    return word(word, word, word, word, word, word), generate


@intrinsic
def _give_way(typing_context, address):
    """Let other threads have this core."""

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.IntType(32), [])
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), [])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@inlined
def address_of(job_queue, at):
    return np.int64(job_queue.ctypes.data) + 8 * at


@njit
def wait(job_queue, looks):
    """After so many looks in vain; returns one more."""
    _pause()
    if looks >= PATIENCE and job_queue[GIVE_WAY] != 0:
        _give_way(job_queue[GIVE_WAY])
    return looks + 1


@njit
def take_chunk(job_queue, thread):
    """Do one chunk of the job on the board, if there is one left; returns whether."""
    ticket = _read(job_queue, TICKET)
    chunk = ticket & NO_CHUNK
    function, kind, begin, end = (
        _read(job_queue, FUNCTION),
        _read(job_queue, KIND),
        _read(job_queue, BEGIN),
        _read(job_queue, END),
    )
    size, chunks = _read(job_queue, SIZE), _read(job_queue, CHUNKS)
    if chunk >= chunks or not _raise(job_queue, TICKET, ticket):
        return False
    first = begin + chunk * size
    slot = SLOTS + SLOT * thread
    _call_job(
        function, address_of(job_queue, slot), kind, first, address_of(job_queue, slot + RESULT), min(first + size, end)
    )
    _count(job_queue, DONE)
    return True


@njit
def publish(job_queue, function, kind, begin, end, size):
    job = (job_queue[TICKET] >> CHUNK_BITS) + 1
    _write(job_queue, TICKET, (job << CHUNK_BITS) | NO_CHUNK)
    _write(job_queue, FUNCTION, function)
    _write(job_queue, KIND, kind)
    _write(job_queue, BEGIN, begin)
    _write(job_queue, END, end)
    _write(job_queue, SIZE, size)
    _write(job_queue, CHUNKS, (end - begin + size - 1) // size)
    _write(job_queue, DONE, 0)
    _write(job_queue, TICKET, (job + 1) << CHUNK_BITS)


@njit
def run_parallel_compiled(job_queue, family, kind, begin, end, size):
    results = _floats(job_queue.ctypes.data, job_queue.shape[0])
    threads = job_queue[THREADS]
    if threads == 1 or end - begin <= size:
        results[SLOTS + RESULT] = 0.0
        _call_job(
            job_queue[FUNCTIONS + family],
            address_of(job_queue, SLOTS),
            kind,
            begin,
            address_of(job_queue, SLOTS + RESULT),
            end,
        )
        return results[SLOTS + RESULT]
    for thread in range(threads):
        results[SLOTS + SLOT * thread + RESULT] = 0.0
    publish(job_queue, job_queue[FUNCTIONS + family], kind, begin, end, size)
    while take_chunk(job_queue, 0):
        pass
    looks = 0
    while _read(job_queue, DONE) < job_queue[CHUNKS]:
        looks = wait(job_queue, looks)
    largest = results[SLOTS + RESULT]
    for thread in range(1, threads):
        largest = max(largest, results[SLOTS + SLOT * thread + RESULT])
    return largest


def run_parallel_plain(job_queue, family, kind, begin, end, size):
    slot = SLOTS
    results = job_queue.view(np.float64)
    results[slot + RESULT] = 0.0
    at = job_queue.ctypes.data
    C_TYPE(int(job_queue[FUNCTIONS + family]))(at + 8 * slot, kind, 0.0, 0, begin, at + 8 * (slot + RESULT), end)
    return float(results[slot + RESULT])


run_parallel = run_parallel_plain if DISABLED else run_parallel_compiled
"""share(board, family, kind, begin, end, size): do a job, `size` items a chunk; returns the largest of the results."""


def serve(board_address, thread, t, nothing, n, more, m):
    job_queue = _words(board_address, n)
    looks = 0
    while _read(job_queue, OPEN) != 0:
        if take_chunk(job_queue, thread):
            looks = 0
        else:
            looks = wait(job_queue, looks)
    return 0


WORKER_ENTRY = CFunction(serve, C_SIGNATURE)


# ----------------------------------------------------------------------------------------------------------------------
# Threads at a board; see `board`.


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ThreadPool:
    """A board, and threads that look at it while the team is entered (`with team:`). Without compilation there is one."""

    def __init__(self, threads: int = 1) -> None:
        self.threads = 1 if DISABLED else threads
        self.job_queue = np.zeros(SLOTS + SLOT * self.threads, np.int64)
        self.job_queue[THREADS] = self.threads
        self._wake = [threading.Semaphore(0) for _ in range(1, self.threads)]
        if not self._wake:
            return
        self.job_queue[GIVE_WAY] = _give_way_address()
        closed, function = threading.Event(), C_TYPE(WORKER_ENTRY.address)
        for thread, wake in enumerate(self._wake, 1):
            threading.Thread(target=_help, args=(function, self.job_queue, thread, wake, closed), daemon=True).start()
        weakref.finalize(self, _dismiss, self._wake, closed)

    def seat(self, thread: int, entry: int, address: int) -> None:
        """Put the address of a table on the desk of a thread."""
        self.job_queue[SLOTS + SLOT * thread + entry] = address

    def __enter__(self) -> ThreadPool:
        self.job_queue[OPEN] = 1
        for wake in self._wake:
            wake.release()
        return self

    def __exit__(self, *_: object) -> None:
        self.job_queue[OPEN] = 0


def _help(
    function: Any, job_queue: np.ndarray, thread: int, wake: threading.Semaphore, closed: threading.Event
) -> None:
    """What a thread does; a call of a C function leaves the interpreter to others."""
    while True:
        wake.acquire()
        if closed.is_set():
            return
        function(job_queue.ctypes.data, thread, 0.0, 0, job_queue.size, 0, 0)


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
