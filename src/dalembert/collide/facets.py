"""One facet of a mesh: what lies over it, and which directions can push at its sides and corners.

A mesh is a surface whose neighbours matter: at an edge between two level facets the surface is flat, and nothing may be
pushed sideways there, though the nearest point of one facet alone may be on that edge. A unit vector u, out of the mesh, is
free at a point of it where the surface about that point lies behind the plane through it with normal u:

- within a facet: its normal only;
- on a side: what leans no further than the normal of the facet beyond; none where that is level or rises. At the rim of an
  open surface: half a turn;
- at a corner: where every edge that leaves it lies behind.
"""

from ..jit import njit
from ..vec import add_scaled, cross, dot, load3, norm, sub
from .curved import TILT
from .support import load_point

BEHIND = 1e-6  # rad: what reaches out of a plane by less is behind it
OVER = 1e-9  # of the distance from a corner: what is beyond a side by less is over the facet


@njit
def show(mesh, number, collision):
    """Let the row of a mesh be one facet: what handles hulls takes it for a hull of one face."""
    facet = collision.facets[number]
    mesh.first_vertex, mesh.vertices = facet.first_vertex, facet.vertices
    mesh.first_face, mesh.faces = facet.face, 1


@njit
def is_over(p, facet, collision):
    """Whether a point lies over or under a facet, its sides included; all in the frame of the mesh."""
    vertices = collision.vertices
    n = load3(collision.faces[facet.face].normal)
    tail = load_point(vertices, 3 * (facet.first_vertex + facet.vertices - 1))
    for i in range(facet.vertices):
        head = load_point(vertices, 3 * (facet.first_vertex + i))
        out = cross(sub(head, tail), n)
        d = sub(p, tail)
        if dot(out, d) > OVER * norm(out) * norm(d):
            return False
        tail = head
    return True


@njit
def is_free(u, facet, collision):
    """Whether the unit vector u (frame of the mesh) is free at the side or corner of the facet that is furthest along it.

    It is a side that is furthest where u leans at right angles to it, within `TILT`.
    """
    vertices = collision.vertices
    sides = collision.sides
    tilt = TILT * lean(u, load3(collision.faces[facet.face].normal))
    top, height = 0, -1e300
    for i in range(facet.vertices):
        h = dot(u, load_point(vertices, 3 * (facet.first_vertex + i)))
        if h > height:
            top, height = i, h
    p = load_point(vertices, 3 * (facet.first_vertex + top))
    for end in range(2):
        before = top if end == 0 else (top + facet.vertices - 1) % facet.vertices
        other = (before + 1) % facet.vertices if end == 0 else before
        e = sub(load_point(vertices, 3 * (facet.first_vertex + other)), p)
        if abs(dot(u, e)) <= tilt * norm(e) and dot(u, load3(sides[facet.first_side + before].beside)) <= BEHIND:
            return True
    side = sides[facet.first_side + top]
    for k in range(side.first_ring, side.first_ring + side.ring):
        if dot(u, load_point(collision.rings, 3 * k)) > BEHIND:
            return False
    return True


@njit
def lean(u, n):
    """The sine of the angle between two unit vectors, to rounding."""
    return norm(add_scaled(u, -dot(u, n), n))
