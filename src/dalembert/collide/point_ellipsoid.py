"""The signed distance of a point from an ellipsoid.

With semi-axes e the point x of the surface nearest to y satisfies x_i = e_i² y_i / (t + e_i²) with the largest t for which it
lies on the surface (Eberly, "Distance from a point to an ellipse, an ellipsoid, or a hyperellipsoid", 2013, §4). In units of
the least semi-axis that is |c(σ)| = 1, where c_i = e_i |y_i| / (σ + e_i² − 1) and σ = 1 + t ≥ 0.

1/|c| is a power mean, of exponent −2, of the lines (σ + e_i² − 1) / (e_i |y_i|), and hence concave: Newton's method for
1/|c| = 1 goes up to the root from any σ below it, and takes few steps as the function is nearly linear. A σ below the root
is the one that makes the largest c_i one.

y − x has the components t x_i / e_i², which gives the distance without cancellation.
"""

import math

from ..jit import njit
from ..vec import norm, scale

STEPS = 64


@njit
def part(z, line):
    """z/line, zero where z is."""
    return z / line if z > 0.0 else 0.0


@njit
def from_ellipsoid(p, size):
    """(signed distance (m), outward unit normal) of p from the surface; size : semi-axes."""
    least = min(size[0], size[1], size[2])
    e = scale(1.0 / least, size)
    z = (e[0] * abs(p[0]) / least, e[1] * abs(p[1]) / least, e[2] * abs(p[2]) / least)
    more = ((e[0] - 1.0) * (e[0] + 1.0), (e[1] - 1.0) * (e[1] + 1.0), (e[2] - 1.0) * (e[2] + 1.0))
    sigma = surface_parameter(z, more)
    c = (part(z[0], sigma + more[0]), part(z[1], sigma + more[1]), part(z[2], sigma + more[2]))
    # On the middle plane of the shortest axis, deep within: two points are nearest, on either side of it.
    rest = math.sqrt(max(0.0, 1.0 - c[0] * c[0] - c[1] * c[1] - c[2] * c[2]))
    if sigma == 0.0:
        if more[2] == 0.0 and z[2] == 0.0:
            c = (c[0], c[1], rest)
        elif more[1] == 0.0 and z[1] == 0.0:
            c = (c[0], rest, c[2])
        else:
            c = (rest, c[1], c[2])
    # x_i = e_i c_i in units of m, and the gradient there is c_i / e_i.
    n = (math.copysign(c[0] / e[0], p[0]), math.copysign(c[1] / e[1], p[1]), math.copysign(c[2] / e[2], p[2]))
    length = norm(n)
    return (sigma - 1.0) * length * least, scale(1.0 / length, n)


@njit
def surface_parameter(z, more):
    """σ with |c| = 1; zero where |c| is less for every σ > 0."""
    sigma = max(z[0] - more[0], z[1] - more[1], z[2] - more[2], 0.0)
    for _ in range(STEPS):
        square, slope = 0.0, 0.0
        for k in range(3):
            line = sigma + more[k]
            c = part(z[k], line)
            square += c * c
            if c > 0.0:
                slope += c * c / line
        if not square > 1.0:
            break
        # 1/|c| = s^(−1/2) with s the square, whose derivative is −2 · slope.
        step = square * (math.sqrt(square) - 1.0) / slope
        before = sigma
        sigma += step
        if sigma == before:
            break
    return sigma
