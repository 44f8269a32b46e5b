"""Features of two cores that touch, determined from a simplex, and the motion of their points with the direction."""

import math

from ..core.jit import njit
from ..core.math3 import cross, dot, load3, norm, scale, sub
from ..scene.shapes.base import CONE, CYLINDER, HULL, MESH
from ..scene.shapes.dispatch import shape_curvature, shape_flat_normal
from ..scene.shapes.geometry import rim_point
from .gjk import CORNER, core_support, is_curved, load_point, witness

POINT, EDGE, FLAT_FACE = range(3)
PART_A, PART_B = 3, 6  # where their points are in a corner of the simplex
INSIDE = 1e-6  # of the radius: points of a flat end further inside than that are not on its rim


@njit
def curved_feature(collider, scratch, count, part):
    """Which feature of a cylinder or cone the corners of the simplex lie on: a point of a rim (or the apex), the line
    between an upper and a lower one, or a flat end."""
    upper = False
    lower = False
    for i in range(count):
        if scratch[CORNER * i + part + 2] > 0.0:
            upper = True
        else:
            lower = True
    if upper and lower:
        return EDGE
    p = witness(scratch, count, part)
    flat = collider.kind == CYLINDER or lower
    if flat and math.sqrt(p[0] * p[0] + p[1] * p[1]) < (1.0 - INSIDE) * collider["size"][0]:
        return FLAT_FACE
    return POINT


@njit
def cornered_feature(scratch, count, part):
    """(feature, first corner, second): which corners of a polytope the simplex has; see `same_corner`."""
    second = -1
    for i in range(1, count):
        if not same_corner(scratch, i, 0, part):
            if second < 0:
                second = i
            elif not same_corner(scratch, i, second, part):
                return FLAT_FACE, 0, second
    if second < 0:
        return POINT, 0, 0
    return EDGE, 0, second


@njit
def same_corner(scratch, i, j, part):
    """Whether corners i and j of the simplex are the same point of one core, to the bit."""
    p = load_point(scratch, CORNER * i + part)
    q = load_point(scratch, CORNER * j + part)
    return p[0] == q[0] and p[1] == q[1] and p[2] == q[2]


@njit
def feature_of(collider, scratch, count, part):
    """(feature, first corner, second) of one core; the corners matter to polytopes only."""
    if collider.kind == CYLINDER or collider.kind == CONE:
        return curved_feature(collider, scratch, count, part), 0, 0
    if is_curved(collider):
        return POINT, 0, 0
    return cornered_feature(scratch, count, part)


@njit
def face_normal(collider, scratch, part, faces):
    """A normal (either way) of the flat face that the simplex lies on, or zero if its corners are in line. A facet of a mesh,
    whose corners may be, is the only face."""
    if collider.kind == CYLINDER or collider.kind == CONE:
        return (0.0, 0.0, 1.0)
    if collider.kind == MESH:
        return load3(faces[collider.first_face].normal)
    p = load_point(scratch, part)
    n = cross(sub(load_point(scratch, CORNER + part), p), sub(load_point(scratch, 2 * CORNER + part), p))
    length = norm(n)
    return scale(1.0 / length, n) if length > 0.0 else n


@njit
def flat_normal(collider, collision, u):
    """Outward unit normal of the flat face whose corners reach furthest along u; zero if there is none. Of the facet of a
    mesh, which may have corners in line, that of the side that faces u."""
    if collider.kind == MESH:
        m = load3(collision.faces[collider.first_face].normal)
        return scale(math.copysign(1.0, dot(m, u)), m)
    if collider.kind != HULL:
        return shape_flat_normal(collider.kind, load3(collider["size"]), u)
    vertices = collision.vertices
    top, second, third = 0, 0, 0
    highest, high, lower = -math.inf, -math.inf, -math.inf
    for i in range(collider.first_vertex, collider.first_vertex + collider.vertices):
        h = dot(u, load_point(vertices, 3 * i))
        if h > highest:
            third, second, top = second, top, i
            lower, high, highest = high, highest, h
        elif h > high:
            third, second = second, i
            lower, high = high, h
        elif h > lower:
            third, lower = i, h
    p = load_point(vertices, 3 * top)
    m = cross(sub(load_point(vertices, 3 * second), p), sub(load_point(vertices, 3 * third), p))
    length = norm(m)
    if not length > 0.0:
        return (0.0, 0.0, 0.0)
    return scale(math.copysign(1.0 / length, dot(m, u)), m)


@njit
def ends(collider, collision, feature, first, second, part, u):
    """The two ends of the edge that faces u, or twice the point, in the frame of the shape."""
    kind, scratch = collider.kind, collision.scratch
    if kind in (CYLINDER, CONE):
        radius, half = collider["size"][0], collider["size"][1]
        lower = rim_point(radius, -half, u)
        upper = rim_point(radius, half, u) if kind == CYLINDER else (0.0, 0.0, half)
        if feature == EDGE:
            return lower, upper
        p = upper if scratch[part + 2] > 0.0 else lower
        return p, p
    if is_curved(collider):
        p = core_support(collider, collision.vertices, u)
        return p, p
    return load_point(scratch, CORNER * first + part), load_point(scratch, CORNER * second + part)


@njit
def curvature(collider, p, u):
    """H = dp/du (six floats) at the point p of the core that faces the unit vector u, for u at unit length."""
    return shape_curvature(collider.kind, load3(collider["size"]), p, u)
