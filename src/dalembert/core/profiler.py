"""A timer of stages inside a kernel: the processor's cycle counter, read on a sample of short evaluations so that
it costs nothing.

Only the shares of the stages are measured; they are multiplied by the wall time of the run.
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
def begin_timing(timer, sample):
    """Start an evaluation; one in `sample` is timed. `timer` ends with (how many to leave out, timed?, last reading)."""
    size = timer.shape[0]
    left = timer[size - 3] - 1.0
    timed = left < 0.0
    timer[size - 3] = sample - 1.0 if timed else left
    timer[size - 2] = 1.0 if timed else 0.0
    if timed:
        timer[size - 1] = _cycles()


@inlined
def end_stage(timer, stage):
    """The time since the last reading belongs to `stage`."""
    size = timer.shape[0]
    if timer[size - 2] > 0.0:
        now = _cycles()
        timer[stage] += now - timer[size - 1]
        timer[size - 1] = now
