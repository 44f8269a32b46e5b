"""What several contacts at one instant do, by each law."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.core.status import NoSolution
from dalembert.impact.impact import LAWS

from .scenes import cradle


def speeds(**settings):
    run = dal.simulate(cradle(), 0.3, method="dormand_prince", **settings)
    assert run.report.energy_residual_relative < 1e-13
    assert run.report.momentum_residual < 1e-13
    return run.state.velocity[:, 0]


def test_one_at_a_time_the_last_ball_of_a_cradle_takes_the_velocity():
    np.testing.assert_allclose(speeds(impacts="sequential"), [0, 0, 0, 0, 1], atol=1e-12)


@pytest.mark.parametrize("law", ["simultaneous", "poisson"])
def test_all_at_once_the_first_ball_of_a_cradle_recoils(law):
    # Four balls are pushed as one: they share what Newton's law gives to a chain that stays in contact.
    v = speeds(impacts=law)
    assert v[0] < -0.1 and (v[1:] > 0.1).all()
    assert v.sum() == pytest.approx(1.0) and (v**2).sum() == pytest.approx(1.0)


def random_impact(seed, contacts=4):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(3 * contacts, 3 * contacts - 4))  # dependent, as contacts of few bodies are
    u = root @ rng.normal(size=3 * contacts - 4)
    return root @ root.T, u.reshape(-1, 3), rng.uniform(0, 1, contacts), rng.uniform(0, 1, contacts)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("seed", range(6))
def test_no_law_adds_energy_or_leaves_the_cone(law, seed):
    matrix, u, e, friction = random_impact(seed)
    p = LAWS[law](matrix, u, e, friction)
    after = u + (matrix @ p.ravel()).reshape(-1, 3)
    gain = np.sum(p * 0.5 * (u + after))
    scale = np.abs(u).max()
    assert gain <= 1e-9 * scale**2
    assert after[:, 0].min() >= -1e-7 * scale
    assert (np.hypot(p[:, 1], p[:, 2]) <= friction * p[:, 0] * (1 + 1e-9)).all()


def test_one_contact_bounces_with_its_restitution():
    matrix, u, _, _ = random_impact(3, contacts=2)
    matrix, u = matrix[:3, :3], np.array([[-2.0, 0.0, 0.0]])
    for law in LAWS.values():
        p = law(matrix, u, np.array([0.6]), np.zeros(1))
        assert p[0, 0] == pytest.approx(1.6 * 2.0 / matrix[0, 0])


def bob_beside_a_floor(depth, friction, **settings):
    """(rate of the hinge (rad/s), run): a bob that swings down at 2 rad/s on an arm of 1 m, and meets a floor `depth` (m)
    below the level of its hinge, with e = 0.5."""
    scene = dal.Scene("bob", material=dal.Material(friction, restitution=0.5), gravity=(0, 0, 0))
    turn = np.arcsin(depth) - 0.1
    x, down = np.array([np.cos(turn), 0, -np.sin(turn)]), np.array([-np.sin(turn), 0, -np.cos(turn)])
    scene.add_body("bob", dal.Sphere(0.1), mass=1, position=x, velocity=2 * down, angular_velocity=(0, 2, 0))
    scene.hinge("hinge", dal.WORLD, "bob", at=(0, 0, 0), axis=(0, 1, 0))
    scene.add_obstacle("floor", dal.HalfSpace(), position=(0, 0, -depth - 0.1))
    run = dal.simulate(scene, 0.1, method="dormand_prince", **settings)
    return float(run.joint_state()["hinge"][1]), run


@pytest.mark.parametrize("law", LAWS)
def test_what_jams_against_its_hinge_stops(law):
    # The contact is at r = (0.6, −0.9) from the hinge, m. On its way back friction μ N acts down along the lever: the impulse
    # N turns the bob by N (0.6 − 0.9 μ) < 0, so that no impulse returns a part of its speed, and one is needed to stop it.
    rate, run = bob_beside_a_floor(0.8, 0.9, impacts=law)
    assert abs(rate) < 1e-9
    assert run.report.energy_residual_relative < 1e-9


def test_what_just_does_not_jam_against_its_hinge_returns_by_its_restitution():
    assert bob_beside_a_floor(0.8, 0.6)[0] == pytest.approx(-1.0, abs=1e-9)  # 0.6 − 0.9 μ > 0


@pytest.mark.parametrize("law", LAWS)
def test_what_jams_takes_no_restitution_from_what_it_does_not_touch(law):
    # Along (0.6, −0.9) each contact can move; its frame is normal, tangent, tangent. The first one jams.
    lever = np.array([0.6, -0.9, 0.0])
    matrix = np.block([[np.outer(lever, lever), np.zeros((3, 3))], [np.zeros((3, 3)), np.eye(3)]])
    u = np.array([lever * -2.0, [-1.0, 0.0, 0.0]])
    p = LAWS[law](matrix, u, np.array([0.5, 0.5]), np.array([0.9, 0.9]))
    after = u + (matrix @ p.ravel()).reshape(-1, 3)
    np.testing.assert_allclose(after, [[0, 0, 0], [0.5, 0, 0]], atol=1e-9)


def test_an_impact_that_is_not_solved_names_what_meets_and_a_way_out(monkeypatch):
    def unsolved(*_):
        raise NoSolution("the impulses of 1 contact were not found")

    monkeypatch.setitem(LAWS, "simultaneous", unsolved)
    with pytest.raises(dal.SimulationError) as caught:
        bob_beside_a_floor(0.8, 0.9)
    message = str(caught.value)
    assert "the impact of 'floor' and 'bob' at t = 0.05" in message or "'bob' and 'floor' at t = 0.05" in message
    assert "reduce the friction of what meets there, or use method='time_stepping'" in message


def test_an_unknown_law_is_refused():
    with pytest.raises(ValueError, match="unknown law of impacts 'elastic'; the laws are simultaneous"):
        dal.Simulation(cradle(), method="dormand_prince", impacts="elastic")
