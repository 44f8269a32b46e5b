"""Mechanisms whose joints depend on each other, in maximal coordinates, by the methods of integration."""

import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dalembert as dal


def four_bar(turn=(0.3, 0.2, 0.5)):
    """A four-bar linkage in free fall on a spring: four hinges of 20 rows leave four bodies a freedom of the linkage."""
    turned = Rotation.from_rotvec(turn)
    q = np.roll(turned.as_quat(), 1)
    scene = dal.Scene("four-bar")
    for name, size, mass, at in (
        ("base", (1, 0.1, 0.1), 3.0, (0, 0, 0)), ("crank", (0.05, 0.05, 0.3), 1.0, (-0.5, 0, 0.15)),
        ("rocker", (0.05, 0.05, 0.3), 1.0, (0.5, 0, 0.15)), ("coupler", (1, 0.05, 0.05), 1.0, (0, 0, 0.3)),
    ):  # fmt: skip
        scene.add_body(name, dal.Box(*size), mass=mass, position=turned.apply(at), orientation=q)
    for name, a, b, at in (
        ("A", "base", "crank", (-0.5, 0, 0)), ("B", "crank", "coupler", (-0.5, 0, 0.3)),
        ("C", "coupler", "rocker", (0.5, 0, 0.3)), ("D", "rocker", "base", (0.5, 0, 0)),
    ):  # fmt: skip
        scene.hinge(name, a, b, turned.apply(at), turned.apply((0, 1, 0)))
    scene.spring("spring", dal.WORLD, "coupler", turned.apply((1, 0, 0.5)), turned.apply((0.3, 0, 0.3)), stiffness=30.0)
    return scene


def test_redundant_joints_cost_neither_accuracy_nor_steps():
    """Rows that depend on each other where joints are closed hold nothing where a stage opens them."""
    exact = dal.simulate(four_bar(), 0.5, coordinates="joint", rtol=1e-11)
    fixed = dal.simulate(four_bar(), 0.5, method="rk4", dt=2e-3)
    assert np.allclose(fixed.state.position, exact.state.position, atol=1e-8)
    assert abs(fixed.report.constraint_work) < 1e-8 and abs(fixed.report.energy_residual) < 1e-8
    adaptive = dal.simulate(four_bar(), 0.5, rtol=1e-5)
    steps = dal.simulate(four_bar((0.0, 0.0, 0.0)), 0.5, rtol=1e-5).report.steps
    assert adaptive.report.steps <= 1.5 * steps and abs(adaptive.report.constraint_work) < 1e-7


def test_the_work_of_a_base_does_not_depend_on_how_many_welds_hold_its_load():
    works = []
    for welds in (1, 2, 3):

        def turn(t):
            half = 0.25 * (1 - np.cos(10 * t))
            return (0, 0, 0, np.cos(half), 0, 0, np.sin(half))

        scene = dal.Scene("welded", gravity=(0, 0, 0))
        scene.add_body("base", dal.Box(0.2, 0.2, 0.2), motion=turn)
        scene.add_body("load", dal.Box(0.3, 0.05, 0.05), mass=2.0, position=(0.3, 0, 0))
        for i in range(welds):
            scene.weld(f"weld {i}", "base", "load", (0.1 * i, 0, 0))
        report = dal.simulate(scene, 0.2, rtol=1e-7).report
        works.append(report.work["base"])
        assert abs(report.energy_residual) < 1e-6 and abs(report.constraint_work) < 1e-6
    assert works[1] == pytest.approx(works[0], rel=1e-7) and works[2] == pytest.approx(works[0], rel=1e-7)


def test_redundant_joints_share_a_load_evenly_in_every_frame():
    scene = dal.Scene("shelf")
    scene.add_body("shelf", dal.Box(1.0, 0.2, 0.05), mass=2.0, angular_velocity=(0, 0, 0))
    scene.hinge("left", dal.WORLD, "shelf", (-0.4, 0, 0), (1, 0, 0))
    scene.hinge("right", dal.WORLD, "shelf", (0.4, 0, 0), (1, 0, 0))
    run = dal.simulate(scene, 0.5, rtol=1e-8)
    force = np.asarray(run.trajectory.reaction_force)
    assert np.allclose(force[:, 0], force[:, 1], atol=1e-8)


@pytest.mark.parametrize("method", [{"rtol": 1e-7}, {"method": "rk4", "dt": 2e-3}], ids=["adaptive", "rk4"])
def test_a_copy_of_a_run_with_redundant_joints_goes_on_with_the_same_bits(method):
    run = dal.Simulation(four_bar(), **method)
    run.advance(0.2)
    copies = [run.copy(), pickle.loads(pickle.dumps(run)), dal.Simulation(four_bar(), **method).resume(run.trajectory)]
    run.advance(0.2)
    for each in copies:
        each.advance(0.2)
        assert np.array_equal(run.state.position, each.state.position)
