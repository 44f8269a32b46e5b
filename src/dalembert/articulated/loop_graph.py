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


def build_loop_graph(model: Model, node_of_row: np.ndarray, masses: Sequence[float]) -> LoopGraph:
    """node_of_row : row of the kinematics table → node of the tree. masses : of the nodes."""
    layout = model.tree
    assert layout is not None
    parents = [int(row[0]) for row in layout.rows]
    rigid, particles = len(model.body_names), len(model.tables["nodes"])
    count = len(parents)
    incidences, joints = model.graph.incidences, model.graph.joints

    def node(body: int) -> int:
        return count + body - rigid if rigid <= body < rigid + particles else int(node_of_row[body])

    sizes, starts = joints.rows.tolist(), joints.row.tolist()
    ends: list[set[int]] = [set() for _ in sizes]
    for joint, body in zip(incidences.joint.tolist(), incidences.body.tolist(), strict=True):
        ends[joint].add(node(body))
    absolute = set(model.tables["parts"].joint[model.tables["parts"].kind == CUSTOM].tolist())
    held = [joint for joint in layout.loops if joint.name in model.joint_names]
    absolute |= {j for j, joint in enumerate(held) if len(ends[j]) < len({id(body) for body in joint.bodies})}
    paths = [[_path(end, parents) for end in sorted(own)] for own in ends]
    closing = [WORLD_NODE if j in absolute else _common(own) for j, own in enumerate(paths)]

    passing: list[set[int]] = [set() for _ in range(count + particles)]
    closed: list[list[int]] = [[] for _ in range(count)]
    for j, own in enumerate(paths):
        if closing[j] >= 0:
            closed[closing[j]].append(j)
        for path in own:
            for at in path:
                if at == closing[j]:
                    break
                passing[at].add(j)
    neighbours: list[set[int]] = [set() for _ in sizes]
    for loops in passing:
        for j in loops:
            neighbours[j] |= loops - {j}
    stages = [count - at for at in closing]  # from the leaves on; the world, −1, is last
    symbolic = analyse(sizes, starts, neighbours, lambda node, done: True, stages)

    at_node: dict[tuple[int, int], int] = {}
    fronts, carries, products = [], [], []
    for i, loops in enumerate(passing):
        own = len(carries)
        for j in closed[i] if i < count else []:
            at_node[i, j] = len(carries)
            carries += [(starts[j] + r, i, j, r) for r in range(sizes[j])]
        first = len(carries)
        for j in sorted(loops):
            at_node[i, j] = len(carries)
            carries += [(starts[j] + r, i, j, r) for r in range(sizes[j])]
        before = len(products)
        products += _products(carries, first, sizes, symbolic)
        fronts.append((own, first, len(carries), before, len(products)))
    ups = []
    for _, i, j, r in carries:
        up = parents[i] if i < count else WORLD_NODE
        ups.append(at_node[up, j] + r if up >= 0 and (up, j) in at_node and i != closing[j] else -1)
    found = np.zeros(len(carries), tables.CARRY).view(np.recarray)
    found.row, found.up = [row for row, _, _, _ in carries], ups

    bearers = _bearers(parents, masses) + [count + k for k in range(particles)]
    end_rows = []
    for k, incidence in enumerate(incidences):
        i, j = node(int(incidence.body)), int(incidence.joint)
        end_rows.append((k, at_node[i, j] + int(incidence.row) - starts[j], i, bearers[i]))
    closures = [(closing[j], at_node.get((closing[j], j), -1), j) for j in symbolic.order.tolist()]
    loop_at = {start: j for j, start in enumerate(starts)}
    entry_carries = np.full(len(symbolic.entries), -1)
    for column, (at, _, _) in zip(symbolic.columns, closures, strict=True):
        for e in range(int(column["first"]), int(column["last"])):
            entry_carries[e] = at_node.get((at, loop_at[int(symbolic.entries[e]["x"])]), -1)
    return LoopGraph(
        np.array(fronts, tables.FRONT).view(np.recarray), found, np.array(products, tables.PRODUCT).view(np.recarray),
        np.array(end_rows, tables.END).view(np.recarray), np.array(closures, tables.CLOSURE).view(np.recarray),
        symbolic, entry_carries,
    )  # fmt: skip


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


def _products(
    carries: Sequence[tuple[int, int, int, int]], first: int, sizes: Sequence[int], symbolic: Symbolic
) -> list[tuple[int, int, int]]:
    """The pairs of carries from `first` on, those of one loop once: where their product goes."""
    found = []
    for x in range(first, len(carries)):
        _, _, j, r = carries[x]
        for y in range(x, len(carries)):
            _, _, k, s = carries[y]
            offset, swapped = symbolic.block(j, k)
            found.append((x, y, offset + (sizes[j] * s + r if swapped else sizes[k] * r + s)))
    return found


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
