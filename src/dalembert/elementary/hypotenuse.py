"""√(x² + y²) without overflow, and correctly rounded but for some 1 in 100 results."""

import math

from ..jit import njit
from .floats import two_product


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
