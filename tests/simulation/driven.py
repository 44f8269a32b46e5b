"""Scenes with motors, and the ways to run them."""

import pytest

import dalembert as dal

COORDINATES = pytest.mark.parametrize("coordinates", ["maximal", "joint"])
METHODS = {
    "dormand_prince": {},
    "rk4": {"method": "rk4", "dt": 1e-3},
    "joint": {"coordinates": "joint"},
    "time_stepping": {"method": "time_stepping", "dt": 1e-3},
}


def rotor(**motor):
    """A body that turns freely about a fixed axis, driven by a motor; its moment of inertia is 2 kg m²."""
    scene = dal.Scene("rotor", gravity=(0, 0, 0))
    body = scene.add_body("rotor", mass=1.0, inertia=(2, 2, 2))
    scene.hinge("axle", dal.WORLD, body, at=(0, 0, 0), axis=(0, 1, 0))
    scene.motor("motor", "axle", **motor)
    return scene


def bounded(scene):
    """The same for time steps: a stop that is never met."""
    scene.limit("stop", "axle", upper=100.0)
    return scene


def spin_of(run):
    return float(run.state.angular_momentum[0, 1]) / 2.0


def arm():
    scene, above = dal.Scene("arm"), dal.WORLD
    for i, axis in enumerate([(0, 0, 1), (0, 1, 0), (0, 1, 0)]):
        link = scene.add_body(f"link {i}", dal.Box(0.5, 0.1, 0.1), mass=1.0, position=(0.25 + 0.5 * i, 0, 0))
        scene.hinge(f"joint {i}", above, link, at=(0.5 * i, 0, 0), axis=axis)
        scene.motor(f"motor {i}", f"joint {i}", limit=100.0)
        above = link
    return scene
