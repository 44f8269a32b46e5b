"""MJCF files in joint coordinates: mass matrix, bias force and accelerations are MuJoCo's, at random states."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dalembert as dal
from dalembert.scene.checks import quaternion_of, rotation_matrix

from .places import package_files

mujoco = pytest.importorskip("mujoco")

FEATURES = Path(__file__).parent / "features.xml"
MODELS = [*package_files("gymnasium", "envs/mujoco/assets/*.xml"), *package_files("pybullet_data", "mjcf/*.xml")]
CLOSE = 1e-9


@pytest.fixture(autouse=True)
def logs_go_elsewhere(tmp_path, monkeypatch):
    """MuJoCo writes its warnings into the folder that it runs in."""
    monkeypatch.chdir(tmp_path)


class Pair:
    """One file in both engines; states of ours from those of MuJoCo, and how speeds correspond: w = T v, ẇ = T v̇ + b."""

    def __init__(self, path):
        self.model = mujoco.MjModel.from_xml_path(str(path))
        flags = mujoco.mjtDisableBit
        for name in ("CONSTRAINT", "SPRING", "DAMPER", "ACTUATION", "GRAVCOMP"):
            self.model.opt.disableflags |= getattr(flags, f"mjDSBL_{name}", 0)
        self.model.opt.density = self.model.opt.viscosity = 0.0
        for j in range(self.model.njnt):  # our free bodies and balls have no rotors, of which the reader warns
            size = {0: 6, 1: 3}.get(int(self.model.jnt_type[j]), 0)
            first = self.model.jnt_dofadr[j]
            self.model.dof_armature[first : first + size] = 0.0
        self.data = mujoco.MjData(self.model)
        self.ours = dal.load_model(path)
        self.arm = dal.Articulation(self.ours.scene)

    def random_state(self, seed):
        rng = np.random.default_rng(seed)
        step = rng.uniform(-1.0, 1.0, self.model.nv)
        self.data.qpos[:] = self.model.qpos0
        mujoco.mj_integratePos(self.model, self.data.qpos, step, 1.0)
        self.data.qvel[:] = rng.normal(size=self.model.nv)
        mujoco.mj_forward(self.model, self.data)

    def translate(self):
        """u, T, b."""
        model, data, arm = self.model, self.data, self.arm
        u, turn, bias = arm.start.copy(), np.zeros((model.nv, model.nv)), np.zeros(model.nv)
        names = iter(name for name in self.ours.joints if self.ours.scene.joints[name].kind != "weld")
        kinds = mujoco.mjtJoint
        for j in range(model.njnt):
            q, v = model.jnt_qposadr[j], model.jnt_dofadr[j]
            if model.jnt_type[j] == kinds.mjJNT_FREE:
                number = model.jnt_bodyid[j]
                frame = self.ours.frames[model.body(number).name or f"body {number}"]
                name = frame.body.name
                rotation = rotation_matrix(data.qpos[q + 3 : q + 7])
                body = rotation @ rotation_matrix(frame.orientation).T
                center = -body @ frame.position
                at, to = arm.coordinates.index(f"{name}.x"), arm.speeds.index(f"{name}.vx")
                u[at : at + 3], u[at + 3 : at + 7] = data.qpos[q : q + 3] + center, quaternion_of(body)
                omega = rotation @ data.qvel[v + 3 : v + 6]
                turn[to : to + 3, v : v + 3] = np.eye(3)
                turn[to : to + 3, v + 3 : v + 6] = -skew(center) @ rotation
                turn[to + 3 : to + 6, v + 3 : v + 6] = rotation
                bias[to : to + 3] = np.cross(omega, np.cross(omega, center))
                continue
            name = next(names)
            joint = self.ours.scene.joints[name]
            if model.jnt_type[j] == kinds.mjJNT_BALL:
                at, to = arm.coordinates.index(f"{name}.qw"), arm.speeds.index(f"{name}.x")
                parent = np.eye(3) if joint.a is dal.WORLD else joint.a.rotation
                child = joint.b.rotation
                relative = rotation_matrix(data.qpos[q : q + 4])  # from MuJoCo's zero, in axes of the child's frame
                turned = parent.T @ child @ relative @ child.T @ parent
                u[at : at + 4] = quaternion_of(turned)
                turn[to : to + 3, v : v + 3] = turned @ parent.T @ child
                continue
            u[arm.coordinates.index(name)] = data.qpos[q] - model.qpos0[q]
            turn[arm.speeds.index(name), v] = 1.0
        return u, turn, bias


def skew(a):
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def is_compiled(path):
    try:
        return mujoco.MjModel.from_xml_path(str(path)).nv > 0
    except ValueError:
        return False


@pytest.mark.parametrize("path", [FEATURES, *MODELS], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_model_moves_as_in_mujoco(path):
    if not is_compiled(path):
        pytest.skip("MuJoCo refuses this file, or nothing in it moves")
    pair = Pair(path)
    arm, model, data = pair.arm, pair.model, pair.data
    for seed in range(3):
        pair.random_state(seed)
        u, turn, bias = pair.translate()
        w = turn @ data.qvel
        matrix = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, matrix)
        ours = turn.T @ arm.mass_matrix(u) @ turn
        assert_allclose(ours, matrix, atol=CLOSE * np.abs(matrix).max())
        efforts = turn.T @ (arm.bias_force(u, w) + arm.mass_matrix(u) @ bias)
        assert_allclose(efforts, data.qfrc_bias, atol=CLOSE * np.abs(data.qfrc_bias).max())
        rates = turn @ data.qacc_smooth + bias
        assert_allclose(arm.forward_dynamics(u, w), rates, atol=CLOSE * max(1.0, np.abs(rates).max()))


def test_twenty_models_are_compared():
    if len(MODELS) < 30:
        pytest.skip("gymnasium or pybullet_data is not installed")
    assert sum(map(is_compiled, MODELS)) >= 20
