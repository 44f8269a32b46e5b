"""Spheres and capsules: a point or a segment grown by a radius, so that contact is between the nearest points of these.

Each function fills the manifold and returns its number of points. The normal points from the first collider to the second;
where the nearest points of the cores coincide it is one that is fixed: +z for spheres, across the axes for capsules.
"""

import math

from ..jit import inlined, njit
from ..vec import add, add_scaled, cross, dot, load3, matvec, matvec_t, norm, scale, sub
from .bounds import nine
from .manifold import add_near, start
from .segments import clamp, nearest_parameters

PARALLEL = 1e-6  # squared sine of the angle between two capsules up to which they touch in two points


@inlined
def segment(collider, place):
    """Middle of the axis of a capsule, and the half of it on the side of +z (world)."""
    rotation = nine(place.rotation)
    return load3(place.x), scale(collider["size"][1], (rotation[2], rotation[5], rotation[8]))


@inlined
def across(place):
    """A direction across the axis of a capsule: x of its frame."""
    rotation = nine(place.rotation)
    return (rotation[0], rotation[3], rotation[6])


@inlined
def between(p, radius_p, q, radius_q, n, feature, margin, manifold):
    """The point of contact of two balls, along the normal n, where they are near enough."""
    gap = dot(n, sub(q, p)) - radius_p - radius_q
    add_near(add_scaled(p, radius_p + 0.5 * gap, n), gap, feature, margin, manifold)


@inlined
def direction(p, q, otherwise):
    """The unit vector from p to q; `otherwise` where they coincide."""
    d = sub(q, p)
    length = norm(d)
    return scale(1.0 / length, d) if length > 0.0 else otherwise


@njit
def balls(p, radius_p, q, radius_q, otherwise, margin, manifold):
    n = direction(p, q, otherwise)
    start(n, manifold)
    between(p, radius_p, q, radius_q, n, 0, margin, manifold)
    return manifold.points


@njit
def sphere_sphere(pair, sphere_a, place_a, sphere_b, place_b, margin, manifold):
    radius_a, radius_b = sphere_a["size"][0], sphere_b["size"][0]
    return balls(load3(place_a.x), radius_a, load3(place_b.x), radius_b, (0.0, 0.0, 1.0), margin, manifold)


@njit
def sphere_capsule(pair, sphere, place_a, capsule, place_b, margin, manifold):
    p = load3(place_a.x)
    middle, half = segment(capsule, place_b)
    square = dot(half, half)
    s = dot(half, sub(p, middle)) / square if square > 0.0 else 0.0
    q = add_scaled(middle, min(max(s, -1.0), 1.0), half)
    return balls(p, sphere["size"][0], q, capsule["size"][0], across(place_b), margin, manifold)


@njit
def capsule_capsule(pair, capsule_a, place_a, capsule_b, place_b, margin, manifold):
    """One point, where the axes are nearest; two, at the ends of what they have in common, where they are parallel."""
    radius_a, radius_b = capsule_a["size"][0], capsule_b["size"][0]
    p, d = segment(capsule_a, place_a)
    q, e = segment(capsule_b, place_b)
    p, q = sub(p, d), sub(q, e)
    d, e = scale(2.0, d), scale(2.0, e)
    dd, ee = dot(d, d), dot(e, e)
    turn = cross(d, e)
    s, t = nearest_parameters(p, d, q, e)
    near_p, near_q = add_scaled(p, s, d), add_scaled(q, t, e)
    if dot(turn, turn) <= PARALLEL * dd * ee and dd * ee > 0.0:
        # What b covers of a, as parameters on a.
        first, last = dot(d, sub(q, p)) / dd, dot(d, sub(add(q, e), p)) / dd
        low, high = clamp(min(first, last)), clamp(max(first, last))
        if high - low > 1e-9:
            n = direction(near_p, near_q, across(place_a))
            start(n, manifold)
            for end in range(2):
                at = add_scaled(p, low if end == 0 else high, d)
                other = add_scaled(q, clamp(dot(e, sub(at, q)) / ee), e)
                between(at, radius_a, other, radius_b, n, end, margin, manifold)
            return manifold.points
    square = dot(turn, turn)
    otherwise = scale(1.0 / math.sqrt(square), turn) if square > 0.0 else across(place_a)
    return balls(near_p, radius_a, near_q, radius_b, otherwise, margin, manifold)


@njit
def sphere_box(pair, sphere, place_a, box, place_b, margin, manifold):
    """A centre inside the box leaves by the nearest face."""
    radius = sphere["size"][0]
    half = load3(box["size"])
    rotation = nine(place_b.rotation)
    c = matvec_t(rotation, sub(load3(place_a.x), load3(place_b.x)))
    nearest = (min(max(c[0], -half[0]), half[0]), min(max(c[1], -half[1]), half[1]), min(max(c[2], -half[2]), half[2]))
    out = sub(c, nearest)
    distance = norm(out)
    if distance > 0.0:
        inward = scale(-1.0 / distance, out)
        gap = distance - radius
    else:
        depth = (half[0] - abs(c[0]), half[1] - abs(c[1]), half[2] - abs(c[2]))
        k = 0 if depth[0] <= depth[1] and depth[0] <= depth[2] else (1 if depth[1] <= depth[2] else 2)
        inward = (
            -math.copysign(1.0, c[0]) if k == 0 else 0.0,
            -math.copysign(1.0, c[1]) if k == 1 else 0.0,
            -math.copysign(1.0, c[2]) if k == 2 else 0.0,
        )
        gap = -min(depth[0], depth[1], depth[2]) - radius
    n = matvec(rotation, inward)
    start(n, manifold)
    add_near(add_scaled(load3(place_a.x), radius + 0.5 * gap, n), gap, 0, margin, manifold)
    return manifold.points
