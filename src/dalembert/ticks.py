"""Time inside a kernel: the processor's cycle counter, read on a sample of the evaluations so that it costs nothing.

Only the shares of the stages are used; the wall time of the whole run turns them into seconds.
"""

import time

import numba
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from .jit import njit

SAMPLE = 16  # one evaluation in so many is timed


@intrinsic
def _cycles(typing_context):
    def generate(context, builder, signature, arguments):
        counter = builder.module.declare_intrinsic("llvm.readcyclecounter", fnty=ir.FunctionType(ir.IntType(64), []))
        return builder.uitofp(builder.call(counter, []), ir.DoubleType())

    return types.float64(), generate


if numba.config.DISABLE_JIT:
    _cycles = time.perf_counter


@njit
def begin(ticks):
    """Start an evaluation; every SAMPLE-th is timed. `ticks` ends with (evaluations, timed or not, last reading)."""
    count = ticks[-3] + 1.0
    ticks[-3] = count
    timed = count % SAMPLE == 1.0
    ticks[-2] = 1.0 if timed else 0.0
    if timed:
        ticks[-1] = _cycles()


@njit
def lap(ticks, stage):
    """The time since the last reading belongs to `stage`."""
    if ticks[-2] > 0.0:
        now = _cycles()
        ticks[stage] += now - ticks[-1]
        ticks[-1] = now
