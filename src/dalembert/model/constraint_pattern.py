"""J W Jᵀ as a sparse matrix by rows, and where its entries stand among the blocks of the graph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .graph import Graph


class ConstraintPattern(NamedTuple):
    """The rows of joints, in the joints' order; every block is stored whole."""

    starts: np.ndarray  # (rows + 1,)
    columns: np.ndarray  # (entries,), in order in each row
    source: np.ndarray  # (entries,), where each stands among the blocks that `mechanics.assembly` fills
    blocks: np.ndarray  # (joints + 1,), first row of each joint


def constraint_pattern(graph: Graph) -> ConstraintPattern:
    """The pattern for a graph with joints and without hubs, whose blocks are those of J W Jᵀ alone."""
    if len(graph.hubs):
        raise ValueError("the matrix of a graph with hubs has other unknowns than multipliers")
    firsts, widths = graph.joints["row"].tolist(), graph.joints["rows"].tolist()
    joints_of_body: dict[int, set[int]] = {}
    for joint, body in zip(graph.incidences["joint"].tolist(), graph.incidences["body"].tolist(), strict=True):
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
