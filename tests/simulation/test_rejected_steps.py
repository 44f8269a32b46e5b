"""A trial step that overflows, or at whose stages the system cannot be evaluated, is rejected; it does not end the run."""

import numpy as np
import pytest
import sympy as sp

import dalembert as dal
from dalembert.integrate import solve

ADAPTIVE = ["dormand_prince", "dop853", "bogacki_shampine", "adaptive_euler"]


def light_link(joint, stiffness, mass):
    """A light link that a stiff spring holds. Where it starts nothing moves yet, and the first trial step is as long as a
    frame: thousands of its oscillations, in which all numbers overflow. It stops after some oscillations."""
    scene = dal.Scene("light link")
    above = dal.WORLD
    for name, weight, x in (("base", 1.0, 0.0), ("link", mass, 0.5)):
        body = scene.add_body(name, dal.Box(0.5, 0.02, 0.02), mass=weight, position=(x + 0.25, 0, 0))
        if joint == "ball":
            scene.ball(f"to {name}", above, body, (x, 0, 0))
        else:
            scene.hinge(f"to {name}", above, body, (x, 0, 0), (0, 1, 0))
        above = body
    scene.spring("spring", dal.WORLD, "link", (1.0, 0, 0.5), (1.0, 0, 0), stiffness=stiffness)
    enough = 100.0 * np.sqrt(mass / stiffness)
    scene.event("enough", lambda t, y: t - enough, stop=True)
    return scene


@pytest.mark.parametrize(
    "coordinates, joint, stiffness, mass", [("maximal", "hinge", 8e5, 1e-9), ("joint", "ball", 8e11, 1e-7)]
)
def test_a_stiff_spring_on_a_light_link_runs(coordinates, joint, stiffness, mass):
    scene = light_link(joint, stiffness, mass)
    run = dal.Simulation(scene, method="dop853", rtol=1e-6, coordinates=coordinates).advance(1 / 60)
    report = run.report
    assert run.stopped and np.isfinite(run.state.y).all()
    assert report.rejected > 5 and report.joint_error < 1e-9
    assert report.energy_residual < 1e-6 * max(abs(report.energy_start), 1.0)


SPEED, STRENGTH = 0.1, 2.6e-3


def wall(t, x, q, v, w):
    """A force that has no value beyond x = 1, and keeps what comes there away; its potential is −2 STRENGTH √(1 − x)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.array([-STRENGTH / np.sqrt(1.0 - x[0]), 0.0, 0.0])


def rolled_to_a_wall():
    scene = dal.Scene("wall", gravity=(0, 0, 0))
    ball = scene.add_body("ball", dal.Sphere(0.1), mass=1.0, velocity=(SPEED, 0, 0))
    scene.external_force("wall", ball, function=wall)
    return scene


@pytest.mark.parametrize("method", ADAPTIVE)
def test_stages_without_a_value_are_rejected(method):
    run = dal.Simulation(rolled_to_a_wall(), method=method, rtol=1e-5, frame_rate=0.02).advance(100.0)
    v, x = run.state.velocity[0, 0], run.state.position[0, 0]
    assert run.report.rejected > 0 and v < 0.0  # it came back
    energy = 0.5 * v * v - 2.0 * STRENGTH * np.sqrt(1.0 - x)
    assert energy == pytest.approx(0.5 * SPEED**2 - 2.0 * STRENGTH, abs=0.05 * STRENGTH)


def test_what_cannot_go_on_fails_with_what_is_known():
    scene = dal.Scene("sink", gravity=(0, 0, 0))
    ball = scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
    scene.add_body("other", dal.Sphere(0.1), mass=1.0, position=(1, 0, 0))
    scene.external_force("push", ball, function=lambda t, x, q, v, w: np.full(3, np.nan if t > 0.5 else 0.0))
    with pytest.raises(dal.SimulationError) as caught:
        dal.simulate(scene, 1.0)
    message = str(caught.value)
    assert "not a number in a step of" in message and "body 'ball' is the first" in message
    assert caught.value.time == pytest.approx(0.5, abs=1e-9)
    assert caught.value.simulation.trajectory.times[-1] == pytest.approx(0.5)


def test_a_fixed_step_that_overflows_guesses_nothing():
    with pytest.raises(dal.SimulationError) as caught:
        dal.simulate(light_link("hinge", 8e11, 1e-9), 1.0, method="rk4", dt=0.01)
    message = str(caught.value)
    assert "in a step of 0.01 s" in message and ("'to link'" in message or "'link'" in message)
    assert "mass matrix is singular" not in message and "inf m" not in message and "contradict" not in message


def test_solve_rejects_trials_without_a_value():
    """y' = −√y reaches 0 at t = 2, where a trial may go below it."""

    def f(t, y):
        return -np.sqrt(y) if y[0] >= 0.0 else np.array([np.nan])

    found = solve(f, [1.0], 0.0, 1.9, rtol=1e-8)
    assert found.y[-1, 0] == pytest.approx((1.0 - 0.95) ** 2, abs=1e-7)


def test_a_mass_matrix_of_a_rejected_trial_is_forgotten():
    """Polar coordinates of a light ball on a stiff spring: the mass matrix grows with the square of the radius, and a trial
    far out must not make that of the accepted states look singular."""
    scene = dal.Scene("polar", gravity=(0, 0, 0))
    ball = scene.add_body("ball", dal.Sphere(0.01), mass=1e-6, position=(1, 0, 0), velocity=(0, 0.1, 0))
    scene.spring("spring", dal.WORLD, ball, (0, 0, 0), (1, 0, 0), stiffness=8e5, rest=0.99)
    r, a = sp.symbols("r a")
    polar = dal.GeneralizedCoordinates(scene, [r, a], {"ball": (r * sp.cos(a), r * sp.sin(a), 0)}, start=[1.0, 0.0])
    run = dal.Simulation(scene, coordinates=polar, method="dop853", rtol=1e-6).advance(2e-5)
    spring = run.trajectory.position.values[-1, 0]
    assert 0.975 < np.linalg.norm(spring) < 1.001 and run.report.energy_residual_relative < 1e-3
