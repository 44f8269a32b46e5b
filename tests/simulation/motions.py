"""Scenes whose motion is known, and the known motion, for tests of whole runs."""

import functools

import numpy as np
from scipy.integrate import solve_ivp

import dalembert as dal

G = 9.81
FIXED = {"euler": 1, "symplectic_euler": 1, "splitting": 2, "midpoint": 2, "bogacki_shampine": 3, "rk4": 4,
         "dormand_prince": 5, "dop853": 8}  # fmt: skip
SPIN = (0.4, 2.0, 0.3)  # near the middle axis: the motion turns over


def free_body():
    scene = dal.Scene("free", gravity=(0, 0, 0))
    scene.add_body("book", mass=1.0, inertia=(1.0, 2.0, 2.7), velocity=(0.3, 0, 0), angular_velocity=SPIN)
    return scene


def pendulum(angle=np.pi / 2, speed=0.0, length=1.0):
    """A thin box on a hinge along y; the angle is that from hanging, positive towards −x."""
    scene = dal.Scene("pendulum")
    half = 0.5 * length
    scene.add_body(
        "rod", dal.Box(0.1, 0.1, length), mass=2.0, position=(-half * np.sin(angle), 0, -half * np.cos(angle)),
        orientation=(np.cos(angle / 2), 0, np.sin(angle / 2), 0), angular_velocity=(0, speed, 0),
        velocity=np.cross((0, speed, 0), (-half * np.sin(angle), 0, -half * np.cos(angle))),
    )  # fmt: skip
    scene.hinge("pin", dal.WORLD, "rod", (0, 0, 0), (0, 1, 0))
    return scene


def angle_of(state):
    return 2.0 * np.arctan2(state.orientation[0, 2], state.orientation[0, 0])


def double_pendulum(angle=np.pi / 2):
    """Two boxes in a line, each hanging from the end of the one before, let go at an angle from hanging."""
    scene = dal.Scene("double pendulum")
    q = (np.cos(angle / 2), 0, np.sin(angle / 2), 0)
    arm = np.array([-np.sin(angle), 0, -np.cos(angle)])
    scene.add_body("upper", dal.Box(0.1, 0.1, 1.0), mass=1.0, position=0.5 * arm, orientation=q)
    scene.add_body("lower", dal.Box(0.1, 0.1, 1.0), mass=1.0, position=1.5 * arm, orientation=q)
    scene.hinge("shoulder", dal.WORLD, "upper", (0, 0, 0), (0, 1, 0))
    scene.hinge("elbow", "upper", "lower", arm, (0, 1, 0))
    return scene


@functools.cache
def double_pendulum_angles(t, angle=np.pi / 2, rtol=1e-13):
    """The same in its two angles from hanging, by Lagrange's equations of second kind."""
    inertia = (1.0 + 0.01) / 12.0

    def rates(_, z):
        a, b, u, v = z
        c, s = np.cos(a - b), np.sin(a - b)
        matrix = np.array([[inertia + 0.25 + 1.0, 0.5 * c], [0.5 * c, inertia + 0.25]])
        right = [-0.5 * s * v * v - 1.5 * G * np.sin(a), 0.5 * s * u * u - 0.5 * G * np.sin(b)]
        return [u, v, *np.linalg.solve(matrix, right)]

    z = solve_ivp(rates, (0, t), [angle, angle, 0, 0], method="DOP853", rtol=rtol, atol=1e-14).y[:, -1]
    a, b = z[:2]
    upper = np.array([-0.5 * np.sin(a), 0, -0.5 * np.cos(a)])
    return np.array([upper, 2 * upper + [-0.5 * np.sin(b), 0, -0.5 * np.cos(b)]])


def body_rates(moments):
    """Euler's equations and the attitude, (q, ω) in body axes."""

    def rates(_, z):
        q, w = z[:4], z[4:]
        turn = 0.5 * np.array([
            -q[1:] @ w, q[0] * w[0] + q[2] * w[2] - q[3] * w[1], q[0] * w[1] + q[3] * w[0] - q[1] * w[2],
            q[0] * w[2] + q[1] * w[1] - q[2] * w[0],
        ])  # fmt: skip
        return np.concatenate([turn, np.cross(moments * w, w) / moments])

    return rates


@functools.cache
def free_body_reference(t):
    """Euler's equations and the attitude, in body axes, by an independent integrator."""
    moments = np.array([1.0, 2.0, 2.7])
    z = solve_ivp(body_rates(moments), (0, t), [1, 0, 0, 0, *SPIN], method="DOP853", rtol=3e-14, atol=1e-15).y[:, -1]
    return z[:4] / np.linalg.norm(z[:4])


def chain(count=6, static=False, sideways=False):
    """Boxes end to end from the world, joined by balls: hanging, or let go from the side."""
    scene = dal.Scene("chain")
    direction = np.array([1.0, 0, 0]) if sideways else np.array([0.0, 0, -1.0])
    q = (np.cos(np.pi / 4), 0, np.sin(np.pi / 4), 0) if sideways else (1, 0, 0, 0)
    for k in range(count):
        scene.add_body(f"link{k}", dal.Box(0.05, 0.04, 0.2), mass=0.5 + 0.1 * k, position=(0.2 * k + 0.1) * direction,
                       orientation=q)  # fmt: skip
        scene.ball(f"ball{k}", dal.WORLD if k == 0 else f"link{k - 1}", f"link{k}", 0.2 * k * direction)
    return scene


def slope(steps, errors):
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]
