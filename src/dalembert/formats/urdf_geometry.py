"""What a URDF link looks like and touches with."""

from __future__ import annotations

import numpy as np

from ..scene.contact import MOST_FRICTION
from ..scene.shapes import SHAPES, HalfSpace
from .attributes import Attributes
from .built import told
from .description import Pose, Solid
from .imported import Warnings
from .meshes import MeshFiles, plate_message
from .orientation import roll_pitch_yaw, z_to
from .paths import Folder, Unreadable
from .xml import Element


def read_origin(element: Element) -> Pose:
    """The pose that its <origin> tells; none is no displacement."""
    origin = element.first("origin")
    if origin is None:
        return Pose()
    given = Attributes(origin)
    zero = (0.0, 0.0, 0.0)
    return Pose(given.vector("xyz", 3, default=zero), roll_pitch_yaw(given.vector("rpy", 3, default=zero)))


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
                friction = min(Attributes(element).number("value", None, 0.0), MOST_FRICTION)
            elif element.tag == "restitution":
                restitution = min(Attributes(element).number("value", None, 0.0), 1.0)
            else:
                self.warnings.add(element, "contact here is hard; this is not used", f"contact {element.tag}")
        return friction, restitution

    def _solid(self, element: Element, name: str) -> Solid | None:
        """One geometry; None with a warning where it cannot be had."""
        geometry = element.first("geometry")
        inner = geometry.children[0] if geometry is not None and geometry.children else None
        if inner is None:
            self.warnings.add(element, "it has no geometry and is left out")
            return None
        pose, given = read_origin(element), Attributes(inner)
        with told(inner):
            for shape in SHAPES.values():
                if shape.urdf_tag == inner.tag:
                    return Solid(name, shape.from_urdf(given), pose, element)
            if inner.tag == "plane":
                normal = given.vector("normal", 3, default=(0.0, 0.0, 1.0))
                turn = z_to(normal / max(float(np.linalg.norm(normal)), 1e-12))
                return Solid(name, HalfSpace(), pose @ Pose(rotation=turn), element)
            if inner.tag == "mesh":
                return self._mesh(given, name, pose, element)
        self.warnings.add(inner, "this kind of geometry is not known and is left out")
        return None

    def _mesh(self, given: Attributes, name: str, pose: Pose, element: Element) -> Solid | None:
        """The hull of a mesh file; None with a warning where that cannot be had."""
        scale = given.vector("scale", 1, 4, default=(1.0, 1.0, 1.0))
        if len(scale) not in (1, 3):
            self.warnings.add(given.element, f"scale has {len(scale)} numbers; the first three, or the first, are used")
            scale = scale[: 3 if len(scale) > 3 else 1]
        reference = given.text("filename")
        try:
            path = self.folder.find(given.element, reference)
        except Unreadable as error:
            self.warnings.add(given.element, f"it is left out: {error.reason}")
            return None
        try:
            hull, thickness = self.files.hull(path, np.broadcast_to(scale, 3))
            if thickness and element.tag == "collision":
                self.warnings.add(given.element, plate_message(name, thickness))
            return Solid(name, hull, pose, element)
        except ValueError as error:
            self.warnings.add(given.element, f"it is left out: {error}")
            return None
