"""What the tests of sessions share."""

import time

import dalembert as dal


def stones():
    """Two boxes that fall on the ground."""
    scene = dal.Scene("stones", material=dal.Material(friction=0.5, restitution=0.2))
    scene.add_obstacle("ground", dal.HalfSpace())
    for i in range(2):
        scene.add_body(f"stone {i}", dal.Box(0.2, 0.2, 0.2), mass=1.5, position=(0.05 * i, 0, 0.12 + 0.21 * i))
    return scene


def wait_for(condition, patience=300.0):
    """Wait until `condition()` holds."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.01)
