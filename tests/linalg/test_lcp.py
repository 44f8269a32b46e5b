"""The linear complementarity problem: both methods against a QP solver, each other, and cases known by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.linalg.lcp import METHODS, boxed, lcp
from dalembert.linalg.lcp_dantzig import INFEASIBLE, NOT_SEMIDEFINITE, OK

G = 9.81


def problem(seed, most=100):
    """(A, b): A of full rank for even seeds; b such that a solution exists, without strict complementarity for some."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, most + 1))
    rows = rng.normal(size=(n, int(rng.integers(1, n + 1)) if seed % 2 else n))
    a = rows @ rows.T
    if seed % 3 == 0:
        return a, rows @ rng.normal(size=rows.shape[1])
    return a, np.maximum(rng.normal(size=n), 0.0) - a @ np.maximum(rng.normal(size=n), 0.0)


def residual(a, b, f):
    """The largest violation of any condition, beside the terms that the acceleration is the sum of."""
    assert (f >= 0.0).all()
    scale = np.abs(a) @ np.abs(f) + np.abs(b) + 1e-300
    w = a @ f + b
    return max(np.max(-w / scale), np.max(np.where(f > 0.0, np.abs(w), 0.0) / scale))


def solved(a, b, method):
    f, status = lcp(a, b, method)
    assert status == OK
    assert residual(np.asarray(a), np.asarray(b), f) <= 1e-10
    return f


@pytest.mark.parametrize("seed", range(40))
def test_both_methods_meet_the_conditions_and_agree_in_the_accelerations(seed):
    a, b = problem(seed)
    f, g = (solved(a, b, method) for method in METHODS)
    assert np.abs(a @ (f - g)).max() <= 1e-9 * (np.abs(a) @ f + np.abs(b)).max()


@pytest.mark.parametrize("seed", range(8))
def test_accelerations_are_those_of_a_quadratic_program(seed):
    clarabel = pytest.importorskip("clarabel")
    from scipy import sparse

    a, b = problem(seed, 60)
    n = len(b)
    options = clarabel.DefaultSettings()
    options.verbose = False
    cones = [clarabel.NonnegativeConeT(n)]
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(a)), b, -sparse.eye(n, format="csc"), np.zeros(n), cones, options
    )
    expected = np.array(solver.solve().x)
    ours = solved(a, b, "dantzig")
    scale = (np.abs(a) @ np.abs(expected) + np.abs(b)).max()
    assert np.abs(a @ (ours - expected)).max() <= 1e-4 * scale
    energy = [0.5 * f @ a @ f + b @ f for f in (ours, expected)]
    assert energy[0] <= energy[1] + 1e-6 * scale


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(0, 4))
def test_small_integers_with_many_ties(seed, n, rank):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-1, 2, size=(n, rank)).astype(float)
    a = rows @ rows.T
    b = rng.integers(0, 2, n) - a @ rng.integers(0, 2, n)
    for method in METHODS:
        solved(a, b, method)


@pytest.mark.parametrize("method", METHODS)
def test_a_table_with_four_legs_is_carried(method):
    """10 kg on legs at (±1, ±0.5) m: rank 3, vertical and without turning; the forces are not unique, their sum is."""
    x, y = np.array([1.0, 1.0, -1.0, -1.0]), np.array([0.5, -0.5, 0.5, -0.5])
    rows = np.array([np.ones(4) / np.sqrt(10.0), y / np.sqrt(2.0), -x / np.sqrt(3.0)]).T
    f = solved(rows @ rows.T, np.full(4, -G), method)
    assert f.sum() == pytest.approx(10.0 * G, rel=1e-13)
    np.testing.assert_allclose([x @ f, y @ f], 0.0, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_a_stack_bears_the_weight_above_each_contact(method):
    count = 20
    rows = np.eye(count) - np.eye(count, k=-1)  # contact i: between boxes i − 1 and i of 1 kg
    f = solved(rows @ rows.T, rows @ np.full(count, -G), method)
    np.testing.assert_allclose(f, G * np.arange(count, 0, -1), rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_a_box_on_an_incline_and_one_that_leaves(method):
    angle = 0.4
    f = solved([[1.0 / 3.0, 0.0], [0.0, 1.0]], [-G * np.cos(angle), 2.0], method)
    np.testing.assert_allclose(f, [3.0 * G * np.cos(angle), 0.0], rtol=1e-15)


@pytest.mark.parametrize("method", METHODS)
def test_contradicting_contacts_are_infeasible(method):
    """A body squeezed between two plates that approach each other."""
    assert lcp([[1.0, -1.0], [-1.0, 1.0]], [-1.0, -1.0], method)[1] == INFEASIBLE
    assert lcp([[0.0]], [-1.0], method)[1] == INFEASIBLE


def test_an_indefinite_matrix_is_noticed():
    assert lcp([[1.0, 2.0], [2.0, 1.0]], [-1.0, -2.5])[1] == NOT_SEMIDEFINITE


def test_lemke_takes_an_unsymmetric_matrix():
    a, b = np.array([[2.0, 1.0], [-1.0, 2.0]]), np.array([-3.0, -1.0])
    np.testing.assert_allclose(solved(a, b, "lemke"), [1.0, 1.0], rtol=1e-15)


@pytest.mark.parametrize("seed", range(20))
def test_forces_keep_between_bounds(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    rows = rng.normal(size=(n, n if seed % 2 else n // 2 + 1))
    a, b = rows @ rows.T, rng.normal(size=n) * n
    lower, upper = -rng.uniform(0.0, 1.0, n), rng.uniform(0.0, 1.0, n)
    lower[0] = upper[0] = 0.3  # a force that is given
    status, f = boxed(a, b, lower, upper)
    assert status == OK and (f >= lower).all() and (f <= upper).all() and f[0] == 0.3
    w = (a @ f + b) / (np.abs(a) @ np.abs(f) + np.abs(b))
    free = np.arange(n) > 0
    assert (w[free & (f < upper)] >= -1e-10).all() and (w[free & (f > lower)] <= 1e-10).all()
    assert (f == lower).sum() > 1 or (f == upper).sum() > 1


def test_bad_input_is_refused_with_the_place_and_the_value():
    with pytest.raises(ValueError, match=r"A\[0, 1\] is nan"):
        lcp([[1.0, np.nan], [0.0, 1.0]], [0.0, 0.0])
    with pytest.raises(ValueError, match=r"b\[1\] is inf"):
        lcp(np.eye(2), [0.0, np.inf])
    with pytest.raises(ValueError, match="square"):
        lcp(np.ones((2, 3)), [0.0, 0.0])
    with pytest.raises(ValueError, match=r"b must have shape \(2,\)"):
        lcp(np.eye(2), [0.0])
    with pytest.raises(ValueError, match="symmetric"):
        lcp([[1.0, 0.5], [0.0, 1.0]], [0.0, 0.0])
    with pytest.raises(ValueError, match="dantzig, lemke"):
        lcp(np.eye(2), [0.0, 0.0], "simplex")


def test_not_a_number_inside_never_hangs():
    a = np.eye(3)
    a[1, 1] = np.nan
    assert boxed(a, np.full(3, -1.0), np.zeros(3), np.full(3, np.inf))[0] != OK
