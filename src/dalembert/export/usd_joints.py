"""Joints and forces of a scene in USD Physics.

The frame of a joint has its x along the axis; angles are degrees. A joint with several freedoms is a plain joint whose
other freedoms are locked, by a lower limit above the upper one. A universal joint turns about y of the first frame, which is
the axis of a, and then about x of the second, that of b.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pxr import Gf, UsdPhysics

from ..scene.articulate import Link
from ..scene.body import Body
from ..scene.checks import quaternion_of
from ..scene.contact import rule_for, rule_table
from ..scene.force import Force
from ..scene.joint import Joint
from .shared import holds_particle

if TYPE_CHECKING:
    from .usd_stage import Stage

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
                f"{joint.kind} {joint.name!r}", "it holds a link without mass, which USD has not; it is left out"
            )
        elif joint.kind not in (*KINDS, *LOCKED):
            stage.warn(f"{joint.kind} {joint.name!r}", "USD Physics has no such joint; it is left out")
        else:
            made[joint.name] = _write(stage, joint)
        if joint.armature:
            stage.warn(f"{joint.kind} {joint.name!r}", "USD Physics has no armature; that is left out")
    acting: dict[tuple[str, str], list[Force]] = {}
    for force in scene.forces.values():
        if not isinstance(force, Force) or holds_particle(force):
            continue  # said with the particles
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
            stage.warn(f"limit {force.name!r}", "stops of USD Physics do not bounce; its restitution is left out")


def _drive(stage: Stage, joint: Any, coordinate: str, forces: list[Force]) -> None:
    """Springs and motors of one coordinate as one drive, stiffness (target − s) + damping (target velocity − ṡ): their sum.
    A motor within a limit keeps that only where it is alone."""
    kept = []
    for force in forces:
        item = f"{force.kind.replace('_', ' ')} {force.name!r}"
        if force.function is not None:
            stage.warn(item, "its function is no part of USD; it is left out")
        elif np.isfinite(force.limit) and force.kind == "motor" and len(forces) > 1:
            stage.warn(item, "USD has one drive a joint, with one limit for all that it does; it is left out")
        else:
            kept.append(force)
    if not kept:
        return
    stiffness, damping = sum(force.stiffness for force in kept), sum(force.damping for force in kept)
    effort = sum(_effort_at_zero(force) for force in kept)
    if stiffness == 0.0 and damping == 0.0:
        if effort:
            stage.warn(f"motor {kept[0].name!r}", "a drive of USD needs a stiffness or a gain; it is left out")
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
