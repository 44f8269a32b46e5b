"""The graph of bodies and joints: the offset of each Jacobian block, which blocks multiply, and the order of elimination.

Unknowns are the multipliers of the joints and the constraint accelerations of the hubs (see `dynamics.constraints`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from ..linalg.ordering import Symbolic, analyse
from .tables import HUB, INCIDENCE, JOINT, PAIR, POINT_POINT, POINT_ROWS, ROWS_ROWS

HUB_DEGREE = 4  # a body of so many joints stays an unknown
SPARE = 36  # numbers that Jacobian blocks of the world may overwrite: 6 rows × 6
POINT_SIZE = 4  # numbers that stand for the rows of a POINT: its sign and its arm


@dataclass(frozen=True)
class Graph:
    """Tables of the constraint graph.

    The rows of a joint on a body are one or two incidences: the three of its point, if it has one, and the others.
    """

    joints: np.ndarray  # JOINT
    incidences: np.ndarray  # INCIDENCE
    pairs: np.ndarray  # PAIR
    hubs: np.ndarray  # HUB
    symbolic: Symbolic
    offsets: dict[tuple[int, int, int], int]
    rows: int
    unknowns: int
    jacobian_size: int
    fixed: frozenset[int] = frozenset()  # bodies that move by command: they have Jacobians, and no response

    def offset(self, joint: int, body: int, row: int) -> int:
        """Where a part of a joint that starts with its `row` keeps its Jacobian on a body, or the spare for the world."""
        return self.offsets.get((joint, body, row), self.jacobian_size - SPARE)


def build_graph(
    rows: Sequence[int], points: Sequence[bool], bodies: Sequence[Sequence[int]], world: int, hubs: bool = True,
    soft: int = 0, fixed: frozenset[int] = frozenset(),
) -> Graph:  # fmt: skip
    """rows[j]: constraints of joint j; points[j]: whether the first three are a point's; bodies[j]: indices of its bodies
    (`world` may be among them). soft: how many of them, the last, are rows with a compliance, which take no freedom away.
    fixed: bodies that constraints do not move, but whose velocities they see.

    Without `hubs` every body is eliminated first: more fill, but also right where the constraints are redundant, as a
    joint's own block may then be singular until those of all its bodies are in it.
    """
    count, moving = len(rows), [sorted(set(b for b in own if b != world)) for own in bodies]
    touching: list[list[int]] = [[] for _ in range(world)]
    for joint, own in enumerate(moving):
        for body in own:
            if body not in fixed:
                touching[body].append(joint)
    hard = count - soft
    crowded = {b for b in range(world) if sum(joint < hard for joint in touching[b]) >= HUB_DEGREE}
    free = [[body for body in own if body not in fixed] for own in moving]
    hubs = hubs and _limbs_are_free(rows[:hard], free[:hard], crowded)
    hub_of = {body: k for k, body in enumerate(sorted(crowded) if hubs else [])}
    starts = list(np.concatenate([[0], np.cumsum(rows, dtype=int)]).tolist())
    total_rows = int(starts[-1])
    sizes = list(rows) + [6] * len(hub_of)
    offsets = starts[:-1] + [total_rows + 6 * k for k in range(len(hub_of))]

    def ready(node: int, eliminated: set[int]) -> bool:
        """A joint between hubs only has no block of its own before one of them is eliminated."""
        if node >= count:
            return True
        return any(body not in hub_of or count + hub_of[body] in eliminated for body in free[node])

    symbolic = analyse(sizes, offsets, _neighbours(touching, hub_of, count), ready)
    incidences: list[tuple[int, ...]] = []
    at_row: dict[tuple[int, int, int], int] = {}
    groups: list[list[tuple[int, bool, int, int, int]]] = [[] for _ in range(world)]
    first: list[int] = []
    at = 0
    for joint, own in enumerate(moving):
        first.append(len(incidences))
        for body in own:
            hub = hub_of.get(body, -1)
            for is_point, local, width in _groups(rows[joint], points[joint]):
                target = (0, 0, 0)
                if hub >= 0:
                    target = _target(symbolic, sizes, (joint, local), (count + hub, 0))
                elif body not in fixed:
                    groups[body].append((joint, is_point, local, width, at))
                incidences.append((joint, body, int(is_point), starts[joint] + local, width, at, hub, *target))
                for row in range(1 if is_point else width):
                    at_row[joint, body, local + row] = at + 6 * row
                at += POINT_SIZE if is_point else 6 * width
    pairs = [pair for body, own in enumerate(groups) for pair in _pairs(symbolic, sizes, body, own)]
    first.append(len(incidences))
    joints = [(starts[j], rows[j], first[j], first[j + 1], 1, symbolic.block(j, j)[0], 0.0) for j in range(count)]
    hub_rows = [(body, symbolic.block(count + k, count + k)[0], offsets[count + k]) for body, k in hub_of.items()]
    return Graph(
        joints=np.array(joints, JOINT).view(np.recarray),
        incidences=np.array(incidences, INCIDENCE).view(np.recarray),
        pairs=np.array(pairs, PAIR).view(np.recarray),
        hubs=np.array(hub_rows, HUB).view(np.recarray),
        symbolic=symbolic,
        offsets=at_row,
        rows=total_rows,
        unknowns=total_rows + 6 * len(hub_of),
        jacobian_size=at + SPARE,
        fixed=fixed,
    )


def _neighbours(touching: list[list[int]], hub_of: dict[int, int], count: int) -> list[set[int]]:
    """The nodes of the elimination graph (joints, then hubs) that each is connected with: joints of a body that is no hub
    with each other, and a hub with its joints. touching : the joints of each body."""
    neighbours: list[set[int]] = [set() for _ in range(count + len(hub_of))]
    for body, own in enumerate(touching):
        for joint in own:
            if body in hub_of:
                neighbours[joint].add(count + hub_of[body])
                neighbours[count + hub_of[body]].add(joint)
            else:
                neighbours[joint].update(other for other in own if other != joint)
    return neighbours


def _limbs_are_free(rows: Sequence[int], moving: Sequence[Sequence[int]], hubs: set[int]) -> bool:
    """Whether no group of bodies left between the hubs has more constraints than it can move.

    If one has (the legs of a parallel mechanism), its own part of the matrix is singular without the hubs'.
    """
    group: dict[int, int] = {}

    def find(body: int) -> int:
        while group.setdefault(body, body) != body:
            group[body] = group[group[body]]
            body = group[body]
        return body

    limbs = [[body for body in own if body not in hubs] for own in moving]
    for own in limbs:
        for body in own[1:]:
            group[find(body)] = find(own[0])
    freedom: dict[int, int] = {}
    for body in {body for own in limbs for body in own}:
        freedom[find(body)] = freedom.get(find(body), 0) + 6
    for own, count in zip(limbs, rows, strict=True):
        if own:
            freedom[find(own[0])] -= count
    return all(left >= 0 for left in freedom.values())


def _groups(rows: int, starts_with_point: bool) -> list[tuple[bool, int, int]]:
    """(whether it is a point, first row, rows) of each group of a joint's rows."""
    point = [(True, 0, 3)] if starts_with_point else []
    first = 3 if starts_with_point else 0
    return point + ([(False, first, rows - first)] if rows > first else [])


def _target(
    symbolic: Symbolic, sizes: Sequence[int], left: tuple[int, int], right: tuple[int, int], mirror: bool = False
) -> tuple[int, int, int]:
    """Where the product of the rows of two nodes, (node, first row) each, goes: (offset, row step, column step).

    `mirror`: to the other side of the diagonal, in a node's own block.
    """
    offset, swapped = symbolic.block(left[0], right[0])
    row_step, column_step = (1, sizes[left[0]]) if swapped or mirror else (sizes[right[0]], 1)
    return offset + row_step * left[1] + column_step * right[1], row_step, column_step


def _pairs(
    symbolic: Symbolic, sizes: Sequence[int], body: int, groups: Sequence[tuple[int, bool, int, int, int]]
) -> list[tuple[int, ...]]:
    """The products between the groups (joint, is_point, first row, rows, offset) of one body, points on the left.

    A joint's own block is stored whole, so that two of its groups meet twice.
    """
    pairs: list[tuple[int, ...]] = []
    for one, two in combinations_with_replacement(sorted(groups, key=lambda group: not group[1]), 2):
        kind = (ROWS_ROWS, POINT_ROWS, POINT_POINT)[one[1] + two[1]]
        for mirror in (False, True) if one[0] == two[0] and one != two else (False,):
            target = _target(symbolic, sizes, (one[0], one[2]), (two[0], two[2]), mirror)
            pairs.append((kind, body, one[4], one[3], two[4], two[3], *target))
    return pairs


# J W Jᵀ as a sparse matrix --------------------------------------------------------------------------------------------
# By rows, with the index of its entries among the blocks of the graph.


class ConstraintPattern(NamedTuple):
    """The rows of joints, in the joints' order; every block is stored whole."""

    starts: np.ndarray  # (rows + 1,)
    columns: np.ndarray  # (entries,), in order in each row
    source: np.ndarray  # (entries,), the index of each among the blocks that `dynamics.constraints` fills
    blocks: np.ndarray  # (joints + 1,), first row of each joint


def constraint_pattern(graph: Graph) -> ConstraintPattern:
    """The pattern for a graph with joints and without hubs, whose blocks are those of J W Jᵀ alone."""
    if len(graph.hubs):
        raise ValueError("the matrix of a graph with hubs has other unknowns than multipliers")
    firsts, widths = graph.joints["row"].tolist(), graph.joints["rows"].tolist()
    joints_of_body: dict[int, set[int]] = {}
    for joint, body in zip(graph.incidences["joint"].tolist(), graph.incidences["body"].tolist(), strict=True):
        if body not in graph.fixed:
            joints_of_body.setdefault(body, set()).add(joint)
    neighbours: list[set[int]] = [{joint} for joint in range(len(firsts))]
    for joints in joints_of_body.values():
        for joint in joints:
            neighbours[joint] |= joints
    counts, columns, source = [], [], []
    for i, near in enumerate(neighbours):
        blocks = [(j, *graph.symbolic.block(i, j)) for j in sorted(near)]
        for r in range(widths[i]):
            counts.append(sum(widths[j] for j, _, _ in blocks))
            for j, offset, swapped in blocks:
                places = np.arange(widths[j])
                columns.append(firsts[j] + places)
                source.append(offset + (widths[i] * places + r if swapped else widths[j] * r + places))
    return ConstraintPattern(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), np.concatenate(columns), np.concatenate(source),
        np.array([*firsts, graph.rows]),
    )  # fmt: skip
