"""Equilibration: what each scaling promises, on random matrices of any sparsity and scale, and what cannot be scaled."""

import doctest
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as dal
from dalembert.core.status import NoSolution
from dalembert.linalg import equilibrate, matching
from dalembert.linalg import equilibrate as condition


def regular(seed, n, density, decades):
    """An (n, n) matrix of full structural rank whose sizes range over so many powers of ten on either side of one."""
    rng = np.random.default_rng(seed)
    keep = rng.uniform(size=(n, n)) < density
    keep[rng.permutation(n), np.arange(n)] = True
    return keep * rng.choice([-1.0, 1.0], (n, n)) * 10.0 ** rng.uniform(-decades, decades, (n, n))


matrices = st.builds(
    regular,
    st.integers(0, 2**32 - 1),
    st.integers(1, 25),
    st.sampled_from([0.0, 0.1, 0.3, 1.0]),
    st.sampled_from([0.0, 1.0, 20.0, 150.0]),
)


@settings(max_examples=150, deadline=None)
@given(matrices)
def test_mc64_leaves_ones_on_the_matching_and_nothing_larger(matrix):
    try:
        found = dal.equilibrate(matrix)
    except ValueError as error:  # factors may need more than floating point has
        assert np.ptp(np.log10(abs(matrix[matrix != 0.0]))) > 100.0 and "overflow" in str(error)
        return
    sizes = abs(found.matrix)
    np.testing.assert_allclose(sizes[found.permutation].diagonal(), 1.0, rtol=1e-11)
    assert sizes.max() <= 1.0 + 1e-11
    assert found.deviation <= 1e-11 and found.sweeps == 0
    np.testing.assert_array_equal(np.sort(found.permutation), np.arange(len(matrix)))


@pytest.mark.parametrize("method", ["alg3", "ruiz"])
@settings(max_examples=150, deadline=None)
@given(matrix=matrices)
def test_sweeps_bring_the_largest_size_of_each_row_and_column_to_one(method, matrix):
    found = dal.equilibrate(matrix, method, tolerance=1e-6)
    sizes = abs(found.matrix)
    for axis in (0, 1):
        np.testing.assert_allclose(sizes.max(axis=axis), 1.0, atol=1.001e-6)
    assert found.deviation <= 1e-6 and found.permutation is None


@pytest.mark.parametrize("method", ["mc64", "alg3", "ruiz"])
def test_sparse_and_dense_are_scaled_alike_and_stay_what_they_are(method):
    dense = regular(5, 30, 0.2, 3.0)
    before = dense.copy()
    found = dal.equilibrate(dense, method)
    np.testing.assert_array_equal(dense, before)
    np.testing.assert_array_equal(found.matrix, found.rows[:, None] * dense * found.columns)
    for kind in (scipy.sparse.csr_array, scipy.sparse.csc_array, scipy.sparse.coo_array, scipy.sparse.csr_matrix):
        other = dal.equilibrate(kind(dense), method)
        np.testing.assert_array_equal(other.rows, found.rows)
        np.testing.assert_array_equal(other.columns, found.columns)
        assert isinstance(other.matrix, scipy.sparse.csc_array)
        np.testing.assert_allclose(other.matrix.toarray(), found.matrix, rtol=1e-15)


def test_the_scaled_system_has_the_solution_of_the_given_one():
    rng = np.random.default_rng(1)
    matrix, x = rng.uniform(size=(20, 20)) * 10.0 ** rng.uniform(-8, 8, (20, 1)), rng.uniform(size=20)
    for method in ("mc64", "alg3", "ruiz"):
        scaled = dal.equilibrate(matrix, method)
        found = scaled.columns * np.linalg.solve(scaled.matrix, scaled.rows * (matrix @ x))
        np.testing.assert_allclose(found, x, rtol=1e-11)


def test_alg3_takes_row_and_column_together_in_turn():
    """Two steps by hand: after i = 0 the matrix is [[4, 2], [4, 16]] / [[4, 2], [2, 1]] = [[1, 1], [2, 16]]."""
    matrix = np.array([[4.0, 2.0], [4.0, 16.0]])
    with pytest.raises(NoSolution, match="after 0 sweeps"):
        dal.equilibrate(matrix, "alg3", max_sweeps=0)
    found = dal.equilibrate(matrix, "alg3", tolerance=0.9)
    assert found.sweeps == 1
    np.testing.assert_array_equal(found.rows, [1 / 2, 1 / 4])
    np.testing.assert_array_equal(found.columns, [1 / 2, 1 / 4])
    np.testing.assert_array_equal(found.matrix, [[1.0, 0.25], [0.5, 1.0]])


def test_ruiz_keeps_a_symmetric_matrix_symmetric():
    matrix = regular(3, 12, 0.5, 5.0)
    found = dal.equilibrate(matrix + matrix.T, "ruiz")
    np.testing.assert_array_equal(found.rows, found.columns)


def test_stored_zeros_and_repeated_entries_count_as_what_they_add_up_to():
    at = ([0, 1, 0, 0, 1], [0, 1, 1, 1, 0])
    stored = scipy.sparse.coo_array(([2.0, 4.0, 3.0, -3.0, 0.0], at), shape=(2, 2))
    found = dal.equilibrate(stored)
    np.testing.assert_allclose(found.matrix.toarray(), np.eye(2))


@pytest.mark.parametrize(
    ("matrix", "reason"),
    [
        (np.ones((2, 3)), r"square, not of shape \(2, 3\)"),
        (np.ones(4), "square"),
        (np.ones((0, 0)), "empty"),
        (np.array([[1.0, np.nan], [0.0, 1.0]]), r"entry \(0, 1\) is nan"),
        (np.array([[1.0, 0.0], [-np.inf, 1.0]]), r"entry \(1, 0\) is -inf"),
        (np.eye(2) * 1j, "real entries, not complex"),
        (np.array([["a", "b"], ["c", "d"]]), "real entries"),
        (np.array([[1.0, 1.0], [0.0, 0.0]]), "row 1 has no entry"),
        (np.array([[0.0, 1.0], [0.0, 1.0]]), "column 0 has no entry"),
        (scipy.sparse.coo_array(([1.0, 2.0, -2.0], ([0, 1, 1], [0, 1, 1])), shape=(2, 2)), "row 1 has no entry"),
    ],
)
def test_what_cannot_be_scaled_is_refused_with_the_reason(matrix, reason):
    for method in ("mc64", "alg3", "ruiz"):
        with pytest.raises(ValueError, match=reason):
            dal.equilibrate(matrix, method)
    for function in (dal.matching, dal.condition_number):
        with pytest.raises(ValueError, match=reason):
            function(matrix)


def test_methods_and_tolerances_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="one of mc64, alg3, ruiz, not 'best'"):
        dal.equilibrate(np.eye(2), "best")
    for tolerance in (0.0, -1.0, np.nan, 1.0):
        with pytest.raises(ValueError, match="tolerance"):
            dal.equilibrate(np.eye(2), "ruiz", tolerance=tolerance)


def test_factors_beyond_floating_point_are_refused():
    """Diagonal entries are the only matching; below each stands one 1e600 times as large: r falls by as much a row."""
    chain = np.diag(np.full(6, 1e-300)) + np.diag(np.full(5, 1e300), -1)
    with pytest.raises(ValueError, match="overflow"):
        dal.equilibrate(chain)


def test_the_examples_of_the_documentation_print_what_they_say():
    page = Path(__file__).parents[2] / "docs" / "linear-systems.md"
    assert doctest.testfile(str(page), module_relative=False) == (0, 10)
    for module in (condition, equilibrate, matching):
        found = doctest.testmod(module)
        assert found.failed == 0 and found.attempted > 0
