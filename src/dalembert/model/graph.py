"""The graph of bodies and joints: where each Jacobian block lies, which blocks multiply, and in which order to eliminate.

Unknowns are the multipliers of the joints and the constraint accelerations of the hubs (see `mechanics.constraints`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from ..linalg.ordering import Symbolic, analyse
from .tables import HUB, INCIDENCE, JOINT, PAIR

HUB_DEGREE = 4  # a body of so many joints is kept as an unknown
SPARE = 36  # numbers that Jacobian blocks of the world may overwrite


@dataclass(frozen=True)
class Graph:
    """Tables of the constraint graph; `block[joint, body]` is the offset of a Jacobian block."""

    joints: np.ndarray  # JOINT
    incidences: np.ndarray  # INCIDENCE
    pairs: np.ndarray  # PAIR
    hubs: np.ndarray  # HUB
    symbolic: Symbolic
    block: dict[tuple[int, int], int]
    rows: int
    unknowns: int
    jacobian_size: int


def build_graph(rows: Sequence[int], bodies: Sequence[Sequence[int]], world: int, hubs: bool = True) -> Graph:
    """rows[j]: constraints of joint j; bodies[j]: indices of its bodies (`world` may be among them).

    Without `hubs` every body is eliminated first: more fill, but also right where the constraints are redundant, as a
    joint's own block may then be singular until those of all its bodies are in it.
    """
    touching: list[list[int]] = [[] for _ in range(world)]
    moving = [sorted(set(b for b in own if b != world)) for own in bodies]
    for joint, own in enumerate(moving):
        for body in own:
            touching[body].append(joint)
    hubs = hubs and _limbs_are_free(rows, moving, {b for b in range(world) if len(touching[b]) >= HUB_DEGREE})
    hub_of = {body: k for k, body in enumerate(b for b in range(world) if hubs and len(touching[b]) >= HUB_DEGREE)}

    starts = list(np.concatenate([[0], np.cumsum(rows, dtype=int)]).tolist())
    total_rows = int(starts[-1])
    count = len(rows)
    sizes = list(rows) + [6] * len(hub_of)
    offsets = starts[:-1] + [total_rows + 6 * k for k in range(len(hub_of))]
    neighbours: list[set[int]] = [set() for _ in sizes]
    for body, own in enumerate(touching):
        clique = [*own] if body not in hub_of else []
        for joint in clique:
            neighbours[joint].update(other for other in clique if other != joint)
        if body in hub_of:
            for joint in own:
                neighbours[joint].add(count + hub_of[body])
                neighbours[count + hub_of[body]].add(joint)

    def ready(node: int, eliminated: set[int]) -> bool:
        """A joint between hubs only has no block of its own before one of them is eliminated."""
        if node >= count:
            return True
        return any(body not in hub_of or count + hub_of[body] in eliminated for body in moving[node])

    symbolic = analyse(sizes, offsets, neighbours, ready)
    incidences: list[tuple[int, ...]] = []
    block: dict[tuple[int, int], int] = {}
    first: list[int] = []
    at = 0
    for joint, own in enumerate(moving):
        first.append(len(incidences))
        for body in own:
            block[joint, body] = at
            hub, target, swapped = -1, 0, False
            if body in hub_of:
                hub = hub_of[body]
                target, swapped = symbolic.block(joint, count + hub)
            incidences.append((joint, body, at, hub, target, int(swapped)))
            at += 6 * rows[joint]
    for joint in range(count):
        block[joint, world] = at
    pairs = [
        _pair(symbolic, rows, block, left, right, body)
        for body in range(world)
        if body not in hub_of
        for left, right in combinations_with_replacement(touching[body], 2)
    ]
    first.append(len(incidences))
    joints = [(starts[j], rows[j], first[j], first[j + 1], 1, symbolic.block(j, j)[0]) for j in range(count)]
    hub_rows = [(body, symbolic.block(count + k, count + k)[0], offsets[count + k]) for body, k in hub_of.items()]
    return Graph(
        joints=np.array(joints, JOINT).view(np.recarray),
        incidences=np.array(incidences, INCIDENCE).view(np.recarray),
        pairs=np.array(pairs, PAIR).view(np.recarray),
        hubs=np.array(hub_rows, HUB).view(np.recarray),
        symbolic=symbolic,
        block=block,
        rows=total_rows,
        unknowns=total_rows + 6 * len(hub_of),
        jacobian_size=at + SPARE,
    )


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


def _pair(
    symbolic: Symbolic, rows: Sequence[int], block: dict[tuple[int, int], int], left: int, right: int, body: int
) -> tuple[int, int, int, int, int]:
    target, swapped = symbolic.block(left, right)
    if swapped:
        left, right = right, left
    return (block[left, body], rows[left], block[right, body], rows[right], target)
