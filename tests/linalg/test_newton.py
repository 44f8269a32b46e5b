"""Newton's method: quadratic at the end, downhill always, dense and sparse alike, and clear where it cannot go on."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

import dalembert as dal
from dalembert.core.status import NoSolution
from dalembert.linalg.newton import solve_positive

rosen, rosen_der, rosen_hess = scipy.optimize.rosen, scipy.optimize.rosen_der, scipy.optimize.rosen_hess


def test_a_quadratic_takes_one_step():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(6, 6))
    a, b = a @ a.T + np.eye(6), rng.normal(size=6)
    found = dal.minimize(lambda x: 0.5 * x @ a @ x - b @ x, lambda x: a @ x - b, lambda x: a, np.zeros(6))
    assert found.converged and found.lengths.tolist() == [1.0]
    np.testing.assert_allclose(found.x, np.linalg.solve(a, b), rtol=1e-12)


@pytest.mark.parametrize("n", [2, 5, 20])
def test_rosenbrock_is_reached_quadratically_and_always_downhill(n):
    start = np.resize([-1.2, 1.0], n)
    found = dal.minimize(rosen, rosen_der, rosen_hess, start, tolerance=1e-13)
    assert found.converged
    assert (np.diff(found.values) <= 0.0).all()
    norms = found.gradient_norms[-4:]
    assert (norms[1:] <= 100.0 * norms[:-1] ** 2).all(), norms
    assert rosen_der(found.x) == pytest.approx(np.zeros(n), abs=1e-9)


def test_the_known_minimum_and_rate_of_a_convex_function():
    """f = Σ exp(aᵢ·x) + ½ |x|²: the gradient's norm squares, but for a constant, in each of the last steps."""
    rng = np.random.default_rng(3)
    a = rng.normal(size=(12, 4))

    def bend(x):
        return a.T @ (np.exp(a @ x)[:, None] * a) + np.eye(4)

    found = dal.minimize(
        lambda x: np.exp(a @ x).sum() + 0.5 * x @ x,
        lambda x: a.T @ np.exp(a @ x) + x,
        bend,
        np.ones(4),
        tolerance=1e-13,
    )
    constants = found.gradient_norms[1:] / found.gradient_norms[:-1] ** 2
    assert found.converged and (found.lengths[-3:] == 1.0).all()
    assert constants[-4:-1].max() < 3.0 * constants[-4:-1].min()


def chain(n, stiffness=1e4):
    """Energy, gradient and Hessian of springs in a row from the origin, pulled down: (value, gradient, dense, sparse)."""
    stretch = scipy.sparse.diags_array([np.ones(n), -np.ones(n - 1)], offsets=[0, -1], format="csr")
    weight = np.linspace(1.0, 2.0, n)

    def value(x):
        e = stretch @ x - 1.0
        return stiffness * (0.5 * e @ e + 0.25 * (e**4).sum()) + weight @ x

    def gradient(x):
        e = stretch @ x - 1.0
        return stiffness * stretch.T @ (e + e**3) + weight

    def sparse(x):
        e = stretch @ x - 1.0
        return stiffness * stretch.T @ scipy.sparse.diags_array(1.0 + 3.0 * e**2) @ stretch

    return value, gradient, lambda x: sparse(x).toarray(), sparse


def test_dense_and_sparse_hessians_take_the_same_steps():
    value, gradient, dense, sparse = chain(200)
    start = np.linspace(0.0, 50.0, 200)
    one, two = (dal.minimize(value, gradient, hessian, start) for hessian in (dense, sparse))
    assert one.converged and two.converged and len(one.values) == len(two.values)
    np.testing.assert_allclose(one.x, two.x, rtol=1e-10)
    assert np.linalg.norm(gradient(one.x)) <= 1e-8 * np.linalg.norm(gradient(start))


@pytest.mark.parametrize("wrap", [np.asarray, scipy.sparse.csr_array])
def test_from_where_the_hessian_is_indefinite_it_still_goes_down(wrap):
    def value(x):
        return 0.25 * (x**4).sum() - 0.5 * (x**2).sum() + 0.1 * x[0]

    def gradient(x):
        return x**3 - x + np.array([0.1, 0.0, 0.0])

    start = np.array([0.2, -0.1, 1e-3])
    found = dal.minimize(value, gradient, lambda x: wrap(np.diag(3.0 * x**2 - 1.0)), start)
    assert found.converged and (np.diff(found.values) <= 0.0).all()
    assert (3.0 * found.x**2 > 1.0).all(), "a minimum, not a saddle"


@pytest.mark.parametrize("wrap", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("sizes", [(3.0, 1.0, 2.0), (3.0, -1.0, 2.0), (3.0, 0.0, 2.0), (-3.0, -1.0, -2.0)])
def test_the_direction_leads_down_whatever_the_eigenvalues(wrap, sizes):
    axes = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    g = np.array([1.0, -2.0, 0.5])
    h = axes @ np.diag(sizes) @ axes.T
    h = 0.5 * (h + h.T)
    d = solve_positive(wrap(h), g)
    assert g @ d > 0.0
    if min(sizes) > 0.0:
        np.testing.assert_allclose(h @ d, g, rtol=1e-12)


def test_no_step_enters_where_the_value_is_infinite():
    def value(x):
        return x[0] - np.log(x[0]) if x[0] > 0.0 else np.inf

    found = dal.minimize(value, lambda x: 1.0 - 1.0 / x, lambda x: np.diag(1.0 / x**2), [3.0])
    assert found.converged and found.x[0] == pytest.approx(1.0, abs=1e-8)
    assert found.lengths[0] < 1.0, "the whole first step leads to x < 0"


def test_rounding_of_a_large_value_does_not_end_it_early():
    """With 1e8 added, the value cannot tell the last steps from rises; the gradients can."""
    found = dal.minimize(lambda x: 1e8 + rosen(x), rosen_der, rosen_hess, [-1.2, 1.0], tolerance=1e-12)
    assert found.converged
    np.testing.assert_allclose(found.x, [1.0, 1.0], atol=1e-11)


def test_few_iterations_end_without_convergence():
    found = dal.minimize(rosen, rosen_der, rosen_hess, [-1.2, 1.0], max_iterations=3)
    assert not found.converged and len(found.lengths) == 3


def test_a_gradient_of_something_else_is_found_out():
    with pytest.raises(NoSolution, match="does the gradient belong to the value"):
        dal.minimize(rosen, lambda x: -rosen_der(x), rosen_hess, [-1.2, 1.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": [np.nan, 1.0]}, "finite numbers"),
        ({"start": [[1.0, 2.0]]}, "list of finite numbers"),
        ({"value": lambda x: np.inf}, "not finite"),
        ({"gradient": lambda x: np.zeros(3)}, "shape"),
        ({"hessian": lambda x: np.zeros((3, 3))}, "shape"),
        ({"hessian": lambda x: np.array([[1.0, 2.0], [0.0, 1.0]])}, "not symmetric"),
        ({"hessian": lambda x: np.full((2, 2), np.nan)}, "not finite"),
    ],
)
def test_bad_input_is_refused(change, message):
    given = {"value": rosen, "gradient": rosen_der, "hessian": rosen_hess, "start": [-1.2, 1.0]} | change
    with pytest.raises(ValueError, match=message):
        dal.minimize(**given)
