"""The broad phase of meshes: each is compared with every collider, and its facets are found in its tree of boxes."""

from ..jit import inlined, njit
from ..vec import load3, matvec_t, scale, sub
from .bounds import nine
from .pair_table import add_pair


@njit
def meet_meshes(bodies, first, found, room, old_first, collision):
    """Add every facet of a mesh whose box meets that of a collider."""
    places = collision.places
    order = collision.order
    trees = collision.trees
    for m in range(trees.shape[0]):
        mesh = places[trees[m].collider]
        for p in range(order.shape[0]):
            place = places[order[p]]
            if boxes_meet(place, mesh):
                found = meet_facets(trees[m], order[p], mesh, place, bodies, first, found, room, old_first, collision)
    return found


@inlined
def boxes_meet(one, other):
    for k in range(3):
        if one.lower[k] > other.upper[k] or other.lower[k] > one.upper[k]:
            return False
    return True


@njit
def meet_facets(tree, i, mesh, place, bodies, first, found, room, old_first, collision):
    """Add the facets of one mesh near collider i, whose box is turned into the frame of the mesh and boxed again."""
    nodes = collision.nodes
    lower, upper = load3(place.lower), load3(place.upper)
    turn = nine(mesh.rotation)
    middle = matvec_t(
        turn, sub(scale(0.5, (lower[0] + upper[0], lower[1] + upper[1], lower[2] + upper[2])), load3(mesh.x))
    )
    half = scale(0.5, sub(upper, lower))
    reach = matvec_t(
        (abs(turn[0]), abs(turn[1]), abs(turn[2]), abs(turn[3]), abs(turn[4]), abs(turn[5]), abs(turn[6]), abs(turn[7]),
         abs(turn[8])), half,
    )  # fmt: skip
    k = tree.first_node
    while k < tree.end_node:
        node = nodes[k]
        apart = False
        for c in range(3):
            grown = reach[c] + mesh.reach
            apart |= node.lower[c] > middle[c] + grown or node.upper[c] < middle[c] - grown
        if apart:
            k = node.skip
            continue
        if node.facet >= 0:
            found = add_pair(i, tree.collider, node.facet, bodies, first, found, room, old_first, collision)
        k += 1
    return found
