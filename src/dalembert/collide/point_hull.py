"""The signed distance of a point from a convex hull.

Inside it is that of the nearest face. Outside, a point that lies over a face is no further from it than from any other plane,
so that only the face whose plane is furthest below the point can be the nearest; if the point is not over that one, an edge
or a corner is nearest.
"""

import math

from ..jit import inlined, njit
from ..vec import add_scaled, cross, dot, load3, norm, scale, sub
from .curved import hull_vertex
from .segments import clamp

GRAZING = (
    1e-12  # of the hull's size: nearer to an edge than this, the direction from it is rounding, and the face's is taken
)


@inlined
def on_segment(p, tail, head):
    """The point of a segment nearest to p."""
    e = sub(head, tail)
    return add_scaled(tail, clamp(dot(e, sub(p, tail)) / dot(e, e)), e)


@njit
def from_hull(p, hull, bound, collision):
    """(signed distance (m), outward unit normal) of p, in the frame of the hull.

    Beyond `bound` (m) it may be a plane that separates p from the hull, nearer than the hull.
    """
    faces = collision.faces
    top, distance = hull.first_face, -math.inf
    for f in range(hull.first_face, hull.first_face + hull.faces):
        row = faces[f]
        height = dot(load3(row.normal), p) - row.offset
        if height > distance:
            top, distance = f, height
    normal = load3(faces[top].normal)
    if distance <= 0.0 or distance > bound or is_over_face(p, normal, hull, faces[top], collision):
        return distance, normal
    away = from_edges(p, hull, collision)
    length = norm(away)
    if not length > GRAZING * hull.radius:
        return max(length, distance), normal
    return length, scale(1.0 / length, away)


@njit
def is_over_face(p, normal, hull, face, collision):
    """Whether p lies over a face, its sides included."""
    vertices, loops = collision.vertices, collision.loops
    tail = hull_vertex(hull, loops[face.first + face.count - 1], vertices)
    for i in range(face.first, face.first + face.count):
        head = hull_vertex(hull, loops[i], vertices)
        if dot(cross(sub(head, tail), normal), sub(p, tail)) > 0.0:
            return False
        tail = head
    return True


@njit
def from_edges(p, hull, collision):
    """The vector to p from the nearest point of all edges."""
    vertices, edges = collision.vertices, collision.edges
    nearest, square = p, math.inf
    for k in range(hull.first_edge, hull.first_edge + hull.edges):
        row = edges[k]
        away = sub(p, on_segment(p, hull_vertex(hull, row.tail, vertices), hull_vertex(hull, row.head, vertices)))
        if dot(away, away) < square:
            nearest, square = away, dot(away, away)
    return nearest
