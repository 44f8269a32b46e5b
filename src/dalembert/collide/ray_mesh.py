"""Where a ray meets a mesh from outside: through its tree of boxes, facet by facet."""

import math

from ..jit import njit
from ..vec import add_scaled, dot, load3, matvec, matvec_t, sub
from .bounds import nine
from .facets import is_over


@njit
def ray_on_mesh(collider, origin, direction, reach, collision):
    """(distance, outward unit normal) where a ray meets a mesh from outside within `reach` (m); inf for a miss. World axes;
    `direction` is a unit vector."""
    place = collision.places[collider]
    nodes, trees = collision.nodes, collision.trees
    axes = nine(place.rotation)
    o = matvec_t(axes, sub(origin, load3(place.x)))
    d = matvec_t(axes, direction)
    best, normal = math.inf, (0.0, 0.0, 0.0)
    for m in range(trees.shape[0]):
        k = trees[m].first_node if trees[m].collider == collider else trees[m].end_node
        while k < trees[m].end_node:
            node = nodes[k]
            if not meets_box(node, o, d, min(best, reach)):
                k = node.skip
                continue
            if node.facet >= 0:
                t = ray_on_facet(collision.facets[node.facet], o, d, collision)
                if t < best:
                    best, normal = (
                        t,
                        matvec(axes, load3(collision.faces[collision.facets[node.facet].face].normal)),
                    )
            k += 1
    return best, normal


@njit
def ray_on_facet(facet, o, d, collision):
    """How far along the ray o + t d (frame of the mesh) the facet is met, or inf."""
    face = collision.faces[facet.face]
    rate = dot(load3(face.normal), d)
    room = face.offset - dot(load3(face.normal), o)
    if rate < 0.0 and room <= 0.0 and is_over(add_scaled(o, room / rate, d), facet, collision):
        return room / rate
    return math.inf


@njit
def meets_box(place, origin, direction, reach):
    """Whether the ray meets the collider's box within `reach`: the slab method (Kay and Kajiya 1986)."""
    enter, leave = 0.0, reach
    for k in range(3):
        if direction[k] == 0.0:
            if origin[k] < place.lower[k] or origin[k] > place.upper[k]:
                return False
        else:
            s = (place.lower[k] - origin[k]) / direction[k]
            t = (place.upper[k] - origin[k]) / direction[k]
            enter = max(enter, min(s, t))
            leave = min(leave, max(s, t))
    return enter <= leave
