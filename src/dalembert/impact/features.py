"""Contacts between features: which corner, edge, face or ball of one collider touches which of another.

A contact of the event method must be a smooth function of the state until the next event, with a known second
derivative. So it is defined by two features, each fixed to its body, and not by the points of collision detection,
which are found anew in each step. In order: the tables, features of colliders, and the geometry of a contact at a
state.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..collide.tables import Collision
from ..core.jit import inlined, njit
from ..core.math3 import add, add_scaled, cross, dot, load3, matvec, norm, perpendicular, scale, store3, sub
from ..core.tables import column, part
from ..dynamics.kinematics import load9
from ..model.tables import System
from ..scene.shapes.base import BOX, CAPSULE, HALF_SPACE, HULL, SPHERE

# Tables ----------------------------------------------------------------------------------------------------------------

# Kinds of contact: g is the distance of a point of body i (of the ball about it) from
PLANE = 0  # a plane of j
BALL = 1  # a point of j (the ball about it)
LINE = 2  # a line of j (the capsule about it)
EDGES = 3  # a line of j, with a line of i

# How a contact takes part in the smooth motion
OPEN = 0  # it touches, but bears no force
FRICTIONLESS = 1
SLIDING = 2
STICKING = 3  # or rolling: the points in contact have no relative velocity

# A contact between two features, each fixed to its body. point_*, axis_*: of the feature in the frame of the body; axis_j
# is the normal of a PLANE, out of j. radius: of both balls, g = distance − radius; radius_i that of i alone. sign: turns
# axis_i × axis_j from j to i (EDGES). straight: 1 if it slides and is held on its line, see `resting_contact`. first_*,
# last_*: rows of `sides` that bound the feature of i and of j; a and b: colliders.
# slack_*: what is added to g (m), to the margin of the cone and the normal force (N), to the velocity along the way it slides
# (m/s) and to the distance from the rim (m) before they count as crossed. The rest is computed at each state, in world
# axes: belt_*, tangential velocity of the surface beside that of its body; frame, normal (j → i) and two tangents row by
# row; arms from the centres of mass to the position; velocity of i less j
# in the frame; bias, its acceleration without forces; force on i in the frame; slide, the way it slides. least, most: of the
# margins of its force (`resting_contact.force_margin`) since the event function was last evaluated, N; seen_at, seen: time of
# the last look into a step, and the margin there, s, N; rising, span: its mean rate since the look before, and the time from
# that one, N/s, s.
TOUCH = np.dtype(
    [("kind", "i8"), ("i", "i8"), ("j", "i8"), ("mode", "i8"), ("a", "i8"), ("b", "i8"), ("straight", "i8"),
     ("first_i", "i8"), ("last_i", "i8"), ("first_j", "i8"), ("last_j", "i8"),
     ("point_i", "f8", 3), ("axis_i", "f8", 3), ("point_j", "f8", 3), ("axis_j", "f8", 3),
     ("radius", "f8"), ("radius_i", "f8"), ("sign", "f8"), ("friction", "f8"), ("restitution", "f8"),
     ("slack_gap", "f8"), ("slack_cone", "f8"), ("slack_force", "f8"), ("slack_slide", "f8"), ("slack_rim", "f8"),
     ("belt_i", "f8", 3), ("belt_j", "f8", 3),
     ("frame", "f8", 9), ("position", "f8", 3), ("arm_i", "f8", 3), ("arm_j", "f8", 3), ("gap", "f8"),
     ("velocity", "f8", 3), ("bias", "f8", 3), ("force", "f8", 3), ("slide", "f8", 3),
     ("least", "f8"), ("most", "f8"), ("seen_at", "f8"), ("seen", "f8"), ("rising", "f8"), ("span", "f8")],
    align=True,
)  # fmt: skip
SIDE = 4  # numbers a row of `sides`: a unit normal out of the feature in the frame of its body, and its offset there

# mechanism, detector: C functions and their `data`. touches: how many there are; active: those that bear force come
# first. ledger: where the entries of contact stand in the state. margin: m, see `detect`. tiny_gap (m), tiny_speed (m/s)
# and tiny_force (N): what counts as zero. near: m, points of one pair nearer than that are one contact. slack: m, added to
# the separation of what does not touch yet. cause, which: kind of the nearest event, and the touch that it happens to, or −1.
# wait: steps until contacts are held on straight lines again.
OPTIONS = np.dtype(
    [("mechanism", "i8"), ("mechanism_data", "i8"), ("detector", "i8"), ("detector_data", "i8"), ("touches", "i8"),
     ("active", "i8"), ("ledger", "i8"), ("margin", "f8"), ("tiny_gap", "f8"), ("tiny_speed", "f8"),
     ("tiny_force", "f8"), ("near", "f8"), ("worst_gap", "f8"), ("slack", "f8"), ("cause", "i8"), ("which", "i8"),
     ("wait", "i8")],
    align=True,
)  # fmt: skip

RESPOND = (
    10  # task besides those of `core.c_function`: geometry, responses and smooth accelerations of all touches at (t, y)
)
HOLD_LINES = 21  # another: `straight` of the touches that bear force at (t, y)


class Touching(NamedTuple):
    """Contacts by events and their workspace; n touches, m bodies and nodes, numbered as in `System`."""

    options: Any = column("1", OPTIONS)
    touches: Any = column("n", TOUCH)
    sides: Any = column("SIDE * sides")
    columns: Any = column(
        "3 * n * 6 * m",
        fill=np.nan,
        doc="wrench of a unit force of a contact on each body, with the reactions of joints",
    )
    matrix: Any = column(
        "(3 * n) ** 2", fill=np.nan, doc="relative accelerations that unit forces make, in the frames of the contacts"
    )
    free: Any = column("3 * n", unit="m/s²", fill=np.nan, doc="relative accelerations without forces of contact")
    system: Any = column("(3 * n) ** 2", fill=np.nan, doc="equations of the forces that act")
    factor: Any = column("(3 * n) ** 2", fill=np.nan, doc="their factorization")
    right: Any = column("3 * n", fill=np.nan, doc="their right-hand side")
    weight: Any = column("3 * n", fill=np.nan, doc="what makes the forces unique where they are not")
    unknown: Any = column("3 * n", unit="N", fill=np.nan, doc="their solution")
    change: Any = column("3 * n", unit="N", fill=np.nan, doc="its correction")
    rows: Any = column("3 * n", np.int64, doc="which component of which contact a row is")
    pivots: Any = column("3 * n", np.int64)
    shift: Any = column("6 * m", fill=np.nan, doc="a sum of columns")
    answers: Any = column(
        "3 * n * unknowns",
        unit="N or N m",
        fill=np.nan,
        doc="multipliers of joints that answer a unit force of a contact",
    )
    spare: Any = column("state", fill=np.nan, doc="a derivative")


# Two colliders that may meet within a step, a half-space second. clear: 1 where they do not meet in the rest of the step.
# push: the most that the centres of their bodies accelerate relative to each other, whirl: the most that angular acceleration
# adds to that of their points, m/s². normal: from a to b, where they were nearest last.
PAIR = np.dtype(
    [("a", "i8"), ("b", "i8"), ("clear", "i8"), ("push", "f8"), ("whirl", "f8"), ("normal", "f8", 3)], align=True
)
# system: the C function of the whole system. count: of the pairs that are looked at. doubt: 1 where a force of contact may
# leave its limits within the step. begin, end: of the step, s.
LOOKING = np.dtype([("system", "i8"), ("count", "i8"), ("doubt", "i8"), ("begin", "f8"), ("end", "f8")], align=True)


class Looking(NamedTuple):
    """What is looked at within a step, see `grazing`; n pairs at most."""

    options: Any = column("1", LOOKING)
    pairs: Any = column("n", PAIR)
    reach: Any = column("colliders", unit="m", doc="of the corners or axis of a collider, from the centre of its body")


class ImpactTables(NamedTuple):
    """All tables of a mechanism with contact by events."""

    system: Any = part(System)
    touching: Any = part(Touching)
    collision: Any = part(Collision)
    looking: Any = part(Looking)


# Features of colliders --------------------------------------------------------------------------------------------------

SUPPORTED = {SPHERE, CAPSULE, BOX, HULL, HALF_SPACE}
ON = 1e-6  # of a collider's size: a point nearer than this lies on a face, well above the rounding of detection
RIM = 2e-5  # of a collider's size: how far beyond the rim of a face a contact ends; more than a corner is searched for
ALIGNED = 1e-6  # 1 − cosine of the angle between the normals of a face and of a contact on it
CROSSING = 1e-3  # sine of the angle from which two edges touch in one point
END = (
    0.05  # of half the length of a capsule: contacts of one that is almost parallel to another are at an end if so near
)
CORNER_POINT, EDGE_LINE, FACE_PLANE = range(3)


class Feature(NamedTuple):
    """A feature of a collider at a point, in the frame of its body: a corner or ball (point), an edge or the axis of a
    capsule (a point of it, and its direction), or a face (a point, and its outward normal). radius: of the ball about it, m.
    sides: (n, 4) of the planes that bound it."""

    kind: int
    point: np.ndarray
    axis: np.ndarray
    radius: float
    sides: np.ndarray


class ColliderPose(NamedTuple):
    """The pose of a collider: body, pose in the frame of the body, and pose of the body."""

    body: int
    position: np.ndarray
    rotation: np.ndarray
    body_position: np.ndarray
    body_rotation: np.ndarray

    def local(self, point: np.ndarray) -> np.ndarray:
        """A point of the world in the frame of the collider."""
        in_body = self.body_rotation.T @ (point - self.body_position)
        return np.asarray(self.rotation.T @ (in_body - self.position))

    def turn(self, vector: np.ndarray) -> np.ndarray:
        """A vector of the world in the frame of the collider."""
        return np.asarray(self.rotation.T @ (self.body_rotation.T @ vector))

    def turned(self, feature: Feature) -> np.ndarray:
        """The axis of a feature, in the world."""
        return np.asarray(self.body_rotation @ feature.axis)

    def feature(self, kind: int, point: Any, axis: Any, radius: float, sides: Any) -> Feature:
        """A feature in the frame of the collider, taken to that of its body."""
        planes = np.reshape(np.asarray(sides, float), (-1, 4))
        normals = planes[:, :3] @ self.rotation.T
        offsets = planes[:, 3] + normals @ self.position
        return Feature(
            kind, self.rotation @ np.asarray(point, float) + self.position, self.rotation @ np.asarray(axis, float), radius,
            np.column_stack([normals, offsets]),
        )  # fmt: skip


def facets(collision: Collision, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Outward normals (n, 3) and offsets (n,) of the faces of a box or hull, in its frame."""
    collider = collision.colliders[c]
    if collider.kind == BOX:
        return np.vstack([np.eye(3), -np.eye(3)]), np.tile(collider["size"], 2)
    faces = collision.faces[collider.first_face : collider.first_face + collider.faces]
    return np.array(faces.normal), np.array(faces.offset)


def corners(collision: Collision, c: int) -> np.ndarray:
    """(n, 3) corners of a box or hull, in its frame."""
    collider = collision.colliders[c]
    if collider.kind == BOX:
        signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
        return np.asarray(signs * collider["size"])
    first = 3 * collider.first_vertex
    return np.array(collision.vertices[first : first + 3 * collider.vertices]).reshape(-1, 3)


class Surface(NamedTuple):
    """A collider: its shape, size and radius, and of a box or hull the normals (n, 3) and offsets (n,) of its faces and its
    corners (m, 3), in its frame."""

    kind: int
    size: tuple[float, ...]
    radius: float
    normals: np.ndarray
    offsets: np.ndarray
    corners: np.ndarray


def surfaces_of(collision: Collision) -> list[Surface]:
    """The surfaces of all colliders."""
    found = []
    for c, collider in enumerate(collision.colliders):
        flat = collider.kind in (BOX, HULL)
        normals, offsets = facets(collision, c) if flat else (np.zeros((0, 3)), np.zeros(0))
        points = corners(collision, c) if flat else np.zeros((0, 3))
        size = tuple(np.asarray(collider["size"], float).tolist())
        found.append(Surface(int(collider.kind), size, float(collider.radius), normals, offsets, points))
    return found


def features_at(collider: Surface, pose: ColliderPose, point: np.ndarray, outward: np.ndarray) -> list[Feature]:
    """The features of a collider at a point (world) of its surface, `outward` the normal of the contact out of it (world):
    the face there if it looks that way, then the corner, edge or ball."""
    p, n = pose.local(point), pose.turn(outward)
    size = collider.size
    none = np.zeros((0, 4))
    zero = np.zeros(3)
    if collider.kind == HALF_SPACE:
        return [pose.feature(FACE_PLANE, zero, (0, 0, 1), 0.0, none)]
    if collider.kind == SPHERE:
        return [pose.feature(CORNER_POINT, zero, zero, size[0], none)]
    if collider.kind == CAPSULE:
        return _capsule(pose, size, p)
    return _polytope(collider, pose, p, n)


def _capsule(pose: ColliderPose, size: Any, p: np.ndarray) -> list[Feature]:
    """The ball at an end, or the axis."""
    end = np.array([0.0, 0.0, np.copysign(size[1], p[2])])
    ball = pose.feature(CORNER_POINT, end, np.zeros(3), size[0], np.zeros((0, 4)))
    if abs(p[2]) >= size[1] * (1.0 - ON):
        return [ball]
    length = size[1] + RIM * size[0]
    sides = [(0, 0, 1, length), (0, 0, -1, length)]
    return [pose.feature(EDGE_LINE, np.zeros(3), (0, 0, 1), size[0], sides)]


def _polytope(collider: Surface, pose: ColliderPose, p: np.ndarray, n: np.ndarray) -> list[Feature]:
    """The face at a point p of a box or hull if its normal is n, then the corner or edge there. Where there is neither, as
    where two faces meet at a small angle beyond the edge of one of them, the face whatever its normal is."""
    normals, offsets = collider.normals, collider.offsets
    length, rim = ON * collider.radius, RIM * collider.radius
    depth, along_normal = normals @ p - offsets, normals @ n
    touched = np.flatnonzero(depth > -length)
    if not len(touched):  # a point between overlapping surfaces: the nearest face
        touched = np.array([int(np.argmax(depth))])
    features = []
    facing = int(touched[int(np.argmax(along_normal[touched]))])
    if along_normal[facing] > 1.0 - ALIGNED:
        features.append(_face(collider, pose, p, facing))
    away = collider.corners - p
    distance = np.einsum("ij,ij->i", away, away)
    nearest = int(np.argmin(distance))
    if distance[nearest] <= (10.0 * length) ** 2:
        features.append(pose.feature(CORNER_POINT, collider.corners[nearest], np.zeros(3), 0.0, np.zeros((0, 4))))
    elif len(touched) >= 2:
        one, two = touched[np.argsort(-along_normal[touched])[:2]]
        along = np.cross(normals[one], normals[two])
        along /= np.linalg.norm(along)
        bounds = np.abs(normals @ along) > ON
        bounds[[one, two]] = False
        sides = np.column_stack([normals[bounds], offsets[bounds] + rim])
        features.append(pose.feature(EDGE_LINE, p, along, 0.0, sides))
    return features or [_face(collider, pose, p, facing)]


def _face(collider: Surface, pose: ColliderPose, p: np.ndarray, k: int) -> Feature:
    """Face k of a box or hull, at the point of it that is nearest to p."""
    others = np.arange(len(collider.normals)) != k
    sides = np.column_stack([collider.normals[others], collider.offsets[others] + RIM * collider.radius])
    on_it = p - (collider.normals[k] @ p - collider.offsets[k]) * collider.normals[k]
    return pose.feature(FACE_PLANE, on_it, collider.normals[k], 0.0, sides)


def match_features(features_a: list[Feature], features_b: list[Feature], normal: np.ndarray, lines_cross: bool) -> Any:
    """(kind, True if the first is body i, feature of i, feature of j) of the two features that make a smooth contact;
    None if there is none. normal: from a to b."""
    a = {feature.kind: feature for feature in features_a}
    b = {feature.kind: feature for feature in features_b}
    if CORNER_POINT in a and FACE_PLANE in b:
        return PLANE, True, a[CORNER_POINT], b[FACE_PLANE]
    if CORNER_POINT in b and FACE_PLANE in a:
        return PLANE, False, b[CORNER_POINT], a[FACE_PLANE]
    if EDGE_LINE in a and EDGE_LINE in b and lines_cross:
        return EDGES, True, a[EDGE_LINE], b[EDGE_LINE]
    for one, two, first in ((a, b, True), (b, a, False)):
        if EDGE_LINE in one and FACE_PLANE in two:
            return PLANE, first, one[EDGE_LINE], two[FACE_PLANE]
        if CORNER_POINT in one and EDGE_LINE in two:
            return LINE, first, one[CORNER_POINT], two[EDGE_LINE]
    if CORNER_POINT in a and CORNER_POINT in b:
        return BALL, True, a[CORNER_POINT], b[CORNER_POINT]
    return None


def make_touch(
    contact: Any, collision: Collision, poses: list[ColliderPose], surfaces: list[Surface]
) -> tuple[Any, np.ndarray, np.ndarray] | None:
    """A row of TOUCH for a contact of collision detection, with the sides that bound its two features; None where the
    features there are part of another contact."""
    pair = collision.pairs[contact.pair]
    normal = np.array(contact.frame[:3])
    shift = 0.5 * contact.separation * normal
    on_a, on_b = contact.position - shift, contact.position + shift
    pose_a, pose_b = poses[pair.a], poses[pair.b]
    features_a = features_at(surfaces[pair.a], pose_a, on_a, normal)
    features_b = features_at(surfaces[pair.b], pose_b, on_b, -normal)
    lines_cross = _cross(features_a, features_b, pose_a, pose_b) > CROSSING
    match = match_features(features_a, features_b, normal, lines_cross)
    if match is None:
        match = _alongside(collision, pair, pose_a, pose_b, (on_a, on_b), features_a + features_b)
    if match is None:
        return None
    kind, first, feature_i, feature_j = match
    pose_i, pose_j = (pose_a, pose_b) if first else (pose_b, pose_a)
    row = np.zeros((), TOUCH)
    row["kind"], row["i"], row["j"], row["a"], row["b"] = kind, pose_i.body, pose_j.body, pair.a, pair.b
    row["point_i"], row["axis_i"] = feature_i.point, feature_i.axis
    row["point_j"], row["axis_j"] = feature_j.point, feature_j.axis
    row["radius_i"], row["radius"] = feature_i.radius, feature_i.radius + feature_j.radius
    if kind == PLANE and feature_i.kind == EDGE_LINE:  # where it touches now
        row["point_i"] = pose_i.body_rotation.T @ (contact.position + row["radius_i"] * (-normal if first else normal)
                                                    - pose_i.body_position)  # fmt: skip
    e_i, e_j = pose_i.body_rotation @ feature_i.axis, pose_j.body_rotation @ feature_j.axis
    outward = -normal if first else normal  # from j to i
    row["sign"] = np.copysign(1.0, np.cross(e_i, e_j) @ outward)
    row["friction"], row["restitution"] = contact.friction, contact.restitution
    return row, feature_i.sides if kind == EDGES else np.zeros((0, 4)), feature_j.sides


def _alongside(
    collision: Collision, pair: Any, pose_a: ColliderPose, pose_b: ColliderPose, points: Any, features: list[Feature]
) -> Any:
    """As `match_features`, for two capsules that are almost parallel: the ball at the nearest end on the axis of the other,
    or the two axes where no end is near; None for others."""
    rows = collision.colliders[pair.a], collision.colliders[pair.b]
    if len(features) != 2 or any(row.kind != CAPSULE for row in rows) or any(f.kind != EDGE_LINE for f in features):
        return None
    along = [pose.local(point)[2] for pose, point in zip((pose_a, pose_b), points, strict=True)]
    left = [1.0 - abs(z) / row["size"][1] for z, row in zip(along, rows, strict=True)]
    k = int(np.argmin(left))
    if left[k] > END and np.linalg.norm(np.cross(pose_a.turned(features[0]), pose_b.turned(features[1]))) > PARALLEL:
        return EDGES, True, features[0], features[1]
    size = rows[k]["size"]
    ball = _capsule((pose_a, pose_b)[k], size, np.array([0.0, 0.0, np.copysign(size[1], along[k])]))[0]
    return LINE, k == 0, ball, features[1 - k]


def _cross(features_a: list[Feature], features_b: list[Feature], pose_a: ColliderPose, pose_b: ColliderPose) -> float:
    """Sine of the angle between the edges of two colliders, 0 without edges."""
    for one in features_a:
        for two in features_b:
            if one.kind == EDGE_LINE and two.kind == EDGE_LINE:
                return float(np.linalg.norm(np.cross(pose_a.body_rotation @ one.axis, pose_b.body_rotation @ two.axis)))
    return 0.0


# Geometry of a contact at a state -----------------------------------------------------------------------------------------
#
# Seen from body j, whose features stand still, a point c of i has, with d = c − x_j and w = v_c − v_j − ω_j × d,
#
#     velocity      w
#     acceleration  a_r = a_c − a_j − α_j × d − ω_j × (ω_j × d) − 2 ω_j × w
#     with          a_c = a_i + α_i × s + ω_i × (ω_i × s),   s = c − x_i.
#
# The distance of c from a plane, a line or a point of j then changes, with n the unit normal from there to c, like
#
#     ġ = n·w,   g̈ = n·a_r + |w⊥|² / distance,
#
# where w⊥ is w across n, and across the line; for a plane the second term is not there. Of two lines, with e_i, e_j their
# directions, n = ± e_i × e_j / |e_i × e_j| turns at ṅ = ± ((ω_i − ω_j) × e_i × e_j)⊥ / |e_i × e_j| as seen from j, and with
# c the material point of i that is nearest,
#
#     ġ = n·w,   g̈ = n·a_r + 2 ṅ·w − distance |ṅ|².
#
# The terms without a and α are the bias; the others are J v̇. (At the point of contact P = c − (ρ_i + g/2) n they have the
# arms of P, as n × n = 0.) The relative velocity of the material points at P changes, where it is zero, like
#
#     u̇ = a_i + α_i × r_i − a_j − α_j × r_j + ω_i × (Ṗ − v_i) − ω_j × (Ṗ − v_j)
#
# with Ṗ the velocity of the point of contact itself, which is no material point of a ball that rolls.


BLIND = 1e4  # of the speed that counts as zero: the direction of a smaller one is rounding
PARALLEL = 1e-9  # sine of the angle of two edges below which their normal is not defined


@njit
def update_touches(count, tables):
    """The geometry of the first `count` touches, from the kinematics table."""
    touches = tables.touching.touches
    system = tables.system
    for k in range(count):
        follow = update_touch(touches[k], system.kinematics)
        if system.commands.shape[0] > 0:
            add_belts(touches[k], follow, system)


@inlined
def turned(kin, a):
    """A vector of the body in world axes."""
    return matvec(load9(kin.rotation), a)


@njit
def update_touch(touch, kinematics):
    """Frame, position, arms, gap, velocity and bias of one contact, from the kinematics table; the equations are above.
    Returns the velocity of the point of contact itself."""
    kin_i, kin_j = kinematics[touch.i], kinematics[touch.j]
    c = add(load3(kin_i.x), turned(kin_i, load3(touch.point_i)))
    q = add(load3(kin_j.x), turned(kin_j, load3(touch.point_j)))
    e_i, e_j = turned(kin_i, load3(touch.axis_i)), turned(kin_j, load3(touch.axis_j))
    if touch.kind == EDGES:
        n = edge_normal(e_i, e_j, touch.sign)
        k = cross(n, e_j)
        c = add_scaled(c, -dot(sub(c, q), k) / dot(e_i, k), e_i)
        distance = dot(n, sub(c, q))
    else:
        n, distance = normal(touch.kind, sub(c, q), e_j)
    omega_i, omega_j, v_i, v_j = load3(kin_i.omega), load3(kin_j.omega), load3(kin_i.v), load3(kin_j.v)
    s, d = sub(c, load3(kin_i.x)), sub(c, load3(kin_j.x))
    spin = cross(omega_i, s)
    w = sub(add(v_i, spin), add(v_j, cross(omega_j, d)))
    rate = normal_rate(touch, n, e_i, e_j, w, distance, sub(omega_i, omega_j))
    drift = sub(sub(cross(omega_i, spin), cross(omega_j, cross(omega_j, d))), scale(2.0, cross(omega_j, w)))
    bend = dot(w, rate)
    if touch.kind == EDGES:
        bend = 2.0 * bend - distance * dot(rate, rate)
    reach = touch.radius_i + 0.5 * (distance - touch.radius)
    p = add_scaled(c, -reach, n)
    touch.gap = distance - touch.radius
    store3(touch.position, p)
    r_i, r_j = sub(p, load3(kin_i.x)), sub(p, load3(kin_j.x))
    store3(touch.arm_i, r_i)
    store3(touch.arm_j, r_j)
    t = perpendicular(n)
    b = cross(n, t)
    u = sub(add(v_i, cross(omega_i, r_i)), add(v_j, cross(omega_j, r_j)))
    follow = add(v_i, spin)
    if touch.kind == EDGES:
        k = cross(n, e_j)
        slip = -(dot(w, k) + distance * dot(n, cross(rate, e_j))) / dot(e_i, k)
        follow = add_scaled(follow, slip, e_i)
    follow = add_scaled(follow, -reach, add(cross(omega_j, n), rate))
    shear = sub(cross(omega_i, sub(follow, v_i)), cross(omega_j, sub(follow, v_j)))
    store3(touch.velocity, (dot(n, u), dot(t, u), dot(b, u)))
    store3(touch.bias, (dot(n, drift) + bend, dot(t, shear), dot(b, shear)))
    for x in range(3):
        touch.frame[x], touch.frame[3 + x], touch.frame[6 + x] = n[x], t[x], b[x]
    return follow


# The surface of a body that moves by command may move along itself, with s = R v_s + R ω_s × r at a point P, r = P − x. At
# the point of contact, which moves at Ṗ, that changes like
#
#     ṡ = ω × R v_s + (ω × R ω_s) × r + R ω_s × (Ṗ − v).


@njit
def add_belts(touch, follow, system):
    """Add the velocities of moving surfaces, and their rates, to the tangents of `velocity` and `bias`. Writes `belt_*`."""
    s_i, rate_i = surface_motion(touch.i, touch, follow, system)
    s_j, rate_j = surface_motion(touch.j, touch, follow, system)
    store3(touch.belt_i, s_i)
    store3(touch.belt_j, s_j)
    s, rate = sub(s_i, s_j), sub(rate_i, rate_j)
    for c in range(1, 3):
        e = (touch.frame[3 * c], touch.frame[3 * c + 1], touch.frame[3 * c + 2])
        touch.velocity[c] += dot(e, s)
        touch.bias[c] += dot(e, rate)


@njit
def surface_motion(body, touch, follow, system):
    """(tangential velocity of the surface of a body beside that of the body, its rate) at the point of contact."""
    commands = system.commands
    for i in range(commands.shape[0]):
        row = commands[i]
        if row.body == body:
            kin = system.kinematics[body]
            omega, r = load3(kin.omega), sub(load3(touch.position), load3(kin.x))
            slide, spin = turned(kin, load3(row.surface_v)), turned(kin, load3(row.surface_omega))
            s = add(slide, cross(spin, r))
            rate = add(cross(omega, slide), cross(cross(omega, spin), r))
            rate = add(rate, cross(spin, sub(follow, load3(kin.v))))
            n = (touch.frame[0], touch.frame[1], touch.frame[2])
            return add_scaled(s, -dot(n, s), n), rate
    return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)


@inlined
def edge_normal(e_i, e_j, sign):
    """± e_i × e_j / |e_i × e_j|."""
    n = cross(e_i, e_j)
    return scale(sign / max(norm(n), PARALLEL), n)


@inlined
def normal(kind, offset, e_j):
    """(n, distance) of a point at `offset` from the feature of j."""
    if kind == PLANE:
        return e_j, dot(e_j, offset)
    if kind == LINE:
        offset = add_scaled(offset, -dot(e_j, offset), e_j)
    distance = norm(offset)
    return scale(1.0 / distance if distance > 0.0 else 0.0, offset), distance


@inlined
def normal_rate(touch, n, e_i, e_j, w, distance, turning):
    """ṅ as seen from body j."""
    if touch.kind == PLANE:
        return (0.0, 0.0, 0.0)
    if touch.kind == EDGES:
        rate = scale(touch.sign / max(norm(cross(e_i, e_j)), PARALLEL), cross(cross(turning, e_i), e_j))
        return add_scaled(rate, -dot(n, rate), n)
    across = add_scaled(w, -dot(n, w), n)
    if touch.kind == LINE:
        across = add_scaled(across, -dot(e_j, w), e_j)
    return scale(1.0 / distance, across)


@njit
def sliding_direction(touch, tiny):
    """The unit direction of sliding in the two tangents: that of u where it agrees with the last one, else the opposite, so
    that friction is smooth across the moment where u vanishes, and that moment can be located. Where u is tiny its
    direction is rounding, and the last one counts."""
    f, slide = touch.frame, load3(touch.slide)
    u, v = touch.velocity[1], touch.velocity[2]
    before_u = slide[0] * f[3] + slide[1] * f[4] + slide[2] * f[5]
    before_v = slide[0] * f[6] + slide[1] * f[7] + slide[2] * f[8]
    speed = math.sqrt(u * u + v * v)
    if speed <= BLIND * tiny:
        size = math.sqrt(before_u * before_u + before_v * before_v)
        return (before_u / size, before_v / size) if size > 0.0 else (1.0, 0.0)
    if u * before_u + v * before_v < 0.0:
        speed = -speed
    return (u / speed, v / speed)
