"""What several contacts at one instant do, by each law."""

import numpy as np
import pytest

import dalembert as dal
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


def test_an_unknown_law_is_refused():
    with pytest.raises(ValueError, match="unknown law of impacts 'elastic'; the laws are simultaneous"):
        dal.Simulation(cradle(), method="dormand_prince", impacts="elastic")
