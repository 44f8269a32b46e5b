"""Geometry of USD as shapes of a scene.

A geometry lies in the scene by x → A x + t. Where A is a rotation times a scale along the axes of the shape, it becomes a
shape of that size; a shape that has no such form, as a cylinder that is squeezed, becomes the hull of its surface.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pxr import UsdGeom, UsdPhysics, UsdShade

from ..scene.checks import quaternion_of, rotation_matrix
from ..scene.contact import HalfSpace, Material
from ..scene.shapes import Box, Capsule, Compound, Cone, ConvexHull, Cylinder, Ellipsoid, Mesh, Sphere, TriangleMesh
from .meshes import Degenerate, hull_or_plate, plate_message
from .usd_values import short, value

if TYPE_CHECKING:
    from .usd_reader import Reader

SAME = 1e-5  # relative: USD keeps scales in float32
SIDES = 48
TURNS = {  # columns: the axes of a frame whose z is the axis named
    "X": np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]]),
    "Y": np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]]),
    "Z": np.eye(3),
}
CONVEX = ("convexHull", "convexDecomposition", "boundingCube", "boundingSphere")


@dataclass(frozen=True)
class Geometry:
    """A shape and where its frame is."""

    shape: Any
    position: np.ndarray  # (3,) m
    orientation: tuple[float, float, float, float]

    def seen_from(self, rotation: np.ndarray, place: np.ndarray) -> Geometry:
        """The same in a frame that has this rotation and place in the scene."""
        turn = rotation.T @ rotation_matrix(self.orientation)
        orientation = quaternion_of(turn) if np.abs(turn - np.eye(3)).max() > 1e-15 else (1.0, 0.0, 0.0, 0.0)
        return Geometry(self.shape, rotation.T @ (self.position - place), orientation)


@dataclass(frozen=True)
class Collider:
    """A geometry, and its surface; without one it is only seen."""

    prim: Any
    geometry: Geometry
    material: Material | None
    density: float  # of its material, kg/m³; 0: not given
    color: str | None


def read_collider(reader: Reader, prim: Any, still: bool = False) -> Collider | None:
    """What a prim of geometry is; None with a warning where it is none that a scene has. still : it may be a surface."""
    touches = reader.contacts and prim.HasAPI(UsdPhysics.CollisionAPI)
    if touches:
        enabled = UsdPhysics.CollisionAPI(prim).GetCollisionEnabledAttr().Get()
        touches = enabled is None or bool(enabled)
    if still and not touches:
        return None
    with reader.told(prim):
        geometry = _geometry(reader, prim, still, touches)
    if geometry is None:
        if touches:
            reader.warn(prim, f"{prim.GetTypeName()} is no geometry that a scene has; it is left out")
        return None
    material, density = _material(reader, prim)
    return Collider(prim, geometry, material if touches else None, density, _color(prim))


def alone(compound: Compound) -> Any:
    """The only part of a compound, where its shape can stand for it in the frame of the compound; else the compound."""
    (part,) = compound.parts
    if isinstance(part.shape, ConvexHull):
        return ConvexHull(part.to_compound(part.shape.vertices))
    placed = np.any(part.position) or np.abs(np.array(part.orientation[1:])).max() > 1e-15
    return compound if placed else part.shape


def _geometry(reader: Reader, prim: Any, still: bool, touches: bool) -> Geometry | None:
    linear, place = reader.matrix(prim)
    kind = str(prim.GetTypeName())
    if kind == "Mesh":
        return _mesh(reader, prim, linear, place, still, touches)
    if kind == "Plane":
        turn = reader.frame(prim)[0] @ TURNS[str(value(UsdGeom.Plane(prim).GetAxisAttr(), "Z"))]
        return Geometry(HalfSpace(), place, quaternion_of(turn))
    if kind not in ("Cube", "Sphere", "Cylinder", "Capsule", "Cone"):
        return None
    given = getattr(UsdGeom, kind)(prim)
    if kind not in ("Cube", "Sphere"):
        linear = linear @ TURNS[str(value(given.GetAxisAttr(), "Z"))]
    sizes = np.linalg.norm(linear, axis=0)
    if not sizes.all():
        raise ValueError("its transformation is flat; correct its scale")
    turn = linear / sizes
    if np.linalg.det(turn) < 0.0:
        turn[:, 0] *= -1.0  # these shapes are their own mirror images
    x, y, z = sizes.tolist()
    round_one, ball = abs(x - y) <= SAME * x, np.ptp(sizes) <= SAME * x
    if kind == "Cube":
        side = float(value(given.GetSizeAttr(), 2.0))
        shape: Any = Box(side * x, side * y, side * z)
        plain: Any = Box(side, side, side)
        fits = True
    else:
        radius = float(value(given.GetRadiusAttr(), 1.0))
        height = 0.0 if kind == "Sphere" else float(value(given.GetHeightAttr(), 1.0 if kind == "Capsule" else 2.0))
        make = {"Cylinder": Cylinder, "Capsule": Capsule, "Cone": Cone}.get(kind)
        if make is None:
            plain, fits = Sphere(radius), True
            shape = Sphere(radius * x) if ball else Ellipsoid(radius * x, radius * y, radius * z)
        else:
            plain, fits = make(radius, height), ball if kind == "Capsule" else round_one
            shape = make(radius * x, height * z)
    if fits and np.abs(turn.T @ turn - np.eye(3)).max() <= SAME:
        return Geometry(shape, place, quaternion_of(turn))
    reader.warn(prim, f"a {kind} with this scale becomes the hull of its surface")
    return Geometry(ConvexHull(plain.triangles(SIDES)[0] @ linear.T), place, (1.0, 0.0, 0.0, 0.0))


def _mesh(
    reader: Reader, prim: Any, linear: np.ndarray, place: np.ndarray, still: bool, touches: bool
) -> Geometry | None:
    """Of what moves the convex hull; of what stands still a surface, where it is not to be convex."""
    vertices, faces = _triangles(reader, prim)
    if not len(faces):
        reader.warn(prim, "a mesh without faces is left out")
        return None
    rotation, _ = reader.frame(prim)
    vertices = vertices @ (rotation.T @ linear).T
    if np.linalg.det(linear) < 0.0:
        faces = faces[:, ::-1]
    wanted = "none"
    if prim.HasAPI(UsdPhysics.MeshCollisionAPI):
        wanted = str(UsdPhysics.MeshCollisionAPI(prim).GetApproximationAttr().Get() or "none")
    if wanted not in (*CONVEX, "none") or (touches and wanted in CONVEX[1:]):
        reader.warn(prim, f"the approximation {wanted} is read as {'convexHull' if wanted in CONVEX else 'none'}")
    if not still or wanted in CONVEX:
        if touches and wanted == "none":
            reader.warn(prim, "what moves has no mesh to touch with; it is the convex hull of it")
        try:
            shape, thickness = hull_or_plate(vertices[np.unique(faces)])
        except Degenerate as error:
            reader.warn(prim, f"it is left out: {error}")
            return None
        if thickness:
            reader.warn(prim, plate_message(str(prim.GetName()), thickness))
        return Geometry(shape, place, quaternion_of(rotation))
    surface: Any
    try:
        surface = Mesh(vertices, faces)
    except ValueError:  # open
        surface = TriangleMesh(vertices, faces)
    return Geometry(surface, place, quaternion_of(rotation))


def _triangles(reader: Reader, prim: Any) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) in the prim's unit and triangles (m, 3): each face as a fan from its first corner."""
    mesh = UsdGeom.Mesh(prim)
    points = np.array(value(mesh.GetPointsAttr(), []), float).reshape(-1, 3)
    counts = np.array(value(mesh.GetFaceVertexCountsAttr(), []), np.int64)
    indices = np.array(value(mesh.GetFaceVertexIndicesAttr(), []), np.int64)
    if not np.isfinite(points).all():
        raise ValueError("its points are not finite; export it again")
    if len(counts) and (counts.min() < 3 or counts.sum() != len(indices)):
        raise ValueError("faceVertexCounts and faceVertexIndices do not agree; export it again")
    if len(indices) and not 0 <= indices.min() <= indices.max() < len(points):
        raise ValueError("a face names a point that is not there; export it again")
    starts = np.cumsum(counts) - counts
    first = np.repeat(starts, counts - 2)
    step = np.arange(len(first)) - np.repeat(np.cumsum(counts - 2) - (counts - 2), counts - 2)
    faces = np.stack([indices[first], indices[first + step + 1], indices[first + step + 2]], axis=1)
    if value(mesh.GetOrientationAttr(), "rightHanded") == "leftHanded":
        faces = faces[:, ::-1]
    return points, faces


def _material(reader: Reader, prim: Any) -> tuple[Material, float]:
    """The physics material that is bound to a prim, and its density, 0 where it has none."""
    bound = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")[0]
    if not bound or not bound.GetPrim().HasAPI(UsdPhysics.MaterialAPI):
        return Material(), 0.0
    api = UsdPhysics.MaterialAPI(bound.GetPrim())
    static, dynamic = (short(value(a, 0.0)) for a in (api.GetStaticFrictionAttr(), api.GetDynamicFrictionAttr()))
    if abs(static - dynamic) > SAME * max(static, dynamic):
        reader.warn(bound.GetPrim(), "static and dynamic friction differ; there is one here, the dynamic")
    density = short(value(api.GetDensityAttr(), 0.0)) * reader.mass / reader.length**3
    return Material(dynamic, short(value(api.GetRestitutionAttr(), 0.0))), density


def _color(prim: Any) -> str | None:
    """The first display colour, from linear light to "#rrggbb"."""
    colors = UsdGeom.Gprim(prim).GetDisplayColorAttr().Get()
    if not colors:
        return None
    linear = np.clip(np.array(colors[0], float), 0.0, 1.0)
    encoded = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1.0 / 2.4) - 0.055)
    return "#" + "".join(f"{round(255.0 * part):02x}" for part in encoded.tolist())
