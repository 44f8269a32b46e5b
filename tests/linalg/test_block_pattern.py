"""The pattern of a symmetric block matrix against a dense assembly, in which every element adds all of its blocks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.linalg.block_matrix import block_pattern


def dense_sum(n, groups, locals_):
    """Σ of the elements' (3 k, 3 k) matrices, in their places."""
    matrix = np.zeros((n, n, 3, 3))
    for elements, parts in zip(groups, locals_, strict=True):
        for nodes, part in zip(elements, parts, strict=True):
            for a, i in enumerate(nodes):
                for b, j in enumerate(nodes):
                    matrix[i, j] += part[3 * a : 3 * a + 3, 3 * b : 3 * b + 3]
    return matrix


def by_slots(pattern, groups, locals_):
    """The stored blocks, by the rule that `BlockPattern` states."""
    values = np.zeros((len(pattern.columns), 3, 3))
    for elements, parts, slots in zip(groups, locals_, pattern.slots, strict=True):
        k = elements.shape[1]
        order = [(a, b) for a in range(k) for b in range(a, k)]
        for part, row in zip(parts, slots, strict=True):
            for (a, b), slot in zip(order, row, strict=True):
                local = part[3 * a : 3 * a + 3, 3 * b : 3 * b + 3]
                values[slot // 2] += local.T if slot % 2 else local
    return values


def symmetric_parts(rng, elements):
    half = rng.normal(size=(len(elements), 3 * elements.shape[1], 3 * elements.shape[1]))
    return half + half.transpose(0, 2, 1)


@settings(max_examples=60, deadline=None)
@given(n=st.integers(4, 9), seed=st.integers(0, 10**6), sizes=st.lists(st.integers(1, 4), max_size=3))
def test_slots_assemble_the_sum_of_any_elements(n, seed, sizes):
    rng = np.random.default_rng(seed)
    groups = [np.array([rng.permutation(n)[:k] for _ in range(rng.integers(1, 8))]) for k in sizes]
    locals_ = [symmetric_parts(rng, elements) for elements in groups]
    pattern = block_pattern(n, groups)
    values, dense = by_slots(pattern, groups, locals_), dense_sum(n, groups, locals_)
    named = np.eye(n, dtype=bool)
    for elements in groups:
        for nodes in elements:
            named[np.ix_(nodes, nodes)] = True
    assert pattern.starts[0] == 0 and pattern.starts[-1] == named[np.triu_indices(n)].sum()
    for i in range(n):
        columns = pattern.columns[pattern.starts[i] : pattern.starts[i + 1]]
        np.testing.assert_array_equal(columns, i + np.flatnonzero(named[i, i:]))
        for e, j in enumerate(columns, pattern.starts[i]):
            np.testing.assert_allclose(values[e], dense[i, j], rtol=0.0, atol=1e-13)


def test_a_spring_named_from_either_end_has_one_block():
    pattern = block_pattern(2, [np.array([[0, 1], [1, 0]])])
    assert pattern.slots[0].tolist() == [[0, 2, 4], [4, 3, 0]]
    assert pattern.starts.dtype == np.int64 and pattern.columns.dtype == np.int32


def test_without_elements_there_is_the_diagonal():
    pattern = block_pattern(3, [np.zeros((0, 2), np.int64)])
    assert pattern.starts.tolist() == [0, 1, 2, 3] and pattern.columns.tolist() == [0, 1, 2]
    assert pattern.slots[0].shape == (0, 3)
    assert block_pattern(0, []).starts.tolist() == [0]


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ([[0, 1], [2, 3]], r"element 1 of group 0 has the nodes \[2, 3\], which are not all from 0 to 2"),
        ([[0, 1], [1, -1]], r"element 1 of group 0 has the nodes \[1, -1\]"),
        ([[0, 1, 2], [2, 0, 2]], r"element 1 of group 0 has the nodes \[2, 0, 2\], one of them twice"),
        ([0, 1], "group 0 must be an"),
        ([[0.0, 1.0]], "integers"),
    ],
)
def test_elements_that_do_not_fit_are_named(group, message):
    with pytest.raises(ValueError, match=message):
        block_pattern(3, [np.array(group)])


def test_a_negative_number_of_rows_is_refused():
    with pytest.raises(ValueError, match="block rows"):
        block_pattern(-1, [])
