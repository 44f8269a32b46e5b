"""Scenes that several benchmarks and tests share."""

import numpy as np

import dalembert as dal


def chain(links: int, length: float = 0.1) -> dal.Scene:
    """A chain of ball-jointed links, hung at one end and released level: 0.1 kg boxes `length` long."""
    scene = dal.Scene(f"chain of {links}")
    along_x = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)  # z of the box points along x
    below = dal.WORLD
    for i in range(links):
        link = scene.add_body(
            f"link {i}", dal.Box(0.02, 0.02, length), mass=0.1, position=((i + 0.5) * length, 0.0, 0.0),
            orientation=along_x,
        )  # fmt: skip
        scene.ball(f"joint {i}", below, link, at=(i * length, 0.0, 0.0))
        below = link
    return scene
