"""Impacts with bodies that move by command: against Newton's law in the frame of the moving body, at any speed."""

import numpy as np
import pytest
from numba import njit

import dalembert as dal

DT = 0.01
COORDINATES = pytest.mark.parametrize("coordinates", ["maximal", "joint"])


def scene_of_impacts(restitution, friction=0.0, gravity=(0, 0, 0)):
    return dal.Scene("impacts with motions", gravity=gravity, material=dal.Material(friction, restitution))


def velocity(run, name, mass):
    return run.trajectory.momentum.sel(body=name).values / mass


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("speed", [2.0, 30.0, 300.0])
@COORDINATES
def test_a_paddle_of_any_speed_hits_a_ball_at_rest(restitution, speed, coordinates):
    scene = scene_of_impacts(restitution)
    scene.add_body("paddle", dal.Box(0.02, 1, 1), motion="set", velocity=(speed, 0, 0))
    scene.add_body("ball", dal.Sphere(0.1), mass=0.7, position=(0.31, 0.1, 0))
    run = dal.Simulation(scene, dt=DT, coordinates=coordinates, method="time_stepping").advance(0.3)
    v = velocity(run, "ball", 0.7)[-1]
    assert v == pytest.approx(((1.0 + restitution) * speed, 0.0, 0.0), rel=1e-9, abs=1e-9 * speed)
    assert run.report.work["paddle"] == pytest.approx(0.7 * (1.0 + restitution) * speed**2, rel=1e-9)
    assert run.report.energy_residual < 1e-9 and run.report.momentum_residual < 1e-9


@pytest.mark.parametrize("speed", [5.0, 80.0, 400.0])
@COORDINATES
def test_a_ball_does_not_pass_a_plate_that_moves_towards_it(speed, coordinates):
    @njit
    def sweep(t):
        return (20.0 * t, 0.0, 0.0)

    scene = scene_of_impacts(1.0)
    scene.add_body("plate", dal.Box(0.02, 2, 2), motion=sweep)
    scene.add_body("ball", dal.Sphere(0.05), mass=1.0, position=(1.3, 0.1, 0.2), velocity=(-speed, 0, 0))
    run = dal.Simulation(scene, dt=DT, coordinates=coordinates, method="time_stepping").advance(0.2)
    assert velocity(run, "ball", 1.0)[-1] == pytest.approx((speed + 40.0, 0.0, 0.0), rel=1e-9, abs=1e-6)
    position = run.trajectory.position
    assert (position.sel(body="ball").values[:, 0] > position.sel(body="plate").values[:, 0]).all()
    assert run.report.energy_residual < 1e-9


@pytest.mark.parametrize("restitution", [0.5, 1.0])
@COORDINATES
def test_a_ball_bounces_from_a_fast_belt_as_from_a_slope(restitution, coordinates):
    found, impacts = [], []
    for surface in (None, (50.0, 0.0, 0.0)):
        scene = scene_of_impacts(restitution, gravity=(0, 0, -9.81))
        tilt = (np.cos(0.2), 0.0, np.sin(0.2), 0.0)
        scene.add_obstacle("belt", dal.Box(20, 1, 0.2), orientation=tilt, surface_velocity=surface)
        scene.add_body("ball", dal.Sphere(0.1), mass=1.0, position=(0, 0, 1))
        run = dal.Simulation(scene, dt=DT, coordinates=coordinates, method="time_stepping").advance(1.0)
        impacts.append(run.report.contact.impacts)
        found.append(run.trajectory.position.sel(body="ball").values)
    assert impacts[0] == impacts[1]  # a surface that moves along itself meets nothing else
    assert np.allclose(found[0], found[1], atol=1e-9)


@pytest.mark.parametrize("restitution", [0.5, 1.0])
@COORDINATES
def test_what_rests_on_a_table_that_accelerates_does_not_bounce(restitution, coordinates):
    @njit
    def table(t):
        return (0.0, 0.0, 0.1 * np.sin(9.0 * t) - 0.9 * t)  # up to 8.1 m/s², where a bounce needs g

    scene = scene_of_impacts(restitution, 0.4, (0, 0, -9.81))
    scene.add_body("table", dal.Box(1, 1, 0.1), motion=table)
    scene.add_body("box", dal.Box(0.1, 0.1, 0.1), mass=1.0, position=(0, 0, 0.1))
    run = dal.Simulation(
        scene, dt=1e-3, frame_rate=200, iterations=500, coordinates=coordinates, method="time_stepping"
    ).advance(2.0)
    position = run.trajectory.position
    height = position.sel(body="box").values[:, 2] - position.sel(body="table").values[:, 2]
    assert np.abs(height - 0.1).max() < 1e-5
    assert run.report.energy_residual < 1e-9


@COORDINATES
def test_a_paddle_drives_a_row_of_balls_within_one_step(coordinates):
    """Each impact of the paddle on a ball at rest gives it twice the speed of the paddle, which it hands on to the last ball
    at rest; so all fly at that speed in the end."""
    scene = scene_of_impacts(1.0)
    scene.add_body("paddle", dal.Box(0.1, 1, 1), motion="set", velocity=(1.0, 0, 0))
    for i in range(3):
        scene.add_body(f"ball {i}", dal.Sphere(0.1), mass=1.0, position=(0.1505 + 0.2005 * i, 0, 0))
    run = dal.Simulation(scene, dt=DT, coordinates=coordinates, method="time_stepping").advance(DT)
    assert [velocity(run, f"ball {i}", 1.0)[-1, 0] for i in range(3)] == pytest.approx([2.0, 2.0, 2.0], abs=1e-12)
    assert run.report.work["paddle"] == pytest.approx(6.0, abs=1e-12)


@COORDINATES
def test_a_beater_drives_balls_through_nothing_and_its_work_is_booked(coordinates):
    @njit
    def beater(t):
        return (0.33 * np.sin(60.0 * t), 0.0, 0.0)  # up to 20 m/s, 11 times its thickness in a step

    # Two balls in line have room between beater and wall; larger ones jam there in one of fifteen runs, as nothing gives way.
    scene = scene_of_impacts(0.7, 0.05, (0, 0, -9.81))
    for axis in range(3):
        size = np.full(3, 1.2)
        size[axis] = 0.04
        for side in (-1, 1):
            scene.add_obstacle(f"wall {axis} {side}", dal.Box(*size), position=0.52 * side * np.eye(3)[axis])
    scene.add_body("beater", dal.Box(0.03, 0.9, 0.9), motion=beater)
    for i in range(30):
        row, column = divmod(i // 2, 5)
        at = (0.2 * (2 * (i % 2) - 1), -0.35 + 0.17 * column, -0.3 + 0.2 * row)
        scene.add_body(f"ball {i}", dal.Sphere(0.035), mass=0.1, position=at)
    run = dal.Simulation(scene, dt=1 / 120, frame_rate=120, coordinates=coordinates, method="time_stepping").advance(
        1.0
    )
    balls = [run.state.index(f"ball {i}") for i in range(30)]
    assert np.abs(run.trajectory.position.values[:, balls]).max() < 0.5
    assert run.report.contact.impacts > 100
    assert run.report.work["beater"] > 1e4
    assert run.report.integration_error < 1e-11 * run.report.work["beater"] and run.report.momentum_residual < 1e-9


@COORDINATES
@pytest.mark.parametrize("seed", range(24))
def test_a_ball_that_another_drives_at_a_wall_does_not_pass_it_beside_what_moves_by_command(seed, coordinates):
    """All three meet within a step. Of 60 such balls 18 passed the wall in joint coordinates, when nothing was watched."""
    r = np.random.default_rng(seed)
    scene = scene_of_impacts(0.9, 0.3)
    scene.add_obstacle("wall", dal.Box(0.02, 4, 4), position=(1, 0, 0))
    scene.add_body("far", dal.Box(1, 1, 0.1), motion="set", position=(0, 30, 0), velocity=(0, 1, 0))
    scene.add_body("hit", dal.Sphere(0.03), mass=0.3, position=(r.uniform(0.5, 0.9), *r.uniform(-0.03, 0.03, 2)))
    scene.add_body("ball", dal.Sphere(0.05), mass=1.0, velocity=(r.uniform(2, 200), 0, 0))
    run = dal.Simulation(scene, dt=1 / 60, coordinates=coordinates, method="time_stepping")
    for _ in range(18):
        run.step()
        for name in ("hit", "ball"):
            assert run[name].position[0] < 1.0 or np.abs(run[name].position[1:]).max() > 2.0


@pytest.mark.parametrize("rate", [60, 240])
@pytest.mark.parametrize("kind", ["weld", "hinge"])
def test_a_ball_bounces_off_an_arm_that_rides_on_a_cart_and_the_works_are_booked(kind, rate):
    """One ball hits the arm, the other the cart. The energy error is that of what rides between impacts, of second order."""

    @njit
    def cart(t):
        return (0.2 * np.sin(5.0 * t), 0.0, 0.05 * np.sin(9.0 * t))

    scene = scene_of_impacts(0.9, 0.3, (0, 0, -9.81))
    scene.add_body("cart", dal.Box(0.3, 0.3, 0.1), motion=cart)
    scene.add_body("arm", dal.Box(0.08, 0.08, 0.8), mass=2.0, position=(0, 0, -0.45), velocity=(1.0, 0, 0.45))
    if kind == "weld":
        scene.weld("joint", "cart", "arm", at=(0, 0, -0.05))
    else:
        scene.hinge("joint", "cart", "arm", at=(0, 0, -0.05), axis=(0, 1, 0))
    scene.add_body("first", dal.Sphere(0.05), mass=0.5, position=(1.6, 0, -0.3), velocity=(-8, 0, 1))
    scene.add_body("second", dal.Sphere(0.05), mass=0.5, position=(0.15, 0, 0.8))
    run = dal.Simulation(scene, dt=1 / rate, coordinates="joint", method="time_stepping").advance(0.9)
    assert run.report.contact.impacts >= 1
    assert run.report.energy_residual_relative < 4e-4 * (60 / rate) ** 2
    assert run.report.momentum_residual < 1e-9 and run.report.angular_momentum_residual < 1e-9
