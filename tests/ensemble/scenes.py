"""Scenes of the tests of sweeps: a ball that falls, and ways to fail."""

import os
import signal
from pathlib import Path

import dalembert as dal

SETTINGS = {"method": "rk4", "dt": 0.01, "frame_rate": 20.0}


def ball(height=1.0, speed=0.0):
    """A ball at some height (m) that moves along x at some speed (m/s)."""
    scene = dal.Scene("ball")
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0, position=(0, 0, height), velocity=(speed, 0, 0))
    return scene


def thrown(seed, height=1.0):
    """A ball whose speed is drawn by a seed."""
    import numpy as np

    return ball(height, float(np.random.default_rng(seed).normal()))


def troubled(case, marker=""):
    """A ball; or what the case says: an error, or the death of the process, once or twice, as files tell."""
    if case == "raises":
        raise KeyError("no such thing")
    if case == "exits":
        raise SystemExit(3)
    deaths = Path(f"{marker} {case}")
    times = int(deaths.read_text()) if deaths.is_file() else 0
    if times < {"dies once": 1, "dies twice": 2}.get(case, 0):
        deaths.write_text(str(times + 1))
        os.kill(os.getpid(), signal.SIGKILL)
    scene = ball()
    if case == "breaks":

        def wind(t, x, q, v, w):
            if t > 0.245:
                raise ZeroDivisionError("no air")
            return [0.0, 0.0, 0.0]

        scene.external_force("wind", "ball", function=wind)
    return scene


def drop(run):
    """How far the ball has fallen, m."""
    return run.trajectory.position[0, 0, 2] - run.trajectory.position[-1, 0, 2]
