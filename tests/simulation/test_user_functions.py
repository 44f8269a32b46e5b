"""Functions of the user: compiled and plain ones agree, and one that fails is named."""

import numba
import numpy as np
import pytest

import dalembert as dal

from .motions import chain, pendulum


def failing(t, x, q, v, w):
    if t > 0.25:
        raise ZeroDivisionError("the tank is empty")
    return (0.0, 0.0, 1.0)


@pytest.mark.parametrize("settings", [{}, {"method": "rk4", "dt": 1e-2}])
def test_a_user_function_that_fails_is_named_with_the_time(settings):
    scene = pendulum()
    scene.external_force("thruster", "rod", function=failing)
    run = dal.Simulation(scene, frame_rate=100, **settings)
    assert run.report.slow_functions == ["thruster"]
    with pytest.raises(dal.SimulationError, match=r"t = 0\.2.*'thruster'.*tank is empty") as caught:
        run.advance(1.0)
    assert 0.2 < caught.value.time <= 0.26
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.simulation is run
    assert run.trajectory.times[-1] >= 0.2


def test_a_user_function_that_fails_at_once_is_named():
    def broken(t, x, q, v, w):
        raise ZeroDivisionError("no fuel")

    for joined in (True, False):
        scene = pendulum()
        if not joined:
            scene.joints.clear()
        scene.external_force("thruster", "rod", function=broken)
        with pytest.raises(dal.SimulationError, match=r"'thruster'.*no fuel"):
            dal.Simulation(scene)


@pytest.mark.parametrize("settings", [{}, {"method": "rk4", "dt": 1e-2}, {"method": "splitting", "dt": 1e-2}])
def test_a_force_that_is_no_number_names_the_body(settings):
    scene = chain(2)
    scene.add_body("bystander", dal.Sphere(0.1), mass=1.0)
    scene.add_body("victim", dal.Sphere(0.1), mass=1.0)
    scene.external_force("wind", "victim", function=lambda t, x, q, v, w: (0.0, 0.0, np.nan if t > 0.25 else 0.0))
    run = dal.Simulation(scene, frame_rate=100, **settings)
    with pytest.raises(dal.SimulationError, match=r"t = 0\.2.*not a number.*'victim'"):
        run.advance(1.0)
    assert np.isfinite(run.trajectory.state.values).all()


@pytest.mark.slow
def test_a_compiled_force_gives_the_run_of_the_plain_one():
    def lift(t, x, q, v, w):
        return (0.1 * v[1], -0.2 * x[0], 3.0 + np.sin(t))

    ends = []
    for function, slow in ((lift, ["lift"]), (numba.njit(lift), [])):
        scene = pendulum()
        scene.external_force("lift", "rod", function=function)
        run = dal.simulate(scene, 0.2, method="rk4", dt=5e-3)
        assert run.report.slow_functions == slow
        ends.append(run.state.y.copy())
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-14)
