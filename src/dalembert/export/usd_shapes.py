"""Shapes of a scene in USD: geometry, colliders, physics materials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pxr import Gf, UsdGeom, UsdPhysics, UsdShade, Vt

from ..scene.body import Body
from ..scene.contact import Material, Obstacle
from ..scene.shapes import Compound, ConvexHull, HalfSpace, Shape
from ..scene.shapes.base import UsdPrim
from .shared import linear_rgb

if TYPE_CHECKING:
    from .usd_stage import Stage

SIDES = 48
GROUND = 2.0  # half side of the plane drawn, in sizes of the motion


class Shapes:
    """Adds shapes below prims."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._materials: dict[Material, Any] = {}
        self._scope: Any = None

    def add(self, parent: Any, item: Body | Obstacle, origin: np.ndarray) -> None:
        """The shape of a body or obstacle, its frame at `origin` (3,) m of the parent's."""
        parts = [(item.shape, origin, (1.0, 0.0, 0.0, 0.0))]
        if isinstance(item.shape, Compound):
            parts = [(part.shape, origin + part.position, part.orientation) for part in item.shape.parts]
        for shape, position, orientation in parts:
            prim = shape.usd_prim()
            made = self._geometry(parent, item, shape, prim)
            made.AddTranslateOp().Set(Gf.Vec3d(*np.asarray(position).tolist()))
            made.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Quatd(*orientation))
            if prim is not None and prim.scale is not None:
                made.AddScaleOp().Set(Gf.Vec3f(*prim.scale))
            made.CreateDisplayColorAttr([Gf.Vec3f(*linear_rgb(item.color))])
            extent = UsdGeom.Boundable.ComputeExtentFromPlugins(made, 0.0)
            if extent:
                made.CreateExtentAttr(extent)
            if item.material is not None:
                self._collide(made.GetPrim(), shape, item.material)

    def _geometry(self, parent: Any, item: Body | Obstacle, shape: Shape, prim: UsdPrim | None) -> Any:
        stage = self.stage
        if isinstance(shape, HalfSpace):
            made = stage.define(UsdGeom.Plane, parent, "shape")
            made.CreateAxisAttr(UsdGeom.Tokens.z)
            side = 2.0 * GROUND * max(stage.what.size, 1.0)
            made.CreateWidthAttr(side)
            made.CreateLengthAttr(side)
        elif prim is not None:
            made = stage.define(getattr(UsdGeom, prim.kind), parent, "shape")
            if hasattr(made, "CreateAxisAttr"):
                made.CreateAxisAttr(UsdGeom.Tokens.z)
            for name, value in prim.sizes.items():
                getattr(made, f"Create{name}Attr")(value)
        else:
            made = stage.define(UsdGeom.Mesh, parent, "shape")
            vertices, faces = shape.triangles(SIDES)
            add_mesh(made, vertices, faces, item.color)
            if shape.convex and not isinstance(shape, ConvexHull):
                owner = f"{'body' if isinstance(item, Body) else 'obstacle'} {item.name!r}"
                kind = type(shape).__name__.lower()
                stage.warn(owner, f"USD has no {kind}; it becomes a mesh of {SIDES} sides")
        return made

    def _collide(self, prim: Any, shape: Shape, material: Material) -> None:
        UsdPhysics.CollisionAPI.Apply(prim)
        if prim.IsA(UsdGeom.Mesh):
            kind = UsdPhysics.Tokens.convexHull if shape.convex else UsdPhysics.Tokens.none
            UsdPhysics.MeshCollisionAPI.Apply(prim).CreateApproximationAttr(kind)
        binding = UsdShade.MaterialBindingAPI.Apply(prim)
        binding.Bind(self._material(material), UsdShade.Tokens.weakerThanDescendants, "physics")

    def _material(self, material: Material) -> Any:
        if material not in self._materials:
            if not self._materials:
                self._scope = self.stage.define(UsdGeom.Scope, "/World", "Materials").GetPath()
            made = self.stage.define(UsdShade.Material, self._scope, f"material_{len(self._materials) + 1}")
            physics = UsdPhysics.MaterialAPI.Apply(made.GetPrim())
            physics.CreateStaticFrictionAttr(material.friction)
            physics.CreateDynamicFrictionAttr(material.friction)
            physics.CreateRestitutionAttr(material.restitution)
            self._materials[material] = made
        return self._materials[material]


def add_mesh(mesh: Any, vertices: np.ndarray, faces: np.ndarray, color: str) -> None:
    """Triangles, flat as they are."""
    corners = np.ascontiguousarray(vertices, np.float32)
    mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(corners))
    mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(np.ascontiguousarray(faces, np.int32).reshape(-1)))
    mesh.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(faces), 3, np.int32)))
    mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    mesh.CreateDisplayColorAttr([Gf.Vec3f(*linear_rgb(color))])
    if len(corners):
        mesh.CreateExtentAttr([Gf.Vec3f(*row) for row in (corners.min(axis=0).tolist(), corners.max(axis=0).tolist())])
