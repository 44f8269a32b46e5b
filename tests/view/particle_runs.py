"""Runs with particles, made up from formulas: a falling cloud, a cloth that bulges between two bodies, threads."""

import json

import numpy as np
from synthetic_run import ball_mesh, box_mesh

from dalembert.simulation.trajectory import Trajectory

BLUE, GREEN, RED = "#2f6fd0", "#2f9e57", "#cc3b3b"


def run_of(times, particles, groups, bodies=(), tracks=(), **links):
    """A trajectory of particles (time, p, 3) and of bodies (descriptions) at `tracks` (body, time, 3) that do not turn."""
    position = np.moveaxis(np.reshape(tracks, (len(bodies), len(times), 3)), 0, 1)
    zero = np.zeros(len(times))
    return Trajectory.from_arrays(
        {
            "time": times,
            "position": position,
            "orientation": np.tile([1.0, 0.0, 0.0, 0.0], (*position.shape[:2], 1)),
            "kinetic": 1.0 + 0.1 * np.sin(times),
            "potential": zero,
            "particle_position": particles,
        },
        bodies=[body["name"] for body in bodies],
        attrs={
            "scene": "particles",
            "scene_json": json.dumps({"bodies": list(bodies), "particles": groups, **links}),
        },
    )


def cloud(number=2000, count=50, radius=0.0):
    """Drops that rise from a nozzle at different times, spread and fall; a few fly far away."""
    rng = np.random.default_rng(2)
    times = np.linspace(0.0, 2.0, count)
    velocity = np.stack([*rng.normal(0.0, 0.7, (2, number)), rng.normal(5.2, 0.35, number)], axis=1)
    velocity[: number // 500] *= 30.0
    landing = velocity[:, 2] / 4.905
    age = np.clip(times[:, None] + 1.1 - rng.uniform(0.0, 2.0, number), 0.0, landing)[..., None]
    x = velocity * age - [0.0, 0.0, 4.905] * age**2
    shade = np.clip(0.55 + 0.35 * (velocity[:, 2] - 5.2) / 0.7, 0.0, 1.0)[:, None]
    tint = (shade * [90, 190, 250] + (1.0 - shade) * [20, 70, 190]).astype(int)
    colors = [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in tint]
    group = {"name": "drops", "first": 0, "number": number, "color": BLUE, "radius": radius, "colors": colors}
    return run_of(times, x, [group])


def cloth(n=20, count=40):
    """A square cloth, n by n, that hangs by a spring from its middle particle and bulges; a ball and a box beside it."""
    times = np.linspace(0.0, 3.0, count)
    u, v = (part.ravel() for part in np.meshgrid(np.linspace(-1, 1, n), np.linspace(-1, 1, n), indexing="ij"))
    r2 = u**2 + v**2
    swing = np.sin(2.0 * times)[:, None]
    z = 0.9 + 0.55 * np.exp(-2.2 * r2) * swing + 0.06 * np.cos(7.0 * u + 3.0 * times[:, None]) * np.abs(v)
    x = np.stack([np.broadcast_to(u, z.shape), np.broadcast_to(v, z.shape), z], axis=2)
    at = np.arange(n * n).reshape(n, n)
    a, b, c, d = (part.ravel() for part in (at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:]))
    faces = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    group = {"name": "cloth", "first": 0, "number": n * n, "color": RED, "radius": 0.01, "faces": faces.tolist()}
    ball, box = ball_mesh(0.3), box_mesh(0.25, 0.2, 0.2)
    bodies = [
        {
            "name": "ball",
            "mass": 1.0,
            "color": GREEN,
            "shape": {"kind": "sphere"},
            "vertices": ball[0],
            "faces": ball[1],
        },
        {"name": "box", "mass": 2.0, "color": BLUE, "shape": {"kind": "box"}, "vertices": box[0], "faces": box[1]},
    ]
    tracks = [
        np.stack([0.0 * times, 0.0 * times, 0.35 + 0.1 * np.sin(times)], 1),
        np.tile([1.2, -0.9, 0.2], (count, 1)),
    ]
    springs = [{"name": "hook", "anchor_a": [0, 0, 2.2], "particle_b": int(at[n // 2, n // 2])}]
    return run_of(times, x, [group], bodies, tracks, springs=springs)


def threads(number=12, knots=40, count=60, radius=0.0):
    """Threads that hang from a line and swing like pendulums, each with its own length and colour."""
    times = np.linspace(0.0, 4.0, count)
    s = np.linspace(0.0, 1.0, knots)
    x = np.empty((count, number, knots, 3))
    for k in range(number):
        length = 0.7 + 0.05 * k
        angle = 0.9 * np.cos(np.sqrt(9.81 / length) * times[:, None]) * (0.6 + 0.4 * s)
        x[:, k, :, 0] = length * s * np.sin(angle)
        x[:, k, :, 1] = 0.15 * k
        x[:, k, :, 2] = 1.5 - length * s * np.cos(angle)
    at = np.arange(number * knots).reshape(number, knots)
    segments = np.stack([at[:, :-1].ravel(), at[:, 1:].ravel()], axis=1)
    colors = [GREEN if k % 2 else RED for k in range(number) for _ in range(knots)]
    group = {"name": "threads", "first": 0, "number": number * knots, "color": GREEN, "radius": radius}
    group |= {"segments": segments.tolist(), "colors": colors}
    return run_of(times, x.reshape(count, -1, 3), [group])
