"""The <sensor> section of MJCF: sensors of the scene for those that have a counterpart, warnings for all others.

MuJoCo evaluates sensors in each step; here they have the rate of the file's time step. Their numbers agree, with these
exceptions:

- the range of a ray that meets nothing is inf, not −1;
- actuatorfrc is read for actuators whose gear is 1, as the effort on the joint;
- a site's frame moves with its body, so that framequat and others of a `body` (MuJoCo's frame of inertia) are read for
  its position alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from ..scene.body import THE_WORLD, Body
from ..scene.joint import Joint
from ..scene.sensor import (
    Accelerometer,
    CenterOfMass,
    Effort,
    ForceTorque,
    FrameState,
    Gyroscope,
    JointState,
    Range,
    Region,
    Sensor,
    Touch,
    Velocimeter,
)
from ..scene.shapes import Box, Capsule, Cylinder, Ellipsoid, Sphere
from .description import Axis, Built, Pose, Segment, free_name, located
from .files import Actuator, Attributes, FileFrame, Warnings
from .mjcf_bodies import note_unasked

if TYPE_CHECKING:
    from .mjcf import MjcfReader

SITE_SIZE = (0.005, 0.005, 0.005)
MUJOCO_STEP = 0.002  # s
FRAMES = {
    "framepos": "position", "framequat": "orientation", "framelinvel": "velocity", "frameangvel": "angular_velocity",
    "framelinacc": "acceleration", "frameangacc": "angular_acceleration",
}  # fmt: skip
SUBTREES = {"subtreecom": "position", "subtreelinvel": "velocity", "subtreeangmom": "angular_momentum"}
AT_SITES: dict[str, Callable[..., Sensor]] = {
    "accelerometer": Accelerometer, "gyro": Gyroscope, "velocimeter": Velocimeter
}  # fmt: skip


def site_region(attributes: Attributes, size: np.ndarray) -> Region | None:
    """The volume of a site; None for one that is none. `size` : half-lengths, as MuJoCo has them."""
    kind = attributes.text("type", "sphere")
    if "fromto" in attributes and kind == "sphere":
        kind = "capsule"
    a, b, c = np.concatenate([size, np.full(3, size[-1])])[:3].tolist()
    if min(a, b, c) <= 0.0:
        return None
    shapes: dict[str, Callable[[], Region]] = {
        "sphere": lambda: Sphere(a), "capsule": lambda: Capsule(a, 2.0 * b), "cylinder": lambda: Cylinder(a, 2.0 * b),
        "box": lambda: Box(2.0 * a, 2.0 * b, 2.0 * c), "ellipsoid": lambda: Ellipsoid(a, b, c),
    }  # fmt: skip
    return shapes[kind]() if kind in shapes else None


@dataclass
class Entry:
    """What one sensor of the file is read with."""

    reader: MjcfReader
    built: Built
    actuators: dict[str, Actuator]
    attributes: Attributes
    warnings: Warnings
    common: dict[str, Any]

    def leave_out(self, why: str) -> Sensor | None:
        """None, with a warning that the sensor is left out."""
        self.warnings.add(self.attributes.element, f"{why}; the sensor is left out")
        return None

    def place(self, segment: Segment | None, pose: Pose) -> FileFrame | None:
        """A frame on a body or on the world; None with a warning for a link without mass."""
        frame = self.built.frame(segment, pose)
        if isinstance(frame.body, Body) or frame.body is THE_WORLD:
            return frame
        self.leave_out(f"{frame.body.name!r:.60} has no mass")
        return None

    def site(self) -> tuple[str, Segment | None, FileFrame | None]:
        """The site that the sensor names."""
        name = self.attributes.text("site")
        if name not in self.reader.sites:
            raise self.attributes.element.error(f"there is no site {name!r:.60}; correct the name")
        segment, pose = self.reader.sites[name]
        return name, segment, self.place(segment, pose)


def add_sensors(reader: MjcfReader, built: Built, actuators: dict[str, Actuator], warnings: Warnings) -> None:
    """Add the sensors of the file to the scene, in the order of the file."""
    rate = 1.0 / (reader.settings.timestep or MUJOCO_STEP)
    elements = [item for section in reader.root.all("sensor") for item in section.children]
    for number, element in enumerate(elements):
        attributes = reader.defaults.of(element, None)
        read = READERS.get(element.tag)
        if read is None:
            warnings.add(element, f"a {element.tag} sensor is not supported; it is left out", f"sensor {element.tag}")
            continue
        name = free_name(attributes.name() or f"{element.tag} {number}", built.scene.sensors)
        common = {"name": name, "rate": rate, "noise": attributes.number("noise", 0.0, 0.0)}
        with located(element):
            sensor = read(Entry(reader, built, actuators, attributes, warnings, common))
            if sensor is not None:
                built.scene.add_sensor(sensor)
        if sensor is not None:
            note_unasked(attributes, warnings, "user")


# Sensors at sites -----------------------------------------------------------------------------------------------------


def _mounted(frame: FileFrame) -> dict[str, Any]:
    return {"body": frame.body, "position": frame.position, "orientation": frame.orientation}


def _at_site(given: Entry) -> Sensor | None:
    _, _, frame = given.site()
    kind = AT_SITES[given.attributes.element.tag]
    return None if frame is None else kind(**given.common, **_mounted(frame))


def _touch(given: Entry) -> Sensor | None:
    name, _, frame = given.site()
    if frame is None:
        return None
    region = given.reader.regions.get(name)
    if not isinstance(region, get_args(Region)):
        return given.leave_out(f"the shape of site {name!r:.60} is not a supported region")
    if not isinstance(frame.body, Body) or frame.body.material is None:
        return given.leave_out(f"the body of site {name!r:.60} has no material, so it has no contacts")
    return Touch(**given.common, **_mounted(frame), region=region)


def _range(given: Entry) -> Sensor | None:
    _, _, frame = given.site()
    return None if frame is None else Range(**given.common, **_mounted(frame), directions=((0.0, 0.0, 1.0),))


def _wrench(given: Entry) -> Sensor | None:
    """The joint between the site's body and its parent."""
    name, segment, frame = given.site()
    if frame is None:
        return None
    joint = _joint_above(segment, given.built)
    if joint is None:
        return given.leave_out(f"no joint is attached to the body of site {name!r:.60}")
    return ForceTorque(
        joint=joint, quantity="force" if given.attributes.element.tag == "force" else "torque", **given.common,
        **_mounted(frame),
    )  # fmt: skip


def _joint_above(segment: Segment | None, built: Built) -> Joint | None:
    """The joint that carries the body of a segment; None where nothing does."""
    item = None if segment is None else built.items[segment]
    return next((joint for joint in built.joints.values() if joint.b is item), None) if isinstance(item, Body) else None


# Frames ---------------------------------------------------------------------------------------------------------------


def _frame(given: Entry) -> Sensor | None:
    attributes, reader = given.attributes, given.reader
    quantity: Any = FRAMES[attributes.element.tag]
    if "reftype" in attributes or "refname" in attributes:
        attributes.asked.update(("reftype", "refname", "objtype", "objname"))
        return given.leave_out("frames relative to another frame are not supported")
    kind, name = attributes.text("objtype", "site"), attributes.text("objname")
    if kind == "site" and name in reader.sites:
        segment, pose = reader.sites[name]
    elif kind in ("body", "xbody") and name in reader.bodies:
        segment = reader.bodies[name]
        pose = Pose()
        if kind == "body" and segment is not None:
            pose = Pose(segment.center, np.eye(3))
            if quantity == "orientation":
                return given.leave_out("the frame of inertia of a body is not supported; use objtype xbody")
    elif kind == "geom" and name in reader.geom_bodies:
        segment, solid = reader.geom_bodies[name]
        pose = solid.pose
    else:
        return given.leave_out(f"there is no {kind:.20} {name!r:.60} to read a frame of")
    frame = given.place(segment, pose)
    if frame is None:
        return None
    common = dict(given.common)
    if quantity == "orientation":
        common["noise"] = 0.0
    if quantity == "acceleration":
        common["bias"] = -np.asarray(given.built.scene.gravity)  # MuJoCo's contains it
    return FrameState(quantity=quantity, **common, **_mounted(frame))


def _subtree(given: Entry) -> Sensor | None:
    top = given.reader.body(given.attributes, "body")
    quantity: Any = SUBTREES[given.attributes.element.tag]
    found: list[Body] = []
    inside: set[Segment | None] = {top}
    for segment in given.reader.description.segments:
        if segment in inside or segment.parent in inside:
            inside.add(segment)
            item = given.built.items[segment]
            if isinstance(item, Body):
                found.append(item)
    if not found:
        return given.leave_out("none of its bodies is movable and has mass")
    return CenterOfMass(bodies=found, quantity=quantity, **given.common)


# Joints and actuators -------------------------------------------------------------------------------------------------


def _joint(given: Entry) -> Sensor | None:
    name = given.attributes.text("joint")
    if name not in given.reader.joints:
        raise given.attributes.element.error(f"there is no joint {name!r:.60}; correct the name")
    axis = given.reader.joints[name]
    if not isinstance(axis, Axis) or axis.kind == "ball" or axis.name not in given.built.axes:
        return given.leave_out(f"joint {name!r:.60} is not a movable hinge or slider")
    joint = given.built.joints[axis.name]
    if given.attributes.element.tag == "jointvel":
        return JointState(joint=joint, quantity="velocity", **given.common)
    return JointState(joint=joint, quantity="position", bias=axis.zero, **given.common)


def _actuator(given: Entry) -> Sensor | None:
    name = given.attributes.text("actuator")
    if name not in given.actuators:
        return given.leave_out(f"actuator {name!r:.60} is left out")
    actuator = given.actuators[name]
    if actuator.gear != 1.0:
        return given.leave_out(
            f"the gear of actuator {name!r:.60} is {actuator.gear:g}, and only efforts on the joint are supported"
        )
    return Effort(force=actuator.motor, **given.common)


READERS: dict[str, Callable[[Entry], Sensor | None]] = {
    **dict.fromkeys(AT_SITES, _at_site), "touch": _touch, "rangefinder": _range, "force": _wrench, "torque": _wrench,
    **dict.fromkeys(FRAMES, _frame), **dict.fromkeys(SUBTREES, _subtree), "jointpos": _joint, "jointvel": _joint,
    "actuatorfrc": _actuator,
}  # fmt: skip
