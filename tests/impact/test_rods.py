"""Thin rods by events: steps do not depend on how thin they are, and impacts are where theory puts them."""

import numpy as np
import pytest

import dalembert as dal

from .scenes import G

LENGTH = 1.0


def tilted(radius, tilt, clearance=0.0, friction=0.0, restitution=0.0, speed=0.0, floor=None):
    """A capsule whose axis is tilted by `tilt` (rad) from the level, its lower end above the ground."""
    scene = dal.Scene("rod", gravity=(0, 0, -G), material=dal.Material(friction, restitution))
    scene.add_obstacle(
        "ground", dal.HalfSpace() if floor is None else floor, position=(0, 0, 0 if floor is None else -0.5)
    )
    half = 0.5 * (0.5 * np.pi - tilt)
    scene.add_body(
        "rod", dal.Capsule(radius, LENGTH), mass=1.0, position=(0, 0, 0.5 * LENGTH * np.sin(tilt) + radius + clearance),
        orientation=(np.cos(half), 0, np.sin(half), 0), velocity=(0, 0, -speed),
    )  # fmt: skip
    return scene


def inertia_across(run):
    return float(max(np.array(run.model.tables["bodies"]["inertia"])[0][:3]))


@pytest.mark.filterwarnings("ignore:body 'rod'")
@pytest.mark.parametrize("floor", [None, dal.Box(4, 4, 1)], ids=["half-space", "box"])
@pytest.mark.parametrize("radius", [1e-2, 1e-4])
def test_the_steps_of_a_rod_that_falls_over_do_not_grow_as_it_gets_thinner(radius, floor):
    run = dal.simulate(tilted(radius, 0.4, 0.02, 0.3, floor=floor), 0.6, method="dormand_prince", frame_rate=10)
    assert run.report.steps < 300  # 90 000 and more by the spheres that hold the rod
    assert run.state.position[0, 2] == pytest.approx(radius, abs=1e-9)  # it lies
    assert [event.kind for event in run.contact_events].count("impact") == 2


@pytest.mark.parametrize("restitution", [0.0, 0.7])
@pytest.mark.parametrize("tilt", [0.2, 1.0])
def test_the_impact_of_a_falling_tilted_rod(tilt, restitution):
    run = dal.simulate(tilted(0.01, tilt, 0.05, restitution=restitution, speed=2.0), 0.03, method="dop853")
    speed = np.sqrt(2.0**2 + 2 * G * 0.05)
    event = next(event for event in run.contact_events if event.kind == "impact")
    assert event.time == pytest.approx((speed - 2.0) / G, abs=1e-11)
    arm = 0.5 * LENGTH * np.cos(tilt)
    impulse = (1 + restitution) * speed / (1.0 + arm**2 / inertia_across(run))
    assert np.linalg.norm(event.impulse) == pytest.approx(impulse, rel=1e-10)


def test_a_rod_that_slides_down_without_friction_strikes_flat_with_the_energy_of_its_height():
    tilt = 0.5
    run = dal.simulate(tilted(1e-3, tilt), 1.0, method="dormand_prince", rtol=1e-11)
    inertia, half = inertia_across(run), 0.5 * LENGTH
    # The centre falls straight down: ½ I ω² + ½ m (ω l/2)² = m g (l/2) sin θ; both ends then stop it at once.
    omega = np.sqrt(2 * G * half * np.sin(tilt) / (inertia + half**2))
    impact = next(event for event in run.contact_events if event.kind == "impact")
    assert np.linalg.norm(impact.impulse) == pytest.approx(0.5 * (half * omega + inertia * omega / half), rel=1e-8)
    assert abs(run.state.position[0, 0]) < 1e-9
    assert run.report.energy_residual_relative < 1e-9


def test_a_thin_rod_that_turns_meets_a_small_ball_in_its_way():
    """At the angle where the distance of the ball's centre from the axis of the rod is the sum of the radii."""
    scene = dal.Scene("sweep", gravity=(0, 0, 0), material=dal.Material(0.0, 1.0))
    scene.add_obstacle("ball", dal.Sphere(0.002), position=(0.4 * np.cos(1.0), 0.4 * np.sin(1.0), 0))
    scene.add_body("rod", dal.Capsule(5e-4, LENGTH), mass=1.0, orientation=(np.sqrt(0.5), 0, np.sqrt(0.5), 0),
                   angular_velocity=(0, 0, 300.0))  # fmt: skip
    run = dal.simulate(scene, 0.005, method="dormand_prince")
    first = next(event for event in run.contact_events if event.kind == "impact")
    assert first.time == pytest.approx((1.0 - np.arcsin(0.0025 / 0.4)) / 300.0, rel=1e-7)
    assert run.report.steps < 1000


def test_a_thin_plate_shot_edge_on_and_turning_does_not_pass_through_a_thin_wall():
    scene = dal.Scene("plate", gravity=(0, 0, 0), material=dal.Material(0.2, 0.3))
    scene.add_obstacle("wall", dal.Box(0.002, 2, 2), position=(1.0, 0, 0))
    scene.add_body(
        "plate", dal.Box(0.2, 0.1, 0.001), mass=0.1, velocity=(50.0, 0, 0), angular_velocity=(3.0, 60.0, 7.0)
    )
    run = dal.simulate(scene, 0.04, method="dormand_prince")
    assert any(event.kind == "impact" for event in run.contact_events)
    assert run.state.position[0, 0] < 1.0 and run.state.velocity[0, 0] < 50.0


@pytest.mark.parametrize("case", ["spins", "on a slope", "under another"])
@pytest.mark.parametrize("radius", [5e-3, 2e-3])
def test_a_thin_square_rod_rattles_no_longer_than_a_thick_one(radius, case):
    """All its corners are within the margin of detection; those below must not be missed."""
    scene, tilt = dal.Scene("rod", material=dal.Material(0.5)), 1.2 if case == "on a slope" else 0.3
    slope = 0.1 if case == "on a slope" else 0.0
    scene.add_obstacle("ground", dal.HalfSpace(), orientation=(np.cos(slope), 0, np.sin(slope), 0))
    rod, turn = dal.Box(2 * radius, 2 * radius, LENGTH), (np.cos(tilt / 2), np.sin(tilt / 2), 0, 0)
    spin = (0, -3 * np.sin(tilt), 20 * np.cos(tilt)) if case == "spins" else (0, 0, 0)
    scene.add_body("rod", rod, mass=1.0, position=(0, 0, 0.6), orientation=turn, angular_velocity=spin)
    if case == "under another":
        across = (np.cos(tilt / 2), 0, np.sin(tilt / 2), 0)
        scene.add_body("other", rod, mass=1.0, position=(0, 0, 1.2), orientation=across)
    run = dal.simulate(scene, 1.5, method="dop853", rtol=1e-8)
    assert run.report.steps < 1500  # 2 to 4 thousand in half of this time, and no end
    assert run.report.energy_residual_relative < 1e-9
    assert run.report.contact.penetration < 1e-9


@pytest.mark.parametrize("floor", [dal.HalfSpace(), dal.Box(6, 6, 1)], ids=["half-space", "box"])
def test_a_rod_that_pivots_on_one_of_two_corners_beside_each_other_does_not_creep(floor):
    """Both corners of its end slide slowly, and one of them sticks. It was tried with both only, which keeps the rod from
    turning: 40 000 steps and 700 events in 0.02 s, and no end."""
    angles = np.arange(5) * 2 * np.pi / 5
    rod = dal.ConvexHull([(0.005 * np.cos(a), 0.005 * np.sin(a), z) for a in angles for z in (-0.5, 0.5)])
    scene = dal.Scene("rod", material=dal.Material(0.4))
    scene.add_obstacle("ground", floor, position=(0, 0, -0.5 if isinstance(floor, dal.Box) else 0))
    scene.add_body(
        "rod", rod, mass=0.3, position=(0, 0, 0.6), orientation=(-1.33739724, -0.97558283, -0.02169086, 0.03472779),
        velocity=(-0.7443606, -1.28657447, 1.42237851), angular_velocity=(2.71011271, -2.24740812, -1.32396725),
    )  # fmt: skip
    run = dal.simulate(scene, 2.0, method="dop853", rtol=1e-8)
    assert run.report.steps < 1500
    assert run.report.energy_residual_relative < 1e-9
    assert np.abs(run.state.velocity).max() < 1e-9
