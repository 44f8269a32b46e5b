"""Four numbers at a time: steps that the compiler does not make of a loop by itself where it is short, or where it cannot
tell whether the rows that it reads and writes overlap. They are taken in one register where the processor has such.
"""

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from .unchecked import _pointer

VECTOR = ir.VectorType(ir.DoubleType(), 4)


class _Four(types.Type):
    def __init__(self):
        super().__init__("four")


FOUR = _Four()


@register_model(_Four)
class _FourModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, VECTOR)


def _pointer_to_four(context, builder, array_type, array, index):
    return builder.bitcast(_pointer(context, builder, array_type, array, index), VECTOR.as_pointer())


@intrinsic
def peek4(typing_context, array, index):
    """The four from array[index] on, of a contiguous float64 array."""

    def generate(context, builder, signature, arguments):
        return builder.load(_pointer_to_four(context, builder, signature.args[0], *arguments), align=8)

    return FOUR(array, types.int64), generate


@intrinsic
def poke4(typing_context, array, index, value):
    """Put four from array[index] on."""

    def generate(context, builder, signature, arguments):
        pointer = _pointer_to_four(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], pointer, align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, FOUR), generate


@intrinsic
def spread(typing_context, value):
    """One number, four times."""

    def generate(context, builder, signature, arguments):
        result = ir.Constant(VECTOR, ir.Undefined)
        for k in range(4):
            result = builder.insert_element(result, arguments[0], ir.Constant(ir.IntType(32), k))
        return result

    return FOUR(types.float64), generate


@intrinsic
def plus4(typing_context, a, b):
    return FOUR(FOUR, FOUR), lambda context, builder, signature, arguments: builder.fadd(*arguments)


@intrinsic
def times4(typing_context, a, b):
    return FOUR(FOUR, FOUR), lambda context, builder, signature, arguments: builder.fmul(*arguments)


@intrinsic
def over4(typing_context, a, b):
    return FOUR(FOUR, FOUR), lambda context, builder, signature, arguments: builder.fdiv(*arguments)


@intrinsic
def larger4(typing_context, a, b):
    """The larger of each two."""

    def generate(context, builder, signature, arguments):
        return builder.select(builder.fcmp_ordered(">", *arguments), *arguments)

    return FOUR(FOUR, FOUR), generate


@intrinsic
def where4(typing_context, a, b, value):
    """The value where a > b, zero elsewhere."""

    def generate(context, builder, signature, arguments):
        zero = ir.Constant(VECTOR, [0.0] * 4)
        return builder.select(builder.fcmp_ordered(">", *arguments[:2]), arguments[2], zero)

    return FOUR(FOUR, FOUR, FOUR), generate


def _shuffled(*lanes):
    """The function that makes four numbers of those of one register."""

    @intrinsic
    def shuffle(typing_context, value):
        def generate(context, builder, signature, arguments):
            order = ir.Constant(ir.VectorType(ir.IntType(32), 4), lanes)
            return builder.shuffle_vector(arguments[0], ir.Constant(VECTOR, ir.Undefined), order)

        return FOUR(FOUR), generate

    return shuffle


# Each of four numbers three times, for four vectors one after another: the first four of these twelve, and so on.
THRICE = (0, 0, 0, 1), (1, 1, 2, 2), (2, 3, 3, 3)
first_thrice, middle_thrice, last_thrice = (_shuffled(*lanes) for lanes in THRICE)


if numba.config.DISABLE_JIT:

    def peek4(array, index):
        return array[index : index + 4].copy()

    def poke4(array, index, value):
        array[index : index + 4] = value

    def spread(value):
        return np.full(4, value)

    plus4, times4, larger4 = np.add, np.multiply, np.maximum

    def over4(a, b):
        with np.errstate(all="ignore"):
            return a / b

    def where4(a, b, value):
        return np.where(a > b, value, 0.0)

    first_thrice, middle_thrice, last_thrice = (lambda value, lanes=lanes: value[list(lanes)] for lanes in THRICE)
