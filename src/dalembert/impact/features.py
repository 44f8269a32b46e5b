"""From points that collision detection found to contacts between features: which corner, edge, face or ball meets which.

A contact of events has to be smooth in the state until something happens, and to know its second derivative. So it is named
by two features, each fixed to its body, rather than by points that are found anew.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..collide.tables import BOX, CAPSULE, HALF_SPACE, HULL, SPHERE, Collision
from .tables import BALL, EDGES, LINE, PLANE, TOUCH

SUPPORTED = {SPHERE, CAPSULE, BOX, HULL, HALF_SPACE}
ON = 1e-6  # of a collider's size: how near a point is to a face that it lies on
RIM = 2e-5  # of a collider's size: how far beyond the rim of a face a contact ends; more than a corner is searched for
ALIGNED = 1e-6  # how much a face's normal may differ from that of the contact
CORNER_POINT, EDGE_LINE, FACE_PLANE = range(3)


class Feature(NamedTuple):
    """What one collider shows at a point, in the frame of its body: a corner or ball (point), an edge or the axis of a
    capsule (a point of it, and its direction), or a face (a point, and its outward normal). radius: of the ball about it, m.
    sides: (n, 4) of the planes that bound it."""

    kind: int
    point: np.ndarray
    axis: np.ndarray
    radius: float
    sides: np.ndarray


class Place(NamedTuple):
    """Where a collider is: body, pose in the frame of the body, and pose of the body."""

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


def show(collision: Collision, c: int, place: Place, point: np.ndarray, outward: np.ndarray) -> list[Feature]:
    """The features of a collider at a point (world) of its surface, `outward` the normal of the contact out of it (world):
    the face there if it looks that way, then the corner, edge or ball."""
    collider = collision.colliders[c]
    p, n = place.local(point), place.turn(outward)
    size = collider["size"]
    none = np.zeros((0, 4))
    zero = np.zeros(3)
    if collider.kind == HALF_SPACE:
        return [place.feature(FACE_PLANE, zero, (0, 0, 1), 0.0, none)]
    if collider.kind == SPHERE:
        return [place.feature(CORNER_POINT, zero, zero, size[0], none)]
    if collider.kind == CAPSULE:
        return _capsule(place, size, p)
    return _polytope(collision, c, place, p, n)


def _capsule(place: Place, size: np.ndarray, p: np.ndarray) -> list[Feature]:
    """The ball at an end, or the axis."""
    end = np.array([0.0, 0.0, np.copysign(size[1], p[2])])
    ball = place.feature(CORNER_POINT, end, np.zeros(3), size[0], np.zeros((0, 4)))
    if abs(p[2]) >= size[1] * (1.0 - ON):
        return [ball]
    length = size[1] + RIM * size[0]
    sides = [(0, 0, 1, length), (0, 0, -1, length)]
    return [place.feature(EDGE_LINE, np.zeros(3), (0, 0, 1), size[0], sides)]


def _polytope(collision: Collision, c: int, place: Place, p: np.ndarray, n: np.ndarray) -> list[Feature]:
    collider = collision.colliders[c]
    normals, offsets = facets(collision, c)
    length, rim = ON * float(collider.radius), RIM * float(collider.radius)
    touched = np.flatnonzero(normals @ p > offsets - length)
    if not len(touched):  # a point between overlapping surfaces: the nearest face
        touched = np.array([int(np.argmax(normals @ p - offsets))])
    found = []
    facing = touched[int(np.argmax(normals[touched] @ n))]
    if normals[facing] @ n > 1.0 - ALIGNED:
        others = np.array([k for k in range(len(normals)) if k != facing])
        sides = np.column_stack([normals[others], offsets[others] + rim])
        found.append(place.feature(FACE_PLANE, p - (normals[facing] @ p - offsets[facing]) * normals[facing],
                                   normals[facing], 0.0, sides))  # fmt: skip
    all_corners = corners(collision, c)
    nearest = int(np.argmin(np.linalg.norm(all_corners - p, axis=1)))
    if np.linalg.norm(all_corners[nearest] - p) <= 10.0 * length:
        found.append(place.feature(CORNER_POINT, all_corners[nearest], np.zeros(3), 0.0, np.zeros((0, 4))))
    elif len(touched) >= 2:
        one, two = touched[np.argsort(-(normals[touched] @ n))[:2]]
        along = np.cross(normals[one], normals[two])
        along /= np.linalg.norm(along)
        others = [k for k in range(len(normals)) if k not in (one, two) and abs(normals[k] @ along) > ON]
        sides = np.column_stack([normals[others], offsets[others] + rim])
        found.append(place.feature(EDGE_LINE, p, along, 0.0, sides))
    return found


def pair_up(shown_a: list[Feature], shown_b: list[Feature], normal: np.ndarray, lines_cross: bool) -> Any:
    """(kind, True if the first is body i, feature of i, feature of j) of the two features that make a smooth contact;
    None if there is none. normal: from a to b."""
    a = {feature.kind: feature for feature in shown_a}
    b = {feature.kind: feature for feature in shown_b}
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
    contact: Any, collision: Collision, places: list[Place]
) -> tuple[np.void, np.ndarray, np.ndarray] | None:
    """A row of the table for a contact that was found, with the sides that bound its two features; None where the features
    there make no contact of their own."""
    pair = collision.pairs[contact.pair]
    normal = np.array(contact.frame[:3])
    shift = 0.5 * contact.separation * normal
    on_a, on_b = contact.position - shift, contact.position + shift
    place_a, place_b = places[pair.a], places[pair.b]
    shown_a = show(collision, int(pair.a), place_a, on_a, normal)
    shown_b = show(collision, int(pair.b), place_b, on_b, -normal)
    lines_cross = _cross(shown_a, shown_b, place_a, place_b) > 1e-3
    found = pair_up(shown_a, shown_b, normal, lines_cross)
    if found is None:
        return None
    kind, first, feature_i, feature_j = found
    place_i, place_j = (place_a, place_b) if first else (place_b, place_a)
    row = np.zeros((), TOUCH)
    row["kind"], row["i"], row["j"], row["a"], row["b"] = kind, place_i.body, place_j.body, pair.a, pair.b
    row["point_i"], row["axis_i"] = feature_i.point, feature_i.axis
    row["point_j"], row["axis_j"] = feature_j.point, feature_j.axis
    row["radius_i"], row["radius"] = feature_i.radius, feature_i.radius + feature_j.radius
    if kind == PLANE and feature_i.kind == EDGE_LINE:  # where it touches now
        row["point_i"] = place_i.body_rotation.T @ (contact.position + row["radius_i"] * (-normal if first else normal)
                                                    - place_i.body_position)  # fmt: skip
    e_i, e_j = place_i.body_rotation @ feature_i.axis, place_j.body_rotation @ feature_j.axis
    outward = -normal if first else normal  # from j to i
    row["sign"] = np.copysign(1.0, np.cross(e_i, e_j) @ outward)
    row["friction"], row["restitution"] = contact.friction, contact.restitution
    return row, feature_i.sides if kind == EDGES else np.zeros((0, 4)), feature_j.sides


def _cross(shown_a: list[Feature], shown_b: list[Feature], place_a: Place, place_b: Place) -> float:
    """Sine of the angle between the edges that two colliders show, 0 if one shows none."""
    for one in shown_a:
        for two in shown_b:
            if one.kind == EDGE_LINE and two.kind == EDGE_LINE:
                return float(
                    np.linalg.norm(np.cross(place_a.body_rotation @ one.axis, place_b.body_rotation @ two.axis))
                )
    return 0.0
