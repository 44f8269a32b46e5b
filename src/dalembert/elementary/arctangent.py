"""atan2 and its relatives.

With 0 ≤ y ≤ x, and c = i/64 near to y/x,

    atan(y/x) = atan c + atan t,    t = (y − c x)/(x + c y),    |t| ≤ 1/128,

where atan c is from a table and t a pair of floats. The series of atan t needs few terms, and its rounding is 2⁻¹⁴ of t's.
"""

import math

from ..jit import njit
from .circular import HALF_PI, HALF_PI_REST
from .fixed_point import SHORT, arctangent, nearest, rest
from .floats import bits_of, constants, float_of, quotient, two_product, two_sum
from .logarithm import root

STEPS = 64


def _angles():
    """atan(i/64): each is that before and atan(64/(64² + i (i − 1)))."""
    angle = 0
    yield angle
    for i in range(1, STEPS + 1):
        angle += arctangent(STEPS, STEPS * STEPS + i * (i - 1), SHORT)
        yield angle


_ANGLES = list(_angles())
ANGLE = constants([nearest(angle) for angle in _ANGLES])
ANGLE_REST = constants([rest(angle, nearest(angle)) for angle in _ANGLES])
A = tuple((-1.0) ** k / (2 * k + 1) for k in range(5))
NEGLIGIBLE = 2.0**-28  # below it atan t = t to rounding
HEAD = -(1 << 7)  # 46 leading bits: their product with c is exact


@njit
def slope_angle(y, y_low, x, x_low):
    """atan((y + y_low)/(x + x_low)) as (high, low), 0 ≤ y ≤ x, neither of them near the ends of the range of floats."""
    i = int(y / x * STEPS + 0.5)
    c = i * (1.0 / STEPS)
    y1, x1 = float_of(bits_of(y) & HEAD), float_of(bits_of(x) & HEAD)
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
    if low <= high * NEGLIGIBLE:
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
