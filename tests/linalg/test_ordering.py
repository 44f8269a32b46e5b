"""The symbolic part: which order, and how much fill."""

import numpy as np
import pytest

from dalembert.linalg.ordering import analyse, minimum_degree
from dalembert.model.graph import build_graph


def always(node, eliminated):
    return True


def random_graph(count, edges, seed):
    rng = np.random.default_rng(seed)
    neighbours = [set() for _ in range(count)]
    for a, b in rng.integers(0, count, (edges, 2)):
        if a != b:
            neighbours[a].add(int(b))
            neighbours[b].add(int(a))
    return neighbours


def edges_of(neighbours):
    return sum(len(s) for s in neighbours) // 2


@pytest.mark.parametrize("seed", range(5))
def test_order_is_a_permutation(seed):
    neighbours = random_graph(40, 70, seed)
    order, structure = minimum_degree(neighbours, always)
    assert sorted(order) == list(range(40))
    position = {node: k for k, node in enumerate(order)}
    assert all(
        position[other] > position[node] for node, later in zip(order, structure, strict=True) for other in later
    )


def test_input_is_left_alone():
    neighbours = random_graph(20, 30, 0)
    copy = [set(s) for s in neighbours]
    minimum_degree(neighbours, always)
    assert neighbours == copy


@pytest.mark.parametrize("seed", range(5))
def test_structure_is_that_of_the_filled_graph(seed):
    """Against elimination by hand in the same order."""
    neighbours = random_graph(25, 40, seed)
    order, structure = minimum_degree(neighbours, always)
    graph = [set(s) for s in neighbours]
    for node, later in zip(order, structure, strict=True):
        assert sorted(graph[node]) == later
        for other in graph[node]:
            graph[other] |= graph[node]
            graph[other] -= {node, other}
        graph[node] = set()


@pytest.mark.parametrize("count", [1, 2, 17, 200])
def test_a_chain_has_no_fill(count):
    neighbours = [{k for k in (i - 1, i + 1) if 0 <= k < count} for i in range(count)]
    _, structure = minimum_degree(neighbours, always)
    assert sum(map(len, structure)) == count - 1


@pytest.mark.parametrize("seed", range(4))
def test_a_tree_has_no_fill(seed):
    rng = np.random.default_rng(seed)
    neighbours = [set() for _ in range(150)]
    for k in range(1, 150):
        parent = int(rng.integers(0, k))
        neighbours[k].add(parent)
        neighbours[parent].add(k)
    _, structure = minimum_degree(neighbours, always)
    assert sum(map(len, structure)) == 149


def test_a_ring_has_one_fill_entry_a_node():
    neighbours = [{(k - 1) % 30, (k + 1) % 30} for k in range(30)]
    _, structure = minimum_degree(neighbours, always)
    assert sum(map(len, structure)) == 30 + 27


def test_a_node_waits_until_it_is_ready():
    neighbours = [{1}, {0, 2}, {1, 3}, {2}]
    order, _ = minimum_degree(neighbours, lambda node, done: node != 0 or 2 in done)
    assert sorted(order) == [0, 1, 2, 3] and order.index(0) > order.index(2)


def test_nodes_that_never_become_ready_are_refused():
    with pytest.raises(ValueError, match="eliminated"):
        minimum_degree([{1}, {0}], lambda node, done: False)


def test_updates_of_a_chain_are_one_a_node():
    count = 50
    neighbours = [{k for k in (i - 1, i + 1) if 0 <= k < count} for i in range(count)]
    symbolic = analyse([3] * count, list(range(0, 3 * count, 3)), neighbours, always)
    assert len(symbolic.updates) == count - 1
    assert symbolic.values == 9 * (2 * count - 1)


def test_a_mechanism_that_is_a_tree_costs_one_block_a_pair_of_joints():
    """A chain hung from the world, and the same with a body of many joints, which becomes an unknown of its own."""
    chain = build_graph([3] * 40, [True] * 40, [[k - 1 if k else 40, k] for k in range(40)], 40)
    assert len(chain.symbolic.entries) == 39 and len(chain.hubs) == 0
    star = build_graph([3] * 40, [True] * 40, [[0, k + 1] for k in range(40)], 41)
    assert len(star.hubs) == 1
    assert len(star.symbolic.entries) == 40


def test_blocks_of_the_jacobian_do_not_overlap():
    rows, bodies = [3, 5, 1, 2], [[0, 1], [1, 3], [2, 0], [0, 1]]
    graph = build_graph(rows, [True, True, False, False], bodies, 3)
    used = np.zeros(graph.jacobian_size, int)
    for incidence in graph.incidences:
        used[incidence.offset : incidence.offset + (4 if incidence.is_point else 6 * incidence.rows)] += 1
    assert used.max() == 1 and used[-36:].max() == 0
    assert graph.offset(1, 3, 0) == graph.jacobian_size - 36


def test_a_chain_is_eliminated_from_both_ends_in_turn():
    neighbours = [{k for k in (i - 1, i + 1) if 0 <= k < 6} for i in range(6)]
    assert minimum_degree(neighbours, always)[0] == [0, 5, 1, 4, 2, 3]
