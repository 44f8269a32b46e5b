"""Our coordinates and speeds beside those of MuJoCo, for a scene that was exported."""

import mujoco
import numpy as np

import dalembert as dal
from dalembert.model.tree import BALL, FREE, HINGE, SLIDER
from dalembert.simulation.articulation import Articulation


def rotation(q):
    out = np.zeros(9)
    mujoco.mju_quat2Mat(out, np.asarray(q, float))
    return out.reshape(3, 3)


def quaternion(matrix):
    out = np.zeros(4)
    mujoco.mju_mat2Quat(out, np.ascontiguousarray(matrix).ravel())
    return out


class Oracle:
    """A scene and its file, side by side."""

    def __init__(self, scene, path):
        self.scene, self.arm = scene, Articulation(scene)
        self.layout = self.arm._layout
        self.model = mujoco.MjModel.from_xml_path(str(path))
        self.data = mujoco.MjData(self.model)

    def random_state(self, rng):
        u = self.arm.start + rng.normal(size=len(self.arm.start))
        for row in self.layout.rows:
            if row[2] in (BALL, FREE):
                at = row[5] + (3 if row[2] == FREE else 0)
                u[at : at + 4] /= np.linalg.norm(u[at : at + 4])
        return u, rng.normal(size=len(self.arm.speeds))

    def set_state(self, u, w):
        """Set MuJoCo's state to ours. Returns T (m, m) with w = T qvel; Ṫ qvel is zero, as ω × ω is."""
        m, data = len(self.arm.speeds), self.data
        turn = np.zeros((m, m))
        for row, place in zip(self.layout.rows, self.layout.places, strict=True):
            kind, first, at = row[2], row[3], row[5]
            if first == row[4]:
                continue
            name = (
                place.item.name if kind == FREE else self.arm.speeds[first].removesuffix(".x" if kind == BALL else "")
            )
            joint = self.model.joint(name)
            q, v = joint.qposadr[0], joint.dofadr[0]
            if kind in (HINGE, SLIDER):
                data.qpos[q], data.qvel[v], turn[first, v] = u[at], w[first], 1.0
            elif kind == FREE:
                data.qpos[q : q + 7] = u[at : at + 7]
                world = rotation(u[at + 3 : at + 7])
                turn[first : first + 3, v : v + 3], turn[first + 3 : first + 6, v + 3 : v + 6] = np.eye(3), world
                data.qvel[v : v + 3], data.qvel[v + 3 : v + 6] = (
                    w[first : first + 3],
                    world.T @ w[first + 3 : first + 6],
                )
            else:  # ours: in the axes of the parent; MuJoCo's: in those of the child
                start = np.asarray(row[13]).reshape(3, 3)
                local = rotation(u[at : at + 4]) @ start
                data.qpos[q : q + 4] = quaternion(start.T @ local)
                turn[first : first + 3, v : v + 3] = local
                data.qvel[v : v + 3] = local.T @ w[first : first + 3]
        mujoco.mj_forward(self.model, data)
        return turn

    def differences(self, rng):
        """The largest relative differences of poses, mass matrix and bias in a random state."""
        u, w = self.random_state(rng)
        turn = self.set_state(u, w)
        poses = []
        for name in self.scene.bodies:
            x, r = self.arm.pose(u, name)
            body = self.data.body(name)
            poses += [np.abs(body.xpos - x).max(), np.abs(body.xmat.reshape(3, 3) - r).max()]
        m = len(self.arm.speeds)
        full = np.zeros((m, m))
        for column, unit in zip(full, np.eye(m), strict=True):
            mujoco.mj_mulM(self.model, self.data, column, unit)
        ours = turn.T @ self.arm.mass_matrix(u) @ turn
        bias = turn.T @ self.arm.bias_force(u, w)
        return {
            "pose": max(poses, default=0.0),
            "mass matrix": np.abs(full - ours).max() / np.abs(ours).max(),
            "bias": np.abs(self.data.qfrc_bias - bias).max() / max(1.0, np.abs(bias).max()),
        }


def exported(scene, path):
    """(oracle, warnings as texts)."""
    file = path / "model.xml"
    warnings = dal.export_mjcf(scene, file)
    return Oracle(scene, file), [str(warning) for warning in warnings]
