"""The point of a segment, triangle or tetrahedron nearest to the origin, as weights of its corners.

The signed-volume method (Montanari, Petrinic and Barbieri, "Improving the GJK algorithm for faster and more reliable
distance queries between convex objects", ACM Transactions on Graphics 36, 2017, §3): the origin is projected on the span,
and the weights are ratios of signed lengths, areas or volumes. Where a sign differs from that of the whole, the nearest
point lies on the side opposite to that corner. Areas are taken on the coordinate plane where the triangle looks largest.
A degenerate simplex is searched side by side.
"""

from ..jit import njit
from ..vec import cross, dot, sub


@njit
def nearest_on_segment(a, b):
    """Weights (2) of the corners."""
    t = sub(b, a)
    u = dot(b, t)
    v = -dot(a, t)
    whole = dot(t, t)
    if not whole > 0.0 or v <= 0.0:
        return (1.0, 0.0)
    if u <= 0.0:
        return (0.0, 1.0)
    return (u / (u + v), v / (u + v))


@njit
def combination(u, a, v, b, w, c):
    """u a + v b + w c."""
    return (
        u * a[0] + v * b[0] + w * c[0],
        u * a[1] + v * b[1] + w * c[1],
        u * a[2] + v * b[2] + w * c[2],
    )


@njit
def signed_areas(a, b, c):
    """(whole, three parts) of a triangle and of those that the projection of the origin makes with its sides, opposite to
    each corner, all on the coordinate plane where the triangle is largest; zeros if it has no area."""
    n = cross(sub(b, a), sub(c, a))
    nn = dot(n, n)
    if not nn > 0.0:
        return (0.0, 0.0, 0.0, 0.0)
    s = dot(a, n) / nn
    p = (s * n[0], s * n[1], s * n[2])
    x, y, z = abs(n[0]), abs(n[1]), abs(n[2])
    i, j, whole = 0, 1, n[2]
    if x >= y and x >= z:
        i, j, whole = 1, 2, n[0]
    elif y >= z:
        i, j, whole = 2, 0, n[1]
    ai, aj = a[i] - p[i], a[j] - p[j]
    bi, bj = b[i] - p[i], b[j] - p[j]
    ci, cj = c[i] - p[i], c[j] - p[j]
    return (whole, bi * cj - bj * ci, ci * aj - cj * ai, ai * bj - aj * bi)


@njit
def nearest_on_triangle(a, b, c):
    """Weights (3) of the corners."""
    whole, u, v, w = signed_areas(a, b, c)
    if whole < 0.0:
        whole, u, v, w = -whole, -u, -v, -w
    if whole > 0.0 and u > 0.0 and v > 0.0 and w > 0.0:
        s = 1.0 / (u + v + w)
        return (s * u, s * v, s * w)
    best = (1.0, 0.0, 0.0)
    least = dot(a, a)
    if whole == 0.0 or u <= 0.0:
        e = nearest_on_segment(b, c)
        p = combination(0.0, a, e[0], b, e[1], c)
        if dot(p, p) < least:
            least = dot(p, p)
            best = (0.0, e[0], e[1])
    if whole == 0.0 or v <= 0.0:
        e = nearest_on_segment(c, a)
        p = combination(e[1], a, 0.0, b, e[0], c)
        if dot(p, p) < least:
            least = dot(p, p)
            best = (e[1], 0.0, e[0])
    if whole == 0.0 or w <= 0.0:
        e = nearest_on_segment(a, b)
        p = combination(e[0], a, e[1], b, 0.0, c)
        if dot(p, p) < least:
            best = (e[0], e[1], 0.0)
    return best


@njit
def nearest_on_tetrahedron(a, b, c, d):
    """Weights (4) of the corners; all positive where the origin is inside."""
    ab, ac, ad = sub(b, a), sub(c, a), sub(d, a)
    whole = dot(ab, cross(ac, ad))
    bc = cross(b, c)
    # Volumes of the tetrahedra in which the origin takes the place of each corner.
    u = dot(d, bc)
    v = dot(a, cross(d, c))
    w = dot(b, cross(d, a))
    x = -dot(a, bc)
    if whole < 0.0:
        whole, u, v, w, x = -whole, -u, -v, -w, -x
    if whole > 0.0 and u > 0.0 and v > 0.0 and w > 0.0 and x > 0.0:
        s = 1.0 / (u + v + w + x)
        return (s * u, s * v, s * w, s * x)
    best = (1.0, 0.0, 0.0, 0.0)
    least = dot(a, a)
    if not whole > 0.0 or u <= 0.0:
        t = nearest_on_triangle(b, c, d)
        p = combination(t[0], b, t[1], c, t[2], d)
        if dot(p, p) < least:
            least = dot(p, p)
            best = (0.0, t[0], t[1], t[2])
    if not whole > 0.0 or v <= 0.0:
        t = nearest_on_triangle(a, c, d)
        p = combination(t[0], a, t[1], c, t[2], d)
        if dot(p, p) < least:
            least = dot(p, p)
            best = (t[0], 0.0, t[1], t[2])
    if not whole > 0.0 or w <= 0.0:
        t = nearest_on_triangle(a, b, d)
        p = combination(t[0], a, t[1], b, t[2], d)
        if dot(p, p) < least:
            least = dot(p, p)
            best = (t[0], t[1], 0.0, t[2])
    if not whole > 0.0 or x <= 0.0:
        t = nearest_on_triangle(a, b, c)
        p = combination(t[0], a, t[1], b, t[2], c)
        if dot(p, p) < least:
            best = (t[0], t[1], t[2], 0.0)
    return best
