"""Scenes that the tests of contact by events share."""

import numpy as np

import dalembert as dal

G = 9.81


def bouncing_ball(restitution, height=1.0, radius=0.1):
    scene = dal.Scene("ball", gravity=(0, 0, -G), material=dal.Material(0.0, restitution))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("ball", dal.Sphere(radius), mass=1.0, position=(0, 0, height + radius))
    return scene


def sliding_sphere(speed=1.0, friction=0.3):
    scene = dal.Scene("sliding sphere", gravity=(0, 0, -G), material=dal.Material(friction))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("ball", dal.Sphere(0.1), mass=2.0, position=(0, 0, 0.1), velocity=(speed, 0, 0))
    return scene


def block_on_a_slope(friction, degrees=30.0, speed=0.0, across=0.0, spin=0.0):
    """The slope is level, and gravity leans. speed, across: down the slope and across it."""
    angle = np.radians(degrees)
    scene = dal.Scene(
        "slope", gravity=(G * np.sin(angle), 0, -G * np.cos(angle)), material=dal.Material(friction=friction)
    )
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body(
        "block", dal.Box(1.0, 0.6, 0.4), mass=2.0, position=(0, 0, 0.2), velocity=(speed, across, 0),
        angular_velocity=(0, 0, spin),
    )  # fmt: skip
    return scene


def rocking_block(half_width=0.1, half_height=0.5, tilt=0.05):
    """A block that stands on one of its edges, leaning back by `tilt` (rad), at rest."""
    scene = dal.Scene("rocking block", gravity=(0, 0, -G), material=dal.Material(friction=1.0))
    scene.add_obstacle("ground", dal.HalfSpace())
    c, s = np.cos(tilt), np.sin(tilt)
    centre = (-c * half_width + s * half_height, 0.0, s * half_width + c * half_height)
    scene.add_body(
        "block", dal.Box(2 * half_width, 0.3, 2 * half_height), mass=3.0, position=centre,
        orientation=(np.cos(tilt / 2), 0.0, np.sin(tilt / 2), 0.0),
    )  # fmt: skip
    return scene


def cradle(balls=5, speed=1.0, restitution=1.0, gap=0.0):
    """Balls in a row, the first one coming."""
    scene = dal.Scene("cradle", gravity=(0, 0, 0), material=dal.Material(0.0, restitution))
    for i in range(balls):
        x = (0.2 + gap) * i - (0.1 if i == 0 else 0.0)
        scene.add_body(
            f"ball {i}", dal.Sphere(0.1), mass=1.0, position=(x, 0, 0), velocity=(speed if i == 0 else 0.0, 0, 0)
        )
    return scene


def stack(boxes=4, friction=0.5):
    scene = dal.Scene("stack", gravity=(0, 0, -G), material=dal.Material(friction))
    scene.add_obstacle("floor", dal.Box(4, 4, 1), position=(0, 0, -0.5))
    for i in range(boxes):
        scene.add_body(f"box {i}", dal.Box(1, 1, 1), mass=1.0 + i, position=(0.1 * (-1) ** i, 0.05 * i, 0.5 + i))
    return scene
