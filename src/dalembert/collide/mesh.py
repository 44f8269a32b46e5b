"""A bounded convex collider against a facet of a mesh.

Seen along the normal of the facet, the part of the collider over it is pushed out; no further than half the thickness of
the collider, so that what is behind a surface stays there. Where the nearest points tell another direction, it counts if
it is free at that side or corner (see `facets`); else the normal does: so internal edges are not felt.
"""

from ..jit import njit
from ..pointer import call_pointer
from ..unchecked import peek, poke
from ..vec import add, add_scaled, dot, load3, matvec, matvec_t, scale, store3, sub
from .bounds import nine
from .curved import SAME, flat_patch, keep_nearest
from .distance import NORMAL, POINT_A, POINT_B, SEPARATION
from .facets import BEHIND, is_free, is_over, lean, show
from .gjk import FAR
from .manifold import start
from .support import core_radius, load_point, support
from .tables import DIRECTION

# What the nearest points say: nothing is near; push along the normal; along what they found; along the normal, if not deep.
NOTHING, ALONG_NORMAL, ALONG_FOUND, IF_SHALLOW = range(4)


@njit
def mesh_contact(pair, margin, collision, measure, data):
    """Fill the manifold of collider a and facet `pair.facet` of the mesh b; returns its number of points.

    margin : m, nearer than this is contact. measure, data : the function that measures distances, and what it is called with.
    """
    vertices, manifold = collision.vertices, collision.manifold[0]
    collider, mesh = collision.colliders[pair.a], collision.colliders[pair.b]
    place, frame = collision.places[pair.a], collision.places[pair.b]
    facet = collision.facets[pair.facet]
    face = collision.faces[facet.face]
    show(mesh, pair.facet, collision)
    start((0.0, 0.0, 0.0), manifold)
    turn = nine(frame.rotation)
    n = matvec(turn, load3(face.normal))
    down = scale(-1.0, n)
    level = dot(n, load3(frame.x)) + face.offset
    radius = core_radius(collider)
    lowest = add_scaled(support(collider, place, vertices, down), -radius, n)
    gap = dot(n, lowest) - level
    if not gap <= margin:
        return 0
    local = matvec_t(turn, sub(lowest, load3(frame.x)))
    under = is_over(local, facet, collision)
    what, separation = ALONG_NORMAL, gap
    if facet.sharp != 0 and not (under and gap > 0.0):
        what, separation = look_aside(pair, n, facet, margin, collision, measure, data)
    if what == NOTHING:
        return 0
    if what == ALONG_FOUND:
        return push_along_found(pair, collider, place, mesh, frame, separation, margin, collision)
    flat_patch(
        collider, place, mesh, frame, down, vertices, collision.faces, collision.loops, margin, 0.0,
        collision.scratch, manifold,
    )  # fmt: skip
    if under:
        keep_nearest(add_scaled(lowest, -0.5 * gap, n), gap, SAME * collider.radius, manifold)
    deepest = 0.5 * (gap + level - dot(n, support(collider, place, vertices, n)) - radius)
    if what == IF_SHALLOW:
        deepest = max(deepest, -max(margin, -2.0 * separation))
    for i in range(manifold.points):
        if manifold.separation[i] < deepest:
            manifold.points = 0
    return manifold.points


@njit
def look_aside(pair, n, facet, margin, collision, measure, data):
    """(what to do, separation (m)) by the nearest points of a collider and a facet of outward normal n (world); these stay in
    `scratch`."""
    scratch = collision.scratch
    for k in range(3):
        poke(scratch, k, pair.axis[k])
    number = pair.a * collision.colliders.shape[0] + pair.b
    status = call_pointer(measure, data, number, margin, scratch, scratch)
    found, separation = load_point(scratch, NORMAL), peek(scratch, SEPARATION)
    store3(pair.axis, found)
    pair.witness = DIRECTION
    if status == FAR or not separation <= margin:
        return NOTHING, separation
    u = scale(-1.0, found)
    if dot(u, n) > 0.0 and lean(u, n) <= BEHIND:
        return ALONG_NORMAL, separation
    if dot(u, n) >= -BEHIND and is_free(matvec_t(nine(collision.places[pair.b].rotation), u), facet, collision):
        return ALONG_FOUND, separation
    if separation > 0.0 and dot(u, n) < 0.0:
        return NOTHING, separation
    return IF_SHALLOW, separation


@njit
def push_along_found(pair, collider, place, mesh, frame, separation, margin, collision):
    """The manifold along the direction of the nearest points, as of any two convex shapes."""
    scratch, manifold = collision.scratch, collision.manifold[0]
    middle = scale(0.5, add(load_point(scratch, POINT_A), load_point(scratch, POINT_B)))
    flat_patch(
        collider, place, mesh, frame, load3(pair.axis), collision.vertices, collision.faces, collision.loops,
        margin, margin, scratch, manifold,
    )  # fmt: skip
    keep_nearest(middle, separation, SAME * collider.radius, manifold)
    return manifold.points
