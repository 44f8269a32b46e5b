"""The numeric part, in plain Python: see `test_plain.py`, which starts it."""

import numba
import numpy as np
import pytest

if not numba.config.DISABLE_JIT:
    pytest.skip("inner functions are called from Python only without compilation", allow_module_level=True)

from dalembert.linalg import block_ldl as block
from dalembert.linalg.block_ldl import factor, solve
from dalembert.linalg.ordering import analyse


def always(node, eliminated):
    return True


def tree_edges(count, rng):
    return {(int(rng.integers(max(0, k - 4), k)), k) for k in range(1, count)}


def loop_edges(count, rng):
    extra = {tuple(sorted(map(int, rng.choice(count, 2, replace=False)))) for _ in range(count // 3)}
    return tree_edges(count, rng) | extra


def problem(seed, edges_of, hubs=0, count=14):
    """A block matrix with the pattern of a graph: definite, with `hubs` negative definite nodes of six rows."""
    rng = np.random.default_rng(seed)
    sizes = [int(n) for n in rng.integers(1, 7, count)] + [6] * hubs
    edges = edges_of(count, rng)
    edges |= {(int(k), count + h) for h in range(hubs) for k in rng.choice(count, 6, replace=False)}
    neighbours = [set() for _ in sizes]
    for a, b in edges:
        neighbours[a].add(b)
        neighbours[b].add(a)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    dense = np.zeros((starts[-1], starts[-1]))
    for a, b in sorted(edges):
        part = rng.normal(size=(sizes[a], sizes[b]))
        dense[starts[a] : starts[a + 1], starts[b] : starts[b + 1]] = part
        dense[starts[b] : starts[b + 1], starts[a] : starts[a + 1]] = part.T
    for k, size in enumerate(sizes):
        rows = slice(starts[k], starts[k + 1])
        half = rng.normal(size=(size, size))
        # Between two joints the rest must dominate; between a joint and a hub any size will do.
        weight = np.abs(dense[rows, : starts[count]]).sum(axis=1).max() if k < count else 0.0
        sign = 1.0 if k < count else -1.0
        dense[rows, rows] = sign * (half @ half.T + (1.0 + weight) * np.eye(size))
    symbolic = analyse(sizes, list(map(int, starts[:-1])), neighbours, always)
    return dense, sizes, starts, edges, symbolic, rng


def fill(dense, sizes, starts, edges, symbolic):
    values = np.zeros(symbolic.values)
    for a, b in [*edges, *((k, k) for k in range(len(sizes)))]:
        offset, swapped = symbolic.block(a, b)
        i, j = (b, a) if swapped else (a, b)
        part = dense[starts[i] : starts[i + 1], starts[j] : starts[j + 1]]
        values[offset : offset + part.size] = part.ravel()
    return values


CASES = {
    "trees": (tree_edges, 0),
    "loops": (loop_edges, 0),
    "trees with hubs": (tree_edges, 2),
    "loops with hubs": (loop_edges, 3),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", CASES)
def test_solution_is_that_of_a_dense_solver(name, seed):
    dense, sizes, starts, edges, symbolic, rng = problem(seed, *CASES[name])
    values = fill(dense, sizes, starts, edges, symbolic)
    lower = np.full(symbolic.values, np.nan)
    scale = np.abs(np.diag(dense)).copy()
    ratio = factor(symbolic.columns, symbolic.entries, symbolic.updates, values, lower, scale)
    assert 0.0 < ratio <= 1.0
    right = rng.normal(size=dense.shape[0])
    x = right.copy()
    solve(symbolic.columns, symbolic.entries, values, lower, x)
    expected = np.linalg.solve(dense, right)
    np.testing.assert_allclose(x, expected, rtol=0, atol=1e-13 * np.linalg.cond(dense) * np.abs(expected).max())
    assert np.abs(dense @ x - right).max() <= 1e-13 * np.abs(dense).max() * np.abs(x).max() * len(x)


def test_dependent_rows_are_noticed():
    half = np.random.default_rng(0).normal(size=(3, 6))
    rows = np.vstack([half, half])
    dense = rows @ rows.T
    symbolic = analyse([3, 3], [0, 3], [{1}, {0}], always)
    values = fill(dense, [3, 3], [0, 3, 6], {(0, 1)}, symbolic)
    ratio = factor(symbolic.columns, symbolic.entries, symbolic.updates, values, np.full(symbolic.values, np.nan),
                   np.diag(dense).copy())  # fmt: skip
    assert ratio <= 1e-14


@pytest.mark.parametrize("poison", [np.nan, 0.0])
def test_a_pivot_that_vanishes_or_is_no_number_gives_zero(poison):
    symbolic = analyse([2], [0], [set()], always)
    values = np.array([1.0, 0.0, 0.0, poison])
    assert factor(symbolic.columns, symbolic.entries, symbolic.updates, values, np.zeros(4), np.ones(2)) == 0.0


@pytest.mark.parametrize("size", range(1, 7))
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_inverse_of_a_block(size, sign):
    rng = np.random.default_rng(size)
    half = rng.normal(size=(size, size))
    matrix = sign * (half @ half.T + np.eye(size))
    flat = np.concatenate([[7.0], matrix.ravel(), [7.0]])
    ratio = block.invert(flat, 1, size, np.concatenate([[9.0], np.abs(np.diag(matrix))]), 1)
    assert 0.0 < ratio <= 1.0
    np.testing.assert_allclose(flat[1:-1].reshape(size, size), np.linalg.inv(matrix), rtol=1e-12, atol=1e-13)
    assert flat[0] == flat[-1] == 7.0


@pytest.mark.parametrize("rows", [1, 3, 6])
@pytest.mark.parametrize("columns", [2, 3, 5])
@pytest.mark.parametrize("size", [1, 3, 6])
def test_products_of_blocks(rows, columns, size):
    rng = np.random.default_rng(0)
    a, b, d = rng.normal(size=(rows, size)), rng.normal(size=(columns, size)), rng.normal(size=(size, size))
    c = rng.normal(size=(rows, columns))
    out = c.ravel().copy()
    block.subtract_product_t(out, 0, a.ravel(), 0, rows, b.ravel(), 0, columns, size)
    np.testing.assert_allclose(out.reshape(c.shape), c - a @ b.T, rtol=0, atol=1e-14)
    out = np.full(rows * size, np.nan)
    block.product(out, 0, a.ravel(), 0, d.ravel(), 0, rows, size)
    np.testing.assert_allclose(out.reshape(a.shape), a @ d, rtol=0, atol=1e-14)
