"""`export_mjcf`: a scene as a model file of MuJoCo.

The bodies are nested as in the tree of joint coordinates (`model.tree`), at the pose of the scene, where all
coordinates are zero. A frame of MJCF is that of our body: at the centre of mass, with the body's axes. Joints of one
MJCF body act one after the other from the parent on, as if there were frames without mass between them: so a link
without mass that carries one joint needs no body, and neither does the part between the axes of a universal or
cylindrical joint.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ..model.tree import BALL, COMMANDED, FREE, HINGE, WELD, Layout, Place, build_tree
from ..scene.body import WORLD, Body, World
from ..scene.cable import BLOCK, DRUM, POINT, CablePath
from ..scene.checks import quaternion_of, rotation_matrix
from ..scene.contact import Obstacle
from ..scene.force import Force
from ..scene.forces.cable import ElasticCable, SlackCable
from ..scene.joint import Joint, Link, Part
from ..scene.scene import Scene
from ..scene.shapes import Compound, ConvexHull, HeightField, Shape
from .mjcf_sensors import write_sensors
from .shown import ExportWarning, free_name, holds_particle, passing_pairs, principal_inertia, rgb, target

# The document ---------------------------------------------------------------------------------------------------------

Element = ElementTree.Element
SECTIONS = ("asset", "worldbody", "contact", "tendon", "equality", "actuator", "sensor", "keyframe")
FLAT = 1e-9  # of the largest moment: by how much it may exceed the sum of the others unsaid


def number(value: float) -> str:
    """A number with all its digits."""
    return repr(float(value) + 0.0)


def numbers(values: Iterable[float]) -> str:
    return " ".join(number(value) for value in values)


@dataclass(eq=False)
class DocumentJoint:
    """One joint of the file, in world coordinates at the start."""

    kind: int  # of model.tree_tables
    name: str
    at: np.ndarray
    axis: np.ndarray
    armature: float
    place: Place | None = None  # what it carries
    element: Element | None = None

    def freedoms(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Velocity at its point and angular velocity that one unit of each of MuJoCo's speeds makes at the start; of a ball
        and of what is free the turns are in axes of the body."""
        assert self.place is not None
        zero, axes = np.zeros(3), list(self.place.rotation.T)
        if self.kind == FREE:
            return [(e, zero) for e in np.eye(3)] + [(zero, axis) for axis in axes]
        if self.kind == BALL:
            return [(zero, axis) for axis in axes]
        return [(zero, self.axis)] if self.kind == HINGE else [(self.axis, zero)]

    def start(self) -> list[float]:
        """Its numbers in qpos at the start."""
        assert self.place is not None
        if self.kind == FREE:
            return [*self.place.position.tolist(), *quaternion_of(self.place.rotation)]
        return [1.0, 0.0, 0.0, 0.0] if self.kind == BALL else [0.0]


class Document:
    """The elements of the file, the element of each item, and the warnings."""

    def __init__(self, scene: Scene, file: Path) -> None:
        self.scene, self.file = scene, file
        self.warnings: list[ExportWarning] = []
        self.meshes: dict[str, tuple[np.ndarray, np.ndarray]] = {}  # file name → vertices, faces
        self.mesh_names: set[str] = set()
        self.bodies: dict[Any, Element] = {}  # body or link → element
        self.places: list[tuple[Place, Place, list[DocumentJoint]]] = []  # place, its host and joints
        self.joints: dict[str, DocumentJoint] = {}  # by the name of the freedom
        self.actuators: dict[str, str] = {}  # motor → its name in the file
        self.sites: dict[str, Element] = {}  # by name
        self._names: dict[str, set[str]] = {}
        self.root = Element("mujoco", model=scene.name)
        ElementTree.SubElement(
            self.root, "compiler", angle="radian", autolimits="true", inertiafromgeom="false", balanceinertia="false"
        )
        self.option = ElementTree.SubElement(self.root, "option", gravity=numbers(scene.gravity), cone="elliptic")
        self._sections = {name: Element(name) for name in SECTIONS}
        self.world = self._sections["worldbody"]

    def section(self, name: str) -> Element:
        return self._sections[name]

    def warn(self, item: str, message: str) -> None:
        self.warnings.append(ExportWarning(item, message))

    def name(self, kind: str, wanted: str) -> str:
        """A name that no other element of that kind has."""
        return free_name(wanted, self._names.setdefault(kind, set()))

    def new_joint(self, kind: int, name: str, at: np.ndarray, axis: np.ndarray, armature: float) -> DocumentJoint:
        joint = DocumentJoint(kind, self.name("joint", name), at, axis, armature)
        if kind not in (FREE, BALL):
            self.joints[name] = joint
        return joint

    def coordinate(self, joint: Any, which: str | None = None) -> DocumentJoint | None:
        """The joint of the file that has a coordinate of a joint of the scene; None for one that is not in the tree."""
        name = joint.name
        if joint.angle and joint.displacement:
            name += f".{which or 'angle'}"
        return self.joints.get(name)

    def set_rotation(self, element: Element, rotation: np.ndarray) -> None:
        if not np.array_equal(rotation, np.eye(3)):
            element.set("quat", numbers(quaternion_of(rotation)))

    def site(self, frame: Any, point: np.ndarray, name: str, rotation: np.ndarray | None = None) -> str | None:
        """The name of a new site at a world point of a body, link or the world, its axes along those of `rotation`.

        None where the file does not have the frame.
        """
        placed = isinstance(frame, Body | Link)
        above = self.bodies.get(frame) if placed else self.world if isinstance(frame, World) else None
        if above is None:
            return None
        at, turn = (frame.to_body(point), frame.rotation) if placed else (point, np.eye(3))
        unique = self.name("site", name)
        element = self.sites[unique] = ElementTree.SubElement(above, "site", name=unique, pos=numbers(at), group="4")
        if rotation is not None:
            self.set_rotation(element, turn.T @ rotation)
        return unique

    def write_inertia(self, element: Element, body: Body) -> None:
        """The inertia as principal moments; MuJoCo refuses any that exceeds the sum of the two others, if by rounding."""
        moments, axes = principal_inertia(body.inertia)
        k = int(np.argmax(moments))
        most = float(np.delete(moments, k).sum())
        if moments[k] > most:
            if moments[k] > most * (1.0 + FLAT):
                self.warn(
                    f"body {body.name!r}", f"its largest moment of inertia, {moments[k]:.9g}, becomes {most:.9g} kg m²"
                )
            moments[k] = most
        inertial = ElementTree.SubElement(element, "inertial", pos="0 0 0", mass=number(body.mass))
        self.set_rotation(inertial, axes)
        inertial.set("diaginertia", numbers(moments))

    def in_order(self) -> list[tuple[Place, Place, list[DocumentJoint]]]:
        """The places in the order of the file, which is that of MuJoCo's coordinates."""
        found = {id(self.bodies[place.item]): (place, host, joints) for place, host, joints in self.places}
        return [found[id(element)] for element in self.world.iter("body") if id(element) in found]

    def save(self) -> None:
        """Write the file, and its meshes beside it."""
        self.root.extend(section for section in self._sections.values() if len(section) or section is self.world)
        ElementTree.indent(self.root)
        for name, (vertices, faces) in self.meshes.items():
            lines = ["v " + " ".join(f"{x:.9g}" for x in row) for row in vertices.tolist()]
            lines += ["f " + " ".join(str(i + 1) for i in row) for row in faces.tolist()]
            (self.file.parent / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        text = ElementTree.tostring(self.root, encoding="unicode")
        self.file.write_text(text + "\n", encoding="utf-8")


# Forces and loops: attributes of joints, actuators, tendons, equality constraints -------------------------------------

ON_JOINTS = ("torsion_spring", "friction", "limit", "motor", "servo")  # what joints and actuators of MJCF do
FAR = 1e10  # rad or m: a stop that is not there
OUTSIDE = 2.0  # radii of a pulley, from its centre to the site that says on which side a tendon runs


def write_forces(out: Document, loops: Iterable[Joint]) -> None:
    """All forces, and the joints that are not in the tree."""
    for joint in loops:
        if not holds_particle(joint) and not _write_loop(out, joint):
            out.warn(f"{joint.kind} {joint.name!r}", "MJCF has no such constraint between these; it is left out")
    on_joints: dict[str, list[Force]] = {}
    for force in out.scene.forces.values():
        kind = force.kind.replace("_", " ")
        if not isinstance(force, Force) or holds_particle(force):
            continue  # warned of with the particles
        if force.joint is not None and force.kind not in ON_JOINTS:
            out.warn(f"{kind} {force.name!r}", "MJCF has no such force; it is left out")
        elif force.joint is not None:
            found = out.coordinate(force.joint, force.coordinate)
            if found is None:
                out.warn(
                    f"{kind} {force.name!r}",
                    f"{force.joint.name!r} closes a loop and is not a joint in MJCF; it is left out",
                )
            else:
                on_joints.setdefault(found.name, []).append(force)
        elif isinstance(force, ElasticCable | SlackCable):
            _write_cable_force(out, force)
        elif (tendon := force.tendon()) is None:
            out.warn(f"{kind} {force.name!r}", "MJCF has no such force; it is left out")
        elif not _write_tendon(
            out, force.name, force, force.at_a, force.at_b, **{key: number(value) for key, value in tendon.items()}
        ):
            out.warn(
                f"{kind} {force.name!r}", "one of its ends is on an object that MJCF does not have; it is left out"
            )
    for carried in out.joints.values():
        _write_attributes(out, carried.element, on_joints.get(carried.name, []))
    for name, forces in on_joints.items():
        for force in forces:
            if force.kind in ("motor", "servo"):
                _write_motor(out, name, force)
    for event in out.scene.events.values():
        out.warn(f"event {event.name!r}", "MJCF has no events; it is left out")
    if out.scene.particles:
        out.warn(
            f"particles {', '.join(out.scene.particles)}", "particles, and the forces and joints on them, are left out"
        )


def _write_attributes(out: Document, element: Any, forces: list[Force]) -> None:
    """Springs, dampers, stops and dry friction of one joint; those of one kind act as their sum, stops as the nearest."""
    springs = [force for force in forces if force.kind == "torsion_spring"]
    stiffness, damping = sum(force.stiffness for force in springs), sum(force.damping for force in springs)
    if stiffness > 0.0:
        element.set("stiffness", number(stiffness))
        element.set("springref", number(sum(force.stiffness * force.rest for force in springs) / stiffness))
    if damping > 0.0:
        element.set("damping", number(damping))
    friction = sum(force.limit for force in forces if force.kind == "friction")
    if friction > 0.0:
        element.set("frictionloss", number(friction))
    limits = [force for force in forces if force.kind == "limit"]
    if limits:
        lower, upper = max(force.stops[0] for force in limits), min(force.stops[1] for force in limits)
        element.set("range", numbers([max(lower, -FAR), min(upper, FAR)]))
    for force in limits:
        if force.restitution > 0.0:
            out.warn(f"limit {force.name!r}", "MuJoCo's stops do not bounce; its restitution is left out")


def _write_motor(out: Document, joint: str, force: Force) -> None:
    """effort + stiffness (position − s) + damping (speed − ṡ) + control, within ± limit."""
    item = f"motor {force.name!r}"
    if force.kind == "servo":
        out.warn(item, "MuJoCo has no ideal motor; give it damping; it is left out")
        return
    if force.function is not None:
        out.warn(item, "MJCF cannot contain its function; it is left out")
        return
    bias = force.rest + force.stiffness * force.position + force.damping * force.target
    name = out.actuators[force.name] = out.name("actuator", force.name)
    element = ElementTree.SubElement(
        out.section("actuator"), "general", name=name, joint=joint, gaintype="fixed",
        gainprm="1", biastype="affine", biasprm=numbers([bias, -force.stiffness, -force.damping]),
    )  # fmt: skip
    if np.isfinite(force.limit):
        element.set("forcerange", numbers([-force.limit, force.limit]))


def _write_tendon(
    out: Document, name: str, ends: Any, at_a: np.ndarray, at_b: np.ndarray, **attributes: str
) -> str | None:
    """The name of a new tendon between points of ends.a and ends.b; None where one of these is not in the file."""
    sites = _sites(out, name, ends, at_a, at_b)
    if sites is None:
        return None
    unique = out.name("tendon", name)
    tendon = ElementTree.SubElement(out.section("tendon"), "spatial", {"name": unique, **attributes})
    for site in sites:
        ElementTree.SubElement(tendon, "site", site=site)
    return unique


# Cables: tendons through sites, and around geoms that touch nothing


def _write_cable_force(out: Document, force: ElasticCable | SlackCable) -> None:
    """A cable that stretches, or one with a range of lengths."""
    item = f"cable {force.name!r}"
    if isinstance(force, SlackCable):
        found = _write_cable(out, force.name, force.cable, limited="true", range=numbers([0.0, force.rest]))
    else:
        found = _write_cable(
            out, force.name, force.cable, stiffness=number(force.stiffness), damping=number(force.damping),
            springlength=numbers([0.0, force.rest]),
        )  # fmt: skip
        if found is not None and force.damping > 0.0:
            out.warn(item, "MuJoCo's damping of a tendon also acts where the cable is slack")
    if found is None:
        out.warn(item, "no tendon of MJCF is like it; it is left out")


def _write_cable(out: Document, name: str, cable: CablePath, **attributes: str) -> str | None:
    """The name of a new tendon along the path of a cable; None, with a warning why, where MJCF has no such path."""
    reason = _beyond_tendons(out, cable)
    if reason:
        out.warn(f"cable {name!r}", reason)
        return None
    unique = out.name("tendon", name)
    tendon = ElementTree.SubElement(out.section("tendon"), "spatial", {"name": unique, **attributes})
    for i, element in enumerate(cable.elements):
        if element.kind == POINT:
            site = out.site(element.frame, element.point, f"{name}.{i}")
            ElementTree.SubElement(tendon, "site", site=str(site))
        else:
            geom, side = _write_pulley(out, f"{name}.{i}", element)
            ElementTree.SubElement(tendon, "geom", geom=geom, sidesite=side)
    return unique


def _beyond_tendons(out: Document, cable: CablePath) -> str:
    """What of a cable no tendon has; "" where there is nothing."""
    elements = cable.elements
    for i, element in enumerate(elements):
        if not isinstance(element.frame, World) and element.frame not in out.bodies:
            return f"it runs through {element.frame.name!r}, which MJCF does not have"
        if element.kind == DRUM:
            return "MJCF has no drums, and no pulleys that a tendon turns"
        if element.turns > 0.0:
            return "a tendon of MJCF does not wind around a pulley more than once"
        if element.friction > 0.0:
            return "a tendon of MJCF has no friction in eyes and on pulleys"
        if element.kind != POINT and elements[i + 1].kind != POINT:
            return "MJCF takes a point between two pulleys; add an Eye there"
    return ""


def _write_pulley(out: Document, name: str, element: Any) -> tuple[str, str]:
    """The geom of a pulley, which touches nothing, and the site on its side."""
    frame, swivels = element.frame, element.kind == BLOCK
    placed = not isinstance(frame, World)
    above = out.bodies[frame] if placed else out.world
    at, turn = (frame.to_body(element.point), frame.rotation) if placed else (element.point, np.eye(3))
    side = element.side - (element.side @ element.axis) * element.axis
    side /= np.linalg.norm(side)
    axes = np.stack([side, np.cross(element.axis, side), element.axis], axis=1)
    geom = ElementTree.SubElement(
        above, "geom", name=out.name("geom", name), type="sphere" if swivels else "cylinder", pos=numbers(at),
        size=numbers([element.radius] if swivels else [element.radius, element.radius]), contype="0", conaffinity="0",
        group="4",
    )  # fmt: skip
    out.set_rotation(geom, turn.T @ axes)
    return geom.get("name", ""), str(out.site(frame, element.point + OUTSIDE * element.radius * side, f"{name}.side"))


def _sites(
    out: Document, name: str, ends: Any, at_a: np.ndarray, at_b: np.ndarray, turn: np.ndarray | None = None
) -> tuple[str, str] | None:
    """Names of sites on ends.a and ends.b; None where one of these is not in the file."""
    first = out.site(ends.a, at_a, f"{name}.a", turn)
    second = out.site(ends.b, at_b, f"{name}.b", turn)
    return None if first is None or second is None else (first, second)


def _write_loop(out: Document, joint: Joint) -> bool:
    """A joint as equality constraints; False where MJCF has none for it."""
    if joint.kind == "gear":
        return _write_gear(out, joint)
    if joint.cable is not None:
        tendon = _write_cable(out, joint.name, joint.cable)
        if tendon is not None:
            _equality(out, "tendon", joint.name, tendon1=tendon, polycoef=numbers([0.0] * 5))
        return tendon is not None
    if joint.kind not in ("ball", "hinge", "weld", "rod"):
        return False
    part = joint.parts[0]
    if joint.kind == "rod":
        # The length of a tendon keeps its value at the start plus the first coefficient.
        more = part.value - float(np.linalg.norm(part.point_b - part.point_a))
        tendon = _write_tendon(out, joint.name, joint, part.point_a, part.point_b)
        if tendon is not None:
            _equality(out, "tendon", joint.name, tendon1=tendon, polycoef=numbers([more, 0.0, 0.0, 0.0, 0.0]))
        return tendon is not None
    turn = np.eye(3) if joint.kind == "weld" else None
    sites = _sites(out, joint.name, joint, part.point_a, part.point_b, turn)
    if sites is None:
        return False
    _equality(out, "weld" if joint.kind == "weld" else "connect", joint.name, site1=sites[0], site2=sites[1])
    if joint.kind == "hinge":  # a second point on the axis, about as far away as the bodies are large
        assert joint.axis is not None
        arms = [np.linalg.norm(end.position - joint.at) for end in (joint.a, joint.b) if isinstance(end, Body)]
        far = float(max(arms)) or 1.0
        second = _sites(
            out,
            f"{joint.name}.axis",
            joint,
            part.point_a + far * joint.axis,
            part.point_b + far * joint.parts[1].axis_b,
        )
        assert second is not None
        _equality(out, "connect", f"{joint.name}.axis", site1=second[0], site2=second[1])
    return True


def _write_gear(out: Document, joint: Joint) -> bool:
    assert joint.coupling is not None
    first, second = (out.coordinate(item) for item in joint.coupling.joints)
    if first is None or second is None:
        return False
    ratio = numbers([0.0, joint.coupling.ratio, 0.0, 0.0, 0.0])
    _equality(out, "joint", joint.name, joint1=second.name, joint2=first.name, polycoef=ratio)
    return True


def _equality(out: Document, kind: str, name: str, **attributes: str) -> None:
    ElementTree.SubElement(out.section("equality"), kind, {"name": out.name("equality", name), **attributes})


# Shapes: geoms, meshes beside the file, and which pairs touch ---------------------------------------------------------

SIDES = 48
THIN = 1e-9  # of its extent: a mesh that is thinner is flat


def write_shapes(out: Document) -> None:
    """The geoms of bodies and obstacles, and the pairs that touch."""
    scene = out.scene
    apart = passing_pairs(scene)
    parted = {name for pair in apart for name in pair}
    assets: dict[int, str] = {}
    for body in scene.bodies.values():
        if body.shape is not None:
            _write_geoms(out, out.bodies[body], body, -body.center, np.eye(3), assets)
    for obstacle in scene.obstacles.values():
        if obstacle.name in parted:  # MJCF excludes pairs by the names of bodies
            holder = ElementTree.SubElement(out.world, "body", name=obstacle.name, pos=numbers(obstacle.position))
            out.set_rotation(holder, obstacle.rotation)
            _write_geoms(out, holder, obstacle, np.zeros(3), np.eye(3), assets)
        else:
            _write_geoms(out, out.world, obstacle, obstacle.position, obstacle.rotation, assets)
    for a, b in apart:
        ElementTree.SubElement(out.section("contact"), "exclude", body1=a, body2=b)
    if _neighbours_touch(out, apart):
        ElementTree.SubElement(out.option, "flag", filterparent="disable")
    _warn_of_materials(out)


def _neighbours_touch(out: Document, apart: list[tuple[str, str]]) -> bool:
    """Whether a body and the one that carries it touch, which MuJoCo excludes by default."""
    known = set(apart)
    for place, host, _ in out.places:
        both = [item for item in (place.item, host.item) if isinstance(item, Body) and item.material is not None]
        if len(both) == 2 and tuple(sorted(item.name for item in both)) not in known:
            return True
    return False


def _write_geoms(
    out: Document, above: Element, item: Body | Obstacle, position: np.ndarray, rotation: np.ndarray,
    assets: dict[int, str],
) -> None:  # fmt: skip
    """The parts of a shape whose frame has this place in the element above."""
    parts = [(item.shape, np.zeros(3), np.eye(3))]
    if isinstance(item.shape, Compound):
        parts = [(part.shape, np.array(part.position), rotation_matrix(part.orientation)) for part in item.shape.parts]
    for shape, at, turn in parts:
        found = _geometry(out, item, shape, assets)
        if found is None:
            continue
        kind, attributes, lift = found
        place = position + rotation @ (at + turn @ np.array([0.0, 0.0, lift]))
        geom = ElementTree.SubElement(
            above, "geom", {"name": out.name("geom", item.name), "type": kind, "pos": numbers(place), **attributes}
        )
        out.set_rotation(geom, rotation @ turn)
        geom.set("rgba", " ".join(f"{value:.4g}" for value in (*rgb(item.color), 1.0)))
        if item.material is None:
            geom.set("contype", "0")
            geom.set("conaffinity", "0")
        else:
            surface = item.material
            geom.set("friction", numbers([surface.friction, surface.torsional_friction, surface.rolling_friction]))
            if surface.resists_turning:
                geom.set("condim", "6" if surface.rolling_friction > 0.0 else "4")


def _geometry(
    out: Document, item: Body | Obstacle, shape: Shape, assets: dict[int, str]
) -> tuple[str, dict[str, str], float] | None:
    """Type and attributes of a geom, and by how much it is higher than the shape's frame; None where MuJoCo has none."""
    owner = f"{'body' if isinstance(item, Body) else 'obstacle'} {item.name!r}"
    sizes = shape.mjcf_geom()
    if sizes is not None:
        return shape.mjcf_type, {"size": numbers(sizes)}, 0.0
    if isinstance(shape, HeightField):
        return _height_field(out, owner, item, shape)
    if id(shape) not in assets:
        vertices, faces = shape.triangles(SIDES)
        spread = np.linalg.svd(vertices - vertices.mean(axis=0), compute_uv=False)
        if spread[-1] <= THIN * spread[0]:
            out.warn(owner, "MuJoCo does not support flat meshes; it is left out; use a box or a half-space")
            return None
        assets[id(shape)] = _mesh(out, item.name, vertices, faces, not shape.solid)
    if shape.convex and not isinstance(shape, ConvexHull):
        out.warn(owner, f"MuJoCo has no {type(shape).__name__.lower()}; it becomes the hull of {SIDES} sides")
    if shape.surface and item.material is not None:
        out.warn(owner, "MuJoCo collides with the convex hull of a mesh, not with its surface")
    return "mesh", {"mesh": assets[id(shape)]}, 0.0


def _mesh(out: Document, wanted: str, vertices: np.ndarray, faces: np.ndarray, surface: bool) -> str:
    """The name of a new mesh, written to a file beside the model's."""
    name = out.name("mesh", wanted)
    plain = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in name)
    file = free_name(f"{out.file.stem}_{plain}", out.mesh_names) + ".obj"
    out.meshes[file] = vertices, faces
    element = ElementTree.SubElement(out.section("asset"), "mesh", name=name, file=file)
    if surface:
        element.set("inertia", "shell")  # an open surface has no volume to take one from
    return name


def _height_field(out: Document, owner: str, item: Any, shape: HeightField) -> tuple[str, dict[str, str], float]:
    """MuJoCo's rows go along x, from the highest y down, and its heights from 0 to 1 times the third size."""
    nx, ny = shape.heights.shape
    low, high = float(shape.heights.min()), float(shape.heights.max())
    height = high - low or 1.0
    extent = [0.5 * (nx - 1) * shape.spacing[0], 0.5 * (ny - 1) * shape.spacing[1]]
    name = out.name("hfield", item.name)
    ElementTree.SubElement(
        out.section("asset"), "hfield", name=name, nrow=str(ny), ncol=str(nx),
        size=numbers([*extent, height, max(extent)]), elevation=numbers(((shape.heights.T[::-1] - low) / height).ravel()),
    )  # fmt: skip
    if high == low:
        out.warn(owner, "MuJoCo may read a level height field with another height; use a half-space or a box")
    return "hfield", {"hfield": name}, low


def _warn_of_materials(out: Document) -> None:
    touching = out.scene.touching()
    if len({item.material.friction for item in touching if item.material is not None}) > 1:
        out.warn("materials", "MuJoCo uses the larger of two friction coefficients, a scene their geometric mean")
    if any(item.material is not None and item.material.restitution > 0.0 for item in touching):
        out.warn("materials", "MuJoCo has no restitution; it is left out")
    if any(item.material is not None and item.material.static_friction is not None for item in touching):
        out.warn("materials", "MuJoCo's friction is the same at every speed; static_friction is left out")
    if any(item.material is not None and item.material.stiffness is not None for item in touching):
        out.warn(
            "materials", "MuJoCo's solref is not the stiffness of a surface in N/m; stiffness and damping are left out"
        )
    for rule in _special(out):
        out.warn(f"contact of {rule.a!r} and {rule.b!r}", "friction and restitution of a pair are left out")


def _special(out: Document) -> Iterator[Any]:
    rules = out.scene.contact_rules
    return (rule for rule in rules if rule.enabled and (rule.friction is not None or rule.restitution is not None))


# Velocities at the start ----------------------------------------------------------------------------------------------

DEPENDENT = 1e-10  # of the largest singular value: what is below is a row that others make
TINY = 1e-15  # of the largest speed


def write_velocities(out: Document, loops: list[Joint]) -> None:
    """The key frame "start", where anything moves: the speeds w that come nearest to the velocities v of the bodies in the
    metric of the masses, the least |M^½ (J w − v)| of those with C w = 0, C the rows of the loops. Where the velocities fit
    the joints these are they."""
    bodies = list(out.scene.bodies.values())
    if not any(body.velocity.any() or body.angular_velocity.any() for body in bodies):
        return
    motions = _Motions(out)
    rows, wanted = [np.zeros((0, motions.count))], []
    for body in bodies:
        root, spin = np.sqrt(body.mass), np.linalg.cholesky(body.inertia).T @ body.rotation.T
        linear, angular = motions.of(body, body.position)
        rows += [root * linear, spin @ angular]
        wanted += [root * body.velocity, spin @ body.angular_velocity]
    free = _null_space(motions.closing(loops))
    speeds = free @ np.linalg.lstsq(np.concatenate(rows) @ free, np.concatenate(wanted), rcond=None)[0]
    speeds[np.abs(speeds) <= TINY * np.abs(speeds).max(initial=0.0)] = 0.0
    start = [value for _, _, joints in out.in_order() for joint in joints for value in joint.start()]
    ElementTree.SubElement(
        out.section("keyframe"), "key", name="start", qpos=numbers(start), qvel=numbers(speeds.tolist())
    )


def _null_space(rows: np.ndarray) -> np.ndarray:
    """Orthonormal columns that span what the rows take to nothing."""
    _, sizes, directions = np.linalg.svd(rows)
    rank = int(np.sum(sizes > DEPENDENT * sizes.max(initial=0.0)))
    return directions[rank:].T


class _Motions:
    """What each speed of the file moves, at the start."""

    def __init__(self, out: Document) -> None:
        self.out, self.count = out, 0
        self._numbers: dict[str, int] = {}  # joint of the file → its first speed
        self._ways: dict[Any, list[tuple[int, np.ndarray, np.ndarray, np.ndarray]]] = {WORLD: []}
        for place, host, joints in out.in_order():
            way = list(self._ways[host.item])
            for joint in joints:
                self._numbers[joint.name] = self.count
                for slide, turn in joint.freedoms():
                    way.append((self.count, slide, turn, joint.at))
                    self.count += 1
            self._ways[place.item] = way

    def of(self, frame: Any, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(3, count) each: velocity of a world point of a frame, and angular velocity of that, of a unit of each speed."""
        linear, angular = np.zeros((3, self.count)), np.zeros((3, self.count))
        for k, slide, turn, at in self._ways[frame]:
            linear[:, k] = slide + np.cross(turn, point - at)
            angular[:, k] = turn
        return linear, angular

    def closing(self, loops: list[Joint]) -> np.ndarray:
        """C: the rates of the constraints that the file has, of a unit of each speed."""
        rows = [np.zeros((0, self.count))]
        for joint in loops:
            ends = (joint.a, joint.b)
            if joint.coupling is not None:
                first, second = (self.out.coordinate(item) for item in joint.coupling.joints)
                if first is not None and second is not None:
                    row = np.zeros((1, self.count))
                    row[0, self._numbers[first.name]] = joint.coupling.ratio
                    row[0, self._numbers[second.name]] = -1.0
                    rows.append(row)
            elif joint.kind in ("ball", "hinge", "weld", "rod") and all(
                end is WORLD or isinstance(end, Body | Link) for end in ends
            ):
                rows += [self._rates(joint, part) for part in joint.parts]
        return np.concatenate(rows)

    def _rates(self, joint: Joint, part: Part) -> np.ndarray:
        """point: d/dt (b − a). distance: that along b − a. dot: d/dt (n_a · n_b) = (n_a × n_b) · (ω_a − ω_b)."""
        linear_a, angular_a = self.of(joint.a, part.point_a)
        linear_b, angular_b = self.of(joint.b, part.point_b)
        if part.kind == "dot":
            return (np.cross(part.axis_a, part.axis_b) @ (angular_a - angular_b))[None]
        gap = linear_b - linear_a
        return gap if part.kind == "point" else ((part.point_b - part.point_a) @ gap)[None]


# Bodies and joints, and the entry -------------------------------------------------------------------------------------

MOST_NESTED = 490  # elements within each other that MuJoCo reads
NEARLY_NOTHING = 1e-12  # kg and kg m²; MuJoCo takes nothing below 1e-15


def export_mjcf(scene: Scene, path: str | PathLike[str]) -> list[ExportWarning]:
    """Write a scene as an MJCF file (.xml), with its meshes as OBJ files beside it. Returns warnings about what MJCF
    cannot describe.

    Joints become nested bodies. Joints that close loops, gears and rods become equality constraints. Springs are
    tendons, torsion springs, stops, dry friction and rotors belong to joints, motors are actuators whose control adds
    to the effort. Cables are tendons. Sensors are at sites. Initial velocities are in the key frame "start".

    Raises ValueError for a scene that joint coordinates cannot represent, an unsupported suffix, or a chain of more
    than 490 bodies.
    """
    file = target(path, ".xml")
    out = Document(scene, file)
    layout = build_tree(scene)
    _write_tree(layout, out)
    write_forces(out, layout.loops)
    write_shapes(out)
    write_sensors(out)
    write_velocities(out, layout.loops)
    out.save()
    return out.warnings


def _write_tree(layout: Layout, out: Document) -> None:
    """The bodies and their joints. Parents come first."""
    rows, places = layout.rows, layout.places
    children: list[list[int]] = [[] for _ in rows]
    for i, row in enumerate(rows):
        if row[0] >= 0:
            children[row[0]].append(i)
    fixed_mass = [place.mass for place in places]  # of a node and of what is welded to it
    for i in range(len(rows) - 1, -1, -1):
        if rows[i][2] == WELD and rows[i][0] >= 0:
            fixed_mass[rows[i][0]] += fixed_mass[i]
    needed = _frames_in_use(out.scene, layout)
    world = Place(WORLD, -1, np.zeros(3), np.eye(3))
    hosts: list[Place] = []  # the nearest place up from each node, itself included, that is a body of the file
    waiting: list[list[DocumentJoint]] = []  # joints from that place to the node
    depth: list[int] = []
    for i, place in enumerate(places):
        parent = rows[i][0]
        host = hosts[parent] if parent >= 0 else world
        joints = (waiting[parent] if parent >= 0 else []) + _joint(i, layout, out)
        depth.append((depth[parent] if parent >= 0 else 2) + 1)
        if not isinstance(place.item, Body) and len(children[i]) == 1 and place.item not in needed:
            hosts.append(host)
            waiting.append(joints)
            continue
        if depth[i] > MOST_NESTED:
            raise ValueError(
                f"scene {out.scene.name!r}: {place.item.name!r} is more than {MOST_NESTED} bodies away from the start of its "
                "chain, more than MuJoCo reads; shorten the chain"
            )
        hosts.append(place)
        waiting.append([])
        light = bool(joints) and fixed_mass[i] == 0.0
        _write_body(place, host, joints, light, out)


def _frames_in_use(scene: Scene, layout: Layout) -> set[Link]:
    """Links that something besides the joints of the tree refers to."""
    ends: list[Any] = [end for joint in layout.loops for end in joint.bodies]
    ends += [end for force in scene.forces.values() for end in (getattr(force, "a", None), getattr(force, "b", None))]
    return {end for end in ends if isinstance(end, Link)}


def _joint(i: int, layout: Layout, out: Document) -> list[DocumentJoint]:
    """The joint by which node i is carried, in world axes at the start; none for a weld."""
    row, place = layout.rows[i], layout.places[i]
    parent, kind, first = row[0], row[2], row[3]
    if kind in (WELD, COMMANDED):
        return []
    if kind == FREE:
        return [out.new_joint(FREE, place.item.name, place.position, np.zeros(3), 0.0)]
    before = layout.places[parent] if parent >= 0 else Place(WORLD, -1, np.zeros(3), np.eye(3))
    at, axis = before.position + before.rotation @ row[10], before.rotation @ row[12]
    name = layout.freedom_names[first]
    if kind == BALL:
        name = name.removesuffix(".x")
    return [out.new_joint(kind, name, at, axis, layout.freedoms[first][2])]


def _write_body(place: Place, host: Place, joints: list[DocumentJoint], light: bool, out: Document) -> None:
    item = place.item
    above = out.world if host.item is WORLD else out.bodies[host.item]
    turn = host.rotation.T
    element = ElementTree.SubElement(
        above, "body", name=item.name, pos=numbers(turn @ (place.position - host.position))
    )
    out.set_rotation(element, turn @ place.rotation)
    out.bodies[item] = element
    for joint in joints:
        joint.place = place
        if joint.kind == FREE:
            joint.element = ElementTree.SubElement(element, "freejoint", name=joint.name)
            continue
        kind = {HINGE: "hinge", BALL: "ball"}.get(joint.kind, "slide")
        joint.element = ElementTree.SubElement(
            element, "joint", name=joint.name, type=kind, pos=numbers(place.rotation.T @ (joint.at - place.position))
        )
        if joint.kind != BALL:
            joint.element.set("axis", numbers(place.rotation.T @ joint.axis))
        if joint.armature:
            joint.element.set("armature", number(joint.armature))
    out.places.append((place, host, joints))
    if isinstance(item, Body) and item.motion is not None:
        element.set("mocap", "true")
        if not item.motion.is_set or item.motion.velocity.any() or item.motion.angular_velocity.any() or item.is_belt:
            out.warn(
                f"body {item.name!r}", "it becomes a mocap body, whose motion and surface velocity are not written"
            )
    elif isinstance(item, Body):
        out.write_inertia(element, item)
    elif light:
        out.warn(
            f"link {item.name!r}", f"MuJoCo does not move bodies without mass; it gets {NEARLY_NOTHING:g} kg and kg m²"
        )
        small = numbers([NEARLY_NOTHING] * 3)
        ElementTree.SubElement(element, "inertial", pos="0 0 0", mass=number(NEARLY_NOTHING), diaginertia=small)
