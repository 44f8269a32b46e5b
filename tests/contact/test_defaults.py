"""With default settings contact is solved: thresholds of sliding, toppling and slipping are where statics has them, what is
held does not creep, and heaps come to rest and sleep."""

import math

import numpy as np
import pytest

import dalembert as dal

G = 9.81
DT = 1 / 240
NEAR = 1e-3  # on either side of a threshold


def tilted(angle, friction, shape, height):
    """A box on the ground, with gravity inclined by an angle (rad)."""
    gravity = (G * math.sin(angle), 0.0, -G * math.cos(angle))
    scene = dal.Scene("slope", gravity=gravity, material=dal.Material(friction))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("box", shape, mass=2.0, position=(0.0, 0.0, 0.5 * height))
    return scene


def solved(scene, duration=1.0):
    run = dal.simulate(scene, duration, dt=DT)
    assert run.report.contact.unsolved == 0
    return run


def test_a_block_slides_just_above_the_angle_of_friction_and_not_just_below():
    slides, sticks = (math.atan(0.5 * (1.0 + share)) for share in (NEAR, -NEAR))
    run = solved(tilted(slides, 0.5, dal.Box(1.0, 0.6, 0.4), 0.4))
    expected = G * (math.sin(slides) - 0.5 * math.cos(slides))
    assert run.state.velocity[0, 0] == pytest.approx(expected, rel=1e-6)
    run = solved(tilted(sticks, 0.5, dal.Box(1.0, 0.6, 0.4), 0.4))
    assert np.abs(run.state.velocity).max() < 1e-9


def test_a_box_topples_where_its_weight_passes_its_edge():
    topples, stands = (math.atan(0.5 * (1.0 + share)) for share in (NEAR, -NEAR))
    falling = solved(tilted(topples, 2.0, dal.Box(0.5, 0.5, 1.0), 1.0)).state.angular_velocity[0, 1]
    inertia = 2.0 * (0.25 + 1.0) / 12.0 + 2.0 * (0.0625 + 0.25)
    at_first = 2.0 * G * (0.5 * math.sin(topples) - 0.25 * math.cos(topples)) / inertia
    assert at_first < falling < 10.0 * at_first  # it grows as it tilts
    assert np.abs(solved(tilted(stands, 2.0, dal.Box(0.5, 0.5, 1.0), 1.0)).state.angular_velocity).max() < 1e-9


def ladder(friction, angle, length, radius):
    """A rod that leans on a smooth wall at an angle (rad) to it."""
    scene = dal.Scene("ladder", material=dal.Material(friction))
    scene.add_obstacle("ground", dal.HalfSpace())
    half = 0.25 * math.pi
    scene.add_obstacle("wall", dal.HalfSpace(), orientation=(math.cos(half), 0.0, -math.sin(half), 0.0))
    scene.add_body(
        "ladder", dal.Capsule(radius, length), mass=5.0,
        orientation=(math.cos(0.5 * angle), 0.0, math.sin(0.5 * angle), 0.0),
        position=(-radius - 0.5 * length * math.sin(angle), 0.0, radius + 0.5 * length * math.cos(angle)),
    )  # fmt: skip
    scene.set_contact("ladder", "wall", friction=0.0)
    return scene


def test_a_ladder_slips_just_below_the_friction_that_holds_it():
    angle, length, radius = math.radians(30.0), 2.0, 0.02
    needed = 0.5 * length * math.sin(angle) / (length * math.cos(angle) + radius)
    assert np.abs(solved(ladder(needed * (1.0 + NEAR), angle, length, radius)).state.velocity).max() < 1e-6
    assert np.abs(solved(ladder(needed * (1.0 - NEAR), angle, length, radius)).state.velocity).max() > 1e-3


@pytest.mark.parametrize("shape", [dal.Capsule(0.05, 0.3), dal.Box(0.1, 0.2, 0.3)])
def test_what_is_pinched_does_not_creep_in_a_minute(shape):
    scene = dal.Scene("grip", gravity=(-9.0, 0.0, -3.0), material=dal.Material(0.5))
    scene.add_obstacle("wall", dal.Box(1.0, 1.0, 1.0), position=(-0.55, 0.0, 0.0))
    scene.add_body("held", shape, mass=1.0, position=(0.0, 0.0, 0.0))
    pad = scene.add_body("pad", dal.Box(0.1, 0.6, 0.6), mass=1.0, position=(0.1, 0.0, 0.0))
    scene.slider("rail", dal.WORLD, pad, at=(0.1, 0.0, 0.0), axis=(1.0, 0.0, 0.0))
    run = solved(scene, 60.0)
    assert np.abs(run.state.position[0]).max() < 1e-6


def test_heavy_boxes_on_light_ones_leave_no_overlap():
    scene = dal.Scene("ratio", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    for i, mass in enumerate((1.0, 100.0, 1.0, 100.0)):
        scene.add_body(f"box {i}", dal.Box(1, 1, 1), mass=mass, position=(0.05 * i, 0.0, 0.5 + i))
    run = solved(scene)
    assert run.report.contact.penetration < 1e-6
    assert np.abs(run.state.velocity).max() < 1e-6


def heap():
    """Ten boxes that fall into a heap."""
    rng = np.random.default_rng(3)
    scene = dal.Scene("heap", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    for i in range(10):
        place = (0.1 * rng.normal(), 0.1 * rng.normal(), 0.2 + 0.25 * i)
        scene.add_body(
            f"box {i}", dal.Box(0.15, 0.15, 0.15), density=1000.0, orientation=rng.normal(size=4), position=place
        )
    return scene


def test_a_heap_comes_to_rest_and_then_sleeps():
    run = dal.Simulation(heap(), dt=1 / 120, sleep_after=0.5)
    awake = dal.simulate(heap(), 4.0, dt=1 / 120)
    assert np.median(np.linalg.norm(awake.state.velocity, axis=1)) < 1e-4
    run.advance(4.0)
    assert len(run.asleep) == 10
