"""x to the power y, by e^(y ln x) with ln x as a pair of floats."""

import math

from ..jit import njit
from .exponential import power_of_e, scaled
from .floats import two_product, two_sum
from .logarithm import logarithm_of_pair


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
    return sign * scaled(t, s, k)
