"""A curve in space as a table of quintic pieces, and the point of it nearest to a given one.

Layout at an offset of the `curves` array: closed (0 or 1), first parameter, length of a piece in the parameter, number
of pieces, then 18 coefficients a piece: c[k, axis], r(s) = Σ c_k u^k with u = s − (start of the piece).
"""

import math

from ..jit import njit
from ..vec import add_scaled, dot, sub

HEADER = 4
PIECE = 18


@njit
def curve_point(curves, at, s):
    """(r, r′, r″) at parameter s (m, m per unit, m per unit²); an open curve goes on straight past its ends."""
    closed, first, width, count = curves[at], curves[at + 1], curves[at + 2], int(curves[at + 3])
    u = (s - first) / width
    if closed > 0.0:
        u -= math.floor(u / count) * count
    piece = min(max(int(math.floor(u)), 0), count - 1)
    u = (u - piece) * width
    past = 0.0
    if closed == 0.0:
        inside = min(max(u, 0.0), width)
        past = u - inside
        u = inside
    c = at + HEADER + PIECE * piece
    r = (curves[c + 15], curves[c + 16], curves[c + 17])
    d1 = (0.0, 0.0, 0.0)
    d2 = (0.0, 0.0, 0.0)
    for k in range(4, -1, -1):  # Horner, with the derivatives carried along
        d2 = add_scaled((2.0 * d1[0], 2.0 * d1[1], 2.0 * d1[2]), u, d2)
        d1 = add_scaled(r, u, d1)
        r = add_scaled((curves[c + 3 * k], curves[c + 3 * k + 1], curves[c + 3 * k + 2]), u, r)
    if past != 0.0:
        return add_scaled(r, past, d1), d1, (0.0, 0.0, 0.0)
    return r, d1, d2


@njit
def nearest_parameter(curves, at, point, s):
    """Newton on (p − r(s))·r′(s) = 0 from the tracked parameter s."""
    for _ in range(8):
        r, d1, d2 = curve_point(curves, at, s)
        gap = sub(point, r)
        slope = dot(d1, d1) - dot(gap, d2)
        if not slope > 0.0:
            slope = dot(d1, d1)
        step = dot(gap, d1) / slope
        s += step
        if abs(step) <= 1e-15 * (abs(s) + 1.0):
            break
    return s
