"""Sparse factors solve what dense and SuperLU's factors solve; what has none is reported."""

import numpy as np
import pytest
import scipy.sparse.linalg as spl
from tests.linalg.supernodal import (
    factored,
    neighbours_in_space,
    planned,
    random_edges,
    random_matrix,
    solution,
)  # fmt: skip

BODIES, MIXED, TREES = (6,), (1, 2, 3, 6, 7, 20), (6, 6, 6, 6, 33)


def check(matrix, s, symmetric=False, seed=0):
    """Factor, solve, and put the solution into the equations; the matrix is well conditioned."""
    right = np.random.default_rng(seed).normal(size=int(matrix.sizes.sum()))
    assert factored(matrix, s, symmetric) > 1e-3
    np.testing.assert_allclose(matrix.csc() @ solution(s, right), right, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("kinds", [BODIES, MIXED, TREES])
def test_random_graphs_are_solved(kinds, symmetric):
    s = None
    for seed in range(15):
        rng = np.random.default_rng(seed)
        nodes = int(rng.integers(1, 30))
        edges = random_edges(seed, nodes, int(nodes * rng.choice([0.5, 1.0, 2.0, 4.0])), beyond=1)
        matrix = random_matrix(seed, rng.choice(kinds, nodes), edges, symmetric)
        s, _ = planned(matrix, s)
        check(matrix, s, symmetric)


def test_solutions_are_those_of_dense_elimination():
    matrix = random_matrix(0, [6, 1, 9, 2, 6, 6], [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 3)])
    s, _ = planned(matrix)
    factored(matrix, s)
    right = np.arange(30.0)
    np.testing.assert_allclose(solution(s, right), np.linalg.solve(matrix.csc().toarray(), right), rtol=1e-13)


def test_a_pile_is_solved_as_by_superlu_with_no_more_fill():
    matrix = random_matrix(1, [6] * 216, neighbours_in_space(1, 6))
    s, _ = planned(matrix)
    check(matrix, s)
    other = spl.splu(matrix.csc(), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}, diag_pivot_thresh=0.0)
    fronts = s.supernodes[: s.plan[0].supernodes]
    entries = (fronts.pivots * (fronts.pivots + 2 * fronts.rest)).sum()
    assert entries <= 1.1 * (other.L.nnz + other.U.nnz)


def test_a_symmetric_matrix_has_the_same_solution_either_way():
    matrix = random_matrix(2, [6] * 64, neighbours_in_space(2, 4), symmetric=True)
    s, _ = planned(matrix)
    right = np.arange(384.0)
    found = []
    for symmetric in (False, True):
        factored(matrix, s, symmetric)
        found.append(solution(s, right))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def test_of_a_symmetric_matrix_one_of_the_two_blocks_of_an_edge_is_not_read():
    matrix = random_matrix(2, [6, 3, 9] * 21 + [1], neighbours_in_space(2, 4), symmetric=True)
    s, _ = planned(matrix)
    right = np.arange(float(matrix.sizes.sum()))
    factored(matrix, s, symmetric=True)
    expected = solution(s, right)
    for e in range(len(matrix.edges)):
        is_below = s.slots[2 * e].column != 1
        matrix.blocks[64 + 2 * e + (0 if is_below else 1)][:] = np.nan
    factored(matrix, s, symmetric=True)
    assert np.array_equal(solution(s, right), expected)


def test_pivots_below_zero_are_those_of_negative_eigenvalues():
    """Sylvester's law of inertia."""
    matrix = random_matrix(3, [6] * 27, neighbours_in_space(3, 3), symmetric=True)
    for i in (4, 11):
        matrix.blocks[i] = -matrix.blocks[i]
    s, _ = planned(matrix)
    assert factored(matrix, s, symmetric=True) > 0.0
    assert s.plan[0].negative == (np.linalg.eigvalsh(matrix.csc().toarray()) < 0.0).sum() == 12


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("size", [1, 5, 6, 13])
def test_dependent_rows_are_reported(size, symmetric):
    """Two nodes that only their difference holds in place: A = [[K, −K], [−K, K]]."""
    rng = np.random.default_rng(size)
    root = rng.normal(size=(size, size))
    k = root @ root.T + np.eye(size)
    matrix = random_matrix(0, [6] * 8 + [size] * 2, [*((i, i + 1) for i in range(7)), (8, 9)], symmetric)
    matrix.blocks[8], matrix.blocks[9] = k, k
    matrix.blocks[-2], matrix.blocks[-1] = -k, -k
    s, _ = planned(matrix)
    assert factored(matrix, s, symmetric) < 1e-13
    matrix.blocks[9] = k + 0.1 * np.eye(size)
    assert factored(matrix, s, symmetric) > 1e-4


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf])
def test_a_matrix_without_a_pivot_has_no_factors(bad):
    matrix = random_matrix(5, [6] * 12, [(i, i + 1) for i in range(11)])
    matrix.blocks[7][:] = bad
    if bad == 0.0:
        matrix.blocks[12:] = [0.0 * block for block in matrix.blocks[12:]]
    s, _ = planned(matrix)
    assert factored(matrix, s) == 0.0


def test_nothing_is_read_that_was_not_written():
    """Tables full of NaN and −1 give the same bits as new ones, and so do those that another matrix was factored in."""
    large = random_matrix(6, [6, 7, 1, 20] * 16, neighbours_in_space(6, 4))
    small = random_matrix(7, [6] * 27, neighbours_in_space(7, 3))
    right = np.random.default_rng(0).normal(size=int(small.sizes.sum()))
    s, _ = planned(small)
    factored(small, s)
    expected = solution(s, right)
    for spoil in ("NaN", "another matrix"):
        s, _ = planned(large)
        if spoil == "NaN":
            for name in ("values", "work", "inverse", "scale", "vector", "gathered"):
                getattr(s, name)[:] = np.nan
            for name in ("owner", "rank", "in_order", "following", "start", "offset", "where", "next_edge"):
                getattr(s, name)[:] = -1
            for column in s.elimination:
                column[:] = -1
        else:
            factored(large, s)
        s, growths = planned(small, s)
        assert growths == 0
        factored(small, s)
        assert np.array_equal(solution(s, right), expected)


def test_one_plan_serves_many_matrices_and_one_factorization_many_right_hand_sides():
    edges = neighbours_in_space(8, 3)
    s = None
    for seed in range(3):
        matrix = random_matrix(seed, [6] * 27, edges)
        s, _ = planned(matrix, s)
        for k in range(3):
            check(matrix, s, seed=k)
