"""Gradients and Hessians of every kind of element against differences of the energy; invariance under rigid motions."""

import numpy as np
import pytest

from dalembert.energies.kinds import KINDS

from .samples import SHAPES, deformed, one

SIZES = (1e-3, 0.05, 0.3, 1.0)


def differences(function, x, step):
    """Central differences of fourth order of a function of an array, along the last axis."""
    slopes = []
    for i in range(x.size):
        d = np.zeros(x.size)
        d[i] = step
        d = d.reshape(x.shape)
        near, far = function(x + d) - function(x - d), function(x + 2 * d) - function(x - 2 * d)
        slopes.append((8 * near - far) / (12 * step))
    return np.moveaxis(np.array(slopes), 0, -1)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", KINDS)
def test_gradient_and_hessian_are_those_of_the_energy(name, size):
    rng = np.random.default_rng(7)
    model = one(name)
    for _ in range(8):
        x = deformed(name, rng, size)
        _, gradient, hessian = model.evaluate(name, x, 2)
        step = 3e-4
        numeric = differences(lambda x: model.evaluate(name, x, 0)[0], x, step)
        bend = differences(lambda x: model.evaluate(name, x, 1)[1], x, step)
        scale = np.abs(hessian).max()
        assert np.abs(hessian - hessian.T).max() <= 1e-14 * scale
        assert np.abs(numeric - gradient).max() <= 1e-8 * (scale + np.abs(gradient).max())
        assert np.abs(bend - hessian).max() <= 1e-7 * scale


@pytest.mark.parametrize("name", KINDS)
def test_orders_agree(name):
    rng = np.random.default_rng(2)
    model = one(name)
    x = deformed(name, rng, 0.2)
    answers = [model.evaluate(name, x, order) for order in range(4)]
    assert len({energy for energy, _, _ in answers}) == 1
    for _, gradient, _ in answers[2:]:
        np.testing.assert_array_equal(gradient, answers[1][1])
    assert np.isnan(answers[0][1]).all() and np.isnan(answers[1][2]).all()


@pytest.mark.parametrize("name", KINDS)
def test_an_undeformed_element_exerts_no_force(name):
    model = one(name)
    for seed in range(5):
        x = deformed(name, np.random.default_rng(seed), 0.0)
        energy, gradient, _ = model.evaluate(name, x, 1)
        assert abs(energy) <= 1e-13
        np.testing.assert_allclose(gradient, 0.0, atol=1e-13)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", KINDS)
def test_forces_have_no_sum_and_no_moment(name, size):
    rng = np.random.default_rng(3)
    model = one(name)
    for _ in range(20):
        x = deformed(name, rng, size)
        gradient = model.evaluate(name, x, 1)[1].reshape(-1, 3)
        scale = np.abs(gradient).max() * np.abs(x).max()
        assert np.abs(gradient.sum(0)).max() <= 1e-14 * scale
        assert np.abs(np.cross(x, gradient).sum(0)).max() <= 1e-13 * max(scale, 1.0)


def test_an_inverted_tetrahedron_is_pushed_back():
    for name in ("volumes", "tetrahedra"):
        model = one(name)
        x = SHAPES[name].copy()
        x[3, 2] *= -0.4
        energy, gradient, _ = model.evaluate(name, x, 1)
        assert energy > 0.0 and gradient[11] < 0.0, "the top would rise"


@pytest.mark.parametrize("rest", [-3.1, 3.0, 0.0])
def test_the_angle_of_a_hinge_is_signed_and_taken_the_short_way(rest):
    edge = np.array([[0.0, 0, 0], [1, 0, 0], [0.4, 0.9, 0]])
    model = one("hinges", rest=rest)
    for turn in np.linspace(-3.1, 3.1, 21):
        # Corner 3 turned up (towards the normals) by −turn: θ is negative where it rises.
        x = np.vstack([edge, [0.7, -0.8 * np.cos(turn), -0.8 * np.sin(turn)]])
        expected = (turn - rest + np.pi) % (2 * np.pi) - np.pi
        assert model.evaluate("hinges", x, 0)[0] == pytest.approx(0.5 * 2.5 * expected**2, rel=1e-12, abs=1e-15)
