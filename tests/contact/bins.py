"""A bin to pour bodies into."""

import dalembert as dal


def bin_scene(name, length, apart, height):
    """A scene with a ground and four walls of this length and height (m), their middles so far (m) from the origin."""
    scene = dal.Scene(name, material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    for i, (x, y) in enumerate(((-1, 0), (1, 0), (0, -1), (0, 1))):
        size = (0.2, length, height) if x else (length, 0.2, height)
        scene.add_obstacle(f"wall {i}", dal.Box(*size), position=(apart * x, apart * y, 0.5 * height))
    return scene
