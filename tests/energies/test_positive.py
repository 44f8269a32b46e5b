"""The positive semidefinite Hessians: without negative eigenvalues, and exact where the Hessian has none."""

import numpy as np
import pytest

from dalembert.energies.kinds import KINDS

from .samples import REST, SHAPES, deformed, fields_of, one, random_rotation


def least(matrix):
    sizes = np.linalg.eigvalsh(0.5 * (matrix + matrix.T))
    return sizes[0], np.abs(sizes).max()


@pytest.mark.parametrize("size", [0.0, 1e-6, 0.02, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("name", KINDS)
def test_no_eigenvalue_is_negative_and_what_had_none_is_exact(name, size):
    rng = np.random.default_rng(11)
    model = one(name)
    for _ in range(40):
        x = deformed(name, rng, size)
        exact, positive = model.evaluate(name, x, 2)[2], model.evaluate(name, x, 3)[2]
        low, high = least(positive)
        assert low >= -1e-12 * high
        low, high = least(exact)
        if low >= 0.0:
            np.testing.assert_allclose(positive, exact, atol=1e-12 * high)


def stretched(name, factor):
    return SHAPES[name] * factor @ random_rotation(np.random.default_rng(4)).T


@pytest.mark.parametrize(
    ("name", "x"),
    [
        ("springs", stretched("springs", 1.3)),
        ("angles", stretched("angles", 1.3)),
        ("curvatures", stretched("curvatures", 1.3)),
        ("hinges", stretched("hinges", 1.3)),
        ("cloths", stretched("cloths", 1.1)),
        ("areas", stretched("areas", 1.0)),
        ("volumes", stretched("volumes", 1.0)),
        ("tetrahedra", stretched("tetrahedra", 1.1)),
    ],
)
def test_states_whose_hessian_has_no_negative_eigenvalue_keep_it(name, x):
    model = one(name)
    exact, positive = model.evaluate(name, x, 2)[2], model.evaluate(name, x, 3)[2]
    low, high = least(exact)
    assert low >= -1e-14 * high, "the case is what it should be"
    np.testing.assert_allclose(positive, exact, atol=1e-13 * high)


@pytest.mark.parametrize("name", ["angles", "curvatures", "hinges", "areas", "volumes"])
def test_where_there_is_a_force_the_hessian_has_a_negative_eigenvalue(name):
    """Why k ∇C ∇Cᵀ with other positive terms is all that has to be exact at rest only."""
    rng = np.random.default_rng(5)
    model = one(name)
    for _ in range(30):
        low, high = least(model.evaluate(name, deformed(name, rng, 0.3), 2)[2])
        assert low < -1e-6 * high


def clamped(matrix):
    sizes, axes = np.linalg.eigh(matrix)
    return (axes * np.maximum(sizes, 0.0)) @ axes.T


@pytest.mark.parametrize("name", ["springs", "volumes"])
def test_projections_that_set_negative_eigenvalues_to_zero(name):
    rng = np.random.default_rng(6)
    model = one(name)
    for size in (0.1, 0.5, 2.0):
        for _ in range(20):
            x = deformed(name, rng, size)
            exact = clamped(model.evaluate(name, x, 2)[2])
            np.testing.assert_allclose(model.evaluate(name, x, 3)[2], exact, atol=1e-12 * np.abs(exact).max())


def test_tetrahedra_are_projected_by_their_deformation_gradients():
    """H = Gᵀ (∂²Ψ/∂F²) G V, with the inner matrix clamped."""
    rng = np.random.default_rng(8)
    model = one("tetrahedra")
    fields = fields_of("tetrahedra")
    inverse = fields["inverse"].reshape(3, 3)
    shape = np.vstack([-inverse.sum(0), inverse])
    g = np.kron(shape, np.eye(3)).T  # vec F (columns one after the other) of the nodes
    pseudo = np.linalg.pinv(g)
    for size in (0.05, 0.3, 1.0):
        for _ in range(20):
            x = deformed("tetrahedra", rng, size)
            exact = pseudo.T @ model.evaluate("tetrahedra", x, 2)[2] @ pseudo
            expected = g.T @ clamped(0.5 * (exact + exact.T)) @ g
            positive = model.evaluate("tetrahedra", x, 3)[2]
            np.testing.assert_allclose(positive, expected, atol=1e-11 * np.abs(expected).max())


def test_bending_out_of_its_plane_is_exact_for_cloth():
    """Of the displacements at right angles to the triangle, the projection sets the negative eigenvalues to zero."""
    rng = np.random.default_rng(9)
    model = one("cloths")
    alpha = fields_of("cloths")["inverse"].reshape(2, 2)
    shape = np.vstack([-alpha.sum(0), alpha])
    pseudo = np.linalg.pinv(shape)
    for _ in range(20):
        x = deformed("cloths", rng, 0.3)
        n = np.cross(x[1] - x[0], x[2] - x[0])
        out = np.kron(np.eye(3), n / np.linalg.norm(n)).T
        hessian = model.evaluate("cloths", x, 2)[2]
        exact, positive = out.T @ hessian @ out, out.T @ model.evaluate("cloths", x, 3)[2] @ out
        expected = shape @ clamped(pseudo @ exact @ pseudo.T) @ shape.T
        np.testing.assert_allclose(positive, expected, atol=1e-12 * np.abs(hessian).max())


def test_a_straight_thread_resists_bending_in_both_directions():
    for tilt in (0.0, 1e-9):
        x = SHAPES["curvatures"].copy()
        x[2, 1] += tilt
        hessian = one("curvatures", stiffness=3.0).evaluate("curvatures", x, 3)[2]
        bend = np.array([1.0, -1.0 - 1.0 / 1.2, 1.0 / 1.2])  # rate of the turning angle
        expected = np.kron(3.0 * np.outer(bend, bend), np.diag([0.0, 1.0, 1.0]))
        np.testing.assert_allclose(hessian, expected, atol=1e-8)


def test_the_least_rest_values_are_those_of_the_shapes():
    for name, rest in REST.items():
        assert one(name, rest=rest).evaluate(name, SHAPES[name], 0)[0] == pytest.approx(0.0, abs=1e-28)
