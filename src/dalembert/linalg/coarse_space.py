"""Patches of nodes that `deflation` moves together, and the tables of their coarse matrix: found once per model."""

from typing import NamedTuple

import numpy as np

from .aggregation import aggregates
from .block_pattern import BlockPattern
from .ordering import analyse

# About how many nodes a patch has, and how many a matrix at least for patches to pay. On sheets of 10 000 particles 20 and
# 32 are as fast.
PATCH = 25
FEWEST = 100


class CoarseSpace(NamedTuple):
    """Tables of the patches of a `BlockPattern`; of `analyse` for A_c; without patches all are empty."""

    patch: np.ndarray  # (n,) int64
    starts: np.ndarray  # (n + 1,) int64, where the blocks of each row of H start
    columns: np.ndarray  # (entries,) int32, their patches
    slots: np.ndarray  # (blocks,) int64, the block of H that each block of the matrix adds to
    targets: np.ndarray  # (entries,) int64, where in A_c each block of H is added: a slot as those of `BlockPattern`
    pivots: np.ndarray  # COLUMN
    below: np.ndarray  # ENTRY
    updates: np.ndarray  # UPDATE


class CoarseWork(NamedTuple):
    """Scratch for a `CoarseSpace`."""

    held_by: np.ndarray  # (n,) int64, which record holds a node, or −1
    led_by: np.ndarray  # (m,) int64, which record says how a patch can move, or −1
    h: np.ndarray  # (9 entries,), H
    values: np.ndarray  # A_c and its factors, as those of `ldl`
    lower: np.ndarray
    c: np.ndarray  # (3 m,), a right-hand side and solution


def coarse_space(pattern: BlockPattern, size: int = PATCH, fewest: int = FEWEST) -> CoarseSpace:
    """Patches of about `size` nodes each, or none where there are fewer than `fewest` nodes."""
    n = len(pattern.starts) - 1
    patch = aggregates(pattern, size) if n >= fewest else np.zeros(0, np.int64)
    patches = int(patch.max(initial=-1)) + 1
    rows = np.repeat(np.arange(n), np.diff(pattern.starts)) if patches else np.zeros(0, np.int64)
    reached = patch[pattern.columns] if patches else np.zeros(0, np.int64)
    keys, slots = np.unique(rows * max(patches, 1) + reached, return_inverse=True)
    rows, columns = np.divmod(keys, max(patches, 1))
    pairs, number = np.unique(np.column_stack([patch[rows], columns]), axis=0, return_inverse=True)
    neighbours: list[set[int]] = [set() for _ in range(patches)]
    for one, two in pairs.tolist():
        if one != two:
            neighbours[one].add(two)
            neighbours[two].add(one)
    symbolic = analyse([3] * patches, range(0, 3 * patches, 3), neighbours, lambda node, eliminated: True)
    placed = [symbolic.block(one, two) for one, two in pairs.tolist()]
    targets = np.array([2 * (offset // 9) + swapped for offset, swapped in placed], np.int64)[number.reshape(-1)]
    starts = np.searchsorted(rows, np.arange(n + 1))
    return CoarseSpace(
        patch, starts, columns.astype(np.int32), slots, targets, symbolic.columns, symbolic.entries, symbolic.updates
    )


def coarse_workspace(space: CoarseSpace) -> CoarseWork:
    """Scratch for a solve with a coarse space."""
    patches = len(space.pivots)
    values = 9 * (patches + len(space.below))
    return CoarseWork(
        np.zeros(len(space.patch), np.int64), np.zeros(patches, np.int64), np.zeros(9 * len(space.columns)),
        np.zeros(values), np.zeros(values), np.zeros(3 * patches),
    )  # fmt: skip
