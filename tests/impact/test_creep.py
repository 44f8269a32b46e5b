"""Where friction just holds, nothing creeps, and no event repeats itself: few steps and events, however long the run."""

import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.random_scenes.touching_scenes import touching_groups

import dalembert as dal
from dalembert.impact import impact
from dalembert.scene.forces.spring import Spring

from .scenes import G, block_on_a_slope

SLOPE = np.radians(30.0)


def tower(friction=0.3, speed=2.0):
    """Boxes of different sizes and masses, one on the other, slide on the ground; friction is the same at each level."""
    scene = dal.Scene("tower", gravity=(0, 0, -G), material=dal.Material(friction))
    scene.add_obstacle("ground", dal.HalfSpace())
    height = 0.0
    for k, (a, b, c, mass) in enumerate([(0.5, 0.4, 0.1, 1.0), (0.4, 0.3, 0.15, 1.0), (0.3, 0.35, 0.1, 5.0)]):
        scene.add_body(
            f"box {k}", dal.Box(a, b, c), mass=mass, position=(0, 0, height + 0.5 * c), velocity=(speed, 0, 0)
        )
        height += c
    return scene


def test_a_tower_that_slides_with_the_same_friction_at_each_level_stays_one():
    """Each level needs all the friction there is, so rounding would decide what slips."""
    run = dal.simulate(tower(), 0.5, method="dormand_prince", frame_rate=10)
    assert run.report.steps < 30
    assert not any(event.kind == "slips" for event in run.contact_events)
    np.testing.assert_allclose(run.state.position[:, 0], 2.0 * 0.5 - 0.5 * 0.3 * G * 0.25, atol=1e-9)
    np.testing.assert_allclose(run.state.velocity[:, 0], 2.0 - 0.3 * G * 0.5, atol=1e-9)
    assert run.report.energy_residual_relative < 1e-12


def test_time_steps_move_the_tower_alike():
    exact = dal.simulate(tower(), 0.3, method="dormand_prince").state.position[:, 0]
    steps = dal.simulate(tower(), 0.3, dt=1e-3).state.position[:, 0]
    np.testing.assert_allclose(steps, exact, atol=1e-3)


@pytest.mark.parametrize(("seed", "duration", "most"), [(127, 0.1, 400), (111, 0.6, 600)])
def test_stacks_and_rods_that_strike_others_take_few_steps(seed, duration, most):
    """These took more than 100 000 steps, and 660 events at which nothing changed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = dal.Simulation(touching_groups(seed), method="dormand_prince", frame_rate=100)
        energies = [run.report.energy_end]
        for _ in range(10):
            run.advance(0.1 * duration)
            energies.append(run.report.energy_end)
    assert run.report.steps < most
    assert max(np.diff(energies)) < 1e-8 * energies[0]
    assert run.report.energy_residual < 1e-7 * energies[0]


def test_the_share_of_restitution_that_adds_no_energy_is_found_in_few_trials():
    """Impulses 1 + 1.5 s of one contact that closes at 1 m/s, A = 1: ΔT = ½ p² − p vanishes at p = 2, s = 2/3."""
    shares = []

    def impulses(share, *_):
        shares.append(share)
        return np.array([[1.0 + 1.5 * share, 0.0, 0.0]])

    p = impact._dissipative(impulses, np.eye(3), np.array([[-1.0, 0.0, 0.0]]), impulses)
    assert 2.0 - 1e-11 < p[0, 0] <= 2.0 + 1e-11
    assert len(shares) < 20  # 42 by halves


# Slides so slow that friction turns too fast for explicit steps ------------------------------------------------------------


def almost_holding(part):
    """The friction that holds a block on the slope, less a part."""
    return np.tan(SLOPE) * (1.0 - part)


def simulate(scene, duration):
    """A run without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return dal.simulate(scene, duration, method="dormand_prince", frame_rate=1)


def point_on_the_slope(part, velocity, duration, stiffness=0.0):
    """(x, y, v_x, v_y) of a point that slides as the block does, by an implicit method. With a spring of length 1 m to
    (0, 1)."""

    def rates(t, state):
        v, arm = state[2:], np.array([0.0, 1.0]) - state[:2]
        length = np.linalg.norm(arm)
        a = np.array([G * np.sin(SLOPE), 0.0]) + 0.5 * stiffness * (1.0 - 1.0 / length) * arm
        return np.append(v, a - almost_holding(part) * G * np.cos(SLOPE) * v / np.linalg.norm(v))

    return solve_ivp(rates, (0.0, duration), [0.0, 0.0, *velocity], method="Radau", rtol=1e-9, atol=1e-14).y[:, -1]


@pytest.mark.parametrize("part", [1e-1, 1e-2, 1e-3, 1e-4, 1e-5])
def test_a_block_that_friction_almost_holds_slides_from_rest(part):
    """Friction 1e-4 less than enough: after 964 011 steps it slid at 0.5 % of its speed."""
    run = simulate(block_on_a_slope(almost_holding(part)), 1.0)
    assert run.report.steps < 20
    np.testing.assert_allclose(run.state.velocity[0], [part * G * np.sin(SLOPE), 0, 0], rtol=1e-6, atol=1e-14)
    np.testing.assert_allclose(run.state.position[0, 0], 0.5 * part * G * np.sin(SLOPE), rtol=1e-6)


@pytest.mark.parametrize(("part", "across"), [(1e-2, 0.1), (1e-4, 1e-3), (1e-5, 1e-3)])
def test_a_block_that_slides_across_the_slope_turns_down_and_then_slides_straight(part, across):
    run = simulate(block_on_a_slope(almost_holding(part), across=across), 1.0)
    assert run.report.steps < 100
    np.testing.assert_allclose(
        run.state.velocity[0, :2], point_on_the_slope(part, (0.0, across), 1.0)[2:], rtol=0, atol=3e-8
    )


def test_a_slide_that_was_straight_turns_where_a_force_turns():
    """The spring is not strained at first, and then pulls with up to a third of what friction leaves of gravity."""
    scene = block_on_a_slope(almost_holding(1e-2))
    scene.add_force("spring", Spring(dal.WORLD, "block", (0, 1, 0.2), (0, 0, 0.2), stiffness=2e3))
    run = simulate(scene, 0.5)
    wanted = point_on_the_slope(1e-2, (1e-9, 0.0), 0.5, stiffness=2e3)
    assert run.report.steps < 1000
    np.testing.assert_allclose(run.state.velocity[0, :2], wanted[2:], rtol=0, atol=1e-6)
    np.testing.assert_allclose(run.state.position[0, :2], wanted[:2], rtol=0, atol=1e-6)
    assert wanted[3] > 5e-5


def test_friction_acts_against_the_velocity_of_each_corner_of_a_block_that_spins():
    """α = 4 (μ m g/4) r/I with r = √(a² + b²)/2, I = m (a² + b²)/12."""
    run = simulate(block_on_a_slope(0.2, degrees=0.0, spin=5.0), 0.25)
    assert run.report.steps < 50
    np.testing.assert_allclose(
        run.state.angular_velocity[0], [0, 0, 5.0 - 6.0 * 0.2 * G / np.hypot(1.0, 0.6) * 0.25], atol=1e-6
    )
    np.testing.assert_allclose(run.state.position[0], [0, 0, 0.2], atol=1e-9)


@pytest.mark.parametrize("friction", [0.1, 0.6])
def test_a_block_slips_when_a_spring_pulls_as_hard_as_friction_holds(friction):
    """The hand at the other end of the spring moves at a constant speed, so that the pull just reaches its limit."""
    stiffness, speed, mass = 200.0, 0.1, 2.0
    scene = dal.Scene("pulled", gravity=(0, 0, -G), material=dal.Material(friction))
    scene.add_obstacle("ground", dal.HalfSpace())
    block = scene.add_body("block", dal.Box(0.4, 0.4, 0.2), mass=mass, position=(0, 0, 0.1))
    hand = scene.add_body("hand", dal.Box(0.1, 0.1, 0.1), mass=1.0, position=(1, 0, 0), material=None)
    hand_rail = scene.slider("rail", dal.WORLD, hand, (1, 0, 0), axis=(1, 0, 0))
    scene.add_motion("drive", hand_rail, speed=speed)
    object.__setattr__(hand, "velocity", np.array([speed, 0.0, 0.0]))
    scene.spring("pull", block, hand, (0.2, 0, 0), (1, 0, 0), stiffness=stiffness)
    expected = friction * mass * G / (stiffness * speed)
    run = dal.simulate(scene, 1.3 * expected, method="dormand_prince")
    slips = [event.time for event in run.contact_events if event.kind == "slips"]
    assert slips[0] == pytest.approx(expected, rel=3e-5)
    beyond, rate = 0.3 * expected, np.sqrt(stiffness / mass)
    assert run.state.position[0, 0] == pytest.approx(speed * (beyond - np.sin(rate * beyond) / rate), abs=1e-6)
