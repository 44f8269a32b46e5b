"""Sensors in a scene, and the method of `Scene` that adds them.

Each class is one kind of sensor. A sensor has a name, a rate, noise and bias; `Mounted` ones also have a frame in a
body. `sensors` computes the values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import NumbersLike, VectorLike
from .body import WORLD, Body, World
from .checks import finite, positive, real_array, unit_quaternion
from .contact import Obstacle
from .force import Force
from .joint import Frame
from .joint import Joint as SceneJoint
from .shapes import Box, Capsule, Cylinder, Ellipsoid, Sphere

FrameQuantity: TypeAlias = Literal[
    "position", "orientation", "velocity", "angular_velocity", "acceleration", "angular_acceleration"
]
JointQuantity: TypeAlias = Literal["position", "velocity", "effort"]
CenterQuantity: TypeAlias = Literal["position", "velocity", "angular_momentum"]
WrenchQuantity: TypeAlias = Literal["wrench", "force", "torque"]
Region: TypeAlias = Sphere | Box | Capsule | Cylinder | Ellipsoid
ImageKind: TypeAlias = Literal["rgb", "depth", "segmentation"]

ZERO, UPRIGHT, AHEAD = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), (1.0, 0.0, 0.0)
XYZ = ("x", "y", "z")
FRAME_UNITS: dict[str, str] = {
    "position": "m", "orientation": "1", "velocity": "m/s", "angular_velocity": "rad/s", "acceleration": "m/s^2",
    "angular_acceleration": "rad/s^2",
}  # fmt: skip
CENTER_UNITS: dict[str, str] = {"position": "m", "velocity": "m/s", "angular_momentum": "kg m^2/s"}
MOST_PIXELS = 16_000_000
LARGEST_RATE = 1e6  # Hz


@dataclass(frozen=True, eq=False)
class Sensor:
    """The base class of all sensors.

    Parameters
    ----------
    name : text, unique among the sensors of a scene.
    rate : samples per second of simulated time, Hz. Sample k is due at the time k/rate: see `docs/how-to/sensors.md`.
    noise : standard deviation of Gaussian noise that is added to each sample, in the units of the value: one number, or
        one for each component.
    bias : constant offset added to each sample; one number, or one for each component.
    bias_deviation : standard deviation of a second constant offset, which is drawn once from `seed`.
    seed : integer. Noise depends only on the seed, the name of the sensor and the number of the sample.
    """

    name: str
    rate: float = field(default=100.0, kw_only=True)
    noise: NumbersLike = field(default=0.0, kw_only=True)
    bias: NumbersLike = field(default=0.0, kw_only=True)
    bias_deviation: NumbersLike = field(default=0.0, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    kind: ClassVar[str] = "sensor"
    is_dynamic: ClassVar[bool] = False
    """whether it needs forces or accelerations"""

    @property
    def owner(self) -> str:
        """The name of the sensor in messages."""
        return f"sensor {self.name!r}"

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the components of a value."""
        return XYZ

    @property
    def units(self) -> tuple[str, ...]:
        """The unit of each component."""
        return ("1",) * len(self.labels)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a value."""
        return (len(self.labels),)

    @property
    def may_be_noisy(self) -> bool:
        """Whether noise can be added to the value."""
        return True

    @property
    def needs_forces(self) -> bool:
        """Whether the sensor needs forces or accelerations, in addition to the state."""
        return self.is_dynamic

    def resolved(self, scene: Any) -> Self:
        """A copy with bodies and joints in place of names, and checked arrays. Raises ValueError naming the sensor."""
        rate = positive(self.owner, "rate", self.rate, "Hz")
        if rate > LARGEST_RATE:
            raise ValueError(f"{self.owner}: rate is {rate:g} Hz; give at most {LARGEST_RATE:g} Hz")
        if not isinstance(self.seed, int | np.integer) or isinstance(self.seed, bool) or not 0 <= self.seed < 2**63:
            raise ValueError(f"{self.owner}: seed is {self.seed!r:.80}; give a whole number, 0 to 2**63 - 1")
        given: dict[str, Any] = {"rate": rate, "seed": int(self.seed)}
        for name in ("noise", "bias", "bias_deviation"):
            values = self._each(name, getattr(self, name))
            if name != "bias" and (values < 0.0).any():
                raise ValueError(
                    f"{self.owner}: {name} is {values.tolist()!s:.80}; give a standard deviation, zero or more"
                )
            if values.any() and not self.may_be_noisy:
                raise ValueError(f"{self.owner}: {name} is given, but its value cannot have noise; leave out {name}")
            given[name] = values
        return replace(self, **given)

    def _each(self, name: str, value: NumbersLike) -> NDArray[np.float64]:
        """A number for all components, or one for each. Raises ValueError."""
        if np.asarray(value).ndim == 0:
            return np.array(finite(self.owner, name, value))
        return real_array(self.owner, name, value, self.shape)

    def _one_of(self, name: str, choices: Sequence[str]) -> None:
        value = getattr(self, name)
        if value not in choices:
            raise ValueError(f"{self.owner}: {name} is {value!r:.80}; give one of {', '.join(choices)}")


@dataclass(frozen=True, eq=False)
class Mounted(Sensor):
    """A sensor with a frame that is fixed to a body, or to the world.

    Parameters
    ----------
    body : a body or its name, or `WORLD`.
    position : (3,) m, of the sensor in the frame of the body, whose origin is its centre of mass.
    orientation : (w, x, y, z), sensor → body.
    name, rate, noise, bias, bias_deviation, seed : see `Sensor`.
    """

    body: str | Frame
    position: VectorLike = field(default=ZERO, kw_only=True)
    orientation: VectorLike = field(default=UPRIGHT, kw_only=True)

    def resolved(self, scene: Any) -> Self:
        """See `Sensor.resolved`."""
        found = super().resolved(scene)
        body = body_of(scene, self.owner, self.body)
        position = real_array(self.owner, "position", self.position, (3,))
        return replace(found, body=body, position=position, orientation=unit_quaternion(
            self.owner, "orientation", self.orientation))  # fmt: skip


def body_of(scene: Any, owner: str, item: str | Frame) -> Body | World:
    """A body of a scene, or the world. Raises ValueError for anything else."""
    found = scene._frame(owner, item)
    if isinstance(found, Body | World):
        return found
    raise ValueError(f"{owner}: {item!r:.80} is neither a body nor the world; give a body with mass, or dal.WORLD")


# Motion ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Imu(Mounted):
    """An inertial unit: specific force (3 numbers, m/s²), which is acceleration minus gravity, and angular rate (3
    numbers, rad/s), in the axes of the sensor. At rest it reads 9.81 m/s² upward, in free fall 0.

    >>> import dalembert as dal
    >>> scene = dal.Scene("fall")
    >>> ball = scene.add_body("ball", dal.Sphere(0.1), mass=1.0, angular_velocity=(0, 0, 2.0))
    >>> imu = scene.add_sensor(dal.sensors.Imu("imu", ball, rate=10))
    >>> dal.simulate(scene, 0.5).sensors["imu"].value.round(9).tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0, 2.0]
    """

    kind, is_dynamic = "imu", True

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of specific force and angular rate."""
        return ("force x", "force y", "force z", "rate x", "rate y", "rate z")

    @property
    def units(self) -> tuple[str, ...]:
        """m/s² and rad/s."""
        return ("m/s^2",) * 3 + ("rad/s",) * 3


@dataclass(frozen=True, eq=False)
class Accelerometer(Mounted):
    """Specific force (3,) m/s², acceleration minus gravity, in the axes of the sensor."""

    kind, is_dynamic = "accelerometer", True

    @property
    def units(self) -> tuple[str, ...]:
        """m/s²."""
        return ("m/s^2",) * 3


@dataclass(frozen=True, eq=False)
class Gyroscope(Mounted):
    """Angular rate (3,) rad/s, in the axes of the sensor."""

    kind = "gyroscope"

    @property
    def units(self) -> tuple[str, ...]:
        """rad/s."""
        return ("rad/s",) * 3


@dataclass(frozen=True, eq=False)
class Velocimeter(Mounted):
    """Velocity (3,) m/s of the sensor's origin, in the axes of the sensor."""

    kind = "velocimeter"

    @property
    def units(self) -> tuple[str, ...]:
        """m/s."""
        return ("m/s",) * 3


@dataclass(frozen=True, eq=False)
class FrameState(Mounted):
    """One quantity of the sensor's frame, in world axes: (3,) numbers, or the unit quaternion (4,), sensor → world.

    quantity : "position" (m), "orientation", "velocity" (m/s), "angular_velocity" (rad/s), "acceleration" (m/s², gravity not
    subtracted) or "angular_acceleration" (rad/s²).
    """

    quantity: FrameQuantity = "position"

    kind = "frame"

    @property
    def labels(self) -> tuple[str, ...]:
        """x, y, z, and w before them for a quaternion."""
        return ("w", *XYZ) if self.quantity == "orientation" else XYZ

    @property
    def units(self) -> tuple[str, ...]:
        """The units of the quantity."""
        return (FRAME_UNITS[self.quantity],) * len(self.labels)

    @property
    def may_be_noisy(self) -> bool:
        """True for all quantities except quaternions."""
        return self.quantity != "orientation"

    @property
    def needs_forces(self) -> bool:
        """True for accelerations."""
        return self.quantity in ("acceleration", "angular_acceleration")

    def resolved(self, scene: Any) -> Self:
        """See `Sensor.resolved`."""
        self._one_of("quantity", tuple(FRAME_UNITS))
        return super().resolved(scene)


@dataclass(frozen=True, eq=False)
class CenterOfMass(Sensor):
    """The centre of mass of a set of bodies, world axes.

    bodies : bodies or their names; None: all. quantity : "position" (m), "velocity" (m/s) or "angular_momentum" about
    it (kg m²/s).
    """

    bodies: Sequence[str | Frame] | None = None
    quantity: CenterQuantity = "position"

    kind = "center of mass"

    @property
    def units(self) -> tuple[str, ...]:
        """The units of the quantity."""
        return (CENTER_UNITS[self.quantity],) * 3

    def resolved(self, scene: Any) -> Self:
        """See `Sensor.resolved`."""
        self._one_of("quantity", tuple(CENTER_UNITS))
        given = list(scene.bodies.values()) if self.bodies is None else list(self.bodies)
        found = [body_of(scene, self.owner, item) for item in given]
        if not found or WORLD in found or sum(getattr(body, "mass", 0.0) for body in found) <= 0.0:
            raise ValueError(
                f"{self.owner}: bodies are {[body.name for body in found]!s:.80}; give bodies that have a mass"
            )
        return replace(super().resolved(scene), bodies=found)


# Joints ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class JointState(Sensor):
    """The coordinate of a hinge, slider or cylindrical joint (zero at the initial pose), its rate, or the effort along
    it.

    joint : a joint or its name. quantity : "position" (rad or m), "velocity" (rad/s or m/s) or "effort" (N m or N), the
    sum of all motors, springs, stops and dry friction that act on the coordinate, and the effort of a prescribed
    motion. coordinate : "angle" or "displacement", for a joint that has both.
    """

    joint: str | SceneJoint
    quantity: JointQuantity = "position"
    coordinate: Literal["angle", "displacement"] | None = field(default=None, kw_only=True)

    kind = "joint"

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of the quantity."""
        return (self.quantity,)

    @property
    def units(self) -> tuple[str, ...]:
        """The unit of an angle or a length, or of its rate or effort."""
        angle = self.coordinate == "angle"
        unit = {"position": "rad", "velocity": "rad/s", "effort": "N m"} if angle else {
            "position": "m", "velocity": "m/s", "effort": "N"}  # fmt: skip
        return (unit[self.quantity],)

    @property
    def needs_forces(self) -> bool:
        """True for efforts."""
        return self.quantity == "effort"

    def resolved(self, scene: Any) -> Self:
        """See `Sensor.resolved`."""
        self._one_of("quantity", ("position", "velocity", "effort"))
        joint, coordinate = scene._coordinate(self.owner, self.joint, self.coordinate)
        return replace(super().resolved(scene), joint=joint, coordinate=coordinate)


@dataclass(frozen=True, eq=False)
class Effort(Sensor):
    """The effort (N m or N) of one motor, stop or dry friction, or of a prescribed motion, along its coordinate.

    force : the object that `Scene.motor`, `limit`, `joint_friction` or `add_motion` returned, or its name.
    """

    force: str | Force | SceneJoint

    kind, is_dynamic = "effort", True

    @property
    def labels(self) -> tuple[str, ...]:
        """The label of the one component."""
        return ("effort",)

    @property
    def units(self) -> tuple[str, ...]:
        """N m or N."""
        coordinate = self.force.prescribed if isinstance(self.force, SceneJoint) else self.force
        return ("N m" if getattr(coordinate, "coordinate", "") == "angle" else "N",)

    def resolved(self, scene: Any) -> Self:
        """See `Sensor.resolved`."""
        name = self.force if isinstance(self.force, str) else self.force.name
        found = scene.forces.get(name) or scene.joints.get(name)
        drives = isinstance(found, Force) and found.kind in ("motor", "servo", "limit", "friction")
        if not drives and getattr(found, "prescribed", None) is None:
            known = [force.name for force in scene.forces.values() if hasattr(force, "joint")]
            raise ValueError(
                f"{self.owner}: there is no motor, stop or motion {name!r}; there are {', '.join(known) or 'none'}"
            )
        return replace(super().resolved(scene), force=found)


@dataclass(frozen=True, eq=False)
class ForceTorque(Sensor):
    """The wrench that a joint transmits: the force (3 numbers, N) and torque (3 numbers, N m) that the first body of
    the joint exerts on the second one, efforts along the coordinates included, in the axes of the sensor and about its
    origin.

    joint : a joint or its name. quantity : "wrench", or "force" or "torque" alone (3 numbers).
    body : the body to which the sensor's frame is fixed. Default: the second body of the joint, or the first if the
        second is the world.
    position : (3,) m, of the sensor in the frame of that body, whose origin is its centre of mass. Default: the
        position of the joint.
    orientation : (w, x, y, z), sensor → body.
    """

    joint: str | SceneJoint
    quantity: WrenchQuantity = "wrench"
    body: str | Frame | None = field(default=None, kw_only=True)
    position: VectorLike | None = field(default=None, kw_only=True)
    orientation: VectorLike = field(default=UPRIGHT, kw_only=True)

    kind, is_dynamic = "force torque", True

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of force and torque."""
        return tuple(f"{part} {axis}" for part in self._parts for axis in XYZ)

    @property
    def units(self) -> tuple[str, ...]:
        """N and N m."""
        return tuple("N" if part == "force" else "N m" for part in self._parts for _ in XYZ)

    @property
    def _parts(self) -> tuple[str, ...]:
        return ("force", "torque") if self.quantity == "wrench" else (self.quantity,)

    def resolved(self, scene: Any) -> Self:
        """See `Sensor.resolved`."""
        self._one_of("quantity", ("wrench", "force", "torque"))
        joint = scene._joint(self.owner, self.joint)
        if joint.coupling is not None or joint.custom is not None or joint.prescribed is not None:
            raise ValueError(
                f"{self.owner}: {joint.kind} {joint.name!r} does not connect two bodies; use a hinge, or another joint"
            )
        own = next((end for end in (joint.b, joint.a) if isinstance(end, Body)), WORLD)
        body = body_of(scene, self.owner, own if self.body is None else self.body)
        if self.position is not None:
            position = real_array(self.owner, "position", self.position, (3,))
        else:
            position = body.to_body(joint.at) if isinstance(body, Body) else np.array(joint.at)
        turn = unit_quaternion(self.owner, "orientation", self.orientation)
        return replace(super().resolved(scene), joint=joint, body=body, position=position, orientation=turn)


# Contact and distance -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Touch(Mounted):
    """The sum of the normal forces of all contacts of a body (N), or of those whose point is within a region.

    region : a shape with its origin at the sensor, such as `Sphere(0.02)`; None: the whole body.
    """

    region: Region | None = field(default=None, kw_only=True)

    kind = "touch"

    @property
    def labels(self) -> tuple[str, ...]:
        """The label of the one component."""
        return ("force",)

    @property
    def units(self) -> tuple[str, ...]:
        """N."""
        return ("N",)

    def resolved(self, scene: Any) -> Self:
        """See `Sensor.resolved`."""
        found = super().resolved(scene)
        require_touching(scene, self.owner, found.body)
        if self.region is not None and not isinstance(self.region, Region):
            raise ValueError(
                f"{self.owner}: region is {self.region!r:.80}; give a Sphere, Box, Capsule, Cylinder or Ellipsoid"
            )
        return found


@dataclass(frozen=True, eq=False)
class ContactForce(Sensor):
    """The sum of the contact forces on a body (3,) N, world axes: from all contacts, or from those with one other body.

    body : a body or obstacle, or its name. other : another body or obstacle, or its name; None: all of them.
    """

    body: str | Body | Obstacle
    other: str | Body | Obstacle | None = None

    kind = "contact force"

    @property
    def units(self) -> tuple[str, ...]:
        """N."""
        return ("N",) * 3

    def resolved(self, scene: Any) -> Self:
        """See `Sensor.resolved`."""
        body = require_touching(scene, self.owner, self.body)
        other = None if self.other is None else require_touching(scene, self.owner, self.other)
        if body is other:
            raise ValueError(f"{self.owner}: {body.name!r} is given twice; give two bodies or obstacles")
        return replace(super().resolved(scene), body=body, other=other)


def require_touching(scene: Any, owner: str, item: Any) -> Body | Obstacle:
    """A body or an obstacle with a material. Raises ValueError for anything else."""
    name = item if isinstance(item, str) else item.name
    found: Any = scene.bodies.get(name) or scene.obstacles.get(name)
    if found is None or (not isinstance(item, str) and item is not found):
        known = ", ".join([*scene.bodies, *scene.obstacles][:8]) or "none yet"
        raise ValueError(f"{owner}: there is no body or obstacle {name!r}; there are {known}")
    if found.material is None:
        raise ValueError(f"{owner}: {name!r} has no material, so it touches nothing; give it one")
    return found  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Range(Mounted):
    """Distances (n,) m along rays from the sensor to the first body or obstacle with a material; inf if there is none.
    Rays ignore the body of the sensor.

    directions : (n, 3), in the axes of the sensor, of any length. reach : m, the length of the rays.
    """

    directions: NumbersLike = field(default=(AHEAD,), kw_only=True)
    reach: float = field(default=float("inf"), kw_only=True)

    kind = "range"

    @property
    def labels(self) -> tuple[str, ...]:
        """The numbers of the rays."""
        return tuple(str(i) for i in range(len(np.atleast_2d(np.asarray(self.directions)))))

    @property
    def units(self) -> tuple[str, ...]:
        """m."""
        return ("m",) * len(self.labels)

    def resolved(self, scene: Any) -> Self:
        """See `Sensor.resolved`."""
        rays = real_array(self.owner, "directions", np.atleast_2d(np.asarray(self.directions)), (-1, 3))
        lengths = np.linalg.norm(rays, axis=1)
        if not len(rays) or not (lengths > 0.0).all():
            raise ValueError(
                f"{self.owner}: directions are {rays.tolist()!s:.80}; give vectors of some length, at least one"
            )
        if not self.reach > 0.0:
            raise ValueError(f"{self.owner}: reach is {self.reach!r}; give a distance above zero, m")
        found = super().resolved(scene)
        return replace(found, directions=rays / lengths[:, None], reach=float(self.reach))


@dataclass(frozen=True, eq=False)
class Camera(Mounted):
    """An image: (height, width, 3) colours, uint8; (height, width) depths along the view in m, float32, inf for the
    background; or (height, width) numbers of bodies, int32. It looks along −z of the sensor; x is right, y up.

    image : "rgb", "depth" or "segmentation": the index of the body in the scene, or the number of bodies plus the index
        of the obstacle; −1 for the background.
    size : (width, height) in pixels. field_of_view : rad, over the whole height. near : m; nearer objects and the body
        of the sensor are not drawn.

    Bodies are drawn as the triangles of their shapes, half-spaces as planes. Particles are not drawn.
    """

    image: ImageKind = "rgb"
    size: tuple[int, int] = field(default=(160, 120), kw_only=True)
    field_of_view: float = field(default=1.0, kw_only=True)
    near: float = field(default=0.01, kw_only=True)

    kind = "camera"

    @property
    def labels(self) -> tuple[str, ...]:
        """The kind of the image."""
        return (self.image,)

    @property
    def units(self) -> tuple[str, ...]:
        """m for depths, else 1."""
        return ("m" if self.image == "depth" else "1",)

    @property
    def shape(self) -> tuple[int, ...]:
        """Height, width, and the number of colours."""
        return (self.size[1], self.size[0], *((3,) if self.image == "rgb" else ()))

    @property
    def may_be_noisy(self) -> bool:
        """True for depths."""
        return self.image == "depth"

    def resolved(self, scene: Any) -> Self:
        """See `Sensor.resolved`."""
        self._one_of("image", ("rgb", "depth", "segmentation"))
        size = tuple(self.size) if np.shape(self.size) == (2,) else ()
        if (
            len(size) != 2
            or not all(isinstance(n, int | np.integer) and n > 0 for n in size)
            or size[0] * size[1] > MOST_PIXELS
        ):
            raise ValueError(
                f"{self.owner}: size is {self.size!r:.80}; give width and height in pixels, at most {MOST_PIXELS} of them"
            )
        if not 0.0 < finite(self.owner, "field_of_view", self.field_of_view) < 3.1:
            raise ValueError(
                f"{self.owner}: field_of_view is {self.field_of_view!r}; give an angle between 0 and 3.1 rad"
            )
        positive(self.owner, "near", self.near, "m")
        return replace(super().resolved(scene), size=(int(size[0]), int(size[1])))


AnySensor = TypeVar("AnySensor", bound=Sensor)


class SensorMethods:
    """The method of `Scene` that adds sensors."""

    sensors: dict[str, Sensor]
    _new_name: Callable[..., None]

    def add_sensor(self, sensor: AnySensor) -> AnySensor:
        """Add a sensor of `dalembert.sensors`, such as `Imu("imu", "torso", rate=200)`. Returns it with names replaced
        by bodies and joints. Each run of the scene samples it: `Simulation.sensors` has the last sample,
        `Trajectory.sensors` all.

        Raises ValueError, naming the sensor and the value.
        """
        if not isinstance(sensor, Sensor):
            raise ValueError(
                f"add_sensor: {sensor!r:.80} is not a sensor; use one of dal.sensors, such as Imu(name, body)"
            )
        self._new_name(sensor.name, self.sensors, "sensor")
        found = sensor.resolved(self)
        self.sensors[sensor.name] = found
        return found
