"""Points and small balls against a mesh, facet by facet, by the rules of `mesh` and `facets`: all in the frame of the mesh.

A point in front of a facet is pushed along its normal where it lies over it; beside a side or corner of the facet, along
the direction from there, where that is free. What is behind a facet is left there, as is a body of which more than half is
behind: so no point can be within a mesh.
"""

import math

from ..jit import njit
from ..vec import add_scaled, dot, load3, norm, scale, sub
from .facets import BEHIND, is_free, is_over, lean
from .point_hull import on_segment
from .support import load_point

ROUNDING = 1e-12  # of the size of the mesh: a point behind a facet by less is on it
WIDENED = 1.0 + 1e-9  # a distance, for rounding
STEPS = 40  # as in `point`
TOUCH = 1e-6
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
    """Whether a ball of radius `near` may meet the box of a node on its way from p to p + last · path: the slab method."""
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
    """Down the tree, to the nearer of two boxes each time; −1 of a mesh without facets."""
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
    """Squared."""
    square = 0.0
    for k in range(3):
        out = max(node.lower[k] - p[k], p[k] - node.upper[k], 0.0)
        square += out * out
    return square


@njit
def approach_facet(p, path, near, grown, last, facet, size, collision):
    """Where a ball comes near a facet, on its way from p to p + last · path; as `point.approach`.

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
    """The same where sides and corners may push; from plane to plane, as in `point.approach`, as a facet is convex."""
    n = load3(collision.faces[facet.face].normal)
    distance, u = from_facet(p, facet, collision)
    share, enough = 0.0, grown + TOUCH * norm(path)
    for _ in range(STEPS if distance > near else 0):
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
