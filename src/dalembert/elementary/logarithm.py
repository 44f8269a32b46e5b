"""Logarithms, to some 66 bits as a pair of floats.

x = 2^k m, and c of eleven bits from a table is so near to 1/m that r = c m − 1 is below 2⁻⁷; as m is taken in two parts, r is
exact (P. Tang, Table-driven implementation of the logarithm function, ACM TOMS 16, 1990). Then

    ln x = k ln 2 − ln c + r − r²/2 + r³/3 − …,

with the first four terms as pairs of floats.
"""

import math

from ..jit import njit
from .fixed_point import logarithm, number, rest, short, word
from .floats import bits_of, constants, float_of, quotient, two_product, two_sum

INTERVALS = 128  # of m, in a binade
LOWEST = word(0.703125)  # m is between this and its double; the intervals beside 1 have c = 1
HEAD = -(1 << 21)  # 32 leading bits
LAST = 42  # k ln 2 and −ln c have an exact sum, in multiples of 2^−42

LN_2 = logarithm(3, 2) + logarithm(4, 3)
LN_2_HIGH = short(LN_2, LAST)
LN_2_LOW = rest(LN_2, LN_2_HIGH)


def _reciprocals():
    """1024 c of each interval."""
    for j in range(INTERVALS):
        bits = LOWEST + (j << 45)
        low, high = number(bits), number(bits + (1 << 45))
        yield 1024 if 1.0 in (low, high) else round(2048.0 / (low + high))


_C = list(_reciprocals())
_LOGARITHMS = [-logarithm(c, 1024) for c in _C]
RECIPROCAL = constants([c / 1024.0 for c in _C])
LOG_HIGH = constants([short(value, LAST) for value in _LOGARITHMS])
LOG_LOW = constants([rest(value, short(value, LAST)) for value in _LOGARITHMS])
L = tuple((-1) ** (k + 1) / k if k else 0.0 for k in range(11))


@njit
def tail(start, start_low, r, r_low):
    """start + start_low + ln(1 + r + r_low) as (high, low); |r| below 2⁻⁶, and below start unless that is 0."""
    a = float_of(bits_of(r) & -(1 << 27))
    square = 0.5 * (a * a)
    first, error_1 = two_sum(start, r)
    high, error_2 = two_sum(first, -square)
    rr = r * r
    series = (L[3] + r * L[4]) + rr * (L[5] + r * L[6]) + rr * rr * (L[7] + r * L[8] + rr * L[9])
    low = start_low + (error_1 + error_2) + (r_low * (1.0 - r) - 0.5 * ((r - a) * (r + a))) + rr * r * series
    return high, low


@njit
def logarithm_of_pair(x, x_low):
    """ln(x + x_low) as (high, low), of a positive finite pair; |x_low| at most half the last bit of x."""
    k = 0
    if x < 2.0**-1000:
        x, x_low, k = x * 2.0**100, x_low * 2.0**100, -100
    shifted = bits_of(x) - LOWEST
    exponent = shifted >> 52
    m = float_of(bits_of(x) - (exponent << 52))
    j = (shifted >> 45) & (INTERVALS - 1)
    c = RECIPROCAL[j]
    head = float_of(bits_of(m) & HEAD)
    high, low = head * c - 1.0, (m - head) * c
    r = high + low
    r_low = (high - r) + low
    if x_low != 0.0:
        r_low += x_low / x * (1.0 + r)
    factor = float(exponent + k)
    return tail(factor * LN_2_HIGH + LOG_HIGH[j], factor * LN_2_LOW + LOG_LOW[j], r, r_low)


@njit
def logarithm_after_one(u, u_low):
    """ln(1 + u + u_low) as (high, low), above u = −1."""
    if abs(u) < 2.0**-7:
        return tail(0.0, 0.0, u, u_low)
    x, low = two_sum(1.0, u)
    return logarithm_of_pair(x, low + u_low)


@njit
def log(x):
    """ln x."""
    if not x > 0.0:
        return -math.inf if x == 0.0 else math.nan
    if x == math.inf:
        return x
    high, low = logarithm_of_pair(x, 0.0)
    return high + low


@njit
def asinh(x):
    """The inverse of sinh."""
    a = abs(x)
    if not a >= 2.0**-27 or a == math.inf:
        return x
    if a > 2.0**30:
        high, low = logarithm_of_pair(a, 0.0)
        high, low = high + LN_2_HIGH, low + LN_2_LOW + (high - (high + LN_2_HIGH) + LN_2_HIGH)
    else:  # ln(1 + a + a²/(1 + √(1 + a²)))
        square, square_low = two_product(a, a)
        root, root_low = root_after_one(square, square_low)
        below, error = two_sum(1.0, root)
        part, part_low = quotient(square, square_low, below, error + root_low)
        u, error = two_sum(a, part)
        high, low = logarithm_after_one(u, error + part_low)
    return math.copysign(high + low, x)


@njit
def root_after_one(square, square_low):
    """√(1 + square + square_low) as (high, low)."""
    total, error = two_sum(1.0, square)
    return root(total, error + square_low)


@njit
def root(x, x_low):
    """√(x + x_low) as (high, low)."""
    high = math.sqrt(x)
    if high == 0.0:
        return high, 0.0
    product, error = two_product(high, high)
    return high, ((x - product) - error + x_low) / (2.0 * high)


@njit
def acosh(x):
    """The inverse of cosh, not negative; NaN below 1."""
    if not x >= 1.0:
        return math.nan
    if x == math.inf:
        return x
    if x > 2.0**30:
        high, low = logarithm_of_pair(x, 0.0)
        return high + LN_2_HIGH + (low + LN_2_LOW + (high - (high + LN_2_HIGH) + LN_2_HIGH))
    # ln(1 + t + √(2 t + t²)), t = x − 1
    t, t_low = two_sum(x, -1.0)
    square, square_low = two_product(t, t)
    total, error = two_sum(2.0 * t, square)
    side, side_low = root(total, error + square_low + 2.0 * t_low + 2.0 * t * t_low)
    u, error = two_sum(side, t)
    high, low = logarithm_after_one(u, error + side_low + t_low)
    return high + low


@njit
def atanh(x):
    """The inverse of tanh; NaN beyond ±1."""
    a = abs(x)
    if not a < 1.0:
        return math.copysign(math.inf, x) if a == 1.0 else math.nan
    if a < 2.0**-27:
        return x
    below, error = two_sum(1.0, -a)  # ½ ln(1 + 2 a/(1 − a))
    part, part_low = quotient(2.0 * a, 0.0, below, error)
    high, low = logarithm_after_one(part, part_low)
    return math.copysign(0.5 * (high + low), x)
