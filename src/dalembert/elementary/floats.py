"""The bits of a float64, and sums and products without error as pairs (high, low) of floats.

Sources: T. Dekker, A floating-point technique for extending the available precision, Numer. Math. 18 (1971); D. Knuth, The
Art of Computer Programming 2, §4.2.2.
"""

import numpy as np

from ..jit import DISABLED, intrinsic, ir, njit, types
from .fixed_point import number, word

HEAD = -(1 << 27)  # mask: 26 of the 53 bits of a float, so that the product of two such is exact


@intrinsic
def bits_of(typing_context, x):
    """The 64 bits of a float, as int64."""
    return types.int64(types.float64), lambda context, builder, signature, arguments: builder.bitcast(
        arguments[0], ir.IntType(64)
    )


@intrinsic
def float_of(typing_context, bits):
    """The float of 64 bits."""
    return types.float64(types.int64), lambda context, builder, signature, arguments: builder.bitcast(
        arguments[0], ir.DoubleType()
    )


if DISABLED:
    bits_of, float_of = word, number


def constants(values):
    """Numbers that are part of compiled code: an array; without compilation a tuple, whose items are Python's own floats."""
    return tuple(values) if DISABLED else np.array(values)


@njit
def two_sum(a, b):
    """a + b = high + low, exactly."""
    high = a + b
    part = high - a
    return high, (a - (high - part)) + (b - part)


@njit
def two_product(a, b):
    """a b = high + low, exactly unless it under- or overflows."""
    high = a * b
    a1, b1 = float_of(bits_of(a) & HEAD), float_of(bits_of(b) & HEAD)
    a2, b2 = a - a1, b - b1
    return high, ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2


@njit
def quotient(a, a_low, b, b_low):
    """(a + a_low)/(b + b_low) as (high, low)."""
    high = a / b
    product, rest = two_product(high, b)
    return high, ((a - product) - rest + a_low - high * b_low) / b
