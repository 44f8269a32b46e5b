"""A USD stage while it is written: bodies, their motion, particles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pxr import Gf, Sdf, Tf, Usd, UsdGeom, UsdPhysics, Vt

from ..scene.body import Body
from ..scene.checks import quaternion_of
from ..scene.contact import Obstacle
from ..view.drawing import BodyDrawing
from ..view.particles import ParticleDrawing
from .shared import ExportWarning, linear_rgb, passing_pairs, principal_inertia
from .shown import Shown
from .usd_joints import write_joints
from .usd_shapes import Shapes, add_mesh

WORLD = "/World"


class Stage:
    """The stage, what became of what, and the warnings."""

    def __init__(self, what: Shown) -> None:
        self.what, self.scene = what, what.scene
        self.warnings: list[ExportWarning] = []
        self.paths: dict[str, Sdf.Path] = {}  # of bodies and obstacles, by name
        self.stage = Usd.Stage.CreateInMemory()
        UsdGeom.SetStageUpAxis(self.stage, UsdGeom.Tokens.z)
        UsdGeom.SetStageMetersPerUnit(self.stage, 1.0)
        UsdPhysics.SetStageKilogramsPerUnit(self.stage, 1.0)
        self._used: set[Sdf.Path] = set()
        root = self.define(UsdGeom.Xform, "", "World")
        self.stage.SetDefaultPrim(root.GetPrim())
        root.GetPrim().SetDisplayName(what.name)
        self._rate = 1.0  # time codes a second
        if len(what.times) > 1:
            self._rate = max(1.0, float(np.round(1.0 / np.median(np.diff(what.times)))))
            self.stage.SetTimeCodesPerSecond(self._rate)
            self.stage.SetStartTimeCode(self._rate * what.times[0])
            self.stage.SetEndTimeCode(self._rate * what.times[-1])
        self.shapes = Shapes(self)

    def define(self, kind: Any, parent: str | Sdf.Path, name: str) -> Any:
        """A new prim whose name is made valid and its own, and which is shown by the name given."""
        valid = Tf.MakeValidIdentifier(name)
        path, number = Sdf.Path(f"{parent}/{valid}"), 2
        while path in self._used:
            path, number = Sdf.Path(f"{parent}/{valid}_{number}"), number + 1
        self._used.add(path)
        made = kind.Define(self.stage, path)
        if path.name != name:
            made.GetPrim().SetDisplayName(name)
        return made

    def warn(self, item: str, message: str) -> None:
        self.warnings.append(ExportWarning(item, message))

    def write(self) -> None:
        what, scene = self.what, self.scene
        recorded = what.positions.shape[1]
        for i, drawn in enumerate(what.drawing.bodies):
            moving = (what.positions[:, i], what.orientations[:, i]) if i < recorded else None
            self._thing(drawn, moving)
        for ground in what.grounds:
            self._obstacle(ground)
        for group in what.drawing.particles:
            self._particles(group)
        for curve in what.drawing.curves:
            self._lines(curve.name, curve.points, [len(curve.points)], "#404040", 0.0)
        if scene is None:
            self.warn(f"run {what.name!r}", "a saved run has no physics; its bodies are meshes that move")
            return
        gravity = float(np.linalg.norm(scene.gravity))
        physics = self.define(UsdPhysics.Scene, WORLD, "physics")
        direction = scene.gravity / gravity if gravity else np.array([0.0, 0.0, -1.0])
        physics.CreateGravityDirectionAttr(Gf.Vec3f(*direction.tolist()))
        physics.CreateGravityMagnitudeAttr(gravity)
        write_joints(self)
        if scene.particles:
            self.warn(
                f"particles {', '.join(scene.particles)}", "they are seen, without mass, forces, joints or contact"
            )
        self._contacts()

    def save(self, path: Path) -> None:
        """Write the file. Raises OSError where that fails."""
        try:
            written = self.stage.GetRootLayer().Export(str(path))
        except Tf.ErrorException as error:
            raise OSError(f"'{path}' cannot be written: {error!s:.200}") from None
        if not written:
            raise OSError(f"'{path}' cannot be written; check its folder and permissions")

    # Things -----------------------------------------------------------------------------------------------------------

    def _thing(self, drawn: BodyDrawing, moving: tuple[np.ndarray, np.ndarray] | None) -> None:
        scene = self.scene
        if scene is not None and drawn.name in scene.obstacles and moving is None:
            self._obstacle(scene.obstacles[drawn.name])
            return
        made = self.define(UsdGeom.Xform, WORLD, drawn.name)
        self.paths[drawn.name] = made.GetPath()
        x, q = moving or (drawn.position[None], drawn.orientation[None])
        self._place(made, x, q)
        body = None if scene is None else scene.bodies[drawn.name]
        if body is not None:
            self._mass(made, body)
            if body.shape is not None:
                self.shapes.add(made.GetPath(), body, -body.center)
        elif len(drawn.faces):
            mesh = self.define(UsdGeom.Mesh, made.GetPath(), "shape")
            add_mesh(mesh, drawn.vertices - drawn.center, drawn.faces, drawn.color)

    def _obstacle(self, obstacle: Obstacle) -> None:
        made = self.define(UsdGeom.Xform, WORLD, obstacle.name)
        self.paths[obstacle.name] = made.GetPath()
        self._place(made, obstacle.position[None], np.array([obstacle.orientation]))
        self.shapes.add(made.GetPath(), obstacle, np.zeros(3))

    def _place(self, xform: Any, position: np.ndarray, orientation: np.ndarray) -> None:
        """Translation and rotation, with a sample at each instant where there are several."""
        slide, turn = xform.AddTranslateOp(), xform.AddOrientOp(UsdGeom.XformOp.PrecisionDouble)
        many = len(position) > 1
        for k in range(len(position)):
            code = self._rate * self.what.times[k] if many else Usd.TimeCode.Default()
            slide.Set(Gf.Vec3d(*position[k].tolist()), code)
            turn.Set(Gf.Quatd(*orientation[k].tolist()), code)

    def _mass(self, xform: Any, body: Body) -> None:
        """The rigid body, with its mass about the origin, and its velocities at the start (degrees a second)."""
        prim = xform.GetPrim()
        rigid = UsdPhysics.RigidBodyAPI.Apply(prim)
        rigid.CreateVelocityAttr(Gf.Vec3f(*body.velocity.tolist()))
        rigid.CreateAngularVelocityAttr(Gf.Vec3f(*np.degrees(body.angular_velocity).tolist()))
        moments, axes = principal_inertia(body.inertia)
        mass = UsdPhysics.MassAPI.Apply(prim)
        mass.CreateMassAttr(body.mass)
        mass.CreateCenterOfMassAttr(Gf.Vec3f(0.0))
        mass.CreateDiagonalInertiaAttr(Gf.Vec3f(*moments.tolist()))
        mass.CreatePrincipalAxesAttr(quatf(axes))

    def _contacts(self) -> None:
        scene = self.scene
        assert scene is not None
        joined = {frozenset(end.name for end in joint.bodies) for joint in scene.joints.values()}
        for a, b in passing_pairs(scene):
            if frozenset((a, b)) not in joined:
                pairs = UsdPhysics.FilteredPairsAPI.Apply(self.stage.GetPrimAtPath(self.paths[a]))
                pairs.CreateFilteredPairsRel().AddTarget(self.paths[b])
        for rule in scene.contact_rules:
            if rule.enabled and (rule.friction is not None or rule.restitution is not None):
                self.warn(f"contact of {rule.a!r} and {rule.b!r}", "friction and restitution of a pair are left out")
        if len({item.material.friction for item in scene.touching() if item.material is not None}) > 1:
            self.warn("materials", "how two different frictions are combined is not told to USD; readers often average")

    # Particles --------------------------------------------------------------------------------------------------------

    def _particles(self, group: ParticleDrawing) -> None:
        tracks = self.what.particles[:, group.span]
        if len(group.faces):
            prim = self.define(UsdGeom.Mesh, WORLD, group.name)
            add_mesh(prim, tracks[0], group.faces, group.color)
        elif len(group.segments):
            order = group.segments.reshape(-1)
            tracks = tracks[:, order]
            prim = self._lines(group.name, tracks[0], [2] * len(group.segments), group.color, group.radius)
        else:
            prim = self.define(UsdGeom.Points, WORLD, group.name)
            prim.CreatePointsAttr(points(tracks[0]))
            prim.CreateWidthsAttr([2.0 * group.radius or 0.005 * self.what.size or 0.01])
            prim.SetWidthsInterpolation(UsdGeom.Tokens.constant)
            prim.CreateDisplayColorAttr([Gf.Vec3f(*linear_rgb(group.color))])
        if len(tracks) > 1:
            for k, time in enumerate(self.what.times):
                prim.GetPointsAttr().Set(points(tracks[k]), self._rate * time)

    def _lines(self, name: str, vertices: np.ndarray, counts: list[int], color: str, radius: float) -> Any:
        curves = self.define(UsdGeom.BasisCurves, WORLD, name)
        curves.CreateTypeAttr(UsdGeom.Tokens.linear)
        curves.CreateCurveVertexCountsAttr(counts)
        curves.CreatePointsAttr(points(vertices))
        curves.CreateWidthsAttr([2.0 * radius or 0.005 * self.what.size or 0.01])
        curves.SetWidthsInterpolation(UsdGeom.Tokens.constant)
        curves.CreateDisplayColorAttr([Gf.Vec3f(*linear_rgb(color))])
        return curves


def points(values: np.ndarray) -> Any:
    return Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(values, np.float32))


def quatf(rotation: np.ndarray) -> Any:
    return Gf.Quatf(*quaternion_of(rotation))
