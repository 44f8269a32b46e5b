"""What URDF and MJCF both come down to: a tree of segments with joints, masses and solids. `build` makes a scene of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..scene.checks import quaternion_of
from .xml import Element


@dataclass(eq=False)
class Pose:
    """A place and a rotation, child → parent."""

    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))

    def __matmul__(self, inner: Pose) -> Pose:
        """A pose given in this one's frame, in the frame that this one is given in."""
        return Pose(self.position + self.rotation @ inner.position, self.rotation @ inner.rotation)

    def point(self, inner: np.ndarray) -> np.ndarray:
        """A point of this frame, in the frame outside."""
        return self.position + self.rotation @ inner

    @property
    def quaternion(self) -> tuple[float, float, float, float]:
        return quaternion_of(self.rotation)


@dataclass(eq=False)
class Solid:
    """A shape fixed to a segment."""

    name: str
    shape: Any  # scene shape or HalfSpace
    pose: Pose  # in the segment's frame
    element: Element
    color: str | None = None
    touches: bool = True
    friction: float = 0.5
    restitution: float = 0.0
    mask: tuple[int, int, int] = (1, 1, 0)  # MJCF's contype, conaffinity and priority


@dataclass(eq=False)
class Axis:
    """A joint between a segment and what carries it, in the segment's frame; its coordinate is zero at the start."""

    name: str
    kind: str  # hinge, slider, ball
    element: Element
    anchor: np.ndarray = field(default_factory=lambda: np.zeros(3))
    direction: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    lower: float = -math.inf
    upper: float = math.inf
    stiffness: float = 0.0
    damping: float = 0.0
    rest: float = 0.0
    armature: float = 0.0
    friction: float = 0.0
    effort: float = math.inf  # that all actuators together may have
    zero: float = 0.0  # the file's value of the coordinate at its zero pose (MJCF's ref)


@dataclass(eq=False)
class Segment:
    """A link (URDF) or body (MJCF) of the file. Segments are listed with parents first."""

    name: str
    parent: Segment | None  # None: the world
    pose: Pose  # in the parent's frame
    element: Element
    mass: float = 0.0
    center: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))  # about the centre, in the segment's axes
    axes: list[Axis] = field(default_factory=list)  # the one that the parent carries first
    free: bool = False
    weld_name: str = ""  # of the joint, where there is no axis
    solids: list[Solid] = field(default_factory=list)


@dataclass(eq=False)
class Description:
    """A model as its file describes it."""

    name: str
    element: Element
    segments: list[Segment] = field(default_factory=list)
    solids: list[Solid] = field(default_factory=list)  # of the world
    gravity: tuple[float, ...] = (0.0, 0.0, -9.81)
    joint_order: list[str] = field(default_factory=list)  # names of joints in the order of the file
    adjacent_to_world: bool = True  # whether what the world carries touches what is fixed to the world
