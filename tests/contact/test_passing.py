"""Fast bodies that pass each other closely are not deflected, and those that meet do so with the normal of the place where
they meet: free flight and the collision of two balls, in closed form, and smaller steps as the reference for other shapes."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.contact.continuous import SAME_NORMAL

RADIUS, DT = 0.05, 1 / 60


def two(shape, offset, speed, later=0.0, restitution=0.0, rng=None, dt=DT, coordinates="maximal"):
    """The run of two bodies that fly at each other along x, at half the speed (m/s) each, `offset` (m, along y and z) apart;
    `later` : by so much of a step."""
    scene = dal.Scene("two", material=dal.Material(0.0, restitution), gravity=(0.0, 0.0, 0.0))
    for sign in (-1.0, 1.0):
        turned = {}
        if rng is not None:
            turned = {"orientation": rng.normal(size=4), "angular_velocity": 3.0 * rng.normal(size=3)}
        scene.add_body(
            f"body {sign:+.0f}", shape, mass=1.0, velocity=(-0.5 * sign * speed, 0.0, 0.0), **turned,
            position=(sign * (0.25 + 0.5 * later * speed * DT), 0.5 * sign * offset[0], 0.5 * sign * offset[1]),
        )  # fmt: skip
    return dal.simulate(scene, 0.6 / speed + 4 * DT, dt=dt, coordinates=coordinates)


def flight(speed):
    """The velocities of both if they never meet."""
    return np.array(((0.5 * speed, 0.0, 0.0), (-0.5 * speed, 0.0, 0.0)))


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize("clearance", [0.001, 0.004, 0.02])
@pytest.mark.parametrize("speed", [1.0, 2.0, 10.0])
def test_balls_that_pass_each_other_fly_on(speed, clearance, coordinates):
    for later in np.linspace(0.0, 1.0, 8, endpoint=False):
        run = two(dal.Sphere(RADIUS), (2 * RADIUS + clearance, 0.0), speed, later, coordinates=coordinates)
        np.testing.assert_array_equal(run.state.velocity, flight(speed))


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.sampled(2)
def test_balls_that_meet_off_their_centres_leave_along_the_line_between_these(restitution, coordinates):
    rng = np.random.default_rng(3)
    errors = []
    for _ in range(60):
        speed, offset = rng.uniform(1.0, 12.0), rng.uniform(0.0, 1.9 * RADIUS)
        run = two(dal.Sphere(RADIUS), (offset, 0.0), speed, rng.random(), restitution, coordinates=coordinates)
        normal = np.array((np.sqrt(4 * RADIUS**2 - offset**2), offset, 0.0)) / (2 * RADIUS)
        push = 0.5 * (1.0 + restitution) * speed * normal[0] * normal
        errors.append(np.abs(run.state.velocity - flight(speed) - (-push, push)).max() / speed)
    assert np.median(errors) < 0.005
    assert np.quantile(errors, 0.9) < 0.015
    assert max(errors) < 0.04


@pytest.mark.parametrize("kind", ["box", "capsule", "hull"])
@pytest.mark.sampled(3)
def test_bodies_that_turn_meet_or_pass_each_other_in_large_steps_as_they_do_in_small_ones(kind):
    """A graze that is no deeper than a twentieth of half their thickness may be missed."""
    rng = np.random.default_rng(5)
    points = rng.normal(size=(14, 3))
    shape = {
        "box": dal.Box(0.08, 0.1, 0.06), "capsule": dal.Capsule(0.03, 0.1),
        "hull": dal.ConvexHull(RADIUS * points / np.linalg.norm(points, axis=1)[:, None]),
    }[kind]  # fmt: skip
    passes, errors = 0, []
    for number in range(60):
        speed, offset = rng.uniform(1.0, 8.0), rng.uniform(-0.12, 0.12, size=2)
        small, large = (
            two(shape, offset, speed, 0.37, rng=np.random.default_rng(number), dt=dt).state.velocity
            for dt in (min(5e-4, 2e-3 / speed), DT)
        )
        if np.abs(small - flight(speed)).max() < 1e-12:
            passes += 1
            np.testing.assert_allclose(large, flight(speed), atol=1e-12, err_msg=f"pair {number}")
        else:
            errors.append(np.abs(large - small).max() / speed)
    assert passes > 15 and len(errors) > 15
    assert np.median(errors) < 0.02 and max(errors) < 0.15


@pytest.mark.parametrize("offset", [0.05, 0.12, 0.153, 0.16])
@pytest.mark.parametrize("speed", [2.0, 8.0])
def test_a_ball_leaves_a_ball_that_moves_by_command_along_the_line_between_the_centres_or_rests(speed, offset):
    radii = 0.1 + RADIUS
    close = 1.5 * np.arccos(SAME_NORMAL) * speed  # (1 + e) times the angle that a normal may be off by
    normal = np.array((np.sqrt(max(radii**2 - offset**2, 0.0)), offset, 0.0)) / radii
    expected = 1.5 * speed * normal[0] * normal if offset < radii else np.zeros(3)
    for later in np.linspace(0.0, 1.0, 6, endpoint=False):
        scene = dal.Scene("bat", material=dal.Material(0.0, 0.5), gravity=(0.0, 0.0, 0.0))
        scene.add_body(
            "bat",
            dal.Sphere(0.1),
            position=(-1.0 - later * speed * DT, 0.0, 0.0),
            velocity=(speed, 0.0, 0.0),
            motion="set",
        )
        scene.add_body("ball", dal.Sphere(RADIUS), mass=1.0, position=(0.0, offset, 0.0))
        run = dal.simulate(scene, 1.6 / speed + 0.1, dt=DT)
        assert np.abs(run["ball"].velocity - expected).max() <= (close if offset < radii else 0.0)


def corners(*half):
    return np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]) * half


BLOCKS = {
    "box": dal.Box(0.5, 1.0, 0.4), "hull": dal.ConvexHull(corners(0.25, 0.5, 0.2)),
    "mesh": dal.Mesh(*dal.Box(0.5, 1.0, 0.4).triangles()),
    "compound": dal.Compound([(dal.Box(0.5, 0.5, 0.4), (0, y, 0)) for y in (-0.25, 0.25)]),
}  # fmt: skip
FLYERS = {
    "box": dal.Box(0.2, 0.2, 0.2), "hull": dal.ConvexHull(corners(0.1, 0.1, 0.1)), "cylinder": dal.Cylinder(0.1, 0.2),
}  # fmt: skip


def past_a_block(block, flyer, gap, speed, *, over, coordinates="maximal", dt=2e-3):
    """The velocity along its way of a body that flies at `speed` (m/s) past the upper edge of a block, `gap` (m) over it or
    beside it."""
    scene = dal.Scene("edge", gravity=(0, 0, 0), material=dal.Material(0.0))
    scene.add_obstacle("block", BLOCKS[block], position=(0.25, 0, -0.2))
    position, velocity = ((-0.2, 0, 0.1 + gap), (speed, 0, 0)) if over else ((-0.1 - gap, 0, 0.2), (0, 0, -speed))
    scene.add_body("body", FLYERS[flyer], mass=1.0, position=position, velocity=velocity)
    run = dal.simulate(scene, 0.3 / speed, dt=dt, coordinates=coordinates)
    return run.state.velocity[0], np.array(velocity)


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
@pytest.mark.parametrize("flyer", FLYERS)
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("over", [True, False], ids=["over", "beside"])
@pytest.mark.sampled(4)
def test_what_flies_closely_past_an_edge_flies_on(over, block, flyer, coordinates):
    """Before the edge is beside the body, the way to it leads ahead; a contact there would stop the body."""
    for gap in (1e-9, 1e-6, 1e-4, 1e-3, 3e-3):
        for speed in (0.1, 1.0, 5.0):
            found, expected = past_a_block(block, flyer, gap, speed, over=over, coordinates=coordinates)
            np.testing.assert_allclose(found, expected, atol=1e-12, err_msg=f"{gap} m, {speed} m/s")


@pytest.mark.parametrize("flyer", FLYERS)
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("over", [True, False], ids=["over", "beside"])
@pytest.mark.sampled(3)
def test_what_meets_an_edge_by_a_millimetre_is_stopped_by_it(over, block, flyer):
    for speed in (0.1, 1.0, 5.0):
        found, before = past_a_block(block, flyer, -1e-3, speed, over=over)
        assert before @ found < 0.6 * speed**2


@pytest.mark.parametrize("coordinates", ["maximal", "joint"])
def test_two_boxes_that_pass_each_other_by_a_micrometre_fly_on(coordinates):
    for gap in (1e-6, 1e-4, 2e-3):
        run = two(dal.Box(0.1, 0.1, 0.1), (0.1 + gap, 0.03), 1.0, dt=4e-3, coordinates=coordinates)
        np.testing.assert_array_equal(run.state.velocity, flight(1.0))
