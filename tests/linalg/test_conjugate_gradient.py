"""Conjugate gradients against SciPy's direct solver and elimination by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import spsolve

from dalembert.core.status import OK
from dalembert.linalg.block_matrix import BlockMatrix, BlockPattern, to_scipy
from dalembert.linalg.conjugate_gradient import INDEFINITE, NOT_CONVERGED, NOT_FINITE, solve_cg
from dalembert.linalg.deflation import coarse_space

from .cloth import cloth


def block_diagonal(*blocks):
    n = len(blocks)
    return BlockMatrix(np.arange(n + 1), np.arange(n, dtype=np.int32), np.array(blocks, float).ravel())


def definite(rng, spread=0.0):
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return axes @ np.diag(10.0 ** rng.uniform(-spread, spread, 3)) @ axes.T


def free_axes(n, held):
    """A basis (3 n, m) of what the nodes can do, orthonormal."""
    ranges = {}
    for node, fixed, direction in held:
        direction = np.array(direction, float) / max(np.linalg.norm(direction), 1e-300)
        others = np.linalg.svd(direction[None])[2][1:].T
        ranges[node] = {1: others, 2: direction[:, None], 3: np.zeros((3, 0))}[fixed]
    columns = []
    for i in range(n):
        part = ranges.get(i, np.eye(3))
        wide = np.zeros((3 * n, part.shape[1]))
        wide[3 * i : 3 * i + 3] = part
        columns.append(wide)
    return np.hstack(columns)


def by_elimination(matrix, b, start, held):
    """The solution among x = z + Q y, with z from the start."""
    a, q = to_scipy(matrix), free_axes(len(b), held)
    z = start.ravel() - q @ (q.T @ start.ravel())
    y = np.linalg.solve(q.T @ (a @ q), q.T @ (b.ravel() - a @ z))
    return (z + q @ y).reshape(b.shape)


def some_held(rng, n, most):
    nodes = rng.permutation(n)[:most]
    return [(int(i), int(rng.integers(1, 4)), rng.normal(size=3)) for i in nodes]


@pytest.mark.parametrize("stiffness", [1e2, 1e3, 1e5])
@pytest.mark.parametrize("side", [2, 5, 20])
def test_a_sheet_moves_as_the_direct_solver_says(side, stiffness):
    matrix = cloth(side, stiffness)
    b = 1e-3 * np.random.default_rng(side).normal(size=(side * side, 3))
    found = solve_cg(matrix, b, tolerance=1e-11)  # A's condition number is up to 2e5
    expected = spsolve(to_scipy(matrix), b.ravel()).reshape(b.shape)
    assert found.status == OK and found.residual <= 1e-11
    np.testing.assert_allclose(found.x, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-8])
@pytest.mark.parametrize("patched", [False, True])
def test_it_ends_at_the_residual_asked_for(tolerance, patched):
    matrix = cloth(15, 1e4)
    space = coarse_space(BlockPattern(matrix.starts, matrix.columns, ()), fewest=1 if patched else 1000)
    b = np.tile([0.0, 1e-4, -1e-2], (225, 1))
    b[::7] += 1e-3
    held = [(0, 3, (0, 0, 0)), (14, 3, (0, 0, 0))]
    found = solve_cg(matrix, b, held=held, space=space, tolerance=tolerance)
    q = free_axes(225, held)
    free = [q.T @ (b.ravel() - to_scipy(matrix) @ x.ravel()) for x in (found.x, np.zeros_like(b))]
    # The norm is that of M⁻¹ + W A_c⁻¹ Wᵀ, here with the dense M on the free part; four nodes are taken at once.
    whole = q.T @ to_scipy(matrix).toarray() @ q
    split = space.position[np.repeat(np.arange(225), 3)[(np.abs(q) > 0.0).argmax(axis=0)]]
    diagonal = np.where(split[:, None] == split[None], whole, 0.0)
    upper = np.where(split[:, None] // 12 < split[None] // 12, whole, 0.0)
    m = (diagonal + upper.T) @ np.linalg.solve(diagonal, diagonal + upper)
    inverse = np.linalg.inv(m)
    if patched:
        w = q.T @ np.kron(np.eye(space.patch.max() + 1)[space.patch], np.eye(3))
        inverse += w @ np.linalg.solve(w.T @ whole @ w, w.T)
    norms = [np.sqrt(r @ inverse @ r) for r in free]
    assert found.status == OK and found.residual <= tolerance
    assert found.residual == pytest.approx(norms[0] / norms[1], rel=1e-6)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), side=st.integers(2, 5), most=st.integers(0, 12))
def test_held_nodes_keep_what_is_prescribed_and_the_rest_is_as_by_elimination(seed, side, most):
    rng = np.random.default_rng(seed)
    matrix, n = cloth(side), side * side
    b, start = 1e-3 * rng.normal(size=(n, 3)), rng.normal(size=(n, 3))
    held = some_held(rng, n, most)
    found = solve_cg(matrix, b, start, held=held, tolerance=1e-12)
    assert found.status == OK
    np.testing.assert_allclose(found.x, by_elimination(matrix, b, start, held), rtol=0.0, atol=1e-8)
    for node, fixed, direction in held:
        moved, u = found.x[node] - start[node], direction / np.linalg.norm(direction)
        if fixed == 3:
            assert (moved == 0.0).all()
        elif fixed == 2:
            assert np.linalg.norm(np.cross(moved, u)) <= 1e-14
        else:
            assert abs(moved @ u) <= 1e-14


def test_a_start_near_the_solution_saves_iterations_and_the_solution_none_at_all():
    matrix = cloth(12, 1e4)
    b = 1e-3 * np.random.default_rng(0).normal(size=(144, 3))
    cold = solve_cg(matrix, b, tolerance=1e-6)
    near = solve_cg(matrix, b, cold.x * (1.0 + 1e-4), tolerance=1e-6)
    there = solve_cg(matrix, b, solve_cg(matrix, b, tolerance=1e-9).x, tolerance=1e-6)
    assert near.iterations < cold.iterations
    assert there.iterations == 0 and there.status == OK and there.residual <= 1e-6


def test_block_diagonals_take_one_iteration_whatever_their_spread():
    rng = np.random.default_rng(1)
    blocks = [definite(rng, spread=3.0) for _ in range(6)]
    b = rng.normal(size=(6, 3))
    found = solve_cg(block_diagonal(*blocks), b, tolerance=1e-8)
    assert found.status == OK and found.iterations == 1
    np.testing.assert_allclose(found.x, [np.linalg.solve(m, r) for m, r in zip(blocks, b, strict=True)], rtol=1e-7)


def test_springs_a_hundred_million_times_as_stiff_as_the_mass_in_skew_directions():
    u = np.ones(3) / np.sqrt(3.0)
    block = 1e8 * np.outer(u, u) + np.eye(3)
    b = np.array([[1.0, -2.0, 1.0]])  # at right angles to u
    found = solve_cg(block_diagonal(block), b, tolerance=1e-8)
    assert found.status == OK
    np.testing.assert_allclose(found.x, b, rtol=1e-6)


def test_one_node_and_none():
    found = solve_cg(block_diagonal(np.diag([1.0, 2.0, 4.0])), [(1.0, 1.0, 1.0)])
    np.testing.assert_allclose(found.x, [(1.0, 0.5, 0.25)], rtol=1e-14)
    empty = solve_cg(BlockMatrix(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0)), np.zeros((0, 3)))
    assert empty.status == OK and empty.iterations == 0


def test_without_a_right_side_nothing_moves_but_what_is_prescribed():
    matrix = cloth(4)
    found = solve_cg(matrix, np.zeros((16, 3)), np.ones((16, 3)))
    assert (found.status, found.iterations, found.residual) == (OK, 0, 0.0)
    assert (found.x == 0.0).all()
    held = [(i, 3, (0, 0, 0)) for i in range(16)]
    found = solve_cg(matrix, np.ones((16, 3)), np.full((16, 3), 2.0), held=held)
    assert found.status == OK and (found.x == 2.0).all()


def coupled(block):
    """Two nodes, the identity on the diagonal and this beside it."""
    values = np.concatenate([np.eye(3).ravel(), np.asarray(block, float).ravel(), np.eye(3).ravel()])
    return BlockMatrix(np.array([0, 2, 3]), np.array([0, 1, 1], np.int32), values)


def test_an_indefinite_matrix_is_reported_with_the_best_point_before():
    b = np.array([[1.0, 0.2, 0.3], [-1.0, 0.5, 0.0]])
    found = solve_cg(coupled(np.diag([2.0, 0.1, 0.2])), b)
    assert found.status == INDEFINITE
    a = to_scipy(coupled(np.diag([2.0, 0.1, 0.2])))
    x = found.x.ravel()
    assert np.isfinite(x).all() and 0.5 * x @ (a @ x) - b.ravel() @ x <= 0.0
    assert found.residual == pytest.approx(found.residual) and found.residual > 1e-8


def test_an_indefinite_diagonal_is_reported_unless_it_is_held():
    matrix = block_diagonal(np.eye(3), np.diag([1.0, -1.0, 1.0]))
    b = np.ones((2, 3))
    found = solve_cg(matrix, b)
    assert found.status == INDEFINITE and found.iterations == 0 and (found.x == 0.0).all()
    assert solve_cg(matrix, b, held=[(1, 1, (1, 0, 0))]).status == INDEFINITE
    found = solve_cg(matrix, b, held=[(1, 1, (0, 1, 0))])
    assert found.status == OK
    np.testing.assert_allclose(found.x, [(1, 1, 1), (1, 0, 1)], rtol=1e-14)


def test_iterations_are_counted_and_bounded():
    matrix, b = cloth(15, 1e4), np.random.default_rng(2).normal(size=(225, 3))
    whole = solve_cg(matrix, b)
    cut = solve_cg(matrix, b, max_iterations=5)
    assert whole.status == OK and whole.iterations > 5
    assert cut.status == NOT_CONVERGED and cut.iterations == 5 and 1e-8 < cut.residual < 1.0


def test_a_tolerance_below_rounding_ends_with_the_residual_that_is_reached():
    found = solve_cg(cloth(10, 1e5), np.random.default_rng(3).normal(size=(100, 3)), tolerance=1e-30)
    assert found.status == NOT_CONVERGED and found.iterations < 1000
    assert found.residual < 1e-11  # the condition number, 2e5, times the rounding of one number, 2e-16, is 4e-11


@pytest.mark.parametrize("where", ["matrix", "beside", "b", "start"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_does_not_pass_for_a_solution(where, bad):
    matrix, b, start = cloth(4), np.ones((16, 3)), np.ones((16, 3))
    if where == "matrix":
        matrix.values[9 * matrix.starts[3] + 4] = bad
    elif where == "beside":
        matrix.values[9 * matrix.starts[3] + 9] = bad
    else:
        (b if where == "b" else start)[3, 1] = bad
    assert solve_cg(matrix, b, start).status in (NOT_FINITE, INDEFINITE)


def test_the_same_problem_has_the_same_bits():
    matrix, b = cloth(9, 1e4), np.random.default_rng(5).normal(size=(81, 3))
    first, second = solve_cg(matrix, b), solve_cg(matrix, b)
    assert first.x.tobytes() == second.x.tobytes() and first.residual == second.residual


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"b": np.ones((2, 3))}, "shape"),
        ({"start": np.ones(3)}, "shape"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"held": [(0, 3, (0, 0, 0)), (0, 1, (1, 0, 0))]}, "distinct"),
        ({"held": [(1, 3, (0, 0, 0))]}, "from 0 to 0"),
        ({"held": [(0, 4, (0, 0, 0))]}, "one to three"),
        ({"held": [(0, 1, (0, 0, 0))]}, "length"),
    ],
)
def test_bad_input_is_refused(change, message):
    given_ = {"b": np.ones((1, 3)), **change}
    with pytest.raises(ValueError, match=message):
        solve_cg(block_diagonal(np.eye(3)), given_.pop("b"), given_.pop("start", None), **given_)
