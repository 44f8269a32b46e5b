"""Threads that share the work of a step, and give the same bits however many they are.

A job is a range of items, and a C function that does some of them: begin … end. The one who steps, thread 0, writes the job
on a *board*, and everyone takes chunks of it until none is left. Chunks touch nothing of each other's, and what they return
is put together by a maximum, so that it does not matter who does which, or when; a thread that sleeps is not waited for.

The board is an array of int64. Its TICKET holds the number of the job, and that of the next chunk: a chunk is taken by
raising it with a compare-and-swap, which fails where the job has changed. While a job is being written down the ticket is one
that nobody can raise. DONE counts the chunks done. Each thread has a *desk* there: the addresses of the tables that the
functions need, some of them its own, and the result of what it did.
"""

import platform

import numpy as np

from .jit import DISABLED, CFunction, cgutils, inlined, intrinsic, ir, njit, types
from .pointer import C_SIGNATURE, C_TYPE, viewer

# Words of the board; those that threads contend for have a cache line each.
TICKET, DONE, OPEN = 0, 8, 16
FUNCTION, KIND, BEGIN, END, SIZE, CHUNKS, THREADS, GIVE_WAY = range(24, 32)
FUNCTIONS = 32  # addresses of the functions of jobs, by family:
COLLIDE_JOBS, CONTACT_JOBS = range(2)
DESKS, DESK = 40, 16  # where desks begin, and their size
COLLISION_DESK, STEPPING_DESK, SYSTEM_DESK, WALLS_DESK, RESULT = 0, 1, 2, 3, 8
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
def _read(typing_context, board, at):
    """A word, with all that was written before it was."""

    def generate(context, builder, signature, arguments):
        return builder.load_atomic(_word(context, builder, signature.args[0], *arguments), "acquire", 8)

    return types.int64(board, types.int64), generate


@intrinsic
def _write(typing_context, board, at, value):
    """Write a word, after all that was written before."""

    def generate(context, builder, signature, arguments):
        pointer = _word(context, builder, signature.args[0], *arguments[:2])
        builder.store_atomic(arguments[2], pointer, "release", 8)
        return context.get_dummy_value()

    return types.void(board, types.int64, types.int64), generate


@intrinsic
def _raise(typing_context, board, at, old):
    """Whether the word was `old`, and is now one more."""

    def generate(context, builder, signature, arguments):
        pointer = _word(context, builder, signature.args[0], *arguments[:2])
        more = builder.add(arguments[2], ir.Constant(ir.IntType(64), 1))
        found = builder.cmpxchg(pointer, arguments[2], more, "acq_rel", "acquire")
        return builder.extract_value(found, 1)

    return types.boolean(board, types.int64, types.int64), generate


@intrinsic
def _count(typing_context, board, at):
    """One more, whoever else counts."""

    def generate(context, builder, signature, arguments):
        pointer = _word(context, builder, signature.args[0], *arguments)
        builder.atomic_rmw("add", pointer, ir.Constant(ir.IntType(64), 1), "acq_rel")
        return context.get_dummy_value()

    return types.void(board, types.int64), generate


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
def _call_job(typing_context, address, desk, kind, begin, result, end):
    """Do the items of a job; all are int64."""

    def generate(context, builder, signature, arguments):
        word, number = ir.IntType(64), ir.DoubleType()
        kind_of = ir.FunctionType(word, [word, word, number, word, word, word, word])
        function = builder.inttoptr(arguments[0], kind_of.as_pointer())
        desk, kind, begin, result, end = arguments[1:]
        return builder.call(function, [desk, kind, ir.Constant(number, 0.0), ir.Constant(word, 0), begin, result, end])

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
def address_of(board, at):
    return np.int64(board.ctypes.data) + 8 * at


@njit
def wait(board, looks):
    """After so many looks in vain; returns one more."""
    _pause()
    if looks >= PATIENCE and board[GIVE_WAY] != 0:
        _give_way(board[GIVE_WAY])
    return looks + 1


@njit
def take_chunk(board, thread):
    """Do one chunk of the job on the board, if there is one left; returns whether."""
    ticket = _read(board, TICKET)
    chunk = ticket & NO_CHUNK
    function, kind, begin, end = _read(board, FUNCTION), _read(board, KIND), _read(board, BEGIN), _read(board, END)
    size, chunks = _read(board, SIZE), _read(board, CHUNKS)
    if chunk >= chunks or not _raise(board, TICKET, ticket):
        return False
    first = begin + chunk * size
    desk = DESKS + DESK * thread
    _call_job(function, address_of(board, desk), kind, first, address_of(board, desk + RESULT), min(first + size, end))
    _count(board, DONE)
    return True


@njit
def publish(board, function, kind, begin, end, size):
    job = (board[TICKET] >> CHUNK_BITS) + 1
    _write(board, TICKET, (job << CHUNK_BITS) | NO_CHUNK)
    _write(board, FUNCTION, function)
    _write(board, KIND, kind)
    _write(board, BEGIN, begin)
    _write(board, END, end)
    _write(board, SIZE, size)
    _write(board, CHUNKS, (end - begin + size - 1) // size)
    _write(board, DONE, 0)
    _write(board, TICKET, (job + 1) << CHUNK_BITS)


@njit
def share_compiled(board, family, kind, begin, end, size):
    results = _floats(board.ctypes.data, board.shape[0])
    threads = board[THREADS]
    if threads == 1 or end - begin <= size:
        results[DESKS + RESULT] = 0.0
        _call_job(
            board[FUNCTIONS + family], address_of(board, DESKS), kind, begin, address_of(board, DESKS + RESULT), end
        )
        return results[DESKS + RESULT]
    for thread in range(threads):
        results[DESKS + DESK * thread + RESULT] = 0.0
    publish(board, board[FUNCTIONS + family], kind, begin, end, size)
    while take_chunk(board, 0):
        pass
    looks = 0
    while _read(board, DONE) < board[CHUNKS]:
        looks = wait(board, looks)
    largest = results[DESKS + RESULT]
    for thread in range(1, threads):
        largest = max(largest, results[DESKS + DESK * thread + RESULT])
    return largest


def share_plain(board, family, kind, begin, end, size):
    desk = DESKS
    results = board.view(np.float64)
    results[desk + RESULT] = 0.0
    at = board.ctypes.data
    C_TYPE(int(board[FUNCTIONS + family]))(at + 8 * desk, kind, 0.0, 0, begin, at + 8 * (desk + RESULT), end)
    return float(results[desk + RESULT])


share = share_plain if DISABLED else share_compiled
"""share(board, family, kind, begin, end, size): do a job, `size` items a chunk; returns the largest of the results."""


def serve(board_address, thread, t, nothing, n, more, m):
    board = _words(board_address, n)
    looks = 0
    while _read(board, OPEN) != 0:
        if take_chunk(board, thread):
            looks = 0
        else:
            looks = wait(board, looks)
    return 0


COMPILED = CFunction(serve, C_SIGNATURE)
