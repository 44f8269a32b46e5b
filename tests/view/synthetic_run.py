"""A run made up from formulas: a pendulum of small amplitude, a tumbling box, and a body with a hostile name."""

import json

import numpy as np

from dalembert.simulation.trajectory import Trajectory

HOSTILE = "<script>alert(1)</script>"
GRAVITY, LENGTH, AMPLITUDE, MASS = 9.81, 1.0, 0.9, 1.5


def box_mesh(x, y, z):
    """Vertices (8, 3) and outward faces (12, 3) of a box with half sizes x, y, z."""
    vertices = [[sx * x, sy * y, sz * z] for sx in (-1, 1) for sy in (-1, 1) for sz in (-1, 1)]
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return vertices, [list(t) for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]


def ball_mesh(radius, rings=10, sectors=20):
    """Vertices and faces of a sphere."""
    polar = np.linspace(0, np.pi, rings + 1)[:, None]
    around = np.linspace(0, 2 * np.pi, sectors, endpoint=False)[None, :]
    points = np.stack(
        [np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar) + 0 * around], axis=-1
    )
    faces = []
    for i in range(rings):
        for j in range(sectors):
            a, b = i * sectors + j, i * sectors + (j + 1) % sectors
            faces += [[a, a + sectors, b], [b, a + sectors, b + sectors]]
    return (radius * points.reshape(-1, 3)).tolist(), faces


def synthetic(count=400, duration=6.0):
    """A trajectory of `count` instants with every variable recorded."""
    t = np.linspace(0.0, duration, count)
    rate = np.sqrt(GRAVITY / LENGTH)
    decay = np.exp(-0.08 * t)
    angle = AMPLITUDE * decay * np.cos(rate * t)
    speed = np.gradient(angle, t) * LENGTH
    zero = np.zeros_like(t)
    bob = LENGTH * np.stack([np.sin(angle), zero, -np.cos(angle)], axis=1)
    spin = np.array([1.0, 2.0, 0.5]) / np.linalg.norm([1.0, 2.0, 0.5])
    box = np.stack([0.8 + 0.05 * t, 0.7 + zero, -0.5 + 0.35 * np.sin(0.9 * t)], axis=1)
    ghost = np.stack([-0.8 + zero, 0.6 * np.cos(t), -0.9 + 0.1 * np.sin(2 * t)], axis=1)
    position = np.stack([bob, box, ghost], axis=1)
    turned = [np.stack([np.cos(-angle / 2), zero, np.sin(-angle / 2), zero], axis=1)]
    turned += [np.concatenate([np.cos(w * t / 2)[:, None], np.sin(w * t / 2)[:, None] * spin], axis=1) for w in (2, 0)]
    kinetic = 0.5 * MASS * speed**2
    potential = MASS * GRAVITY * (bob[:, 2] + LENGTH)
    work = (kinetic + potential) - (kinetic + potential)[0]
    force = np.zeros((count, 2, 3))
    force[:, 0] = -(MASS * (GRAVITY * np.cos(angle) + speed**2 / LENGTH))[:, None] * bob / LENGTH
    force[:, 1] = 0.2 * np.stack([np.cos(3 * t), np.sin(2 * t), zero], axis=1)
    noise = np.abs(np.random.default_rng(1).normal(size=(count, 2)))
    box_vertices, box_faces = box_mesh(0.25, 0.16, 0.1)
    ball_vertices, ball_faces = ball_mesh(0.13)
    scene = {
        "name": "pendulum & tumbling box",
        "gravity": [0, 0, -GRAVITY],
        "bodies": [
            {"name": "bob", "mass": MASS, "color": "#3566b0", "shape": {"kind": "sphere", "radius": 0.13},
             "vertices": ball_vertices, "faces": ball_faces, "center": [0, 0, 0]},
            {"name": "box", "mass": 2.0, "color": "#d1772a", "shape": {"kind": "box", "size": [0.5, 0.32, 0.2]},
             "vertices": (np.array(box_vertices) + 0.1).tolist(), "faces": box_faces, "center": [0.1, 0.1, 0.1]},
            {"name": HOSTILE, "mass": 0.1, "color": "#3b8a5a", "shape": {}, "vertices": [], "faces": []},
        ],
        "joints": [
            {"name": "pivot", "kind": "hinge", "body_a": None, "body_b": "bob", "anchor_a": [0, 0, 0],
             "anchor_b": [0, 0, LENGTH], "axis_a": [0, 1, 0]},
            {"name": "rod", "kind": "distance", "body_a": None, "body_b": "bob", "anchor_a": [0, 0, 0],
             "anchor_b": [0, 0, 0]},
        ],
        "springs": [{"name": "coil", "body_a": None, "body_b": "box", "anchor_a": [0.9, 0.7, 0.9], "anchor_b": [0, 0, 0.1]}],
        "curves": [{"name": "arc", "points": [[np.sin(a), 0.0, -np.cos(a)] for a in np.linspace(-1.2, 1.2, 40)]}],
    }  # fmt: skip
    return Trajectory.from_arrays(
        {
            "time": t,
            "state": np.concatenate([position.reshape(count, -1), np.zeros((count, 3))], axis=1),
            "position": position,
            "orientation": np.stack(turned, axis=1),
            "momentum": MASS * np.gradient(position, t, axis=0),
            "angular_momentum": np.zeros((count, 3, 3)),
            "kinetic": kinetic,
            "potential": potential,
            "work": work[:, None],
            "projection_loss": zero,
            "constraint_work": zero,
            "balance": 1e-9 * np.cumsum(noise[:, 0] - 0.8),
            "linear_impulse_balance": np.zeros((count, 3)),
            "angular_impulse_balance": np.zeros((count, 3)),
            "reaction_force": force,
            "reaction_torque": 0.1 * force,
            "joint_error": 1e-12 * noise,
            "joint_velocity_error": 1e-11 * noise + 1e-16,
        },
        bodies=["bob", "box", HOSTILE],
        joints=["pivot", "rod"],
        forces=["air drag"],
        attrs={
            "scene": "pendulum & tumbling box",
            "method": "Dormand–Prince 5(4), rtol 1e-9",
            "version": "0.1.0",
            "scene_json": json.dumps(scene),
            "report_json": json.dumps(
                {"steps": 18244, "rejected_steps": 3, "energy": {"initial": 5.58, "final": 2.1, "residual": 3.4e-9},
                 "largest_joint_error": 3.1e-12, "wall_time": 0.0421, "converged": True}
            ),
        },
    )  # fmt: skip
