"""Sleep: bodies at rest stop, the energy balances, and a touch wakes them."""

import numpy as np
import pytest

import dalembert as dal

DT = 1 / 240


def tower(boxes=3, ball_at=None, **more):
    scene = dal.Scene("tower", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    for i in range(boxes):
        scene.add_body(f"box {i}", dal.Box(1, 1, 1), mass=1.0, position=(0.0, 0.0, i + 0.5))
    if ball_at is not None:
        scene.add_body("ball", dal.Sphere(0.3), mass=1.0, position=ball_at, **more)
    return scene


BOXES = ["box 0", "box 1", "box 2"]


def test_nothing_sleeps_unless_asked():
    run = dal.simulate(tower(), 1.0, dt=DT)
    assert run.asleep == []


def test_what_has_been_slow_for_long_enough_sleeps_and_does_not_move():
    run = dal.Simulation(tower(), dt=DT, sleep_after=0.5)
    run.advance(0.49)
    assert run.asleep == []
    run.advance(0.02)
    assert run.asleep == BOXES
    before = run.state.position.copy()
    run.advance(1.0)
    assert np.array_equal(run.state.position, before)
    assert run.contacts == []


def test_the_energy_balances_over_falling_asleep_sleeping_and_waking():
    scene = tower(ball_at=(0.0, 0.0, 9.0))
    run = dal.simulate(scene, 2.5, dt=DT, sleep_after=0.3)
    assert run.report.energy_residual_relative < 1e-13
    assert run.report.momentum_residual < 1e-9
    assert run.report.angular_momentum_residual < 1e-9


def test_a_touch_wakes_all_that_fell_asleep_together():
    run = dal.Simulation(tower(ball_at=(-6.0, 0.0, 2.5), velocity=(6.0, 0.0, 3.0)), dt=DT, sleep_after=0.3)
    slept, woke = 0.0, 0.0
    for _ in range(300):
        run.advance(DT)
        if run.asleep == BOXES:
            slept = run.time
        elif slept and not run.asleep:
            woke = run.time
            break
    assert 0.3 < slept < woke
    assert run.state.position[3, 0] > -1.0, "it was not the ball that woke them"
    run.advance(0.3)
    assert np.abs(run.state.velocity[2]).max() > 0.1, "the box that was hit does not move"


def test_sleep_changes_nothing_of_what_goes_on_elsewhere():
    start = {"ball_at": (5.0, 0.0, 2.0), "velocity": (1.0, 0.5, 0.0)}
    awake = dal.simulate(tower(**start), 1.5, dt=DT)
    asleep = dal.simulate(tower(**start), 1.5, dt=DT, sleep_after=0.2)
    assert asleep.asleep[:3] == BOXES
    assert np.abs(awake.trajectory.position.values - asleep.trajectory.position.values)[:, 3].max() < 1e-12


def test_what_hangs_or_is_pulled_never_sleeps():
    scene = tower(1)
    bob = scene.add_body("bob", dal.Sphere(0.3), mass=1.0, position=(4.0, 0.0, 0.3))
    scene.ball("hook", dal.WORLD, bob, at=(4.0, 0.0, 2.0))
    held = scene.add_body("held", dal.Box(1, 1, 1), mass=1.0, position=(8.0, 0.0, 0.5))
    scene.spring("line", dal.WORLD, held, at_a=(8.0, 0.0, 3.0), at_b=(8.0, 0.0, 1.0), stiffness=1.0)
    run = dal.simulate(scene, 1.0, dt=DT, sleep_after=0.2)
    assert run.asleep == ["box 0"]


def test_a_change_from_outside_wakes_everything():
    run = dal.simulate(tower(), 1.0, dt=DT, sleep_after=0.2)
    assert run.asleep == BOXES
    run.state.momentum[2] = (2.0, 0.0, 0.0)
    run.changed()
    assert run.asleep == []
    run.advance(0.2)
    assert run.state.position[2, 0] > 0.1


@pytest.mark.parametrize("time", [0.0, -1.0, np.nan])
def test_an_absurd_time_of_falling_asleep_is_refused(time):
    with pytest.raises(ValueError, match="sleep_after"):
        dal.Simulation(tower(), dt=DT, sleep_after=time)
