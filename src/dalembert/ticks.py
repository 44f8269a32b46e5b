"""Time inside a kernel: the processor's cycle counter, read on a sample of short evaluations so that it costs nothing.

Only the shares of the stages are used; the wall time of the whole run turns them into seconds.
"""

import time

from .jit import DISABLED, inlined, intrinsic, ir, types

SAMPLE = 16  # one short evaluation in so many is timed


@intrinsic
def _cycles(typing_context):
    def generate(context, builder, signature, arguments):
        counter = builder.module.declare_intrinsic("llvm.readcyclecounter", fnty=ir.FunctionType(ir.IntType(64), []))
        return builder.uitofp(builder.call(counter, []), ir.DoubleType())

    return types.float64(), generate


if DISABLED:
    _cycles = time.perf_counter


@inlined
def begin(ticks, sample):
    """Start an evaluation; one in `sample` is timed. `ticks` ends with (how many to leave out, timed?, last reading)."""
    size = ticks.shape[0]
    left = ticks[size - 3] - 1.0
    timed = left < 0.0
    ticks[size - 3] = sample - 1.0 if timed else left
    ticks[size - 2] = 1.0 if timed else 0.0
    if timed:
        ticks[size - 1] = _cycles()


@inlined
def lap(ticks, stage):
    """The time since the last reading belongs to `stage`."""
    size = ticks.shape[0]
    if ticks[size - 2] > 0.0:
        now = _cycles()
        ticks[stage] += now - ticks[size - 1]
        ticks[size - 1] = now
