"""Scenes that several benchmarks and tests share."""

from typing import NamedTuple

import numpy as np

import dalembert as dal


class Link(NamedTuple):
    """A link of the chain: a box, long in its z."""

    size: tuple[float, float, float] = (0.02, 0.02, 0.1)  # m
    mass: float = 0.1  # kg


LINK = Link()


def chain(links: int, ball: float = 0.0, spin: float = 0.0) -> dal.Scene:
    """A chain of ball-jointed boxes, hung at one end and released level along x.

    ball: mass of a ball at its other end (kg), 5 cm in radius. spin: rate about the vertical at the start (rad/s).
    """
    scene = dal.Scene(f"chain of {links}")
    length = LINK.size[2]
    along_x = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)  # z of the box points along x
    above = dal.WORLD
    for i in range(links):
        middle = (i + 0.5) * length
        link = scene.add_body(
            f"link {i}", dal.Box(*LINK.size), mass=LINK.mass, position=(middle, 0.0, 0.0), orientation=along_x,
            velocity=(0.0, spin * middle, 0.0), angular_velocity=(0.0, 0.0, spin),
        )  # fmt: skip
        scene.ball(f"joint {i}", above, link, at=(i * length, 0.0, 0.0))
        above = link
    if ball > 0.0:
        end, radius = links * length, 0.05
        weight = scene.add_body(
            "ball", dal.Sphere(radius), mass=ball, position=(end + radius, 0.0, 0.0),
            velocity=(0.0, spin * (end + radius), 0.0), angular_velocity=(0.0, 0.0, spin),
        )  # fmt: skip
        scene.ball("knot", above, weight, at=(end, 0.0, 0.0))
    return scene


def wall(n: int) -> dal.Scene:
    """A wall of n columns of n unit boxes of 1 kg, side by side on the ground, with a friction of 0.5."""
    scene = dal.Scene(f"wall of {n} × {n}", material=dal.Material(friction=0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    for row in range(n):
        for column in range(n):
            scene.add_body(f"box {row} {column}", dal.Box(1, 1, 1), mass=1.0, position=(column, 0.0, row + 0.5))
    return scene
