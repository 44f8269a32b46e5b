"""The matching of MC64: as good as SciPy's, proven by its duals; structural singularity."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import min_weight_full_bipartite_matching, structural_rank

import dalembert as dal


def costs(matrix):
    """cᵢⱼ of the method; infinite where the entry is zero."""
    with np.errstate(divide="ignore"):
        return np.log(abs(matrix).max(axis=0)) - np.log(abs(matrix))


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.booleans())
def test_a_dense_matching_is_as_good_as_scipys(seed, n, ties):
    rng = np.random.default_rng(seed)
    matrix = rng.choice([1.0, 2.0, 4.0], (n, n)) if ties else 10.0 ** rng.uniform(-5, 5, (n, n))
    cost = costs(matrix)
    rows = dal.matching(matrix).rows
    np.testing.assert_array_equal(np.sort(rows), np.arange(n))
    best = cost[scipy.optimize.linear_sum_assignment(cost)].sum()
    assert cost[rows, np.arange(n)].sum() == pytest.approx(best, rel=1e-11, abs=1e-11)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.floats(1.0, 6.0))
def test_a_sparse_matching_is_as_good_as_scipys_or_there_is_none(seed, n, degree):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(n, n)) ** 3 * (rng.uniform(size=(n, n)) < degree / n)
    rank = structural_rank(scipy.sparse.csr_array(matrix))
    if rank < n:
        with pytest.raises(ValueError, match=f"at most {rank} of {n}|no entry other than zero"):
            dal.matching(scipy.sparse.csc_array(matrix))
        return
    cost, rows = costs(matrix), dal.matching(scipy.sparse.csc_array(matrix)).rows
    # SciPy drops entries of weight zero: one added to all of them adds n to the sum.
    at, other = min_weight_full_bipartite_matching(scipy.sparse.csr_array(np.where(matrix == 0.0, 0.0, cost + 1.0)))
    assert cost[rows, np.arange(n)].sum() == pytest.approx(cost[at, other].sum(), rel=1e-10, abs=1e-10)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.floats(0.05, 1.0))
def test_the_duals_prove_that_no_matching_is_better(seed, n, density):
    rng = np.random.default_rng(seed)
    matrix = 10.0 ** rng.uniform(-30, 30, (n, n)) * ((rng.uniform(size=(n, n)) < density) | np.eye(n, dtype=bool))
    found = dal.matching(matrix)
    slack = costs(matrix) - found.row_duals[:, None] - found.column_duals
    assert slack.min() >= -1e-10
    np.testing.assert_allclose(slack[found.rows, np.arange(n)], 0.0, atol=1e-10)


def test_a_long_way_is_found_where_every_column_has_to_change_its_row():
    """Entries (j, j) and (j + 1, j), and a last column with row 0 only: one matching, which the greedy start misses."""
    n = 2000
    matrix = scipy.sparse.diags_array([np.full(n, 9.0), np.ones(n - 1)], offsets=[0, -1], format="lil")
    matrix[n - 1, n - 1] = 0.0
    matrix[0, n - 1] = 1e-3
    rows = dal.matching(matrix).rows
    np.testing.assert_array_equal(rows, np.roll(np.arange(n), -1))


def test_the_message_counts_what_can_be_matched_and_names_what_is_left():
    lacking = np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    with pytest.raises(ValueError, match=r"at most 2 of 3 columns .*; column 2 and row 1 are unmatched"):
        dal.matching(lacking)
    with pytest.raises(ValueError, match="structurally singular"):
        dal.equilibrate(lacking)
