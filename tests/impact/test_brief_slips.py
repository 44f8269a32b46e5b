"""Contacts that slip, or let go, for a moment within a step: beside theory, however long the steps are."""

import numpy as np
import pytest
from numba import njit
from scipy.integrate import quad
from scipy.optimize import brentq

import dalembert as dal

from .scenes import G

MU, RATE = 0.3, 20.0


def shaken(ratio):
    """A block on a table that moves as A sin(ω t), with A ω² = ratio μ g."""
    size = ratio * MU * G / RATE**2

    @njit
    def motion(t):
        return (size * np.sin(RATE * t), 0.0, -0.05)

    scene = dal.Scene("shaken", gravity=(0, 0, -G), material=dal.Material(friction=MU))
    scene.add_body("table", dal.Box(4, 4, 0.1), motion=motion)
    scene.add_body("block", dal.Box(0.2, 0.2, 0.1), mass=1.0, position=(0, 0, 0.05), velocity=(size * RATE, 0, 0))
    return scene


def one_slip(ratio):
    """(heat of a slip in J, its begin and end as angles ω t): friction μ m g decelerates the block evenly meanwhile."""
    begin = np.arcsin(1.0 / ratio)

    def speed(angle):  # of the table beside the block, over μ g/ω; its acceleration is −ratio sin(ω t)
        return ratio * (np.cos(angle) - np.cos(begin)) + angle - begin

    end = brentq(speed, np.pi / 2, np.pi)
    return (MU * G) ** 2 / RATE**2 * quad(lambda angle: abs(speed(angle)), begin, end)[0], begin, end


@pytest.mark.parametrize("method", ["dormand_prince", "dop853"])
@pytest.mark.parametrize("ratio", [1.05, 1.01])
def test_each_slip_of_a_block_on_a_shaken_table_is_found(method, ratio):
    heat, begin, end = one_slip(ratio)
    run = dal.simulate(shaken(ratio), 1.0, method=method, frame_rate=5)
    slips = sorted({round(event.time, 7) for event in run.contact_events if event.kind == "slips"})
    sticks = sorted({round(event.time, 7) for event in run.contact_events if event.kind == "sticks"})
    turns = np.pi * np.arange(6)
    np.testing.assert_allclose(slips, (begin + turns) / RATE, atol=1e-5)
    np.testing.assert_allclose(sticks, (end + turns) / RATE, atol=1e-5)
    assert -run.report.work["contact: friction"] == pytest.approx(6 * heat, rel=1e-3)


def test_a_block_that_is_shaken_a_little_less_sticks_all_the_time():
    run = dal.simulate(shaken(0.99), 1.0, method="dormand_prince", frame_rate=5)
    assert [event.kind for event in run.contact_events if event.time > 0.0] == []
    assert abs(run.report.work["contact: friction"]) < 1e-7


def test_a_block_parts_from_a_table_that_falls_a_little_faster_than_it_for_a_moment():
    size = 1.01 * G / RATE**2

    @njit
    def motion(t):
        return (0.0, 0.0, size * np.sin(RATE * t) - 0.05)

    scene = dal.Scene("shaken", gravity=(0, 0, -G), material=dal.Material(friction=MU))
    scene.add_body("table", dal.Box(4, 4, 0.1), motion=motion)
    scene.add_body("block", dal.Box(0.2, 0.2, 0.1), mass=1.0, position=(0, 0, 0.05), velocity=(0, 0, size * RATE))
    run = dal.simulate(scene, 0.9, method="dop853", frame_rate=2)
    parts = sorted({round(event.time, 7) for event in run.contact_events if event.kind == "parts"})
    np.testing.assert_allclose(parts, (np.arcsin(1.0 / 1.01) + 2.0 * np.pi * np.arange(3)) / RATE, atol=1e-6)
