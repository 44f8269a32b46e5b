"""Meshes that models refer to, and their convex hulls: STL, OBJ and PLY, MuJoCo's MSH, and the points of COLLADA files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..scene.mesh_file import MAX_BYTES, SUFFIXES, read_mesh_file
from ..scene.shapes import ConvexHull
from .description import about
from .files import Attributes, Element, parse_numbers, read_xml

Surface = tuple[np.ndarray, np.ndarray]
KNOWN = (*SUFFIXES, ".dae", ".msh")
FLAT = 1e-6  # of the extent of a mesh: what is thinner is flat, but for the rounding of files in float32
THICKEST = 1e-3  # m, of the plate that a flat mesh becomes
THIN = 0.01  # of its extent, where that is less


class Hull(NamedTuple):
    """The collision shape of a mesh. thickness : m, of the plate that replaces a flat mesh; 0 for a solid hull."""

    shape: ConvexHull
    thickness: float


class Degenerate(ValueError):
    """A mesh whose vertices lie on a line or in a point."""


class MeshFiles:
    """Files read once each."""

    def __init__(self) -> None:
        self._read: dict[Path, Surface] = {}
        self._hulls: dict[tuple[Path, bytes], Hull] = {}

    def surface(self, path: Path) -> Surface:
        """Vertices (n, 3) in the unit of the file (COLLADA: m), and faces (m, 3), none for COLLADA. Raises ValueError."""
        if path not in self._read:
            suffix = path.suffix.lower()
            if suffix not in KNOWN:
                raise ValueError(f"mesh file '{path}': suffix '{suffix}' is not supported; convert it to STL or OBJ")
            if suffix == ".dae":
                self._read[path] = collada_points(read_xml(path)), np.zeros((0, 3), np.int64)
            else:
                self._read[path] = read_msh(path) if suffix == ".msh" else read_mesh_file(path)
        return self._read[path]

    def hull(self, path: Path, scale: np.ndarray) -> Hull:
        """The convex hull of a file, its axes scaled. Raises ValueError."""
        key = path, scale.tobytes()
        if key not in self._hulls:
            vertices, faces = self.surface(path)
            used = vertices[np.unique(faces)] if len(faces) else vertices
            self._hulls[key] = hull_or_plate(scale * used)
        return self._hulls[key]


def hull_of(points: np.ndarray) -> ConvexHull:
    """A hull of only the points that are its corners."""
    return ConvexHull(ConvexHull(points).vertices)


def hull_or_plate(points: np.ndarray) -> Hull:
    """The hull of a mesh, or where that is flat a plate of 1 mm (1 % of its extent where that is less), half on each side.

    MuJoCo rejects flat meshes; other engines give them a margin. Raises Degenerate for points on a line.
    """
    if len(points) < 3 or not np.isfinite(points).all():
        return Hull(hull_of(points), 0.0)  # which says what is wrong
    center = points.mean(axis=0)
    extent = float(np.ptp(points, axis=0).max())
    axes = np.linalg.svd(points - center, full_matrices=False)[2]
    sizes = np.ptp((points - center) @ axes.T, axis=0)
    if not sizes[1] > FLAT * extent:
        raise Degenerate(f"the {len(points)} vertices of the mesh lie on a line or in a point; give it an area")
    if sizes[2] > FLAT * extent:
        return Hull(hull_of(points), 0.0)
    normal = axes[2]
    level = points - np.outer((points - center) @ normal, normal)
    thickness = min(THICKEST, THIN * extent)
    return Hull(
        hull_of(np.concatenate([level - 0.5 * thickness * normal, level + 0.5 * thickness * normal])), thickness
    )


def plate_message(name: str, thickness: float) -> str:
    """The warning about a flat mesh that touches."""
    return f"the mesh of {name!r} is flat; it collides as a plate of {1e3 * thickness:.3g} mm"


# MuJoCo's MSH ---------------------------------------------------------------------------------------------------------


def read_msh(path: Path) -> Surface:
    """MuJoCo's binary format: four int32 (numbers of vertices, normals, texture coordinates, faces), then those, as
    float32 and int32. Raises ValueError."""
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise ValueError(f"mesh file '{path}': cannot be read ({error.strerror}); check its permissions") from error
    head = np.frombuffer(data[:16], "<i4") if len(data) >= 16 else np.array([-1, 0, 0, 0])
    vertices, normals, texture, faces = (int(number) for number in head)
    floats = 3 * vertices + 3 * normals + 2 * texture
    if head.min() < 0 or len(data) != 16 + 4 * floats + 12 * faces or len(data) > MAX_BYTES:
        raise ValueError(f"mesh file '{path}': not an MSH file of MuJoCo; export it again")
    points = np.frombuffer(data, "<f4", 3 * vertices, 16).reshape(-1, 3).astype(float)
    indices = np.frombuffer(data, "<i4", 3 * faces, 16 + 4 * floats).reshape(-1, 3).astype(np.int64)
    if not np.isfinite(points).all() or (len(indices) and not 0 <= indices.min() <= indices.max() < vertices):
        raise ValueError(f"mesh file '{path}': it has vertices or indices out of range; export it again")
    return points, indices


# COLLADA --------------------------------------------------------------------------------------------------------------
#
# All that a convex hull needs: points, placed as the file's scene says. Lengths are in the file's unit and become metres.
# The "up axis" of the file is ignored, as in RViz.

MOST_NODES, MOST_POINTS = 20_000, 10_000_000


def collada_points(root: Element) -> np.ndarray:
    """(n, 3) m. Raises ValueError naming the line of what is malformed."""
    if root.tag != "COLLADA":
        raise root.error("not a COLLADA file; export the mesh again, or convert it to STL")
    named = {item.attributes["id"]: item for item in root.everything() if "id" in item.attributes}
    clouds: dict[str, np.ndarray] = {}
    placed, count = [], 0
    for geometry, transform in _instances(root, named):
        if geometry.attributes["id"] not in clouds:
            clouds[geometry.attributes["id"]] = _positions(geometry, named)
        count += len(clouds[geometry.attributes["id"]])
        if count > MOST_POINTS:
            raise geometry.error(f"its scene has more than {MOST_POINTS} points; simplify it")
        placed.append(clouds[geometry.attributes["id"]] @ transform[:3, :3].T + transform[:3, 3])
    if not placed:
        raise root.error("there is no geometry in it; export the mesh again")
    unit = next((item for item in root.everything() if item.tag == "unit"), None)
    return np.concatenate(placed) * (1.0 if unit is None else Attributes(unit).number("meter", 1.0, 0.0))


def _instances(root: Element, named: dict[str, Element]) -> Iterator[tuple[Element, np.ndarray]]:
    """Each geometry that the scene shows, and its transform (4, 4); all as they are where there is no scene."""
    scenes = [item for item in root.everything() if item.tag == "visual_scene"]
    if not scenes:
        yield from (
            (item, np.eye(4)) for item in root.everything() if item.tag == "geometry" and "id" in item.attributes
        )
        return
    waiting = [(node, np.eye(4)) for scene in scenes for node in scene.all("node")]
    seen = 0
    while waiting:
        node, outer = waiting.pop()
        seen += 1
        if seen > MOST_NODES:
            raise node.error(f"its scene has more than {MOST_NODES} nodes, or contains itself; simplify it")
        transform = outer @ _transform(node)
        for item in node.children:
            target = named.get(item.attributes.get("url", "").removeprefix("#"))
            if item.tag == "node":
                waiting.append((item, transform))
            elif item.tag == "instance_node" and target is not None:
                waiting.append((target, transform))
            elif item.tag == "instance_geometry" and target is not None:
                yield target, transform


def _transform(node: Element) -> np.ndarray:
    """Of one node: its elements from first to last, each acting before those above it."""
    whole = np.eye(4)
    for item in node.children:
        step, counts = np.eye(4), {"matrix": 16, "translate": 3, "rotate": 4, "scale": 3}
        if item.tag not in counts:
            continue
        values = parse_numbers(item, item.tag, item.text)
        if len(values) != counts[item.tag]:
            raise item.error(f"it has {len(values)} numbers; it needs {counts[item.tag]}")
        if item.tag == "matrix":
            step = values.reshape(4, 4)
        elif item.tag == "translate":
            step[:3, 3] = values
        elif item.tag == "scale":
            step[:3, :3] = np.diag(values)
        elif np.linalg.norm(values[:3]) > 0.0:
            step[:3, :3] = about(values[:3] / np.linalg.norm(values[:3]), np.radians(values[3]))
        whole = whole @ step
    return whole


def _positions(geometry: Element, named: dict[str, Element]) -> np.ndarray:
    """The points of one geometry, (n, 3)."""
    found = []
    for item in geometry.everything():
        if item.tag != "input" or item.attributes.get("semantic") != "POSITION":
            continue
        source = named.get(item.attributes.get("source", "").removeprefix("#"))
        array = source.first("float_array") if source is not None else None
        if source is None or array is None:
            raise item.error("its source is not in the file; export the mesh again")
        accessor = next((each for each in source.everything() if each.tag == "accessor"), None)
        stride = 3 if accessor is None else Attributes(accessor).integer("stride", 3)
        values = parse_numbers(array, "float_array", array.text)
        if stride < 3 or len(values) % stride:
            raise array.error(f"its {len(values)} numbers are not points of {stride}; export the mesh again")
        found.append(values.reshape(-1, stride)[:, :3])
    return np.concatenate(found) if found else np.zeros((0, 3))
