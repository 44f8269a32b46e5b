"""Samples over time as inputs of motors, and files of them."""

import numpy as np
import pytest

import dalembert as dal

from .driven import rotor, spin_of


def test_samples_are_interpolated_and_held_at_both_ends():
    series = dal.TimeSeries({"motor": ([0.2, 0.4], [1.0, 3.0])}, of="effort")
    assert [series.at(t)["motor"] for t in (0.0, 0.2, 0.25, 0.4, 9.0)] == pytest.approx([1.0, 1.0, 1.5, 3.0, 3.0])
    run = dal.Simulation(rotor(), controller=series, control_rate=1000.0).advance(0.5)
    impulse = 0.2 * 1.0 + 0.2 * 2.0 + 0.1 * 3.0 - 0.5 * 1e-3 * 2.0  # held, each step as at its beginning
    assert spin_of(run) == pytest.approx(impulse / 2.0, abs=1e-9)


@pytest.mark.parametrize(
    "samples, of, pattern",
    [
        ({"motor": ([0.0, 0.0], [1.0, 2.0])}, "effort", r"'motor': times\[1\] is 0 s, after 0 s; times must increase"),
        ({"motor": ([0.0, np.nan], [1.0, 2.0])}, "effort", "times.*nan"),
        ({"motor": ([0.0, 1.0], [1.0, np.inf])}, "effort", "values.*inf"),
        ({"motor": ([0.0, 1.0], [1.0])}, "effort", "2 times and 1 values"),
        ({"motor": ([], [])}, "effort", "at least one"),
        ({}, "effort", "no samples"),
        ({"motor": ([0.0], [1.0])}, "torque", "of is 'torque'"),
    ],
)
def test_samples_that_cannot_be_played_are_refused(samples, of, pattern):
    with pytest.raises(ValueError, match=pattern):
        dal.TimeSeries(samples, of=of)


def test_samples_for_what_is_not_there_are_refused_before_the_run():
    series = dal.TimeSeries({"engine": ([0.0], [1.0])}, of="effort")
    with pytest.raises(ValueError, match="no motor 'engine'"):
        dal.Simulation(rotor(), controller=series, control_rate=10.0)


def test_samples_from_a_file(tmp_path):
    path = tmp_path / "drive.csv"
    path.write_text("time, motor, brake\n0.0, 1.0, 0\n0.5, 2e0, 1\n\n1.0, 3, 2\n")
    series = dal.TimeSeries.from_csv(path, of="effort")
    assert series.at(0.75) == {"motor": 2.5, "brake": 1.5}


@pytest.mark.parametrize(
    "text, pattern",
    [
        ("", "line 1: give names"),
        ("t,motor\n0,1\n", "line 1: give names.*'t,motor'"),
        ("time,a,a\n0,1,1\n", "line 1: column 'a' appears twice"),
        ("time,a,\n0,1,1\n", "line 1: a column has no name"),
        ("time,a\n", "no line of numbers"),
        ("time,a\n0,1\n1,fast\n", "line 3, 'a': 'fast' is not a finite number"),
        ("time,a\n0,1\n1,inf\n", "line 3, 'a': 'inf' is not a finite number"),
        ("time,a\n0,1\n1\n", "line 3: 1 values, but 2 columns"),
        ("time,a\n0,1\n0,2\n", r"times\[1\] is 0 s"),
        ("time,a\n0,\x001\n", "line 2"),
    ],
)
def test_files_of_samples_that_are_damaged_are_refused_with_the_line(tmp_path, text, pattern):
    path = tmp_path / "drive.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=pattern):
        dal.TimeSeries.from_csv(path)
