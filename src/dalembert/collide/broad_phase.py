"""The broad phase: the poses of the colliders and their bounding boxes, and the pairs whose boxes overlap.

In order: poses and boxes (`place_colliders`); meshes against colliders; sweep and prune (`find_pairs`, the entry).
"""

import math

from ..core.jit import inlined, njit
from ..core.math3 import add, load3, matmul, matvec, matvec_t, norm, scale, store3, sub, to_matrix
from ..core.simd import load
from ..model.tables import STATE_SIZE
from ..scene.shapes.base import HULL, MESH
from ..scene.shapes.dispatch import shape_extent
from .tables import (
    FIRST_PAIR,
    HASHED,
    LIKELY,
    NEED_PAIRS,
    NEED_ROOM,
    NEED_STRIPS,
    PAIRS,
    STRIP_AXIS,
    SWEEP_AXIS,
    Search,
    add_pair,
)


@inlined
def nine(array):
    """A field of nine floats as a tuple."""
    return (array[0], array[1], array[2], array[3], array[4], array[5], array[6], array[7], array[8])


@njit
def place_colliders(y, bodies, margin, collision):
    """Fill `places` from the poses in the state vector y of so many bodies, with boxes grown by `margin` (m) or more;
    returns the first collider whose pose is not finite, or −1."""
    colliders = collision.colliders
    places = collision.places
    vertices, travel = collision.vertices, collision.travel
    for i in range(colliders.shape[0]):
        collider = colliders[i]
        place = places[i]
        rotation = nine(collider.rotation)
        x, centre = load3(collider.position), (0.0, 0.0, 0.0)
        if collider.body < bodies:
            at = STATE_SIZE * collider.body
            turn = to_matrix((load(y, at + 3), load(y, at + 4), load(y, at + 5), load(y, at + 6)))
            centre = (load(y, at), load(y, at + 1), load(y, at + 2))
            x = add(centre, matvec(turn, x))
            rotation = matmul(turn, rotation)
        store3(place.x, x)
        store3(place.centre, centre)
        for k in range(9):
            place.rotation[k] = rotation[k]
        place.moves = 0.0
        if collider.body < bodies:
            sweep = load(travel, 2 * collider.body + 1) * (norm(load3(collider.position)) + collider.radius)
            place.moves = load(travel, 2 * collider.body) + sweep
        place.reach = max(margin, place.moves)
        bound(collider, place, x, rotation, vertices, place.reach)
        if not math.isfinite(place.lower[0] + place.lower[1] + place.lower[2]):
            return i
    return -1


@njit
def bound(collider, place, x, rotation, vertices, margin):
    """Write the box: it reaches from −h(−e) to h(e) along each axis e of the world, with h the support function."""
    for k in range(3):
        row = (rotation[3 * k], rotation[3 * k + 1], rotation[3 * k + 2])
        up, down = extent(collider, row, vertices)
        place.lower[k] = x[k] - (margin + down)
        place.upper[k] = x[k] + (margin + up)


@njit
def extent(collider, row, vertices):
    """How far a collider reaches from its origin along the unit vector `row`, and against it; in its frame."""
    if collider.kind == HULL:
        high, low = (
            box_reach(collider, row, vertices) if collider.vertices > MANY else hull_reach(collider, row, vertices)
        )
        return high, -low
    size = load3(collider["size"])
    if collider.kind == MESH:
        reach = size[0] * abs(row[0]) + size[1] * abs(row[1]) + size[2] * abs(row[2])
        return reach, reach
    return shape_extent(collider.kind, size, row)


MANY = 32  # corners: of a hull with more, the box in its own frame is taken for it


@njit
def box_reach(collider, row, vertices):
    """The largest and the least of row · x in the box of a hull, whose ends lie before its corners."""
    at, high, low = 3 * (collider.first_vertex - 2), 0.0, 0.0
    for k in range(3):
        a, b = row[k] * load(vertices, at + k), row[k] * load(vertices, at + 3 + k)
        high += max(a, b)
        low += min(a, b)
    return high, low


@njit
def hull_reach(collider, row, vertices):
    """The largest and the least of row · corner."""
    high = -1e300
    low = 1e300
    for i in range(collider.first_vertex, collider.first_vertex + collider.vertices):
        s = row[0] * load(vertices, 3 * i) + row[1] * load(vertices, 3 * i + 1) + row[2] * load(vertices, 3 * i + 2)
        high = max(high, s)
        low = min(low, s)
    return high, low


@njit
def plane_reach(collider, place, normal, vertices):
    """The least of normal · x over a bounded collider (world)."""
    local = matvec_t(nine(place.rotation), normal)
    centre = normal[0] * place.x[0] + normal[1] * place.x[1] + normal[2] * place.x[2]
    return centre - extent(collider, local, vertices)[1]


# Meshes ---------------------------------------------------------------------------------------------------------------
# Each is compared with every collider, and its facets are found in its tree of boxes.


@njit
def meet_meshes(found, search, collision):
    """Add every facet of a mesh whose box meets that of a collider; returns the number of pairs found."""
    places = collision.places
    order = collision.order
    trees = collision.trees
    for m in range(trees.shape[0]):
        mesh = places[trees[m].collider]
        for p in range(order.shape[0]):
            place = places[order[p]]
            if boxes_meet(place, mesh):
                found = meet_facets(trees[m], order[p], found, search, collision)
    return found


@inlined
def boxes_meet(one, other):
    """Whether the boxes of two places overlap."""
    for k in range(3):
        if one.lower[k] > other.upper[k] or other.lower[k] > one.upper[k]:
            return False
    return True


@njit
def meet_facets(tree, i, found, search, collision):
    """Add the facets of one mesh near collider i, whose box is turned into the frame of the mesh and boxed again."""
    mesh, place = collision.places[tree.collider], collision.places[i]
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
            found = add_pair(i, tree.collider, node.facet, found, search, collision)
        k += 1
    return found


# Sweep and prune in strips --------------------------------------------------------------------------------------------
# Along the axis on which the colliders spread most, their boxes stay sorted by lower end from step to step, so that the
# insertion sort is nearly linear (Baraff, PhD thesis 1992, §2). A sweep over one axis compares everything in one slice of
# the scene; so the colliders are distributed, in that order, over strips along a second axis, a few of their sizes wide, and
# each strip is swept on its own. A pair that shares several strips is added in the one where the later of the two begins.
# Half-spaces are unbounded: each is compared with every collider. So is each mesh, as its box may be as large as the scene.

STRIP_SIZES = 2.0  # width of a strip, in mean sizes of the colliders
STAY = 1.5  # another axis is chosen only when the spread on it is so many times larger


@njit
def find_pairs(bodies, collision):
    """Fill this step's half of `pairs` from `places`; returns 0 or NEED_ROOM."""
    counts = collision.counts
    old_first, old_count = counts[FIRST_PAIR], counts[PAIRS]
    choose_axes(collision)
    sort_along(counts[SWEEP_AXIS], collision.order, collision.places)
    strips = 0
    if collision.order.shape[0] > 0:
        strips = fill_strips(collision)
        if strips < 0:
            return NEED_ROOM
    counts[LIKELY], counts[HASHED] = old_first, 0
    half = collision.pairs.shape[0] // 2
    first = half if old_first == 0 else 0
    search = Search(bodies, first, half, old_first, old_count)
    found = 0
    for strip in range(strips):
        found = sweep(strip, strips, found, search, collision)
    found = meet_half_spaces(found, search, collision)
    found = meet_meshes(found, search, collision)
    if found > half:
        counts[NEED_PAIRS] = found
        return NEED_ROOM
    counts[FIRST_PAIR], counts[PAIRS] = first, found
    return 0


@njit
def choose_axes(collision):
    """The axis of the largest spread for the sweep, the next for the strips; changed only where it pays."""
    counts = collision.counts
    order = collision.order
    places = collision.places
    spread = (0.0, 0.0, 0.0)
    for k in range(3):
        total = 0.0
        squares = 0.0
        for i in range(order.shape[0]):
            c = 0.5 * (places[order[i]].lower[k] + places[order[i]].upper[k])
            total += c
            squares += c * c
        value = squares - total * total / max(order.shape[0], 1)
        if k == counts[SWEEP_AXIS]:
            value *= STAY * STAY
        spread = (value, spread[1], spread[2]) if k == 0 else (spread[0], value if k == 1 else spread[1], value)
    sweep_axis = 0
    for k in range(1, 3):
        if spread[k] > spread[sweep_axis]:
            sweep_axis = k
    strip_axis = (sweep_axis + 1) % 3
    if spread[(sweep_axis + 2) % 3] > spread[strip_axis]:
        strip_axis = (sweep_axis + 2) % 3
    if sweep_axis != counts[SWEEP_AXIS]:
        sort_anew(sweep_axis, order, places)
    counts[SWEEP_AXIS], counts[STRIP_AXIS] = sweep_axis, strip_axis


@njit
def sort_along(axis, order, places):
    """Insertion sort by lower end; few things have moved since the last step."""
    for i in range(1, order.shape[0]):
        item = order[i]
        key = places[item].lower[axis]
        j = i - 1
        while j >= 0 and places[order[j]].lower[axis] > key:
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = item


@njit
def sort_anew(axis, order, places):
    """Heap sort, for an order that was made along another axis."""
    n = order.shape[0]
    for start in range(n // 2 - 1, -1, -1):
        sift(axis, order, places, start, n)
    for end in range(n - 1, 0, -1):
        order[0], order[end] = order[end], order[0]
        sift(axis, order, places, 0, end)


@njit
def sift(axis, order, places, root, end):
    """Move an item down the heap order[:end] until no child is larger."""
    while True:
        child = 2 * root + 1
        if child >= end:
            return
        if child + 1 < end and places[order[child]].lower[axis] < places[order[child + 1]].lower[axis]:
            child += 1
        if places[order[root]].lower[axis] >= places[order[child]].lower[axis]:
            return
        order[root], order[child] = order[child], order[root]
        root = child


@inlined
def strip_number(value, origin, width, count):
    """The number of the strip in which a coordinate lies."""
    return min(max(int((value - origin) / width), 0), count - 1)


@njit
def fill_strips(collision):
    """Fill `strips` and `entries`, and leave where the strips begin and how wide they are in `scratch`; returns the number
    of strips, or −1 where there is no room."""
    order = collision.order
    places = collision.places
    strips = collision.strips
    entries = collision.entries
    axis = collision.counts[STRIP_AXIS]
    n = order.shape[0]
    low, high, size = 1e300, -1e300, 0.0
    for i in range(n):
        place = places[order[i]]
        low = min(low, place.lower[axis])
        high = max(high, place.lower[axis])
        size += (place.upper[axis] - place.lower[axis]) / n
    width = max(STRIP_SIZES * size, (high - low) / n, 1e-300)
    count = min(int((high - low) / width) + 1, n)
    collision.scratch[0], collision.scratch[1] = low, width
    for s in range(count + 1):
        strips[s] = 0
    for i in range(n):
        place = places[order[i]]
        for s in range(
            strip_number(place.lower[axis], low, width, count), strip_number(place.upper[axis], low, width, count) + 1
        ):
            strips[s + 1] += 1
    for s in range(count):
        strips[s + 1] += strips[s]
    if strips[count] > entries.shape[0]:
        collision.counts[NEED_STRIPS] = strips[count]
        return -1
    cursor = count + 1  # the second part of `strips`: where the next entry of each goes
    for s in range(count):
        strips[cursor + s] = strips[s]
    for i in range(n):
        place = places[order[i]]
        for s in range(
            strip_number(place.lower[axis], low, width, count), strip_number(place.upper[axis], low, width, count) + 1
        ):
            entries[strips[cursor + s]] = order[i]
            strips[cursor + s] += 1
    return count


@njit
def sweep(strip, count, found, search, collision):
    """Add the pairs of one strip; returns how many were found so far, with or without room."""
    places = collision.places
    entries = collision.entries
    axis, across = collision.counts[SWEEP_AXIS], collision.counts[STRIP_AXIS]
    third = 3 - axis - across
    low, width = collision.scratch[0], collision.scratch[1]
    begin, end = collision.strips[strip], collision.strips[strip + 1]
    for p in range(begin, end):
        i = entries[p]
        one = places[i]
        upper = one.upper[axis]
        for q in range(p + 1, end):
            j = entries[q]
            other = places[j]
            if other.lower[axis] > upper:
                break
            if (
                one.lower[third] > other.upper[third]
                or other.lower[third] > one.upper[third]
                or one.lower[across] > other.upper[across]
                or other.lower[across] > one.upper[across]
            ):
                continue
            if strip_number(max(one.lower[across], other.lower[across]), low, width, count) != strip:
                continue
            found = add_pair(i, j, 0, found, search, collision)
    return found


@njit
def meet_half_spaces(found, search, collision):
    """Add every collider that reaches below the surface of a half-space, or nearly."""
    colliders = collision.colliders
    places = collision.places
    order = collision.order
    unbounded = collision.unbounded
    vertices = collision.vertices
    for u in range(unbounded.shape[0]):
        plane = places[unbounded[u]]
        normal = (plane.rotation[2], plane.rotation[5], plane.rotation[8])
        height = normal[0] * plane.x[0] + normal[1] * plane.x[1] + normal[2] * plane.x[2] + plane.reach
        for p in range(order.shape[0]):
            i = order[p]
            if plane_reach(colliders[i], places[i], normal, vertices) <= height + places[i].reach:
                found = add_pair(i, unbounded[u], 0, found, search, collision)
    return found
