import math

import numpy as np
import pytest

from dalembert.core.status import EVENT, OK
from dalembert.core.user_function import Pointer
from dalembert.integrate import METHODS, Event, solve
from dalembert.integrate.driver import RECORD, OdeStepper, make_record
from dalembert.integrate.state import Functions, make_clock, make_options, make_work

from .problems import falling, kepler, kepler_start, oscillator

G = 9.81


def height(t, y):
    return y[0]


@pytest.mark.parametrize(("name", "dt"), [("rk4", 0.1), ("midpoint", 0.1), ("dormand_prince", None), ("dop853", None)])
def test_impact_of_a_falling_ball(name, dt):
    run = solve(falling, [1.0, 0.0], 0.0, 1.0, name, dt=dt, events=[Event(height, -1, terminal=True)])
    assert run.status == EVENT
    assert run.t[-1] == run.event_times[0][0] == pytest.approx(math.sqrt(2.0 / G), abs=1e-10)
    assert abs(run.y[-1, 0]) < 1e-12
    np.testing.assert_array_equal(run.event_states[0][0], run.y[-1])


@pytest.mark.parametrize("name", ["euler", "symplectic_euler", "adaptive_euler"])
def test_the_state_at_an_event_is_on_it_even_where_the_dense_output_is_rough(name):
    run = solve(falling, [1.0, 0.0], 0.0, 1.0, name, dt=0.1, events=[height])
    assert len(run.event_times[0]) == 1
    assert abs(run.event_states[0][0, 0]) < 1e-13


@pytest.mark.parametrize("direction", [-1, 0, 1])
def test_direction_and_no_root_twice(direction):
    """cos t crosses zero at π/2 + kπ, falling first."""
    run = solve(oscillator, [1.0, 0.0], 0.0, 20.0, "dop853", rtol=1e-11, events=[Event(height, direction)])
    roots = np.pi * (np.arange(6) + 0.5)
    expected = {-1: roots[::2], 0: roots, 1: roots[1::2]}[direction]
    np.testing.assert_allclose(run.event_times[0], expected, atol=1e-9)
    assert run.t[-1] == 20.0


def test_starting_on_a_root_is_not_an_event_but_coming_back_is():
    run = solve(falling, [0.0, 3.0], 0.0, 1.0, events=[height])
    np.testing.assert_allclose(run.event_times[0], [6.0 / G], atol=1e-10)


def test_two_events_at_once_are_both_found_and_in_order_with_others():
    events = [height, lambda t, y: 2.0 * y[0], lambda t, y: t - 0.2, lambda t, y: t - 0.9]
    run = solve(falling, [1.0, 0.0], 0.0, 1.0, "rk4", dt=0.25, events=events)
    impact = math.sqrt(2.0 / G)
    for found, expected in zip(run.event_times, (impact, impact, 0.2, 0.9), strict=True):
        np.testing.assert_allclose(found, [expected], atol=1e-12)
    assert np.all(np.diff(run.t) >= 0.0)


def test_an_event_does_not_leave_the_grid():
    run = solve(falling, [1.0, 0.0], 0.0, 1.0, "rk4", dt=0.125, events=[height])
    grid = run.t[~np.isin(run.t, run.event_times[0])]
    np.testing.assert_array_equal(grid, 0.125 * np.arange(9))


def test_orbit_periods():
    run = solve(kepler, kepler_start(0.6), 0.0, 20.0, "dop853", rtol=1e-11, events=[Event(lambda t, y: y[1], 1)])
    np.testing.assert_allclose(run.event_times[0], 2.0 * np.pi * np.arange(1, 4), atol=1e-7)


@pytest.mark.parametrize(("name", "dt"), [("rk4", 0.05), ("dormand_prince", 0.0)])
@pytest.mark.parametrize("direction", [-1, 0])
def test_bouncing(name, dt, direction):
    """Velocity is reversed and damped at each impact: impact times are known, none is missed or found twice."""
    restitution, impacts, y = 0.8, [], np.array([1.0, 0.0])
    options = make_options(METHODS[name], 2, adaptive=dt == 0.0, rtol=1e-10, atol=1e-10, direction=[direction])
    pointers = Pointer(falling), Pointer(height, scalar=True)
    functions = Functions(pointers[0].address, 0, 0, np.array([pointers[1].address]), np.zeros(1, np.int64))
    dydt, work, clock = np.full(2, np.nan), make_work(options), make_clock(0.0, dt)
    record = make_record(np.array([3.5]), True, 100_000, 1000, 2, 0)
    stepper = OdeStepper(functions, options, work, clock, record)
    status = EVENT
    while status == EVENT:
        status = stepper.call(RECORD, 0.0, y, dydt)
        if status == EVENT:
            impacts.append(clock[0].t)
            y[1] *= -restitution
            clock[0].valid = 0
    assert status == OK
    fall = math.sqrt(2.0 / G)
    expected = fall + 2.0 * fall * np.concatenate([[0.0], np.cumsum(restitution ** np.arange(1, 30))])
    np.testing.assert_allclose(impacts, expected[expected < 3.5], atol=1e-9)
