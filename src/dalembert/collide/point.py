"""Points and small balls against colliders: signed distances, and the first approach of a moving ball.

In order: a convex hull; a mesh, facet by facet; `point_distance` and `approach`, the entries.
"""

import math

from ..core.jit import inlined, njit
from ..core.math3 import add_scaled, cross, dot, load3, matvec, matvec_t, norm, scale, sub
from ..scene.shapes.base import HULL, MESH
from ..scene.shapes.dispatch import shape_distance
from .broad_phase import nine
from .gjk import hull_vertex, load_point
from .manifold import clamp
from .polyhedron import BEHIND, is_free, is_over, lean

# A convex hull --------------------------------------------------------------------------------------------------------
# Inside, the signed distance is that of the nearest face. Outside, a point that lies over a face is no further from it than
# from any other plane, so that only the face whose plane is furthest below the point can be the nearest; if the point is not
# over that one, an edge or a corner is nearest.

GRAZING = 1e-12  # of the hull's size: nearer to an edge, the direction from it is rounding; the face's normal is used


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


# A mesh ---------------------------------------------------------------------------------------------------------------
# Facet by facet, by the rules of `mesh_contact` and `polyhedron.is_free`; all in the frame of the mesh.
#
# A point in front of a facet is pushed along its normal where it lies over it; beside a side or corner of the facet, along
# the direction from there, where that is free. A point behind a facet is not pushed, as a body of which more than half is
# behind is not: so no point can be within a mesh.

ROUNDING = 1e-12  # of the size of the mesh: a point behind a facet by less is on it
WIDENED = 1.0 + 1e-9  # factor on a distance, for rounding
MESH_STEPS = 40  # as `POINT_STEPS`
TOUCH = 1e-6  # of the path: a ball nearer than this to its radius is at the plane
NOTHING = (math.inf, math.inf, (0.0, 0.0, 0.0))


@njit
def first_node(number, collision):
    """The first and the end of the nodes of a mesh."""
    trees = collision.trees
    for m in range(trees.shape[0]):
        if trees[m].collider == number:
            return trees[m].first_node, trees[m].end_node
    return 0, 0


@njit
def is_passed(node, p, path, near, last):
    """Whether a ball of radius `near` may meet the box of a node on its path from p to p + last · path: the slab method."""
    enter, leave = 0.0, last
    for k in range(3):
        low, high = node.lower[k] - near - p[k], node.upper[k] + near - p[k]
        if path[k] == 0.0 or last == 0.0:
            if low > 0.0 or high < 0.0:
                return False
        else:
            s, t = low / path[k], high / path[k]
            enter, leave = max(enter, min(s, t)), min(leave, max(s, t))
    return enter <= leave


@njit
def nearest_on_mesh(p, number, bound, collision):
    """(distance (m), outward unit normal) of p from the nearest facet, by the rules of `approach_facet`; inf beyond `bound`,
    and where the nearest is seen from behind."""
    nodes, facets, size = collision.nodes, collision.facets, collision.colliders[number].radius
    best, normal = math.inf, (0.0, 0.0, 0.0)
    k, end = first_node(number, collision)
    likely, reach = likely_facet(p, number, collision), bound  # reach: of the nearest so far, seen from either side
    if likely >= 0:
        reach = min(reach, WIDENED * from_facet(p, facets[likely], collision)[0])
    while k < end:
        if box_distance(p, nodes[k]) > reach * reach:
            k = nodes[k].skip
            continue
        if nodes[k].facet >= 0:
            facet = facets[nodes[k].facet]
            reach = min(reach, WIDENED * from_facet(p, facet, collision)[0])
            _, distance, n = approach_facet(p, (0.0, 0.0, 0.0), reach, 0.0, 0.0, facet, size, collision)
            if distance < best:
                best, normal = distance, n
        k += 1
    return (best, normal) if best <= reach else (math.inf, (0.0, 0.0, 0.0))


@njit
def likely_facet(p, number, collision):
    """The facet at the end of a descent to the nearer of two boxes each time; −1 of a mesh without facets."""
    nodes = collision.nodes
    k, end = first_node(number, collision)
    if k == end:
        return -1
    while nodes[k].facet < 0:
        other = nodes[k + 1].skip
        k = k + 1 if box_distance(p, nodes[k + 1]) <= box_distance(p, nodes[other]) else other
    return nodes[k].facet


@njit
def box_distance(p, node):
    """The squared distance of p from the box of a node; zero inside."""
    square = 0.0
    for k in range(3):
        out = max(node.lower[k] - p[k], p[k] - node.upper[k], 0.0)
        square += out * out
    return square


@njit
def approach_facet(p, path, near, grown, last, facet, size, collision):
    """Where a ball comes near a facet, on its path from p to p + last · path; as `approach`.

    size : m, of the mesh.
    """
    face = collision.faces[facet.face]
    n = load3(face.normal)
    height = dot(n, p) - face.offset
    if not height >= -ROUNDING * size:
        return NOTHING
    if height <= near and is_over(p, facet, collision):
        return 0.0, height, n
    if last > 0.0:
        rate = dot(n, path)
        if rate < 0.0:
            # Where the ball touches the plane; and, if that is beside the facet, where its centre goes through it.
            for ball in range(2):
                share = max(height - (grown if ball == 0 else 0.0), 0.0) / -rate
                if share <= last and is_over(add_scaled(p, share, path), facet, collision):
                    return share, height, n
    if facet.sharp != 0:
        return approach_aside(p, path, near, grown, last, facet, collision)
    return NOTHING


@njit
def approach_aside(p, path, near, grown, last, facet, collision):
    """The same where sides and corners may push; from plane to plane, as in `approach`, as a facet is convex."""
    n = load3(collision.faces[facet.face].normal)
    distance, u = from_facet(p, facet, collision)
    share, enough = 0.0, grown + TOUCH * norm(path)
    for _ in range(MESH_STEPS if distance > near else 0):
        rate = dot(u, path)
        if not (rate < 0.0 and last > 0.0):
            return NOTHING
        share -= (distance - grown) / rate
        if not share <= last:
            return NOTHING
        distance, u = from_facet(add_scaled(p, share, path), facet, collision)
        if distance <= enough:
            break
    if (dot(u, n) > 0.0 and lean(u, n) <= BEHIND) or (dot(u, n) >= -BEHIND and is_free(u, facet, collision)):
        return share, distance - share * dot(u, path), u
    return NOTHING


@njit
def from_facet(p, facet, collision):
    """(distance, unit vector to p) from the nearest point of a facet, seen from either side."""
    vertices, face = collision.vertices, collision.faces[facet.face]
    n = load3(face.normal)
    if is_over(p, facet, collision):
        height = dot(n, p) - face.offset
        return abs(height), scale(math.copysign(1.0, height), n)
    nearest, square = n, math.inf
    tail = load_point(vertices, 3 * (facet.first_vertex + facet.vertices - 1))
    for i in range(facet.vertices):
        head = load_point(vertices, 3 * (facet.first_vertex + i))
        away = sub(p, on_segment(p, tail, head))
        if dot(away, away) < square:
            nearest, square = away, dot(away, away)
        tail = head
    distance = math.sqrt(square)
    return distance, scale(1.0 / distance, nearest) if distance > 0.0 else n


# Any collider ---------------------------------------------------------------------------------------------------------
# The signed distance of a point; and where a ball that moves in a straight line comes near a collider.
#
# The tangent plane at the point nearest to a convex collider has all of it behind: a ball may advance to that plane, where
# the distance is computed again (conservative advancement; van den Bergen, "Ray casting against general convex objects with
# application to continuous collision detection", 2004). A ball that does not approach the plane never meets the collider.

POINT_STEPS = 40  # from plane to plane; each brings a ball nearer by more than half as a rule


@njit
def from_solid(p, collider, bound, collision):
    """(signed distance (m), outward unit normal) of p from a collider that is no mesh, in its frame.

    bound : m, beyond which the distance may be that of a plane that separates p from the collider.
    """
    if collider.kind == HULL:
        return from_hull(p, collider, bound, collision)
    return shape_distance(collider.kind, load3(collider["size"]), p)


@njit
def point_distance(p, number, bound, collision):
    """(signed distance (m), outward unit normal) of a point from a collider, world axes.

    Negative within: the least translation that brings the point out. Of a mesh it is the nearest facet, by the rules of
    bodies (see `nearest_on_mesh`); inf and no normal if none is within the bound, or if the nearest is seen from behind.

    bound : m, beyond which the distance need not be exact; it is more than the bound all the same.
    """
    collider, place = collision.colliders[number], collision.places[number]
    axes = nine(place.rotation)
    local = matvec_t(axes, sub(p, load3(place.x)))
    if collider.kind == MESH:
        distance, normal = nearest_on_mesh(local, number, bound, collision)
    else:
        distance, normal = from_solid(local, collider, bound, collision)
    return distance, matvec(axes, normal)


@njit
def approach(p, path, near, grown, last, collider, collision):
    """Where a ball comes near a collider that is no mesh, on its path from p to p + last · path (frame of the collider).

    near : m, the collider is met at once if p is no further from it. grown : m, ≤ near, the radius of the ball on its path.

    Returns (share of the path, distance of p from the plane of contact (m), its outward unit normal): the plane touches the
    collider at p + share · path − (distance + share · normal · path) · normal. The share is inf if they do not meet.
    """
    distance, n = from_solid(p, collider, near, collision)
    if distance <= near:
        return 0.0, distance, n
    share, enough = 0.0, grown + TOUCH * norm(path)
    for _ in range(POINT_STEPS):
        rate = dot(n, path)
        if not rate < 0.0:
            return NOTHING
        share -= (distance - grown) / rate
        if not share <= last:
            return NOTHING
        distance, n = from_solid(add_scaled(p, share, path), collider, grown, collision)
        if distance <= enough:
            break
    return share, distance - share * dot(n, path), n
