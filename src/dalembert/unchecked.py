"""Array access without the test for negative indices that Numba makes at each one; for the innermost loops only.

The index must lie in the array: it comes from tables that the model's compilation made.
"""

from .jit import DISABLED, cgutils, intrinsic, types


def _pointer(context, builder, array_type, array, index):
    data = context.make_array(array_type)(context, builder, array).data
    return cgutils.pointer_add(builder, data, builder.mul(index, index.type(8)))


@intrinsic
def peek(typing_context, array, index):
    """array[index] of a contiguous float64 array."""

    def generate(context, builder, signature, arguments):
        return builder.load(_pointer(context, builder, signature.args[0], *arguments))

    return types.float64(array, types.int64), generate


@intrinsic
def poke(typing_context, array, index, value):
    """array[index] = value for a contiguous float64 array."""

    def generate(context, builder, signature, arguments):
        builder.store(arguments[2], _pointer(context, builder, signature.args[0], *arguments[:2]))
        return context.get_dummy_value()

    return types.void(array, types.int64, types.float64), generate


if DISABLED:

    def peek(array, index):
        return array[index]

    def poke(array, index, value):
        array[index] = value
