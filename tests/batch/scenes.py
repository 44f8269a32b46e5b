"""Scenes of the tests of batches."""

import numpy as np

import dalembert as dal
from dalembert.gallery import double_pendulum

START = {
    "shoulder.position": np.array([0.3, -1.0, 2.0, 0.0]),
    "elbow.position": np.array([-0.4, 0.5, 1.5, 0.2]),
    "shoulder.speed": np.array([0.0, 1.0, -2.0, 0.5]),
}


def pendulum(length: float = 1.0, mass: float = 1.0) -> dal.Scene:
    return double_pendulum.build(length=length, mass=mass)


def spring_and_ball(
    stiffness: float = 50.0,
    mass: float = 2.0,
    gravity: float = 9.81,
    place: tuple[float, float, float] = (0.0, 0.1, -1.0),
    velocity: tuple[float, float, float] = (0.1, 0.0, 0.0),
    orientation: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0),
    spin: tuple[float, float, float] = (0.0, 1.0, 2.0),
) -> dal.Scene:
    """A brick on a damped spring that holds it at its centre."""
    scene = dal.Scene("spring and brick", gravity=(0.0, 0.0, -gravity))
    brick = scene.add_body(
        "brick", dal.Box(0.2, 0.1, 0.05), mass=mass, position=place, velocity=velocity, orientation=orientation,
        angular_velocity=spin,
    )  # fmt: skip
    scene.spring(
        "spring", dal.WORLD, brick, at_a=(0.0, 0.0, 0.0), at_b=place, stiffness=stiffness, damping=0.3, rest=0.8
    )
    return scene


def star(arms: int = 5, mass: float = 1.0) -> dal.Scene:
    """A hub with arms on balls: one body of many joints."""
    scene = dal.Scene("star")
    hub = scene.add_body("hub", dal.Sphere(0.2), mass=2.0)
    for k in range(arms):
        way = np.array([np.cos(k), np.sin(k), 0.1 * k])
        arm = scene.add_body(f"arm {k}", dal.Sphere(0.1), mass=mass, position=way, velocity=(0.0, 0.0, 0.0))
        scene.ball(f"joint {k}", hub, arm, at=0.3 * way)
    return scene


def braced(twist: float) -> dal.Scene:
    """A star with two rods between the same bodies, which are one constraint twice where the twist is zero."""
    scene = star()
    for k in range(2):
        scene.rod(f"rod {k}", "hub", "arm 0", at_a=(0.0, 0.2, 0.1), at_b=(1.0, 0.2, 0.1 + k * twist))
    return scene


def hanging_particles(stiffness: float = 200.0) -> dal.Scene:
    scene = dal.Scene("three on springs")
    points = np.array([[0.0, 0.0, 0.0], [0.4, 0.0, 0.0], [0.8, 0.0, 0.1]])
    chain = scene.add_particles("chain", points, mass=0.1, pinned=[0])
    scene.springs("springs", chain, [(0, 1), (1, 2)], stiffness=stiffness, damping=0.1)
    return scene
