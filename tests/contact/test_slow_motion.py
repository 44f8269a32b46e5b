"""What moves by less in a step than manifolds are kept for moves as theory says."""

import numpy as np
import pytest

import dalembert as dal

DT = 1 / 240


@pytest.mark.parametrize("shape", [dal.Sphere(0.5), dal.Cylinder(0.5, 1.0), dal.Capsule(0.5, 1.0)], ids=repr)
def test_what_rolls_slowly_keeps_its_speed(shape):
    """At 1e-5 m/s, 4e-8 m a step: a contact that lagged behind would push it on."""
    scene = dal.Scene("rolling", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    lying = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)  # along y
    scene.add_body(
        "roller", shape, mass=1.0, position=(0, 0, 0.5), orientation=lying, velocity=(1e-5, 0, 0),
        angular_velocity=(0, 2e-5, 0),
    )  # fmt: skip
    run = dal.simulate(scene, 5.0, dt=DT)
    np.testing.assert_allclose(run.state.velocity[0], (1e-5, 0.0, 0.0), rtol=0.0, atol=2e-8)
    assert run.state.position[0, 0] == pytest.approx(5e-5, rel=2e-3)


def test_what_slides_slowly_without_friction_keeps_its_speed():
    scene = dal.Scene("sliding", material=dal.Material(0.0))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("box", dal.Box(1, 1, 1), mass=1.0, position=(0, 0, 0.5), velocity=(1e-5, 0, 0))
    run = dal.simulate(scene, 5.0, dt=DT)
    assert run.state.velocity[0, 0] == pytest.approx(1e-5, rel=1e-12)
    assert run.state.position[0, 0] == pytest.approx(5e-5, rel=1e-9)
    assert np.abs(run.state.angular_velocity).max() < 1e-8


def test_a_box_leaves_the_edge_of_a_table_where_it_must():
    """It slides slowly over the edge, and tips when its centre has passed it, though each step is below the bound."""
    scene = dal.Scene("table", material=dal.Material(0.0))
    scene.add_obstacle("table", dal.Box(2, 2, 1), position=(-1, 0, -0.5))
    for name, y, x in (("before", -0.5, -2e-6), ("beyond", 0.5, 2e-6)):
        scene.add_body(name, dal.Box(0.4, 0.4, 0.4), mass=1.0, position=(x, y, 0.2), velocity=(1e-7, 0, 0))
    run = dal.simulate(scene, 4.0, dt=DT)
    spin = run.state.angular_velocity[:, 1]
    assert abs(spin[0]) < 1e-8
    assert spin[1] > 1e-3
