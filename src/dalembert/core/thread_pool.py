"""Threads that share the work of a step. The results have the same bits for any number of threads.

A job is a range of items, a number, and a C function that processes some of the items: begin … end. Thread 0, which
steps the run, publishes the job in the *job queue*, and all threads take chunks of it until none is left. Chunks share no
data that is written, and their results are combined by a maximum, so the result does not depend on thread or order. The
run never waits for a sleeping thread.

Each thread has a part of the chunks, the same in each job over the same items, so that what it reads and writes is in the
cache of its core from the job before. When its part is done it takes chunks of others.

The job queue is an array of int64. Each thread has a *worker slot* there: the addresses of the tables that the functions
need, some of them its own, the result of its chunks, and a *ticket*, which has the number of the job, that of the next
chunk of its part, and where the part ends. A chunk is taken by incrementing the ticket with a compare-and-swap, which
fails where the job has changed. While a job is being written the tickets say that there are no chunks. DONE counts the
chunks done.
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

# Words of the job queue; those that threads contend for have a cache line each.
DONE, OPEN = 0, 16
FUNCTION, KIND, BEGIN, END, SIZE, VALUE, THREADS, YIELD = range(24, 32)
FUNCTIONS = 32  # addresses of the functions of jobs, by family:
COLLIDE_JOBS, CONTACT_JOBS, WIDE_JOBS = range(3)
SLOTS, SLOT = 40, 24  # where worker slots begin, and their size
COLLISION_SLOT, CONTACT_SLOT, RESULT, TICKET = 0, 1, 8, 16
MOST_THREADS = 64
# A ticket, from its lowest bits: the next chunk, where the part of the thread ends, the number of the job
CHUNK_BITS = 16
MOST_CHUNKS = (1 << CHUNK_BITS) - 1
PATIENCE = 2000  # polls of the job queue before a thread yields its core
X86 = platform.machine() in ("x86_64", "AMD64")

_floats = viewer(np.float64)
_words = viewer(np.int64)


def _word(context, builder, array_type, array, index):
    """Pointer to a word of the job queue."""
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
def _increment_if(typing_context, job_queue, at, old):
    """Whether the word was `old`, and is now one more."""

    def generate(context, builder, signature, arguments):
        pointer = _word(context, builder, signature.args[0], *arguments[:2])
        more = builder.add(arguments[2], ir.Constant(ir.IntType(64), 1))
        found = builder.cmpxchg(pointer, arguments[2], more, "acq_rel", "acquire")
        return builder.extract_value(found, 1)

    return types.boolean(job_queue, types.int64, types.int64), generate


@intrinsic
def _count(typing_context, job_queue, at):
    """Increment a word atomically."""

    def generate(context, builder, signature, arguments):
        pointer = _word(context, builder, signature.args[0], *arguments)
        builder.atomic_rmw("add", pointer, ir.Constant(ir.IntType(64), 1), "acq_rel")
        return context.get_dummy_value()

    return types.void(job_queue, types.int64), generate


@intrinsic
def _pause(typing_context):
    """Tell the core that this is a spin loop."""

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
def _call_job(typing_context, address, slot, kind, value, begin, result, end):
    """Process the items begin … end of a job; all arguments but the number `value` are int64."""

    def generate(context, builder, signature, arguments):
        word, number = ir.IntType(64), ir.DoubleType()
        kind_of = ir.FunctionType(word, [word, word, number, word, word, word, word])
        function = builder.inttoptr(arguments[0], kind_of.as_pointer())
        slot, kind, value, begin, result, end = arguments[1:]
        return builder.call(function, [slot, kind, value, ir.Constant(word, 0), begin, result, end])

    word = types.int64
    return word(word, word, word, types.float64, word, word, word), generate


@intrinsic
def _yield_core(typing_context, address):
    """Yield this core to other threads."""

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.IntType(32), [])
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), [])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@intrinsic
def _read_number(typing_context, job_queue, at):
    """A word that is a number, likewise."""

    def generate(context, builder, signature, arguments):
        word = builder.load_atomic(_word(context, builder, signature.args[0], *arguments), "acquire", 8)
        return builder.bitcast(word, ir.DoubleType())

    return types.float64(job_queue, types.int64), generate


@inlined
def address_of(job_queue, at):
    """The address of a word of the job queue."""
    return np.int64(job_queue.ctypes.data) + 8 * at


@njit
def wait(job_queue, polls):
    """Pause after so many polls without work; returns one more."""
    _pause()
    if polls >= PATIENCE and job_queue[YIELD] != 0:
        _yield_core(job_queue[YIELD])
    return polls + 1


@njit
def take_chunk(job_queue, thread):
    """Process one chunk of the job, of the part of the thread or else of another, if there is one left; returns whether."""
    threads = job_queue[THREADS]
    for k in range(threads):
        if take_chunk_of((thread + k) % threads, job_queue, thread):
            return True
    return False


@njit
def take_chunk_of(owner, job_queue, thread):
    """Process one chunk of the part of `owner`, if there is one left; returns whether."""
    at = SLOTS + SLOT * owner + TICKET
    ticket = _read(job_queue, at)
    chunk = ticket & MOST_CHUNKS
    if chunk >= (ticket >> CHUNK_BITS) & MOST_CHUNKS:
        return False
    function, kind, size = _read(job_queue, FUNCTION), _read(job_queue, KIND), _read(job_queue, SIZE)
    begin, end, value = _read(job_queue, BEGIN), _read(job_queue, END), _read_number(job_queue, VALUE)
    if not _increment_if(job_queue, at, ticket):
        return False
    first = begin + chunk * size
    slot = SLOTS + SLOT * thread
    _call_job(
        function,
        address_of(job_queue, slot),
        kind,
        value,
        first,
        address_of(job_queue, slot + RESULT),
        min(first + size, end),
    )
    _count(job_queue, DONE)
    return True


@njit
def publish(job_queue, function, kind, value, begin, end, size, chunks):
    """Write a job of chunks of `size` items to the job queue. There are no chunks until all its words are written."""
    threads = job_queue[THREADS]
    job = (job_queue[SLOTS + TICKET] >> 2 * CHUNK_BITS) + 1
    for thread in range(threads):
        _write(job_queue, SLOTS + SLOT * thread + TICKET, job << 2 * CHUNK_BITS)
    _write(job_queue, FUNCTION, function)
    _write(job_queue, KIND, kind)
    _floats(job_queue.ctypes.data, job_queue.shape[0])[VALUE] = value
    _write(job_queue, BEGIN, begin)
    _write(job_queue, END, end)
    _write(job_queue, SIZE, size)
    _write(job_queue, DONE, 0)
    for thread in range(threads - 1, -1, -1):
        first, last = chunks * thread // threads, chunks * (thread + 1) // threads
        _write(
            job_queue,
            SLOTS + SLOT * thread + TICKET,
            ((job + 1) << 2 * CHUNK_BITS) | (last << CHUNK_BITS) | first,
        )


@njit
def run_parallel_compiled(job_queue, family, kind, begin, end, size, value=0.0):
    """Run a job on all threads, chunks of `size` items, and wait for its end; returns the largest result of any chunk."""
    results = _floats(job_queue.ctypes.data, job_queue.shape[0])
    threads = job_queue[THREADS]
    if threads == 1 or end - begin <= size:
        results[SLOTS + RESULT] = 0.0
        _call_job(
            job_queue[FUNCTIONS + family],
            address_of(job_queue, SLOTS),
            kind,
            value,
            begin,
            address_of(job_queue, SLOTS + RESULT),
            end,
        )
        return results[SLOTS + RESULT]
    for thread in range(threads):
        results[SLOTS + SLOT * thread + RESULT] = 0.0
    size = max(size, (end - begin + MOST_CHUNKS - 1) // MOST_CHUNKS)
    chunks = (end - begin + size - 1) // size
    publish(job_queue, job_queue[FUNCTIONS + family], kind, value, begin, end, size, chunks)
    polls = 0
    while _read(job_queue, DONE) < chunks:
        polls = 0 if take_chunk(job_queue, 0) else wait(job_queue, polls)
    largest = results[SLOTS + RESULT]
    for thread in range(1, threads):
        largest = max(largest, results[SLOTS + SLOT * thread + RESULT])
    return largest


def run_parallel_plain(job_queue, family, kind, begin, end, size, value=0.0):
    """The same on one thread, in Python."""
    slot = SLOTS
    results = job_queue.view(np.float64)
    results[slot + RESULT] = 0.0
    at = job_queue.ctypes.data
    C_TYPE(int(job_queue[FUNCTIONS + family]))(at + 8 * slot, kind, value, 0, begin, at + 8 * (slot + RESULT), end)
    return float(results[slot + RESULT])


def run_alone_compiled(job_queue, family, kind, value, begin, end, data, result):
    """Run a job on this thread, also within another job. data : what the function gets instead of the address of a slot;
    result : (1,) of this thread, for what is returned."""
    result[0] = 0.0
    _call_job(job_queue[FUNCTIONS + family], data, kind, value, begin, address_of(result, 0), end)
    return result[0]


def run_alone_plain(job_queue, family, kind, value, begin, end, data, result):
    """The same in Python."""
    result[0] = 0.0
    C_TYPE(int(job_queue[FUNCTIONS + family]))(data, kind, value, 0, begin, result.ctypes.data, end)
    return float(result[0])


run_alone = run_alone_plain if DISABLED else njit(run_alone_compiled)
run_parallel = run_parallel_plain if DISABLED else run_parallel_compiled
"""run_parallel(job_queue, family, kind, begin, end, size, value): run a job with a number, `size` items a chunk; returns the
largest result."""


def serve(queue_address, thread, t, nothing, n, more, m):
    """The loop of a worker thread: take chunks while the job queue is open."""
    job_queue = _words(queue_address, n)
    polls = 0
    while _read(job_queue, OPEN) != 0:
        if take_chunk(job_queue, thread):
            polls = 0
        else:
            polls = wait(job_queue, polls)
    return 0


WORKER_ENTRY = CFunction(serve, C_SIGNATURE)


# Threads --------------------------------------------------------------------------------------------------------------


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ThreadPool:
    """A job queue, and threads that serve it within `with pool:`. Without compilation there is one thread."""

    def __init__(self, threads: int = 1) -> None:
        self.threads = 1 if DISABLED else threads
        self.job_queue = np.zeros(SLOTS + SLOT * self.threads, np.int64)
        self.job_queue[THREADS] = self.threads
        self._wake = [threading.Semaphore(0) for _ in range(1, self.threads)]
        if not self._wake:
            return
        self.job_queue[YIELD] = _yield_address()
        closed, function = threading.Event(), C_TYPE(WORKER_ENTRY.address)
        for thread, wake in enumerate(self._wake, 1):
            threading.Thread(target=_work, args=(function, self.job_queue, thread, wake, closed), daemon=True).start()
        weakref.finalize(self, _close, self._wake, closed)

    def set_slot(self, thread: int, entry: int, address: int) -> None:
        """Write the address of a table to the worker slot of a thread."""
        self.job_queue[SLOTS + SLOT * thread + entry] = address

    def __enter__(self) -> ThreadPool:
        self.job_queue[OPEN] = 1
        for wake in self._wake:
            wake.release()
        return self

    def __exit__(self, *_: object) -> None:
        self.job_queue[OPEN] = 0


def _work(
    function: Any, job_queue: np.ndarray, thread: int, wake: threading.Semaphore, closed: threading.Event
) -> None:
    """The function of a thread; a call of a C function releases the interpreter."""
    while True:
        wake.acquire()
        if closed.is_set():
            return
        function(job_queue.ctypes.data, thread, 0.0, 0, job_queue.size, 0, 0)


def _close(wake: list[threading.Semaphore], closed: threading.Event) -> None:
    """End the threads of a pool."""
    closed.set()
    for semaphore in wake:
        semaphore.release()


def _yield_address() -> int:
    """The address of the system's function that yields the core; 0 where there is none."""
    try:
        function = ctypes.CDLL(None).sched_yield if os.name == "posix" else ctypes.WinDLL("kernel32").SwitchToThread  # type: ignore[attr-defined]
        return int(ctypes.cast(function, ctypes.c_void_p).value or 0)
    except (OSError, AttributeError):
        return 0
