"""Sums and products of symmetric block matrices, against SciPy and NumPy."""

import numpy as np

from dalembert.core.kernel import array, kernel, out
from dalembert.linalg import block_matrix
from dalembert.linalg.block_matrix import BlockMatrix, block_pattern, to_scipy

from .cloth import cloth


@kernel
def product(starts: array(1, np.int64), columns: array(1, np.int32), values: array(), x: array(), y: out()) -> None:
    block_matrix.multiply(BlockMatrix(starts, columns, values), x, y)


@kernel
def assemble(slots: array(2, np.int64), local: array(3), values: out()) -> None:
    """Element e adds the blocks local[e, s] (nine floats) at slots[e, s]."""
    for e in range(slots.shape[0]):
        for s in range(slots.shape[1]):
            m = local[e, s]
            block_matrix.add_block(values, slots[e, s], (m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8]))


@kernel
def diagonal(
    starts: array(1, np.int64), columns: array(1, np.int32), values: out(), amount: array(), blocks: out()
) -> None:
    matrix = BlockMatrix(starts, columns, values)
    block_matrix.add_to_diagonal(matrix, amount)
    block_matrix.diagonal_blocks(matrix, blocks)


def random_matrix(n, seed):
    rng = np.random.default_rng(seed)
    pattern = block_pattern(n, [np.array([rng.permutation(n)[:3] for _ in range(2 * n)])])
    values = rng.normal(size=(len(pattern.columns), 3, 3))
    on = pattern.starts[:-1]
    values[on] += values[on].transpose(0, 2, 1)
    return BlockMatrix(pattern.starts, pattern.columns, values.ravel())


def dense(matrix):
    n = len(matrix.starts) - 1
    full, blocks = np.zeros((3 * n, 3 * n)), matrix.values.reshape(-1, 3, 3)
    for i in range(n):
        for e in range(matrix.starts[i], matrix.starts[i + 1]):
            j = matrix.columns[e]
            full[3 * i : 3 * i + 3, 3 * j : 3 * j + 3] = blocks[e]
            full[3 * j : 3 * j + 3, 3 * i : 3 * i + 3] = blocks[e].T
    return full


def test_the_product_is_that_of_the_whole_matrix():
    for n, seed in ((3, 0), (7, 1), (40, 2)):
        matrix = random_matrix(n, seed)
        x, y = np.random.default_rng(seed).normal(size=3 * n), np.full(3 * n, np.nan)
        product(*matrix, x, y)
        np.testing.assert_allclose(y, dense(matrix) @ x, rtol=0.0, atol=1e-13)


def test_scipy_gets_both_triangles():
    matrix = random_matrix(12, 3)
    np.testing.assert_array_equal(to_scipy(matrix).toarray(), dense(matrix))
    sheet = to_scipy(cloth(6))
    assert abs(sheet - sheet.T).max() == 0.0
    assert np.linalg.eigvalsh(sheet.toarray()).min() > 0.9e-3  # the mass


def test_blocks_are_added_as_they_are_or_transposed():
    rng = np.random.default_rng(4)
    elements = np.array([[2, 0, 1], [1, 2, 0], [0, 1, 3]])
    pattern = block_pattern(4, [elements])
    parts = rng.normal(size=(3, 9, 9))
    parts += parts.transpose(0, 2, 1)
    full = np.zeros((12, 12))
    for nodes, part in zip(elements, parts, strict=True):
        at = (3 * nodes[:, None] + np.arange(3)).ravel()
        full[np.ix_(at, at)] += part
    a, b = np.triu_indices(3)
    local = parts.reshape(3, 3, 3, 3, 3)[:, a, :, b, :].transpose(1, 0, 2, 3).reshape(3, 6, 9)
    values = np.zeros(9 * len(pattern.columns))
    assemble(pattern.slots[0], np.ascontiguousarray(local), values)
    np.testing.assert_allclose(dense(BlockMatrix(pattern.starts, pattern.columns, values)), full, rtol=0.0, atol=1e-14)


def test_the_diagonal_is_added_to_and_read():
    matrix = random_matrix(5, 5)
    before, amount, blocks = dense(matrix), np.arange(1.0, 6.0), np.full(45, np.nan)
    diagonal(*matrix, amount, blocks)
    np.testing.assert_array_equal(dense(matrix), before + np.diag(np.repeat(amount, 3)))
    for i in range(5):
        at = slice(3 * i, 3 * i + 3)
        np.testing.assert_array_equal(blocks.reshape(5, 3, 3)[i], dense(matrix)[at, at])
