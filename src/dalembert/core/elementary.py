"""Elementary functions for kernels, composed of additions, multiplications, divisions and square roots only.

IEEE 754 defines the results of these operations to the last bit, so a kernel gives the same bits on every processor.
Functions of the C library do not: it chooses a variant for the processor when a program starts. See docs/accuracy.md.
"""

from __future__ import annotations

import functools
import math
import struct

import numpy as np

from .jit import DISABLED, intrinsic, ir, njit, types

# Constants to any number of bits --------------------------------------------------------------------------------------
# Constants to any number of bits, by integer arithmetic: numbers are integers in units of 2⁻ᴮ, B = `BITS`.
#
# They are computed where modules are imported, in about a millisecond; tests compare them with mpmath.

BITS = 1300  # 2/π is needed beyond the largest exponent, 1024
SHORT = 192


def arctangent(p: int, q: int, bits: int, sign: int = -1) -> int:
    """atan(p/q) for |p/q| well below 1, by its series; with sign = 1 atanh(p/q)."""
    if p < 0:
        return -arctangent(-p, q, bits, sign)
    power = (p << bits) // q
    total, k = power, 1
    while power:
        power = power * p * p // (q * q)
        k += 2
        total += sign ** (k // 2) * (power // k)
    return total


@functools.cache
def pi(bits: int) -> int:
    """π by Machin's formula, 16 atan 1/5 − 4 atan 1/239."""
    more = bits + 32
    return (16 * arctangent(1, 5, more) - 4 * arctangent(1, 239, more)) >> 32


@functools.cache
def logarithm(p: int, q: int) -> int:
    """ln(p/q) in `SHORT` bits, for p/q between 1/2 and 2."""
    return 2 * arctangent(p - q, p + q, SHORT, 1)


def roots_of_two(count: int) -> list[int]:
    """2^(j/count), j = 0 … count − 1, in `SHORT` bits; count is a power of 2."""
    one = 1 << SHORT
    found, step = [one], 2 * one
    while len(found) < count:
        step = math.isqrt(step * one)  # 2^(1/count) of twice as many
        found = [value for root in found for value in (root, root * step >> SHORT)]
    return found


def nearest(value: int, bits: int = SHORT) -> float:
    """The float nearest to a number."""
    return value / (1 << bits)


def short(value: int, last: int, bits: int = SHORT) -> float:
    """The multiple of 2^−last nearest to a number, as a float."""
    return ((value + (1 << (bits - last - 1))) >> (bits - last)) / (1 << last)


def scaled(part: float, bits: int = SHORT) -> int:
    """A float in units of 2^−bits, of which it is a multiple."""
    p, q = part.as_integer_ratio()
    return (p << bits) // q


def rest(value: int, *parts: float, bits: int = SHORT) -> float:
    """What is left of a number without these parts, rounded."""
    return nearest(value - sum(scaled(part, bits) for part in parts), bits)


def word(x: float) -> int:
    """The 64 bits of a float, as a signed integer."""
    return int(struct.unpack("<q", struct.pack("<d", x))[0])


def number(bits: int) -> float:
    """The float of 64 bits."""
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])


# Bits of floats, and sums and products without error ------------------------------------------------------------------
# The bits of a float64, and sums and products without error as pairs (high, low) of floats.
#
# Sources: T. Dekker, A floating-point technique for extending the available precision, Numer. Math. 18 (1971); D.
# Knuth, The Art of Computer Programming 2, §4.2.2.

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


# Hypotenuse -----------------------------------------------------------------------------------------------------------
# √(x² + y²) without overflow, and correctly rounded but for some 1 in 100 results.


@njit
def hypot(x, y):
    """√(x² + y²); infinite if either is."""
    a, b = max(abs(x), abs(y)), min(abs(x), abs(y))
    if x != x or y != y:
        return math.inf if abs(x) == math.inf or abs(y) == math.inf else math.nan
    if a > 2.0**500:
        if a == math.inf:
            return a
        return root_of_squares(a * 2.0**-600, b * 2.0**-600) * 2.0**600
    if a < 2.0**-400:
        return root_of_squares(a * 2.0**600, b * 2.0**600) * 2.0**-600
    return root_of_squares(a, b)


@njit
def root_of_squares(a, b):
    """The same of 0 ≤ b ≤ a, whose squares are in the range of floats."""
    aa, error_a = two_product(a, a)
    bb, error_b = two_product(b, b)
    total = aa + bb
    h = math.sqrt(total)
    if h == 0.0:
        return h
    hh, error_h = two_product(h, h)
    return h + ((total - hh) + (((aa - total) + bb) + (error_a + error_b - error_h))) / (h + h)


# Sine, cosine and tangent ---------------------------------------------------------------------------------------------
# sin, cos and tan of every finite float.
#
# x = n π/2 + r, |r| ≤ π/4, where r = (r, s) is a pair of floats. Up to 2²⁰ π/2 is taken off in pieces of 33 bits, so
# that their products with n are exact (W. Cody, W. Waite, Software Manual for the Elementary Functions, 1980); beyond
# that the bits of 2/π that matter are multiplied by x as integers (M. Payne, R. Hanek, Radian reduction for
# trigonometric functions, 1983).
#
# With 16 leading bits a of r, a² and −21/128 a³ are exact, and so are the leading parts of
#
#     cos r = 1 − a²/2 + …,    sin r = r − 21/128 a³ + …,
#
# of which the rest is so small that its rounding errors do not matter. Taylor's series ends where its terms are below
# 2⁻⁶⁴.

_PI = pi(BITS)
NEAR = nearest(_PI, BITS + 2)  # π/4
FAR = 2.0**20
TINY = 2.0**-27
PER_QUARTER = nearest((1 << (2 * BITS + 1)) // _PI, BITS)  # 2/π
ROUNDER = 1.5 * 2.0**52  # x + ROUNDER is an integer, to nearest, and its last bits are those of that integer

HALF_PI = nearest(_PI, BITS + 1)
HALF_PI_REST = rest(_PI, HALF_PI, bits=BITS + 1)
P1 = short(_PI, 32, BITS + 1)  # 33 bits each, and a rest
P2 = short(_PI - scaled(P1, BITS + 1), 65, BITS + 1)
P3 = short(_PI - scaled(P1, BITS + 1) - scaled(P2, BITS + 1), 98, BITS + 1)
P4 = rest(_PI, P1, P2, P3, bits=BITS + 1)

LIMB = 30  # bits of 2/π in one integer; two integers that are 0 come first
MASK = (1 << LIMB) - 1
_LIMBS = 40
_TWO_OVER_PI = (1 << (BITS + LIMB * _LIMBS + 1)) // _PI
TWO_OVER_PI = constants([0, 0, *(_TWO_OVER_PI >> (LIMB * (_LIMBS - 1 - k)) & MASK for k in range(_LIMBS))])

FIRST_16_BITS = -(1 << 37)
SINE_1 = -21.0 / 128.0
SINE_2 = nearest(-(1 << 200) // 6 + (21 << 193), 200)  # −1/6 = SINE_1 + SINE_2
S = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(9))
C = tuple((-1) ** k / math.factorial(2 * k) for k in range(10))


@njit
def reduced(x):
    """(n, r, s) with x = n π/2 + r + s; n modulo 4."""
    if abs(x) <= NEAR:
        return 0, x, 0.0
    if abs(x) < FAR:
        shifted = x * PER_QUARTER + ROUNDER
        n = shifted - ROUNDER
        first, error_1 = two_sum(x - n * P1, -n * P2)
        second, error_2 = two_sum(first, -n * P3)
        r, s = two_sum(second, (error_1 + error_2) - n * P4)
        return bits_of(shifted) & 3, r, s
    return reduced_from_far(x)


@njit
def reduced_from_far(x):
    """The same, of any number from FAR on; NaN for what is not finite."""
    bits = bits_of(x)
    biased = (bits >> 52) & 0x7FF
    if biased == 0x7FF:
        return 0, math.nan, math.nan
    mantissa = (bits & ((1 << 52) - 1)) | (1 << 52)  # |x| = mantissa · 2^(biased − 1075)
    low, high = mantissa & MASK, mantissa >> LIMB
    place = biased - 1075 + 64
    first, shift = place // LIMB - 1, place % LIMB - 4
    # The product in digits of LIMB bits; units of digit 0 are 2^shift. What is before it is a multiple of 4.
    carry, d0, d1, d2, d3, d4, d5 = 0, 0, 0, 0, 0, 0, 0
    for k in range(6, -1, -1):
        total = low * TWO_OVER_PI[first + k] + high * TWO_OVER_PI[first + k + 1] + carry
        carry = total >> LIMB
        d0, d1, d2, d3, d4, d5 = total & MASK, d0, d1, d2, d3, d4
    units = LIMB - shift  # bits of d0 and d1 that are behind the point
    top = (d0 << LIMB) | d1
    n = (top >> units) & 3
    top &= (1 << units) - 1
    sign = 1.0
    if top >> (units - 1):  # a half or more: one quarter further, and back
        n = (n + 1) & 3
        top, d2, d3, d4, d5 = (1 << units) - 1 - top, MASK - d2, MASK - d3, MASK - d4, MASK - d5
        sign = -1.0
    h, error_2 = two_sum(float(top), d2 * 2.0**-30)
    h, error_3 = two_sum(h, d3 * 2.0**-60)
    h, error_4 = two_sum(h, error_2)
    h, low_part = two_sum(h, error_3 + error_4 + d4 * 2.0**-90 + d5 * 2.0**-120)
    product, error = two_product(h, HALF_PI)
    r, s = two_sum(product, error + h * HALF_PI_REST + low_part * HALF_PI)
    sign = math.copysign(sign, sign * x) * float_of((1023 - units) << 52)
    return (4 - n) & 3 if x < 0.0 else n, sign * r, sign * s


@njit
def series(r, s):
    """(sin, its rest, cos, its rest) of r + s."""
    z = r * r
    a = float_of(bits_of(r) & FIRST_16_BITS)
    b = r - a
    aa = a * a
    zz = z * z
    z4 = zz * zz
    cubic = aa * a * SINE_1
    sine = r + cubic
    odd = (S[2] + z * S[3]) + zz * (S[4] + z * S[5]) + z4 * (S[6] + z * S[7] + zz * S[8])
    sine_rest = ((r - sine) + cubic) + (
        b * (z + r * a + aa) * SINE_1 + (r * z * (SINE_2 + z * odd) + s * (1.0 - 0.5 * z))
    )
    cosine = 1.0 - 0.5 * aa
    even = (C[2] + z * C[3]) + zz * (C[4] + z * C[5]) + z4 * (C[6] + z * C[7] + zz * C[8])
    cosine_rest = ((1.0 - cosine) - 0.5 * aa) + ((zz * even - r * s) - 0.5 * (b * (r + a)))
    return sine, sine_rest, cosine, cosine_rest


@njit
def sin_cos(x):
    """(sin x, cos x), x in rad."""
    if abs(x) < TINY:
        return x, 1.0
    n, r, s = reduced(x)
    sine, sine_rest, cosine, cosine_rest = series(r, s)
    sine += sine_rest
    cosine += cosine_rest
    if n & 1:
        sine, cosine = cosine, -sine
    if n & 2:
        return -sine, -cosine
    return sine, cosine


@njit
def sin(x):
    """sin x, x in rad."""
    return sin_cos(x)[0]


@njit
def cos(x):
    """cos x, x in rad."""
    return sin_cos(x)[1]


@njit
def tan(x):
    """tan x, x in rad."""
    if abs(x) < TINY:
        return x
    n, r, s = reduced(x)
    sine, sine_rest, cosine, cosine_rest = series(r, s)
    if n & 1:
        sine, sine_rest, cosine, cosine_rest = cosine, cosine_rest, -sine, -sine_rest
    above, above_low = two_sum(sine, sine_rest)
    below, below_low = two_sum(cosine, cosine_rest)
    high, low = quotient(above, above_low, below, below_low)
    return high + low


# Logarithms -----------------------------------------------------------------------------------------------------------
# Logarithms, to some 66 bits as a pair of floats.
#
# x = 2^k m, and c of eleven bits from a table is so near to 1/m that r = c m − 1 is below 2⁻⁷; as m is taken in two
# parts, r is exact (P. Tang, Table-driven implementation of the logarithm function, ACM TOMS 16, 1990). Then
#
#     ln x = k ln 2 − ln c + r − r²/2 + r³/3 − …,
#
# with the first four terms as pairs of floats.

INTERVALS = 128  # of m, in a binade
LOWEST = word(0.703125)  # m is between this and its double; the intervals beside 1 have c = 1
LOGARITHM_HEAD = -(1 << 21)  # 32 leading bits
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
    head = float_of(bits_of(m) & LOGARITHM_HEAD)
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


# Arctangents ----------------------------------------------------------------------------------------------------------
# With 0 ≤ y ≤ x, and c = i/64 near to y/x,
#
#     atan(y/x) = atan c + atan t,    t = (y − c x)/(x + c y),    |t| ≤ 1/128,
#
# where atan c is from a table and t a pair of floats. The series of atan t needs few terms, and its rounding is 2⁻¹⁴
# of t's.

ARCTANGENT_STEPS = 64


def _angles():
    """atan(i/64): each is that before and atan(64/(64² + i (i − 1)))."""
    angle = 0
    yield angle
    for i in range(1, ARCTANGENT_STEPS + 1):
        angle += arctangent(ARCTANGENT_STEPS, ARCTANGENT_STEPS * ARCTANGENT_STEPS + i * (i - 1), SHORT)
        yield angle


_ANGLES = list(_angles())
ANGLE = constants([nearest(angle) for angle in _ANGLES])
ANGLE_REST = constants([rest(angle, nearest(angle)) for angle in _ANGLES])
A = tuple((-1.0) ** k / (2 * k + 1) for k in range(5))
ARCTANGENT_NEGLIGIBLE = 2.0**-28  # below it atan t = t to rounding
ARCTANGENT_HEAD = -(1 << 7)  # 46 leading bits: their product with c is exact


@njit
def slope_angle(y, y_low, x, x_low):
    """atan((y + y_low)/(x + x_low)) as (high, low), 0 ≤ y ≤ x, neither of them near the ends of the range of floats."""
    i = int(y / x * ARCTANGENT_STEPS + 0.5)
    c = i * (1.0 / ARCTANGENT_STEPS)
    y1, x1 = float_of(bits_of(y) & ARCTANGENT_HEAD), float_of(bits_of(x) & ARCTANGENT_HEAD)
    above, error = two_sum(y, -c * x1)
    above_low = error - c * (x - x1) + (y_low - c * x_low)
    below, error = two_sum(x, c * y1)
    below_low = error + c * (y - y1) + (x_low + c * y_low)
    t, t_low = quotient(above, above_low, below, below_low)
    z = t * t
    high, error = two_sum(ANGLE[i], t)
    return high, error + (ANGLE_REST[i] + t_low * (1.0 - z) + t * z * ((A[1] + z * A[2]) + z * z * (A[3] + z * A[4])))


@njit
def angle_of_pair(y, y_low, x, x_low):
    """atan2 of y + y_low ≥ 0 and x + x_low; y is +0 or more, and x may be −0."""
    size = abs(x)
    if x < 0.0:
        x_low = -x_low
    swapped = y > size
    if swapped:
        low, low_rest, high, high_rest = size, x_low, y, y_low
    else:
        low, low_rest, high, high_rest = y, y_low, size, x_low
    if high == math.inf and low == math.inf:
        low, high = 1.0, 1.0
    if low <= high * ARCTANGENT_NEGLIGIBLE:
        angle, after = low / high if high > 0.0 else 0.0, 0.0
    else:
        if high > 2.0**900:
            low, high = low * 2.0**-600, high * 2.0**-600
        elif high < 2.0**-400:
            low, high = low * 2.0**600, high * 2.0**600
        angle, after = slope_angle(low, low_rest, high, high_rest)
    if swapped:
        angle, error = two_sum(HALF_PI, -angle)
        after = error + (HALF_PI_REST - after)
    if math.copysign(1.0, x) < 0.0:
        angle, error = two_sum(2.0 * HALF_PI, -angle)
        after = error + (2.0 * HALF_PI_REST - after)
    return angle + after


@njit
def atan2(y, x):
    """The angle of the point (x, y), between −π and π."""
    if x != x or y != y:
        return math.nan
    return math.copysign(angle_of_pair(abs(y), 0.0, x, 0.0), y)


@njit
def atan(x):
    """The inverse of tan, between −π/2 and π/2."""
    return atan2(x, 1.0)


@njit
def other_side(x):
    """√(1 − x²) as (high, low), |x| ≤ 1."""
    square, error = two_product(x, x)
    total, rest_of_it = two_sum(1.0, -square)
    return root(total, rest_of_it - error)


@njit
def asin(x):
    """The inverse of sin, between −π/2 and π/2; NaN beyond ±1."""
    if not abs(x) <= 1.0:
        return math.nan
    side, side_low = other_side(x)
    return math.copysign(angle_of_pair(abs(x), 0.0, side, side_low), x)


@njit
def acos(x):
    """The inverse of cos, between 0 and π; NaN beyond ±1."""
    if not abs(x) <= 1.0:
        return math.nan
    side, side_low = other_side(x)
    return angle_of_pair(side, side_low, x, 0.0)


# Exponentials ---------------------------------------------------------------------------------------------------------
# x = (k + j/128) ln 2 + r with |r| < 0.0028, and 2^(j/128) is taken from a table as t (1 + t'); then
#
#     eˣ = 2ᵏ t (1 + p),    p = t' + r + r²/2 + r³/6 + …
#
# (P. Tang, Table-driven implementation of the exponential function, ACM TOMS 15, 1989). p is so small that its rounding
# is about 2⁻⁶² of the result.

STEPS = 128
PER_STEP = STEPS / nearest(LN_2)
STEP_HIGH = short(LN_2 // STEPS, 41)  # 34 bits: times k, of up to 18 bits, it is exact
STEP_LOW = rest(LN_2, STEPS * STEP_HIGH) / STEPS
_ROOTS = roots_of_two(STEPS)
ROOT = constants([nearest(root) for root in _ROOTS])
ROOT_REST = constants([rest(root, nearest(root)) / nearest(root) for root in _ROOTS])
ROUNDER_BITS = word(ROUNDER)
LARGEST = 709.8  # beyond, eˣ is infinite
SMALLEST = -745.2  # below, eˣ is 0
E = tuple(1.0 / math.factorial(k) for k in range(17))
SMALL = 0.125  # below, series are used
NEGLIGIBLE = 2.0**-60  # below, x is the result


@njit
def power_of_e(x, low):
    """(k, t, s) with e^(x + low) = 2ᵏ (t + s) for |x| < 800; t is between 1 and 2."""
    shifted = x * PER_STEP + ROUNDER
    n = shifted - ROUNDER
    bits = bits_of(shifted)
    j = bits & (STEPS - 1)
    r, after = x - n * STEP_HIGH, low - n * STEP_LOW
    t = ROOT[j]
    whole = r + after
    square = whole * whole
    p = r + (after + ROOT_REST[j] + (square * (E[2] + whole * E[3]) + square * square * (E[4] + whole * E[5])))
    return (bits - ROUNDER_BITS) >> 7, t, t * p


@njit
def scaled_by_power(high, low, k):
    """2ᵏ (high + low), rounded once; 1 ≤ high < 2, and low much smaller."""
    if k >= -1021 and k <= 1022:
        return (high + low) * float_of((k + 1023) << 52)
    if k > 1022:
        return (high + low) * 2.0**1022 * float_of((min(k, 2000) - 1022 + 1023) << 52)
    if k == -1022 and high + low >= 1.0:
        return (high + low) * 2.0**-1022
    k = max(k, -1100)
    rounder = float_of((1023 - 1022 - k) << 52)  # its last bit is that of the result, before it is scaled
    total, error = two_sum(rounder, high)
    return ((total + (error + low)) - rounder) * float_of((k + 200 + 1023) << 52) * 2.0**-200


@njit
def exp(x):
    """eˣ."""
    if not abs(x) < 700.0:
        return exp_of_large(x)
    k, t, s = power_of_e(x, 0.0)
    return (t + s) * float_of((k + 1023) << 52)


@njit
def exp_of_large(x):
    """The same where it may over- or underflow."""
    if x > LARGEST:
        return math.inf
    if x < SMALLEST:
        return 0.0
    if x != x:
        return x
    k, t, s = power_of_e(x, 0.0)
    return scaled_by_power(t, s, k)


@njit
def expm1(x):
    """eˣ − 1."""
    if abs(x) < SMALL:
        if abs(x) < NEGLIGIBLE:
            return x
        xx = x * x
        cubic = (E[3] + x * E[4]) + xx * (E[5] + x * E[6]) + xx * xx * ((E[7] + x * E[8]) + xx * (E[9] + x * E[10]))
        return x + (0.5 * xx + xx * x * (cubic + xx * xx * xx * xx * (E[11] + x * E[12])))
    if not abs(x) < 40.0:
        return -1.0 if x < 0.0 else exp_of_large(x)
    k, t, s = power_of_e(x, 0.0)
    size = float_of((k + 1023) << 52)
    high, low = two_sum(size * t, -1.0)
    return high + (low + size * s)


@njit
def exponentials(a):
    """eᵃ and e⁻ᵃ as pairs (high, low, high, low), for |a| < 40."""
    k, t, s = power_of_e(a, 0.0)
    size = float_of((k + 1023) << 52)
    high = size * (t + s)
    low = size * t - high + size * s
    other, other_low = quotient(1.0, 0.0, high, low)
    return high, low, other, other_low


@njit
def sinh(x):
    """The hyperbolic sine."""
    a = abs(x)
    if a < SMALL:
        z = x * x
        return x + x * z * ((E[3] + z * E[5]) + z * z * (E[7] + z * (E[9] + z * E[11])))
    if a < 40.0:
        high, low, other, other_low = exponentials(a)
        total, error = two_sum(high, -other)
        return math.copysign(0.5 * (total + (error + low - other_low)), x)
    if not a < 711.0:
        return x + x if x != x else math.copysign(math.inf, x)
    k, t, s = power_of_e(a, 0.0)
    return math.copysign(scaled_by_power(t, s, k - 1), x)


@njit
def cosh(x):
    """The hyperbolic cosine."""
    a = abs(x)
    if a < 40.0:
        high, low, other, other_low = exponentials(a)
        total, error = two_sum(high, other)
        return 0.5 * (total + (error + low + other_low))
    if not a < 711.0:
        return a if a != a else math.inf
    k, t, s = power_of_e(a, 0.0)
    return scaled_by_power(t, s, k - 1)


def _tangents(count):
    """Coefficients of x, x³, … in tanh x, from tanh' = 1 − tanh²: integers, which are factorials of them."""
    t = [0.0] * (2 * count + 2)
    t[1] = 1.0
    for n in range(2, 2 * count):
        t[n + 1] = -math.fsum(t[i] * t[n - i] for i in range(1, n)) / (n + 1)
    return tuple(t[1 : 2 * count : 2])


T = _tangents(11)


@njit
def tanh(x):
    """The hyperbolic tangent."""
    a = abs(x)
    if a < SMALL:
        if a < NEGLIGIBLE:
            return x
        z = x * x
        zz = z * z
        series = (T[1] + z * T[2]) + zz * (T[3] + z * T[4]) + zz * zz * ((T[5] + z * T[6]) + zz * (T[7] + z * T[8]))
        return x + x * z * (series + zz * zz * zz * zz * (T[9] + z * T[10]))
    if not a < 20.0:
        return x if x != x else math.copysign(1.0, x)
    high, low, _, _ = exponentials(2.0 * a)
    above, error_above = two_sum(high, -1.0)
    below, error_below = two_sum(high, 1.0)
    result, rest_of_it = quotient(above, error_above + low, below, error_below + low)
    return math.copysign(result + rest_of_it, x)


# Powers ---------------------------------------------------------------------------------------------------------------
# x to the power y, by e^(y ln x) with ln x as a pair of floats.


@njit
def pow(x, y):
    """x^y, with the special cases of IEEE 754: x^0 = 1^y = 1, and NaN for a negative x unless y is an integer."""
    if y == 0.0 or x == 1.0:
        return 1.0
    if x != x or y != y:
        return math.nan
    size, whole, odd = abs(y), True, False
    if size < 2.0**53:
        n = int(size)
        whole, odd = float(n) == size, n & 1 == 1
    negative = math.copysign(1.0, x) < 0.0
    sign = -1.0 if negative and whole and odd else 1.0
    a = abs(x)
    if a == 0.0 or a == math.inf or size == math.inf:
        if a == 1.0:
            return 1.0
        return sign * (math.inf if (a > 1.0) == (y > 0.0) else 0.0)
    if negative and not whole:
        return math.nan
    high, low = logarithm_of_pair(a, 0.0)
    high, low = two_sum(high, low)
    total = y * high
    if not abs(total) < 750.0:
        return sign * (math.inf if total > 0.0 else 0.0)
    product, error = two_product(y, high)
    k, t, s = power_of_e(product, error + y * low)
    return sign * scaled_by_power(t, s, k)
