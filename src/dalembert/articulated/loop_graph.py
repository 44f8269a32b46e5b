"""Where the rows of loops go in a tree, and in which order they are eliminated; found once per model.

A row is followed from its ends towards the root. A row that ties links of one tree to each other *closes* at their nearest
common ancestor, where its multiplier is eliminated. Rows on the world, on several trees, on particles, and those of user
functions, which may depend on absolute places, close at the world, after all nodes.

Each row at a node is a `CARRY`: rows that close there first, then those that go on to the parent. A closed chain costs as
many carries a link as its last joint has rows, and each of several loops in a row costs no more than it does alone. Loops
that close at the same node are eliminated by minimum degree."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np

from ..linalg.ordering import Symbolic, analyse
from ..model.compile import Model
from ..model.tables import CUSTOM
from . import tables

WORLD_NODE = -1


class LoopGraph(NamedTuple):
    """The tables of `Reduced` that say where the rows of loops are."""

    fronts: Any
    carries: Any
    products: Any
    ends: Any
    closures: Any
    symbolic: Symbolic
    entry_carries: np.ndarray


class Loops(NamedTuple):
    """The loops of a mechanism, of which each has rows `starts` to `starts` + `sizes`.

    closing : node where each closes. passing : loops that go on to the parent of each node, then those of each particle.
    """

    sizes: list[int]
    starts: list[int]
    closing: list[int]
    passing: list[set[int]]


class Places(NamedTuple):
    """The carries, node by node: (row, node, loop, number in the loop) of each, and where those of a loop at a node begin."""

    rows: list[tuple[int, int, int, int]]
    first: dict[tuple[int, int], int]


def build_loop_graph(model: Model, node_of_row: np.ndarray, masses: Sequence[float]) -> LoopGraph:
    """node_of_row : row of the kinematics table → node of the tree. masses : of the nodes."""
    layout = model.tree
    assert layout is not None
    parents = [int(row[0]) for row in layout.rows]
    rigid, particles = len(model.body_names), len(model.tables["nodes"])
    nodes = [len(parents) + body - rigid if rigid <= body < rigid + particles else int(node_of_row[body])
             for body in model.graph.incidences["body"].tolist()]  # fmt: skip
    loops = _find_loops(model, nodes, parents, particles)
    symbolic = _order(loops, len(parents))
    places, fronts, products = _fill_fronts(loops, len(parents), symbolic)
    carries = np.zeros(len(places.rows), tables.CARRY).view(np.recarray)
    carries.row = [row for row, _, _, _ in places.rows]
    for x, (_, i, j, r) in enumerate(places.rows):
        goes_on = i < len(parents) and i != loops.closing[j] and parents[i] >= 0
        carries.up[x] = places.first[parents[i], j] + r if goes_on else -1
    bearers = [*_bearers(parents, masses), *(len(parents) + k for k in range(particles))]
    ends = []
    for k, (i, incidence) in enumerate(zip(nodes, model.graph.incidences, strict=True)):
        j = int(incidence["joint"])
        ends.append((k, places.first[i, j] + int(incidence["row"]) - loops.starts[j], i, bearers[i]))
    closures = [(loops.closing[j], places.first.get((loops.closing[j], j), -1), j) for j in symbolic.order.tolist()]
    return LoopGraph(
        np.array(fronts, tables.FRONT).view(np.recarray), carries, np.array(products, tables.PRODUCT).view(np.recarray),
        np.array(ends, tables.END).view(np.recarray), np.array(closures, tables.CLOSURE).view(np.recarray),
        symbolic, _entry_carries(loops, symbolic, places),
    )  # fmt: skip


def _find_loops(model: Model, nodes: Sequence[int], parents: Sequence[int], particles: int) -> Loops:
    """nodes : of each incidence."""
    layout = model.tree
    assert layout is not None
    sizes, starts = model.graph.joints["rows"].tolist(), model.graph.joints["row"].tolist()
    ends: list[set[int]] = [set() for _ in sizes]
    for joint, at in zip(model.graph.incidences["joint"].tolist(), nodes, strict=True):
        ends[joint].add(at)
    parts = model.tables["parts"]
    absolute = set(parts["joint"][parts["kind"] == CUSTOM].tolist())
    held = [joint for joint in layout.loops if joint.name in model.joint_names]
    absolute |= {j for j, joint in enumerate(held) if len(ends[j]) < len({id(body) for body in joint.bodies})}
    closing = []
    passing: list[set[int]] = [set() for _ in range(len(parents) + particles)]
    for j, own in enumerate(ends):
        paths = [_path(end, parents) for end in sorted(own)]
        closing.append(WORLD_NODE if j in absolute else _common(paths))
        for path in paths:
            for i in path:
                if i == closing[j]:
                    break
                passing[i].add(j)
    return Loops(sizes, starts, closing, passing)


def _order(loops: Loops, nodes: int) -> Symbolic:
    """The order of elimination: where loops close, from the leaves on, the world last."""
    neighbours: list[set[int]] = [set() for _ in loops.sizes]
    for together in loops.passing:
        for j in together:
            neighbours[j] |= together - {j}
    stages = [nodes - at for at in loops.closing]
    return analyse(loops.sizes, loops.starts, neighbours, lambda node, done: True, stages)


def _fill_fronts(
    loops: Loops, nodes: int, symbolic: Symbolic
) -> tuple[Places, list[tuple[int, ...]], list[tuple[int, ...]]]:
    """The carries, the rows of the FRONT table, and those of the PRODUCT table."""
    closed: list[list[int]] = [[] for _ in loops.passing]
    for j, at in enumerate(loops.closing):
        if at >= 0:
            closed[at].append(j)
    places = Places([], {})
    fronts: list[tuple[int, ...]] = []
    products: list[tuple[int, ...]] = []
    for i, passing in enumerate(loops.passing):
        own = len(places.rows)
        _add_carries(i, closed[i], loops, places)
        first, before = len(places.rows), len(products)
        _add_carries(i, sorted(passing), loops, places)
        products += _products(loops, i, sorted(passing), symbolic, places)
        fronts.append((own, first, len(places.rows), before, len(products)))
    return places, fronts, products


def _add_carries(i: int, found: Sequence[int], loops: Loops, places: Places) -> None:
    for j in found:
        places.first[i, j] = len(places.rows)
        places.rows.extend((loops.starts[j] + r, i, j, r) for r in range(loops.sizes[j]))


def _entry_carries(loops: Loops, symbolic: Symbolic, places: Places) -> np.ndarray:
    """Of each entry of the matrix of the loops, the first carry of its loop at the node where its column closes."""
    found = np.full(len(symbolic.entries), -1)
    loop_at = {start: j for j, start in enumerate(loops.starts)}
    for column, k in zip(symbolic.columns, symbolic.order.tolist(), strict=True):
        for e in range(int(column["first"]), int(column["last"])):
            found[e] = places.first.get((loops.closing[k], loop_at[int(symbolic.entries[e]["x"])]), -1)
    return found


def _path(node: int, parents: Sequence[int]) -> list[int]:
    """The nodes from this one to its root; a particle is its own root."""
    path = [node]
    while node < len(parents) and parents[node] >= 0:
        node = parents[node]
        path.append(node)
    return path


def _common(paths: Sequence[Sequence[int]]) -> int:
    """The nearest node that is on all paths, −1 if there is none."""
    shared = set(paths[0]).intersection(*paths[1:]) if paths else set()
    return next((at for at in paths[0] if at in shared), WORLD_NODE) if paths else WORLD_NODE


def _products(loops: Loops, i: int, found: Sequence[int], symbolic: Symbolic, places: Places) -> list[tuple[int, ...]]:
    """Rows of the PRODUCT table for the loops that pass node i."""
    rows: list[tuple[int, ...]] = []
    for j, k in combinations_with_replacement(found, 2):
        offset, swapped = symbolic.block(j, k)
        steps = (1, loops.sizes[j]) if swapped else (loops.sizes[k], 1)
        rows.append((places.first[i, j], loops.sizes[j], places.first[i, k], loops.sizes[k], offset, *steps))
    return rows


def _bearers(parents: Sequence[int], masses: Sequence[float]) -> list[int]:
    """The node with mass that is nearest to each; −1 where its tree has none."""
    near: list[list[int]] = [[] for _ in parents]
    for i, parent in enumerate(parents):
        if parent >= 0:
            near[i].append(parent)
            near[parent].append(i)
    found = [i if mass > 0.0 else -1 for i, mass in enumerate(masses)]
    waiting = deque(i for i, mass in enumerate(masses) if mass > 0.0)
    while waiting:
        i = waiting.popleft()
        for other in near[i]:
            if found[other] < 0:
                found[other] = found[i]
                waiting.append(other)
    return found
