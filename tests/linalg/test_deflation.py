"""Conjugate gradients with patches of nodes against SciPy's direct solver, elimination, and conjugate gradients without."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import spsolve

from dalembert.core.status import OK
from dalembert.linalg.block_matrix import BlockMatrix, BlockPattern, block_pattern, to_scipy
from dalembert.linalg.conjugate_gradient import INDEFINITE, NOT_FINITE, solve_cg
from dalembert.linalg.deflation import coarse_space

from .cloth import MASS, STEP, cloth
from .test_conjugate_gradient import by_elimination, some_held


def patches(matrix, size=9, fewest=1):
    return coarse_space(BlockPattern(matrix.starts, matrix.columns, ()), size, fewest)


def without(matrix):
    return patches(matrix, fewest=10**9)


def threads(number, length, stiffness=1e4, far=0):
    """Straight threads in random directions, `far` nodes alone, and the numbers of all nodes shuffled."""
    rng = np.random.default_rng(number)
    n = number * length + far
    node = rng.permutation(n)[: number * length].reshape(number, length)
    pairs = np.column_stack([node[:, :-1].ravel(), node[:, 1:].ravel()])
    along = np.repeat(rng.normal(size=(number, 3)), length - 1, axis=0)
    along /= np.linalg.norm(along, axis=1)[:, None]
    block = STEP**2 * stiffness * along[:, :, None] * along[:, None, :]
    pattern = block_pattern(n, [pairs])
    values = np.zeros((len(pattern.columns), 3, 3))
    for local, sign in ((0, 1.0), (1, -1.0), (2, 1.0)):
        np.add.at(values, pattern.slots[0][:, local] // 2, sign * block)
    values[pattern.starts[:-1]] += MASS * np.eye(3)
    return BlockMatrix(pattern.starts, pattern.columns, values.ravel())


@pytest.mark.parametrize("size", [1, 9, 1000])
@pytest.mark.parametrize("stiffness", [1e2, 1e5])
def test_a_sheet_moves_as_the_direct_solver_says(stiffness, size):
    matrix = cloth(15, stiffness)
    b = 1e-3 * np.random.default_rng(1).normal(size=(225, 3))
    found = solve_cg(matrix, b, space=patches(matrix, size), tolerance=1e-11)
    expected = spsolve(to_scipy(matrix), b.ravel()).reshape(b.shape)
    assert found.status == OK and found.residual <= 1e-11
    np.testing.assert_allclose(found.x, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), side=st.integers(2, 7), most=st.integers(0, 49), size=st.integers(1, 12))
def test_held_nodes_keep_what_is_prescribed_and_the_rest_is_as_by_elimination(seed, side, most, size):
    rng = np.random.default_rng(seed)
    matrix, n = cloth(side), side * side
    b, start = 1e-3 * rng.normal(size=(n, 3)), rng.normal(size=(n, 3))
    held = some_held(rng, n, most)
    found = solve_cg(matrix, b, start, held=held, space=patches(matrix, size), tolerance=1e-12)
    assert found.status == OK
    np.testing.assert_allclose(found.x, by_elimination(matrix, b, start, held), rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("stiffness", [1e2, 1e5])
@pytest.mark.parametrize("fixed", [1, 2, 3])
def test_patches_whose_nodes_are_all_held_alike(fixed, stiffness):
    # The coarse matrix is singular along what is fixed, in a skew direction.
    matrix, u = cloth(9, stiffness), (1.0, 2.0, -3.0)
    b, start = 1e-3 * np.random.default_rng(2).normal(size=(81, 3)), np.full((81, 3), 0.1)
    space = patches(matrix)
    held = [(int(i), fixed, u) for i in np.flatnonzero(space.patch <= space.patch.max() // 2)]
    found = solve_cg(matrix, b, start, held=held, space=space, tolerance=1e-11)
    assert found.status == OK
    expected = by_elimination(matrix, b, start, held)
    np.testing.assert_allclose(found.x, expected, rtol=0.0, atol=1e-8 * np.abs(expected).max())


def test_all_nodes_held():
    matrix = cloth(5)
    held = [(i, 3, (0, 0, 0)) for i in range(25)]
    found = solve_cg(matrix, np.ones((25, 3)), np.full((25, 3), 2.0), held=held, space=patches(matrix))
    assert found.status == OK and found.iterations == 0 and (found.x == 2.0).all()


def test_threads_apart_and_single_nodes():
    matrix = threads(7, 30, far=6)
    b = np.random.default_rng(3).normal(size=(216, 3))
    held = [(0, 3, (0, 0, 0)), (50, 2, (1, 1, 0)), (100, 1, (0, 1, 2))]
    found = solve_cg(matrix, b, held=held, space=patches(matrix), tolerance=1e-11)
    assert found.status == OK
    expected = by_elimination(matrix, b, np.zeros_like(b), held)
    np.testing.assert_allclose(found.x, expected, rtol=0.0, atol=1e-8 * np.abs(expected).max())


def test_one_patch_for_each_node_is_a_direct_solver():
    matrix = cloth(8, 1e4)
    found = solve_cg(matrix, np.random.default_rng(4).normal(size=(64, 3)), space=patches(matrix, 1), tolerance=1e-8)
    assert found.status == OK and found.iterations == 0


@pytest.mark.parametrize(("stiffness", "ratio"), [(4e3, 0.6), (4e4, 0.4)])
@pytest.mark.parametrize("held", [[], [(0, 3, (0, 0, 0)), (29, 3, (0, 0, 0))], [(i, 1, (0, 0, 1)) for i in range(450)]])
def test_patches_save_iterations_on_stiff_cloth(stiffness, ratio, held):
    # Counted: at most 0.36 and 0.30 of those without.
    matrix, b = cloth(30, stiffness), np.random.default_rng(6).normal(size=(900, 3))
    alone = solve_cg(matrix, b, held=held, space=without(matrix), tolerance=1e-4)
    found = solve_cg(matrix, b, held=held, tolerance=1e-4)
    assert found.status == alone.status == OK
    assert found.iterations <= ratio * alone.iterations


def test_few_nodes_get_no_patches():
    assert len(coarse_space(block_pattern(99, [])).pivots) == 0
    assert len(coarse_space(block_pattern(100, [])).pivots) == 100


def test_a_coarse_matrix_that_is_not_definite_is_reported():
    matrix = cloth(8)
    blocks = matrix.values.reshape(-1, 3, 3)
    blocks[matrix.starts[:-1]] -= 2.0 * MASS * np.eye(3)
    assert np.linalg.eigvalsh(blocks[matrix.starts[:-1]]).min() > 0.0  # only the sum over a patch gives it away
    found = solve_cg(matrix, np.ones((64, 3)), space=patches(matrix, 64))
    assert found.status == INDEFINITE and found.iterations == 0 and (found.x == 0.0).all()


def test_an_indefinite_matrix_that_patches_do_not_show_is_reported():
    matrix = cloth(8)
    blocks = matrix.values.reshape(-1, 3, 3)
    for i in range(64):
        blocks[matrix.starts[i] + 1 : matrix.starts[i + 1]] *= -3.0
    found = solve_cg(matrix, np.random.default_rng(7).normal(size=(64, 3)), space=patches(matrix, 64))
    assert found.status == INDEFINITE and np.isfinite(found.x).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["diagonal", "beside", "b"])
def test_what_is_not_finite_does_not_pass_for_a_solution(where, bad):
    matrix, b = cloth(6), np.ones((36, 3))
    at = 9 * matrix.starts[3]
    if where == "b":
        b[3, 1] = bad
    else:
        matrix.values[at + 4 if where == "diagonal" else at + 9] = bad
    assert solve_cg(matrix, b, space=patches(matrix)).status in (NOT_FINITE, INDEFINITE)


def test_the_same_problem_has_the_same_bits():
    matrix, b = cloth(12, 1e4), np.random.default_rng(5).normal(size=(144, 3))
    held = [(0, 1, (1.0, 1.0, 0.0)), (11, 3, (0, 0, 0))]
    first, second = (solve_cg(matrix, b, held=held, space=patches(matrix)) for _ in range(2))
    assert first.x.tobytes() == second.x.tobytes() and first.residual == second.residual
