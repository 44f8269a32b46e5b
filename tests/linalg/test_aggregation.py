"""Patches of nodes: of the size asked for, connected, compact."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dalembert.linalg.block_matrix import block_pattern
from dalembert.linalg.deflation import aggregates

from .cloth import springs


def are_connected(n, pairs, patch):
    inside = pairs[patch[pairs[:, 0]] == patch[pairs[:, 1]]]
    graph = coo_array((np.ones(len(inside)), (inside[:, 0], inside[:, 1])), shape=(n, n))
    return connected_components(graph, directed=False)[0] == patch.max(initial=-1) + 1


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 60), edges=st.integers(0, 120), size=st.integers(1, 20))
def test_patches_of_any_graph_are_connected_numbered_from_zero_and_the_same_each_time(seed, n, edges, size):
    ends = np.random.default_rng(seed).integers(0, n, (edges, 2))
    pairs = ends[ends[:, 0] != ends[:, 1]]
    patch = aggregates(block_pattern(n, [pairs]), size)
    assert (np.unique(patch) == np.arange(patch.max() + 1)).all()
    assert are_connected(n, pairs, patch)
    np.testing.assert_array_equal(patch, aggregates(block_pattern(n, [pairs]), size))


@pytest.mark.parametrize("size", [9, 25, 60])
def test_patches_of_a_sheet_have_about_the_size_asked_for_and_are_compact(size):
    side = 40
    patch = aggregates(block_pattern(side * side, springs(side)), size)
    nodes = np.bincount(patch)
    assert 0.6 * size <= nodes.mean() <= 1.2 * size and nodes.max() <= 2 * size
    place = np.column_stack(np.divmod(np.arange(side * side), side)).astype(float)
    middle = np.column_stack([np.bincount(patch, place[:, k]) / nodes for k in range(2)])
    spread = np.bincount(patch, ((place - middle[patch]) ** 2).sum(axis=1)) / nodes
    a, b = 3.0, 1.0 / 3.0  # a square has size / 6; a rectangle three times as long as wide more than this
    assert spread.mean() < size / 6.0 * 0.5 * (a + b)


def test_threads_apart_become_pieces_of_threads():
    threads, length = 30, 20
    node = np.arange(threads * length).reshape(threads, length)
    pairs = np.column_stack([node[:, :-1].ravel(), node[:, 1:].ravel()])
    patch = aggregates(block_pattern(node.size, [pairs]), 10).reshape(threads, length)
    for row in patch:
        assert sorted(np.bincount(row)[np.unique(row)]) == [10, 10]


def test_no_nodes_and_single_ones():
    assert aggregates(block_pattern(0, []), 25).shape == (0,)
    assert aggregates(block_pattern(3, []), 25).tolist() == [0, 1, 2]
