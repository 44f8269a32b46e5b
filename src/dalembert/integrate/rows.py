"""Arrays of numbers as matrices, inside compiled code."""

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

_ROWS = types.Array(types.float64, 2, "C")


@intrinsic
def as_rows(typing_context, array, rows, columns):
    """(rows, columns) view of a contiguous float64 array."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        found = context.make_array(_ROWS)(context, builder)
        size = ir.Constant(ir.IntType(64), 8)
        strides = [builder.mul(arguments[2], size), size]
        populate_array(found, data, list(arguments[1:]), strides, size, None)
        return found._getvalue()

    return _ROWS(array, types.int64, types.int64), generate


if numba.config.DISABLE_JIT:

    def as_rows(array, rows, columns):
        """(rows, columns) view of a contiguous float64 array."""
        return array.reshape(rows, columns)
