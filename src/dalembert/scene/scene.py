"""`Scene`: the description of a mechanism. Bodies, joints and forces have names, which error messages use."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import NumbersLike, VectorLike
from ..core.calls import explain_calls
from .body import WORLD, Body, World, mass_of_body, require_not_exchanged, require_shape
from .cable import CableMethods
from .checks import MOST_CHARACTERS, meant, real_array, require_arguments, rotation_matrix, unit_quaternion
from .colors import color_text
from .contact import OF_SCENE, ContactMethods, ContactRule, Material, Obstacle, OfScene, require_convex, surface
from .force import Force, ForceMethods
from .joint import End, Frame, Joint, JointMethods, Link
from .mass import volume_of
from .motion import FASTEST, SET, Keyframes, Motion, motion_of_body
from .particle_forces import ParticleForceMethods
from .particles import Particle, ParticleForce, ParticleMethods, Particles
from .scene_warnings import density_warnings, orientation_warnings
from .sensor import Sensor, SensorMethods
from .shapes import HalfSpace, HeightField, Shape, TriangleMesh
from .soft import SoftBodyMethods

ORIGIN, UPRIGHT, STILL = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
PALETTE = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#eeca3b", "#9d755d")


@dataclass(eq=False)
class Event:
    """Something that happens when a function of the state changes sign; made by `Scene.event`."""

    name: str
    function: Callable[..., float]
    direction: int
    release: list[str]
    stop: bool
    action: Callable[[Any], object] | None
    once: bool


HINTS = {
    ("add_obstacle", "mass"): "an obstacle does not move; add a moving body with add_body",
    ("add_obstacle", "velocity"): "an obstacle does not move; give motion=, or add a body with add_body",
    ("add_body", "friction"): "friction belongs to a surface: material=Material(friction=...)",
    ("add_body", "restitution"): "restitution belongs to a surface: material=Material(restitution=...)",
    ("add_body", "fixed"): "add fixed objects with add_obstacle",
    ("add_body", "static"): "add fixed objects with add_obstacle",
    ("add_body", "kinematic"): 'give motion=, a function of time, Keyframes or "set"',
    ("add_body", "size"): "the size is that of the shape, such as Box(0.1, 0.2, 0.3)",
    ("add_body", "rotation"): "give orientation=(w, x, y, z), a quaternion",
    ("motor", "torque"): "give effort=, in N m on a hinge and N on a slider",
    ("motor", "velocity"): "give speed=",
    ("motor", "target"): "give position= with a stiffness, or speed=",
    ("motor", "kp"): "give stiffness=",
    ("motor", "kd"): "give damping=",
    ("spring", "k"): "give stiffness=, in N/m",
    ("cable", "stiffness"): "give stretch=E A, in N",
    ("cable", "radius"): "a cable has no thickness; give the radius of its Pulley or Drum",
    ("spring", "length"): "give rest=, in m",
    ("limit", "min"): "give lower=",
    ("limit", "max"): "give upper=",
}
"""(method, keyword that people expect there) → what to write instead."""


@explain_calls(HINTS)
class Scene(
    JointMethods, ForceMethods, CableMethods, ContactMethods, ParticleMethods, ParticleForceMethods, SoftBodyMethods,
    SensorMethods,
):  # fmt: skip
    """A description of a mechanism: bodies, particles, joints, forces, events, sensors and contact rules.

    Parameters
    ----------
    name : the name of the scene in tables and files.
    gravity : (3,) m/s², world axes; z is up.
    material : default `Material` of bodies with a shape, obstacles and particles. None: bodies and particles without
        their own material collide with nothing.

    Points and axes (`at`, `axis`) are in world coordinates, at the initial pose of the bodies.

    >>> import dalembert as dal
    >>> scene = dal.Scene("double pendulum")
    >>> upper = scene.add_body("upper", dal.Box(0.1, 0.1, 1.0), mass=1, position=(0, 0, -0.5))
    >>> lower = scene.add_body("lower", dal.Box(0.1, 0.1, 1.0), mass=1, position=(0, 0, -1.5))
    >>> shoulder = scene.hinge("shoulder", dal.WORLD, upper, at=(0, 0, 0), axis=(0, 1, 0))
    >>> elbow = scene.hinge("elbow", upper, lower, at=(0, 0, -1), axis=(0, 1, 0))
    """

    def __init__(
        self, name: str = "scene", *, gravity: VectorLike = (0.0, 0.0, -9.81), material: Material | None = None
    ) -> None:
        self.name: str = str(name)
        self.gravity = gravity  # type: ignore[assignment]
        self.bodies: dict[str, Body] = {}
        self._kinematic: list[str] = []  # names of bodies that move by command
        self.links: dict[str, Link] = {}
        self.joints: dict[str, Joint] = {}
        self.obstacles: dict[str, Obstacle] = {}
        self.contact_rules: list[ContactRule] = []
        self.particles: dict[str, Particles] = {}
        self.forces: dict[str, Any] = {}  # Force or ParticleForce
        self.events: dict[str, Event] = {}
        self.sensors: dict[str, Sensor] = {}
        self.material = material
        self.description = ""
        self.warnings: list[str] = []  # of what was added; see `scene_warnings`
        self.imported = False  # whether all of it comes from a model file
        self.origin: dict[str, Any] | None = None  # what made it, where that is known: see `gallery._loading`
        self._source: Scene | None = None  # what it is a copy of: see `as_it_is`

    def _repr_html_(self) -> str:
        from ..view.notebook import scene_html

        return scene_html(self)

    @property
    def gravity(self) -> NDArray[np.float64]:
        """(3,) m/s², world axes. Assign a new vector to change it; the array is read-only."""
        return self._gravity

    @gravity.setter
    def gravity(self, value: NumbersLike) -> None:
        owner = f"scene {self.name!r}"
        if isinstance(value, Real):
            raise ValueError(
                f"{owner}: gravity is {value!r}; give a vector, (0, 0, {-abs(float(value)):g}) in m/s² (z is up)"
            )
        self._gravity = real_array(owner, "gravity", value, (3,))

    @property
    def material(self) -> Material | None:
        """The default material, see `Scene`. It applies to objects that are added after it is set."""
        return self._material

    @material.setter
    def material(self, value: Material | None) -> None:
        self._material = surface(f"scene {self.name!r}", value, None)

    def add_body(
        self,
        name: str,
        shape: Shape | None = None,
        *,
        mass: float | None = None,
        density: float | None = None,
        inertia: NumbersLike | None = None,
        position: VectorLike = ORIGIN,
        orientation: VectorLike = UPRIGHT,
        velocity: VectorLike = STILL,
        angular_velocity: VectorLike = STILL,
        color: str | None = None,
        material: Material | OfScene | None = OF_SCENE,
        group: str = "",
        motion: Motion | None = None,
        surface_velocity: VectorLike | None = None,
        surface_spin: VectorLike | None = None,
    ) -> Body:
        """Add a rigid body.

        shape : the geometry. With `mass` (kg) or `density` (kg/m³) it gives the inertia, unless you pass `inertia`:
            (3,) principal moments or (3, 3) in body axes, about the centre of mass (kg m²).
        position : (3,) m, origin of the shape's frame. orientation : (w, x, y, z), shape → world.
        velocity : (3,) m/s, of the centre of mass. angular_velocity : (3,) rad/s; both in world axes.
        material : its surface. Default: that of the scene. None: the body collides with nothing.
        group : a name for `set_contact`.
        motion : makes the body *kinematic*: its motion is prescribed, whatever forces act on it, and it has no mass. A
            function of time (s) → (3,) position in m, or (7,) position and unit quaternion, of the shape's frame;
            compiled by Numba, or plain Python, which is slower. Or `Keyframes`. Or "set": it keeps `velocity` and
            `angular_velocity` until `Simulation.set_motion` sets others between steps. Contacts, joints and forces act
            with its velocity; its work on other bodies is in the ledger, under its name.
        surface_velocity, surface_spin : for a kinematic body, (3,) m/s and rad/s in the axes of the shape. The surface
            moves with the velocity surface_velocity + surface_spin × r (r from the origin of the shape's frame) while
            the body stays in place: a conveyor belt, a turntable. Needs a material.

        Raises ValueError naming the body and the value.
        """
        owner = f"body {name!r}"
        require_shape(owner, shape)
        require_not_exchanged(owner, mass, position)
        if motion is not None or surface_velocity is not None or surface_spin is not None:
            self._without_mass(owner, mass=mass, density=density, inertia=inertia)
            pose = {
                "position": None if position is ORIGIN else position,
                "orientation": None if orientation is UPRIGHT else orientation,
                "velocity": None if velocity is STILL else velocity,
                "angular_velocity": None if angular_velocity is STILL else angular_velocity,
            }
            made_of = surface(owner, material, self.material)
            return self._add_kinematic(
                owner, name, shape, motion, pose, made_of, color, str(group), surface_velocity, surface_spin
            )
        self._new_name(name, self.bodies, "body")
        for others, kind in ((self.obstacles, "an obstacle"), (self.links, "a link")):
            if name in others:
                raise ValueError(f"{owner}: {kind} already has that name; choose another")
        made_of = surface(owner, material, self.material)
        if made_of is not None or isinstance(shape, TriangleMesh | HeightField):
            require_convex(owner, shape)
        total, tensor, center = mass_of_body(owner, shape, mass, density, inertia)
        q = unit_quaternion(owner, "orientation", orientation)
        body = Body(
            name, shape, total, tensor, center,
            position=real_array(owner, "position", position, (3,)) + rotation_matrix(q) @ center,
            orientation=q,
            velocity=real_array(owner, "velocity", velocity, (3,)),
            angular_velocity=real_array(owner, "angular_velocity", angular_velocity, (3,)),
            color=color_text(owner, PALETTE[len(self.bodies) % len(PALETTE)] if color is None else color),
            material=None if shape is None else made_of,
            group=str(group),
            material_given=not isinstance(material, OfScene),
        )  # fmt: skip
        self.bodies[name] = body
        for other in self._kinematic:
            self.bodies[other] = self.bodies.pop(other)  # they come last
        if not self.imported:
            self.warnings += orientation_warnings(owner, orientation)
        if shape is not None and inertia is None and mass is not None:
            self.warnings += density_warnings(owner, body.mass, volume_of(shape))
        return body

    def _without_mass(self, owner: str, **given: Any) -> None:
        """Raises ValueError for a mass of a kinematic body."""
        for name, value in given.items():
            if value is not None:
                raise ValueError(
                    f"{owner}: {name} is {value!r:.80}, but it is kinematic, without mass; leave out {name}"
                )

    def _add_kinematic(
        self, owner: str, name: str, shape: Any, motion: Any, pose: dict[str, Any], material: Material | None,
        color: str | None, group: str, surface_velocity: VectorLike | None, surface_spin: VectorLike | None,
    ) -> Body:  # fmt: skip
        """A kinematic body; see `add_body`."""
        self._new_name(name, self.bodies, "body")
        for others, kind in ((self.obstacles, "an obstacle"), (self.links, "a link")):
            if name in others:
                raise ValueError(f"{owner}: {kind} already has that name; choose another")
        belt = surface_velocity is not None or surface_spin is not None
        if shape is not None and not isinstance(shape, Shape):
            raise ValueError(f"{owner}: shape is {shape!r:.80}; give a shape, such as Box(...)")
        if belt and (material is None or shape is None):
            raise ValueError(f"{owner}: a surface velocity needs a shape and a material; give both")
        found = motion_of_body(owner, SET if motion is None else motion, **pose)
        given = {"surface_velocity": surface_velocity, "surface_spin": surface_spin}
        slides = [real_array(owner, key, STILL if v is None else v, (3,)) for key, v in given.items()]
        for key, slide in zip(given, slides, strict=True):
            if float(np.linalg.norm(slide)) > FASTEST:
                raise ValueError(f"{owner}: {key} is {slide.tolist()}; give at most {FASTEST:g} m/s or rad/s")
        if isinstance(shape, HalfSpace) and (slides[0][2] != 0.0 or slides[1][:2].any()):
            raise ValueError(
                f"{owner}: surface_velocity is {slides[0].tolist()} and surface_spin {slides[1].tolist()}, in the axes of "
                "the shape, whose z is the normal of a half-space; a plane moves along itself: give (x, y, 0) and (0, 0, z)"
            )
        body = Body(
            name, shape, 0.0, np.zeros((3, 3)), np.zeros(3), position=found.position, orientation=found.orientation,
            velocity=np.zeros(3), angular_velocity=np.zeros(3),
            color=color_text(owner, PALETTE[len(self.bodies) % len(PALETTE)] if color is None else color),
            material=None if shape is None else material, group=group, material_given=True, motion=found,
            surface_velocity=slides[0], surface_spin=slides[1],
        )  # fmt: skip
        self.bodies[name] = body
        self._kinematic.append(name)
        if isinstance(motion, Keyframes):
            self.warnings += motion.warnings(owner)
        return body

    def event(
        self,
        name: str,
        function: Callable[[float, NDArray[np.float64]], float],
        *,
        direction: Literal[-1, 0, 1] = 0,
        release: str | Joint | Force | ParticleForce | Iterable[str | Joint | Force | ParticleForce] = (),
        stop: bool = False,
        action: Callable[[Any], object] | None = None,
        once: bool = True,
    ) -> Event:
        """Add an event: an action when `function(t, y)` changes sign (direction +1: rising, −1: falling, 0: both).

        function : t in s and the flat state vector y → number; compiled by Numba, or plain Python, which is slower.
            `model.body_slice(name)` is the slice of a body's (x, q, P, L) in y. release : joints or forces to release.
            stop : whether to end the run. action : called with the simulation's state, which it can change (an
            impulse). once : whether the event happens only once.
        """
        self._new_name(name, self.events, "event")
        require_arguments(f"event {name!r}", function, "t, y")
        if direction not in (-1, 0, 1):
            raise ValueError(f"event {name!r}: direction is {direction!r}; give -1, 0 or 1")
        items = [release] if isinstance(release, str | Joint | Force | ParticleForce) else list(release)
        names = [item if isinstance(item, str) else item.name for item in items]
        for item in names:
            if item not in self.joints and item not in self.forces:
                known = [*self.joints, *self.forces]
                raise ValueError(
                    f"event {name!r}: it releases {item!r}, which is not a joint or force of the scene"
                    f"{meant(item, known, 'joints and forces')}"
                )
        self.events[name] = Event(name, function, direction, names, stop, action, once)
        return self.events[name]

    # Looking things up ------------------------------------------------------------------------------------------------

    def _new_name(self, name: str, table: dict[str, Any], kind: str) -> None:
        if not isinstance(name, str) or not name or len(name) > MOST_CHARACTERS:
            first = "" if isinstance(name, str) else f"; the name comes first, such as {kind.split()[0]!r}"
            raise ValueError(
                f"{kind}: its name must be a text of 1 to {MOST_CHARACTERS} characters; got {name!r:.80}{first}"
            )
        if name in table:
            raise ValueError(f"{kind} {name!r}: the name is already in use; choose another")
        if name == WORLD.name and kind == "body":
            raise ValueError("body 'world': that name is reserved for the world; choose another")

    def _frame(self, owner: str, item: End) -> Frame:
        if isinstance(item, World):
            return item
        if isinstance(item, Particle):
            if self.particles.get(item.group.name) is not item.group:
                raise ValueError(
                    f"{owner}: particle {item.name} belongs to another scene; add its group to this one first"
                )
            return item
        if isinstance(item, Body | Link):
            if self.bodies.get(item.name) is not item and self.links.get(item.name) is not item:
                raise ValueError(f"{owner}: body {item.name!r} belongs to another scene; add it to this one first")
            return item
        if isinstance(item, Obstacle) or (isinstance(item, str) and item in self.obstacles):
            return self._obstacle_as_world(owner, item)
        if isinstance(item, str) and item == WORLD.name:
            return WORLD
        if item in self.bodies or item in self.links:
            return self.bodies.get(item) or self.links[item]
        known = [*self.bodies, *self.links, *self.obstacles]
        raise ValueError(f"{owner}: there is no body {item!r:.80}{meant(item, known, 'bodies')}")

    def _obstacle_as_world(self, owner: str, item: str | Obstacle) -> Frame:
        """An obstacle does not move: what is fixed to it is fixed to the world."""
        name = item if isinstance(item, str) else item.name
        if isinstance(item, Obstacle) and self.obstacles.get(name) is not item:
            raise ValueError(f"{owner}: obstacle {name!r} belongs to another scene; add it to this one first")
        return WORLD

    def _frames(self, owner: str, a: End, b: End) -> tuple[Frame, Frame]:
        first, second = self._frame(owner, a), self._frame(owner, b)
        if first == second:
            raise ValueError(f"{owner}: both ends are {first.name!r}; connect two different bodies")
        return first, second

    def _joint(self, owner: str, item: str | Joint) -> Joint:
        found = self.joints.get(item if isinstance(item, str) else getattr(item, "name", None))  # type: ignore[arg-type]
        if found is None or (isinstance(item, Joint) and found is not item):
            name = item if isinstance(item, str) else getattr(item, "name", item)
            raise ValueError(
                f"{owner}: there is no joint {name!r:.80} in this scene{meant(name, self.joints, 'joints')}"
            )
        return found

    def _bodies(self, owner: str, items: Sequence[str | Frame] | None) -> list[Frame]:
        if items is None:
            return list(self.bodies.values())
        return [self._frame(owner, item) for item in items]


def as_it_is(scene: Scene) -> Scene:
    """A copy with the same bodies and all else, which does not take what is added to the scene or changed of it later."""
    own = copy.copy(scene)
    for name, value in vars(scene).items():
        if isinstance(value, (dict, list)):
            setattr(own, name, copy.copy(value))
    own._source = scene
    return own


def source_of(scene: Scene) -> Scene:
    """The scene itself, or what it is a copy of."""
    while scene._source is not None:
        scene = scene._source
    return scene


def require_scene(scene: Any, *others: type) -> None:
    """Raises TypeError, with the way to a scene, unless this is one, or an object of the other classes."""
    if isinstance(scene, (Scene, *others)):
        return
    if scene is Scene:
        way = 'create one: scene = Scene("name")'
    elif isinstance(getattr(scene, "scene", None), Scene):
        way = "pass its attribute scene"
    elif isinstance(getattr(getattr(scene, "model", None), "scene", None), Scene):
        way = "it is already a run of one; pass its model.scene"
    elif isinstance(scene, str):
        way = "for a scene of the gallery give gallery.load(name).build(), for a model file load_model(path).scene"
    else:
        way = "give a Scene"
    raise TypeError(f"scene is {scene!r:.80}; {way}")
