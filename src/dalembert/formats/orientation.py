"""The ways in which model files write a rotation, as rotation matrices (3, 3)."""

from __future__ import annotations

import math

import numpy as np

from ..scene.checks import rotation_matrix
from .attributes import Attributes

KEYS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")


def about(axis: np.ndarray, angle: float) -> np.ndarray:
    """The turn by an angle (rad) about a unit vector (Rodrigues' formula)."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * cross @ cross


def roll_pitch_yaw(angles: np.ndarray) -> np.ndarray:
    """URDF's rpy (rad): turns about the fixed axes x, y, z, one after the other."""
    x, y, z = np.eye(3)
    return about(z, angles[2]) @ about(y, angles[1]) @ about(x, angles[0])


def euler(angles: np.ndarray, sequence: str) -> np.ndarray:
    """MJCF's euler (rad): a lower-case letter turns about an axis that goes along, an upper-case one about a fixed axis."""
    turn = np.eye(3)
    for letter, angle in zip(sequence, angles, strict=True):
        step = about(np.eye(3)["xyz".index(letter.lower())], angle)
        turn = turn @ step if letter.islower() else step @ turn
    return turn


def z_to(direction: np.ndarray) -> np.ndarray:
    """The least turn that brings the z axis into a unit direction; half a turn about x where that is −z."""
    x, y, z = direction
    sine = math.hypot(x, y)
    if sine < 1e-10:
        return np.eye(3) if z > 0.0 else np.diag([1.0, -1.0, -1.0])
    return about(np.array([-y / sine, x / sine, 0.0]), math.atan2(sine, z))


def read_orientation(given: Attributes, degree: bool, sequence: str) -> np.ndarray:
    """The orientation of an MJCF element, child → parent, however it is written; none is no rotation."""
    own = [key for key in KEYS if key in given.element.attributes]
    if len(own) > 1:
        raise given.element.error(f"{' and '.join(own)} are both given; give one orientation")
    key = own[0] if own else next((key for key in KEYS if key in given), None)
    unit = math.pi / 180.0 if degree else 1.0
    if key is None:
        return np.eye(3)
    if key == "euler":
        return euler(unit * given.vector("euler", 3), sequence)
    if key == "axisangle":
        values = given.vector("axisangle", 4)
        return about(direction(given, key, values[:3]), unit * values[3])
    if key == "zaxis":
        return z_to(direction(given, key, given.vector("zaxis", 3)))
    if key == "xyaxes":
        values = given.vector("xyaxes", 6)
        x = direction(given, key, values[:3])
        y = direction(given, key, values[3:] - x * (x @ values[3:]))
        return np.stack([x, y, np.cross(x, y)], axis=1)
    values = given.vector("quat", 4)
    return rotation_matrix(direction(given, key, values))


def direction(given: Attributes, key: str, values: np.ndarray) -> np.ndarray:
    """The values divided by their norm. Raises ValueError where that is nothing."""
    size = float(np.linalg.norm(values))
    if size < 1e-10:
        raise given.element.error(f"{key} {values.tolist()} has no direction; give a vector of some length")
    return values / size
