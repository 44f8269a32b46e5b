"""Velocities and accelerations of motions that are functions of time have the accuracy that the documentation states."""

import math

import numpy as np
import pytest

from dalembert.model.user_functions import is_analytic, motion_adapter

FREQUENCIES = [0.5, 3.0, 50.0, 500.0]


def taken(function, t, size):
    return np.asarray(motion_adapter(function, size).plain()(t, np.zeros(1))).reshape(3, size)


@pytest.mark.parametrize("frequency", FREQUENCIES)
def test_analytic_functions_have_exact_velocities(frequency):
    def motion(t):
        return 0.3 * np.sin(frequency * t)

    assert is_analytic(motion, 1)
    for t in (0.0, 0.3, 2.0):
        value, rate, second = taken(motion, t, 1)[:, 0]
        assert value == 0.3 * np.sin(frequency * t)
        assert abs(rate - 0.3 * frequency * np.cos(frequency * t)) < 1e-13 * frequency
        assert abs(second + 0.3 * frequency**2 * np.sin(frequency * t)) < 1e-10 * 0.3 * frequency**2 + 1e-9 * frequency


@pytest.mark.parametrize("frequency", FREQUENCIES)
def test_other_functions_are_differentiated_by_differences(frequency):
    def motion(t):
        return 0.3 * math.sin(frequency * t)  # takes no complex number

    assert not is_analytic(motion, 1)
    for t in (0.1, 0.3, 2.0):
        _, rate, second = taken(motion, t, 1)[:, 0]
        assert abs(rate - 0.3 * frequency * np.cos(frequency * t)) < 5e-6 * 0.3 * frequency + 1e-11
        assert abs(second + 0.3 * frequency**2 * np.sin(frequency * t)) < 5e-6 * 0.3 * frequency**2 + 1e-6


def test_functions_of_which_complex_times_know_nothing_are_found_out():
    assert not is_analytic(lambda t: abs(t - 0.1), 1)
    assert not is_analytic(lambda t: np.real(t) ** 2, 1)
    assert not is_analytic(lambda t: max(t, 0.5), 1)
    assert is_analytic(lambda t: (0.0, 0.0, t * t), 7)


def test_a_pose_has_the_rates_of_its_quaternion():
    def motion(t):
        return (0.0, t, 0.0, np.cos(0.5 * t * t), 0.0, 0.0, np.sin(0.5 * t * t))

    pose, rate, second = taken(motion, 0.7, 7)
    assert np.abs(rate[3:] - 0.7 * np.array([-np.sin(0.245), 0, 0, np.cos(0.245)])).max() < 1e-13
    assert rate[1] == 1.0 and abs(second[1]) < 1e-9 and pose[1] == 0.7
