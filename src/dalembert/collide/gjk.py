"""The distance of two convex cores: the algorithm of Gilbert, Johnson and Keerthi (1988).

The distance of A and B is that of the origin to the set of differences w = b − a. A simplex of points of that set is kept,
and v, its point nearest to the origin; the furthest point w along −v is added as long as it is nearer than v. What is
left to gain is at most |v| − v·w/|v| (the duality gap), which is brought down to rounding (van den Bergen, *Collision
Detection in Interactive 3D Environments*, 2004, §4.3). A v that does not get shorter ends the search: it is as
near as rounding allows.

Everything is reckoned in the frame of a, so that the place in the world costs no digits.
"""

import math

from ..jit import njit
from ..vec import dot, norm, scale
from .simplex import combination, nearest_on_segment, nearest_on_tetrahedron, nearest_on_triangle
from .support import difference, load_point

# What the search found: distance > 0; common points (or a touch within rounding); further apart than was asked for.
SEPARATED, OVERLAPPING, FAR = range(3)

# The simplex in scratch: up to four corners of nine numbers (see `difference`), one to come, and the weights.
CORNER = 9
NEW = 4 * CORNER
WEIGHTS = 5 * CORNER
SIMPLEX_SIZE = WEIGHTS + 4

ITERATIONS = 128
ROUNDING = 4e-16  # error of a difference, as a fraction of the size of the pair
TOUCHING = 1e-14  # nearer than this fraction of their size is a touch


@njit
def pair_size(collider_a, collider_b, translation):
    """The length that rounding errors are fractions of (m): no difference of points is longer."""
    return collider_a.radius + collider_b.radius + norm(translation)


@njit
def gjk(collider_a, collider_b, rotation, translation, vertices, direction, bound, scratch):
    """Distance of the cores of a and b; the pose of b is in the frame of a, as are all results.

    direction : from a towards b, tried first (zero: none); need not be a unit vector.
    bound : stop as soon as the distance is proven to be larger (m).
    scratch : the first SIMPLEX_SIZE numbers receive the last simplex and its weights.

    Returns (status, number of corners, v): v reaches from the point of a to the point of b, `witness` gives both.
    """
    size = pair_size(collider_a, collider_b, translation)
    if not dot(direction, direction) > 0.0:
        direction = translation
    difference(collider_a, collider_b, rotation, translation, vertices, direction, scratch, 0)
    scratch[WEIGHTS] = 1.0
    count = 1
    v = load_point(scratch, 0)
    vv = dot(v, v)
    for _ in range(ITERATIONS):
        if not vv > TOUCHING * TOUCHING * size * size:
            return OVERLAPPING, count, v
        length = math.sqrt(vv)
        # A direction of length about one: squares of a short v would lose digits.
        u = scale(1.0 / length, v)
        difference(collider_a, collider_b, rotation, translation, vertices, u, scratch, NEW)
        along = dot(u, load_point(scratch, NEW))
        if along > bound:
            return FAR, count, v
        if length - along <= ROUNDING * size or known(scratch, count):
            return SEPARATED, count, v
        weights = nearest(scratch, count)
        nearer = weighted(scratch, weights)
        if count == 3 and min(min(weights[0], weights[1]), min(weights[2], weights[3])) > 0.0:
            keep_positive(scratch, weights)
            return OVERLAPPING, 4, nearer
        less = dot(nearer, nearer)
        if not less < vv:
            return SEPARATED, count, v
        v = nearer
        vv = less
        count = keep_positive(scratch, weights)
    return SEPARATED, count, v


@njit
def known(scratch, count):
    """Whether the new corner is one of the simplex."""
    for i in range(count):
        at = CORNER * i
        if scratch[at] == scratch[NEW] and scratch[at + 1] == scratch[NEW + 1] and scratch[at + 2] == scratch[NEW + 2]:
            return True
    return False


@njit
def nearest(scratch, count):
    """Weights of the corners (three at most), and last of the new one, in the point nearest to the origin."""
    new = load_point(scratch, NEW)
    a = load_point(scratch, 0)
    if count == 1:
        s = nearest_on_segment(a, new)
        return (s[0], 0.0, 0.0, s[1])
    b = load_point(scratch, CORNER)
    if count == 2:
        t = nearest_on_triangle(a, b, new)
        return (t[0], t[1], 0.0, t[2])
    return nearest_on_tetrahedron(a, b, load_point(scratch, 2 * CORNER), new)


@njit
def weighted(scratch, weights):
    """The point of these weights of three corners and the new one. Corners of no weight may hold anything."""
    x, y, z = 0.0, 0.0, 0.0
    for i in range(4):
        if weights[i] > 0.0:
            at = NEW if i == 3 else CORNER * i
            x += weights[i] * scratch[at]
            y += weights[i] * scratch[at + 1]
            z += weights[i] * scratch[at + 2]
    return (x, y, z)


@njit
def keep_positive(scratch, weights):
    """Keep the corners that have a weight, in order, the new one last; returns their number."""
    count = 0
    for i in range(4):
        if weights[i] > 0.0:
            source = NEW if i == 3 else CORNER * i
            target = CORNER * count
            for k in range(CORNER):
                scratch[target + k] = scratch[source + k]
            scratch[WEIGHTS + count] = weights[i]
            count += 1
    return count


@njit
def witness(scratch, count, part):
    """The point that the weights make of corners: of w (part 0), of a in its frame (3) or of b in its frame (6)."""
    p = (0.0, 0.0, 0.0)
    for i in range(count):
        p = combination(1.0, p, scratch[WEIGHTS + i], load_point(scratch, CORNER * i + part), 0.0, p)
    return p
