"""Plans of sparse factorizations: order, fill, reuse, and lengths of tables."""

import numpy as np
import pytest
from tests.linalg.supernodal import (
    analyse,
    factored,
    neighbours_in_space,
    planned,
    random_edges,
    random_matrix,
    solution,
)  # fmt: skip

from dalembert.core.tables import handed
from dalembert.linalg.supernodal_analysis import ANALYSED, NEED_MORE, SAME, supernodal_tables


def structures(s):
    """(pivots, rest) of each supernode, as nodes in order."""
    return [
        (s.in_order[f.first_node : f.last_node].tolist(), s.rows.node[f.first_row : f.last_row].tolist())
        for f in s.supernodes[: s.plan[0].supernodes]
    ]


@pytest.mark.parametrize("seed", range(6))
def test_fronts_hold_the_fill_of_their_order(seed):
    """Against elimination by hand, node by node: every neighbour at its elimination has a row."""
    nodes = 70
    matrix = random_matrix(seed, [6] * nodes, random_edges(seed, nodes, 130))
    s, _ = planned(matrix)
    graph = [set() for _ in range(nodes)]
    for a, b in matrix.inside():
        graph[a].add(b)
        graph[b].add(a)
    order = []
    for pivots, rest in structures(s):
        for k, node in enumerate(pivots):
            assert graph[node] <= {*pivots[k + 1 :], *rest}
            for other in graph[node]:
                graph[other] |= graph[node]
                graph[other] -= {node, other}
            order.append(node)
    assert sorted(order) == list(range(nodes))


def test_parents_hold_all_rows_of_their_children_and_come_later():
    matrix = random_matrix(0, [6, 7, 1] * 72, neighbours_in_space(0, 6))
    s, _ = planned(matrix)
    found = structures(s)
    for k, (_, rest) in enumerate(found):
        parent = s.supernodes[k].parent
        assert (parent > k) if rest else (parent == -1)
        if rest:
            assert {*rest} <= {*found[parent][0], *found[parent][1]}


@pytest.mark.parametrize("nodes", [30, 3000])
def test_the_work_of_a_chain_and_of_a_tree_grows_with_their_length(nodes):
    rng = np.random.default_rng(0)
    chain = [(i, i + 1) for i in range(nodes - 1)]
    names = rng.permutation(nodes)
    tree = [(names[rng.integers(0, k)], names[k]) for k in range(1, nodes)]
    for edges in (chain, tree):
        s, _ = planned(random_matrix(0, [6] * nodes, edges))
        assert s.plan[0].values_needed < 400 * nodes


def test_small_problems_are_one_front():
    s, _ = planned(random_matrix(0, [6] * 4, [(0, 1), (1, 2), (2, 3)]))
    assert s.plan[0].supernodes == 1


def test_parts_that_do_not_touch_have_no_common_front():
    edges = [(a, b) for a in range(20) for b in range(a)]
    s, _ = planned(random_matrix(0, [6] * 40, edges + [(a + 20, b + 20) for a, b in edges]))
    assert sorted({node // 20 for node in pivots} == {0} for pivots, _ in structures(s)) == [False, True]
    assert all(not rest for _, rest in structures(s))


def test_the_plan_is_kept_while_the_graph_is_the_same():
    matrix = random_matrix(0, [6] * 27, neighbours_in_space(0, 3))
    s, _ = planned(matrix)

    def again(sizes, edges):
        ends = np.array(edges, np.int64).ravel()
        return analyse(handed(s), len(sizes), np.array(sizes, np.int64), len(edges), ends)

    sizes, edges = [6] * 27, matrix.edges
    assert again(sizes, edges) == SAME
    assert again([6] * 26 + [5], edges) == ANALYSED
    assert again(sizes, edges) == ANALYSED
    assert again(sizes, edges[:-1]) == ANALYSED
    assert again(sizes, [*edges[:-1], (0, 26)]) == ANALYSED
    assert again(sizes, [*edges[:-1], (0, 26)]) == SAME


def test_a_plan_is_not_kept_where_tables_were_too_short():
    matrix = random_matrix(0, [6] * 27, neighbours_in_space(0, 3))
    s = supernodal_tables(27, len(matrix.edges))
    for _ in range(2):
        assert analyse(handed(s), 27, matrix.sizes, len(matrix.edges), matrix.ends()) == NEED_MORE
    right = np.ones(162)
    s, growths = planned(matrix, s)
    assert growths == 1
    factored(matrix, s)
    assert np.abs(matrix.csc() @ solution(s, right) - right).max() < 1e-13


def test_tables_grow_with_the_problem_and_no_further():
    s, _ = planned(random_matrix(0, [6] * 27, neighbours_in_space(0, 3)))
    larger = random_matrix(0, [6] * 125, neighbours_in_space(0, 5))
    s, growths = planned(larger, s)
    assert 1 <= growths <= 2
    assert planned(random_matrix(0, [6] * 64, neighbours_in_space(0, 4)), s)[1] == 0
    assert planned(larger, s)[1] == 0


def test_an_empty_matrix_has_an_empty_plan():
    s = supernodal_tables(1)
    empty = np.zeros(1, np.int64)
    assert analyse(handed(s), 0, empty, 0, empty) in (ANALYSED, NEED_MORE)
    assert s.plan[0].supernodes == 0
