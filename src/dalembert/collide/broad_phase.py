"""The broad phase: the poses of the colliders and their bounding boxes, and the pairs whose fat boxes overlap.

In order: poses and boxes (`place_colliders`); fat boxes; meshes and half-spaces; sweep and prune (`find_pairs`, the entry).
"""

import math

from ..core.jit import inlined, njit
from ..core.math3 import add, cross, load3, matmul, matvec, matvec_t, norm, scale, store3, sub, to_matrix
from ..core.simd import load, store
from ..model.tables import STATE_SIZE
from ..scene.shapes.base import HALF_SPACE, HULL, MESH
from ..scene.shapes.dispatch import shape_extent
from .tables import (
    AWAKE,
    DROPPED,
    ENTRY,
    ENTRY_COLLIDER,
    ENTRY_LEFT,
    FAR_AWAY,
    LAZY,
    LEFT,
    MET,
    MOST_PARTS,
    NEED_PAIRS,
    NEED_ROOM,
    NEED_STRIPS,
    ORDERED,
    PAIRS,
    STRIP_AXIS,
    SWEEP_AXIS,
    add_pair,
    move_pair,
)


@inlined
def nine(array):
    """A field of nine floats as a tuple."""
    return (array[0], array[1], array[2], array[3], array[4], array[5], array[6], array[7], array[8])


@njit
def place_colliders(y, bodies, margin, collision):
    """Fill `places` from the poses in the state vector y of so many bodies, with boxes grown by `margin` (m) or more, their
    motion since the last narrow phase, and the fat boxes of those that have left theirs; returns the first collider whose
    pose is not finite, or −1."""
    colliders, places, asleep = collision.colliders, collision.places, collision.asleep
    counts, fresh, lazy = collision.counts, collision.counts[MET] != 0, collision.counts[LAZY] != 0
    counts[MET] = 0
    for i in range(colliders.shape[0]):
        collider, place = colliders[i], places[i]
        if fresh:
            place.moved = 0.0
            for k in range(3):
                place.shift[k] = place.turn[k] = 0.0
        nap = asleep[collider.body]
        if (nap > AWAKE or collider.body >= bodies) and nap == place.nap and place.reach == margin and place.known != 0:
            continue  # what sleeps, and the world
        if lazy and waits(collider, place, y, bodies, margin, collision.travel):
            continue
        if not place_collider(i, y, bodies, margin, collision):
            return i
    return -1


@njit
def place_collider(i, y, bodies, margin, collision):
    """The same for one collider; returns whether its pose is finite."""
    collider, place, fat, travel = (
        collision.colliders[i], collision.places[i], collision.fat_boxes[i], collision.travel
    )  # fmt: skip
    rotation = nine(collider.rotation)
    x, centre = load3(collider.position), (0.0, 0.0, 0.0)
    reach, lever = 0.0, 0.0
    if collider.body < bodies:
        at, lever = STATE_SIZE * collider.body, norm(load3(collider.position)) + collider.radius
        q = (load(y, at + 3), load(y, at + 4), load(y, at + 5), load(y, at + 6))
        turn = to_matrix(q)
        for k in range(4):
            place.body[k] = q[k]
        centre = (load(y, at), load(y, at + 1), load(y, at + 2))
        x = add(centre, matvec(turn, x))
        rotation = matmul(turn, rotation)
        sweep = load(travel, 2 * collider.body + 1) * lever
        reach = load(travel, 2 * collider.body) + sweep
    note_motion(collider, place, x, rotation)
    store3(place.x, x)
    store3(place.centre, centre)
    for k in range(9):
        place.rotation[k] = rotation[k]
    place.moves, place.nap, place.known, place.lever = reach, collision.asleep[collider.body], 1, lever
    place.reach = max(margin, reach)
    bound(collider, place, x, rotation, collision.vertices, place.reach)
    if not math.isfinite(place.lower[0] + place.lower[1] + place.lower[2]):
        place.known = 0
        return False
    if must_widen(collider, place, fat):
        widen(collider, place, fat, FAT * collider.radius if collider.body < bodies else 0.0)
        collision.counts[LEFT] += 1
    place.room = room_in(place, fat)
    return True


# Most colliders of a robot are near nothing. While a collider is in no pair, all that matters of its pose is whether its box
# is in its fat box, and it is placed anew only when it may have left that. A point at the distance r from the centre of a
# body moves by no more than |Δx| + 2 |Δq| r, as |Δq| = 2 sin(θ/4) for a rotation by θ. So pairs, and all that follows, are
# the same, bit by bit. What reads poses of colliders that are in no pair, as particles do, leaves `counts[LAZY]` at 0.

CORNERS = 1.7321  # √3 and more: a corner of a box of a hull, see `box_reach`, is no farther from its middle, in radii


@njit
def waits(collider, place, y, bodies, margin, travel):
    """Whether a collider in no pair is in its fat box for certain, from the pose of its body."""
    if place.known == 0 or place.paired != 0 or collider.body >= bodies or collider.kind >= HALF_SPACE:
        return False
    at, square = STATE_SIZE * collider.body, 0.0
    for k in range(4):
        change = load(y, at + 3 + k) - place.body[k]
        square += change * change
    d = sub((load(y, at), load(y, at + 1), load(y, at + 2)), load3(place.centre))
    reach = load(travel, 2 * collider.body) + load(travel, 2 * collider.body + 1) * place.lever
    grown = max(margin, reach) - place.reach
    return norm(d) + 2.0 * CORNERS * place.lever * math.sqrt(square) + max(grown, 0.0) < place.room


@inlined
def room_in(place, fat):
    """How far points of a box may move, a little less, until it leaves its fat box."""
    room = FAR_AWAY
    for k in range(3):
        room = min(room, place.lower[k] - fat.lower[k], fat.upper[k] - place.upper[k])
    return 0.999 * room


@njit
def place_paired(y, bodies, margin, collision):
    """Note which colliders are in pairs, and place those that were in none before. Returns whether all poses are finite."""
    places, pairs, known = collision.places, collision.pairs, True
    for i in range(places.shape[0]):
        places[i].paired = -places[i].paired  # in a pair until now
    for k in range(collision.counts[PAIRS]):
        for i in (pairs[k].a, pairs[k].b):
            if places[i].paired == 0:
                known = place_collider(i, y, bodies, margin, collision) and known
            places[i].paired = 1
    for i in range(places.shape[0]):
        places[i].paired = max(places[i].paired, 0)
    return known


@njit
def note_motion(collider, place, x, rotation):
    """Add the motion from the pose in `place` to a new one to `moved`, `shift` and `turn` there: the displacement of the
    origin, ½ Σ r × r' over the columns of the two rotations, and |x' − x| + ‖R' − R‖ radius, which no point exceeds."""
    if place.known == 0:
        place.moved = FAR_AWAY
        return
    d, square = sub(x, load3(place.x)), 0.0
    for k in range(9):
        change = rotation[k] - place.rotation[k]
        square += change * change
    length = norm(d)
    if square == 0.0 and length == 0.0:
        return
    add_scaled3(place.shift, 1.0, d)
    if square > 0.0:
        before = place.rotation
        for k in range(3):
            r = (before[k], before[3 + k], before[6 + k])
            add_scaled3(place.turn, 0.5, cross(r, (rotation[k], rotation[3 + k], rotation[6 + k])))
        length += math.sqrt(square) * collider.radius
    place.moved += length


@inlined
def add_scaled3(array, s, v):
    """array += s v, of three numbers."""
    for k in range(3):
        array[k] += s * v[k]


# Fat boxes ------------------------------------------------------------------------------------------------------------
# The pairs are those whose fat boxes overlap. A fat box is larger than the box by `FAT` radii; while the box stays inside, it
# does not change, and while no fat box changes, neither do the pairs. The planes and facets near a collider are those near
# its fat box. A half-space has no box, and the box of a mesh does not tell how it turns: they leave theirs when they move.

FAT = 0.03  # of the radius of a collider


@njit
def must_widen(collider, place, fat):
    """Whether a collider has left its fat box."""
    if collider.kind < HALF_SPACE:
        for k in range(3):
            if not (place.lower[k] >= fat.lower[k] and place.upper[k] <= fat.upper[k]):
                return True
        return False
    return place.moved > 0.0 or place.reach != fat.reach


@njit
def widen(collider, place, fat, margin):
    """The fat box of a collider where it is now, larger than its box by `margin` (m)."""
    fat.left, fat.reach = 1, place.reach
    for k in range(3):
        fat.lower[k], fat.upper[k] = place.lower[k] - margin, place.upper[k] + margin


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


# Meshes and half-spaces -----------------------------------------------------------------------------------------------
# Each mesh is compared with every collider that has a new fat box, and its facets are found in its tree of boxes: those
# that meet the fat box, turned into the frame of the mesh and boxed again. This box is stored (`asked`), so that a facet is
# new where it meets the new one and did not meet the one before.


@inlined
def boxes_meet(one, other):
    """Whether the boxes of two places, or two fat boxes, overlap."""
    for k in range(3):
        if one.lower[k] > other.upper[k] or other.lower[k] > one.upper[k]:
            return False
    return True


@inlined
def met_before(one, other):
    """Whether two fat boxes overlapped when pairs were last found."""
    for k in range(3):
        if one.lower_before[k] > other.upper_before[k] or other.lower_before[k] > one.upper_before[k]:
            return False
    return True


@njit
def ask_meshes(collision):
    """Write the next boxes of all trees and colliders that have new fat boxes to `asked`."""
    trees, order, asked, fat_boxes = collision.trees, collision.order, collision.asked, collision.fat_boxes
    for m in range(trees.shape[0]):
        mesh = trees[m].collider
        for p in range(order.shape[0]):
            i = order[p]
            if fat_boxes[i].left != 0 or fat_boxes[mesh].left != 0:
                ask(trees[m], i, asked_at(m, i, True, collision), asked, collision)


@inlined
def asked_at(tree, i, following, collision):
    """Where the box of a collider in the frame of a mesh is in `asked`: that of the present pairs, or the `following` one."""
    row = tree + collision.trees.shape[0] if following else tree
    return 6 * (row * collision.colliders.shape[0] + i)


@njit
def ask(tree, i, at, asked, collision):
    """Write the fat box of collider i, boxed in the frame of a mesh and grown by the reach of that, to asked[at : at + 6]."""
    fat = collision.fat_boxes[i]
    low, high = (FAR_AWAY, FAR_AWAY, FAR_AWAY), (-FAR_AWAY, -FAR_AWAY, -FAR_AWAY)
    if boxes_meet(fat, collision.fat_boxes[tree.collider]):
        low, high = box_in_mesh(load3(fat.lower), load3(fat.upper), collision.places[tree.collider])
    for c in range(3):
        asked[at + c], asked[at + 3 + c] = low[c], high[c]


@njit
def box_in_mesh(lower, upper, mesh):
    """(lower, upper) of a box (world), boxed in the frame of a mesh and grown by the reach of that."""
    turn = nine(mesh.rotation)
    middle = matvec_t(
        turn, sub(scale(0.5, (lower[0] + upper[0], lower[1] + upper[1], lower[2] + upper[2])), load3(mesh.x))
    )
    half = scale(0.5, sub(upper, lower))
    x, y, z = matvec_t(
        (abs(turn[0]), abs(turn[1]), abs(turn[2]), abs(turn[3]), abs(turn[4]), abs(turn[5]), abs(turn[6]), abs(turn[7]),
         abs(turn[8])), half,
    )  # fmt: skip
    reach = (x + mesh.reach, y + mesh.reach, z + mesh.reach)
    return sub(middle, reach), add(middle, reach)


@njit
def meets_facet(place, mesh, facet, collision):
    """Whether the box of a collider meets that of a facet of a mesh."""
    node = collision.nodes[collision.leaves[facet]]
    low, high = box_in_mesh(load3(place.lower), load3(place.upper), mesh)
    apart = False
    for c in range(3):
        apart |= node.lower[c] > high[c] or node.upper[c] < low[c]
    return not apart


@inlined
def meets_node(asked, at, node):
    """Whether the box asked[at : at + 6] overlaps that of a node."""
    apart = False
    for c in range(3):
        apart |= node.lower[c] > asked[at + 3 + c] or node.upper[c] < asked[at + c]
    return not apart


@njit
def meet_meshes(found, bodies, collision):
    """Add the facets that the fat boxes which have changed meet now; returns the number of pairs."""
    trees, order, fat_boxes = collision.trees, collision.order, collision.fat_boxes
    for m in range(trees.shape[0]):
        mesh = trees[m].collider
        for p in range(order.shape[0]):
            if fat_boxes[order[p]].left != 0 or fat_boxes[mesh].left != 0:
                found = meet_facets(m, order[p], found, bodies, collision)
    return found


@njit
def meet_facets(m, i, found, bodies, collision):
    """Add the facets of mesh m that collider i meets now and did not meet before."""
    tree, nodes, asked = collision.trees[m], collision.nodes, collision.asked
    before, now = asked_at(m, i, False, collision), asked_at(m, i, True, collision)
    k = tree.first_node
    while k < tree.end_node:
        node = nodes[k]
        if not meets_node(asked, now, node):
            k = node.skip
            continue
        if node.facet >= 0 and (
            not meets_node(asked, before, node) or was_dropped(i, tree.collider, node.facet, collision)
        ):
            found = add_pair(i, tree.collider, node.facet, found, bodies, collision)
        k += 1
    return found


@njit
def is_near_plane(fat, plane):
    """Whether a fat box reaches below the surface of a half-space, or nearly."""
    normal, height = (plane.rotation[2], plane.rotation[5], plane.rotation[8]), -plane.reach
    for k in range(3):
        height += normal[k] * (0.5 * (fat.lower[k] + fat.upper[k]) - plane.x[k])
        height -= abs(normal[k]) * 0.5 * (fat.upper[k] - fat.lower[k])
    return height <= 0.0


@njit
def meet_half_spaces(found, bodies, collision):
    """Add what is near a half-space now and was not before; returns the number of pairs."""
    order, unbounded, near = collision.order, collision.unbounded, collision.near_planes
    fat_boxes, places, count = collision.fat_boxes, collision.places, collision.colliders.shape[0]
    for u in range(unbounded.shape[0]):
        plane = unbounded[u]
        for p in range(order.shape[0]):
            i = order[p]
            if fat_boxes[i].left == 0 and fat_boxes[plane].left == 0:
                continue
            if near[u * count + i] == 0 and is_near_plane(fat_boxes[i], places[plane]):
                found = add_pair(i, plane, 0, found, bodies, collision)
    return found


@njit
def set_near_plane(pair, near, collision):
    """Note whether a collider and a half-space are a pair."""
    for u in range(collision.unbounded.shape[0]):
        if collision.unbounded[u] == pair.b:
            collision.near_planes[u * collision.colliders.shape[0] + pair.a] = near


# Sweep and prune in strips --------------------------------------------------------------------------------------------
# Along the axis on which the colliders spread most, their fat boxes stay sorted by lower end from step to step, so that the
# insertion sort is nearly linear (Baraff, PhD thesis 1992, §2). A sweep over one axis compares everything in one slice of
# the scene; so the colliders are distributed, in that order, over strips along a second axis, a few of their sizes wide, and
# each strip is swept on its own, if a fat box in it has changed. A pair that shares several strips is added in the one where
# the later of the two begins. It is new where the fat boxes did not overlap before.

STRIP_SIZES = 2.0  # width of a strip, in mean sizes of the colliders
MANY_COLLIDERS = 128  # that have parts, see `set_parts`: fewer make no island that threads share
STAY = 1.5  # another axis is chosen only when the spread on it is so many times larger


@njit
def find_pairs(bodies, collision):
    """Make `pairs` those whose fat boxes overlap, given those that did before; returns 0 or NEED_ROOM. Where there is no
    room, it can be called again, with other fat boxes too: then pairs that overlapped before may have been dropped, and each
    is looked up."""
    counts = collision.counts
    if counts[LEFT] == 0:
        return 0
    strips = 0
    if collision.order.shape[0] > 0:
        choose_axes(collision)
        sort_along(counts[SWEEP_AXIS], collision.order, collision.fat_boxes)
        set_parts(collision)
        strips = fill_strips(collision)
        if strips < 0:
            return NEED_ROOM
    ask_meshes(collision)
    drop_pairs(collision)
    found = counts[PAIRS]
    for strip in range(strips):
        if collision.strips[2 * strips + 2 + strip] != 0:
            found = sweep(strip, strips, found, bodies, collision)
    found = meet_half_spaces(found, bodies, collision)
    found = meet_meshes(found, bodies, collision)
    if found > collision.pairs.shape[0]:
        counts[NEED_PAIRS], counts[DROPPED] = found, 1
        return NEED_ROOM
    for k in range(counts[PAIRS], found):
        if collision.colliders[collision.pairs[k].b].kind == HALF_SPACE:
            set_near_plane(collision.pairs[k], 1, collision)
    counts[PAIRS] = found
    forget_boxes_before(collision)
    return 0


@njit
def set_parts(collision):
    """The part of the scene in which each body is, by its last collider in the order of the sweep. Where one changes,
    contacts are ordered anew, so that their order follows from that of the sweep. A scene of few colliders has one part."""
    order, parts, colliders = collision.order, collision.parts, collision.colliders
    for p in range(order.shape[0] if order.shape[0] >= MANY_COLLIDERS else 0):
        body, part = colliders[order[p]].body, MOST_PARTS * p // order.shape[0]
        if parts[body] != part:
            parts[body] = part
            collision.counts[ORDERED] = 0


@njit
def drop_pairs(collision):
    """Remove the pairs whose fat boxes do not overlap any more; each is replaced by the last one."""
    counts, colliders, pairs, fat_boxes = collision.counts, collision.colliders, collision.pairs, collision.fat_boxes
    k = 0
    while k < counts[PAIRS]:
        pair = pairs[k]
        one, other = fat_boxes[pair.a], fat_boxes[pair.b]
        if (one.left == 0 and other.left == 0) or may_still_touch(pair, colliders[pair.b].kind, one, other, collision):
            k += 1
            continue
        if colliders[pair.b].kind == HALF_SPACE:
            set_near_plane(pair, 0, collision)
        counts[PAIRS] -= 1
        counts[ORDERED] = 0
        if k < counts[PAIRS]:
            move_pair(counts[PAIRS], k, collision)


@njit
def was_dropped(i, j, facet, collision):
    """Whether the pair of two colliders, whose fat boxes overlapped before, is no longer one."""
    if collision.counts[DROPPED] == 0:
        return False
    for k in range(collision.counts[PAIRS]):
        pair = collision.pairs[k]
        if pair.facet == facet and ((pair.a == i and pair.b == j) or (pair.a == j and pair.b == i)):
            return False
    return True


@njit
def may_still_touch(pair, kind, one, other, collision):
    """Whether a pair, of fat boxes `one` and `other` and with a second collider of this kind, remains one."""
    if kind == HALF_SPACE:
        return is_near_plane(one, collision.places[pair.b])
    if kind == MESH:
        for m in range(collision.trees.shape[0]):
            if collision.trees[m].collider == pair.b:
                node = collision.nodes[collision.leaves[pair.facet]]
                return meets_node(collision.asked, asked_at(m, pair.a, True, collision), node)
    return boxes_meet(one, other)


@njit
def forget_boxes_before(collision):
    """The pairs are those of the fat boxes as they are now."""
    fat_boxes, trees, asked = collision.fat_boxes, collision.trees, collision.asked
    for m in range(trees.shape[0]):
        mesh_left = fat_boxes[trees[m].collider].left
        for i in range(fat_boxes.shape[0]):
            if fat_boxes[i].left != 0 or mesh_left != 0:
                to, source = asked_at(m, i, False, collision), asked_at(m, i, True, collision)
                for c in range(6):
                    asked[to + c] = asked[source + c]
    for i in range(fat_boxes.shape[0]):
        fat = fat_boxes[i]
        if fat.left != 0:
            fat.left = 0
            for k in range(3):
                fat.lower_before[k], fat.upper_before[k] = fat.lower[k], fat.upper[k]
    collision.counts[LEFT], collision.counts[DROPPED] = 0, 0


@njit
def choose_axes(collision):
    """The axis of the largest spread for the sweep, the next for the strips; changed only where it pays."""
    counts = collision.counts
    order = collision.order
    places = collision.fat_boxes
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
    order, fat_boxes, strips, entries = collision.order, collision.fat_boxes, collision.strips, collision.entries
    axis = collision.counts[STRIP_AXIS]
    n = order.shape[0]
    low, high, size = 1e300, -1e300, 0.0
    for i in range(n):
        fat = fat_boxes[order[i]]
        low = min(low, fat.lower[axis])
        high = max(high, fat.lower[axis])
        size += (fat.upper[axis] - fat.lower[axis]) / n
    width = max(STRIP_SIZES * size, (high - low) / n, 1e-300)
    count = min(int((high - low) / width) + 1, n)
    collision.scratch[0], collision.scratch[1] = low, width
    # Where the next entry of each strip goes, and whether a box in it has changed
    cursor, changed = count + 1, 2 * count + 2
    for s in range(count + 1):
        strips[s] = strips[changed + s] = 0
    for i in range(n):
        fat = fat_boxes[order[i]]
        first = strip_number(fat.lower[axis], low, width, count)
        for s in range(first, strip_number(fat.upper[axis], low, width, count) + 1):
            strips[s + 1] += 1
            strips[changed + s] |= fat.left
    for s in range(count):
        strips[s + 1] += strips[s]
    if ENTRY * strips[count] > entries.shape[0]:
        collision.counts[NEED_STRIPS] = strips[count]
        return -1
    for s in range(count):
        strips[cursor + s] = strips[s]
    axes = (collision.counts[SWEEP_AXIS], axis, 3 - collision.counts[SWEEP_AXIS] - axis)
    for i in range(n):
        fat = fat_boxes[order[i]]
        first = strip_number(fat.lower[axis], low, width, count)
        for s in range(first, strip_number(fat.upper[axis], low, width, count) + 1):
            at = ENTRY * strips[cursor + s]
            for k in range(3):
                store(entries, at + 2 * k, fat.lower[axes[k]])
                store(entries, at + 2 * k + 1, fat.upper[axes[k]])
            store(entries, at + ENTRY_LEFT, float(fat.left))
            store(entries, at + ENTRY_COLLIDER, float(order[i]))
            strips[cursor + s] += 1
    return count


@njit
def sweep(strip, count, found, bodies, collision):
    """Add the new pairs of one strip; returns how many pairs there are so far, with or without room."""
    fat_boxes, entries = collision.fat_boxes, collision.entries
    low, width = collision.scratch[0], collision.scratch[1]
    end = ENTRY * collision.strips[strip + 1]
    for p in range(ENTRY * collision.strips[strip], end, ENTRY):
        upper, left = load(entries, p + 1), load(entries, p + ENTRY_LEFT)
        lower_1, upper_1 = load(entries, p + 2), load(entries, p + 3)
        lower_2, upper_2 = load(entries, p + 4), load(entries, p + 5)
        for q in range(p + ENTRY, end, ENTRY):
            if load(entries, q) > upper:
                break
            if left + load(entries, q + ENTRY_LEFT) == 0.0:
                continue
            if (
                lower_2 > load(entries, q + 5)
                or load(entries, q + 4) > upper_2
                or lower_1 > load(entries, q + 3)
                or load(entries, q + 2) > upper_1
            ):
                continue
            i, j = int(load(entries, p + ENTRY_COLLIDER)), int(load(entries, q + ENTRY_COLLIDER))
            if met_before(fat_boxes[i], fat_boxes[j]) and not was_dropped(i, j, 0, collision):
                continue
            if strip_number(max(lower_1, load(entries, q + 2)), low, width, count) == strip:
                found = add_pair(i, j, 0, found, bodies, collision)
    return found
