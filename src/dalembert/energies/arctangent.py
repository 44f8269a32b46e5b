"""The angle of a point of the plane, without branches: `math.atan2` takes longer than all else of a hinge.

By symmetry and one turn by π/4 it is that of a point between −π/8 and π/8: t = tan, |t| ≤ √2 − 1. Gauss's continued fraction

    atan t = t/(1 + 1² z/(3 + 2² z/(5 + 3² z/(7 + …)))),   z = t²,

cut after eleven terms is t A/B with polynomials A and B of z, and wrong by less than 2e-17 t. With C = (B − A)/z, t − t z C/B
rounds little more than t does.
"""

import math

from numpy.polynomial import Polynomial

from ..jit import inlined

TERMS = 11
TAN_EIGHTH = math.sqrt(2.0) - 1.0


# From its end: the fraction that starts with 2 n − 1 is pₙ/pₙ₊₁, and pₙ = (2 n − 1) pₙ₊₁ + n² z pₙ₊₂.
def convergent() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """C (six numbers) and B (seven), from the constant term on; B begins with 1."""
    p, after = Polynomial([2.0 * TERMS + 1.0]), Polynomial([1.0])
    for n in range(TERMS, 0, -1):
        p, after = (2.0 * n - 1.0) * p + Polynomial([0.0, n * n]) * after, p
    first = p.coef[0]
    return tuple(((p - after).coef[1:] / first).tolist()), tuple((p.coef / first).tolist())


C, B = convergent()


@inlined
def angle_of(x, y):
    """atan2(y, x), rad; 0 for the origin."""
    a, b = abs(x), abs(y)
    low, high = min(a, b), max(a, b)
    turned = low > TAN_EIGHTH * high
    above, below = (low - high, low + high) if turned else (low, high)
    t = above / below if below > 0.0 else 0.0
    z = t * t
    zz = z * z
    c = C[0] + z * C[1] + zz * (C[2] + z * C[3]) + zz * zz * (C[4] + z * C[5])
    d = B[0] + z * B[1] + zz * (B[2] + z * B[3]) + zz * zz * (B[4] + z * B[5] + zz * B[6])
    angle = t - t * z * c / d
    if turned:
        angle += 0.25 * math.pi
    if b > a:
        angle = 0.5 * math.pi - angle
    if x < 0.0:
        angle = math.pi - angle
    return -angle if y < 0.0 else angle
