"""exp and what is made of it.

x = (k + j/128) ln 2 + r with |r| < 0.0028, and 2^(j/128) is taken from a table as t (1 + t'); then

    eˣ = 2ᵏ t (1 + p),    p = t' + r + r²/2 + r³/6 + …

(P. Tang, Table-driven implementation of the exponential function, ACM TOMS 15, 1989). p is so small that its rounding is
about 2⁻⁶² of the result.
"""

import math

from ..jit import njit
from .circular import ROUNDER
from .fixed_point import nearest, rest, roots_of_two, short, word
from .floats import bits_of, constants, float_of, quotient, two_sum
from .logarithm import LN_2

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
def scaled(high, low, k):
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
    return scaled(t, s, k)


@njit
def expm1(x):
    """eˣ − 1."""
    if abs(x) < SMALL:
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
    return math.copysign(scaled(t, s, k - 1), x)


@njit
def cosh(x):
    """The hyperbolic cosine."""
    a = abs(x)
    if a < 40.0:
        high, low, other, other_low = exponentials(a)
        total, error = two_sum(high, other)
        return 0.5 * (total + (error + low + other_low))
    if not a < 711.0:
        return a
    k, t, s = power_of_e(a, 0.0)
    return scaled(t, s, k - 1)


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
