"""Contact by events with prescribed motions: paddles, lifts, conveyors, turntables and driven joints, beside theory."""

import numpy as np
import pytest
from numba import njit

import dalembert as dal

from .scenes import G

EVENTS = {"method": "dormand_prince"}


def closes(run, tolerance=1e-8):
    report = run.report
    return (
        report.energy_residual_relative < tolerance
        and report.momentum_residual < tolerance
        and report.angular_momentum_residual < tolerance
    )


def test_a_rising_plate_hits_a_falling_ball_when_and_as_hard_as_theory_says():
    speed, restitution, height = 1.0, 0.5, 0.5
    scene = dal.Scene("paddle", gravity=(0, 0, -G), material=dal.Material(0.0, restitution))
    scene.add_body("plate", dal.Box(1, 1, 0.1), motion=lambda t: (0, 0, speed * t))
    scene.add_body("ball", dal.Sphere(0.1), mass=2.0, position=(0, 0, 0.15 + height))
    run = dal.simulate(scene, 0.4, **EVENTS)
    time = (np.sqrt(speed**2 + 2 * G * height) - speed) / G
    after = speed + restitution * (speed + G * time)
    event = run.contact_events[0]
    assert (event.kind, event.a, event.b) == ("impact", "plate", "ball") and event.time == pytest.approx(
        time, abs=1e-11
    )
    assert run.state.velocity[run.state.index("ball"), 2] == pytest.approx(after - G * (0.4 - time), abs=1e-9)
    assert run.report.work["plate"] == pytest.approx(2.0 * (after + G * time) * speed, rel=1e-9)
    assert closes(run)


def test_a_crate_stays_on_a_lift_until_it_falls_faster_than_gravity_allows():
    """The lift moves as b cos(ω t): the crate leaves where b ω² cos(ω t) = g."""
    depth, rate = 0.2, 10.0

    @njit
    def shaken(t):
        return (0.0, 0.0, depth * np.cos(rate * (t - 0.2)))

    scene = dal.Scene("shaker", gravity=(0, 0, -G), material=dal.Material(0.5))
    scene.add_body("table", dal.Box(1, 1, 0.1), motion=shaken)
    start = depth * np.cos(rate * 0.2), depth * rate * np.sin(rate * 0.2)
    scene.add_body(
        "crate", dal.Box(0.4, 0.4, 0.4), mass=20.0, position=(0, 0, 0.25 + start[0]), velocity=(0, 0, start[1])
    )
    run = dal.Simulation(scene, **EVENTS).advance(0.2)
    parts = next(event.time for event in run.contact_events if event.kind == "parts")
    assert parts == pytest.approx(0.2 - np.arccos(G / (depth * rate**2)) / rate, abs=1e-8)
    up = -depth * rate * np.sin(rate * (parts - 0.2)), depth * np.cos(rate * (parts - 0.2))
    flown = 0.2 - parts
    height = 0.25 + up[1] + up[0] * flown - 0.5 * G * flown**2
    assert run.state.position[run.state.index("crate"), 2] == pytest.approx(height, abs=1e-7)
    assert closes(run)


def test_the_work_of_a_lift_is_the_potential_energy_of_its_load():
    frames = dal.Keyframes([0.0, 1.0], [(0, 0, 0), (0, 0, 1.0)], smooth="acceleration")
    scene = dal.Scene("lift", gravity=(0, 0, -G), material=dal.Material(0.5))
    scene.add_body("lift", dal.Box(1, 1, 0.1), motion=frames)
    scene.add_body("crate", dal.Box(0.4, 0.4, 0.4), mass=20.0, position=(0, 0, 0.25))
    run = dal.simulate(scene, 1.2, **EVENTS)
    assert run.report.work["lift"] == pytest.approx(20.0 * G, rel=1e-6)
    assert run.state.position[run.state.index("crate"), 2] == pytest.approx(1.25, abs=1e-9)


def test_half_of_the_work_of_a_belt_is_heat():
    speed, friction = 1.0, 0.3
    scene = dal.Scene("belt", gravity=(0, 0, -G), material=dal.Material(friction))
    scene.add_obstacle("belt", dal.Box(10, 1, 0.2), position=(0, 0, -0.1), surface_velocity=(speed, 0, 0))
    scene.add_body("box", dal.Box(0.2, 0.2, 0.2), mass=2.0, position=(0, 0, 0.1))
    run = dal.simulate(scene, 1.0, **EVENTS)
    sticks = next(event.time for event in run.contact_events if event.kind == "sticks")
    assert sticks == pytest.approx(speed / (friction * G), rel=1e-9)
    assert run.state.position[run.state.index("box"), 0] == pytest.approx(speed - 0.5 * speed * sticks, abs=1e-8)
    assert run.report.work["belt"] == pytest.approx(2.0 * speed**2, rel=1e-8)
    assert run.report.work["contact: friction"] == pytest.approx(-0.5 * 2.0 * speed**2, rel=1e-8)
    assert closes(run)


@pytest.mark.parametrize("turns", ["surface", "body"])
@pytest.mark.parametrize(("part", "stays"), [(0.99, True), (1.01, False)])
def test_a_coin_stays_on_a_turntable_up_to_the_radius_that_friction_allows(part, stays, turns):
    rate, friction = 2.0, 0.3
    radius = part * (friction * G / rate**2) - 0.01
    scene = dal.Scene("turntable", gravity=(0, 0, -G), material=dal.Material(friction))
    if turns == "surface":
        scene.add_obstacle("table", dal.Box(4, 4, 0.1), position=(0, 0, -0.05), surface_spin=(0, 0, rate))
    else:
        scene.add_body(
            "table", dal.Box(4, 4, 0.1),
            motion=lambda t: np.array([0, 0, -0.05, np.cos(0.5 * rate * t), 0, 0, np.sin(0.5 * rate * t)]),
        )  # fmt: skip
    scene.add_body(
        "coin", dal.Box(0.001, 0.001, 0.001), mass=1.0, position=(radius + 0.01, 0, 0.0005),
        velocity=(0, rate * (radius + 0.01), 0), angular_velocity=(0, 0, rate),
    )  # fmt: skip
    run = dal.simulate(scene, 1.0, **EVENTS)
    moved = np.hypot(*run.state.position[run.state.index("coin"), :2]) - (radius + 0.01)
    assert (abs(moved) < 1e-6) == stays and (stays or moved > 1e-3)


def test_a_driven_bat_gives_a_ball_twice_its_speed_and_the_drive_does_the_work():
    scene = dal.Scene("bat", gravity=(0, 0, 0), material=dal.Material(0.0, 1.0))
    scene.add_body("bat", dal.Box(1.0, 0.1, 0.1), mass=3.0, position=(0.5, 0, 0), velocity=(0, 1.0, 0),
                   angular_velocity=(0, 0, 2.0))  # fmt: skip
    scene.hinge("axle", dal.WORLD, "bat", at=(0, 0, 0), axis=(0, 0, 1))
    scene.add_motion("drive", "axle", speed=2.0)
    scene.add_body("ball", dal.Sphere(0.05), mass=1.0, position=(0.8, 0.5, 0))
    run = dal.simulate(scene, 0.6, **EVENTS)
    event = run.contact_events[0]
    lever = np.linalg.norm(event.position)  # the speed of the bat along its normal, at the point of contact
    along = np.sqrt(lever**2 - 0.05**2)
    velocity = run.state.velocity[run.state.index("ball")]
    assert np.linalg.norm(velocity) == pytest.approx(2.0 * 2.0 * along, rel=1e-8)
    assert run.report.work["drive"] == pytest.approx(0.5 * velocity @ velocity, rel=1e-9)
    assert closes(run)


def test_a_pusher_that_is_set_strikes_pushes_and_lets_go():
    friction, speed = 0.3, 0.5
    scene = dal.Scene("pusher", gravity=(0, 0, -G), material=dal.Material(friction))
    scene.add_body("pusher", dal.Box(0.1, 0.4, 0.2), motion="set", position=(0, 0, 0.15))
    scene.add_obstacle("floor", dal.HalfSpace())
    scene.add_body("puck", dal.Box(0.1, 0.1, 0.1), mass=1.0, position=(0.1, 0, 0.05))
    run = dal.Simulation(scene, **EVENTS).advance(0.1)
    run.set_motion("pusher", velocity=(speed, 0, 0))
    run.advance(0.5)
    puck = run.state.index("puck")
    assert run.state.velocity[puck, 0] == pytest.approx(speed, abs=1e-12)
    run.set_motion("pusher", velocity=(0, 0, 0))
    run.advance(0.5)
    assert run.state.position[puck, 0] == pytest.approx(0.1 + 0.5 * speed + speed**2 / (2 * friction * G), abs=1e-9)
    assert closes(run)
    with pytest.raises(ValueError, match=r"given a position to reach.*give velocity"):
        run.set_motion("pusher", position=(1, 0, 0.15), over=1.0)


def test_the_same_by_time_steps():
    """A shaken plate, a conveyor and a ball: steps approach the run by events."""

    @njit
    def rocks(t):
        return (0.02 * np.sin(20.0 * t), 0.0, -0.05)

    scene = dal.Scene("shaken", gravity=(0, 0, -G), material=dal.Material(0.2))
    scene.add_body("plate", dal.Box(4, 4, 0.1), motion=rocks)
    scene.add_body("box", dal.Box(0.2, 0.2, 0.2), mass=1.0, position=(0, 0, 0.1))
    exact = dal.simulate(scene, 0.5, **EVENTS)
    box = exact.state.index("box")
    ends = [dal.simulate(scene, 0.5, dt=dt).state.position[box] for dt in (2e-4, 5e-5)]
    errors = [np.abs(end - exact.state.position[box]).max() for end in ends]
    assert closes(exact, 1e-6) and errors[1] < 0.3 * errors[0] < 1e-4
