"""The signed distance of two convex shapes, with its direction and points: GJK, EPA where the cores overlap, Newton.

It is a C function of its own, as its code is long: the narrow phase and the queries call it.
"""

import numpy as np

from ..jit import DISABLED, CFunction, njit
from ..pointer import C_SIGNATURE, C_TYPE
from ..tables import address_table, table_at
from ..vec import add, add_scaled, dot, load3, matvec, matvec_t, norm, scale
from .bounds import nine
from .epa import FOUND, epa
from .features import PART_A, PART_B
from .gjk import FAR, OVERLAPPING, gjk, pair_size, witness
from .refine import refine
from .support import core_radius, is_curved, load_point, relative_pose
from .tables import Collision

# What `distance` leaves in scratch: the separation (m), the unit normal, the points on a and on b (world axes).
SEPARATION, NORMAL, POINT_A, POINT_B = 0, 1, 4, 7

# Tolerances, as fractions of the size of the pair.
DISTANCE_SLACK = 1e-6  # how much less a refined distance may be: there is one optimum only
DEPTH_SLACK = 1e-12  # how much more a refined depth may be: there are many
POLYTOPE_DEPTH = 1e-13  # a polytope of finitely many corners is found exactly
CURVED_DEPTH = 1e-7  # near enough for Newton's method


@njit
def distance(number, bound, collision):
    """Measure colliders a and b of number = a · colliders + b, from the direction in scratch[0:3], into scratch; returns
    the status. See `signed_distance`."""
    colliders, scratch = collision.colliders, collision.scratch
    a, b = number // colliders.shape[0], number % colliders.shape[0]
    status, n, s, p, q = signed_distance(
        colliders[a],
        collision.places[a],
        colliders[b],
        collision.places[b],
        collision.vertices,
        load_point(scratch, 0),
        bound,
        scratch,
    )
    scratch[SEPARATION] = s
    for k in range(3):
        scratch[NORMAL + k], scratch[POINT_A + k], scratch[POINT_B + k] = n[k], p[k], q[k]
    return status


def evaluate(data, number, bound, y, n, more, m):
    return distance(number, bound, table_at(Collision, data))


COMPILED = CFunction(evaluate, C_SIGNATURE)


def measure(collision: Collision, a: int, b: int, bound: float) -> np.ndarray:
    """Call `distance` from Python: its ten numbers in scratch."""
    number = a * len(collision.colliders) + b
    collision.scratch[:3] = 0.0
    if DISABLED:
        distance(number, bound, collision)
    else:
        table = address_table(collision)
        C_TYPE(COMPILED.address)(table.ctypes.data, number, bound, 0, 0, 0, 0)
    return collision.scratch[:10]


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
