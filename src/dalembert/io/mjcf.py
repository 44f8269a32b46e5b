"""MJCF: nested bodies with joints, geoms and default classes; actuators, pairs, equality constraints and keyframes.

The scene is built at the file's initial pose, where a joint's coordinate has the value of its `ref`; coordinates of the scene
are zero there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..scene.body import WORLD, Body
from ..scene.checks import part_name
from ..scene.contact import MOST, MOST_FRICTION
from ..scene.joint import Link
from .build import FRICTIONS, acting, build
from .description import (
    Axis,
    Built,
    Description,
    Pose,
    Segment,
    Solid,
    euler,
    free_name,
    imported,
    located,
    read_orientation,
)
from .files import Actuator, Attributes, Element, Folder, ImportedModel, Warnings
from .mjcf_bodies import (
    GEOM_FRICTION,
    Defaults,
    Geoms,
    Mass,
    Meshes,
    Settings,
    add_joint,
    apply_compiler,
    combined,
    include_files,
    note_unasked,
    read_inertial,
)
from .mjcf_sensors import SITE_SIZE, add_sensors, site_region
from .mjcf_tendons import Tendon, add_tendons, keep_length, read_tendons
from .urdf import hex_color

ZERO = (0.0, 0.0, 0.0)
SECTIONS = (
    "compiler", "option", "size", "statistic", "visual", "default", "asset", "worldbody", "contact", "tendon", "equality",
    "actuator", "sensor", "keyframe", "custom", "extension",
)  # fmt: skip
UNSEEN = ("camera", "light", "inertial")  # read elsewhere, or pictures
MOST_COPIES = 50_000  # elements that <replicate> makes


@dataclass(eq=False)
class Place:
    """The context of an element: its body, the frame in it, the default class, and the suffix of names."""

    segment: Segment | None
    frame: Pose
    childclass: str | None
    suffix: str
    copied: bool = False


@dataclass(eq=False)
class Geometry:
    """The masses of the geoms and of the <inertial> of a body, each with its axes in the body."""

    masses: list[tuple[Mass, np.ndarray]] = field(default_factory=list)
    written: tuple[Mass, np.ndarray] | None = None


class MjcfReader:
    """Reads one <mujoco>."""

    def __init__(self, root: Element, folder: Folder, warnings: Warnings, contacts: bool = True) -> None:
        include_files(root, folder)
        self.root, self.warnings = root, warnings
        settings = self.settings = Settings()
        for element in root.all("compiler"):
            settings.read_compiler(element, warnings)
        for element in root.all("option"):
            settings.read_option(element, warnings)
        settings.contacts = contacts and not settings.disabled & {"contact", "constraint"}
        self.defaults = Defaults(root)
        assets = list(root.all("asset"))
        meshes = Meshes(assets, self.defaults, settings, folder, warnings)
        self.geoms = Geoms(self.defaults, settings, meshes, self._colors(assets), warnings)
        name = root.attributes.get("model", "").strip()[:100] or root.file.stem[:100]
        self.description = Description(name, root, gravity=settings.gravity)
        self.bodies: dict[str, Segment | None] = {"world": None}
        self.joints: dict[str, Axis | Segment] = {}  # by their names in the file
        self.coordinates: list[Axis | Segment] = []  # in the order of qpos
        self.sites: dict[str, tuple[Segment | None, Pose]] = {}
        self.regions: dict[str, Any] = {}  # shapes of the sites
        self.geom_bodies: dict[str, tuple[Segment | None, Solid]] = {}
        self.left_out: set[str] = set()  # names of geoms without a solid
        self._masses: dict[Segment, Geometry] = {}
        self._aligned: list[Segment] = []
        self._walk()
        self._set_masses()
        for element in root.children:
            if element.tag not in SECTIONS:
                warnings.add(element, f"<{element.tag}> is not used", element.tag)

    def _colors(self, assets: list[Element]) -> dict[str, str]:
        found = {}
        for element in (item for asset in assets for item in asset.all("material")):
            attributes = self.defaults.of(element, None)
            if "rgba" in attributes:
                found[attributes.text("name", "")] = hex_color(attributes.vector("rgba", 3, 4))
        return found

    def _walk(self) -> None:
        """Every element below the world, in the order of the file; bodies before what they carry."""
        waiting = [
            (element, Place(None, Pose(), world.attributes.get("childclass"), ""))
            for world in reversed(list(self.root.all("worldbody"))) for element in reversed(world.children)
        ]  # fmt: skip
        count = 0
        while waiting:
            element, place = waiting.pop()
            count += place.copied
            if count > MOST_COPIES:
                raise element.error(f"replicas make more than {MOST_COPIES} elements; simplify the model")
            for inner in reversed(self._enter(element, place)):
                waiting += ((child, inner) for child in reversed(element.children))

    def _enter(self, element: Element, place: Place) -> list[Place]:
        """Reads one element; the places that its children stand in, one after the other."""
        childclass = element.attributes.get("childclass", place.childclass)
        if element.tag == "body":
            segment = self._body(element, place)
            return [Place(segment, Pose(), childclass, place.suffix, place.copied)]
        if element.tag == "frame":
            attributes = Attributes(element)
            frame = place.frame @ self._pose(attributes)
            note_unasked(attributes, self.warnings)
            return [Place(place.segment, frame, childclass, place.suffix, place.copied)]
        if element.tag == "replicate":
            return self._replicas(element, place)
        if element.tag in ("joint", "freejoint"):
            self._joint(element, place)
        elif element.tag == "geom":
            self._geom(element, place)
        elif element.tag == "site":
            self._site(element, place)
        elif element.tag == "inertial":
            if place.segment is not None:
                self._masses[place.segment].written = read_inertial(element, self.settings, place.frame, self.warnings)
        elif element.tag not in UNSEEN:
            self.warnings.add(element, f"<{element.tag}> is not supported; its contents are left out", element.tag)
        return []

    def _pose(self, attributes: Attributes) -> Pose:
        turn = read_orientation(attributes, self.settings.degree, self.settings.sequence)
        return Pose(attributes.vector("pos", 3, default=ZERO), turn)

    def _replicas(self, element: Element, place: Place) -> list[Place]:
        """Each replica is moved by `offset` in the frame of the one before it, and turned by `euler` once more."""
        attributes = Attributes(element)
        count, separator = attributes.integer("count", 0), attributes.text("sep", "")
        if not 0 <= count <= MOST_COPIES:
            raise element.error(f"count is {count}; give 0 to {MOST_COPIES}")
        offset = attributes.vector("offset", 3, default=ZERO)
        angles = attributes.vector("euler", 3, default=ZERO) * (np.pi / 180.0 if self.settings.degree else 1.0)
        note_unasked(attributes, self.warnings)
        found, position = [], np.zeros(3)
        for i in range(count):
            pose = Pose(position, euler(i * angles, self.settings.sequence))
            number = f"{separator}{i:0{len(str(count))}d}"
            found.append(Place(place.segment, place.frame @ pose, place.childclass, number + place.suffix, True))
            position = pose.point(offset)
        return found

    def _body(self, element: Element, place: Place) -> Segment:
        attributes = Attributes(element)
        name = attributes.name()
        name = f"body {len(self.description.segments) + 1}" if name is None else name + place.suffix
        if name in self.bodies:
            raise element.error(f"body {name!r} is defined twice, or is 'world'; rename one")
        segment = Segment(name, place.segment, place.frame @ self._pose(attributes), element)
        if attributes.flag("mocap", False):
            segment.mocap = True
        if attributes.number("gravcomp", 0.0) != 0.0:
            self.warnings.add(element, f"gravcomp of {name!r} is ignored: gravity acts on it", "gravcomp")
        note_unasked(attributes, self.warnings, "sleep", "fuse", "simple")
        self.bodies[name] = segment
        self.description.segments.append(segment)
        self._masses[segment] = Geometry()
        return segment

    def body(self, attributes: Attributes, key: str, default: str | None = None) -> Segment | None:
        """The body that an attribute names; None for the world."""
        name = attributes.text(key, default)
        if name not in self.bodies:
            raise attributes.element.error(f"there is no body {name!r:.60}; correct the name")
        return self.bodies[name]

    def _joint(self, element: Element, place: Place) -> None:
        segment = place.segment
        if segment is None:
            raise element.error("the world has no joint; put it into a body")
        values = dict(element.attributes)
        if "name" in values:
            values["name"] += place.suffix
        if element.tag == "freejoint":
            values["type"] = "free"
            attributes = Attributes(Element("joint", values, element.file, element.line))
        else:
            attributes = self.defaults.of(element, place.childclass)
            attributes.values |= {key: values[key] for key in ("name",) if key in values}
        name = add_joint(attributes, segment, place.frame, self.settings, self.warnings)
        if segment.free:
            align = attributes.choice("align", ("true", "false", "auto"), "auto")
            if align == "true" or (align == "auto" and self.settings.align_free):
                self._aligned.append(segment)
        item = segment if segment.free else segment.axes[-1]
        self.coordinates.append(item)
        if name:
            if name in self.joints:
                raise element.error(f"joint {name!r} is defined twice; rename one")
            self.joints[name] = item
        if isinstance(item, Axis):
            self.description.joint_order.append(item.name)

    def _geom(self, element: Element, place: Place) -> None:
        own = element.attributes.get("name", "")
        body = "world" if place.segment is None else place.segment.name
        solids = self.description.solids if place.segment is None else place.segment.solids
        name = own + place.suffix if own else part_name(body, f"geom {len(solids) + 1}")
        solid, mass, axes = self.geoms.read(element, place.frame, place.childclass, name)
        if place.segment is not None and mass[0] > 0.0:
            self._masses[place.segment].masses.append((mass, axes))
        if solid is None:
            self.left_out.add(own)
            return
        if own:
            if name in self.geom_bodies:
                raise element.error(f"geom {name!r:.60} is defined twice; rename one")
            self.geom_bodies[name] = place.segment, solid
        solids.append(solid)

    def _site(self, element: Element, place: Place) -> None:
        attributes = self.defaults.of(element, place.childclass)
        name = attributes.name()
        if name is None:
            return  # nothing can refer to it
        if name + place.suffix in self.sites:
            raise element.error(f"site {name!r:.60} is defined twice; rename one")
        given = attributes.vector("size", 1, 3, default=SITE_SIZE)
        size = np.array([*given, *SITE_SIZE[len(given) :]])
        if "fromto" in attributes:
            attributes.values["size"] = attributes.values.get("size", f"{SITE_SIZE[0]}")
            size, pose = self.geoms.size_and_pose(attributes, "capsule")
        else:
            pose = self._pose(attributes)
        self.regions[name + place.suffix] = site_region(attributes, size)
        note_unasked(attributes, self.warnings, "mesh")
        self.sites[name + place.suffix] = place.segment, place.frame @ pose

    def _set_masses(self) -> None:
        """As written, or from geoms; a body with neither has no mass."""
        carrying = {segment.parent for segment in self.description.segments}
        for segment, known in self._masses.items():
            inferred = self.settings.inertia_from_geom == "true" or (
                self.settings.inertia_from_geom == "auto" and known.written is None
            )
            found = combined(known.masses) if inferred else known.written
            if found is None:
                continue
            (segment.mass, segment.center, segment.inertia), axes = found
            if segment in self._aligned and segment not in carrying and segment.mass > 0.0:
                self._align(segment, axes)
        apply_compiler(self.description.segments, self.settings)

    def _align(self, segment: Segment, axes: np.ndarray) -> None:
        """The frame of a free body becomes that of its inertia, as qpos and qvel of such a file mean it."""
        turn = axes.T
        inner = Pose(-turn @ segment.center, turn)
        segment.pose = segment.pose @ Pose(segment.center, axes)
        segment.center, segment.inertia = np.zeros(3), turn @ segment.inertia @ axes
        for solid in segment.solids:
            solid.pose = inner @ solid.pose
        for name, (carrier, pose) in self.sites.items():
            if carrier is segment:
                self.sites[name] = segment, inner @ pose


# Actuators as motors of the scene -------------------------------------------------------------------------------------
#
# MuJoCo's force on a transmission of length l and rate l̇ is k u + b₀ + b₁ l + b₂ l̇ for a control u; of a joint, l =
# gear · q with q = ref + s and s the coordinate of the scene. So the effort on s is
#
#     gear k u + gear b₀ − gear² (−b₁) (s + ref) − gear² (−b₂) ṡ,
#
# a motor of stiffness −gear² b₁ and gain −gear² b₂. Where b₁ = −k the control sets its position, where b₂ = −k and b₁ = 0
# its speed, else its effort.

AFFINE = ("motor", "position", "velocity", "general")
Law = tuple[float, float, float, float]  # k, b0, b1, b2


def add_actuators(reader: MjcfReader, built: Built, warnings: Warnings) -> tuple[dict[str, Actuator], list[str]]:
    """The actuators that are motors of the scene, and the names of all controls of the file, in order."""
    found: dict[str, Actuator] = {}
    names: dict[str, None] = {}
    sharing: dict[str, list[str]] = {}  # actuators of each joint whose effort is limited
    for element in (item for section in reader.root.all("actuator") for item in section.children):
        attributes = reader.defaults.of(element, None)
        name = attributes.name() or f"actuator {len(names)}"
        if name in names:
            raise element.error(f"actuator {name!r:.60} is defined twice; rename one")
        names[name] = None
        axis = _axis(reader, built, attributes, warnings)
        law = _law(attributes, warnings) if axis is not None else None
        if axis is not None and law is not None:
            with located(element):
                actuator = _motor(built, attributes, name, axis, law, warnings)
            if actuator is not None:
                found[name] = actuator
                if math.isfinite(axis.effort):
                    sharing.setdefault(axis.name, []).append(name)
            note_unasked(attributes, warnings)
    for joint, several in sharing.items():
        if len(several) > 1:
            axis = built.axes[joint]
            warnings.add(
                axis.element,
                f"actuatorfrcrange of joint {joint!r:.60} limits the sum of its actuators in MuJoCo; here each of "
                f"{', '.join(map(repr, several))[:200]} by itself has at most {axis.effort:g}",
            )  # fmt: skip
    return found, list(names)


def _axis(reader: MjcfReader, built: Built, attributes: Attributes, warnings: Warnings) -> Axis | None:
    """The hinge or slider that it drives; None with a warning for anything else."""
    element = attributes.element
    if element.tag not in AFFINE:
        warnings.add(element, f"a {element.tag} actuator is not supported; it is left out", f"actuator {element.tag}")
        return None
    key = next((each for each in ("joint", "jointinparent") if each in attributes), None)
    if key is None:
        warnings.add(element, "it does not act on a joint; it is left out", "transmission")
        return None
    name = attributes.text(key)
    if name not in reader.joints:
        raise element.error(f"there is no joint {name!r:.60}; correct the name")
    axis = reader.joints[name]
    if not isinstance(axis, Axis) or axis.kind == "ball" or axis.name not in built.axes:
        warnings.add(element, f"joint {name!r:.60} is not a movable hinge or slider; the actuator is left out")
        return None
    return axis


def _law(attributes: Attributes, warnings: Warnings) -> Law | None:
    """Its gain and its affine bias; None with a warning where they are something else."""
    tag, element = attributes.element.tag, attributes.element
    if tag == "motor":
        return 1.0, 0.0, 0.0, 0.0
    if tag == "velocity":
        kv = attributes.number("kv", 1.0, 0.0)
        return kv, 0.0, 0.0, -kv
    if tag == "position":
        kp, kv = attributes.number("kp", 1.0, 0.0), attributes.number("kv", 0.0, 0.0)
        if attributes.number("timeconst", 0.0) != 0.0:
            warnings.add(element, "the filter of its control (timeconst) is left out", "timeconst")
        if attributes.number("dampratio", 0.0) != 0.0:
            warnings.add(element, "dampratio is not supported, so the servo has no damping; give kv", "dampratio")
        attributes.asked.update(("kp", "kv", "timeconst", "dampratio"))
        return kp, 0.0, -kp, -kv
    kinds = [
        attributes.text(key, default)
        for key, default in (("gaintype", "fixed"), ("biastype", "none"), ("dyntype", "none"))
    ]
    gain = _padded(attributes, "gainprm", 1.0)
    bias = _padded(attributes, "biasprm", 0.0)
    constant = kinds[0] == "fixed" or (kinds[0] == "affine" and not gain[1:3].any())
    if not constant or kinds[1] not in ("none", "affine") or kinds[2] != "none":
        warnings.add(
            element,
            f"gain {kinds[0]}, bias {kinds[1]} and dynamics {kinds[2]} are not supported as a motor; it is left out",
        )
        return None
    return (float(gain[0]), *(bias[:3].tolist() if kinds[1] == "affine" else (0.0, 0.0, 0.0)))  # type: ignore[return-value]


def _padded(attributes: Attributes, key: str, first: float) -> np.ndarray:
    """At least three numbers."""
    values = attributes.vector(key, 1, 20, default=(first,))
    return np.concatenate([values, np.zeros(3)])


def _motor(
    built: Built, attributes: Attributes, name: str, axis: Axis, law: Law, warnings: Warnings
) -> Actuator | None:
    """The motor of an actuator."""
    k, b0, b1, b2 = law
    gear = float(attributes.vector("gear", 1, 6, default=(1.0,))[0])
    most = min(abs(gear) * _force_limit(attributes, warnings), axis.effort)
    if gear == 0.0 or most == 0.0 or b1 > 0.0 or b2 > 0.0:
        warnings.add(attributes.element, f"its effort is zero, or has positive feedback; {name!r} is left out")
        return None
    stiffness, damping = -(gear**2) * b1, -(gear**2) * b2
    sets, scale, offset = "effort", gear * k, gear * b0
    if b1 == -k != 0.0:
        sets, scale, offset = "position", 1.0 / gear, -axis.zero
    elif b1 == 0.0 and b2 == -k != 0.0:
        sets, scale, offset = "speed", 1.0 / gear, 0.0
    joint, scene = built.joints[axis.name], built.scene
    motor = scene.motor(
        free_name(name, scene.forces), joint, effort=gear * b0, stiffness=stiffness,
        position=-axis.zero if stiffness > 0.0 else 0.0, damping=damping, speed=0.0 if damping > 0.0 else None, limit=most,
    )  # fmt: skip
    _add_rotor(built, attributes, axis, motor.name, gear)
    return Actuator(name, joint, motor, gear, sets, scale, offset, _control_range(attributes, axis))


def _force_limit(attributes: Attributes, warnings: Warnings) -> float:
    """The largest force either way."""
    limits = _limited(attributes, "forcelimited", "forcerange")
    if limits is None:
        return math.inf
    if limits[0] != -limits[1]:
        warnings.add(
            attributes.element,
            f"forcerange {limits.tolist()} is not symmetric; the larger bound is used for both",
            "forcerange",
        )
    return float(np.abs(limits).max())


def _limited(attributes: Attributes, flag: str, key: str) -> np.ndarray | None:
    limits = attributes.vector(key, 2, default=(0.0, 0.0))
    limited = attributes.choice(flag, ("true", "false", "auto"), "auto")
    return limits if limited == "true" or (limited == "auto" and key in attributes) else None


def _control_range(attributes: Attributes, axis: Axis) -> tuple[float, float]:
    """As written, or as a multiple of the joint's own range (`inheritrange`)."""
    limits = _limited(attributes, "ctrllimited", "ctrlrange")
    inherited = attributes.number("inheritrange", 0.0, 0.0)
    own = "ctrlrange" in attributes.element.attributes
    if inherited > 0.0 and not own and math.isfinite(axis.upper - axis.lower):
        middle, half = axis.zero + 0.5 * (axis.lower + axis.upper), 0.5 * (axis.upper - axis.lower)
        return middle - inherited * half, middle + inherited * half
    return (-math.inf, math.inf) if limits is None else (float(limits[0]), float(limits[1]))


def _add_rotor(built: Built, attributes: Attributes, axis: Axis, name: str, gear: float) -> None:
    """The inertia and damping that an actuator adds to its joint, as felt through its gear."""
    joint = built.joints[axis.name]
    armature = attributes.number("armature", 0.0, 0.0)
    damping = float(attributes.vector("damping", 1, 3, default=(0.0,))[0])
    if armature > 0.0:
        built.scene.armature(joint, joint.armature + gear**2 * armature)
    if damping > 0.0:
        built.scene.torsion_spring(part_name(name, "damping"), joint, stiffness=0.0, damping=gear**2 * damping)


# Pairs that touch, or do not, whatever their masks are: <pair> and <exclude> ------------------------------------------

End = tuple[Segment | None, Solid]


def read_pairs(reader: MjcfReader) -> list[tuple[Attributes, End, End]]:
    """The <pair> elements and their geoms, which touch whatever their masks are."""
    found = []
    for element in (item for section in reader.root.all("contact") for item in section.all("pair")):
        attributes = reader.defaults.of(element, None)
        names = [attributes.text(key) for key in ("geom1", "geom2")]
        if missing := [name for name in names if name in reader.left_out]:
            reader.warnings.add(element, f"it is left out, as geom {missing[0]!r:.60} is")
            continue
        ends = []
        for name in names:
            if name not in reader.geom_bodies:
                raise element.error(f"there is no geom {name!r:.60}; correct the name")
            segment, solid = reader.geom_bodies[name]
            solid.touches = reader.settings.contacts
            ends.append((segment, solid))
        found.append((attributes, ends[0], ends[1]))
    return found


def set_contacts(
    reader: MjcfReader, built: Built, pairs: list[tuple[Attributes, End, End]], warnings: Warnings
) -> None:
    """Bodies that never touch, then geoms that always do."""
    for element in (item for section in reader.root.all("contact") for item in section.all("exclude")):
        attributes = Attributes(element)
        ends = [_touching(built, reader.body(attributes, key), None) for key in ("body1", "body2")]
        note_unasked(attributes, warnings)
        for a in ends[0]:
            for b in ends[1]:
                built.scene.set_contact(a, b, enabled=False)
    for attributes, first, second in pairs:
        own: Any = _pair_friction(attributes, warnings)
        note_unasked(attributes, warnings)
        with located(attributes.element):
            for a in _touching(built, *first):
                for b in _touching(built, *second):
                    built.scene.set_contact(a, b, **own)


def _pair_friction(attributes: Attributes, warnings: Any) -> dict[str, float]:
    """`FRICTIONS` of a pair, which owes nothing to its geoms. The file has those of two tangents for sliding and rolling;
    here one counts for both."""
    condim = attributes.integer("condim", 3)
    if condim not in (1, 3, 4, 6):
        raise attributes.element.error(f"condim is {condim}; give 1, 3, 4 or 6")
    rest = GEOM_FRICTION[0], *GEOM_FRICTION[:2], *2 * GEOM_FRICTION[2:]
    given = attributes.vector("friction", 1, 5, default=rest)
    friction = (*given, *rest[len(given) :])
    own = acting(condim, (friction[0], friction[3], friction[2]))
    return {
        name: warnings.at_most(attributes.element, name.replace("_", " "), float(value), MOST.get(name, MOST_FRICTION))
        for name, value in zip(FRICTIONS, own, strict=True)
    }


def _touching(built: Built, segment: Segment | None, solid: Solid | None) -> list[str]:
    """Names of the body, or of the obstacles, that a segment became (those of one solid)."""
    item = WORLD if segment is None else built.items[segment]
    if isinstance(item, Body):
        return [item.name] if built.solids.get(item.name) else []
    if solid is not None:
        return [name for name, own in built.solids.items() if solid in own]
    mine = segment.solids if segment is not None else []
    return [name for name, own in built.solids.items() if any(each in mine for each in own)]


# Equality constraints: points that coincide, welds, joints that follow others -----------------------------------------


def add_equality(
    reader: MjcfReader, built: Built, element: Element, tendons: dict[str, Tendon], warnings: Warnings
) -> None:
    """A ball joint, a weld or a gear; a warning for what is none."""
    attributes = reader.defaults.of(element, None, "equality")  # not the defaults of <joint>
    if not attributes.flag("active", True):
        warnings.add(element, "it is not active, and left out")
        return
    name = free_name(attributes.name() or f"{element.tag} {element.line}", built.scene.joints)
    with located(element):
        if element.tag == "joint":
            _couple(reader, built, attributes, name, warnings)
        elif element.tag in ("connect", "weld"):
            _tie(reader, built, attributes, name, warnings)
        elif element.tag == "tendon":
            keep_length(tendons, built, attributes, name, warnings)
        else:
            warnings.add(element, f"an equality of {element.tag}s is left out", element.tag)
            return
    note_unasked(attributes, warnings)


def _couple(reader: MjcfReader, built: Built, attributes: Attributes, name: str, warnings: Warnings) -> None:
    """y = a0 + a1 x + … of the displacements y of joint1 and x of joint2, where only a1 is not zero."""
    axes = [reader.joints.get(attributes.text(key, "")) for key in ("joint1", "joint2")]
    given = attributes.vector("polycoef", 1, 5, default=(0.0,))
    terms = np.array([*given, *(0.0, 1.0, 0.0, 0.0, 0.0)[len(given) :]])
    names = [axis.name for axis in axes if isinstance(axis, Axis) and axis.kind != "ball" and axis.name in built.axes]
    if len(names) < 2 or terms[1] == 0.0 or np.delete(terms, 1).any():
        warnings.add(attributes.element, "only proportional coupling of joints is supported; this one is left out")
        return
    built.scene.gear(name, built.joints[names[1]], built.joints[names[0]], float(terms[1]))


def _tie(reader: MjcfReader, built: Built, attributes: Attributes, name: str, warnings: Warnings) -> None:
    """Two bodies joined at a point (connect) or completely (weld), at the initial pose."""
    kind = attributes.element.tag
    if "site1" in attributes:
        ends = []
        for key in ("site1", "site2"):
            site = attributes.text(key)
            if site not in reader.sites:
                raise attributes.element.error(f"there is no site {site!r:.60}; correct the name")
            ends.append(reader.sites[site])
        frames = [_world(built, segment) @ pose for segment, pose in ends]
        (a, _), (b, _) = ends
        at, at_b = frames[0].position, frames[1].position
        open_ = kind == "weld" and np.abs(frames[0].rotation - frames[1].rotation).max() > 1e-9
        if open_ or np.abs(at - at_b).max() > 1e-9:
            warnings.add(attributes.element, "its sites differ at the start; it fixes them at their initial poses")
        at_b = at
    else:
        a, b = reader.body(attributes, "body1"), reader.body(attributes, "body2", "world")
        carrier = a if kind == "connect" else b
        at = _world(built, carrier).point(attributes.vector("anchor", 3, default=(0.0, 0.0, 0.0)))
        pose = attributes.vector("relpose", 7, default=(0.0,) * 7)
        if kind == "weld" and pose[3:].any():
            warnings.add(attributes.element, "relpose is ignored: the bodies are fixed at their initial poses")
    first, second = (WORLD if segment is None else built.items[segment] for segment in (a, b))
    if first is second:
        warnings.add(attributes.element, "its two ends are already fixed to each other; it is left out")
        return
    built.scene.close_loop((built.scene.ball if kind == "connect" else built.scene.weld)(name, first, second, at))


def _world(built: Built, segment: Segment | None) -> Pose:
    return Pose() if segment is None else built.poses[segment]


# Keyframes ------------------------------------------------------------------------------------------------------------

Key = dict[str, dict[str, Any]]


def read_keyframes(reader: MjcfReader, built: Built, controls: list[str]) -> dict[str, Key]:
    """Positions, velocities and controls of each <key>, by the names of joints, free bodies and actuators."""
    found: dict[str, Key] = {}
    elements = [item for section in reader.root.all("keyframe") for item in section.all("key")]
    for number, element in enumerate(elements):
        attributes = Attributes(element)
        key: Key = {}
        for kind, attribute in (("positions", "qpos"), ("velocities", "qvel")):
            if attribute in attributes:
                key[kind] = _coordinates(reader, built, attributes.numbers(attribute), element, kind == "positions")
        if "ctrl" in attributes:
            values = attributes.numbers("ctrl")
            if len(values) != len(controls):
                raise element.error(f"ctrl has {len(values)} numbers for {len(controls)} controls; correct it")
            key["ctrl"] = dict(zip(controls, values.tolist(), strict=True))
        found[attributes.name() or f"key {number}"] = key
        note_unasked(attributes, reader.warnings, "time")
    return found


def _coordinates(
    reader: MjcfReader, built: Built, values: np.ndarray, element: Element, positions: bool
) -> dict[str, Any]:
    """qpos (`positions`) or qvel, by joints."""
    sizes = [_size(item, positions) for item in reader.coordinates]
    if len(values) != sum(sizes):
        raise element.error(f"it has {len(values)} numbers for {sum(sizes)} coordinates; correct it")
    found: dict[str, Any] = {}
    parts = np.split(values, np.cumsum(sizes)[:-1]) if sizes else []
    for item, part in zip(reader.coordinates, parts, strict=True):
        if isinstance(item, Segment):
            body = built.items[item]
            if isinstance(body, Body | Link):
                found[body.name] = part.copy()
        elif item.name in built.axes:
            scalar = float(part[0]) - (item.zero if positions else 0.0)
            found[item.name] = part.copy() if item.kind == "ball" else scalar
    return found


def _size(item: Axis | Segment, positions: bool) -> int:
    """How many numbers a joint has in qpos (`positions`) or qvel; a segment means its free joint."""
    if isinstance(item, Segment):
        return 7 if positions else 6
    return (4 if positions else 3) if item.kind == "ball" else 1


# Entry ----------------------------------------------------------------------------------------------------------------


def from_mjcf(
    root: Element, folder: Folder, warnings: Warnings, limits: bool, friction: bool, contacts: bool
) -> ImportedModel:
    """The model of a <mujoco> element."""
    reader = MjcfReader(root, folder, warnings, contacts)
    pairs, tendons = read_pairs(reader), read_tendons(reader)
    built = build(reader.description, warnings, limits, friction)
    set_contacts(reader, built, pairs, warnings)
    for section in root.all("equality"):
        for element in section.children:
            add_equality(reader, built, element, tendons, warnings)
    add_tendons(tendons, built, warnings, limits)
    model = imported(built, reader.description, root.file, "MJCF")
    model.timestep = reader.settings.timestep
    model.sites = {name: built.frame(segment, pose) for name, (segment, pose) in reader.sites.items()}
    model.actuators, controls = add_actuators(reader, built, warnings)
    add_sensors(reader, built, model.actuators, warnings)
    model.keyframes = read_keyframes(reader, built, controls)
    return model
