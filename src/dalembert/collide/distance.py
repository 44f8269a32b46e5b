"""The signed distance of two convex shapes, with its direction and points: GJK, EPA where the cores overlap, Newton."""

from ..jit import njit
from ..vec import add, add_scaled, dot, load3, matvec, matvec_t, norm, scale
from .bounds import nine
from .epa import FOUND, epa
from .features import PART_A, PART_B
from .gjk import FAR, OVERLAPPING, gjk, pair_size, witness
from .refine import refine
from .support import core_radius, is_curved, relative_pose

# Tolerances, as fractions of the size of the pair.
DISTANCE_SLACK = 1e-6  # how much less a refined distance may be: there is one optimum only
DEPTH_SLACK = 1e-12  # how much more a refined depth may be: there are many
POLYTOPE_DEPTH = 1e-13  # a polytope of finitely many corners is found exactly
CURVED_DEPTH = 1e-7  # near enough for Newton's method


@njit
def signed_distance(collider_a, place_a, collider_b, place_b, vertices, direction, bound, scratch):
    """Distance (m) of two bounded colliders, negative where they overlap: the least translation that separates them.

    direction : from a to b (world axes), tried first; zero: none.
    bound : stop when the distance is proven to be larger (m).
    scratch : SCRATCH numbers.

    Returns (status, unit normal from a to b, separation, point on a, point on b), in world axes: SEPARATED, OVERLAPPING (the
    *cores* do), or FAR, and then only the normal has a meaning: along it they are further apart than the bound.
    """
    rotation, translation = relative_pose(place_a, place_b)
    axes = nine(place_a.rotation)
    grown_a, grown_b = core_radius(collider_a), core_radius(collider_b)
    status, count, v = gjk(
        collider_a, collider_b, rotation, translation, vertices, matvec_t(axes, direction), bound + grown_a + grown_b,
        scratch,
    )  # fmt: skip
    n, s = v, norm(v)
    if status == OVERLAPPING:
        count, n, s = overlap_of_cores(collider_a, collider_b, rotation, translation, vertices, count, scratch)
    else:
        n = scale(1.0 / s, v)
    p = witness(scratch, count, PART_A)
    q = add(translation, matvec(rotation, witness(scratch, count, PART_B)))
    if status != FAR:
        slack = DEPTH_SLACK if status == OVERLAPPING else DISTANCE_SLACK
        least = s - slack * pair_size(collider_a, collider_b, translation)
        better, n_new, s_new, p_new, q_new = refine(
            collider_a, collider_b, rotation, translation, vertices, n, least, count, scratch
        )
        if better:
            n, s, p, q = n_new, s_new, p_new, q_new
        elif status == OVERLAPPING:
            middle = scale(0.5, add(p, q))
            p, q = add_scaled(middle, -0.5 * s, n), add_scaled(middle, 0.5 * s, n)
    x = load3(place_a.x)
    p = add(x, matvec(axes, add_scaled(p, grown_a, n)))
    q = add(x, matvec(axes, add_scaled(q, -grown_b, n)))
    return status, matvec(axes, n), s - grown_a - grown_b, p, q


@njit
def overlap_of_cores(collider_a, collider_b, rotation, translation, vertices, count, scratch):
    """(number of corners of the simplex, normal, separation) of cores that overlap or touch."""
    curved = is_curved(collider_a) or is_curved(collider_b)
    tolerance = (CURVED_DEPTH if curved else POLYTOPE_DEPTH) * pair_size(collider_a, collider_b, translation)
    found, corners, n, depth = epa(collider_a, collider_b, rotation, translation, vertices, tolerance, scratch)
    if found == FOUND:
        return corners, n, -depth
    # Without volume (two segments that cross, say), either side is as good.
    return count, scale(1.0 if dot(n, translation) >= 0.0 else -1.0, n), 0.0
