"""The <sensor> section of an MJCF file: what `io.mjcf_sensors` reads, the other way round.

Sensors are at sites. An inertial unit becomes an accelerometer and a gyro, a wrench a force and a torque, several rays one
rangefinder each. Names of these end in the part. MuJoCo has one noise for all components, and neither bias nor seed nor rate:
it evaluates sensors in each step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np

from ..scene.body import Body, World
from ..scene.checks import rotation_matrix
from ..scene.joint import Link
from ..scene.sensor import (
    Accelerometer,
    CenterOfMass,
    Effort,
    ForceTorque,
    FrameState,
    Gyroscope,
    Imu,
    JointState,
    Range,
    Sensor,
    Touch,
    Velocimeter,
)
from ..scene.shapes import Sphere

if TYPE_CHECKING:
    from .mjcf import Document

FRAMES = {
    "position": "framepos", "orientation": "framequat", "velocity": "framelinvel", "angular_velocity": "frameangvel",
    "acceleration": "framelinacc", "angular_acceleration": "frameangacc",
}  # fmt: skip
CENTERS = {"position": "subtreecom", "velocity": "subtreelinvel", "angular_momentum": "subtreeangmom"}
COORDINATES = {"position": "jointpos", "velocity": "jointvel"}
AROUND = 1.1  # of the largest distance of a corner from the centre: a sphere around a round body
SIDES = 24


class NotInMjcf(ValueError):
    """A sensor that MJCF does not have; the message completes "it is left out: "."""


def write_sensors(out: Document) -> None:
    """All sensors of a scene, after its joints, forces and bodies."""
    sensors = out.scene.sensors.values()
    for sensor in sensors:
        item = f"sensor {sensor.name!r}"
        try:
            _check(out, sensor, item)
            WRITERS.get(type(sensor), _unknown)(out, sensor)
        except NotInMjcf as reason:
            out.warn(item, f"{reason}; it is left out")
    if len(out.section("sensor")) and len({sensor.rate for sensor in sensors}) > 1:
        out.warn("sensors", "MuJoCo evaluates all sensors in each step; their rates are left out")


def _unknown(out: Document, sensor: Sensor) -> None:
    raise NotInMjcf(f"MJCF has no {sensor.kind} sensor like it")


def _check(out: Document, sensor: Sensor, item: str) -> None:
    """Warn of what a sensor of MJCF does not have. An acceleration of a frame contains gravity there."""
    bias = np.asarray(sensor.bias, float)
    if isinstance(sensor, FrameState) and sensor.quantity == "acceleration":
        if np.abs(bias + np.asarray(out.scene.gravity)).max() > 0.0:
            raise NotInMjcf("MuJoCo's acceleration of a frame contains gravity; give bias=-gravity for that one")
    elif bias.any():
        out.warn(item, "MJCF has no bias of a sensor; it is left out")
    if np.asarray(sensor.bias_deviation).any():
        out.warn(item, "MJCF has no random bias of a sensor; it is left out")
    if len(np.unique(np.asarray(sensor.noise))) > 1:
        out.warn(item, "MJCF has one noise for all components; it is left out")


def _add(out: Document, sensor: Sensor, kind: str, part: str = "", **attributes: str) -> None:
    """One element."""
    from .mjcf import number

    name = out.name("sensor", f"{sensor.name}.{part}" if part else sensor.name)
    element = ElementTree.SubElement(out.section("sensor"), kind, {"name": name, **attributes})
    noise = np.unique(np.asarray(sensor.noise, float))
    if len(noise) == 1 and noise[0] > 0.0:
        element.set("noise", number(noise[0]))


def _site(out: Document, sensor: Any, part: str = "", turn: Any = None, region: Any = None) -> str:
    """The name of a new site where a sensor is; `turn` (3, 3): of the site in the sensor's frame; region: its shape."""
    from .mjcf import numbers

    body = sensor.body
    place, rotation = np.asarray(sensor.position, float), rotation_matrix(sensor.orientation)
    if isinstance(body, Body):
        place, rotation = body.position + body.rotation @ place, body.rotation @ rotation
    rotation = rotation if turn is None else rotation @ turn
    attributes: dict[str, str] = {}
    if region is not None:
        sizes = region.mjcf_geom()
        if sizes is None:
            raise NotInMjcf(f"MJCF has no site with the shape {type(region).__name__}")
        attributes = {"type": region.mjcf_type, "size": numbers(sizes)}
    name = out.site(body, place, f"{sensor.name}.{part}" if part else sensor.name, rotation)
    if name is None:
        raise NotInMjcf(f"it is on {getattr(body, 'name', body)!r}, which MJCF does not have")
    for key, value in attributes.items():
        out.sites[name].set(key, value)
    return name


# One kind of sensor each ----------------------------------------------------------------------------------------------


def _at_site(kind: str) -> Callable[[Document, Any], None]:
    return lambda out, sensor: _add(out, sensor, kind, site=_site(out, sensor))


def _imu(out: Document, sensor: Imu) -> None:
    site = _site(out, sensor)
    _add(out, sensor, "accelerometer", "force", site=site)
    _add(out, sensor, "gyro", "rate", site=site)


def _frame(out: Document, sensor: FrameState) -> None:
    _add(out, sensor, FRAMES[sensor.quantity], objtype="site", objname=_site(out, sensor))


def _wrench(out: Document, sensor: ForceTorque) -> None:
    joint: Any = sensor.joint
    carries = any(
        place.item is joint.b and (host.item is joint.a or not isinstance(joint.a, Body | Link))
        for place, host, _ in out.places
    )
    if joint.b is not sensor.body or not carries:
        raise NotInMjcf(
            f"MuJoCo reads the wrench between a body and the one that carries it, at a site of the body; {joint.name!r} "
            "does not carry the body of the sensor"
        )
    site = _site(out, sensor)
    parts = ("force", "torque") if sensor.quantity == "wrench" else (sensor.quantity,)
    for part in parts:
        _add(out, sensor, part, part if len(parts) > 1 else "", site=site)


def _touch(out: Document, sensor: Touch) -> None:
    region = sensor.region
    if region is None:  # a sphere around the body
        body: Any = sensor.body
        if not hasattr(body.shape, "triangles"):
            raise NotInMjcf("a touch sensor of MJCF has a region; give it one")
        corners = body.shape.triangles(SIDES)[0] - body.center - np.asarray(sensor.position)
        region = Sphere(AROUND * float(np.linalg.norm(corners, axis=1).max()))
    _add(out, sensor, "touch", site=_site(out, sensor, region=region))


def _range(out: Document, sensor: Range) -> None:
    from ..io.description import z_to

    rays = np.asarray(sensor.directions)
    if np.isfinite(sensor.reach):
        out.warn(f"sensor {sensor.name!r}", "a rangefinder of MJCF has no reach; it is left out")
    for i, ray in enumerate(rays):
        part = str(i) if len(rays) > 1 else ""
        _add(out, sensor, "rangefinder", part, site=_site(out, sensor, part, z_to(ray)))


def _joint(out: Document, sensor: JointState) -> None:
    joint: Any = sensor.joint
    found = out.coordinate(joint, sensor.coordinate)
    if sensor.quantity not in COORDINATES:
        raise NotInMjcf("MJCF has no sensor for the sum of all efforts on a joint")
    if found is None:
        raise NotInMjcf(f"{joint.name!r} closes a loop and is no joint in MJCF")
    _add(out, sensor, COORDINATES[sensor.quantity], joint=found.name)


def _effort(out: Document, sensor: Effort) -> None:
    force: Any = sensor.force
    if force.name not in out.actuators:
        raise NotInMjcf(f"{force.name!r} is no actuator in MJCF")
    _add(out, sensor, "actuatorfrc", actuator=out.actuators[force.name])


def _center(out: Document, sensor: CenterOfMass) -> None:
    names = {body.name for body in sensor.bodies or () if not isinstance(body, str | World)}
    subtrees = {"world": set(out.scene.bodies)}
    for item, element in out.bodies.items():
        if isinstance(item, Body):
            subtrees[item.name] = {name for name in _names(element.iter("body")) if name in out.scene.bodies}
    massive = {name for name, body in out.scene.bodies.items() if body.mass}
    top = next((name for name, below in subtrees.items() if below & massive == names & massive), None)
    if top is None:
        raise NotInMjcf("MuJoCo has the centre of mass of a body and all that it carries, and these are other bodies")
    _add(out, sensor, CENTERS[sensor.quantity], body=top)


def _names(elements: Iterable[Any]) -> list[str]:
    return [element.get("name", "") for element in elements]


WRITERS: dict[type[Sensor], Callable[[Document, Any], None]] = {
    Imu: _imu, Accelerometer: _at_site("accelerometer"), Gyroscope: _at_site("gyro"),
    Velocimeter: _at_site("velocimeter"), FrameState: _frame, ForceTorque: _wrench, Touch: _touch, Range: _range,
    JointState: _joint, Effort: _effort, CenterOfMass: _center,
}  # fmt: skip
