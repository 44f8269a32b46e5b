"""The common description of URDF and MJCF models: a tree of segments with joints, masses and solids. `build` makes a
scene of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..scene.body import THE_WORLD, Body, World
from ..scene.checks import numbered, quaternion_of, rotation_matrix
from ..scene.joint import Joint, Link
from ..scene.mass import validate_inertia
from ..scene.scene import Scene
from .files import Attributes, Element, FileFrame, ImportedModel


@dataclass(eq=False)
class Pose:
    """A position and a rotation, child → parent."""

    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))

    def __matmul__(self, inner: Pose) -> Pose:
        """The composition of two poses: `inner`, of this frame, in the frame of this one's parent."""
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
    torsional_friction: float = 0.0  # m
    rolling_friction: float = 0.0  # m
    condim: int = 3  # MJCF's: 1 frictionless, 4 with torsional, 6 with rolling friction too
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
    mocap: bool = False  # moved from outside: a kinematic body whose motion is set
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


# Rotations as model files write them, as rotation matrices (3, 3) -----------------------------------------------------

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


def read_orientation(attributes: Attributes, degree: bool, sequence: str) -> np.ndarray:
    """The orientation of an MJCF element, child → parent, however it is written; none is no rotation."""
    own = [key for key in KEYS if key in attributes.element.attributes]
    if len(own) > 1:
        raise attributes.element.error(f"{' and '.join(own)} are both given; give one orientation")
    key = own[0] if own else next((key for key in KEYS if key in attributes), None)
    unit = math.pi / 180.0 if degree else 1.0
    if key is None:
        return np.eye(3)
    if key == "euler":
        return euler(unit * attributes.vector("euler", 3), sequence)
    if key == "axisangle":
        values = attributes.vector("axisangle", 4)
        return about(direction(attributes, key, values[:3]), unit * values[3])
    if key == "zaxis":
        return z_to(direction(attributes, key, attributes.vector("zaxis", 3)))
    if key == "xyaxes":
        values = attributes.vector("xyaxes", 6)
        x = direction(attributes, key, values[:3])
        y = direction(attributes, key, values[3:] - x * (x @ values[3:]))
        return np.stack([x, y, np.cross(x, y)], axis=1)
    values = attributes.vector("quat", 4)
    return rotation_matrix(direction(attributes, key, values))


def direction(attributes: Attributes, key: str, values: np.ndarray) -> np.ndarray:
    """The values divided by their norm. Raises ValueError where that is nothing."""
    size = float(np.linalg.norm(values))
    if size < 1e-10:
        raise attributes.element.error(f"{key} {values.tolist()} has no direction; give a vector of some length")
    return values / size


# The nearest inertia that a solid can have ----------------------------------------------------------------------------

THIN = 1e-6  # of its largest, the least second moment that a repaired inertia has
POINT = 1e-3  # m, the radius of gyration given to a mass without inertia
NOTHING = 1e-9  # m, the radius of gyration of an inertia that is none


def nearest_inertia(mass: float, inertia: np.ndarray) -> tuple[np.ndarray, str | None]:
    """The inertia (3, 3) itself where a solid can have it, else the nearest one, and a sentence about the repair.

    The second moment of mass Σ = ½ tr(I) 1 − I of a solid has no negative eigenvalue (Wensing, Kim and Slotine, IEEE RA-L
    3(1), 2018). Raising its eigenvalues that are below a millionth of the largest gives the nearest such Σ in the Frobenius
    norm, and I = tr(Σ) 1 − Σ. A mass without inertia is given a radius of gyration of 1 mm.
    """
    try:
        return np.array(validate_inertia("inertia", inertia)), None
    except ValueError as error:
        reason = str(error).removeprefix("inertia: ").split(";")[0]
    symmetric = 0.5 * (inertia + inertia.T)
    moments, axes = np.linalg.eigh(0.5 * np.trace(symmetric) * np.eye(3) - symmetric)
    floor = THIN * moments[2] if moments[2] > mass * NOTHING**2 else mass * POINT**2 / 2.0
    raised = np.maximum(moments, floor)
    second = axes @ np.diag(raised) @ axes.T
    repaired = np.trace(second) * np.eye(3) - second
    values = ", ".join(f"{value:.6g}" for value in np.linalg.eigvalsh(repaired))
    return repaired, f"{reason}; the nearest possible one is used, with principal moments {values} kg m²"


# A scene while it is made of a description ----------------------------------------------------------------------------


@contextmanager
def located(element: Element) -> Iterator[None]:
    """Add file, line and element to the message of a ValueError of the scene."""
    try:
        yield
    except ValueError as error:
        message = str(error)
        raise (error if message.startswith(f"{element.file}:") else element.error(message)) from None


@dataclass(eq=False)
class Built:
    """The scene, and what became of what."""

    scene: Scene
    items: dict[Segment, Body | Link | World] = field(default_factory=dict)
    poses: dict[Segment, Pose] = field(default_factory=dict)  # of the segments' frames, in the world
    groups: dict[Segment, Segment | None] = field(default_factory=dict)  # what is welded together; None: to the world
    joints: dict[str, Joint] = field(default_factory=dict)  # of the file, in its order
    axes: dict[str, Axis] = field(default_factory=dict)  # those of them that move
    solids: dict[str, list[Solid]] = field(default_factory=dict)  # that touch, of each body and obstacle
    members: dict[str, Segment | None] = field(default_factory=dict)  # body or obstacle → its group

    def frame(self, segment: Segment | None, pose: Pose) -> FileFrame:
        """Where a frame of a segment is."""
        item = THE_WORLD if segment is None else self.items[segment]
        if isinstance(item, World):
            placed = pose if segment is None else self.poses[segment] @ pose
            return FileFrame(THE_WORLD, placed.position, placed.quaternion)
        center = segment.center if segment is not None and isinstance(item, Body) else np.zeros(3)
        return FileFrame(item, pose.position - center, pose.quaternion)


def imported(built: Built, description: Description, file: Path, kind: str) -> ImportedModel:
    """The result, with joints in the order of the file."""
    order = {name: i for i, name in enumerate(description.joint_order)}
    last = len(order)

    def number(name: str) -> int:
        return order.get(name, order.get(name.rpartition("/")[0], last))

    frames = {segment.name: built.frame(segment, Pose()) for segment in description.segments}
    return ImportedModel(built.scene, file, kind, joints=sorted(built.joints, key=number), frames=frames)


free_name = numbered
