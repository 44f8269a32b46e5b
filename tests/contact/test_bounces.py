"""Bounces in time steps happen where and when bodies meet, whatever the step."""

import numpy as np
import pytest
from scipy.optimize import brentq

import dalembert as dal

G = 9.81
COORDINATES = pytest.mark.parametrize("coordinates", ["maximal", "joint"])
STEPS = pytest.mark.parametrize("rate", [60, 240, 1000])
SOLVERS = pytest.mark.parametrize("solver", ["gauss_seidel", "converging"])
FLOORS = {
    "half-space": (dal.HalfSpace(), (0, 0, 0)),
    "box": (dal.Box(40, 40, 1), (0, 0, -0.5)),
    "field": (dal.HeightField(np.zeros((21, 21)), (2.0, 2.0)), (0, 0, 0)),
}
BALL = dal.Sphere(0.1)


def run_of(scene, rate, duration, coordinates, **options):
    run = dal.Simulation(scene, dt=1.0 / rate, coordinates=coordinates, method="time_stepping", **options)
    return run.advance(duration)


def over(floor, restitution, friction=0.0):
    scene = dal.Scene("bounce", material=dal.Material(friction, restitution))
    shape, place = FLOORS[floor]
    scene.add_obstacle("floor", shape, position=place)
    return scene


def height_after(h, restitution, t):
    """Of what falls from h, after t (s)."""
    v = np.sqrt(2.0 * G * h)
    if t < v / G:
        return h - 0.5 * G * t**2
    t, v = t - v / G, restitution * v
    while t > 2.0 * v / G:
        t, v = t - 2.0 * v / G, restitution * v
    return v * t - 0.5 * G * t**2


@COORDINATES
@STEPS
@pytest.mark.parametrize("floor", list(FLOORS))
@pytest.mark.parametrize("restitution", [0.7, 0.8, 0.95])
@pytest.mark.sampled(3)
def test_a_ball_is_where_its_bounces_leave_it(restitution, floor, rate, coordinates):
    scene = over(floor, restitution)
    scene.add_body("ball", BALL, mass=2.0, position=(0.3, 0.2, 1.1))
    for time in (1.1, 1.7, 2.2):
        time = round(time * rate) / rate
        run = run_of(scene, rate, time, coordinates)
        bound = 0.35 * G / rate**2 + 2e-6
        assert run["ball"].position[2] - 0.1 == pytest.approx(height_after(1.0, restitution, time), abs=bound)
        assert run.report.energy_residual_relative < 1e-12


@COORDINATES
@STEPS
def test_a_box_that_lands_flat_returns_as_a_ball_does(rate, coordinates):
    scene = over("half-space", 0.8, 0.5)
    scene.add_body("box", dal.Box(0.2, 0.2, 0.1), mass=2.0, position=(0, 0, 1.05))
    run = run_of(scene, rate, 2.5, coordinates)
    assert run["box"].position[2] - 0.05 == pytest.approx(height_after(1.0, 0.8, 2.5), abs=2e-4)


@COORDINATES
@STEPS
def test_friction_turns_a_ball_by_the_velocity_at_which_it_lands(rate, coordinates):
    """It slides throughout the impact: p_t = μ p_n, from v_n = √(2 g h)."""
    scene = over("half-space", 0.8, 0.1)
    scene.add_body("ball", BALL, mass=1.0, position=(0, 0, 1.1), velocity=(3, 0, 0))
    run = run_of(scene, rate, 0.8, coordinates)
    change = 0.1 * 1.8 * np.sqrt(2.0 * G)
    assert run["ball"].velocity[0] == pytest.approx(3.0 - change, abs=3e-5)
    assert run["ball"].angular_velocity[1] == pytest.approx(2.5 * change / 0.1, abs=6e-3)


@COORDINATES
@STEPS
@pytest.mark.parametrize("friction", [0.1, 0.8])
def test_a_ball_that_spins_bounces_with_the_arm_of_its_radius(friction, rate, coordinates):
    """Whether it slides (μ = 0.1) or grips (0.8): J = min(μ p_n, |u_t| / (1/m + r²/I)) against u_t, at any distance of the
    floor from the ball at the start of the step."""
    scene = dal.Scene("superball", material=dal.Material(friction, 0.9), gravity=(0, 0, 0))
    scene.add_obstacle("floor", dal.HalfSpace())
    v, omega, arm = np.array([2.0, 0.0, -3.0]), np.array([0.0, -10.0, 5.0]), np.array([0.0, 0.0, -0.1])
    scene.add_body("ball", BALL, mass=1.0, position=(0, 0, 0.313), velocity=v, angular_velocity=omega)
    run = run_of(scene, rate, 0.2, coordinates)
    slip = (v + np.cross(omega, arm)) * (1, 1, 0)
    grip = np.linalg.norm(slip) / (1.0 + 2.5)
    push = min(grip, friction * 1.9 * 3.0) * -slip / np.linalg.norm(slip) + (0, 0, 1.9 * 3.0)
    np.testing.assert_allclose(run["ball"].velocity, v + push, atol=1e-12)
    np.testing.assert_allclose(run["ball"].angular_velocity, omega + np.cross(arm, push) / (0.4 * 0.1**2), atol=1e-11)


@COORDINATES
@STEPS
def test_two_balls_that_meet_in_the_air_fly_on_as_their_impact_says(rate, coordinates):
    scene = dal.Scene("air", material=dal.Material(0.0, 0.7))
    scene.add_body("low", BALL, mass=2.0, position=(0, 0, 5), velocity=(0, 0, 5))
    scene.add_body("high", BALL, mass=1.0, position=(0, 0, 10))
    run = run_of(scene, rate, 1.5, coordinates)
    t = 4.8 / 5.0
    left, mean = 1.5 - t, (2.0 * (5.0 - G * t) - G * t) / 3.0
    high = 10.0 - 0.5 * G * t**2 + (mean + 2.0 / 3.0 * 0.7 * 5.0) * left - 0.5 * G * left**2
    low = 5.0 + 5.0 * t - 0.5 * G * t**2 + (mean - 1.0 / 3.0 * 0.7 * 5.0) * left - 0.5 * G * left**2
    assert run["high"].position[2] == pytest.approx(high, abs=1e-4)
    assert run["low"].position[2] == pytest.approx(low, abs=1e-4)


@COORDINATES
@STEPS
def test_an_elastic_ball_between_walls_keeps_its_energy(rate, coordinates):
    scene = over("half-space", 1.0)
    for side in (-1, 1):
        scene.add_obstacle(f"wall {side}", dal.Box(0.2, 4, 9), position=(1.1 * side, 0, 4))
    scene.add_body("ball", dal.Sphere(0.05), mass=1.0, position=(0, 0, 1.05), velocity=(12, 0, 0))
    run = run_of(scene, rate, 3.0, coordinates)
    energy = 0.5 * np.sum(run["ball"].velocity ** 2) + G * (run["ball"].position[2] - 0.05)
    assert energy == pytest.approx(0.5 * 12.0**2 + G, rel=1e-12)
    assert run["ball"].position[2] - 0.05 == pytest.approx(height_after(1.0, 1.0, 3.0), abs=6e-4)


@COORDINATES
def test_a_ball_that_bounces_beside_a_stack_leaves_it_at_rest(coordinates):
    """What rests keeps its velocity of zero at the impacts of others."""
    scene = over("half-space", 0.7, 0.5)
    for k in range(3):
        scene.add_body(f"box {k}", dal.Box(0.3, 0.3, 0.2), mass=1.0, position=(0, 0, 0.1 + 0.2 * k))
    scene.add_body("ball", BALL, mass=1.0, position=(0.3, 0, 1.1))
    run = dal.Simulation(scene, dt=1 / 60, coordinates=coordinates, method="time_stepping")
    for _ in range(120):
        run.step()
        assert max(np.abs(run[f"box {k}"].velocity).max() for k in range(3)) < 8e-6


def test_balls_that_bounce_as_one_cradle_keep_energy_and_momentum():
    """Three in a row without weight: the first stops, the last leaves with its speed, though all gaps close in one step."""
    scene = dal.Scene("cradle", material=dal.Material(0.0, 1.0), gravity=(0, 0, 0))
    for k in range(3):
        scene.add_body(f"{k}", BALL, mass=1.0, position=(0.203 * k, 0, 0), velocity=(1.0 if k == 0 else 0.0, 0, 0))
    run = run_of(scene, 60, 0.5, "maximal")
    np.testing.assert_allclose([run[f"{k}"].velocity[0] for k in range(3)], (0, 0, 1), atol=1e-9)


@COORDINATES
@STEPS
def test_a_load_works_along_the_way_between_bounces(rate, coordinates):
    scene = over("half-space", 0.8, 0.2)
    scene.add_body("ball", BALL, mass=1.0, position=(0, 0, 1.1), velocity=(1, 0, 0))
    scene.external_force("push", "ball", force=(0.5, 0, -4.0))
    run = run_of(scene, rate, 1.6, coordinates)
    way = run["ball"].position - (0, 0, 1.1)
    assert run.report.contact.impacts > 1
    assert run.report.work["push"] == pytest.approx(float(way @ (0.5, 0, -4.0)), abs=1e-11)
    assert run.report.energy_residual_relative < 1e-12


# The converging solver, and what moves by command -----------------------------------------------------------------------


@COORDINATES
@STEPS
def test_the_converging_solver_bounces_where_bodies_meet(rate, coordinates):
    scene = over("half-space", 0.8, 0.1)
    scene.add_body("ball", BALL, mass=1.0, position=(0, 0, 1.1), velocity=(3, 0, 0))
    run = run_of(scene, rate, 0.8, coordinates, solver="converging")
    change = 0.1 * 1.8 * np.sqrt(2.0 * G)
    assert run["ball"].position[2] - 0.1 == pytest.approx(height_after(1.0, 0.8, 0.8), abs=3e-5)
    assert run["ball"].velocity[0] == pytest.approx(3.0 - change, abs=3e-5)
    assert run["ball"].angular_velocity[1] == pytest.approx(2.5 * change / 0.1, abs=6e-3)
    assert run.report.energy_residual_relative < 1e-12


def height_over_table(table, velocity, restitution, t):
    """Of what falls from a height of 1 m and bounces off a table that moves up and down, after t (s)."""
    x, v, start, step = 1.0, 0.0, 0.0, 1e-3
    while True:
        fall = lambda s, x=x, v=v, start=start: x + v * (s - start) - 0.5 * G * (s - start) ** 2  # noqa: E731
        s = start + step
        while s < t and fall(s) > table(s):
            s += step
        if s >= t:
            return fall(t)
        hit = brentq(lambda s, fall=fall: fall(s) - table(s), max(s - step, start + 1e-9), s, xtol=1e-14)
        x, v = table(hit), velocity(hit) - restitution * (v - G * (hit - start) - velocity(hit))
        start = hit


@SOLVERS
@COORDINATES
@pytest.mark.parametrize(("size", "omega", "drift"), [(0.0, 1.0, 0.7), (0.1, 4.0, 0.0), (0.02, 15.0, -0.2)])
@pytest.mark.parametrize("rate", [120, 240, 1000])
@pytest.mark.sampled(3)
def test_a_ball_bounces_off_a_table_that_moves(rate, size, omega, drift, coordinates, solver):
    scene = dal.Scene("table", material=dal.Material(0.0, 0.8))

    def table(t):
        return size * np.sin(omega * t) + drift * t

    scene.add_body("table", dal.Box(2, 2, 0.2), motion=lambda t: (0, 0, table(t) - 0.1))
    scene.add_body("ball", BALL, mass=2.0, position=(0.3, 0.2, 1.1))
    run = run_of(scene, rate, 1.5, coordinates, solver=solver)
    height = height_over_table(table, lambda t: size * omega * np.cos(omega * t) + drift, 0.8, 1.5)
    assert run["ball"].position[2] - 0.1 == pytest.approx(height, abs=4e-4)
    assert run.report.contact.impacts >= 1
    assert run.report.energy_residual_relative < 1e-12


@SOLVERS
@COORDINATES
@STEPS
def test_a_belt_takes_along_what_bounces_on_it(rate, coordinates, solver):
    """It slides throughout the impact; the drive works against friction at the speed of the belt."""
    scene = dal.Scene("belt", material=dal.Material(0.1, 0.8))
    scene.add_body("belt", dal.Box(4, 2, 0.2), position=(0, 0, -0.1), motion="set", surface_velocity=(5, 0, 0))
    scene.add_body("ball", BALL, mass=1.0, position=(0, 0, 1.1))
    run = run_of(scene, rate, 0.8, coordinates, solver=solver)
    change = 0.1 * 1.8 * np.sqrt(2.0 * G)
    assert run["ball"].velocity[0] == pytest.approx(change, abs=3e-5)
    assert run["ball"].angular_velocity[1] == pytest.approx(-2.5 * change / 0.1, abs=6e-3)
    assert run.report.work["belt"] == pytest.approx(5.0 * change, abs=2e-4)
    assert run.report.energy_residual_relative < 1e-12


@SOLVERS
@COORDINATES
def test_a_load_works_along_the_way_when_all_contacts_are_solved(coordinates, solver):
    """A box rests on a table that slides, and a ball that is pushed bounces beside it."""
    scene = dal.Scene("table", material=dal.Material(0.2, 0.8))
    scene.add_body("table", dal.Box(4, 4, 0.2), motion=lambda t: (0.1 * t, 0, -0.1))
    scene.add_body("ball", BALL, mass=1.0, position=(0, 0, 1.1), velocity=(1, 0, 0))
    scene.add_body("box", dal.Box(0.2, 0.2, 0.2), mass=1.0, position=(-1, 0, 0.1), velocity=(0.1, 0, 0))
    scene.external_force("push", "ball", force=(0.5, 0, -4.0))
    run = run_of(scene, 60, 1.6, coordinates, solver=solver)
    way = run["ball"].position - (0, 0, 1.1)
    assert run.report.contact.impacts > 1
    assert run.report.work["push"] == pytest.approx(float(way @ (0.5, 0, -4.0)), abs=1e-11)
    assert run.report.energy_residual_relative < 1e-11
