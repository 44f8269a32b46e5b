"""The values of each kind of sensor at an instant, without noise."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..collide import query
from ..collide.detect import Detector, collision_of
from ..core.tables import handed
from ..integrate.stepper import Stepper
from ..model.compile import Model
from ..model.tables import STATE_SIZE
from ..scene.body import Body
from ..scene.checks import quaternion_of
from ..scene.sensor import (
    Accelerometer,
    Camera,
    CenterOfMass,
    ContactForce,
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
from ..scene.shapes import Box, Capsule, Cylinder, Sphere
from .camera import Renderer
from .contacts import Contacts, cross
from .instant import Evaluator, Motion, Mount

FAR_AWAY = 1e9  # m, where the body of a range sensor is put for its rays


class Rays:
    """Casts rays at the bodies and obstacles of a scene that have a material."""

    def __init__(self, model: Model) -> None:
        self._bodies = len(model.body_names)
        self._detector = Detector(collision_of(model.scene))
        self._state = np.empty(0)

    def distances(self, y: np.ndarray, body: int, origin: np.ndarray, rays: np.ndarray, reach: float) -> np.ndarray:
        """Distances (n,) m along unit vectors (n, 3) from a point; inf for none. body : one that rays do not see, or −1."""
        state = y[: STATE_SIZE * self._bodies].copy()
        if body >= 0:
            state[STATE_SIZE * body : STATE_SIZE * body + 3] += FAR_AWAY
        if not np.array_equal(state, self._state):
            self._state = state
            if self._detector(state, 0.0) != 0:
                return np.full(len(rays), np.nan)
        tables, hit = handed(self._detector.collision), np.empty(4)  # the addresses once for all rays
        found = np.full(len(rays), np.inf)
        for i, ray in enumerate(np.ascontiguousarray(rays)):
            if query._cast(tables, origin, ray, reach, hit) >= 0:
                found[i] = hit[0]
        return found


class Instant:
    """One instant of a run; what sensors ask for is computed once. joints : the function that reads coordinates of joints."""

    def __init__(
        self, evaluator: Evaluator, driver: Stepper, time: float, y: np.ndarray, joints: Callable[[], Any], rays: Rays | None,
        renderer: Renderer | None,
    ) -> None:  # fmt: skip
        self.evaluator, self.driver, self.time, self.y, self._joints = evaluator, driver, time, y, joints
        self.rays, self.renderer = rays, renderer

    @functools.cached_property
    def motion(self) -> Motion:
        """Poses and velocities of all bodies."""
        return self.evaluator.motion(self.y)

    @functools.cached_property
    def has_forces(self) -> bool:
        """Whether accelerations, wrenches and efforts are known, which are found now."""
        return self.motion is not None and self.evaluator.evaluate(self.driver, self.time, self.y)

    @functools.cached_property
    def efforts(self) -> tuple[dict[str, float], dict[str, float]]:
        """By name of the force, and their sums by name of the coordinate."""
        return self.evaluator.efforts(self.time, self.y)

    @functools.cached_property
    def joints(self) -> dict[str, tuple[float, float]]:
        """Coordinate → its value and rate."""
        found: dict[str, tuple[float, float]] = self._joints()
        return found

    @property
    def contacts(self) -> Contacts:
        """Those of the last step."""
        return self.evaluator.contacts

    def mount(self, sensor: Sensor) -> Mount:
        """The frame of a sensor."""
        return self.evaluator.mount(sensor)


# Measurements ---------------------------------------------------------------------------------------------------------


def measure(sensor: Sensor, now: Instant) -> np.ndarray:
    """The value of a sensor without noise; NaN where it is not known."""
    _ = now.motion  # of the frames of all sensors
    if sensor.needs_forces and not now.has_forces:
        return np.full(sensor.shape, np.nan)
    return MEASURES[type(sensor)](sensor, now)


def _imu(sensor: Imu, now: Instant) -> np.ndarray:
    return now.mount(sensor).inertial.copy()


def _specific_force(sensor: Accelerometer, now: Instant) -> np.ndarray:
    return now.mount(sensor).inertial[:3].copy()


def _angular_rate(sensor: Gyroscope, now: Instant) -> np.ndarray:
    return now.mount(sensor).inertial[3:].copy()


def _velocimeter(sensor: Velocimeter, now: Instant) -> np.ndarray:
    return now.mount(sensor).local_v.copy()


FIELDS = {"position": "x", "velocity": "v", "angular_velocity": "omega", "acceleration": "a",
          "angular_acceleration": "alpha"}  # fmt: skip


def _frame(sensor: FrameState, now: Instant) -> np.ndarray:
    mount = now.mount(sensor)
    if sensor.quantity == "orientation":
        return np.array(quaternion_of(mount.axes))
    found: np.ndarray = getattr(mount, FIELDS[sensor.quantity])
    return found.copy()


def _center(sensor: CenterOfMass, now: Instant) -> np.ndarray:
    rows = [now.evaluator.body(body) for body in sensor.bodies or ()]
    mass = now.evaluator.mass[rows]
    share, motion = mass[:, None] / mass.sum(), now.motion
    x, v = (share * motion.x[rows]).sum(axis=0), (share * motion.v[rows]).sum(axis=0)
    if sensor.quantity == "position":
        return np.asarray(x)
    if sensor.quantity == "velocity":
        return np.asarray(v)
    momentum = motion.momentum[rows]
    return np.asarray((cross(motion.x[rows] - x, momentum[:, :3]) + momentum[:, 3:]).sum(axis=0))


def _joint(sensor: Any, now: Instant) -> np.ndarray:
    name = sensor.joint.coordinate_name(sensor.coordinate)
    if sensor.quantity == "effort":
        return np.array([now.efforts[1].get(name, 0.0)])
    return np.array([now.joints[name][sensor.quantity == "velocity"]])


def _effort(sensor: Any, now: Instant) -> np.ndarray:
    return np.array([now.efforts[0].get(sensor.force.name, 0.0)])


def _force_torque(sensor: Any, now: Instant) -> np.ndarray:
    joint, motion = sensor.joint, now.motion
    carrier = now.evaluator.carrier(joint)
    at = motion.x[-1] + joint.at
    axis = joint.axis
    if isinstance(carrier, Body):
        c = now.evaluator.body(carrier)
        turn = motion.rotation[c]
        at = motion.x[c] + turn @ carrier.to_body(joint.at)
        axis = None if axis is None else turn @ carrier.rotation.T @ axis
    wrench = now.evaluator.wrenches[now.evaluator.model.joint_names.index(joint.name)].copy()
    for kind, first in (("displacement", 0), ("angle", 3)):
        if getattr(joint, kind) and axis is not None:
            wrench[first : first + 3] += now.efforts[1].get(joint.coordinate_name(kind), 0.0) * axis
    x, axes = now.mount(sensor).x, now.mount(sensor).axes
    force, torque = wrench[:3] @ axes, (wrench[3:] + cross(at - x, wrench[:3])) @ axes
    parts = {"wrench": (force, torque), "force": (force,), "torque": (torque,)}
    return np.concatenate(parts[sensor.quantity])


def _touch(sensor: Touch, now: Instant) -> np.ndarray:
    contacts, owners = now.contacts, now.evaluator.owners
    rows, _ = contacts.of(owners.number(getattr(sensor.body, "name", "")))
    if sensor.region is not None and len(rows):
        mount = now.mount(sensor)
        rows = rows[is_within(sensor.region, (contacts.point[rows] - mount.x) @ mount.axes)]
    return np.array([float((contacts.force[rows] * contacts.normal[rows]).sum())])


def is_within(region: Any, points: np.ndarray) -> np.ndarray:
    """Whether points (n, 3) are within a shape, in its frame."""
    size = np.abs(points)
    if isinstance(region, Sphere):
        return np.asarray((points**2).sum(axis=1) <= region.radius**2)
    if isinstance(region, Box):
        return np.asarray((size <= 0.5 * np.array([region.x, region.y, region.z])).all(axis=1))
    if isinstance(region, Cylinder):
        return np.asarray((np.hypot(*points.T[:2]) <= region.radius) & (size[:, 2] <= 0.5 * region.length))
    if isinstance(region, Capsule):
        beyond = np.maximum(size[:, 2] - 0.5 * region.length, 0.0)
        return np.asarray((points[:, :2] ** 2).sum(axis=1) + beyond**2 <= region.radius**2)
    return np.asarray(((points / [region.a, region.b, region.c]) ** 2).sum(axis=1) <= 1.0)


def _contact_force(sensor: ContactForce, now: Instant) -> np.ndarray:
    contacts, owners = now.contacts, now.evaluator.owners
    rows, sign = contacts.of(owners.number(getattr(sensor.body, "name", "")))
    if sensor.other is not None:
        other = owners.number(getattr(sensor.other, "name", ""))
        with_other = (contacts.a[rows] == other) | (contacts.b[rows] == other)
        rows, sign = rows[with_other], sign[with_other]
    return np.asarray((sign[:, None] * contacts.force[rows]).sum(axis=0))


def _range(sensor: Range, now: Instant) -> np.ndarray:
    mount = now.mount(sensor)
    assert now.rays is not None
    rays = np.asarray(sensor.directions) @ mount.axes.T
    return now.rays.distances(now.y, now.evaluator.body(sensor.body), mount.x, rays, sensor.reach)


def _camera(sensor: Camera, now: Instant) -> np.ndarray:
    mount, body = now.mount(sensor), now.evaluator.body(sensor.body)
    assert now.renderer is not None
    return now.renderer.image(sensor, body, mount.x, mount.axes, now.motion, now.time)


MEASURES: dict[type[Sensor], Callable[[Any, Instant], np.ndarray]] = {
    Imu: _imu, Accelerometer: _specific_force, Gyroscope: _angular_rate, Velocimeter: _velocimeter, FrameState: _frame,
    CenterOfMass: _center, JointState: _joint, Effort: _effort, ForceTorque: _force_torque, Touch: _touch,
    ContactForce: _contact_force, Range: _range, Camera: _camera,
}  # fmt: skip
