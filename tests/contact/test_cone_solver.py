"""The converging contact solver reaches what analysis gives: impulses of boxes, stacks, joints and impacts, to 1e-10."""

import math

import numpy as np
import pytest

from dalembert.contact.cone_problem import NOT_CONVERGED, SOLVED
from dalembert.contact.cone_solver import solve

from .problems import (
    Body,
    G,
    H,
    Joint,
    ball_joint,
    box,
    box_contacts,
    contact,
    cross_matrix,
    dense,
    problem,
    stack,
)

TOLERANCE = 1e-10


def solved(p):
    """The solved problem, after checking every residual that the solver reports."""
    status, p = solve(p)
    step = p.step[0]
    assert status == SOLVED
    assert step.residual <= step.tolerance <= TOLERANCE
    for name in ("cone", "dual", "complementarity", "natural_map", "joints", "balance"):
        assert step[name] <= TOLERANCE, name
    return p


def pushed(p):
    """The momentum that contacts give to the last body."""
    return (dense(p)[1].T @ p.cones.impulse.ravel())[-6:-3]


def test_box_at_rest_carries_its_weight():
    p = solved(stack([2.0]))
    np.testing.assert_allclose(pushed(p), [0.0, 0.0, 2.0 * G * H], atol=1e-15)
    np.testing.assert_allclose(p.speeds, 0.0, atol=1e-15)


@pytest.mark.parametrize("mu", [0.3, 0.8])
def test_box_on_an_incline_sticks_or_slides_by_coulomb(mu):
    """tan 30° = 0.577 lies between: the box slides with g (sin − μ cos), or the friction is the weight's component."""
    angle = math.radians(30.0)
    gravity = G * H * np.array([math.sin(angle), 0.0, -math.cos(angle)])
    p = solved(problem([box(1.5, side=0.2, velocity=(*gravity, 0.0, 0.0, 0.0))], box_contacts(1, 0, mu, side=0.2)))
    normal = 1.5 * G * H * math.cos(angle)
    friction = 1.5 * G * H * min(math.sin(angle), mu * math.cos(angle))
    np.testing.assert_allclose(pushed(p), [-friction, 0.0, normal], atol=1e-13)
    speed = G * H * max(math.sin(angle) - mu * math.cos(angle), 0.0)
    np.testing.assert_allclose(p.speeds[:3], [speed, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(p.speeds[3:], 0.0, atol=1e-11)


def test_sliding_sphere_is_slowed_and_set_rolling_by_friction():
    """m Δv = −μ p_n, I Δω = r μ p_n about y."""
    mass, radius, mu = 0.4, 0.1, 0.25
    inertia = 0.4 * mass * radius**2
    sphere = Body(mass, np.eye(3) * inertia, np.array([2.0, 0.0, -G * H, 0.0, 0.0, 0.0]))
    p = solved(problem([sphere], [contact(1, 0, (0.0, 0.0, 1.0), (0.0, 0.0, 0.0), (0.0, 0.0, -radius), mu)]))
    normal = mass * G * H
    expected = [2.0 - mu * normal / mass, 0.0, 0.0, 0.0, radius * mu * normal / inertia, 0.0]
    np.testing.assert_allclose(p.speeds, expected, atol=1e-11)


def test_a_slow_rolling_sphere_is_brought_to_roll():
    """Where μ is enough, the contact point comes to rest: v = r ω after."""
    sphere = Body(1.0, np.eye(3) * 0.4, np.array([0.1, 0.0, -G * H, 0.0, 0.0, 0.0]))
    p = solved(problem([sphere], [contact(1, 0, (0.0, 0.0, 1.0), (0.0, 0.0, 0.0), (0.0, 0.0, -1.0), 0.9)]))
    assert p.speeds[0] == pytest.approx(0.1 / 1.4, rel=1e-12)
    assert p.speeds[4] == pytest.approx(p.speeds[0], rel=1e-12)


def test_what_separates_without_friction_is_left_alone():
    sphere = Body(1.0, np.eye(3) * 0.4, np.array([0.0, 0.0, 0.3, 0.0, 0.0, 0.0]))
    p = solved(problem([sphere], [contact(1, 0, (0.0, 0.0, 1.0), (0.0, 0.0, 0.0), (0.0, 0.0, -1.0), 0.0)]))
    np.testing.assert_allclose(p.speeds[:3], [0.0, 0.0, 0.3], atol=1e-10)
    assert p.step[0].iterations < 20


def carried(p, n):
    """Normal impulses under each box of a stack, summed over its four contacts."""
    return p.cones.impulse[:, 0].reshape(n, 4).sum(1)


def test_each_box_of_a_stack_carries_those_above():
    p = solved(stack(np.ones(10)))
    np.testing.assert_allclose(carried(p, 10), G * H * np.arange(10, 0, -1), rtol=1e-10)


@pytest.mark.parametrize("masses", [[1e-3, 1e3], np.geomspace(1e-3, 1e3, 10), np.geomspace(1e3, 1e-3, 10)])
def test_mass_ratio_of_a_million(masses):
    p = stack(masses)
    p.step["tolerance"] = 1e-12
    p = solved(p)
    np.testing.assert_allclose(carried(p, len(masses)), G * H * np.cumsum(masses[::-1])[::-1], rtol=1e-11)


def test_sliding_stack_at_the_limit_between_sticking_and_sliding():
    """Both boxes slow down by μ g: their mutual friction is just what sticking needs, so that it is degenerate."""
    p = solved(stack(np.ones(2), friction=0.5, velocity=(1.0, 0.0, -G * H, 0.0, 0.0, 0.0)))
    np.testing.assert_allclose(p.speeds[[0, 6]], 1.0 - 0.5 * G * H, rtol=1e-9)


def hanging(copies):
    """A ball on a ball joint to the world, pressed against a wall at its side; the joint given `copies` times."""
    body = Body(1.0, np.eye(3) * 0.4, np.array([0.3, 0.0, -G * H, 0.0, 0.0, 0.0]))
    wall = contact(0, 1, (1.0, 0.0, 0.0), (0.2, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0)
    return problem([body], [wall], [ball_joint(0, 1, (0.0, 0.0, 1.0), (0.0, 0.0, 0.0))] * copies)


@pytest.mark.parametrize("copies", [1, 3])
def test_joint_and_contact_share_the_load_however_often_the_joint_is_given(copies):
    """The wall meets the line through the centre, so that it takes the speed, p = m v, and the joint the weight."""
    p = solved(hanging(copies))
    np.testing.assert_allclose(p.speeds, 0.0, atol=1e-10)
    assert p.cones.impulse[0, 0] == pytest.approx(0.3, rel=1e-9)
    total = p.rows.impulse.reshape(copies, 3).sum(0)
    np.testing.assert_allclose(np.abs(total), [0.0, 0.0, G * H], atol=1e-10)


def test_ball_joint_between_two_bodies_holds_while_they_lie_on_the_ground():
    bodies = [box(1.0), box(2.0, velocity=(0.5, 0.1, -G * H, 0.0, 0.0, 0.2))]
    contacts = box_contacts(2, 0, 0.5) + box_contacts(2, 1, 0.5)
    p = solved(problem(bodies, contacts, [ball_joint(0, 1, (0.5, 0.0, 0.0), (-0.5, 0.0, 0.0))]))
    on_a = np.hstack([np.eye(3), -cross_matrix((0.5, 0.0, 0.0))]) @ p.speeds[:6]
    on_b = np.hstack([np.eye(3), -cross_matrix((-0.5, 0.0, 0.0))]) @ p.speeds[6:]
    np.testing.assert_allclose(on_a, on_b, atol=1e-10)
    assert p.cones.impulse[:, 0].sum() == pytest.approx(3.0 * G * H, rel=1e-9)


def test_joint_rows_with_a_target_and_no_contacts():
    rows = Joint(0, 1, np.eye(6), np.zeros((6, 6)), np.arange(6.0))
    p = solved(problem([box(3.0)], [], [rows]))
    np.testing.assert_allclose(p.speeds, np.arange(6.0), atol=1e-10)
    assert p.rows.impulse[2] == pytest.approx(3.0 * (2.0 + G * H), rel=1e-9)


def test_without_contacts_and_joints_the_velocity_is_free():
    free = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    p = solved(problem([box(velocity=free)], []))
    assert np.array_equal(p.speeds, free)


def test_no_friction_leaves_the_tangents_alone():
    p = solved(stack([1.0], friction=0.0, velocity=(1.0, 2.0, -G * H, 0.0, 0.0, 0.3)))
    np.testing.assert_allclose(p.speeds, [1.0, 2.0, 0.0, 0.0, 0.0, 0.3], atol=3.0 * TOLERANCE)
    assert np.all(p.cones.impulse[:, 1:] == 0.0)


def test_a_contact_that_separates_gets_no_impulse():
    p = solved(stack([1.0], velocity=(0.2, 0.0, 1.0, 0.0, 0.0, 0.0)))
    np.testing.assert_allclose(p.speeds, [0.2, 0.0, 1.0, 0.0, 0.0, 0.0], atol=1e-10)
    np.testing.assert_allclose(p.cones.impulse, 0.0, atol=1e-10)


def test_an_impact_returns_with_the_coefficient_of_restitution():
    falling = Body(1.0, np.eye(3) * 0.4, np.array([0.0, 0.0, -2.0, 0.0, 0.0, 0.0]))
    bounce = contact(1, 0, (0.0, 0.0, 1.0), (0.0, 0.0, 0.0), (0.0, 0.0, -1.0), 0.3, bias=0.6 * -2.0)
    p = solved(problem([falling], [bounce]))
    assert p.speeds[2] == pytest.approx(1.2, rel=1e-10)


def test_what_moves_by_command_carries_others():
    belt = Body(math.inf, np.eye(3), np.array([0.4, 0.0, 0.0, 0.0, 0.0, 0.0]))
    p = solved(problem([belt, box()], box_contacts(0, 1, 0.5)))
    assert p.speeds[0] == pytest.approx(min(0.4, 0.5 * G * H), rel=1e-10)


def test_positions_are_projected_by_the_same_solver():
    """With bias = separation the solution is the least motion, in the mass metric, that ends all overlap."""
    at_rest = [box(m, velocity=np.zeros(6)) for m in (1.0, 3.0)]
    overlap = contact(0, 1, (0.0, 0.0, 1.0), (0.0, 0.0, 0.5), (0.0, 0.0, -0.5), 0.0, bias=-0.02)
    p = solved(problem(at_rest, [overlap]))
    np.testing.assert_allclose(p.speeds[[2, 8]], [-0.015, 0.005], rtol=1e-10)


def test_too_few_iterations_are_reported_with_the_best_iterate():
    status, p = solve(stack(np.ones(3), velocity=(1.0, 0.0, -G * H, 0.1, 0.0, 0.0), max_iterations=2))
    assert status == NOT_CONVERGED
    assert TOLERANCE < p.step[0].residual < 10.0
    assert np.isfinite(p.speeds).all() and np.isfinite(p.cones.impulse).all()


def test_what_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="not finite"):
        solve(stack([1.0], velocity=(math.nan, 0.0, 0.0, 0.0, 0.0, 0.0)))
