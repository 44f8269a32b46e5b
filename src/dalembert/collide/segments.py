"""The points of two segments that are nearest to each other."""

from ..jit import njit
from ..vec import add_scaled, dot, sub


@njit
def clamp(x):
    return min(max(x, 0.0), 1.0)


@njit
def nearest_parameters(p, d, q, e):
    """(s, t), each in [0, 1], for which p + s d and q + t e are nearest.

    The distance is convex in (s, t): the minimum over s, then t, each clamped to its segment, then s once more for that t, is
    the minimum over the square (Ericson, Real-Time Collision Detection, §5.1.9). Either segment may be a point; of parallel
    segments the pair nearest to p is returned.
    """
    r = sub(p, q)
    dd, ee, de = dot(d, d), dot(e, e), dot(d, e)
    dr, er = dot(d, r), dot(e, r)
    if dd == 0.0:
        return 0.0, (clamp(er / ee) if ee > 0.0 else 0.0)
    if ee == 0.0:
        return clamp(-dr / dd), 0.0
    determinant = dd * ee - de * de
    s = clamp((de * er - dr * ee) / determinant) if determinant > 1e-14 * dd * ee else 0.0
    t = clamp((de * s + er) / ee)
    return clamp((de * t - dr) / dd), t


@njit
def nearest_points(p, d, q, e):
    """The nearest points of the segments from p to p + d and from q to q + e."""
    s, t = nearest_parameters(p, d, q, e)
    return add_scaled(p, s, d), add_scaled(q, t, e)
