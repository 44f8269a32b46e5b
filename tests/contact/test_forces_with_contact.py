"""Forces that depend on velocities beside impulses of contacts and bounds: they act at the mean of the velocities before and
after a step, so that what stands is held by the forces of statics, and errors are of second order."""

import numpy as np
import pytest
from tests.random_scenes.mechanisms import random_mechanism

import dalembert as dal

G = 9.81
BOTH = pytest.mark.parametrize("coordinates", ["maximal", "joint"])
WHEEL, BODY, STIFFNESS, DAMPING = 40.0, 400.0, 2e4, 1500.0


def quarter_of_a_car(height=0.7):
    """A body on a spring and a damper over a wheel on the ground, `height` above it."""
    scene = dal.Scene("quarter of a car", gravity=(0, 0, -G), material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    wheel = scene.add_body("wheel", dal.Box(0.4, 0.4, 0.2), mass=WHEEL, position=(0, 0, 0.1))
    body = scene.add_body("body", dal.Box(0.6, 0.6, 0.2), mass=BODY, position=(0, 0, 0.1 + height), material=None)
    scene.slider("guide", wheel, body, at=(0, 0, 0.5), axis=(0, 0, 1))
    scene.spring(
        "spring", wheel, body, (0, 0, 0.1), (0, 0, 0.1 + height), stiffness=STIFFNESS, damping=DAMPING, rest=0.7
    )
    return scene


@pytest.mark.parametrize("solver", ["gauss_seidel", "converging"])
@BOTH
@pytest.mark.parametrize("dt", [1 / 60, 1 / 1000])
def test_a_car_that_stands_is_as_deep_in_its_springs_as_its_weight_says(dt, coordinates, solver):
    """At 60 Hz it was half as deep again, as its damper felt the wheel fall in each step."""
    scene = quarter_of_a_car(0.7 - BODY * G / STIFFNESS)
    run = dal.simulate(scene, 3.0, method="time_stepping", dt=dt, coordinates=coordinates, solver=solver)
    assert run["body"].position[2] == pytest.approx(0.8 - BODY * G / STIFFNESS, abs=1e-6)
    force = sum(contact.force[2] for contact in run.contacts)
    assert abs(force) == pytest.approx((WHEEL + BODY) * G, rel=1e-6)


@BOTH
def test_a_car_on_its_springs_oscillates_as_the_formula_says(coordinates):
    """Its wheel stays on the ground: x'' = −(k/m) x − (d/m) x'."""
    deep, start, time = BODY * G / STIFFNESS, 0.03, 0.6
    decay = 0.5 * DAMPING / BODY
    rate = np.sqrt(STIFFNESS / BODY - decay**2)
    exact = start * np.exp(-decay * time) * (np.cos(rate * time) + decay / rate * np.sin(rate * time))
    errors = []
    for dt in (1 / 100, 1 / 200, 1 / 400):
        run = dal.simulate(
            quarter_of_a_car(0.7 - deep + start), time, method="time_stepping", dt=dt, coordinates=coordinates
        )
        errors.append(abs(run["body"].position[2] - 0.8 + deep - exact))
        assert run.report.energy_residual < 1e-4 * BODY * G * start
    assert errors[0] < 2e-4 and errors[2] < errors[0] / 12.0


@BOTH
def test_a_box_that_slides_in_a_fluid_slows_as_the_formula_says(coordinates):
    """m v' = −μ m g − d v: v = (v₀ + μ g/γ) e^(−γ t) − μ g/γ with γ = d/m."""
    friction, drag, speed, time = 0.3, 2.0, 5.0, 0.5
    errors = []
    for dt in (1 / 60, 1 / 240):
        scene = dal.Scene("sledge", gravity=(0, 0, -G), material=dal.Material(friction))
        scene.add_obstacle("ground", dal.HalfSpace())
        scene.add_body("box", dal.Box(0.4, 0.4, 0.05), mass=1.0, position=(0, 0, 0.025), velocity=(speed, 0, 0))
        scene.drag("drag", linear=drag)
        run = dal.simulate(scene, time, method="time_stepping", dt=dt, coordinates=coordinates)
        end = friction * G / drag
        errors.append(abs(run["box"].velocity[0] - ((speed + end) * np.exp(-drag * time) - end)))
    assert errors[0] < 1e-3 and errors[1] < errors[0] / 12.0


@BOTH
@pytest.mark.parametrize("seed", [45, 52, 55])
def test_dampers_beside_motors_and_springs_on_joints_that_close_loops(seed, coordinates):
    """The impulses of these are bounds in joint coordinates, which the first forces of a step know nothing of."""
    exact = dal.simulate(random_mechanism(seed), 0.2, method="dop853", rtol=1e-9).state.position
    errors = []
    for dt in (2e-3, 5e-4):
        run = dal.simulate(random_mechanism(seed), 0.2, method="time_stepping", dt=dt, coordinates=coordinates)
        errors.append(np.abs(run.state.position - exact).max())
    assert errors[0] < 1e-4 and errors[1] < errors[0] / 12.0
