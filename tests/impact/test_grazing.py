"""Impacts that begin and end within a step, as bodies graze each other: beside theory, however long the steps are."""

import numpy as np
import pytest

import dalembert as dal

NO_GRAVITY = (0, 0, 0)
SMOOTH = dal.Material(friction=0.0, restitution=1.0)


def settings(method):
    return {"dt": 0.02} if method == "rk4" else {"frame_rate": 10}


def pass_by(apart, start, restitution=1.0, radius=0.1, speed=2.0):
    """A ball that flies past one at rest; the lines of their centres are `apart` (m)."""
    scene = dal.Scene("graze", material=dal.Material(friction=0.0, restitution=restitution), gravity=NO_GRAVITY)
    scene.add_body("flies", dal.Sphere(radius), mass=1.0, position=(start, 0, 0), velocity=(speed, 0, 0))
    scene.add_body("rests", dal.Sphere(radius), mass=1.0, position=(0, apart, 0))
    return scene


@pytest.mark.parametrize("method", ["dormand_prince", "dop853", "rk4"])
@pytest.mark.parametrize("overlap", [2e-3, 1e-4, 1e-6])
def test_balls_that_graze_part_along_the_line_of_their_centres(method, overlap):
    apart = 0.2 - overlap
    before = np.sqrt(0.2**2 - apart**2)
    n = np.array([before, apart, 0.0]) / 0.2
    for start in (-0.5, -0.503, -0.5171):
        run = dal.simulate(pass_by(apart, start), 0.5, method=method, **settings(method))
        assert [event.kind for event in run.contact_events] == ["impact"]
        assert run.contact_events[0].time == pytest.approx((-before - start) / 2.0, abs=1e-9)
        np.testing.assert_allclose(run.state.velocity[1], 2.0 * n[0] * n, atol=1e-7)
        np.testing.assert_allclose(run.state.velocity.sum(axis=0), [2.0, 0, 0], atol=1e-12)


@pytest.mark.parametrize("method", ["dormand_prince", "rk4"])
def test_balls_that_just_miss_each_other_keep_their_velocities(method):
    run = dal.simulate(pass_by(0.2 + 1e-7, -0.503), 0.5, method=method, **settings(method))
    assert run.contact_events == []
    np.testing.assert_array_equal(run.state.velocity, [[2.0, 0, 0], [0, 0, 0]])


def test_cubes_whose_edges_overlap_for_a_moment_hit_each_other_with_faces():
    """Their faces meet at 45° to the path. The middle of the patch is not on the line of centres, so both turn."""
    half, reach, overlap, speed = 0.1, 0.1 * np.sqrt(2.0), 3e-3, 5.0
    turned = (np.cos(np.pi / 8), 0, 0, np.sin(np.pi / 8))
    scene = dal.Scene("cubes", material=SMOOTH, gravity=NO_GRAVITY)
    cube, apart = dal.Box(2 * half, 2 * half, 2 * half), 2 * reach - overlap
    scene.add_body("flies", cube, mass=1.0, position=(-0.6, 0, 0), velocity=(speed, 0, 0), orientation=turned)
    scene.add_body("rests", cube, mass=1.0, position=(0, apart, 0), orientation=turned)
    run = dal.simulate(scene, 0.3, method="dormand_prince", frame_rate=10)
    assert {event.kind for event in run.contact_events} == {"impact"}
    assert run.contact_events[0].time == pytest.approx((0.6 - overlap) / speed, abs=1e-9)
    fine = dal.simulate(scene, 0.3, method="dormand_prince", frame_rate=2000)
    np.testing.assert_allclose(run.state.velocity, fine.state.velocity, atol=1e-9)
    np.testing.assert_allclose(run.state.angular_velocity, fine.state.angular_velocity, atol=1e-8)
    assert np.linalg.norm(run.state.velocity[1]) > 0.2 * speed
    assert run.report.energy_residual_relative < 1e-12


@pytest.mark.parametrize("method", ["dormand_prince", "rk4"])
def test_a_turning_plate_dips_its_edge_into_the_ground_for_a_moment(method):
    """In no gravity the plate turns about the y axis; two of its corners are lower than the ground for 2.5 ms of each turn.

    With e = 1 the impulse is J = 2 ω x/(1/m + x²/I), x the arm of the corners."""
    width, thick, mass, rate, dip = 0.5, 0.02, 2.0, 8.0, 2e-5
    far = 0.5 * np.hypot(width, thick)
    scene = dal.Scene("plate", material=SMOOTH, gravity=NO_GRAVITY)
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body(
        "plate", dal.Box(width, 0.3, thick), mass=mass, position=(0, 0, far - dip), angular_velocity=(0, rate, 0)
    )
    run = dal.simulate(scene, 0.21, method=method, **settings(method))
    assert [event.kind for event in run.contact_events] == ["impact"] * 2
    at = np.arccos((far - dip) / far)  # of the corners from straight below
    assert run.contact_events[0].time == pytest.approx((np.pi / 2 - np.arctan2(thick, width) - at) / rate, rel=1e-6)
    arm, inertia = far * np.sin(at), mass * (width**2 + thick**2) / 12.0
    impulse = 2.0 * rate * arm / (1.0 / mass + arm**2 / inertia)
    assert run.state.velocity[0, 2] == pytest.approx(impulse / mass, rel=1e-5)
    assert run.state.angular_velocity[0, 1] == pytest.approx(rate - impulse * arm / inertia, rel=1e-8)


def test_a_pendulum_that_grazes_a_peg_swings_back():
    """It has one degree of freedom: whatever the angle at which it meets something fixed, its velocity is reversed."""
    scene = dal.Scene("pendulum", material=SMOOTH, gravity=NO_GRAVITY)
    scene.add_body(
        "bob", dal.Sphere(0.1), mass=1.0, position=(1, 0, 0), velocity=(0, 0, 3.0), angular_velocity=(0, -3.0, 0)
    )
    scene.hinge("hinge", dal.WORLD, "bob", at=(0, 0, 0), axis=(0, 1, 0))
    scene.add_obstacle("peg", dal.Sphere(0.05), position=(0, 0, 1.15 - 1e-4))
    run = dal.simulate(scene, 0.8, method="dormand_prince", frame_rate=5)
    assert [event.kind for event in run.contact_events] == ["impact"]
    between = 1.15 - 1e-4  # distance of the peg from the hinge
    angle = np.arccos((between**2 + 1.0 - 0.15**2) / (2.0 * between))
    assert run.contact_events[0].time == pytest.approx((np.pi / 2 - angle) / 3.0, abs=1e-8)
    np.testing.assert_allclose(run.state.angular_velocity[0], [0, 3.0, 0], atol=1e-7)
    assert run.report.energy_residual_relative < 1e-8


def test_what_moves_by_command_grazes_a_ball_and_a_compound():
    """A driven ball has no inertia of its own to lose: e = 1 doubles its velocity along the normal."""
    overlap, speed = 5e-4, 2.0
    ball = dal.Sphere(0.1)
    scene = dal.Scene("driven", material=SMOOTH, gravity=NO_GRAVITY)
    scene.add_body("driven", ball, motion=lambda t: (-0.5 + speed * t, 0, 0))
    scene.add_body("ball", ball, mass=1.0, position=(0, 0.2 - overlap, 0))
    run = dal.simulate(scene, 0.5, method="dormand_prince", frame_rate=10)
    n = np.array([np.sqrt(0.2**2 - (0.2 - overlap) ** 2), 0.2 - overlap, 0.0]) / 0.2
    np.testing.assert_allclose(run.state.velocity[run.state.index("ball")], 2.0 * speed * n[0] * n, atol=1e-7)
    pair = dal.Compound([(ball, (0, 0, -1)), (ball, (0, 0, 1))])
    scene = dal.Scene("compound", material=SMOOTH, gravity=NO_GRAVITY)
    scene.add_body("flies", pair, mass=2.0, position=(-0.5, 0, 0), velocity=(speed, 0, 0))
    scene.add_body("low", ball, mass=1.0, position=(0, 0.2 - overlap, -1))
    scene.add_body("high", ball, mass=1.0, position=(0, 0.2 - overlap, 1))
    run = dal.simulate(scene, 0.5, method="dormand_prince", frame_rate=10)
    for name in ("low", "high"):  # as two pairs of balls
        np.testing.assert_allclose(run.state.velocity[run.state.index(name)], speed * n[0] * n, atol=1e-7)


def test_each_of_several_grazes_in_one_step_is_found():
    overlaps, starts = np.array([1e-3, 3e-4, 1e-4, 2e-3]), np.array([-0.52, -0.51, -0.53, -0.5])
    scene = dal.Scene("layers", material=SMOOTH, gravity=NO_GRAVITY)
    for k, (overlap, start) in enumerate(zip(overlaps, starts, strict=True)):
        scene.add_body(f"flies {k}", dal.Sphere(0.1), mass=1.0, position=(start, 0, k), velocity=(2.0, 0, 0))
        scene.add_body(f"rests {k}", dal.Sphere(0.1), mass=1.0, position=(0, 0.2 - overlap, k))
    run = dal.simulate(scene, 0.5, method="dormand_prince", frame_rate=2)
    before = np.sqrt(0.2**2 - (0.2 - overlaps) ** 2)
    times = [event.time for event in run.contact_events]
    np.testing.assert_allclose(times, np.sort((-before - starts) / 2.0), atol=1e-9)
    n = np.column_stack([before, 0.2 - overlaps, np.zeros(4)]) / 0.2
    np.testing.assert_allclose(run.state.velocity[1::2], 2.0 * n[:, :1] * n, atol=1e-7)
