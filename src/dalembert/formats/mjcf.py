"""MJCF: nested bodies with joints, geoms and default classes.

The scene is built at the file's initial pose, where a joint's coordinate has the value of its `ref`; coordinates of the scene
are zero there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .attributes import Attributes
from .description import Axis, Description, Pose, Segment, Solid
from .imported import Warnings
from .mjcf_geometry import Geoms, Meshes
from .mjcf_inertia import Mass, apply_compiler, combined, read_inertial
from .mjcf_joints import add_joint
from .mjcf_settings import Defaults, Settings, include_files, note_unasked
from .orientation import euler, read_orientation
from .paths import Folder
from .urdf_geometry import hex_color
from .xml import Element

ZERO = (0.0, 0.0, 0.0)
SECTIONS = (
    "compiler", "option", "size", "statistic", "visual", "default", "asset", "worldbody", "contact", "equality", "actuator",
    "keyframe", "custom", "extension",
)  # fmt: skip
UNSEEN = ("camera", "light", "inertial")  # read elsewhere, or pictures
MOST_COPIES = 50_000  # elements that <replicate> makes


@dataclass(eq=False)
class Place:
    """Where an element stands: in which body, in which frame of it, and what that says of its class and names."""

    segment: Segment | None
    frame: Pose
    childclass: str | None
    suffix: str
    copied: bool = False


@dataclass(eq=False)
class Geometry:
    """What the geoms and the <inertial> of a body say of its mass, each with its axes in the body."""

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
            given = self.defaults.of(element, None)
            if "rgba" in given:
                found[given.text("name", "")] = hex_color(given.vector("rgba", 3, 4))
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
            given = Attributes(element)
            frame = place.frame @ self._pose(given)
            note_unasked(given, self.warnings)
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
            self.warnings.add(element, f"<{element.tag}> is not known; what it makes is left out", element.tag)
        return []

    def _pose(self, given: Attributes) -> Pose:
        turn = read_orientation(given, self.settings.degree, self.settings.sequence)
        return Pose(given.vector("pos", 3, default=ZERO), turn)

    def _replicas(self, element: Element, place: Place) -> list[Place]:
        """Each replica is moved by `offset` in the frame of the one before it, and turned by `euler` once more."""
        given = Attributes(element)
        count, separator = given.integer("count", 0), given.text("sep", "")
        if not 0 <= count <= MOST_COPIES:
            raise element.error(f"count is {count}; give 0 to {MOST_COPIES}")
        offset = given.vector("offset", 3, default=ZERO)
        angles = given.vector("euler", 3, default=ZERO) * (np.pi / 180.0 if self.settings.degree else 1.0)
        note_unasked(given, self.warnings)
        found, position = [], np.zeros(3)
        for i in range(count):
            pose = Pose(position, euler(i * angles, self.settings.sequence))
            number = f"{separator}{i:0{len(str(count))}d}"
            found.append(Place(place.segment, place.frame @ pose, place.childclass, number + place.suffix, True))
            position = pose.point(offset)
        return found

    def _body(self, element: Element, place: Place) -> Segment:
        given = Attributes(element)
        name = given.name()
        name = f"body {len(self.description.segments) + 1}" if name is None else name + place.suffix
        if name in self.bodies:
            raise element.error(f"body {name!r} is there twice, or the world; rename one")
        segment = Segment(name, place.segment, place.frame @ self._pose(given), element)
        if given.flag("mocap", False):
            self.warnings.add(element, f"body {name!r} is to be moved from outside; here it stands still")
        if given.number("gravcomp", 0.0) != 0.0:
            self.warnings.add(element, f"gravcomp of {name!r} is left out: it has its weight", "gravcomp")
        note_unasked(given, self.warnings, "sleep", "fuse", "simple")
        self.bodies[name] = segment
        self.description.segments.append(segment)
        self._masses[segment] = Geometry()
        return segment

    def body(self, given: Attributes, key: str, default: str | None = None) -> Segment | None:
        """The body that an attribute names; None for the world."""
        name = given.text(key, default)
        if name not in self.bodies:
            raise given.element.error(f"there is no body {name!r:.60}; correct the name")
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
            given = Attributes(Element("joint", values, element.file, element.line))
        else:
            given = self.defaults.of(element, place.childclass)
            given.values.update(values)
        name = add_joint(given, segment, place.frame, self.settings, self.warnings)
        if segment.free:
            align = given.choice("align", ("true", "false", "auto"), "auto")
            if align == "true" or (align == "auto" and self.settings.align_free):
                self._aligned.append(segment)
        item = segment if segment.free else segment.axes[-1]
        self.coordinates.append(item)
        if name:
            if name in self.joints:
                raise element.error(f"joint {name!r} is there twice; rename one")
            self.joints[name] = item
        if isinstance(item, Axis):
            self.description.joint_order.append(item.name)

    def _geom(self, element: Element, place: Place) -> None:
        own = element.attributes.get("name", "")
        body = "world" if place.segment is None else place.segment.name
        solids = self.description.solids if place.segment is None else place.segment.solids
        name = own + place.suffix if own else f"{body}/geom {len(solids) + 1}"
        solid, mass, axes = self.geoms.read(element, place.frame, place.childclass, name)
        if place.segment is not None and mass[0] > 0.0:
            self._masses[place.segment].masses.append((mass, axes))
        if solid is None:
            self.left_out.add(own)
            return
        if own:
            if name in self.geom_bodies:
                raise element.error(f"geom {name!r:.60} is there twice; rename one")
            self.geom_bodies[name] = place.segment, solid
        solids.append(solid)

    def _site(self, element: Element, place: Place) -> None:
        given = self.defaults.of(element, place.childclass)
        name = given.name()
        if name is None:
            return  # nothing can refer to it
        if name + place.suffix in self.sites:
            raise element.error(f"site {name!r:.60} is there twice; rename one")
        if "fromto" in given:
            given.values["size"] = given.values.get("size", "1")
            pose = self.geoms.size_and_pose(given, "capsule")[1]
        else:
            pose = self._pose(given)
        note_unasked(given, self.warnings, "type", "size", "mesh")
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
