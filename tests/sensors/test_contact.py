"""Touch and contact forces against weights, ranges against distances."""

import numpy as np
import pytest

import dalembert as dal
from dalembert import sensors

from .scenes import G, largest, resting_box


@pytest.mark.parametrize(
    "settings", [{"dt": 1 / 240}, {"method": "dormand_prince", "rtol": 1e-8}], ids=["steps", "events"]
)
def test_a_resting_box_presses_with_its_weight(settings):
    scene = resting_box(mass=3.0)
    scene.add_sensor(sensors.Touch("touch", "box", rate=30))
    scene.add_sensor(sensors.ContactForce("on box", "box", "ground", rate=30))
    scene.add_sensor(sensors.ContactForce("on ground", "ground", rate=30))
    scene.add_sensor(sensors.Accelerometer("up", "box", rate=30))
    read = dal.simulate(scene, 0.4, **settings).sensors
    assert largest(read["touch"].value - 3.0 * G) < 1e-4
    assert largest(read["on box"].value - [0, 0, 3.0 * G]) < 1e-4
    assert largest(read["on ground"].value + [0, 0, 3.0 * G]) < 1e-4
    assert largest(read["up"].value - [0, 0, G]) < 1e-4


def test_each_pair_of_a_stack_has_its_own_force():
    scene = resting_box()
    scene.add_body("top", dal.Box(0.1, 0.1, 0.1), mass=1.0, position=(0, 0, 0.25))
    scene.add_sensor(sensors.ContactForce("below", "box", "ground"))
    scene.add_sensor(sensors.ContactForce("between", "top", "box"))
    scene.add_sensor(sensors.ContactForce("none", "top", "ground"))
    scene.add_sensor(sensors.ContactForce("all", "box"))
    scene.add_sensor(sensors.Touch("touch", "box"))
    read = dal.simulate(scene, 0.3, dt=1 / 240).sensors
    assert largest(read["below"].value - [0, 0, 3 * G]) < 1e-3
    assert largest(read["between"].value - [0, 0, G]) < 1e-3
    assert largest(read["none"].value) == 0.0
    assert largest(read["all"].value - [0, 0, 2 * G]) < 1e-3
    assert abs(read["touch"].value[0] - 4 * G) < 2e-3  # pressed from both sides


def test_touch_counts_what_is_within_its_region():
    """A cube with its mass off its middle by a quarter: the corners under it bear more, by the lever."""
    scene = dal.Scene("box", material=dal.Material(friction=0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("box", dal.Box(0.2, 0.2, 0.2), mass=2.0, position=(0, 0, 0.1))
    weight = scene.add_body("weight", dal.Box(0.02, 0.02, 0.02), mass=2.0, position=(0.05, 0, 0.21), material=None)
    scene.weld("glue", "box", weight, at=(0.05, 0, 0.2))
    for name, x in (("front", 0.1), ("back", -0.1)):
        here = {"position": (x, 0, -0.1), "rate": 30}
        scene.add_sensor(sensors.Touch(name, "box", region=dal.Box(0.05, 0.4, 0.05), **here))
    scene.add_sensor(sensors.Touch("nowhere", "box", region=dal.Sphere(0.05), rate=30))
    read = dal.simulate(scene, 0.3, dt=1 / 240).sensors
    assert abs(read["front"].value[0] - (1.0 + 1.5) * G) < 1e-3
    assert abs(read["back"].value[0] - (1.0 + 0.5) * G) < 1e-3
    assert read["nowhere"].value[0] == 0.0


@pytest.mark.parametrize(
    ("region", "inside", "outside"),
    [
        (dal.Sphere(1.0), (0.5, 0.5, 0.7), (0.6, 0.6, 0.6)),
        (dal.Box(2.0, 4.0, 6.0), (0.9, 1.9, -2.9), (1.1, 0, 0)),
        (dal.Cylinder(1.0, 2.0), (0.7, 0.7, -0.9), (0.8, 0.7, 0)),
        (dal.Capsule(1.0, 2.0), (0.3, 0.3, 1.8), (0.6, 0.6, 1.8)),
        (dal.Ellipsoid(1.0, 2.0, 3.0), (0, 0, -2.9), (0.9, 1.0, 0)),
    ],
)
def test_regions_are_those_of_the_shapes(region, inside, outside):
    from dalembert.sensors.measure import is_within

    assert is_within(region, np.array([inside, outside], float)).tolist() == [True, False]


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_ranges_are_the_distances_along_rays(coordinates):
    """From a moving carriage to a ball, a wall, the ground and nothing; the carriage does not see itself."""
    scene = dal.Scene("scan", material=dal.Material(friction=0.0), gravity=(0, 0, 0))
    scene.add_obstacle("ground", dal.HalfSpace(), position=(0, 0, -2))
    scene.add_obstacle("ball", dal.Sphere(0.5), position=(3, 0, 0))
    scene.add_obstacle("wall", dal.Box(0.2, 9, 9), position=(-4, 0, 0), orientation=(np.cos(0.2), 0, 0, np.sin(0.2)))
    carriage = scene.add_body("carriage", dal.Sphere(0.3), mass=1.0, velocity=(0.5, 0, 0))
    scene.slider("rail", dal.WORLD, carriage, at=(0, 0, 0), axis=(1, 0, 0))
    rays = [(1, 0, 0), (-2, 0, 0), (0, 0, -1), (0, 1, 0), (1, 0.1, 0)]
    scene.add_sensor(sensors.Range("scan", "carriage", directions=rays, rate=10))
    scene.add_sensor(sensors.Range("short", "carriage", directions=rays, reach=2.2, rate=10))
    run = dal.simulate(scene, 1.0, dt=1e-2, coordinates=coordinates)
    x = run.state.position[0, 0]
    assert abs(x - 0.5) < 1e-9
    slope = 0.1 / np.sqrt(1.01)
    to_ball = (3 - x) * np.sqrt(1 - slope**2) - np.sqrt(0.25 - ((3 - x) * slope) ** 2)
    to_wall = x + 4 - 0.1 / np.cos(0.4)
    found = run.sensors["scan"].value
    assert np.isinf(found[3])
    assert largest(found[[0, 1, 2, 4]] - [2.5 - x, to_wall, 2.0, to_ball]) < 1e-9
    assert np.isfinite(run.sensors["short"].value).tolist() == [True, False, True, False, bool(to_ball < 2.2)]
