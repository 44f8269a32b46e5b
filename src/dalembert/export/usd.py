"""A scene or a run as a USD file with USD Physics.

Only `export_usd` imports this module, as it needs the package usd-core.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from pxr import Gf, Sdf, Tf, Usd, UsdGeom, UsdPhysics, UsdShade, Vt

from ..core.file_format import USD_SUFFIXES
from ..scene.body import Body
from ..scene.checks import quaternion_of
from ..scene.contact import Material, Obstacle, rule_for, rule_table
from ..scene.force import Force
from ..scene.joint import Joint, Link
from ..scene.scene import Scene
from ..scene.shapes import Compound, ConvexHull, HalfSpace, Shape
from ..scene.shapes.base import UsdPrim
from ..simulation.simulation import Simulation
from ..simulation.trajectory import Trajectory
from ..view.drawing import BodyDrawing, ParticleDrawing
from .shown import ExportWarning, Shown, holds_particle, linear_rgb, passing_pairs, principal_inertia, shown, target


def write_stage(source: Simulation | Trajectory | Scene, path: str | PathLike[str]) -> list[ExportWarning]:
    """See `export_usd`."""
    file = target(path, *USD_SUFFIXES)
    stage = Stage(shown(source))
    stage.write()
    stage.save(file)
    return stage.warnings


# Joints and forces ----------------------------------------------------------------------------------------------------
#
# The frame of a joint has its x along the axis; angles are degrees. A joint with several freedoms is a plain joint whose
# other freedoms are locked, by a lower limit above the upper one. A universal joint turns about y of the first frame,
# which is the axis of a, and then about x of the second, that of b.

DEGREE = np.pi / 180.0
KINDS = {"hinge": UsdPhysics.RevoluteJoint, "slider": UsdPhysics.PrismaticJoint, "ball": UsdPhysics.SphericalJoint,
         "weld": UsdPhysics.FixedJoint, "rod": UsdPhysics.DistanceJoint}  # fmt: skip
LOCKED = {
    "cylindrical": ("transY", "transZ", "rotY", "rotZ"),
    "universal": ("transX", "transY", "transZ", "rotZ"),
    "point_on_line": ("transY", "transZ"),
    "point_on_plane": ("transX",),
}
FREEDOMS = {"angle": "rotX", "displacement": "transX"}


def write_joints(stage: Stage) -> None:
    """All joints and what acts on them; what USD Physics has no word for is warned of."""
    scene = stage.scene
    assert scene is not None
    made: dict[str, Any] = {}
    for joint in scene.joints.values():
        ends = (joint.a, joint.b)
        if holds_particle(joint):
            continue
        if any(isinstance(end, Link) for end in ends):
            stage.warn(
                f"{joint.kind} {joint.name!r}",
                "it connects a link without mass, which USD does not support; it is left out",
            )
        elif joint.kind not in (*KINDS, *LOCKED):
            stage.warn(f"{joint.kind} {joint.name!r}", "USD Physics has no such joint; it is left out")
        else:
            made[joint.name] = _write(stage, joint)
        if joint.armature:
            stage.warn(f"{joint.kind} {joint.name!r}", "USD Physics has no armature; it is left out")
    acting: dict[tuple[str, str], list[Force]] = {}
    for force in scene.forces.values():
        if not isinstance(force, Force) or holds_particle(force):
            continue  # warned of with the particles
        if force.joint is not None and force.joint.name in made and force.kind in ("torsion_spring", "motor", "limit"):
            acting.setdefault((force.joint.name, force.coordinate), []).append(force)
        else:
            stage.warn(
                f"{force.kind.replace('_', ' ')} {force.name!r}", "USD Physics has no such force; it is left out"
            )
    for (name, coordinate), forces in acting.items():
        _drive(stage, made[name], coordinate, [force for force in forces if force.kind != "limit"])
        _limit(stage, made[name], coordinate, [force for force in forces if force.kind == "limit"])
    for event in scene.events.values():
        stage.warn(f"event {event.name!r}", "USD Physics has no events; it is left out")


def _write(stage: Stage, joint: Joint) -> Any:
    made = stage.define(KINDS.get(joint.kind, UsdPhysics.Joint), "/World", joint.name)
    first = joint.parts[0]
    a, b = joint.a, joint.b
    for end, point, frame, relation, place, turn in (
        (
            a,
            first.point_a,
            _frame(joint, False),
            made.CreateBody0Rel,
            made.CreateLocalPos0Attr,
            made.CreateLocalRot0Attr,
        ),
        (
            b,
            first.point_b,
            _frame(joint, True),
            made.CreateBody1Rel,
            made.CreateLocalPos1Attr,
            made.CreateLocalRot1Attr,
        ),
    ):
        if isinstance(end, Body):
            relation().SetTargets([stage.paths[end.name]])
            point, frame = end.to_body(point), end.rotation.T @ frame
        place(Gf.Vec3f(*point.tolist()))
        turn(Gf.Quatf(*quaternion_of(frame)))
    for axis in LOCKED.get(joint.kind, ()):
        limit = UsdPhysics.LimitAPI.Apply(made.GetPrim(), axis)
        limit.CreateLowAttr(1.0)
        limit.CreateHighAttr(-1.0)
    if joint.kind in ("hinge", "slider"):
        made.CreateAxisAttr(UsdPhysics.Tokens.x)
    if joint.kind == "rod":
        made.CreateMinDistanceAttr(first.value)
        made.CreateMaxDistanceAttr(first.value)
    scene = stage.scene
    assert scene is not None
    if isinstance(a, Body) and isinstance(b, Body):
        rule = rule_for(rule_table(scene.contact_rules), a, b)
        if rule is not None and rule.enabled:
            made.CreateCollisionEnabledAttr(True)
    return made


def _frame(joint: Joint, second: bool) -> np.ndarray:
    """The axes of the joint in a or in b, world coordinates at the start: the columns of a rotation."""
    if joint.kind == "universal":
        y, x = joint.parts[1].axis_a, joint.parts[1].axis_b
        # Where the two are not at right angles yet, each is true in its own frame.
        x, y = (x, y - (y @ x) * x) if second else (x - (x @ y) * y, y)
        x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
        return np.stack([x, y, np.cross(x, y)], axis=1)
    axis = joint.axis
    if joint.kind == "point_on_plane":
        axis = joint.parts[0].axis_a
    if axis is None:
        return np.eye(3)
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    y = np.cross(axis, helper)
    y /= np.linalg.norm(y)
    frame = np.stack([axis, y, np.cross(axis, y)], axis=1)
    return frame if joint.kind != "hinge" or not second else _least_turn(axis, joint.parts[1].axis_b) @ frame


def _least_turn(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The least rotation from one unit vector to another, not its opposite: 1 + [v]× + [v]×²/(1 + c), v = start × end."""
    x, y, z = np.cross(start, end)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + cross + cross @ cross / (1.0 + start @ end)


def _limit(stage: Stage, joint: Any, coordinate: str, forces: list[Force]) -> None:
    if not forces:
        return
    unit = 1.0 if coordinate == "displacement" else 1.0 / DEGREE
    lower, upper = (unit * f(force.stops[i] for force in forces) for i, f in ((0, max), (1, min)))
    if isinstance(joint, UsdPhysics.RevoluteJoint | UsdPhysics.PrismaticJoint):
        joint.CreateLowerLimitAttr(lower)
        joint.CreateUpperLimitAttr(upper)
    else:
        limit = UsdPhysics.LimitAPI.Apply(joint.GetPrim(), FREEDOMS[coordinate])
        limit.CreateLowAttr(lower)
        limit.CreateHighAttr(upper)
    for force in forces:
        if force.restitution > 0.0:
            stage.warn(f"limit {force.name!r}", "USD Physics has no restitution of stops; its restitution is left out")


def _drive(stage: Stage, joint: Any, coordinate: str, forces: list[Force]) -> None:
    """Springs and motors of one coordinate as one drive, stiffness (target − s) + damping (target velocity − ṡ): their sum.
    A motor within a limit keeps that only where it is alone."""
    kept = []
    for force in forces:
        item = f"{force.kind.replace('_', ' ')} {force.name!r}"
        if force.function is not None:
            stage.warn(item, "USD cannot contain its function; it is left out")
        elif np.isfinite(force.limit) and force.kind == "motor" and len(forces) > 1:
            stage.warn(item, "USD has one drive per joint, with one limit for its total effort; it is left out")
        else:
            kept.append(force)
    if not kept:
        return
    stiffness, damping = sum(force.stiffness for force in kept), sum(force.damping for force in kept)
    effort = sum(_effort_at_zero(force) for force in kept)
    if stiffness == 0.0 and damping == 0.0:
        if effort:
            stage.warn(f"motor {kept[0].name!r}", "a drive of USD needs a stiffness or damping; it is left out")
        return
    angular = coordinate == "angle"
    freedom = FREEDOMS[coordinate]
    if isinstance(joint, UsdPhysics.RevoluteJoint | UsdPhysics.PrismaticJoint):
        freedom = "angular" if angular else "linear"
    unit = DEGREE if angular else 1.0
    drive = UsdPhysics.DriveAPI.Apply(joint.GetPrim(), freedom)
    drive.CreateTypeAttr(UsdPhysics.Tokens.force)
    drive.CreateStiffnessAttr(stiffness * unit)
    drive.CreateDampingAttr(damping * unit)
    if stiffness:
        drive.CreateTargetPositionAttr(effort / stiffness / unit)
    else:
        drive.CreateTargetVelocityAttr(effort / damping / unit)
    if kept[0].kind == "motor" and np.isfinite(kept[0].limit):
        drive.CreateMaxForceAttr(kept[0].limit)


def _effort_at_zero(force: Force) -> float:
    """What acts at s = 0, ṡ = 0."""
    if force.kind == "torsion_spring":
        return force.stiffness * force.rest
    return force.rest + force.stiffness * force.position + force.damping * force.target


# Shapes: geometry, colliders, physics materials -----------------------------------------------------------------------

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
            static = material.static_friction
            physics.CreateStaticFrictionAttr(material.friction if static is None else static)
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


# The stage: bodies, their motion, particles ---------------------------------------------------------------------------

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
        """A new prim whose name is made valid and its own, with the name as its display name."""
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
        for cable in what.drawing.cables:
            track = cable.track(what.times, what.positions, what.orientations, what.particles)
            prim = self._lines(cable.name, track[0], [track.shape[1]], "#404040", 0.0)
            self._move(prim, track)
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
                f"particles {', '.join(scene.particles)}",
                "they are only drawn, without mass, forces, joints or contact",
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
        if body.motion is not None:
            rigid.CreateKinematicEnabledAttr(True)
            return
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
            self.warn("materials", "USD has no rule for combining two different frictions; readers often average")
        if any(item.material is not None and item.material.resists_turning for item in scene.touching()):
            self.warn("materials", "USD Physics has no rolling or torsional friction; they are left out")
        if any(item.material is not None and item.material.stiffness is not None for item in scene.touching()):
            self.warn("materials", "USD Physics has no compliant surfaces; stiffness and damping are left out")

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
        self._move(prim, tracks)

    def _move(self, prim: Any, tracks: np.ndarray) -> None:
        """Samples of the points of a prim, (k, n, 3), at all instants."""
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
