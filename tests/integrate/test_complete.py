"""The driver's contract with `complete`, with a system of our own behind a C pointer."""

import ctypes

import numpy as np
import pytest

from dalembert.core.c_function import C_TYPE, COMPLETE, COMPLETE_EVALUATED, view
from dalembert.core.status import OK, PASSED_THROUGH
from dalembert.integrate import METHODS
from dalembert.integrate.driver import RECORD, OdeStepper, make_record
from dalembert.integrate.state import Functions, make_clock, make_options, make_work


class Circle:
    """y' = (-y1, y0), completed onto the unit circle; `times` are those of the completions."""

    def __init__(self):
        self.times = []
        self.callback = C_TYPE(self.call)
        address = ctypes.cast(self.callback, ctypes.c_void_p).value
        self.functions = Functions(address, 0, 1, np.empty(0, np.int64), np.empty(0, np.int64))

    def call(self, data, task, t, source, n, target, m):
        y, dydt = view(source, n), view(target, m)
        if task in (COMPLETE, COMPLETE_EVALUATED):
            y /= np.hypot(*y)
            self.times.append(t)
        dydt[:] = -y[1], y[0]
        return PASSED_THROUGH + 7 if task in (COMPLETE, COMPLETE_EVALUATED) and t > 2.0 else OK


def run(name, adaptive, t_ends, land=True):
    options = make_options(METHODS[name], 2, adaptive=adaptive, land=land)
    circle, y, dydt = Circle(), np.array([1.0, 0.0]), np.full(2, np.nan)
    work, clock = make_work(options), make_clock(0.0, 0.0 if adaptive else 0.1)
    for t_end in t_ends:
        record = make_record(np.array([t_end]), False, 10_000, 1, 2, 0)
        status = OdeStepper(circle.functions, options, work, clock, record).call(RECORD, 0.0, y, dydt)
    return status, y, dydt, clock[0], circle.times


@pytest.mark.parametrize(("name", "adaptive"), [("euler", False), ("rk4", False), ("dormand_prince", True)])
def test_the_state_is_completed_at_the_start_and_after_each_step(name, adaptive):
    status, y, dydt, now, calls = run(name, adaptive, [1.0])
    assert status == OK
    assert len(calls) == now.steps + 1
    assert np.hypot(*y) == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_array_equal(dydt, [-y[1], y[0]])
    assert now.t == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("name", ["euler", "rk4"])
def test_calling_again_and_again_changes_no_bit(name):
    once, again = run(name, False, [1.5]), run(name, False, np.linspace(0.1, 1.5, 15))
    np.testing.assert_array_equal(once[1], again[1])
    assert once[3].t == again[3].t
    assert once[4] == again[4]


def test_whole_steps_only_unless_told_to_land():
    assert run("rk4", False, [0.25], land=False)[3].t == 3 * 0.1
    assert run("rk4", False, [0.25], land=True)[3].t == 0.25
    assert run("rk4", False, [0.3 + 1e-12], land=False)[3].steps == 3


def test_a_code_is_passed_through_and_the_last_good_state_kept():
    status, y, dydt, now, _ = run("rk4", False, [5.0])
    assert status == PASSED_THROUGH + 7
    assert now.t == 2.0
    np.testing.assert_allclose(y, [np.cos(2.0), np.sin(2.0)], atol=1e-5)
    np.testing.assert_array_equal(dydt, [-y[1], y[0]])
