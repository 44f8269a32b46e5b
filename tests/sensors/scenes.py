"""Scenes that several tests of sensors use."""

import numpy as np

import dalembert as dal

G = 9.81
STEPS = {"method": "time_stepping", "dt": 1e-3}
SMOOTH = {"method": "dormand_prince", "rtol": 1e-10}
FORMULATIONS = [
    {**settings, "coordinates": coordinates} for settings in (SMOOTH, STEPS) for coordinates in ("maximal", "joint")
]


def named(settings):
    return f"{settings['method']}, {settings['coordinates']}"


def pendulum(friction=0.0):
    """A bar of 2 kg on a hinge, 1 m from its centre of mass, that starts level. friction : of the hinge, N m; time steps need
    something to solve."""
    scene = dal.Scene("pendulum")
    bar = scene.add_body("bar", dal.Box(0.1, 0.2, 0.3), mass=2.0, position=(1, 0, 0))
    scene.hinge("pivot", dal.WORLD, bar, at=(0, 0, 0), axis=(0, 1, 0))
    if friction:
        scene.joint_friction("friction", "pivot", effort=friction)
    return scene


def resting_box(mass=2.0):
    """A cube of 0.2 m on the ground."""
    scene = dal.Scene("box", material=dal.Material(friction=0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("box", dal.Box(0.2, 0.2, 0.2), mass=mass, position=(0, 0, 0.1))
    return scene


def largest(values):
    return float(np.abs(values).max())
