"""The tables of collision detection: one record array a kind of thing.

A collider is one convex shape (or half-space, or mesh) in its own frame, fixed to a body; the body index equal to the number
of bodies means the world. A compound is several colliders of one body. Lengths in metres.

A mesh is one collider, made of facets: flat convex polygons with an outside. Its row shows one of them at a time, as a hull
of no thickness (see `facets.show`), so that what handles hulls handles facets.
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.jit import inlined, njit
from ..core.math3 import store3
from ..core.tables import column

# What `size` holds is said by `Shape.size`; of a hull it is nothing, as vertices, faces and edges tell; of a mesh half the
# sides of its box, which is centred at the origin. Corners and face of a mesh are those of the facet that it shows.

COLLIDER = np.dtype(
    [("kind", "i8"), ("body", "i8"),
     ("first_vertex", "i8"), ("vertices", "i8"), ("first_face", "i8"), ("faces", "i8"),
     ("first_edge", "i8"), ("edges", "i8"),
     ("size", "f8", 3), ("position", "f8", 3), ("rotation", "f8", 9),  # collider → frame of the body
     ("radius", "f8"), ("friction", "f8"), ("restitution", "f8")],
    align=True,
)  # fmt: skip
# Where a collider is: the pose of its frame in the world; the centre of mass of its body (of the world: the origin); how far
# it may move before the next look; its box, grown by its reach, which is that or half the margin.
PLACE = np.dtype(
    [("x", "f8", 3), ("rotation", "f8", 9), ("centre", "f8", 3), ("lower", "f8", 3), ("upper", "f8", 3), ("moves", "f8"),
     ("reach", "f8")],
    align=True,
)  # fmt: skip
# A polygon of a hull: outward unit normal, normal · x = offset on it, its corners in `loops[first : first + count]`
# (numbers of vertices counted from the hull's first), anticlockwise seen from outside.
FACE = np.dtype([("normal", "f8", 3), ("offset", "f8"), ("first", "i8"), ("count", "i8")], align=True)
# An edge of a hull, from vertex `tail` to `head`, with the face on its left and on its right seen from outside.
EDGE = np.dtype([("tail", "i8"), ("head", "i8"), ("left", "i8"), ("right", "i8")], align=True)

# A facet of a mesh: its corners, anticlockwise seen from outside, its face, and as many sides; `sharp` where a direction
# other than its normal can push at one of its corners or sides (see `facets`).
FACET = np.dtype(
    [("first_vertex", "i8"), ("vertices", "i8"), ("face", "i8"), ("first_side", "i8"), ("sharp", "i8")], align=True
)
# The side of a facet that begins at a corner, in the frame of the mesh. `beside`: unit vector at right angles to it, into the
# facet beyond it; straight on where that is level or rises, zero at a rim. Unit vectors along the edges of the mesh that
# leave the corner are rings[3 first_ring : 3 (first_ring + ring)].
SIDE = np.dtype([("beside", "f8", 3), ("first_ring", "i8"), ("ring", "i8")], align=True)
# A box about facets, in the frame of the mesh, of a tree in depth-first order: the next node outside of it is `skip`; a leaf
# has a facet, others −1.
NODE = np.dtype([("lower", "f8", 3), ("upper", "f8", 3), ("skip", "i8"), ("facet", "i8")], align=True)
TREE = np.dtype([("collider", "i8"), ("first_node", "i8"), ("end_node", "i8")], align=True)  # of one mesh

POINTS = 4  # most points of a manifold
# What the narrow phase finds of two colliders a and b: the unit normal from a to b (world axes), and points midway
# between the surfaces (world) with their separation (m), negative where they overlap. A feature names what met, the same
# from step to step while the same features meet. Where the points stand in `contacts`: `first`, and the island and colour
# that say so (see `islands`).
MANIFOLD = np.dtype(
    [("points", "i8"), ("normal", "f8", 3), ("feature", "i8", POINTS), ("position", "f8", 3 * POINTS),
     ("separation", "f8", POINTS), ("island", "i8"), ("colour", "i8"), ("first", "i8")],
    align=True,
)  # fmt: skip
SKIPPED = -1  # `points` of a pair that sleeps

# What separated two colliders last time, tried first the next (the notes' witness).
NO_WITNESS, FACE_A, FACE_B, EDGE_EDGE, DIRECTION = range(5)
# Two colliders whose boxes overlap; b may be a mesh, and then the pair is of one `facet` of it. `axis`: the last search
# direction, in world axes; feature_a, feature_b: of the witness. Impulses (normal, two tangents) of the last step are kept by
# feature, to start the next.
PAIR = np.dtype(
    [("a", "i8"), ("b", "i8"), ("facet", "i8"), ("witness", "i8"), ("feature_a", "i8"), ("feature_b", "i8"),
     ("axis", "f8", 3), ("points", "i8"), ("feature", "i8", POINTS), ("impulse", "f8", 3 * POINTS)],
    align=True,
)  # fmt: skip


# One point of contact as the solvers take it, at a position in the world. Arms reach from the centres of mass of bodies a and
# b to the point; `frame` holds the normal (from a to b) and two tangents row by row; all in world axes. Relative velocity: of
# b's point less a's.
CONTACT = np.dtype(
    [("a", "i8"), ("b", "i8"), ("pair", "i8"), ("point", "i8"),
     ("position", "f8", 3), ("frame", "f8", 9), ("arm_a", "f8", 3), ("arm_b", "f8", 3), ("separation", "f8"),
     ("friction", "f8"), ("restitution", "f8"), ("bias", "f8"), ("impulse", "f8", 3)],
    align=True,
)  # fmt: skip

# Bodies that touch each other, or hang together by joints (`jointed`). Its contacts are contacts[first : end], those of its
# k-th colour from colours[first_colour + k] on; its bodies are members[first_member : end_member]. What its solver did in
# this step: its passes, the residual reached (m/s), the overlap left (m), and the energy that restitution would bring (J).
ISLAND = np.dtype(
    [("first", "i8"), ("end", "i8"), ("first_colour", "i8"), ("colours", "i8"), ("first_member", "i8"), ("end_member", "i8"),
     ("jointed", "i8"), ("iterations", "i8"), ("residual", "f8"), ("overlap", "f8"), ("gained", "f8")],
    align=True,
)  # fmt: skip

# Entries of `counts`: where the pairs of this step begin in their table (its halves take turns) and how many there are; the
# contacts and islands; how many there should be room for, where there was not enough; the axes of the sweep and its strips.
FIRST_PAIR, PAIRS, CONTACTS, ISLANDS, NEED_PAIRS, NEED_CONTACTS, NEED_STRIPS, SWEEP_AXIS, STRIP_AXIS, COUNTS = range(10)
NEED_ROOM = 1  # status: `counts` says how much
SCRATCH = 4096
NO_ISLAND = -1
FREE = -1  # `linked` of a body without joints
AWAKE, UNMOVED = 0, -1
# Families of pairs, each one function of the narrow phase, compiled where a scene has such a pair; and the function that
# measures the distance of a convex pair.
ROUND_PAIR, BOX_PAIR, HULL_PAIR, PLANE_PAIR, CONVEX_PAIR, MESH_PAIR, DISTANCE, FUNCTIONS = range(8)


class Collision(NamedTuple):
    """Everything collision detection reads and writes."""

    colliders: Any = column("colliders", COLLIDER, unit="size m, position m, radius m")
    places: Any = column("colliders", PLACE, unit="x m, centre m, lower m, upper m, moves m, reach m")
    vertices: Any = column("3 * corners", unit="m", doc="corners of hulls and facets, in the frame of their collider")
    faces: Any = column(dtype=FACE)
    edges: Any = column(dtype=EDGE)
    loops: Any = column(dtype=np.int64, doc="see FACE")
    travel: Any = column(
        "2 * (bodies + 1)", unit="m, rad", doc="how far each body may move before the next look; zero: not known"
    )
    facets: Any = column(dtype=FACET, doc="of all meshes")
    sides: Any = column(dtype=SIDE)
    rings: Any = column("3 * edges_of_meshes", doc="see SIDE")
    nodes: Any = column(dtype=NODE)
    trees: Any = column(dtype=TREE, doc="one a mesh")
    excluded: Any = column(
        dtype=np.int64, doc="sorted keys i · colliders + j, i < j, of pairs that pass through each other"
    )
    rule_keys: Any = column(
        dtype=np.int64, doc="sorted keys of pairs whose coefficients are not what the materials make"
    )
    rule_values: Any = column("2 * rules", doc="their friction and restitution")
    scratch: Any = column("SCRATCH", fill=np.nan, doc="workspace of the narrow phase")
    pairs: Any = column("2 * pairs", PAIR, doc="two halves: of this step, and of the one before")
    order: Any = column(dtype=np.int64, doc="bounded colliders but meshes, along the axis of the sweep, kept sorted")
    unbounded: Any = column(dtype=np.int64, doc="the half-spaces")
    strips: Any = column("2 * colliders + 2", np.int64, doc="first entry of each strip, and then one more")
    entries: Any = column("entries", np.int64, doc="colliders of each strip, in the order of the sweep")
    slots: Any = column(
        "slots", np.int64, doc="hash table from (a, b) to a pair of the step before; its size is a power of two"
    )
    counts: Any = column("COUNTS", np.int64, doc="see FIRST_PAIR and those that follow")
    manifold: Any = column("1", MANIFOLD, doc="what the narrow phase fills")
    manifolds: Any = column("pairs", MANIFOLD, doc="one a pair of this step")
    contacts: Any = column(
        "contacts", CONTACT, unit="position m, arm_a m, arm_b m, separation m, bias m/s, impulse N s", doc="what touches",
        used="counts[CONTACTS]",
    )  # fmt: skip
    linked: Any = column(
        "bodies + 1", np.int64, fill=FREE, doc="the first of the bodies with joints, for each of them; FREE for others"
    )
    parents: Any = column("bodies + 1", np.int64, doc="see `islands`")
    island_of: Any = column("bodies + 1", np.int64, fill=NO_ISLAND)
    taken: Any = column("bodies + 1", np.int64, doc="the colours that a body has, one bit each")
    islands: Any = column("bodies + 1", ISLAND, unit="residual m/s, overlap m, gained J", used="counts[ISLANDS]")
    members: Any = column("bodies", np.int64)
    colours: Any = column("pairs", np.int64)
    asleep: Any = column("bodies + 1", np.int64, doc="AWAKE, or the number of the nap; the world: UNMOVED")
    job_queue: Any = column("0", np.int64, doc="see `board`")
    functions: Any = column("FUNCTIONS", np.int64, doc="addresses of the narrow phase's functions, see `narrow`")


# ----------------------------------------------------------------------------------------------------------------------
# The table of pairs: what may touch, and what is known of a pair (witness, impulses) from the step before.
#
# The table has two halves that take turns. A pair of the step before is found through a hash table.


EMPTY = -1


@njit
def add_pair(i, j, facet, bodies, first, found, room, old_first, collision):
    """Add a pair unless it can never touch, with what was known of it; returns the number of pairs found.

    facet : of a mesh, if one of the two is one; else zero.
    """
    colliders = collision.colliders
    body_i, body_j = colliders[i].body, colliders[j].body
    if body_i == body_j or (body_i >= bodies and body_j >= bodies):
        return found
    if (
        collision.excluded.shape[0] > 0
        and find_key(collision.excluded, min(i, j) * colliders.shape[0] + max(i, j)) >= 0
    ):
        return found
    if found >= room:
        return found + 1
    if colliders[i].kind > colliders[j].kind or (colliders[i].kind == colliders[j].kind and i > j):
        i, j = j, i
    pair = collision.pairs[first + found]
    known = recall(i, j, facet, old_first, collision)
    if known >= 0:
        copy_pair(pair, collision.pairs[known])
        return found + 1
    pair.a, pair.b, pair.facet = i, j, facet
    pair.witness = NO_WITNESS
    pair.feature_a, pair.feature_b = 0, 0
    pair.points = 0
    for k in range(3):
        pair.axis[k] = 0.0
    return found + 1


@njit
def find_key(keys, key):
    """Where a key stands in a sorted array, or −1."""
    low, high = 0, keys.shape[0]
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < keys.shape[0] and keys[low] == key else -1


# The hash table holds numbers of pairs; a pair starts at a mixture of its numbers and takes the next free slot.
@inlined
def slot_of(a, b, facet, mask):
    return ((a * 73856093) ^ (b * 19349663) ^ (facet * 83492791)) & mask


@njit
def remember_pairs(first, count, collision):
    slots = collision.slots
    pairs = collision.pairs
    mask = slots.shape[0] - 1
    for s in range(slots.shape[0]):
        slots[s] = EMPTY
    for p in range(first, first + count):
        s = slot_of(pairs[p].a, pairs[p].b, pairs[p].facet, mask)
        while slots[s] != EMPTY:
            s = (s + 1) & mask
        slots[s] = p


@njit
def recall(a, b, facet, old_first, collision):
    """The number of the pair in the half of the step before, or −1."""
    slots = collision.slots
    pairs = collision.pairs
    mask = slots.shape[0] - 1
    s = slot_of(a, b, facet, mask)
    while slots[s] != EMPTY:
        known = pairs[slots[s]]
        if known.a == a and known.b == b and known.facet == facet:
            return slots[s]
        s = (s + 1) & mask
    return -1


@njit
def copy_pair(to, source):
    to.a, to.b, to.facet = source.a, source.b, source.facet
    to.witness = source.witness
    to.feature_a, to.feature_b = source.feature_a, source.feature_b
    to.points = source.points
    for k in range(3):
        to.axis[k] = source.axis[k]
    for k in range(POINTS):
        to.feature[k] = source.feature[k]
    for k in range(3 * POINTS):
        to.impulse[k] = source.impulse[k]


# ----------------------------------------------------------------------------------------------------------------------
# Impulses of a step kept by feature, for the next to start from.


@inlined
def warm_start_impulse(pair, feature):
    """The impulse (world axes) of the same feature in the step before, or none."""
    for k in range(pair.points):
        if pair.feature[k] == feature:
            return (pair.impulse[3 * k], pair.impulse[3 * k + 1], pair.impulse[3 * k + 2])
    return (0.0, 0.0, 0.0)


@inlined
def save_impulse(contact, pair):
    """Put the impulse of a contact back to its pair, in world axes."""
    at = 3 * contact.point
    for c in range(3):
        pair.impulse[at + c] = (
            contact.impulse[0] * contact.frame[c]
            + contact.impulse[1] * contact.frame[3 + c]
            + contact.impulse[2] * contact.frame[6 + c]
        )


@njit
def save_warm_start(collision):
    """Put the impulses of the contacts back to their pairs, to start the next step from."""
    contacts = collision.contacts
    pairs = collision.pairs
    for i in range(collision.counts[CONTACTS]):
        save_impulse(contacts[i], pairs[contacts[i].pair])


@njit
def clear_warm_start(collision):
    """Let the contacts start from nothing."""
    contacts = collision.contacts
    for i in range(collision.counts[CONTACTS]):
        store3(contacts[i].impulse, (0.0, 0.0, 0.0))
