"""A scene as MuJoCo's: a tree of bodies on hinges and ball joints from the world, or free; no contact, no damping."""

from typing import Any

import numpy as np

import dalembert as dal
from dalembert.scene.body import Body


def text(values: Any) -> str:
    return " ".join(repr(float(value)) for value in np.ravel(values))


def quaternion(rotation: np.ndarray) -> np.ndarray:
    """(w, x, y, z) of a rotation matrix."""
    import mujoco

    q = np.empty(4)
    mujoco.mju_mat2Quat(q, np.ascontiguousarray(rotation).ravel())
    return q


def parent_joints(scene: dal.Scene) -> dict[str, Any]:
    """The joint on which each body hangs; bodies without one are free."""
    return {joint.b.name: joint for joint in scene.joints.values()}


def body_xml(scene: dal.Scene, body: Body, inside: str) -> str:
    """One body in the frame of its parent, with the XML of the bodies that hang on it inside."""
    joint = parent_joints(scene).get(body.name)
    parent = joint.a if joint is not None and isinstance(joint.a, Body) else None
    turn, origin = (parent.rotation, parent.position) if parent is not None else (np.eye(3), np.zeros(3))
    if joint is None:
        joined = "<freejoint/>"
    else:
        axis = "" if joint.axis is None else f' axis="{text(body.rotation.T @ joint.axis)}"'
        joined = f'<joint type="{joint.kind}" pos="{text(body.to_body(joint.at))}"{axis}/>'
    tensor = body.inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    return (
        f'<body name="{body.name}" pos="{text(turn.T @ (body.position - origin))}"'
        f' quat="{text(quaternion(turn.T @ body.rotation))}">{joined}'
        f'<inertial pos="0 0 0" mass="{text(body.mass)}" fullinertia="{text(tensor)}"/>{inside}</body>'
    )


def to_xml(scene: dal.Scene, integrator: str, dt: float) -> str:
    joints = parent_joints(scene)
    inside = dict.fromkeys(scene.bodies, "")
    roots = ""
    for name in reversed(scene.bodies):  # a body comes after the one that it hangs on
        xml = body_xml(scene, scene.bodies[name], inside[name])
        joint = joints.get(name)
        if joint is None or joint.a is dal.WORLD:
            roots = xml + roots
        else:
            inside[joint.a.name] = xml + inside[joint.a.name]
    return (
        f'<mujoco><option timestep="{dt!r}" integrator="{integrator}" gravity="{text(scene.gravity)}">'
        f'<flag contact="disable"/></option><size memory="2000M"/><worldbody>{roots}</worldbody></mujoco>'
    )


def start_rates(scene: dal.Scene) -> np.ndarray:
    """MuJoCo's velocities of the joints, in the order of the bodies: rates of ball joints in axes of the body that hangs."""
    joints = parent_joints(scene)
    rates = []
    for body in scene.bodies.values():
        joint = joints.get(body.name)
        below = joint.a.angular_velocity if joint is not None and isinstance(joint.a, Body) else np.zeros(3)
        turning = body.angular_velocity - below
        if joint is None:
            rates += [body.velocity, body.rotation.T @ turning]
        else:
            rates += [body.rotation.T @ turning if joint.axis is None else [turning @ joint.axis]]
    return np.concatenate(rates)


def mujoco_scene(scene: dal.Scene, integrator: str, dt: float) -> tuple[Any, Any]:
    """(MjModel, MjData) at the start of the scene."""
    import mujoco

    mujoco.set_mju_user_warning(lambda message: None)  # it would write a log file here when a run goes unstable
    model = mujoco.MjModel.from_xml_string(to_xml(scene, integrator, dt))
    data = mujoco.MjData(model)
    data.qvel[:] = start_rates(scene)
    return model, data
