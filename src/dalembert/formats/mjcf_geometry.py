"""Geoms and meshes of MJCF files."""

from __future__ import annotations

import numpy as np

from ..scene.contact import MOST_FRICTION
from ..scene.mass import mass_properties
from ..scene.shapes import SHAPES
from ..scene.simplify import simplify_hull
from .attributes import Attributes, parse_numbers
from .built import told
from .description import Pose, Solid
from .imported import Warnings
from .meshes import Degenerate, Hull, MeshFiles, Surface, hull_or_plate, plate_message
from .mjcf_inertia import Mass, mesh_mass, moved, principal_axes
from .mjcf_settings import Defaults, Settings, note_unasked
from .orientation import read_orientation, z_to
from .paths import Folder
from .urdf_geometry import hex_color
from .xml import Element

TYPES = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")
SIZES = {"plane": 0, "sphere": 1, "capsule": 2, "ellipsoid": 3, "cylinder": 2, "box": 3, "mesh": 0}
NO_MASS: Mass = (0.0, np.zeros(3), np.zeros((3, 3)))
_FROM_MJCF = {shape.mjcf_type: shape.from_mjcf for shape in SHAPES.values() if shape.mjcf_type}


class Meshes:
    """The <mesh> assets of a file, read when a geom needs them."""

    def __init__(
        self, assets: list[Element], defaults: Defaults, settings: Settings, folder: Folder, warnings: Warnings
    ):
        self.settings, self.folder, self.warnings = settings, folder, warnings
        self.files = MeshFiles()
        self.given: dict[str, Attributes] = {}
        self._surfaces: dict[str, Surface] = {}
        self._solids: dict[str, tuple[Hull, Mass]] = {}
        for element in (item for asset in assets for item in asset.all("mesh")):
            given = defaults.of(element, None)
            name = given.name() or given.text("file", "").replace("\\", "/").rpartition("/")[2].rpartition(".")[0]
            if name in self.given:
                raise element.error(f"mesh {name!r:.60} is there twice; rename one")
            self.given[name] = given

    def solid(self, name: str, user: Element) -> tuple[Hull, Mass]:
        """The hull of a mesh, and its mass at density 1. Raises Degenerate for a mesh without area, else ValueError with the
        line of what is wrong."""
        if name not in self.given:
            raise user.error(f"there is no mesh {name!r:.60} among the assets; correct the name")
        if name not in self._solids:
            self._solids[name] = self._read(self.given[name])
        return self._solids[name]

    def _read(self, given: Attributes) -> tuple[Hull, Mass]:
        with told(given.element):
            surface = self._surface(given)
            corners = given.integer("maxhullvert", -1)
            kind = given.choice("inertia", ("legacy", "convex", "exact", "shell"), "legacy")
        note_unasked(given, self.warnings, "content_type", "smoothnormal", "texcoord", "normal", "material")
        hull = hull_or_plate(surface[0])
        if corners > 3:
            hull = Hull(simplify_hull(hull.shape, corners).hull, hull.thickness)
        try:
            mass = mesh_mass(surface, kind)
        except ValueError as error:
            self.warnings.add(given.element, f"{error}. It adds no mass to its body")
            mass = NO_MASS
        return hull, mass

    def _surface(self, given: Attributes) -> Surface:
        """Vertices (n, 3), m, and faces (m, 3): from its file or its attributes, brought to the reference pose and scaled."""
        if "vertex" in given:
            vertices = given.numbers("vertex")
            if len(vertices) % 3 or len(vertices) < 12:
                raise given.element.error(f"vertex has {len(vertices)} numbers; give three for each of at least four")
            vertices = vertices.reshape(-1, 3)
            hull = None if "face" in given else hull_or_plate(vertices).shape
            faces = self._faces(given, len(vertices)) if hull is None else hull.faces
            vertices = vertices if hull is None else hull.vertices
        elif "file" in given:
            reference = given.text("file")
            if self.settings.strip_path:
                reference = reference.replace("\\", "/").rpartition("/")[2]
            path = self.folder.find(given.element, reference, self.settings.mesh_base(self.folder.home))
            vertices, faces = self.files.surface(path)
        else:
            raise given.element.error(
                "it has neither file nor vertex; give one (meshes that MuJoCo makes are not known)"
            )
        if len(faces) == 0:
            raise given.element.error("it has no faces; convert it to STL or OBJ")
        turn = read_orientation(
            Attributes(given.element, {"quat": given.text("refquat", "1 0 0 0")}), False, self.settings.sequence
        )
        vertices = (vertices - given.vector("refpos", 3, default=(0.0, 0.0, 0.0))) @ turn
        scale = given.vector("scale", 3, default=(1.0, 1.0, 1.0))
        if not scale.all():
            raise given.element.error(f"scale is {scale.tolist()}; give factors other than 0")
        return vertices * scale, faces if scale.prod() > 0.0 else faces[:, ::-1]

    def _faces(self, given: Attributes, count: int) -> np.ndarray:
        values = given.numbers("face")
        if (
            len(values) % 3
            or (values != np.round(values)).any()
            or not (values >= 0).all()
            or not (values < count).all()
        ):
            raise given.element.error(
                f"face must have three indices from 0 to {count - 1} for each triangle; correct it"
            )
        return values.astype(np.int64).reshape(-1, 3)


class Geoms:
    """Reads <geom> elements."""

    def __init__(
        self, defaults: Defaults, settings: Settings, meshes: Meshes, colors: dict[str, str], warnings: Warnings
    ):
        self.defaults, self.settings, self.meshes = defaults, settings, meshes
        self.colors, self.warnings = colors, warnings

    def read(
        self, element: Element, frame: Pose, childclass: str | None, name: str
    ) -> tuple[Solid | None, Mass, np.ndarray]:
        """The solid, its mass in the body's frame, and the axes of its inertia there; no solid and no mass for what cannot
        be had, with a warning."""
        given = self.defaults.of(element, childclass)
        kind = given.choice("type", TYPES, "sphere")
        if "mesh" in given and kind != "mesh":
            self.warnings.add(
                element, f"a {kind} fitted to a mesh is not known; the mesh itself is used, also for the mass"
            )
            kind = "mesh"
        if kind in ("hfield", "sdf"):
            self.warnings.add(element, f"a geom of type {kind} is not known and left out")
            return None, NO_MASS, np.eye(3)
        given.asked.update(("hfield", "fitscale"))
        size, pose = self.size_and_pose(given, kind)
        pose = frame @ pose
        thickness = 0.0
        shape: object
        with told(element):
            if kind == "mesh":
                try:
                    (shape, thickness), unit = self.meshes.solid(given.text("mesh"), element)
                except Degenerate as error:
                    self.warnings.add(element, f"{name!r} is left out: {error}")
                    return None, NO_MASS, np.eye(3)
            else:
                shape = _FROM_MJCF[kind](size)
                unit = NO_MASS if kind == "plane" else _uniform(shape)
            solid = Solid(name, shape, pose, element)
        mass = self._mass(given, moved(unit, pose))
        self._surface(given, solid)
        if thickness and solid.touches:
            self.warnings.add(element, plate_message(name, thickness))
        note_unasked(given, self.warnings, "castshadow")
        return solid, mass, pose.rotation @ principal_axes(unit[2]) if kind == "mesh" else pose.rotation

    def size_and_pose(self, given: Attributes, kind: str) -> tuple[np.ndarray, Pose]:
        """The sizes that MuJoCo gives a geom, and its pose."""
        settings = self.settings
        size = given.vector("size", 1, 3) if "size" in given else np.zeros(0)
        if "fromto" in given.element.attributes or (
            "fromto" in given and kind in ("capsule", "cylinder", "box", "ellipsoid")
        ):
            ends = given.vector("fromto", 6).reshape(2, 3)
            length = float(np.linalg.norm(ends[0] - ends[1]))
            if length < 1e-14 or kind not in ("capsule", "cylinder", "box", "ellipsoid"):
                raise given.element.error(
                    "fromto is for capsules, cylinders, boxes and ellipsoids of some length; correct it"
                )
            size = np.array([*size[:1], *([] if kind in ("capsule", "cylinder") else size[:1]), length / 2.0])
            pose = Pose(ends.mean(axis=0), z_to((ends[0] - ends[1]) / length))
        else:
            pose = Pose(
                given.vector("pos", 3, default=(0.0, 0.0, 0.0)),
                read_orientation(given, settings.degree, settings.sequence),
            )
        if len(size) < SIZES[kind]:
            raise given.element.error(f"size has {len(size)} numbers; a {kind} needs {SIZES[kind]}")
        return size, pose

    def _mass(self, given: Attributes, unit: Mass) -> Mass:
        """By its density or its own mass; `unit` is the solid of density 1."""
        density, group = given.number("density", 1000.0, 0.0), given.integer("group", 0)
        given.asked.update(("mass", "density"))
        if given.flag("shellinertia", False) and unit[0] > 0.0:
            self.warnings.add(given.element, "shellinertia is not known; the geom is solid", "shellinertia")
        if "mass" in given:
            mass = given.number("mass", None, 0.0)
            density = mass / unit[0] if unit[0] > 0.0 else 0.0
        low, high = self.settings.groups
        return moved(unit, Pose(), density) if density > 0.0 and low <= group <= high else NO_MASS

    def _surface(self, given: Attributes, solid: Solid) -> None:
        """What touches, how, and its colour."""
        condim = given.integer("condim", 3)
        friction = given.vector("friction", 1, 3, default=(1.0,))
        contype, conaffinity = given.integer("contype", 1), given.integer("conaffinity", 1)
        if not (0 <= contype < 2**31 and 0 <= conaffinity < 2**31) or friction[0] < 0.0:
            raise given.element.error("contype, conaffinity and friction must not be negative; correct them")
        solid.mask = contype, conaffinity, given.integer("priority", 0)
        solid.touches = bool(contype | conaffinity) and self.settings.contacts
        solid.friction = 0.0 if condim == 1 else min(float(friction[0]), MOST_FRICTION)
        if condim > 3 and solid.touches:
            self.warnings.add(
                given.element, f"condim {condim}: friction against turning and rolling is not used", "condim"
            )
        if "rgba" in given:
            solid.color = hex_color(parse_numbers(given.element, "rgba", given.text("rgba"))[:3])
        else:
            solid.color = self.colors.get(given.text("material", ""))


def _uniform(shape: object) -> Mass:
    found = mass_properties(shape, density=1.0)  # type: ignore[arg-type]
    return found.mass, found.center, found.inertia
