"""Four bodies or contacts at a time: rows of four tables become columns and back, roots, choices, and vectors of three.

One register holds one number of each of four bodies or contacts (`simd`). Vectors of three are tuples of three
registers.
"""

import numpy as np

from .jit import DISABLED, cgutils, inlined, intrinsic, ir, types
from .simd import _four, _index, _vector, minus4, plus4, times4


def _shuffle_two(builder, a, b, *order):
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), 4), order))


@intrinsic
def transpose4(typing_context, a, b, c, d):
    """The columns of the 4 × 4 matrix of rows a, b, c, d."""
    kind = _four()
    result = types.UniTuple(kind, 4)

    def generate(context, builder, signature, arguments):
        a, b, c, d = arguments
        even, odd = _shuffle_two(builder, a, b, 0, 4, 2, 6), _shuffle_two(builder, a, b, 1, 5, 3, 7)
        even_2, odd_2 = _shuffle_two(builder, c, d, 0, 4, 2, 6), _shuffle_two(builder, c, d, 1, 5, 3, 7)
        columns = [
            _shuffle_two(builder, even, even_2, 0, 1, 4, 5), _shuffle_two(builder, odd, odd_2, 0, 1, 4, 5),
            _shuffle_two(builder, even, even_2, 2, 3, 6, 7), _shuffle_two(builder, odd, odd_2, 2, 3, 6, 7),
        ]  # fmt: skip
        return context.make_tuple(builder, signature.return_type, columns)

    return result(kind, kind, kind, kind), generate


def _call_of_each(builder, name, arguments):
    kind = ir.FunctionType(_vector(), [_vector()])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


@intrinsic
def sqrt4(typing_context, a):
    """The square root of each of the four."""

    def generate(context, builder, signature, arguments):
        return _call_of_each(builder, "llvm.sqrt.v4f64", arguments)

    return _four()(_four()), generate


@intrinsic
def select4(typing_context, a, b, value, other):
    """`value` where a > b, `other` elsewhere."""
    four = _four()

    def generate(context, builder, signature, arguments):
        return builder.select(builder.fcmp_ordered(">", *arguments[:2]), *arguments[2:])

    return four(four, four, four, four), generate


@intrinsic
def magnitude4(typing_context, a):
    """The absolute value of each of the four."""

    def generate(context, builder, signature, arguments):
        return _call_of_each(builder, "llvm.fabs.v4f64", arguments)

    return _four()(_four()), generate


@intrinsic
def largest4(typing_context, a):
    """The largest of the four."""

    def generate(context, builder, signature, arguments):
        largest = builder.extract_element(arguments[0], _index(0))
        for k in range(1, 4):
            part = builder.extract_element(arguments[0], _index(k))
            largest = builder.select(builder.fcmp_ordered(">", part, largest), part, largest)
        return largest

    return types.float64(_four()), generate


if DISABLED:

    def transpose4(a, b, c, d):
        columns = np.array([a, b, c, d]).T
        return columns[0], columns[1], columns[2], columns[3]

    sqrt4, magnitude4, largest4 = np.sqrt, np.abs, np.max

    def select4(a, b, value, other):
        return np.where(a > b, value, other)


# Vectors of three ---------------------------------------------------------------------------------------------------------


@inlined
def plus_vector4(a, b):
    """a + b."""
    return (plus4(a[0], b[0]), plus4(a[1], b[1]), plus4(a[2], b[2]))


@inlined
def minus_vector4(a, b):
    """a − b."""
    return (minus4(a[0], b[0]), minus4(a[1], b[1]), minus4(a[2], b[2]))


@inlined
def scaled4(s, a):
    """s a."""
    return (times4(s, a[0]), times4(s, a[1]), times4(s, a[2]))


@inlined
def dot4(a, b):
    """a · b."""
    return plus4(plus4(times4(a[0], b[0]), times4(a[1], b[1])), times4(a[2], b[2]))


@inlined
def cross4(a, b):
    """a × b."""
    return (
        minus4(times4(a[1], b[2]), times4(a[2], b[1])),
        minus4(times4(a[2], b[0]), times4(a[0], b[2])),
        minus4(times4(a[0], b[1]), times4(a[1], b[0])),
    )


@inlined
def symvec4(s, a):
    """S a, with S symmetric as (xx, yy, zz, xy, xz, yz)."""
    return (
        plus4(plus4(times4(s[0], a[0]), times4(s[3], a[1])), times4(s[4], a[2])),
        plus4(plus4(times4(s[3], a[0]), times4(s[1], a[1])), times4(s[5], a[2])),
        plus4(plus4(times4(s[4], a[0]), times4(s[5], a[1])), times4(s[2], a[2])),
    )
