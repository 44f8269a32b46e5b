"""From a nearly optimal direction between two cores to one right to rounding, by Newton's method on the features that meet.

GJK and EPA find a distance to rounding long before the direction: an error e of the direction changes the distance by
e² only, and corners of a curved shape never end. But they tell which features meet: the point of a smooth surface or a
corner, an edge, or a flat face. Of a unit direction n from A to B, the separation is

    s(n) = n·(p_B − p_A),    p_A = the point of A furthest along n,    p_B = that of B furthest along −n,

and at the optimum w = p_B − p_A is parallel to n. On an edge the furthest point is p + μ e, with μ unknown and e·n = 0. With
T two tangents of the unit sphere at n, and dp_A/dn = H_A the second derivative of the support function, Newton's step is

    [ Tᵀ (H_A + H_B) T + s I   Tᵀ e_A   −Tᵀ e_B ] (δ  )   ( Tᵀ w  )
    [ −e_Aᵀ T                  0         0      ] (δμ_A) = ( e_A·n )      n ← n + T δ
    [ −e_Bᵀ T                  0         0      ] (δμ_B)   ( e_B·n )

(the ends of the side line of a cone move with n too, but along directions at right angles to n, which leaves the last
rows as they are). Where a flat face meets anything, n is its normal. The result is taken only if the points found are
furthest along n on their whole shape: then they are the optimum.
"""

import math

from ..jit import njit
from ..vec import add, add_scaled, congruence, cross, dot, matvec, matvec_t, norm, perpendicular, scale, sub, symvec
from .features import (
    FLAT_FACE,
    PART_A,
    PART_B,
    POINT,
    curvature,
    ends,
    face_normal,
    feature_of,
    flat_normal,
)
from .gjk import pair_size, witness
from .simplex import combination
from .small import solve_small
from .support import core_support, is_curved

STEPS = 10
LARGEST_STEP = 0.5  # rad
SAME_DISTANCE = 1e-13  # of the size: how nearly the points found must be the furthest ones
ROUNDING = 1e-15  # of the size
NEARLY_FLAT = 0.99  # cosine of the largest angle from a face's normal at which it is tried
# Where the system of equations is in scratch, after the simplex.
SYSTEM = 64


@njit
def refine(collider_a, collider_b, rotation, translation, vertices, n, least, count, scratch):
    """Improve the unit direction n from a to b; `scratch` holds the simplex of so many corners that `gjk` or `epa` left.

    least : the separation must not come out below this (m).

    Returns (improved, n, separation, point of a, point of b), all in the frame of a; if not improved, they are
    meaningless.
    """
    feature_a, first_a, second_a = feature_of(collider_a, scratch, count, PART_A)
    feature_b, first_b, second_b = feature_of(collider_b, scratch, count, PART_B)
    if feature_a == FLAT_FACE or feature_b == FLAT_FACE:
        good, m, s, p_a, q_b = on_face(
            collider_a, collider_b, rotation, translation, vertices, n, least, count, scratch,
            feature_a == FLAT_FACE,
        )  # fmt: skip
        if good:
            return good, m, s, p_a, q_b
        # Distant points of a rim look like a flat end; of a polytope, rounding has made an edge a face.
        feature_a, feature_b = min(feature_a, 2 - feature_a), min(feature_b, 2 - feature_b)
    size = pair_size(collider_a, collider_b, translation)
    start = n
    mu_a, mu_b = 0.5, 0.5
    before = math.inf
    for step in range(STEPS):
        u = matvec_t(rotation, (-n[0], -n[1], -n[2]))
        low_a, high_a = ends(collider_a, vertices, feature_a, first_a, second_a, scratch, PART_A, n)
        low_b, high_b = ends(collider_b, vertices, feature_b, first_b, second_b, scratch, PART_B, u)
        e_a = sub(high_a, low_a)
        e_b = sub(high_b, low_b)
        if step == 0:
            mu_a = along_edge(witness(scratch, count, PART_A), low_a, e_a)
            mu_b = along_edge(witness(scratch, count, PART_B), low_b, e_b)
        p_a = add_scaled(low_a, mu_a, e_a)
        p_b = add_scaled(low_b, mu_b, e_b)
        q_b = add(translation, matvec(rotation, p_b))
        e_b = matvec(rotation, e_b)
        w = sub(q_b, p_a)
        s = dot(w, n)
        across = add_scaled(w, -s, n)
        error = norm(across) + abs(dot(e_a, n)) + abs(dot(e_b, n))
        if not error < 0.5 * before and error <= SAME_DISTANCE * size:
            break
        before = error
        h_a = curvature(collider_a, p_a, n)
        h_b = congruence(rotation, curvature(collider_b, p_b, u))
        change, d_a, d_b = newton_step(n, w, s, h_a, h_b, e_a, e_b, size, scratch)
        if not norm(change) < LARGEST_STEP:
            break
        n = add(n, change)
        n = scale(1.0 / norm(n), n)
        mu_a += d_a
        mu_b += d_b
    inside = min(mu_a, mu_b) >= -1e-9 and max(mu_a, mu_b) <= 1.0 + 1e-9
    true = separation_along(collider_a, collider_b, rotation, translation, vertices, n)
    good = inside and error <= SAME_DISTANCE * size and abs(true - s) <= SAME_DISTANCE * size and s >= least
    if good:
        return good, n, s, p_a, q_b
    return beside_face(collider_a, collider_b, rotation, translation, vertices, start, least, count, scratch)


@njit
def along_edge(p, low, e):
    ee = dot(e, e)
    return dot(sub(p, low), e) / ee if ee > 0.0 else 0.0


@njit
def separation_along(collider_a, collider_b, rotation, translation, vertices, n):
    """The gap between the cores along the unit vector n (m), negative where they overlap."""
    u = matvec_t(rotation, (-n[0], -n[1], -n[2]))
    b = add(translation, matvec(rotation, core_support(collider_b, vertices, u)))
    return dot(n, sub(b, core_support(collider_a, vertices, n)))


@njit
def newton_step(n, w, s, h_a, h_b, e_a, e_b, size, scratch):
    """(change of n, of μ_A, of μ_B): the system above, its lengths in units of `size`."""
    x = perpendicular(n)
    y = cross(n, x)
    unit = 1.0 / size
    h = scale_six(unit, h_a, h_b)
    hx, hy = symvec(h, x), symvec(h, y)
    a_x, a_y = unit * dot(e_a, x), unit * dot(e_a, y)
    b_x, b_y = unit * dot(e_b, x), unit * dot(e_b, y)
    rows = (
        (dot(x, hx) + unit * s, dot(x, hy), a_x, -b_x, unit * dot(x, w)),
        (dot(y, hx), dot(y, hy) + unit * s, a_y, -b_y, unit * dot(y, w)),
        (-a_x, -a_y, 0.0, 0.0, unit * dot(e_a, n)),
        (-b_x, -b_y, 0.0, 0.0, unit * dot(e_b, n)),
    )
    for i in range(4):
        for j in range(5):
            scratch[SYSTEM + 5 * i + j] = rows[i][j]
    solve_small(scratch, SYSTEM, 4)
    solution = SYSTEM + 20
    return (
        combination(scratch[solution], x, scratch[solution + 1], y, 0.0, n),
        scratch[solution + 2],
        scratch[solution + 3],
    )


@njit
def scale_six(s, a, b):
    """s (A + B) of two symmetric matrices."""
    return (
        s * (a[0] + b[0]), s * (a[1] + b[1]), s * (a[2] + b[2]), s * (a[3] + b[3]), s * (a[4] + b[4]),
        s * (a[5] + b[5]),
    )  # fmt: skip


@njit
def on_face(collider_a, collider_b, rotation, translation, vertices, n, least, count, scratch, of_a):
    """As `refine`, where one of the features is a flat face: n is its normal."""
    if of_a:
        m = face_normal(collider_a, scratch, PART_A)
    else:
        m = matvec(rotation, face_normal(collider_b, scratch, PART_B))
    m = scale(1.0 if dot(m, n) >= 0.0 else -1.0, m)
    s = separation_along(collider_a, collider_b, rotation, translation, vertices, m)
    if of_a:
        q_b = lone_point(collider_b, vertices, matvec_t(rotation, (-m[0], -m[1], -m[2])), count, scratch, PART_B)
        q_b = add(translation, matvec(rotation, q_b))
        return s >= least, m, s, add_scaled(q_b, -s, m), q_b
    p_a = lone_point(collider_a, vertices, m, count, scratch, PART_A)
    return s >= least, m, s, p_a, add_scaled(p_a, s, m)


@njit
def beside_face(collider_a, collider_b, rotation, translation, vertices, n, least, count, scratch):
    """As `refine`, where a face meets something curved and the simplex has too few of its corners to show it.

    The normal of a face of either that n is close to is taken if it separates better than n does.
    """
    size = pair_size(collider_a, collider_b, translation)
    least = max(least, separation_along(collider_a, collider_b, rotation, translation, vertices, n) - ROUNDING * size)
    m = flat_normal(collider_a, vertices, n)
    if dot(m, n) > NEARLY_FLAT:
        s = separation_along(collider_a, collider_b, rotation, translation, vertices, m)
        if s >= least:
            q_b = lone_point(collider_b, vertices, matvec_t(rotation, (-m[0], -m[1], -m[2])), count, scratch, PART_B)
            q_b = add(translation, matvec(rotation, q_b))
            return True, m, s, add_scaled(q_b, -s, m), q_b
    m = flat_normal(collider_b, vertices, matvec_t(rotation, (-n[0], -n[1], -n[2])))
    m = matvec(rotation, (-m[0], -m[1], -m[2]))
    s = separation_along(collider_a, collider_b, rotation, translation, vertices, m)
    p_a = lone_point(collider_a, vertices, m, count, scratch, PART_A)
    return dot(m, n) > NEARLY_FLAT and s >= least, m, s, p_a, add_scaled(p_a, s, m)


@njit
def lone_point(collider, vertices, u, count, scratch, part):
    """The point of a core that meets a face across u: of a rim or smooth surface the furthest, else as in the simplex."""
    feature, _, _ = feature_of(collider, scratch, count, part)
    if is_curved(collider) and feature == POINT:
        return core_support(collider, vertices, u)
    return witness(scratch, count, part)
