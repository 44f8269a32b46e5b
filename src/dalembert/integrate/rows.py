"""Arrays of numbers as matrices, inside compiled code."""

import numpy as np

from ..jit import DISABLED, intrinsic, types
from ..pointer import array_type, make_view


@intrinsic
def as_rows(typing_context, array, rows, columns):
    """(rows, columns) view of a contiguous float64 array."""

    kind = array_type(np.float64, 2)

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return make_view(context, builder, kind, data, arguments[1:])

    return kind(array, types.int64, types.int64), generate


if DISABLED:

    def as_rows(array, rows, columns):
        """(rows, columns) view of a contiguous float64 array."""
        return array.reshape(rows, columns)
