"""Shapes of a scene in MJCF: geoms, meshes beside the file, and which pairs touch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ..scene.body import Body
from ..scene.checks import rotation_matrix
from ..scene.contact import Obstacle
from ..scene.shapes import Compound, ConvexHull, HeightField, Shape
from .mjcf_document import Document, Element, numbers
from .shared import free_name, passing_pairs, rgb

SIDES = 48
THIN = 1e-9  # of its extent: a mesh that is thinner is flat


def write_shapes(out: Document) -> None:
    """The geoms of bodies and obstacles, and what is said of their contacts."""
    scene = out.scene
    apart = passing_pairs(scene)
    parted = {name for pair in apart for name in pair}
    assets: dict[int, str] = {}
    for body in scene.bodies.values():
        if body.shape is not None:
            _write_geoms(out, out.bodies[body], body, -body.center, np.eye(3), assets)
    for obstacle in scene.obstacles.values():
        if obstacle.name in parted:  # pairs are told by the names of bodies
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
    """Whether a body and the one that carries it touch, which MuJoCo does not let them unless told."""
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
            geom.set("friction", numbers([item.material.friction, 0.0, 0.0]))


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
            out.warn(owner, "MuJoCo takes no flat mesh; it is left out; give a box or a half-space")
            return None
        assets[id(shape)] = _mesh(out, item.name, vertices, faces, not shape.solid)
    if shape.convex and not isinstance(shape, ConvexHull):
        out.warn(owner, f"MuJoCo has no {type(shape).__name__.lower()}; it becomes the hull of {SIDES} sides")
    if shape.surface and item.material is not None:
        out.warn(owner, "MuJoCo touches the convex hull of a mesh, not its surface")
    return "mesh", {"mesh": assets[id(shape)]}, 0.0


def _mesh(out: Document, wanted: str, vertices: np.ndarray, faces: np.ndarray, surface: bool) -> str:
    """The name of a new mesh, kept in a file beside the model's."""
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
        out.warn(owner, "a level height field may be read as one of another height; give a half-space or a box")
    return "hfield", {"hfield": name}, low


def _warn_of_materials(out: Document) -> None:
    touching = out.scene.touching()
    if len({item.material.friction for item in touching if item.material is not None}) > 1:
        out.warn("materials", "of two frictions MuJoCo takes the larger one, a scene their geometric mean")
    if any(item.material is not None and item.material.restitution > 0.0 for item in touching):
        out.warn("materials", "MuJoCo has no restitution; it is left out")
    for rule in _special(out):
        out.warn(f"contact of {rule.a!r} and {rule.b!r}", "friction and restitution of a pair are left out")


def _special(out: Document) -> Iterator[Any]:
    rules = out.scene.contact_rules
    return (rule for rule in rules if rule.enabled and (rule.friction is not None or rule.restitution is not None))
