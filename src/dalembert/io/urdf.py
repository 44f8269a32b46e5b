"""URDF: a tree of links and joints.

The root link is fixed to the world, as in PyBullet with a fixed base or Pinocchio without a root joint; with `floating` it is
free, as with Pinocchio's free-flyer. A link without mass stays a link without mass, also as a root.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from ..scene.checks import part_name
from ..scene.contact import MOST_FRICTION
from ..scene.shapes import SHAPES, HalfSpace
from .build import build, part_overlapping_links
from .description import Axis, Built, Description, Pose, Segment, Solid, imported, located, roll_pitch_yaw, z_to
from .files import Attributes, Element, Folder, ImportedModel, Unreadable, Warnings
from .meshes import MeshFiles, plate_message

# The shapes of links --------------------------------------------------------------------------------------------------


def read_origin(element: Element) -> Pose:
    """The pose of its <origin>; without one, no displacement."""
    origin = element.first("origin")
    if origin is None:
        return Pose()
    attributes = Attributes(origin)
    zero = (0.0, 0.0, 0.0)
    return Pose(attributes.vector("xyz", 3, default=zero), roll_pitch_yaw(attributes.vector("rpy", 3, default=zero)))


def hex_color(rgba: np.ndarray) -> str:
    """Red, green and blue from 0 to 1 as "#rrggbb"."""
    return "#" + "".join(f"{round(255 * float(np.clip(value, 0.0, 1.0))):02x}" for value in rgba[:3])


class Geometries:
    """Reads the <visual> and <collision> elements of links."""

    def __init__(self, robot: Element, folder: Folder, warnings: Warnings, contacts: bool) -> None:
        self.folder, self.warnings, self.contacts, self.files = folder, warnings, contacts, MeshFiles()
        self.colors: dict[str, str] = {}
        for material in robot.all("material"):
            self._color(material)

    def _color(self, material: Element) -> str | None:
        """The colour of a <material>, which others may refer to by its name."""
        name, color = material.attributes.get("name", ""), material.first("color")
        if color is not None:
            self.colors.setdefault(name, hex_color(Attributes(color).vector("rgba", 3, 4)))
        return self.colors.get(name)

    def solids(self, link: Element, name: str) -> list[Solid]:
        """What touches of a link: each collision geometry, of meshes the convex hull; where it has none, what is seen of it,
        which touches nothing."""
        visuals = list(link.all("visual"))
        collisions = list(link.all("collision")) if self.contacts else []
        materials = [material for visual in visuals for material in visual.all("material")]
        color = next((found for found in map(self._color, materials) if found), None)
        friction, restitution = self._surface(link)
        solids = []
        for number, element in enumerate(collisions or visuals):
            solid = self._solid(element, f"{name}/{element.tag}" + f" {number + 1}" * (number > 0))
            if solid is not None:
                solid.color, solid.touches = color, bool(collisions)
                solid.friction, solid.restitution = friction, restitution
                solids.append(solid)
        return solids

    def _surface(self, link: Element) -> tuple[float, float]:
        """Friction and restitution of the <contact> that PyBullet's files have."""
        friction, restitution = 0.5, 0.0
        for element in (item for contact in link.all("contact") for item in contact.children):
            if element.tag == "lateral_friction":
                friction = Attributes(element).number("value", None, 0.0)
                friction = self.warnings.at_most(element, "friction", friction, MOST_FRICTION)
            elif element.tag == "restitution":
                restitution = Attributes(element).number("value", None, 0.0)
                restitution = self.warnings.at_most(element, "restitution", restitution, 1.0)
            else:
                self.warnings.add(element, "contact is hard here; this element is ignored", f"contact {element.tag}")
        return friction, restitution

    def _solid(self, element: Element, name: str) -> Solid | None:
        """One geometry; None with a warning where it cannot be had."""
        geometry = element.first("geometry")
        inner = geometry.children[0] if geometry is not None and geometry.children else None
        if inner is None:
            self.warnings.add(element, "it has no geometry; it is left out")
            return None
        pose, attributes = read_origin(element), Attributes(inner)
        with located(inner):
            for shape in SHAPES.values():
                if shape.urdf_tag == inner.tag:
                    return Solid(name, shape.from_urdf(attributes), pose, element)
            if inner.tag == "plane":
                normal = attributes.vector("normal", 3, default=(0.0, 0.0, 1.0))
                turn = z_to(normal / max(float(np.linalg.norm(normal)), 1e-12))
                return Solid(name, HalfSpace(), pose @ Pose(rotation=turn), element)
            if inner.tag == "mesh":
                return self._mesh(attributes, name, pose, element)
        self.warnings.add(inner, "this geometry is not supported; it is left out")
        return None

    def _mesh(self, attributes: Attributes, name: str, pose: Pose, element: Element) -> Solid | None:
        """The hull of a mesh file; None with a warning where that cannot be had."""
        scale = attributes.vector("scale", 1, 4, default=(1.0, 1.0, 1.0))
        if len(scale) not in (1, 3):
            self.warnings.add(
                attributes.element, f"scale has {len(scale)} numbers; the first three, or the first, are used"
            )
            scale = scale[: 3 if len(scale) > 3 else 1]
        reference = attributes.text("filename")
        try:
            path = self.folder.find(attributes.element, reference)
        except Unreadable as error:
            self.warnings.add(attributes.element, f"it is left out: {error.reason}")
            return None
        try:
            hull, thickness = self.files.hull(path, np.broadcast_to(scale, 3))
            if thickness and element.tag == "collision":
                self.warnings.add(attributes.element, plate_message(name, thickness))
            return Solid(name, hull, pose, element)
        except ValueError as error:
            self.warnings.add(attributes.element, f"it is left out: {error}")
            return None


# Links and joints -----------------------------------------------------------------------------------------------------

AXIS_KINDS = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slider", "spherical": "ball"}
KNOWN = ("link", "joint", "material")
SILENT = ("verbose", "safety_controller", "calibration", "sensor_visual")
Mimics = list[tuple[Element, str, str, float]]  # element, joint, joint that leads, multiplier


class UrdfReader:
    """Reads one <robot> into `description`; `mimics` are the joints that follow others."""

    def __init__(
        self, robot: Element, folder: Folder, warnings: Warnings, floating: bool, contacts: bool = True
    ) -> None:
        self.robot, self.warnings = robot, warnings
        self.mimics: Mimics = []
        self._refuse_templates()
        self.links = _by_name(robot, "link")
        self.joints = _by_name(robot, "joint", "type")
        if not self.links:
            raise robot.error("it has no link; a URDF needs at least one <link name=…>")
        self.geometries = Geometries(robot, folder, warnings, contacts)
        name = robot.attributes.get("name", "").strip()[:100] or "robot"
        self.description = Description(name, robot, joint_order=list(self.joints), adjacent_to_world=False)
        root = self._tree()
        self._segment(root, None, Pose())
        self.description.segments[0].free = floating
        segments = {root: self.description.segments[0]}
        waiting = deque([root])
        while waiting:
            parent = waiting.popleft()
            for joint, child in self.children.get(parent, []):
                segments[child] = self._segment(child, segments[parent], read_origin(joint))
                self._joint(joint, segments[child])
                waiting.append(child)
        self._other_elements()

    def _refuse_templates(self) -> None:
        for element in self.robot.everything():
            if element.tag.startswith("xacro:") or any("${" in value for value in element.attributes.values()):
                raise element.error(
                    "this is a xacro template, not a URDF; expand it first: xacro file.xacro > file.urdf"
                )

    def _tree(self) -> str:
        """Children of each link; the name of the root. Raises ValueError for what is no tree."""
        self.children: dict[str, list[tuple[Element, str]]] = {}
        parent_of: dict[str, Element] = {}
        for joint in self.joints.values():
            ends = []
            for tag in ("parent", "child"):
                end = joint.first(tag)
                name = Attributes(end).text("link") if end is not None else None
                if name not in self.links:
                    raise (end or joint).error(
                        f"its {tag} link is {name!r:.60}, which is not in the file; correct the name"
                    )
                ends.append(name)
            if ends[1] in parent_of:
                raise joint.error(
                    f"link {ends[1]!r:.60} already has a parent (line {parent_of[ends[1]].line}); give it one"
                )
            parent_of[ends[1]] = joint
            self.children.setdefault(ends[0], []).append((joint, ends[1]))
        roots = [name for name in self.links if name not in parent_of]
        if len(roots) != 1:
            what = f"the links {', '.join(map(repr, roots[:4]))} have no parent" if roots else "every link has a parent"
            raise self.robot.error(f"{what}; exactly one link must be the root of the tree")
        reached, waiting = {roots[0]}, [roots[0]]
        while waiting:
            more = [child for _, child in self.children.get(waiting.pop(), [])]
            reached.update(more)
            waiting += more
        for name, link in self.links.items():
            if name not in reached:
                raise link.error(f"link {name!r:.60} is in a loop of joints; a URDF is a tree, so cut the loop")
        return roots[0]

    def _segment(self, name: str, parent: Segment | None, pose: Pose) -> Segment:
        link = self.links[name]
        segment = Segment(name, parent, pose, link, solids=self.geometries.solids(link, name))
        inertial = link.first("inertial")
        if inertial is not None:
            place = read_origin(inertial)
            mass, inertia = inertial.first("mass"), inertial.first("inertia")
            segment.mass = Attributes(mass).number("value", None, 0.0) if mass is not None else 0.0
            segment.center = place.position
            if inertia is not None:
                segment.inertia = place.rotation @ _tensor(inertia) @ place.rotation.T
            if segment.mass == 0.0 and np.any(segment.inertia):
                self.warnings.add(inertial, f"link {name!r} has an inertia but no mass; it becomes a link without mass")
        self.description.segments.append(segment)
        return segment

    def _joint(self, element: Element, segment: Segment) -> None:
        """The joint that carries a segment."""
        attributes = Attributes(element)
        name, kind = attributes.text("name"), attributes.text("type")
        if kind == "fixed":
            segment.weld_name = name
        elif kind == "floating":
            segment.free = True
        elif kind == "planar":
            normal = _axis(element)
            first = np.cross(normal, np.eye(3)[int(np.argmin(np.abs(normal)))])
            first /= np.linalg.norm(first)
            for suffix, how, axis in (
                ("x", "slider", first),
                ("y", "slider", np.cross(normal, first)),
                ("turn", "hinge", normal),
            ):
                segment.axes.append(Axis(part_name(name, suffix), how, element, direction=axis))
        elif kind in AXIS_KINDS:
            segment.axes.append(self._single(element, name, kind))
        else:
            raise element.error(
                f"type is {kind!r:.40}; give revolute, continuous, prismatic, fixed, floating or planar"
            )

    def _single(self, element: Element, name: str, kind: str) -> Axis:
        """A joint of one coordinate, or a ball."""
        axis = Axis(name, AXIS_KINDS[kind], element)
        if kind == "spherical":
            return axis
        axis.direction = _axis(element)
        limit, dynamics, mimic = (element.first(tag) for tag in ("limit", "dynamics", "mimic"))
        if limit is not None and kind != "continuous":
            attributes = Attributes(limit)
            lower, upper = (attributes.number(key, 0.0, infinite=True) for key in ("lower", "upper"))
            if lower < upper:
                axis.lower, axis.upper = lower, upper
            elif "lower" not in attributes and "upper" not in attributes:
                self.warnings.add(
                    limit,
                    f"joint {name!r} has a <limit> without lower and upper, which by the specification locks it at 0; "
                    "here it has no stops: give its range, or make it fixed or continuous",
                )
            else:
                self.warnings.add(
                    limit, f"lower {lower:g} and upper {upper:g} are an empty range; joint {name!r} has no stops"
                )
            if lower < upper and not lower <= 0.0 <= upper:
                self.warnings.add(limit, f"joint {name!r} starts at 0, beyond its stops; the first steps move it back")
        elif kind != "continuous":
            self.warnings.add(element, f"joint {name!r} is {kind} and has no <limit>; it has no stops")
        if dynamics is not None:
            attributes = Attributes(dynamics)
            axis.damping = attributes.number("damping", 0.0, 0.0)
            axis.friction = attributes.number("friction", 0.0, 0.0)
        if mimic is not None:
            attributes = Attributes(mimic)
            self.mimics.append((mimic, name, attributes.text("joint"), attributes.number("multiplier", 1.0)))
            if attributes.number("offset", 0.0) != 0.0:
                self.warnings.add(mimic, f"the offset of {name!r} is left out: both joints start at 0")
        return axis

    def _other_elements(self) -> None:
        """What the file has beside links and joints, each kind once."""
        for element in self.robot.children:
            if element.tag == "transmission":
                self.warnings.add(element, "transmissions are ignored; add motors to the scene", "transmission")
            elif element.tag == "gazebo":
                self.warnings.add(element, "elements for Gazebo are ignored", "gazebo")
            elif element.tag not in (*KNOWN, *SILENT):
                self.warnings.add(element, "this element is not part of URDF; it is ignored", element.tag)


def _by_name(robot: Element, tag: str, needed: str = "name") -> dict[str, Element]:
    """The elements of a tag by their names, in the order of the file; those that lack what is needed (as the joints of a
    <transmission>, or of other formats) are rejected."""
    found: dict[str, Element] = {}
    for element in robot.all(tag):
        attributes = Attributes(element)
        attributes.text(needed)
        name = attributes.name()
        if name is None:
            raise element.error("it has no name; give it one")
        if name in found:
            raise element.error(f"{tag} {name!r} is defined twice (first in line {found[name].line}); rename one")
        found[name] = element
    return found


def _axis(joint: Element) -> np.ndarray:
    """The unit axis of a joint; x where none is given."""
    element = joint.first("axis")
    if element is None:
        return np.array([1.0, 0.0, 0.0])
    values = Attributes(element).vector("xyz", 3, default=(1.0, 0.0, 0.0))
    size = math.sqrt(float(values @ values))
    if size < 1e-10:
        raise element.error(f"xyz {values.tolist()} has no direction; give a vector of some length")
    return values / size


def _tensor(element: Element) -> np.ndarray:
    """The inertia tensor of an <inertia>, in its axes."""
    attributes = Attributes(element)
    xx, yy, zz, xy, xz, yz = (attributes.number(key, 0.0) for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


# Entry ----------------------------------------------------------------------------------------------------------------


def from_urdf(
    robot: Element, folder: Folder, warnings: Warnings, floating: bool, limits: bool, friction: bool, contacts: bool
) -> ImportedModel:
    """The model of a <robot> element."""
    reader = UrdfReader(robot, folder, warnings, floating, contacts)
    built = build(reader.description, warnings, limits, friction)
    _follow(built, reader.mimics, warnings)
    part_overlapping_links(built.scene, robot, warnings)
    if not built.scene.bodies and not floating:
        warnings.add(
            robot, "nothing in it moves, because its root link is fixed to the world; pass floating=True to free it"
        )
    return imported(built, reader.description, robot.file, "URDF")


def _follow(built: Built, mimics: Mimics, warnings: Warnings) -> None:
    """Joints that repeat others, as gears."""
    for element, name, leader, multiplier in mimics:
        if name not in built.axes:
            continue
        if leader not in built.axes or built.axes[leader].kind == "ball" or leader == name or multiplier == 0.0:
            warnings.add(element, f"{name!r} cannot follow {multiplier:g} times {leader!r:.60}; it moves freely")
            continue
        with located(element):
            built.scene.gear(part_name(name, "mimic"), built.joints[leader], built.joints[name], multiplier)
