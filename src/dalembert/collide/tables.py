"""The tables of collision detection: one record array for each kind of object, the pairs, and the warm-start cache.

A collider is one convex shape (or half-space, or mesh) in its own frame, fixed to a body; the body index equal to the
number of bodies means the world. A compound is several colliders of one body. Lengths in metres.

A mesh is one collider, made of facets: flat convex polygons with an outside. Its row represents one of them at a time,
as a hull of no thickness (see `polyhedron.show`), so that the functions for hulls handle facets.
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.c_function import viewer
from ..core.jit import DISABLED, inlined, njit
from ..core.math3 import store3
from ..core.simd import copy
from ..core.simd_wide import WIDTH
from ..core.tables import column

# Records ----------------------------------------------------------------------------------------------------------------
# `size` is that of `Shape.size`; zero for a hull, which has vertices, faces and edges; of a mesh half the sides of its box,
# which is centred at the origin. Vertices and face of a mesh are those of the facet that its row represents.

COLLIDER = np.dtype(
    [("kind", "i8"), ("body", "i8"),
     ("first_vertex", "i8"), ("vertices", "i8"), ("first_face", "i8"), ("faces", "i8"),
     ("first_edge", "i8"), ("edges", "i8"),
     ("size", "f8", 3), ("position", "f8", 3), ("rotation", "f8", 9),  # collider → frame of the body
     ("radius", "f8"), ("friction", "f8"), ("restitution", "f8")],
    align=True,
)  # fmt: skip
# The pose of a collider's frame in the world; the centre of mass of its body (of the world: the origin); how far it may move
# before the next detection; its bounding box, grown by its reach, which is that or half the margin. Its motion since the last
# narrow phase: a bound of the displacement of its points, the displacement of its origin, and the rotation vector to first
# order. `known`: whether there was a pose before; `nap`: the number of the nap in which it was placed.
# `lever`: how far from the centre of the body its box reaches at most; `body`: the orientation of the body; `room`: how far
# points of the box may move until it leaves the fat box; `paired`: whether the collider is in a pair.
PLACE = np.dtype(
    [("lower", "f8", 3), ("upper", "f8", 3), ("reach", "f8"), ("moved", "f8"),
     ("x", "f8", 3), ("rotation", "f8", 9), ("centre", "f8", 3), ("moves", "f8"),
     ("shift", "f8", 3), ("turn", "f8", 3), ("known", "i8"), ("nap", "i8"), ("lever", "f8"), ("room", "f8"),
     ("body", "f8", 4), ("paired", "i8")],
    align=True,
)  # fmt: skip
# The fat box of a collider: it holds the box above, and stays where it is while it does. `before`: the fat box when pairs
# were last found; `left`: whether it has changed since; `reach`: that of the box when it was made.
FAT_BOX = np.dtype(
    [("lower", "f8", 3), ("upper", "f8", 3), ("lower_before", "f8", 3), ("upper_before", "f8", 3), ("reach", "f8"),
     ("left", "i8")],
    align=True,
)  # fmt: skip
# A polygon of a hull: outward unit normal, normal · x = offset on it, its corners in `loops[first : first + count]`
# (numbers of vertices counted from the hull's first), anticlockwise seen from outside.
FACE = np.dtype([("normal", "f8", 3), ("offset", "f8"), ("first", "i8"), ("count", "i8")], align=True)
# An edge of a hull, from vertex `tail` to `head`, with the face on its left and on its right seen from outside.
EDGE = np.dtype([("tail", "i8"), ("head", "i8"), ("left", "i8"), ("right", "i8")], align=True)

# A facet of a mesh: its corners, anticlockwise seen from outside, its face, and as many sides; `sharp` where a direction
# other than its normal can push at one of its corners or sides (see `polyhedron.is_free`).
FACET = np.dtype(
    [("first_vertex", "i8"), ("vertices", "i8"), ("face", "i8"), ("first_side", "i8"), ("sharp", "i8")], align=True
)
# The side of a facet that begins at a corner, in the frame of the mesh. `beside`: unit vector at right angles to it, into the
# facet beyond it; straight on where that is level or rises, zero at a rim. Unit vectors along the edges of the mesh that
# leave the corner are rings[3 first_ring : 3 (first_ring + ring)].
SIDE = np.dtype([("beside", "f8", 3), ("first_ring", "i8"), ("ring", "i8")], align=True)
# A bounding box of facets, in the frame of the mesh, of a tree in depth-first order: the next node outside of it is `skip`; a
# leaf has a facet, others −1.
NODE = np.dtype([("lower", "f8", 3), ("upper", "f8", 3), ("skip", "i8"), ("facet", "i8")], align=True)
TREE = np.dtype([("collider", "i8"), ("first_node", "i8"), ("end_node", "i8")], align=True)  # of one mesh

POINTS = 4  # most points of a manifold
# The manifold of two colliders a and b: the unit normal from a to b (world axes), and points midway between the surfaces
# (world) with their separation (m), negative where they overlap. A feature identifies what touches, and is the same from step
# to step while the same features touch. `first`: the index of the first point in `contacts`, by island and colour (see
# `islands`).
MANIFOLD = np.dtype(
    [("points", "i8"), ("normal", "f8", 3), ("feature", "i8", POINTS), ("position", "f8", 3 * POINTS),
     ("separation", "f8", POINTS), ("first", "i8")],
    align=True,
)  # fmt: skip
MOST_PARTS = 16
# A pair that touches, with its bodies, the number of its points, and what `islands` gives it; `part`: of its bodies.
TOUCHING = np.dtype(
    [("pair", "i4"), ("a", "i4"), ("b", "i4"), ("points", "i4"), ("colour", "i4"), ("island", "i4"), ("part", "i4")],
    align=True,
)
SKIPPED = -1  # `points` of a pair that sleeps
NO_FEATURE = -1  # none is negative
UNSEEN = 1e300  # m/s: instead of the velocity that a contact had after the last step, if it was not there

# The witness: what separated two colliders last time, tried first the next.
NO_WITNESS, FACE_A, FACE_B, EDGE_EDGE, DIRECTION = range(5)
# Two colliders whose fat boxes overlap; b may be a mesh, and then the pair is of one `facet` of it. `axis`: the last search
# direction, in world axes; feature_a, feature_b: of the witness. `points`: of the last manifold; `drift`: a bound (m) of the
# motion of either since that was found, with so much `reach` (m). `impulse`: of the last step in world axes, by feature, of
# `stored` points: the warm start of the next. `after`, m/s: of these points, the velocity after that step, as its normal part
# and the tangential part as a vector, and `curve` of the contact likewise. `due`: the two do not meet before so long (s) from
# the end of half a step, and `apart` is the normal at which that was found; `left`: MET, UNMET, BOUNCES or BOUNCED, if
# contacts of the two were left to continuous detection (`contact.fast`); else 0; `late`: likewise to another part of a step
# (`contact.divided_steps`).
PAIR = np.dtype(
    [("a", "i8"), ("b", "i8"), ("facet", "i8"), ("witness", "i8"), ("feature_a", "i8"), ("feature_b", "i8"),
     ("axis", "f8", 3), ("points", "i8"), ("drift", "f8"), ("reach", "f8"), ("stored", "i8"), ("feature", "i8", POINTS),
     ("impulse", "f8", 3 * POINTS), ("after", "f8", 8 * POINTS), ("due", "f8"), ("apart", "f8", 3), ("left", "i8"),
     ("late", "i8")],
    align=True,
)  # fmt: skip


# One point of contact, the input of the solvers, at a position in the world. Arms reach from the centres of mass of bodies a
# and b to the point; `frame` holds the normal (from a to b) and two tangents row by row; all in world axes. Relative
# velocity: of b's point less a's. `bend`, `curve` and `after`, m/s, in the frame: what it is moved by in the law of contact;
# half of what it changed by between two steps; and its value after the impulses of the last step, if that had a contact of
# the same features (else `after` is UNSEEN); see `contact.curved_paths`.
CONTACT = np.dtype(
    [("a", "i8"), ("b", "i8"), ("pair", "i8"), ("point", "i8"),
     ("position", "f8", 3), ("frame", "f8", 9), ("arm_a", "f8", 3), ("arm_b", "f8", 3), ("separation", "f8"),
     ("friction", "f8"), ("restitution", "f8"), ("bias", "f8"), ("bend", "f8", 3), ("curve", "f8", 3), ("after", "f8", 3),
     ("impulse", "f8", 3)],
    align=True,
)  # fmt: skip

# Bodies that touch each other, or are connected by joints (`jointed`). Its contacts are contacts[first : end], those of its
# k-th colour from colours[first_colour + k] on; its bodies are members[first_member : end_member]; its pairs, eight by eight,
# are groups first_group … end_group, which a small island does not have; they were sorted by place in so many `parts`,
# and are in buckets from first_bucket on. `surfaces`: whether some contact has another law
# than Coulomb's (`contact.surface_laws`). The work of its solver in this step: whether it is `slow`, whether `single`
# precision is enough, its passes, the residual reached (m/s) and the one aimed at (m/s), and the overlap left (m).
ISLAND = np.dtype(
    [("first", "i8"), ("end", "i8"), ("first_colour", "i8"), ("colours", "i8"), ("first_member", "i8"), ("end_member", "i8"),
     ("first_group", "i8"), ("end_group", "i8"), ("first_bucket", "i8"), ("parts", "i8"), ("jointed", "i8"),
     ("surfaces", "i8"), ("slow", "i8"), ("single", "i8"), ("iterations", "i8"), ("residual", "f8"),
     ("aim", "f8"), ("overlap", "f8")],
    align=True,
)  # fmt: skip

# Entries of `counts`: the numbers of pairs, contacts and islands; the room needed, where there was not enough; the axes of
# the sweep and its strips; the number of bodies that contacts can move, those after them being kinematic; how many fat boxes
# have changed since pairs were found; whether the narrow phase has taken the motion in `places` into account; whether
# `contacts` are in the order of the manifolds; how many pairs touch; whether colliders without pairs may wait (see
# `broad_phase.waits`). Of `near`: the round of its look, how many contacts and bodies it has found. Whether pairs were
# dropped by a search for pairs that had no room for the new ones.
PAIRS, CONTACTS, ISLANDS, NEED_PAIRS, NEED_CONTACTS, NEED_STRIPS, SWEEP_AXIS, STRIP_AXIS = range(8)
MOVED, LEFT, MET, ORDERED, TOUCH, LAZY = range(8, 14)
ROUND, NEAR, NEAR_MEMBERS, DROPPED, COUNTS = range(14, 19)
# Numbers of an entry of a strip: lower and upper end of a fat box along the axis of the sweep, across the strips, and along
# the third axis; whether it has changed; the collider.
ENTRY, ENTRY_LEFT, ENTRY_COLLIDER = 8, 6, 7
FAR_AWAY = 1e300  # m: where empty boxes begin
NEED_ROOM = 1  # status: `counts` says how much
SCRATCH = 4096
NO_ISLAND = -1
LANE_COUNTS = 2 * WIDTH  # numbers a group has in `lanes`
FREE = -1  # `linked` of a body without joints
AWAKE, UNMOVED = 0, -1
# Tasks of collision detection, whose task is else a number of bodies
SAVE_PLACES, SAVE_DETECTION, RESTORE_DETECTION = -101, -102, -103
# Families of pairs, each one function of the narrow phase, compiled where a scene has such a pair; and the function that
# measures the distance of a convex pair.
ROUND_PAIR, BOX_PAIR, HULL_PAIR, PLANE_PAIR, CONVEX_PAIR, MESH_PAIR, DISTANCE, FUNCTIONS = range(8)


class Collision(NamedTuple):
    """The tables of collision detection."""

    colliders: Any = column(
        "colliders", COLLIDER, writer="collide.build",
        unit="size m, position m, rotation 1, radius m, friction 1, restitution 1",
    )  # fmt: skip
    body_of: Any = column("colliders", np.int32, writer="collide.build", doc="`body` of `colliders`, side by side")
    places: Any = column(
        "colliders", PLACE, writer="collide.broad_phase",
        unit="x m, rotation 1, centre m, lower m, upper m, moves m, reach m, moved m, shift m, turn rad, "
        "lever m, room m, body 1",
    )  # fmt: skip
    fat_boxes: Any = column(
        "colliders", FAT_BOX, writer="collide.broad_phase",
        unit="lower m, upper m, lower_before m, upper_before m, reach m",
    )  # fmt: skip
    vertices: Any = column(
        "3 * corners",
        unit="m",
        writer="collide.build",
        doc="corners of hulls and facets, in the frame of their collider",
    )
    faces: Any = column(dtype=FACE, unit="normal 1, offset m", writer="collide.build")
    edges: Any = column(dtype=EDGE, writer="collide.build")
    loops: Any = column(dtype=np.int64, writer="collide.build", doc="see FACE")
    travel: Any = column(
        "2 * (bodies + 1)", unit="m, rad", writer="contact.step",
        doc="how far each body may move before the next detection; zero: not known",
    )  # fmt: skip
    facets: Any = column(dtype=FACET, writer="collide.mesh", doc="of all meshes")
    sides: Any = column(dtype=SIDE, unit="beside 1", writer="collide.mesh")
    rings: Any = column("3 * edges_of_meshes", unit="1", writer="collide.mesh", doc="see SIDE")
    nodes: Any = column(dtype=NODE, unit="lower m, upper m", writer="collide.mesh")
    trees: Any = column(dtype=TREE, writer="collide.mesh", doc="one a mesh")
    leaves: Any = column(dtype=np.int64, writer="collide.build", doc="the node of each facet")
    asked: Any = column(
        dtype=np.float64, unit="m", writer="collide.broad_phase",
        doc="of each tree and collider: the box in the frame of the mesh whose facets are pairs, lower and upper; and then "
        "the following ones",
    )  # fmt: skip
    near_planes: Any = column(
        dtype=np.int64, writer="collide.broad_phase",
        doc="of each of `unbounded` and each collider: whether they are a pair",
    )  # fmt: skip
    excluded: Any = column(
        dtype=np.int64, writer="collide.build",
        doc="sorted keys i · colliders + j, i < j, of pairs that pass through each other",
    )  # fmt: skip
    rule_keys: Any = column(
        dtype=np.int64, writer="collide.build", doc="sorted keys of pairs whose coefficients are those of a rule"
    )
    rule_values: Any = column("2 * rules", unit="1", writer="collide.build", doc="their friction and restitution")
    scratch: Any = column("SCRATCH", unit="any", fill=np.nan, writer="collide", doc="workspace of the narrow phase")
    pairs: Any = column(
        "pairs", PAIR, unit="axis 1, drift m, reach m, impulse N s, after m/s, due s, apart 1", writer="collide.broad_phase",
        used="counts[PAIRS]", doc="all that may touch; each stays in its row until the last one takes its place",
    )  # fmt: skip
    order: Any = column(
        dtype=np.int64,
        writer="collide.broad_phase",
        doc="bounded colliders but meshes, sorted along the axis of the sweep",
    )
    parts: Any = column(
        "bodies + 1", np.int64, writer="collide.broad_phase",
        doc="by `order`, in MOST_PARTS of as many colliders each: where in the scene each body is",
    )  # fmt: skip
    unbounded: Any = column(dtype=np.int64, writer="collide.build", doc="the half-spaces")
    strips: Any = column(
        "3 * colliders + 3", np.int64, writer="collide.broad_phase",
        doc="first entry of each strip, and one more; then scratch, and whether something in each has a new fat box",
    )  # fmt: skip
    entries: Any = column(
        "ENTRY * entries", unit="m, 1", writer="collide.broad_phase",
        doc="colliders of each strip, in the order of the sweep: see ENTRY",
    )  # fmt: skip
    still: Any = column(
        "1", unit="1", writer="contact.time_stepping",
        doc="a manifold is kept while the motion since is below so much of the radius of the smaller collider",
    )  # fmt: skip
    counts: Any = column("COUNTS", np.int64, writer="collide", doc="see PAIRS and those that follow")
    manifold: Any = column(
        "1", MANIFOLD, unit="normal 1, position m, separation m", writer="collide.narrow_phase", doc="its result"
    )
    spare: Any = column("1", MANIFOLD, unit="normal 1, position m, separation m", writer="collide.near", doc="scratch")
    manifolds: Any = column(
        "pairs",
        MANIFOLD,
        unit="normal 1, position m, separation m",
        writer="collide.detect",
        doc="one a pair, which stays while neither of the two moves",
    )
    touching: Any = column(
        "pairs", TOUCHING, used="counts[TOUCH]", writer="collide.islands", doc="the pairs that touch, in their order"
    )
    contacts: Any = column(
        "contacts", CONTACT, used="counts[CONTACTS]", writer="collide.detect", doc="points of contact",
        unit="position m, frame 1, arm_a m, arm_b m, separation m, friction 1, restitution 1, bias m/s, bend m/s, curve m/s, "
        "after m/s, impulse N s",
    )  # fmt: skip
    linked: Any = column(
        "bodies + 1", np.int64, fill=FREE, writer="contact.solvers",
        doc="the first of the bodies that joints connect, for each of them; FREE for others",
    )  # fmt: skip
    parents: Any = column("bodies + 1", np.int64, writer="collide.islands", doc="of the union–find")
    island_of: Any = column("bodies + 1", np.int64, fill=NO_ISLAND, writer="collide.islands")
    taken: Any = column(
        "bodies + 1", np.int64, writer="collide.islands", doc="the colours of a body's pairs, one bit each"
    )
    islands: Any = column(
        "bodies + 1",
        ISLAND,
        unit="residual m/s, aim m/s, overlap m",
        used="counts[ISLANDS]",
        writer="collide.islands",
    )
    members: Any = column(
        "2 * bodies", np.int64, writer="collide.islands",
        doc="bodies of islands; after as many as there are bodies, those that `near` found",
    )  # fmt: skip
    marks: Any = column("bodies + 1", np.int64, writer="collide.near", doc="see `near`")
    colours: Any = column("pairs", np.int64, writer="collide.islands")
    # Groups: WIDTH pairs of one colour, those with most points first
    lanes: Any = column(
        "LANE_COUNTS * pairs", np.int32, writer="collide.islands",
        doc="the first contact of each pair of a group, and then how many points each has",
    )  # fmt: skip
    group_points: Any = column(
        "pairs + 1",
        np.int64,
        writer="collide.islands",
        doc="most points of a pair of each group, summed over those before",
    )
    colour_groups: Any = column(
        "pairs + 1", np.int64, writer="collide.islands", doc="the first group of each of `colours`"
    )
    bucket_groups: Any = column(
        "2 * POINTS * pairs", np.int64, writer="collide.islands",
        doc="of each bucket of a large island, see `islands.bucket_of`: the first of its groups, and where they end",
    )  # fmt: skip
    buckets: Any = column("POINTS * pairs", np.int64, writer="collide.islands", doc="scratch: a counting sort")
    asleep: Any = column(
        "bodies + 1", np.int64, writer="contact.step", doc="AWAKE, or the number of the nap; the world: UNMOVED"
    )
    job_queue: Any = column("0", np.int64, writer="core.thread_pool", doc="see `core.thread_pool`")
    # What `restore_detection` puts back
    saved_pairs: Any = column(
        "pairs", PAIR, unit="axis 1, drift m, reach m, impulse N s, after m/s, due s, apart 1", writer="contact.step"
    )
    saved_manifolds: Any = column("pairs", MANIFOLD, unit="normal 1, position m, separation m", writer="contact.step")
    saved_places: Any = column(
        "colliders", PLACE, writer="contact.step",
        unit="x m, rotation 1, centre m, lower m, upper m, moves m, reach m, moved m, shift m, turn rad, "
        "lever m, room m, body 1",
    )  # fmt: skip
    saved_boxes: Any = column(
        "colliders", FAT_BOX, writer="contact.step",
        unit="lower m, upper m, lower_before m, upper_before m, reach m",
    )  # fmt: skip
    saved_order: Any = column(dtype=np.int64, writer="contact.step")
    saved_asked: Any = column(dtype=np.float64, unit="m", writer="contact.step")
    saved_near_planes: Any = column(dtype=np.int64, writer="contact.step")
    saved_asleep: Any = column("bodies + 1", np.int64, writer="contact.step")
    saved_counts: Any = column("COUNTS", np.int64, writer="contact.step")
    functions: Any = column(
        "FUNCTIONS", np.int64, writer="collide.narrow_phase", doc="addresses of the functions of each family"
    )


_words = viewer(np.int64)

# Pairs ----------------------------------------------------------------------------------------------------------------
# Which colliders may touch, with what is known of them. A new pair takes the next row; where one ends, the last takes its
# row. So the order of pairs follows from that of the step before, and what is known of a pair stays where it is.


@njit
def add_pair(i, j, facet, found, bodies, collision):
    """Add a pair to `found` ones unless it can never touch; returns the number of pairs, with or without room. Writes `pairs`
    and `manifolds`.

    facet : of a mesh, if one of the two is one; else zero.
    """
    colliders, pairs = collision.colliders, collision.pairs
    body_i, body_j = colliders[i].body, colliders[j].body
    if body_i == body_j or (body_i >= bodies and body_j >= bodies):
        return found
    if (
        collision.excluded.shape[0] > 0
        and find_key(collision.excluded, min(i, j) * colliders.shape[0] + max(i, j)) >= 0
    ):
        return found
    if found >= pairs.shape[0]:
        return found + 1
    if colliders[i].kind > colliders[j].kind or (colliders[i].kind == colliders[j].kind and i > j):
        i, j = j, i
    pair = pairs[found]
    pair.a, pair.b, pair.facet = i, j, facet
    pair.witness = NO_WITNESS
    pair.feature_a, pair.feature_b = 0, 0
    pair.points, pair.stored, pair.due, pair.left, pair.late = 0, 0, 0.0, 0, 0
    pair.drift, pair.reach = FAR_AWAY, 0.0
    for k in range(3):
        pair.axis[k] = pair.apart[k] = 0.0
    collision.manifolds[found].points = 0
    store3(collision.manifolds[found].normal, (0.0, 0.0, 0.0))
    return found + 1


# What detection carries over from one look to the next can be saved, and put back, if a step is to be made again from where
# nothing of it was known. Rows are copied word by word: field by field would be a long kernel, that a new field is easily
# forgotten in.

if DISABLED:

    def copy_rows(to: Any, source: Any, rows: int) -> None:
        """Copy so many rows of a table."""
        to[:rows] = source[:rows]

    def copy_row(to: Any, i: int, source: Any, k: int) -> None:
        """Copy row k of a table to row i."""
        to[i] = source[k]

else:

    @njit
    def copy_rows(to, source, rows):
        """Copy so many rows of a table."""
        count = rows * (source.itemsize // 8)
        copy(_words(np.int64(to.ctypes.data), count), _words(np.int64(source.ctypes.data), count))

    @njit
    def copy_row(to, i, source, k):
        """Copy row k of a table to row i."""
        size = source.itemsize
        words = size // 8
        copy(_words(np.int64(to.ctypes.data) + i * size, words), _words(np.int64(source.ctypes.data) + k * size, words))


@njit
def move_pair(source, to, collision):
    """Copy the rows of a pair and its manifold to another."""
    copy_row(collision.pairs, to, collision.pairs, source)
    copy_row(collision.manifolds, to, collision.manifolds, source)


@njit
def save_places(collision):
    """Save `places`, a part of what is carried over, which finding impacts in free motion changes."""
    copy_rows(collision.saved_places, collision.places, collision.places.shape[0])


@njit
def save_detection(collision):
    """Save the rest of it."""
    copy_rows(collision.saved_pairs, collision.pairs, collision.counts[PAIRS])
    copy_rows(collision.saved_manifolds, collision.manifolds, collision.counts[PAIRS])
    copy_rows(collision.saved_boxes, collision.fat_boxes, collision.fat_boxes.shape[0])
    copy(collision.saved_order, collision.order)
    copy(collision.saved_asked, collision.asked)
    copy(collision.saved_near_planes, collision.near_planes)
    copy(collision.saved_asleep, collision.asleep)
    copy(collision.saved_counts, collision.counts)


@njit
def restore_detection(collision):
    """Put it back, but for how much room was needed. The order of contacts is found anew, which follows from it."""
    counts, saved = collision.counts, collision.saved_counts
    for k in range(COUNTS):
        if k != NEED_PAIRS and k != NEED_CONTACTS and k != NEED_STRIPS:  # noqa: PLR1714 - compiled
            counts[k] = saved[k]
    counts[ORDERED] = 0
    copy_rows(collision.pairs, collision.saved_pairs, counts[PAIRS])
    copy_rows(collision.manifolds, collision.saved_manifolds, counts[PAIRS])
    copy_rows(collision.places, collision.saved_places, collision.places.shape[0])
    copy_rows(collision.fat_boxes, collision.saved_boxes, collision.fat_boxes.shape[0])
    copy(collision.order, collision.saved_order)
    copy(collision.asked, collision.saved_asked)
    copy(collision.near_planes, collision.saved_near_planes)
    copy(collision.asleep, collision.saved_asleep)


@njit
def find_key(keys, key):
    """The index of a key in a sorted array, or −1."""
    low, high = 0, keys.shape[0]
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < keys.shape[0] and keys[low] == key else -1


# Warm start -----------------------------------------------------------------------------------------------------------
# Impulses of a step by feature, the start of the next.


@inlined
def stored_point(pair, feature):
    """The number of the point with the same feature in the step before; −1 without one."""
    for k in range(pair.stored):
        if pair.feature[k] == feature:
            return k
    return -1


@inlined
def warm_start_impulse(pair, feature):
    """The impulse (world axes) of the same feature in the step before, or none."""
    k = stored_point(pair, feature)
    return (pair.impulse[3 * k], pair.impulse[3 * k + 1], pair.impulse[3 * k + 2]) if k >= 0 else (0.0, 0.0, 0.0)


@inlined
def recall_loaded(pair, manifold):
    """Write the features of a pair that bore force in the step before to a manifold, before it is filled; others are
    NO_FEATURE."""
    for k in range(POINTS):
        p = warm_start_impulse(pair, pair.feature[k])
        manifold.feature[k] = pair.feature[k] if p[0] != 0.0 or p[1] != 0.0 or p[2] != 0.0 else NO_FEATURE


@inlined
def save_impulse(contact, pair):
    """Store the impulse of a contact in its pair, in world axes, and its velocity after it."""
    at, to = 3 * contact.point, 8 * contact.point
    pair.after[to], pair.after[to + 4] = contact.after[0], contact.curve[0]
    for c in range(3):
        pair.impulse[at + c] = (
            contact.impulse[0] * contact.frame[c]
            + contact.impulse[1] * contact.frame[3 + c]
            + contact.impulse[2] * contact.frame[6 + c]
        )
        pair.after[to + 1 + c] = contact.after[1] * contact.frame[3 + c] + contact.after[2] * contact.frame[6 + c]
        pair.after[to + 5 + c] = contact.curve[1] * contact.frame[3 + c] + contact.curve[2] * contact.frame[6 + c]


@njit
def save_warm_start(begin, end, collision):
    """Store the impulses of contacts begin … end in their pairs, the warm start of the next step."""
    contacts, pairs, manifolds = collision.contacts, collision.pairs, collision.manifolds
    for i in range(begin, end):
        contact = contacts[i]
        pair, manifold = pairs[contact.pair], manifolds[contact.pair]
        pair.stored = manifold.points
        pair.feature[contact.point] = manifold.feature[contact.point]
        save_impulse(contact, pair)


@njit
def clear_warm_start(collision):
    """Set the impulses of the contacts to zero."""
    contacts = collision.contacts
    for i in range(collision.counts[CONTACTS]):
        store3(contacts[i].impulse, (0.0, 0.0, 0.0))
