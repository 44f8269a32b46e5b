"""Parts of joints, each a constraint of one kind, in world coordinates at the initial pose."""

from __future__ import annotations

import numpy as np

from ..joint import Joint, Part
from ..resolve import Resolver

ZERO = np.zeros(3)


class Composition:
    """A joint as a user describes it, the base class of all of them; `Scene.add_joint` makes a `Joint` of it."""

    kind = ""

    def compose(self, name: str, resolver: Resolver) -> Joint:
        """The joint, of parts; `resolver` checks the arguments. Raises ValueError."""
        raise NotImplementedError(f"{type(self).__name__} does not define compose(name, resolver)")


def point(pa: np.ndarray, pb: np.ndarray) -> Part:
    """The point pb of b lies at pa of a: 3 rows. Only the first part of a joint may be one."""
    return Part("point", 3, pa, pb, ZERO, ZERO)


def dot(axis_a: np.ndarray, axis_b: np.ndarray, value: float = 0.0) -> Part:
    """axis_a · axis_b = value: 1 row."""
    return Part("dot", 1, ZERO, ZERO, axis_a, axis_b, value)


def plane(normal: np.ndarray, pa: np.ndarray, pb: np.ndarray) -> Part:
    """normal · (pb − pa) = 0, with the normal fixed in a: 1 row."""
    return Part("plane", 1, pa, pb, normal, ZERO)


def distance(pa: np.ndarray, pb: np.ndarray, value: float) -> Part:
    """|pb − pa| = value: 1 row."""
    return Part("distance", 1, pa, pb, ZERO, ZERO, value)


def curve(pa: np.ndarray, pb: np.ndarray) -> Part:
    """pb lies on the joint's curve, fixed in a: 2 rows."""
    return Part("curve", 2, pa, pb, ZERO, ZERO)


def sides(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors that make a right-handed frame with the axis."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    first = np.cross(axis, helper)
    first /= np.linalg.norm(first)
    return first, np.cross(axis, first)
