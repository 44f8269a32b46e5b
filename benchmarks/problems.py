"""Mechanisms for work–precision curves, and the place where a point of each ends, found in two independent ways.

One is our DOP853 at its tightest. The other takes nothing of ours but the numbers of the scene: the accelerations of MuJoCo
in joint coordinates, integrated by SciPy's DOP853, which frees them of the order of MuJoCo's own steps.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

import dalembert as dal
import mjcf
from dalembert.gallery import double_pendulum, tumbling
from scenes import chain


@dataclass(frozen=True)
class Problem:
    title: str
    build: Callable[[], dal.Scene]
    duration: float  # s
    body: str
    point: tuple[float, float, float]  # in the frame of the body, m
    longest: float  # step of the sweeps, s


PROBLEMS = (
    Problem("double pendulum in space", double_pendulum.build, 2.0, "lower", (0.5, 0.0, 0.0), 0.05),
    Problem(
        "rope of 20 links, ball at its end", lambda: chain(20, ball=1.0, spin=2.0), 1.0, "ball", (0.0, 0.0, 0.0), 0.01
    ),
    Problem("free body, tumbling", tumbling.build, 2.0, "box", (0.15, 0.1, 0.025), 0.05),
)


def ours_end(problem: Problem, run: dal.Simulation) -> np.ndarray:
    """(3,) m: the point at the end of a run of ours."""
    from dalembert.scene.checks import rotation_matrix

    index = run.state.index(problem.body)
    turn = rotation_matrix(run.state.orientation[index] / np.linalg.norm(run.state.orientation[index]))
    return run.state.position[index] + turn @ problem.point


def mujoco_end(problem: Problem, model, data) -> np.ndarray:
    """(3,) m: the point where MuJoCo has it."""
    import mujoco

    mujoco.mj_kinematics(model, data)
    index = model.body(problem.body).id
    return data.xpos[index] + data.xmat[index].reshape(3, 3) @ problem.point


def coordinate_rates(model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """q̇ of MuJoCo's coordinates: q̇ = ½ q ⊗ ω with ω in axes of the body where they are a quaternion."""
    import mujoco

    free, ball = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)
    out = []
    for kind, a, b in zip(model.jnt_type, model.jnt_qposadr, model.jnt_dofadr, strict=True):
        if kind == free:
            out += list(v[b : b + 3])
            a, b = a + 3, b + 3  # then its quaternion
        if kind in (free, ball):
            w, x, y, z = q[a : a + 4]
            p, r, s = 0.5 * v[b : b + 3]
            out += [-x * p - y * r - z * s, w * p + y * s - z * r, w * r + z * p - x * s, w * s + x * r - y * p]
        else:
            out.append(v[b])
    return np.array(out)


def independent_end(problem: Problem, rtol: float = 1e-12) -> np.ndarray:
    """(3,) m: the end of the point by MuJoCo's accelerations and SciPy's DOP853."""
    import mujoco

    model, data = mjcf.mujoco_scene(problem.build(), "RK4", 1e-3)

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        data.qpos[:], data.qvel[:] = np.split(y, [model.nq])
        mujoco.mj_forward(model, data)
        return np.concatenate([coordinate_rates(model, y[: model.nq], y[model.nq :]), data.qacc])

    start = np.concatenate([data.qpos, data.qvel])
    end = solve_ivp(rates, (0.0, problem.duration), start, method="DOP853", rtol=rtol, atol=1e-13).y[:, -1]
    data.qpos[:] = end[: model.nq]
    return mujoco_end(problem, model, data)


def reference(problem: Problem) -> tuple[np.ndarray, float]:
    """(3,) m, the end of the point by our tightest run; and how far the independent way is from it, m.

    Raises AssertionError where they are further apart than 1e-8 m: one of them is wrong, and errors would mean nothing.
    """
    run = dal.simulate(
        problem.build(), problem.duration, method="dop853", rtol=1e-14, frame_rate=1.0 / problem.duration
    )
    end = ours_end(problem, run)
    apart = float(np.linalg.norm(end - independent_end(problem)))
    if not apart < 1e-8:
        raise AssertionError(f"{problem.title}: two references are {apart:.3g} m apart")
    return end, apart
