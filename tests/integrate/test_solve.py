import numba
import numpy as np
import pytest

from dalembert.integrate import Event, IntegrationError, method_names, solve

from .problems import oscillator


def cubic(t, y):
    out = np.empty(2)
    out[0] = y[1] - 0.1 * y[0] * y[0] * y[0]
    out[1] = -y[0] + 0.5 * t
    return out


compiled_cubic = numba.njit(cubic)
compiled_level = numba.njit(lambda t, y: y[0] - 0.5)


@pytest.mark.parametrize(("name", "dt"), [("rk4", 0.01), ("dop853", None), ("adaptive_euler", None)])
def test_compiled_and_plain_functions_give_the_same_bits(name, dt):
    plain = solve(cubic, [1.0, 0.0], 0.0, 3.0, name, dt=dt, rtol=1e-4, events=[lambda t, y: y[0] - 0.5])
    compiled = solve(compiled_cubic, [1.0, 0.0], 0.0, 3.0, name, dt=dt, rtol=1e-4, events=[compiled_level])
    np.testing.assert_array_equal(plain.t, compiled.t)
    np.testing.assert_array_equal(plain.y, compiled.y)
    assert plain.event_times[0].tolist() == compiled.event_times[0].tolist() != []
    assert plain.evaluations == compiled.evaluations


def test_evaluations_are_counted():
    calls = []
    run = solve(lambda t, y: calls.append(t) or oscillator(t, y), [1.0, 0.0], 0.0, 5.0)
    assert run.evaluations == len(calls) - 1  # f is called once by `solve` itself, to look at what it returns


@pytest.mark.parametrize(("name", "dt"), [("dormand_prince", None), ("rk4", 0.1)])
def test_a_function_that_raises_keeps_the_partial_solution(name, dt):
    def fails(t, y):
        if t > 1.0:
            raise LookupError("no table beyond 1 s")
        return -y

    with pytest.raises(IntegrationError, match=r"LookupError: no table beyond 1 s") as caught:
        solve(fails, [1.0], 0.0, 2.0, name, dt=dt)
    assert isinstance(caught.value.__cause__, LookupError)
    assert "in the step from t = " in caught.value.__cause__.__notes__[0]
    partial = caught.value.solution
    assert 0.3 < partial.t[-1] <= 1.0 + 1e-12
    np.testing.assert_allclose(partial.y[:, 0], np.exp(-partial.t), rtol=1e-5)


def test_an_event_function_that_raises_is_reported():
    def level(t, y):
        if t > 0.5:
            raise LookupError("beyond")
        return 1.0

    with pytest.raises(IntegrationError, match="LookupError") as caught:
        solve(oscillator, [1.0, 0.0], 0.0, 2.0, "rk4", dt=0.1, events=[level])
    assert caught.value.solution.t[-1] == pytest.approx(0.5)


def test_keyboard_interrupt_is_not_wrapped():
    def interrupted(t, y):
        if t > 0.5:
            raise KeyboardInterrupt
        return -y

    with pytest.raises(KeyboardInterrupt):
        solve(interrupted, [1.0], 0.0, 2.0, "rk4", dt=0.1)


def test_a_change_of_shape_is_reported():
    with pytest.raises(IntegrationError, match=r"shape \(3,\)"):
        solve(lambda t, y: np.zeros(2 if t < 0.5 else 3), [1.0, 0.0], 0.0, 2.0, "rk4", dt=0.1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "rk5"}, "unknown method 'rk5'; choose one of euler, .*dop853"),
        ({"method": "rk4"}, "give dt"),
        ({"dt": 0.0}, "dt must be positive"),
        ({"dt": -0.1}, "dt must be positive"),
        ({"dt": np.nan}, "dt must be positive"),
        ({"y0": [1.0, np.nan]}, "y0 must be finite, but its number 1"),
        ({"y0": [[1.0, 0.0]]}, "y0 must be a vector"),
        ({"y0": []}, "y0 must be a vector"),
        ({"y0": [1.0, 0.0, 0.0]}, r"has shape \(2,\), but y0 has shape \(3,\)"),
        ({"t1": -1.0}, "t0 ≤ t1"),
        ({"t1": np.inf}, "finite"),
        ({"rtol": -1.0}, "rtol and atol"),
        ({"rtol": 0.0, "atol": 0.0}, "rtol and atol"),
        ({"times": [0.5, 0.2]}, "strictly increasing"),
        ({"times": [0.5, 1.2]}, "lie in"),
        ({"times": [0.5], "dense": True}, "exclude each other"),
        ({"max_steps": 0}, "max_steps"),
        ({"max_step": 0.0}, "max_step must"),
        ({"events": [Event(lambda t, y: t, direction=2)]}, "direction"),
        ({"f": lambda t, y: y / 0.0}, r"f\(t0, y0\) must be finite"),
        ({"f": lambda t, y: y[:1], "y0": [1.0, 2.0, 3.0], "method": "symplectic_euler", "dt": 0.1}, "half and half"),
    ],
)
def test_bad_input_is_refused(changes, message):
    arguments = {"f": oscillator, "y0": [1.0, 0.0], "t0": 0.0, "t1": 1.0} | changes
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=message):
        solve(**arguments)


def test_y0_is_not_changed():
    y0 = np.array([1.0, 0.0])
    solve(oscillator, y0, 0.0, 1.0)
    np.testing.assert_array_equal(y0, [1.0, 0.0])


def test_the_names():
    assert {"euler", "midpoint", "rk4", "bogacki_shampine", "dormand_prince", "dop853"} < set(method_names)
    assert {"adaptive_euler", "symplectic_euler"} < set(method_names)
