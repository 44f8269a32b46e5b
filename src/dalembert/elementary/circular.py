"""sin, cos and tan of every finite float.

x = n π/2 + r, |r| ≤ π/4, where r = (r, s) is a pair of floats. Up to 2²⁰ π/2 is taken off in pieces of 33 bits, so that their
products with n are exact (W. Cody, W. Waite, Software Manual for the Elementary Functions, 1980); beyond that the bits of 2/π
that matter are multiplied by x as integers (M. Payne, R. Hanek, Radian reduction for trigonometric functions, 1983).

With 16 leading bits a of r, a² and −21/128 a³ are exact, and so are the leading parts of

    cos r = 1 − a²/2 + …,    sin r = r − 21/128 a³ + …,

of which the rest is so small that its rounding errors do not matter. Taylor's series ends where its terms are below 2⁻⁶⁴.
"""

import math

from ..jit import njit
from .fixed_point import BITS, nearest, pi, rest, scaled, short
from .floats import bits_of, constants, float_of, quotient, two_product, two_sum

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
