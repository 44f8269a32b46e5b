"""Time steps of mechanisms, whose joints or loops are open in the middle of a step: linkages with more rows than they need,
and springs on joints. Integration methods, where joints are always closed, are an oracle."""

import numpy as np
import pytest
from tests.random_scenes.mechanisms import random_mechanism

import dalembert as dal

DURATION = 0.2
SEEDS = {"polygon": (3, 13), "spherical": (4, 14, 24, 34, 44, 64, 94), "platform": (9,), "shafts": (6,)}


def linkage(seed):
    """A closed linkage in motion, with a stop that it never reaches, so that time steps take it."""
    scene = random_mechanism(seed, forces=False)
    joint = next(joint for joint in scene.joints.values() if joint.angle or joint.displacement)
    scene.limit("stop", joint, lower=-1e3, upper=1e3)
    return scene


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize("family, seed", [(family, seed) for family, seeds in SEEDS.items() for seed in seeds])
def test_linkages_with_redundant_joints_keep_their_energy_and_move_to_the_second_order(family, seed, coordinates):
    """Their rows are independent where bodies have drifted out of the plane, or off the point, that the axes have in common;
    they would hold the linkage there, which lost most of its energy in a fifth of a second."""
    scene = random_mechanism(seed, forces=False)
    assert scene.description == family
    exact = dal.simulate(scene, DURATION, method="dop853", rtol=1e-9).state.position
    errors = []
    for dt in (2e-3, 5e-4):
        run = dal.simulate(linkage(seed), DURATION, method="time_stepping", dt=dt, coordinates=coordinates)
        errors.append(np.abs(run.state.position - exact).max())
        assert run.report.energy_residual_relative < 10.0 * dt**2
        assert abs(run.report.constraint_work) < 1e-9 * run.report.energy_scale
    assert errors[0] < 1e-3 and errors[1] < max(errors[0] / 12.0, 1e-8)


def test_a_linkage_that_starts_straight_does_not_come_apart():
    """Where all four bars lie on a line more rows depend on each other than elsewhere: they count again when it bends."""
    scene = dal.Scene("four bars", gravity=(0, 0, -9.81))
    bars, at = [dal.WORLD], 0.0
    for i, length in enumerate((0.3, 0.5, 0.4)):
        bars.append(
            scene.add_body(f"bar {i}", dal.Box(length, 0.04, 0.04), mass=1.0, position=(at + 0.5 * length, 0, 0))
        )
        scene.hinge(f"pin {i}", bars[-2], bars[-1], (at, 0, 0), axis=(0, 1, 0))
        at += length
    scene.hinge("last", bars[-1], dal.WORLD, (at, 0, 0), axis=(0, 1, 0))
    scene.add_obstacle("ground", dal.HalfSpace(), position=(0, 0, -5), material=dal.Material(0.5))
    scene.external_force("push", "bar 1", force=(0, 0, -30.0))
    run = dal.simulate(scene, 0.5, method="time_stepping", dt=1e-3, assemble=True)
    assert run.report.joint_error < 1e-9


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_a_spring_on_a_joint_does_no_work_where_a_run_begins(coordinates):
    scene = dal.Scene("spring", material=dal.Material(0.5))
    rod = scene.add_body("rod", dal.Box(0.4, 0.1, 0.1), mass=1.0, position=(0.2, 0, 0), velocity=(0, 0, -0.4),
                         angular_velocity=(0, 2.0, 0))  # fmt: skip
    scene.hinge("pin", dal.WORLD, rod, (0, 0, 0), axis=(0, 1, 0))
    scene.torsion_spring("spring", "pin", stiffness=20.0, rest=0.5)
    run = dal.Simulation(scene, method="time_stepping", dt=1e-3, coordinates=coordinates)
    assert run.report.work["spring"] == 0.0
    run.advance(0.3)
    assert abs(run.report.work["spring"]) < 1e-12 and run.report.energy_residual_relative < 1e-4


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_a_spring_on_a_joint_does_no_work_in_impacts_on_the_way(coordinates):
    """A fast ball hits a rod with a spring on its hinge within the steps."""
    scene = dal.Scene("hit", gravity=(0, 0, 0), material=dal.Material(0.0, restitution=1.0))
    rod = scene.add_body("rod", dal.Box(0.4, 0.1, 0.02), mass=1.0, position=(0.2, 0, 0))
    scene.hinge("pin", dal.WORLD, rod, (0, 0, 0), axis=(0, 1, 0))
    scene.torsion_spring("spring", "pin", stiffness=200.0, rest=1.0)
    scene.add_body("ball", dal.Sphere(0.02), mass=0.05, position=(0.3, 0, 1.0), velocity=(0, 0, -60.0))
    run = dal.simulate(scene, 0.05, method="time_stepping", dt=2e-3, coordinates=coordinates)
    assert run.report.contact.impacts > 0
    assert abs(run.report.work["spring"]) < 1e-9
