"""Joints of USD Physics as joints of a scene."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pxr import UsdPhysics

from ..scene.body import Body, World
from ..scene.checks import rotation_matrix
from ..scene.joint import Joint
from .usd_joint_parts import CLOSED, Ends, act, hinge, points, slider
from .usd_values import quaternion, value

if TYPE_CHECKING:
    from .usd_reader import Reader

AXES = ("X", "Y", "Z")


def read_joints(reader: Reader, prims: list[Any]) -> None:
    """All joints between what moves, in the order of the file."""
    for prim in prims:
        if not prim.IsA(UsdPhysics.Joint):
            continue
        with reader.told(prim):
            ends = _ends(reader, prim)
            joint = None if ends is None else _joint(reader, prim, ends)
            if joint is not None:
                reader.model.joints.append(joint.name)
                if UsdPhysics.Joint(prim).GetCollisionEnabledAttr().Get() and isinstance(joint.a, Body | World):
                    _let_touch(reader, joint)


def _ends(reader: Reader, prim: Any) -> Ends | None:
    """None with a warning for a joint that is off or holds nothing."""
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
            raise ValueError(f"it holds {targets[0]}, which is not there; correct it")
        items.append(reader.item(targets[0]) if targets else reader.item(None))
        linear, place = reader.matrix(target)
        places.append(linear @ np.array(value(local, (0, 0, 0)), float) + place)
        rotation = reader.frame(target)[0] if target else reader.up
        frames.append(rotation @ rotation_matrix(quaternion(value(turn, None))) if value(turn, None) else rotation)
    if items[0] is items[1]:
        reader.warn(prim, "both its ends are on the same thing, or on what stands still; it is left out")
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
            reader.warn(prim, "its frames are turned against each other; the bodies are fixed as they stand")
        return scene.weld(ends.name, ends.a, ends.b, **points(reader, prim, ends))
    if kind == "PhysicsDistanceJoint":
        api = UsdPhysics.DistanceJoint(prim)
        low, high = (float(value(a, -1.0)) for a in (api.GetMinDistanceAttr(), api.GetMaxDistanceAttr()))
        if not (low > 0.0 and high - low <= CLOSED * low):
            reader.warn(prim, "a distance within limits, or none at all, is no rod; it is left out")
            return None
        length = 0.5 * (low + high) * reader.length
        now = float(np.linalg.norm(ends.at_b - ends.at_a))
        exact = abs(now - length) <= CLOSED * length
        return scene.rod(ends.name, ends.a, ends.b, ends.at_a, ends.at_b, length=None if exact else length)
    if kind == "PhysicsJoint":
        return _locked(reader, prim, ends)
    reader.warn(prim, f"{kind} is no joint that a scene has; it is left out")
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
        reader.warn(prim, f"a joint that leaves {free} free is none that a scene has; it is left out")
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
