"""Prims of USD as parts of a scene: values of attributes, joints, geometry, and masses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pxr import Usd, UsdGeom, UsdPhysics, UsdShade

from ..scene.body import Body, World
from ..scene.checks import quaternion_of, rotation_matrix
from ..scene.contact import Material
from ..scene.joint import Coordinate, Joint
from ..scene.mass import MassProperties, mass_properties
from ..scene.shapes import (
    Box,
    Capsule,
    Compound,
    Cone,
    ConvexHull,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Mesh,
    Part,
    Sphere,
    TriangleMesh,
)
from .meshes import Degenerate, hull_or_plate, plate_message

if TYPE_CHECKING:
    from .usd import Reader


class Located:
    """Adds the prim to the message of a ValueError."""

    def __init__(self, where: str) -> None:
        self.where = where

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, ValueError) and not str(error).startswith(self.where.split(":")[0]):
            raise ValueError(f"{self.where}{error}") from None


def value(attribute: Any, default: Any) -> Any:
    """The value of an attribute at the earliest time; the default where it has none."""
    found = attribute.Get(Usd.TimeCode.EarliestTime()) if attribute else None
    return default if found is None else found


def quaternion(q: Any) -> tuple[float, float, float, float]:
    """A quaternion of USD, made unit in double precision."""
    parts = np.array([q.GetReal(), *q.GetImaginary()], float)
    w, x, y, z = (parts / np.linalg.norm(parts)).tolist()
    return w, x, y, z


def short(number: Any) -> float:
    """A number that a file keeps in float32 as the shortest decimal that it may have been: 9.81, not 9.8100004."""
    return float(str(np.float32(number)))


# Frames, stops and drives of joints -----------------------------------------------------------------------------------
#
# Files have the positions of joints in float32, so that both ends are a little apart; below a hundred thousandth they are
# one. The coordinates of a scene are 0 where the file's joints are at some angle or displacement already: stops and
# targets are shifted.

CLOSED = 1e-5
DEGREE = np.pi / 180.0


@dataclass(frozen=True)
class Ends:
    """The two frames of a joint, in the scene: positions (3,) m and axes, the columns of rotations."""

    name: str
    a: Body | World
    b: Body | World
    at_a: np.ndarray
    at_b: np.ndarray
    frame_a: np.ndarray
    frame_b: np.ndarray

    def angle(self, k: int) -> float:
        """Of the second frame against the first about axis k, rad."""
        i, j = (k + 1) % 3, (k + 2) % 3
        turn = self.frame_a.T @ self.frame_b
        return float(np.arctan2(turn[j, i] - turn[i, j], turn[i, i] + turn[j, j]))

    def displacement(self, k: int) -> float:
        """Of the second along axis k of the first, m."""
        return float(self.frame_a[:, k] @ (self.at_b - self.at_a))


def points(reader: Reader, prim: Any, ends: Ends) -> dict[str, np.ndarray]:
    """`at`, and `at_b` where the joint is open: where the points differ."""
    gap = float(np.linalg.norm(ends.at_b - ends.at_a))
    if gap <= CLOSED * max(1.0, float(np.abs(ends.at_a).max())):
        return {"at": ends.at_a}
    reader.warn(prim, f"it is open by {gap:.3g} m; assemble the scene: Simulation(…, assemble=True)")
    return {"at": ends.at_a, "at_b": ends.at_b}


def hinge(reader: Reader, prim: Any, ends: Ends, k: int) -> Joint:
    places = points(reader, prim, ends)
    axis, other = ends.frame_a[:, k], ends.frame_b[:, k]
    if np.abs(axis - other).max() > CLOSED:
        reader.warn(prim, "its axes are not aligned; assemble the scene: Simulation(…, assemble=True)")
        places["axis_b"] = other
    return reader.scene.hinge(ends.name, ends.a, ends.b, axis=axis, **places)


def slider(reader: Reader, prim: Any, ends: Ends, k: int) -> Joint:
    axis = ends.frame_a[:, k]
    aside = ends.at_b - ends.at_a - ends.displacement(k) * axis
    at = ends.at_b
    if np.linalg.norm(aside) > CLOSED * max(1.0, float(np.abs(at).max())):
        reader.warn(prim, "it is open across its axis; it slides from its initial pose")
    return reader.scene.slider(ends.name, ends.a, ends.b, at, axis)


def act(
    reader: Reader,
    prim: Any,
    ends: Ends,
    joint: Joint,
    k: int,
    angular: bool,
    bounds: tuple[float, float],
    freedom: str,
) -> None:
    """Stops and drive of one coordinate, which is 0 where the file's is `zero`."""
    unit = DEGREE if angular else reader.length
    zero = ends.angle(k) if angular else ends.displacement(k)
    if abs(zero) <= CLOSED:
        zero = 0.0
    which: Coordinate = "angle" if angular else "displacement"
    lower, upper = (bound * unit - zero if np.isfinite(bound) else None for bound in bounds)
    if lower is not None or upper is not None:
        try:
            reader.scene.limit(f"{joint.name}/{which} limit", joint, lower=lower, upper=upper, coordinate=which)
        except ValueError as error:
            reader.warn(prim, f"its stops are left out: {error}")
    if not prim.HasAPI(UsdPhysics.DriveAPI, freedom):
        return
    drive = UsdPhysics.DriveAPI(prim, freedom)
    if value(drive.GetTypeAttr(), "force") != "force":
        reader.warn(prim, "a drive of type acceleration is left out; give one of type force")
        return
    force = reader.mass * reader.length * (reader.length if angular else 1.0)  # N m or N in a unit of the file
    stiffness, damping = (
        float(value(a, 0.0)) * force / unit for a in (drive.GetStiffnessAttr(), drive.GetDampingAttr())
    )
    position = float(value(drive.GetTargetPositionAttr(), 0.0)) * unit - zero
    speed = float(value(drive.GetTargetVelocityAttr(), 0.0)) * unit
    limit = float(value(drive.GetMaxForceAttr(), np.inf)) * force
    if stiffness > 0.0 or damping > 0.0:
        reader.scene.motor(
            f"{joint.name}/{which} drive", joint, stiffness=stiffness, position=position, damping=damping,
            speed=speed if damping > 0.0 else None, limit=limit if limit < 1e30 else np.inf, coordinate=which,
        )  # fmt: skip


# Joints ---------------------------------------------------------------------------------------------------------------

AXES = ("X", "Y", "Z")


def read_joints(reader: Reader, prims: list[Any]) -> None:
    """All joints between what moves, in the order of the file."""
    for prim in prims:
        if not prim.IsA(UsdPhysics.Joint):
            continue
        with reader.located(prim):
            ends = _ends(reader, prim)
            joint = None if ends is None else _joint(reader, prim, ends)
            if joint is not None:
                reader.model.joints.append(joint.name)
                if UsdPhysics.Joint(prim).GetCollisionEnabledAttr().Get() and isinstance(joint.a, Body | World):
                    _let_touch(reader, joint)


def _ends(reader: Reader, prim: Any) -> Ends | None:
    """None with a warning for a joint that is disabled or locks nothing."""
    api = UsdPhysics.Joint(prim)
    if not value(api.GetJointEnabledAttr(), True):
        reader.warn(prim, "the joint is not enabled; it is left out")
        return None
    for limit in (value(api.GetBreakForceAttr(), np.inf), value(api.GetBreakTorqueAttr(), np.inf)):
        if np.isfinite(limit) and limit < 1e30:
            reader.warn(prim, "joints do not break here; release it by an event")
    items, places, frames = [], [], []
    for relation, local, turn in (
        (api.GetBody0Rel(), api.GetLocalPos0Attr(), api.GetLocalRot0Attr()),
        (api.GetBody1Rel(), api.GetLocalPos1Attr(), api.GetLocalRot1Attr()),
    ):
        targets = relation.GetTargets()
        target = reader.stage.GetPrimAtPath(targets[0]) if targets else None
        if targets and not target:
            raise ValueError(f"it holds {targets[0]}, which does not exist; correct it")
        items.append(reader.item(targets[0]) if targets else reader.item(None))
        linear, place = reader.matrix(target)
        places.append(linear @ np.array(value(local, (0, 0, 0)), float) + place)
        rotation = reader.frame(target)[0] if target else reader.up
        frames.append(rotation @ rotation_matrix(quaternion(value(turn, None))) if value(turn, None) else rotation)
    if items[0] is items[1]:
        reader.warn(prim, "both ends are on the same body, or fixed; it is left out")
        return None
    return Ends(reader.joint_name(prim), items[0], items[1], *places, *frames)


def _joint(reader: Reader, prim: Any, ends: Ends) -> Joint | None:
    """The joint with its stops and drives; None with a warning where a scene has none for it."""
    scene = reader.scene
    kind = str(prim.GetTypeName())
    if kind in ("PhysicsRevoluteJoint", "PhysicsPrismaticJoint"):
        angular = kind == "PhysicsRevoluteJoint"
        api = (UsdPhysics.RevoluteJoint if angular else UsdPhysics.PrismaticJoint)(prim)
        k = AXES.index(str(value(api.GetAxisAttr(), "X")))
        joint = hinge(reader, prim, ends, k) if angular else slider(reader, prim, ends, k)
        bounds = (float(value(api.GetLowerLimitAttr(), -np.inf)), float(value(api.GetUpperLimitAttr(), np.inf)))
        act(reader, prim, ends, joint, k, angular, bounds, "angular" if angular else "linear")
        return joint
    if kind == "PhysicsSphericalJoint":
        cone = UsdPhysics.SphericalJoint(prim)
        if any(float(value(a, -1.0)) >= 0.0 for a in (cone.GetConeAngle0LimitAttr(), cone.GetConeAngle1LimitAttr())):
            reader.warn(prim, "the limit of its cone is left out")
        return scene.ball(ends.name, ends.a, ends.b, **points(reader, prim, ends))
    if kind == "PhysicsFixedJoint":
        if np.abs(ends.frame_a - ends.frame_b).max() > CLOSED:
            reader.warn(prim, "its frames differ in orientation; the bodies are fixed at their initial poses")
        return scene.weld(ends.name, ends.a, ends.b, **points(reader, prim, ends))
    if kind == "PhysicsDistanceJoint":
        api = UsdPhysics.DistanceJoint(prim)
        low, high = (float(value(a, -1.0)) for a in (api.GetMinDistanceAttr(), api.GetMaxDistanceAttr()))
        if not (low > 0.0 and high - low <= CLOSED * low):
            reader.warn(prim, "only fixed distances are supported; it is left out")
            return None
        length = 0.5 * (low + high) * reader.length
        now = float(np.linalg.norm(ends.at_b - ends.at_a))
        exact = abs(now - length) <= CLOSED * length
        return scene.rod(ends.name, ends.a, ends.b, ends.at_a, ends.at_b, length=None if exact else length)
    if kind == "PhysicsJoint":
        return _locked(reader, prim, ends)
    reader.warn(prim, f"{kind} is not a supported joint; it is left out")
    return None


def _locked(reader: Reader, prim: Any, ends: Ends) -> Joint | None:
    """A plain joint, by the freedoms that are locked: those whose lower limit is not below the upper."""
    locked, limits = set(), {}
    for name in [f"{kind}{axis}" for kind in ("trans", "rot") for axis in AXES]:
        if prim.HasAPI(UsdPhysics.LimitAPI, name):
            api = UsdPhysics.LimitAPI(prim, name)
            low, high = api.GetLowAttr().Get(), api.GetHighAttr().Get()
            limits[name] = (-np.inf if low is None else float(low), np.inf if high is None else float(high))
            if limits[name][0] >= limits[name][1]:
                locked.add(name)
    slides = [k for k in range(3) if f"trans{AXES[k]}" not in locked]
    turns = [k for k in range(3) if f"rot{AXES[k]}" not in locked]
    scene, name = reader.scene, ends.name
    places = points(reader, prim, ends) if not slides else {}
    acting: list[tuple[int, bool]] = []
    if (len(slides), len(turns)) == (0, 0):
        joint = scene.weld(name, ends.a, ends.b, **places)
    elif (len(slides), len(turns)) == (0, 1):
        joint, acting = hinge(reader, prim, ends, turns[0]), [(turns[0], True)]
    elif (len(slides), len(turns)) == (0, 2):
        # The turn is one about the later axis, in a, and then one about the earlier, in b.
        x, y = turns
        joint = scene.universal(name, ends.a, ends.b, axis_a=ends.frame_a[:, y], axis_b=ends.frame_b[:, x], **places)
    elif (len(slides), len(turns)) == (0, 3):
        joint = scene.ball(name, ends.a, ends.b, **places)
    elif (len(slides), len(turns)) == (1, 0):
        joint, acting = slider(reader, prim, ends, slides[0]), [(slides[0], False)]
    elif len(slides) == 1 and turns == slides:
        joint = scene.cylindrical(name, ends.a, ends.b, ends.at_b, ends.frame_a[:, slides[0]])
        acting = [(slides[0], True), (slides[0], False)]
    elif (len(slides), len(turns)) == (1, 3):
        joint = scene.point_on_line(name, ends.a, ends.b, ends.at_a, ends.frame_a[:, slides[0]], at_b=ends.at_b)
    elif (len(slides), len(turns)) == (2, 3):
        k = ({0, 1, 2} - set(slides)).pop()
        joint = scene.point_on_plane(name, ends.a, ends.b, ends.at_a, ends.frame_a[:, k], at_b=ends.at_b)
    else:
        free = ", ".join([f"trans{AXES[k]}" for k in slides] + [f"rot{AXES[k]}" for k in turns])
        reader.warn(prim, f"a joint that leaves {free} free is not supported; it is left out")
        return None
    handled = set()
    for k, angular in acting:
        freedom = f"{'rot' if angular else 'trans'}{AXES[k]}"
        handled.add(freedom)
        act(reader, prim, ends, joint, k, angular, limits.get(freedom, (-np.inf, np.inf)), freedom)
    if any(np.isfinite(limits[key]).any() for key in limits.keys() - locked - handled):
        reader.warn(prim, "stops of a joint with several freedoms are left out")
    return joint


def _let_touch(reader: Reader, joint: Joint) -> None:
    """The two touch, though they are joined."""
    scene = reader.scene
    if all(isinstance(end, Body) and end.material is not None for end in (joint.a, joint.b)):
        scene.set_contact(joint.a.name, joint.b.name)


# Geometry -------------------------------------------------------------------------------------------------------------
#
# A geometry lies in the scene by x → A x + t. Where A is a rotation times a scale along the axes of the shape, it becomes
# a shape of that size; a shape that has no such form, as a cylinder that is squeezed, becomes the hull of its surface.

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
        """The same in a frame that has this rotation and position in the scene."""
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
    with reader.located(prim):
        geometry = _geometry(reader, prim, still, touches)
    if geometry is None:
        if touches:
            reader.warn(prim, f"{prim.GetTypeName()} is not a supported geometry; it is left out")
        return None
    material, density = _material(reader, prim)
    return Collider(prim, geometry, material if touches else None, density, _color(prim))


def alone(compound: Compound) -> Any:
    """The only part of a compound, where its shape can replace it in the frame of the compound; else the compound."""
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
    schema = getattr(UsdGeom, kind)(prim)
    if kind not in ("Cube", "Sphere"):
        linear = linear @ TURNS[str(value(schema.GetAxisAttr(), "Z"))]
    sizes = np.linalg.norm(linear, axis=0)
    if not sizes.all():
        raise ValueError("its transformation is flat; correct its scale")
    turn = linear / sizes
    if np.linalg.det(turn) < 0.0:
        turn[:, 0] *= -1.0  # these shapes are their own mirror images
    x, y, z = sizes.tolist()
    round_one, ball = abs(x - y) <= SAME * x, np.ptp(sizes) <= SAME * x
    if kind == "Cube":
        side = float(value(schema.GetSizeAttr(), 2.0))
        shape: Any = Box(side * x, side * y, side * z)
        plain: Any = Box(side, side, side)
        fits = True
    else:
        radius = float(value(schema.GetRadiusAttr(), 1.0))
        height = 0.0 if kind == "Sphere" else float(value(schema.GetHeightAttr(), 1.0 if kind == "Capsule" else 2.0))
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
    """Of what moves the convex hull; of what does not move a surface, where it is not to be convex."""
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
            reader.warn(prim, "moving bodies cannot collide as meshes; its convex hull is used")
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
        raise ValueError("a face has an index out of range; export it again")
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
        reader.warn(bound.GetPrim(), "static and dynamic friction differ; the dynamic one is used")
    density = short(value(api.GetDensityAttr(), 0.0)) * reader.mass / reader.length**3
    return Material(dynamic, short(value(api.GetRestitutionAttr(), 0.0))), density


def _color(prim: Any) -> str | None:
    """The first display colour, from linear RGB to "#rrggbb"."""
    colors = UsdGeom.Gprim(prim).GetDisplayColorAttr().Get()
    if not colors:
        return None
    linear = np.clip(np.array(colors[0], float), 0.0, 1.0)
    encoded = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1.0 / 2.4) - 0.055)
    return "#" + "".join(f"{round(255.0 * part):02x}" for part in encoded.tolist())


# Mass, centre of mass and inertia of a rigid body ---------------------------------------------------------------------

WATER = 1000.0  # kg/m³, the density that USD Physics assumes


def solid_of(
    reader: Reader, prim: Any, rotation: np.ndarray, place: np.ndarray, shown: list[Collider]
) -> tuple[MassProperties, list[Geometry]]:
    """Mass, centre (3,) m in the world and inertia (3, 3) kg m² in the body's axes; and the shapes, in the frame of the
    prim. What the file does not state follows from the shapes and their densities."""
    api = UsdPhysics.MassAPI(prim)
    mass = reader.mass * short(value(api.GetMassAttr(), 0.0))
    center = np.array(value(api.GetCenterOfMassAttr(), (-np.inf,) * 3), float)
    moments = reader.mass * reader.length**2 * np.array(value(api.GetDiagonalInertiaAttr(), (0, 0, 0)), float)
    own = density_of(reader, prim)
    parts, densities = [], []
    for item in shown:
        part = item.geometry.seen_from(rotation, place)
        volume = mass_properties(part.shape, density=1.0).mass
        inner = reader.mass * float(value(UsdPhysics.MassAPI(item.prim).GetMassAttr(), 0.0)) / volume
        densities.append(inner or density_of(reader, item.prim) or own or item.density or WATER)
        parts.append(part)
    whole = None
    if parts:
        compound = Compound(
            [
                Part(p.shape, tuple(p.position), p.orientation, d / densities[0])
                for p, d in zip(parts, densities, strict=True)
            ]
        )
        whole = mass_properties(compound, mass=mass) if mass > 0.0 else mass_properties(compound, density=densities[0])
    if whole is None and not (mass > 0.0 and moments.all()):
        raise ValueError("it has no shape, and not both mass and inertia; give it a collider, or a mass and an inertia")
    linear, origin = reader.matrix(prim)
    middle = origin if whole is None else origin + rotation @ np.array(whole.center)
    if np.isfinite(center).all():
        middle = linear @ center + origin
    tensor = None if whole is None else np.array(whole.inertia)
    if moments.all():
        q = value(api.GetPrincipalAxesAttr(), None)
        axes = np.eye(3) if q is None or q.GetLength() == 0.0 else rotation_matrix(quaternion(q))
        tensor = axes @ np.diag(moments) @ axes.T
    total = mass if whole is None else whole.mass
    return MassProperties(total, middle, tensor), parts  # type: ignore[arg-type]


def density_of(reader: Reader, prim: Any) -> float:
    """kg/m³; 0 where the prim has none."""
    return short(value(UsdPhysics.MassAPI(prim).GetDensityAttr(), 0.0)) * reader.mass / reader.length**3
