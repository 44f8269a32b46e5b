"""Helpers of the reader of MJCF bodies: included files, compiler, options, default classes; masses, geoms, joints."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..scene.checks import part_name
from ..scene.contact import MOST, MOST_FRICTION
from ..scene.mass import mass_properties
from ..scene.polyhedron import inertia_from_second_moment
from ..scene.shapes import SHAPES
from ..scene.shapes.convex_hull import simplify_hull
from .description import Axis, Pose, Segment, Solid, about, direction, located, read_orientation, z_to
from .files import MAX_DEPTH, MAX_ELEMENTS, Attributes, Element, Folder, Unreadable, Warnings, parse_numbers, read_xml
from .meshes import Degenerate, Hull, MeshFiles, Surface, hull_of, hull_or_plate, plate_message
from .urdf import hex_color

SEEN = ("name", "class", "user", "group", "rgba", "material", "childclass")  # names, pictures
SOFT = (
    "solref", "solimp", "solmix", "margin", "gap", "solreflimit", "solimplimit", "solreffriction", "solimpfriction",
    "torquescale",
)  # fmt: skip
ACTUATORS = (
    "general", "motor", "position", "velocity", "intvelocity", "orientation", "pid", "damper", "cylinder", "muscle",
    "adhesion", "dcmotor", "plugin",
)  # fmt: skip
# Attributes and elements that change no motion here: pictures, memory, threads, how MuJoCo saves files, diagnostics.
SAVING = (
    "texturedir", "discardvisual", "usethread", "saveinertial", "savecompiled", "savecanonical", "conflict", "fusestatic",
)  # fmt: skip
NUMERICS = (
    "integrator", "jacobian", "solver", "iterations", "tolerance", "ls_iterations", "ls_tolerance",
    "noslip_iterations", "noslip_tolerance", "ccd_iterations", "ccd_tolerance", "sdf_initpoints", "sdf_iterations",
    "impratio", "o_margin", "o_solref", "o_solimp", "o_friction", "sleep_tolerance",
)  # fmt: skip
DISABLED = (
    "constraint",
    "equality",
    "passive",
    "spring",
    "damper",
    "actuation",
    "filterparent",
    "clampctrl",
)  # physics that a <flag> can switch off, beside those that are
NUMERIC_FLAGS = (
    "override", "energy", "fwdinv", "invdiscrete", "multiccd", "island", "sleep", "warmstart", "refsafe", "sensor",
    "midphase", "eulerdamp", "autoreset", "nativeccd", "diagexact", "ipc", "speculative",
)  # fmt: skip
GEOM_FRICTION = (1.0, 0.005, 0.0001)  # of sliding; of spinning and rolling, m: what MuJoCo takes where none is given
OBEYED = ("gravity", "contact", "limit", "frictionloss")
GAINS = ("kp", "kv", "gainprm", "biasprm", "gaintype", "biastype")  # of one kind of actuator only
FILLED = ("size", "friction", "stiffness", "damping", "gear", "gainprm", "biasprm", "polycoef")
"""Attributes of which an element may give the first numbers only: it has the others from its class."""


def include_files(root: Element, folder: Folder) -> None:
    """Puts the contents of included files where they are included; each file at most once. Raises ValueError."""
    done = {root.file}
    total = 0
    waiting = [(root, 1)]
    while waiting:
        element, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise element.error(f"elements are nested more than {MAX_DEPTH} deep; flatten the model")
        children, queue = [], list(reversed(element.children))
        while queue:
            child = queue.pop()
            total += 1
            if total > MAX_ELEMENTS:
                raise child.error(f"with included files more than {MAX_ELEMENTS} elements; split the model")
            if child.tag != "include":
                children.append(child)
                continue
            path = _included(child, folder)
            if path in done:
                raise child.error(f"{path} is included a second time; include each file once")
            done.add(path)
            queue += reversed(read_xml(path).children)
        element.children = children
        waiting += [(child, depth + 1) for child in children]


def _included(element: Element, folder: Folder) -> Path:
    """The file that an <include> means: beside the model, or else beside the file that contains it."""
    name = Attributes(element).text("file")
    try:
        return folder.find(element, name)
    except Unreadable:
        if element.file.parent == folder.home:
            raise
        return folder.find(element, name, element.file.parent)


@dataclass
class Settings:
    """The settings of <compiler> and <option>."""

    degree: bool = True
    sequence: str = "xyz"
    autolimits: bool = True
    inertia_from_geom: str = "auto"
    groups: tuple[int, int] = (0, 5)
    bound_mass: float = 0.0
    bound_inertia: float = 0.0
    balance: bool = False
    total_mass: float = -1.0
    mesh_folder: str = ""
    strip_path: bool = False
    gravity: tuple[float, ...] = (0.0, 0.0, -9.81)
    timestep: float | None = None
    disabled: set[str] = field(default_factory=set)
    contacts: bool = True  # whether anything touches
    align_free: bool = False  # whether free bodies without children take their inertial frame

    def mesh_base(self, home: Path) -> Path:
        """The folder that file names of meshes start at."""
        return home / self.mesh_folder

    def read_compiler(self, element: Element, warnings: Warnings) -> None:
        attributes = Attributes(element)
        self.degree = (
            attributes.choice("angle", ("degree", "radian"), "degree" if self.degree else "radian") == "degree"
        )
        self.sequence = attributes.text("eulerseq", self.sequence)
        if len(self.sequence) != 3 or not set(self.sequence.lower()) <= set("xyz"):
            raise element.error(f"eulerseq is {self.sequence!r:.40}; give three of x, y, z, X, Y, Z")
        self.autolimits = attributes.flag("autolimits", self.autolimits)
        self.inertia_from_geom = attributes.choice("inertiafromgeom", ("true", "false", "auto"), self.inertia_from_geom)
        low, high = attributes.vector("inertiagrouprange", 2, default=self.groups)
        self.groups = (int(low), int(high))
        self.bound_mass = attributes.number("boundmass", self.bound_mass, 0.0)
        self.bound_inertia = attributes.number("boundinertia", self.bound_inertia, 0.0)
        self.balance = attributes.flag("balanceinertia", self.balance)
        self.total_mass = attributes.number("settotalmass", self.total_mass)
        self.mesh_folder = attributes.text("meshdir", attributes.text("assetdir", self.mesh_folder))
        self.strip_path = attributes.flag("strippath", self.strip_path)
        if attributes.choice("coordinate", ("local", "global"), "local") == "global":
            raise element.error(
                "coordinate is 'global', which is no longer supported; save the model in local coordinates"
            )
        self.align_free = attributes.flag("alignfree", self.align_free)
        note_unasked(attributes, warnings, *SAVING)

    def read_option(self, element: Element, warnings: Warnings) -> None:
        attributes = Attributes(element)
        self.gravity = tuple(attributes.vector("gravity", 3, default=self.gravity).tolist())
        if "timestep" in attributes:
            self.timestep = attributes.number("timestep", None, 0.0) or None
        for key in ("wind", "density", "viscosity"):
            attributes.asked.add(key)
            if key in attributes and attributes.numbers(key).any():
                warnings.add(element, f"{key} is ignored: there is no medium; add medium() to the scene")
        if attributes.choice("cone", ("pyramidal", "elliptic"), "elliptic") == "pyramidal":
            warnings.add(element, "cone is 'pyramidal'; the elliptic cone is used", "cone")
        if numerics := [key for key in NUMERICS if key in attributes]:
            warnings.add(element, f"{', '.join(numerics)}: ignored; pass settings to Simulation", "numerics")
        note_unasked(attributes, warnings, *NUMERICS, "magnetic")  # magnetic: of sensors only
        for flag in element.all("flag"):
            off = {key for key, value in flag.attributes.items() if value == "disable"}
            self.disabled |= off
            for key in flag.attributes:
                if key in DISABLED and key in off:
                    warnings.add(flag, f"{key} is disabled in the file, but stays enabled here")
                elif key not in (*DISABLED, *OBEYED, *NUMERIC_FLAGS):
                    warnings.add(flag, f"flag {key!r:.60} is not used")
        if "gravity" in self.disabled:
            self.gravity = (0.0, 0.0, 0.0)


class Defaults:
    """Default classes: attributes of elements that do not give them."""

    def __init__(self, root: Element) -> None:
        self.classes: dict[str, dict[str, dict[str, str]]] = {"main": {}}
        for top in root.all("default"):
            name = top.attributes.get("class", "main")
            self._add(name, top, self.classes.get(name, self.classes["main"]))

    def _add(self, name: str, element: Element, parent: dict[str, dict[str, str]]) -> None:
        waiting = [(name, element, parent)]
        while waiting:
            name, element, parent = waiting.pop()
            own = {tag: dict(values) for tag, values in parent.items()}
            self.classes[name] = own
            for child in element.children:
                if child.tag == "default":
                    continue
                for key, value in child.attributes.items():
                    shared = child.tag in ACTUATORS and key not in GAINS
                    values = own.setdefault("actuators" if shared else child.tag, {})
                    values[key] = _filled(key, value, values)
            for child in element.all("default"):
                inner = Attributes(child).text("class")
                if inner in self.classes:
                    raise child.error(f"default class {inner!r:.60} is defined twice; rename one")
                waiting.append((inner, child, own))

    def of(self, element: Element, childclass: str | None, tag: str = "") -> Attributes:
        """The attributes of an element, over those of its class, or that of the bodies around it. tag : that of its
        defaults, if it is not its own."""
        name = element.attributes.get("class", childclass or "main")
        if name not in self.classes:
            raise element.error(f"there is no default class {name!r:.60}; define it, or correct the name")
        table = self.classes[name]
        shared = table.get("actuators", {}) if element.tag in ACTUATORS else {}
        defaults = {**shared, **table.get(tag or element.tag, {})}
        found = Attributes(element, defaults)
        for key in FILLED:
            if key in element.attributes:
                found.values[key] = _filled(key, element.attributes[key], defaults)
        return found


def _filled(key: str, value: str, defaults: dict[str, str]) -> str:
    """The numbers of an attribute; those that it lacks are from the class, as MuJoCo has them."""
    words, more = value.split(), defaults.get(key, "").split()
    return " ".join([*words, *more[len(words) :]]) if key in FILLED and len(words) < len(more) else value


def note_unasked(attributes: Attributes, warnings: Warnings, *known: str) -> None:
    """Warns of attributes that nothing was made of, once for each kind of element."""
    for key in attributes.unasked():
        tag = attributes.element.tag
        if key in SOFT:
            warnings.add(
                attributes.element,
                f"{key} and similar attributes are ignored: contacts, stops and joints are hard here",
                "soft",
            )
        elif key not in SEEN and key not in known:
            warnings.add(attributes.element, f"attribute {key!r:.60} is not used", f"{tag} {key}")


# Masses: as written, or inferred from geoms, with the floors and corrections that <compiler> asks for -----------------

Mass = tuple[float, np.ndarray, np.ndarray]  # kg, centre (3,), inertia (3, 3) about it
FLAT = 1e-12  # of the area of a mesh to the power 3/2: a smaller volume is rounding
SMALL = 1e-12  # MuJoCo's: of moments kg m², and of cosines from 1


def principal_axes(inertia: np.ndarray) -> np.ndarray:
    """The principal axes of an inertia as columns of a rotation, with the signs and the order of MuJoCo's.

    Jacobi's method: the largest product of inertia is removed by a turn of at most 45° until none is left; then the axes
    are turned by right angles until the moments fall.
    """
    axes = np.eye(3)
    for _ in range(500):
        moments = axes.T @ inertia @ axes
        i, j = max(((0, 1), (0, 2), (1, 2)), key=lambda pair: abs(moments[pair]))
        if abs(moments[i, j]) < SMALL:
            break
        slope = (moments[j, j] - moments[i, i]) / (2.0 * moments[i, j])
        tangent = (1.0 if slope >= 0.0 else -1.0) / (abs(slope) + math.hypot(1.0, slope))
        cosine = 1.0 / math.hypot(1.0, tangent)
        if cosine > 1.0 - SMALL:
            break
        turn = np.eye(3)
        turn[i, i] = turn[j, j] = cosine
        turn[i, j], turn[j, i] = tangent * cosine, -tangent * cosine
        axes = axes @ turn
    for first in (0, 1, 0):
        moments = np.diag(axes.T @ inertia @ axes)
        if moments[first] + SMALL < moments[first + 1]:
            axes = axes @ about(np.eye(3)[(first + 2) % 3], 0.5 * math.pi)
    return axes


def read_inertial(element: Element, settings: Settings, frame: Pose, warnings: Warnings) -> tuple[Mass, np.ndarray]:
    """An <inertial> in the axes of its body, and its own axes there."""
    attributes = Attributes(element)
    pose = frame @ Pose(attributes.vector("pos", 3), read_orientation(attributes, settings.degree, settings.sequence))
    mass = attributes.number("mass", None, 0.0)
    axes = pose.rotation
    if "fullinertia" in attributes:
        xx, yy, zz, xy, xz, yz = attributes.vector("fullinertia", 6)
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        axes = axes @ principal_axes(inertia)
    else:
        inertia = np.diag(attributes.vector("diaginertia", 3, default=(0.0, 0.0, 0.0)))
    note_unasked(attributes, warnings)
    return (mass, pose.position, pose.rotation @ inertia @ pose.rotation.T), axes


def combined(parts: list[tuple[Mass, np.ndarray]]) -> tuple[Mass, np.ndarray]:
    """Several solids as one (parallel axes), and its axes: those of the only one, or else principal ones."""
    masses = [mass for mass, _ in parts]
    total = sum(mass for mass, _, _ in masses)
    if total == 0.0:
        return (0.0, np.zeros(3), np.zeros((3, 3))), np.eye(3)
    center = np.sum([mass / total * place for mass, place, _ in masses], axis=0)
    arms = [place - center for _, place, _ in masses]
    inertia = np.sum(
        [
            own + mass * inertia_from_second_moment(np.outer(arm, arm))
            for (mass, _, own), arm in zip(masses, arms, strict=True)
        ],
        axis=0,
    )
    return (total, center, inertia), parts[0][1] if len(parts) == 1 else principal_axes(inertia)


def apply_compiler(segments: list[Segment], settings: Settings) -> None:
    """The floors `boundmass` and `boundinertia`, `balanceinertia`, and `settotalmass`, in this order."""
    for segment in segments:
        segment.mass = max(segment.mass, settings.bound_mass)
        if segment.mass == 0.0 or not (settings.bound_inertia > 0.0 or settings.balance):
            continue
        moments, axes = np.linalg.eigh(segment.inertia)
        bounded = np.maximum(moments, settings.bound_inertia)
        low, middle, high = np.sort(bounded)
        if settings.balance and low + middle < high:
            bounded = np.full(3, bounded.mean())
        if not np.array_equal(bounded, moments):
            segment.inertia = axes @ np.diag(bounded) @ axes.T
    total = sum(segment.mass for segment in segments)
    if settings.total_mass > 0.0 and total > 0.0:
        for segment in segments:
            segment.mass *= settings.total_mass / total
            segment.inertia = segment.inertia * (settings.total_mass / total)


def mesh_mass(surface: Surface, kind: str) -> Mass:
    """Volume (area, of a shell), centre and inertia of a mesh of density 1, in the four ways that MuJoCo knows.

    "exact" adds signed tetrahedra below the faces, "convex" does so for the hull, "shell" adds the faces themselves. "legacy"
    adds tetrahedra without their signs: for the centre from the mean of the faces' centres, for volume and inertia from that
    centre, so that what is not convex counts more than once.
    """
    vertices, faces = surface
    if kind == "convex":
        hull = hull_of(vertices)
        vertices, faces = hull.vertices, hull.faces
    corners = vertices[faces]
    normals = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas, middles = np.linalg.norm(normals, axis=1), corners.mean(axis=1)
    if not areas.sum() > 0.0:
        raise ValueError("its faces have no area; correct them")
    start = areas @ middles / areas.sum()
    if kind == "shell":
        inner = corners - start
        second = np.einsum("f,fki,fkj->ij", areas / 12.0, inner, inner)
        second += np.einsum("f,fi,fj->ij", areas / 12.0, inner.sum(axis=1), inner.sum(axis=1))
        return float(areas.sum()), start, inertia_from_second_moment(second)

    def volumes(origin: np.ndarray) -> np.ndarray:
        signed = np.einsum("fi,fi->f", middles - origin, normals) / 3.0
        return np.abs(signed) if kind == "legacy" else signed

    cells = volumes(start)
    if not cells.sum() > FLAT * areas.sum() ** 1.5:
        raise ValueError("its faces enclose no volume, or are inverted; flip them, or give inertia='convex'")
    center = cells @ (0.75 * middles + 0.25 * start) / cells.sum()
    cells = volumes(center)
    inner = corners - center
    sums = inner.sum(axis=1)
    second = np.einsum("f,fki,fkj->ij", cells / 20.0, inner, inner) + np.einsum("f,fi,fj->ij", cells / 20.0, sums, sums)
    return float(cells.sum()), center, inertia_from_second_moment(second)


def moved(mass: Mass, pose: Pose, density: float = 1.0) -> Mass:
    """The solid elsewhere, and denser."""
    kilograms, center, inertia = mass
    return density * kilograms, pose.point(center), density * pose.rotation @ inertia @ pose.rotation.T


# Geoms and meshes -----------------------------------------------------------------------------------------------------

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
        self.attributes: dict[str, Attributes] = {}
        self._surfaces: dict[str, Surface] = {}
        self._solids: dict[str, tuple[Hull, Mass]] = {}
        for element in (item for asset in assets for item in asset.all("mesh")):
            attributes = defaults.of(element, None)
            name = (
                attributes.name()
                or attributes.text("file", "").replace("\\", "/").rpartition("/")[2].rpartition(".")[0]
            )
            if name in self.attributes:
                raise element.error(f"mesh {name!r:.60} is defined twice; rename one")
            self.attributes[name] = attributes

    def solid(self, name: str, user: Element) -> tuple[Hull, Mass]:
        """The hull of a mesh, and its mass at density 1. Raises Degenerate for a mesh without area, else ValueError with the
        line of what is wrong."""
        if name not in self.attributes:
            raise user.error(f"there is no mesh {name!r:.60} among the assets; correct the name")
        if name not in self._solids:
            self._solids[name] = self._read(self.attributes[name])
        return self._solids[name]

    def _read(self, attributes: Attributes) -> tuple[Hull, Mass]:
        with located(attributes.element):
            surface = self._surface(attributes)
            corners = attributes.integer("maxhullvert", -1)
            kind = attributes.choice("inertia", ("legacy", "convex", "exact", "shell"), "legacy")
        note_unasked(attributes, self.warnings, "content_type", "smoothnormal", "texcoord", "normal", "material")
        hull = hull_or_plate(surface[0])
        if corners > 3:
            hull = Hull(simplify_hull(hull.shape, corners).hull, hull.thickness)
        try:
            mass = mesh_mass(surface, kind)
        except ValueError as error:
            self.warnings.add(attributes.element, f"{error}. It adds no mass to its body")
            mass = NO_MASS
        return hull, mass

    def _surface(self, attributes: Attributes) -> Surface:
        """Vertices (n, 3), m, and faces (m, 3): from its file or its attributes, brought to the reference pose and scaled."""
        if "vertex" in attributes:
            vertices = attributes.numbers("vertex")
            if len(vertices) % 3 or len(vertices) < 12:
                raise attributes.element.error(
                    f"vertex has {len(vertices)} numbers; give three for each of at least four"
                )
            vertices = vertices.reshape(-1, 3)
            hull = None if "face" in attributes else hull_or_plate(vertices).shape
            faces = self._faces(attributes, len(vertices)) if hull is None else hull.faces
            vertices = vertices if hull is None else hull.vertices
        elif "file" in attributes:
            reference = attributes.text("file")
            if self.settings.strip_path:
                reference = reference.replace("\\", "/").rpartition("/")[2]
            path = self.folder.find(attributes.element, reference, self.settings.mesh_base(self.folder.home))
            vertices, faces = self.files.surface(path)
        else:
            raise attributes.element.error(
                "it has neither file nor vertex; give one (built-in meshes of MuJoCo are not supported)"
            )
        if len(faces) == 0:
            raise attributes.element.error("it has no faces; convert it to STL or OBJ")
        turn = read_orientation(
            Attributes(attributes.element, {"quat": attributes.text("refquat", "1 0 0 0")}),
            False,
            self.settings.sequence,
        )
        vertices = (vertices - attributes.vector("refpos", 3, default=(0.0, 0.0, 0.0))) @ turn
        scale = attributes.vector("scale", 3, default=(1.0, 1.0, 1.0))
        if not scale.all():
            raise attributes.element.error(f"scale is {scale.tolist()}; give factors other than 0")
        return vertices * scale, faces if scale.prod() > 0.0 else faces[:, ::-1]

    def _faces(self, attributes: Attributes, count: int) -> np.ndarray:
        values = attributes.numbers("face")
        if (
            len(values) % 3
            or (values != np.round(values)).any()
            or not (values >= 0).all()
            or not (values < count).all()
        ):
            raise attributes.element.error(
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
        attributes = self.defaults.of(element, childclass)
        kind = attributes.choice("type", TYPES, "sphere")
        if "mesh" in attributes and kind != "mesh":
            self.warnings.add(
                element, f"a {kind} fitted to a mesh is not supported; the mesh itself is used, also for the mass"
            )
            kind = "mesh"
        if kind in ("hfield", "sdf"):
            self.warnings.add(element, f"a geom of type {kind} is not supported; it is left out")
            return None, NO_MASS, np.eye(3)
        attributes.asked.update(("hfield", "fitscale"))
        size, pose = self.size_and_pose(attributes, kind)
        pose = frame @ pose
        thickness = 0.0
        shape: object
        with located(element):
            if kind == "mesh":
                try:
                    (shape, thickness), unit = self.meshes.solid(attributes.text("mesh"), element)
                except Degenerate as error:
                    self.warnings.add(element, f"{name!r} is left out: {error}")
                    return None, NO_MASS, np.eye(3)
            else:
                shape = _FROM_MJCF[kind](size)
                unit = NO_MASS if kind == "plane" else _uniform(shape)
            solid = Solid(name, shape, pose, element)
        mass = self._mass(attributes, moved(unit, pose))
        self._surface(attributes, solid)
        if thickness and solid.touches:
            self.warnings.add(element, plate_message(name, thickness))
        note_unasked(attributes, self.warnings, "castshadow")
        return solid, mass, pose.rotation @ principal_axes(unit[2]) if kind == "mesh" else pose.rotation

    def size_and_pose(self, attributes: Attributes, kind: str) -> tuple[np.ndarray, Pose]:
        """The sizes that MuJoCo gives a geom, and its pose."""
        settings = self.settings
        size = attributes.vector("size", 1, 3) if "size" in attributes else np.zeros(0)
        if "fromto" in attributes.element.attributes or (
            "fromto" in attributes and kind in ("capsule", "cylinder", "box", "ellipsoid")
        ):
            ends = attributes.vector("fromto", 6).reshape(2, 3)
            length = float(np.linalg.norm(ends[0] - ends[1]))
            if length < 1e-14 or kind not in ("capsule", "cylinder", "box", "ellipsoid"):
                raise attributes.element.error(
                    "fromto is for capsules, cylinders, boxes and ellipsoids with a nonzero length; correct it"
                )
            size = np.array([*size[:1], *([] if kind in ("capsule", "cylinder") else size[:1]), length / 2.0])
            pose = Pose(ends.mean(axis=0), z_to((ends[0] - ends[1]) / length))
        else:
            pose = Pose(
                attributes.vector("pos", 3, default=(0.0, 0.0, 0.0)),
                read_orientation(attributes, settings.degree, settings.sequence),
            )
        if len(size) < SIZES[kind]:
            raise attributes.element.error(f"size has {len(size)} numbers; a {kind} needs {SIZES[kind]}")
        return size, pose

    def _mass(self, attributes: Attributes, unit: Mass) -> Mass:
        """By its density or its own mass; `unit` is the solid of density 1."""
        density, group = attributes.number("density", 1000.0, 0.0), attributes.integer("group", 0)
        attributes.asked.update(("mass", "density"))
        if attributes.flag("shellinertia", False) and unit[0] > 0.0:
            self.warnings.add(attributes.element, "shellinertia is not supported; the geom is solid", "shellinertia")
        if "mass" in attributes:
            mass = attributes.number("mass", None, 0.0)
            density = mass / unit[0] if unit[0] > 0.0 else 0.0
        low, high = self.settings.groups
        return moved(unit, Pose(), density) if density > 0.0 and low <= group <= high else NO_MASS

    def _surface(self, attributes: Attributes, solid: Solid) -> None:
        """What touches, how, and its colour."""
        condim = attributes.integer("condim", 3)
        given = attributes.vector("friction", 1, 3, default=GEOM_FRICTION)
        friction = (*given, *GEOM_FRICTION[len(given) :])
        contype, conaffinity = attributes.integer("contype", 1), attributes.integer("conaffinity", 1)
        if not (0 <= contype < 2**31 and 0 <= conaffinity < 2**31) or min(friction) < 0.0:
            raise attributes.element.error("contype, conaffinity and friction must not be negative; correct them")
        solid.mask = contype, conaffinity, attributes.integer("priority", 0)
        solid.touches = bool(contype | conaffinity) and self.settings.contacts
        if condim not in (1, 3, 4, 6):
            raise attributes.element.error(f"condim is {condim}; give 1, 3, 4 or 6")
        rubs = self.warnings.at_most(attributes.element, "friction", float(friction[0]), MOST_FRICTION)
        solid.condim, solid.friction = condim, rubs
        solid.torsional_friction = min(float(friction[1]), MOST["torsional_friction"])
        solid.rolling_friction = min(float(friction[2]), MOST["rolling_friction"])
        if "rgba" in attributes:
            solid.color = hex_color(parse_numbers(attributes.element, "rgba", attributes.text("rgba"))[:3])
        else:
            solid.color = self.colors.get(attributes.text("material", ""))


def _uniform(shape: object) -> Mass:
    found = mass_properties(shape, density=1.0)  # type: ignore[arg-type]
    return found.mass, found.center, found.inertia


# Joints ---------------------------------------------------------------------------------------------------------------

KINDS = {"hinge": "hinge", "slide": "slider", "ball": "ball"}
RESISTING = ("stiffness", "damping", "armature", "frictionloss")


def add_joint(attributes: Attributes, segment: Segment, frame: Pose, settings: Settings, warnings: Warnings) -> str:
    """Adds a <joint> to its body; returns its name in the file ("" for none). Raises ValueError."""
    element = attributes.element
    kind = attributes.choice("type", ("hinge", "slide", "ball", "free"), "hinge")
    name = attributes.name() or ""
    if kind == "free":
        _free(attributes, segment, warnings)
        return name
    if segment.free:
        raise element.error(f"body {segment.name!r} is free already; remove this joint")
    axis = Axis(name or part_name(segment.name, f"{kind} {len(segment.axes) + 1}"), KINDS[kind], element)
    axis.anchor = frame.point(attributes.vector("pos", 3, default=(0.0, 0.0, 0.0)))
    unit = math.pi / 180.0 if settings.degree and kind != "slide" else 1.0
    limits = _range(attributes, settings)
    if kind == "ball":
        attributes.asked.add("axis")
        if limits is not None:
            warnings.add(element, f"the range of ball {axis.name!r} is left out", "ball range")
        _nothing_resists(attributes, warnings, f"ball {axis.name!r}")
    else:
        own = direction(attributes, "axis", attributes.vector("axis", 3, default=(0.0, 0.0, 1.0)))
        axis.direction = frame.rotation @ own
        axis.zero = unit * attributes.number("ref", 0.0)
        axis.rest = unit * attributes.number("springref", 0.0) - axis.zero
        axis.armature = attributes.number("armature", 0.0, 0.0)
        axis.friction = 0.0 if "frictionloss" in settings.disabled else attributes.number("frictionloss", 0.0, 0.0)
        axis.stiffness, axis.damping = (linear(attributes, key, warnings) for key in ("stiffness", "damping"))
        if limits is not None and "limit" not in settings.disabled:
            axis.lower, axis.upper = (unit * limits - axis.zero).tolist()
            if not axis.lower <= 0.0 <= axis.upper:
                warnings.add(element, f"joint {axis.name!r} starts beyond its stops; the first steps move it back")
    axis.effort = _effort(attributes, warnings)
    attributes.asked.update(("ref", "springref", "frictionloss"))
    note_unasked(attributes, warnings)
    segment.axes.append(axis)
    return name


def _free(attributes: Attributes, segment: Segment, warnings: Warnings) -> None:
    if segment.parent is not None or segment.axes or segment.free:
        raise attributes.element.error("a free joint must be the only one of a body of the world; correct the tree")
    segment.free = True
    _nothing_resists(attributes, warnings, f"the free joint of {segment.name!r}")
    for key in ("pos", "axis", "range", "limited", "ref", "springref"):
        attributes.asked.add(key)
    note_unasked(attributes, warnings, "align")


def _nothing_resists(attributes: Attributes, warnings: Warnings, what: str) -> None:
    """Springs, dampers, rotors and friction are for hinges and sliders."""
    for key in RESISTING:
        if key in attributes and attributes.numbers(key).any():
            warnings.add(attributes.element, f"the {key} of {what} is left out", f"{key} of several coordinates")


def _range(attributes: Attributes, settings: Settings) -> np.ndarray | None:
    """Its range as written, where it is limited."""
    has = "range" in attributes
    limits = attributes.vector("range", 2, default=(0.0, 0.0))
    limited = attributes.choice("limited", ("true", "false", "auto"), "auto")
    if limited == "false" or (limited == "auto" and not (has and settings.autolimits)):
        return None
    if not limits[0] < limits[1]:
        if limited == "auto" and not limits.any():
            return None
        raise attributes.element.error(f"range {limits.tolist()} is empty; give lower < upper")
    return limits


def _effort(attributes: Attributes, warnings: Warnings) -> float:
    """What all actuators together may do, either way."""
    limits = attributes.vector("actuatorfrcrange", 2, default=(0.0, 0.0))
    limited = attributes.choice("actuatorfrclimited", ("true", "false", "auto"), "auto")
    if limited == "false" or (limited == "auto" and "actuatorfrcrange" not in attributes):
        return math.inf
    if limits[0] != -limits[1]:
        warnings.add(
            attributes.element,
            f"actuatorfrcrange {limits.tolist()} is not symmetric; the larger bound is used for both",
            "actuatorfrcrange",
        )
    return float(np.abs(limits).max())


def linear(attributes: Attributes, key: str, warnings: Warnings) -> float:
    """The first of three coefficients; the others are of higher powers."""
    values = attributes.vector(key, 1, 3, default=(0.0,))
    if values[1:].any():
        warnings.add(attributes.element, f"of {key} {values.tolist()} only the linear part is used")
    if values[0] < 0.0:
        raise attributes.element.error(f"{key} is {values[0]:g}; give 0 or more")
    return float(values[0])
