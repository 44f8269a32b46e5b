"""The envelope factorization solves what dense elimination solves, and its order keeps islands apart."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.core.kernel import array, kernel, out
from dalembert.linalg import ordering as envelope
from dalembert.linalg.ordering import adjacency, cuthill_mckee, row_starts

NUMBERS = out(1, np.int64)


@kernel
def order(
    nodes: int, edges: array(1, np.int64), head: NUMBERS, neighbour: NUMBERS, degree: NUMBERS,
    queue: NUMBERS, level: NUMBERS, position: NUMBERS, first: NUMBERS, start: NUMBERS,
    found: NUMBERS,
) -> None:  # fmt: skip
    adjacency(nodes, edges, edges.shape[0] // 2, head, neighbour, degree)
    found[0] = cuthill_mckee(nodes, head, neighbour, degree, queue, level, position)
    found[1] = row_starts(nodes, found[0], head, neighbour, position, first, start)


@kernel
def factor_and_solve(
    rows: int, first: array(1, np.int64), start: array(1, np.int64), values: out(), half: int, x: out()
) -> int:
    status = envelope.factor(rows, first, start, values, half)
    if status == 0:
        envelope.solve(rows, first, start, values, half, x)
    return status


def ordered(nodes, edges, left_out=()):
    """(position, first, start, how many are placed, length of a triangle)"""
    ints = [np.full(nodes + 1, -9, np.int64) for _ in range(7)]
    head, degree, queue, level, position, first, start = ints
    degree[:] = 0
    degree[list(left_out)] = -1
    flat = np.array(edges, np.int64).ravel()
    neighbour = np.zeros(len(flat) + 1, np.int64)
    found = np.zeros(2, np.int64)
    order(nodes, flat, head, neighbour, degree, queue, level, position, first, start, found)
    placed, total = found.tolist()
    return position[:nodes], first, start, placed, total


def pack(matrix, position, first, start, total, values):
    """Blocks of a (6 n, 6 n) matrix, in the order of the bodies, to their places."""
    values[:] = 0.0
    body = np.argsort(np.where(position < 0, len(position), position))
    for i in range(int((position >= 0).sum())):
        width = 6 * (i - first[i] + 1)
        for j in range(first[i], i + 1):
            below = matrix[6 * body[i] : 6 * body[i] + 6, 6 * body[j] : 6 * body[j] + 6]
            above = matrix[6 * body[j] : 6 * body[j] + 6, 6 * body[i] : 6 * body[i] + 6]
            for r in range(6):
                at = start[i] + r * width + 6 * (j - first[i])
                values[at : at + 6] = below[r]
                values[total + at : total + at + 6] = above[:, r]


def block_matrix(rng, nodes, edges, skew):
    """Diagonally dominant by blocks, unsymmetric by `skew`, with the blocks of the edges."""
    matrix = np.zeros((6 * nodes, 6 * nodes))
    for a, b in [*edges, *((i, i) for i in range(nodes))]:
        block = rng.normal(size=(6, 6))
        matrix[6 * a : 6 * a + 6, 6 * b : 6 * b + 6] += block
        matrix[6 * b : 6 * b + 6, 6 * a : 6 * a + 6] += block.T + skew * rng.normal(size=(6, 6))
    return matrix + np.diag(np.abs(matrix).sum(1) + 1.0)


def solve_packed(matrix, edges, right, nodes):
    position, first, start, placed, total = ordered(nodes, edges)
    values = np.full(2 * total, np.nan)
    pack(matrix, position, first, start, total, values)
    x = np.full(6 * nodes, np.nan)
    for i in range(nodes):
        x[6 * position[i] : 6 * position[i] + 6] = right[6 * i : 6 * i + 6]
    assert factor_and_solve(placed, first, start, values, total, x) == 0
    return np.concatenate([x[6 * position[i] : 6 * position[i] + 6] for i in range(nodes)])


@pytest.mark.parametrize("skew", [0.0, 1.0])
def test_solution_is_that_of_dense_elimination(skew):
    rng = np.random.default_rng(3)
    for nodes in (1, 2, 5, 12):
        edges = [tuple(rng.choice(nodes, 2, replace=False)) for _ in range(2 * nodes)] if nodes > 1 else []
        matrix, right = block_matrix(rng, nodes, edges, skew), rng.normal(size=6 * nodes)
        x = solve_packed(matrix, edges, right, nodes)
        np.testing.assert_allclose(x, np.linalg.solve(matrix, right), rtol=0.0, atol=1e-15)


@settings(max_examples=30, deadline=None)
@given(nodes=st.integers(1, 9), seed=st.integers(0, 10**6), data=st.data())
def test_any_graph_is_ordered_once_and_fits_its_envelope(nodes, seed, data):
    pair = st.tuples(st.integers(0, nodes), st.integers(0, nodes))
    edges = [(a, b) for a, b in data.draw(st.lists(pair, max_size=15)) if a != b]
    inside = [(a, b) for a, b in edges if a < nodes and b < nodes]
    position, first, _, placed, _ = ordered(nodes, edges)
    assert placed == nodes and sorted(position) == list(range(nodes))
    for a, b in inside:
        assert first[max(position[a], position[b])] <= min(position[a], position[b])
    rng = np.random.default_rng(seed)
    matrix, right = block_matrix(rng, nodes, inside, 0.5), rng.normal(size=6 * nodes)
    assert np.abs(matrix @ solve_packed(matrix, inside, right, nodes) - right).max() < 1e-13


def test_a_chain_in_any_numbering_has_one_block_beside_the_diagonal():
    names = np.random.default_rng(0).permutation(50)
    position, first, _, _, total = ordered(50, [(names[i], names[i + 1]) for i in range(49)])
    assert total == 36 * (1 + 2 * 49)
    assert np.all(np.arange(50) - first[:50] <= 1)
    assert np.abs(np.diff(position[names])).max() == 1


def test_islands_do_not_see_each_other_and_bodies_left_out_take_no_place():
    edges = [(0, 4), (4, 2), (1, 3), (5, 0), (5, 3)]  # 5 is left out: what it touches falls apart
    position, first, _, placed, _ = ordered(6, edges, left_out=(5,))
    assert placed == 5 and position[5] == -1
    islands = [sorted(position[[0, 4, 2]]), sorted(position[[1, 3]])]
    for island in islands:
        assert island == list(range(island[0], island[-1] + 1))
        assert min(first[island]) == island[0]


def test_a_vanishing_pivot_is_reported():
    position, first, start, placed, total = ordered(1, [])
    assert factor_and_solve(placed, first, start, np.zeros(2 * total), total, np.ones(6)) == 1
    assert position[0] == 0
