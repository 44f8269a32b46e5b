"""URDF files: frames, inertias and joints are those of Pinocchio, as it reads the same file."""

from collections import defaultdict

import numpy as np
import pytest

import dalembert as dal
from dalembert.scene.body import Body

from .places import example_robots, package_files
from .test_mjcf_mujoco import pose

ROBOTS = example_robots()
BULLET = [path for path in package_files("pybullet_data", "**/*.urdf") if "random_urdfs" not in path.parts]
CLOSE = 1e-9


def reference(pinocchio, path, *root):
    """Pinocchio's model and data at its neutral configuration; None for a file that it refuses."""
    try:
        model = pinocchio.buildModelFromUrdf(str(path), *root)
    except (ValueError, RuntimeError):
        return None
    data = model.createData()
    pinocchio.forwardKinematics(model, data, pinocchio.neutral(model))
    pinocchio.updateFramePlacements(model, data)
    return model, data


def require_same_frames(ours, model, data, pinocchio):
    bodies = [i for i, frame in enumerate(model.frames) if frame.type == pinocchio.FrameType.BODY]
    assert {model.frames[i].name for i in bodies} - {"universe"} == set(ours.frames)
    for i in bodies:
        if model.frames[i].name != "universe":
            position, rotation = pose(ours.frames[model.frames[i].name])
            np.testing.assert_allclose(position, data.oMf[i].translation, atol=CLOSE)
            np.testing.assert_allclose(rotation, data.oMf[i].rotation, atol=CLOSE)


def require_same_masses(ours, model, data, pinocchio):
    """Pinocchio joins what fixed joints hold together: so do we, for the comparison. Inertias that we repaired, or left out
    as they have no mass, with a warning, are no solids' and differ."""
    held = defaultdict(list)
    repaired = {w.message.split("'")[1] for w in ours.warnings if "is impossible" in w.message}
    weightless = {w.message.split("'")[1] for w in ours.warnings if "an inertia but no mass" in w.message}
    parents = {frame.name: frame.parentJoint for frame in model.frames if frame.type == pinocchio.FrameType.BODY}
    for name, frame in ours.frames.items():
        if isinstance(frame.body, Body):
            held[parents[name]].append(frame.body)
    for joint in range(1, model.njoints):
        bodies, expected = held[joint], data.oMi[joint].act(model.inertias[joint])
        mass = sum(body.mass for body in bodies)
        assert mass == pytest.approx(expected.mass, rel=CLOSE, abs=1e-12)
        if mass == 0.0:
            continue
        center = sum(body.mass * body.position for body in bodies) / mass
        np.testing.assert_allclose(center, expected.lever, atol=CLOSE)
        inertia = np.zeros((3, 3))
        for body in bodies:
            arm = body.position - center
            inertia += body.rotation @ body.inertia @ body.rotation.T
            inertia += body.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        if not repaired & {body.name for body in bodies} and joint not in {parents[name] for name in weightless}:
            scale = np.abs(expected.inertia).max()
            np.testing.assert_allclose(inertia, expected.inertia, atol=CLOSE * scale)


def require_same_joints(ours, model, data, pinocchio):
    followers = {force.coupling.joints[1].name for force in ours.scene.joints.values() if force.coupling}
    for name in ours.joints:
        joint = ours.scene.joints[name]
        if joint.kind not in ("hinge", "slider") or not model.existJointName(name):
            continue
        number = model.getJointId(name)
        placement, kind = data.oMi[number], model.joints[number]
        np.testing.assert_allclose(joint.at, placement.translation, atol=CLOSE)
        np.testing.assert_allclose(joint.axis, placement.rotation @ _axis(model, number, pinocchio), atol=CLOSE)
        stops = ours.scene.forces.get(f"{name}/limit")
        if stops is not None:
            low, high = model.lowerPositionLimit[kind.idx_q], model.upperPositionLimit[kind.idx_q]
            np.testing.assert_allclose(stops.stops, (low, high), atol=CLOSE)
        spring = ours.scene.forces.get(f"{name}/spring")
        if name not in followers:
            assert (spring.damping if spring else 0.0) == pytest.approx(model.damping[kind.idx_v], rel=CLOSE)


def _axis(model, number, pinocchio):
    """The axis of a joint of one coordinate, in its own frame."""
    data = model.createData()
    speeds = np.zeros(model.nv)
    speeds[model.joints[number].idx_v] = 1.0
    pinocchio.forwardKinematics(model, data, pinocchio.neutral(model), speeds)
    motion = data.v[number]
    return motion.angular if np.linalg.norm(motion.angular) > 0.5 else motion.linear


@pytest.mark.parametrize("path", [*ROBOTS, *BULLET], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_file_means_what_it_means_to_pinocchio(path):
    pinocchio = pytest.importorskip("pinocchio")
    found = reference(pinocchio, path)
    if found is None:
        pytest.skip("Pinocchio refuses this file")
    ours = dal.load_model(path)
    require_same_frames(ours, *found, pinocchio)
    require_same_masses(ours, *found, pinocchio)
    require_same_joints(ours, *found, pinocchio)


@pytest.mark.parametrize("path", ROBOTS[::6], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_floating_root_is_pinocchios_free_flyer(path):
    pinocchio = pytest.importorskip("pinocchio")
    found = reference(pinocchio, path, pinocchio.JointModelFreeFlyer())
    if found is None:
        pytest.skip("Pinocchio refuses this file")
    ours = dal.load_model(path, floating=True)
    require_same_frames(ours, *found, pinocchio)
    require_same_masses(ours, *found, pinocchio)


@pytest.mark.slow
def test_robots_of_others_load():
    if not ROBOTS:
        pytest.skip("example-robot-data is not installed")
    refused = []
    for path in ROBOTS:
        try:
            dal.load_model(path)
        except ValueError as error:
            refused.append(str(error))
    assert len(ROBOTS) - len(refused) >= 60
    assert all("it has no link" in message for message in refused), refused
