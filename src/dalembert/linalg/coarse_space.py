"""The order of the sweeps of `ssor`, patches of nodes that `deflation` moves together, and the tables of their coarse matrix:
found once per model."""

from typing import Any, NamedTuple

import numpy as np

from ..tables import allocate, column
from .aggregation import aggregates
from .block_pattern import BlockPattern
from .ordering import COLUMN, ENTRY, UPDATE, analyse
from .sweep_order import LANES, in_lanes, own_places, sweep_order

# About how many nodes a patch has, and how many a matrix at least for patches to pay.
PATCH = 25
FEWEST = 100


class CoarseSpace(NamedTuple):
    """Tables of a `BlockPattern`: of its `SweepOrder`, of patches, and of `analyse` for A_c; without patches all but the
    first four are empty. H is stored as U is, in groups of four rows."""

    position: Any = column("n", np.int64, doc="see `SweepOrder`")
    starts: Any = column("groups + 1", np.int64)
    columns: Any = column("4 * entries", np.int32)
    sources: Any = column("4 * entries", np.int64)
    patch: Any = column("n", np.int64)
    patches: Any = column("4 * groups", np.int32, doc="three times the patch of each lane's row; 0 where there is none")
    h_starts: Any = column("groups + 1", np.int64, doc="where the blocks of each group of H start")
    h_columns: Any = column("4 * blocks", np.int32, doc="three times their patches; 0 where there is no block")
    slots: Any = column("4 * entries", np.int64, doc="the first number of its group of H that each block of U adds to")
    targets: Any = column("4 * blocks", np.int64, doc="where in A_c each is added: a slot of `BlockPattern`, or −1")
    own: Any = column("m", np.int64, doc="the slots of the diagonal of A_c")
    pivots: Any = column(dtype=COLUMN)
    below: Any = column(dtype=ENTRY)
    updates: Any = column(dtype=UPDATE)


class Swept(NamedTuple):
    """What sweeps read and write, in single precision or in double precision: see `ssor` and `deflation`."""

    back: np.ndarray  # (36 groups,), Fᴵ, four blocks a group
    upper: np.ndarray  # (36 entries,), Û
    h: np.ndarray  # (36 blocks,), Ĥ
    z: np.ndarray  # (12 groups,), as are the others
    t: np.ndarray
    e: np.ndarray
    g: np.ndarray


class CoarseWork(NamedTuple):
    """Scratch for a `CoarseSpace`; its names are those of `ssor` and `deflation`."""

    held_by: Any = column("12 * groups", np.int64, doc="which record holds the node of a position, or −1")
    led_by: Any = column("m", np.int64, doc="which record says how a patch can move, or −1")
    frame: Any = column(
        "36 * groups", doc="F: its first rows, in the order of vectors, then the second, then the third"
    )
    back: Any = column("36 * groups", np.float32, doc="a `Swept` of single precision, as are the next six")
    upper: Any = column("9 * entries", np.float32)
    h: Any = column("9 * blocks", np.float32)
    z: Any = column("12 * groups", np.float32)
    t: Any = column("12 * groups", np.float32)
    e: Any = column("12 * groups", np.float32)
    g: Any = column("12 * groups", np.float32)
    exact_back: Any = column("36 * groups", doc="a `Swept` of double precision, as are the next six")
    exact_upper: Any = column("9 * entries")
    exact_h: Any = column("9 * blocks")
    exact_z: Any = column("12 * groups")
    exact_t: Any = column("12 * groups")
    exact_e: Any = column("12 * groups")
    exact_g: Any = column("12 * groups")
    row: Any = column("36 * longest", doc="a group of H; longest: blocks of the longest one")
    block: Any = column("36", doc="four blocks of U")
    values: Any = column("9 * stored", doc="A_c and its factors, as those of `ldl`")
    lower: Any = column("9 * stored")
    c: Any = column("3 * m", doc="a right-hand side and solution")
    y: Any = column("12 * groups", doc="what x̂ changes by")
    w: Any = column("12 * groups")


def coarse_space(pattern: BlockPattern, size: int = PATCH, fewest: int = FEWEST) -> CoarseSpace:
    """The order, and patches of about `size` nodes each, or none where there are fewer than `fewest` nodes."""
    n = len(pattern.starts) - 1
    order = sweep_order(pattern)
    patch = aggregates(pattern, size) if n >= fewest else np.zeros(0, np.int64)
    if not patch.size:
        none = analyse([], range(0), [], lambda node, eliminated: True)
        whole, small = np.zeros(0, np.int64), np.zeros(0, np.int32)
        return CoarseSpace(
            *order, whole, small, whole, small, whole, whole, whole, none.columns, none.entries, none.updates
        )
    m, groups = int(patch.max()) + 1, len(order.starts) - 1
    node = np.full(3 * LANES * groups, -1)
    node[order.position] = np.arange(n)
    filled = np.flatnonzero(order.sources >= 0)
    row, column = node[own_places(order.starts)[filled]], node[order.columns[filled]]
    pairs, number = np.unique(row * m + patch[column], return_inverse=True)
    row, reached = np.divmod(pairs, m)
    at = order.position[row]
    h_starts, places = in_lanes(at // 12, at % 12, reached, groups)
    slots = np.zeros(len(order.sources), np.int64)
    slots[filled] = (36 * (places // LANES - h_starts[at // 12]) + places % LANES)[number]
    joined, number = np.unique(np.stack([patch[row], reached]), axis=1, return_inverse=True)
    neighbours: list[set[int]] = [set() for _ in range(m)]
    for one, two in joined.T.tolist():
        if one != two:
            neighbours[one].add(two)
            neighbours[two].add(one)
    symbolic = analyse([3] * m, range(0, 3 * m, 3), neighbours, lambda node, eliminated: True)
    slot = np.array([_slot(*symbolic.block(one, two)) for one, two in joined.T.tolist()], np.int64)
    h_columns, targets = np.zeros(LANES * int(h_starts[-1]), np.int32), np.full(LANES * int(h_starts[-1]), -1)
    h_columns[places], targets[places] = 3 * reached, slot[number.reshape(-1)]
    patches = np.zeros(LANES * groups, np.int32)
    patches[LANES * (order.position // 12) + order.position % 12] = 3 * patch
    own = np.array([_slot(*symbolic.block(one, one)) for one in range(m)], np.int64)
    return CoarseSpace(
        *order, patch, patches, h_starts, h_columns, slots, targets, own, symbolic.columns, symbolic.entries,
        symbolic.updates,
    )  # fmt: skip


def _slot(offset: int, swapped: bool) -> int:
    return 2 * (offset // 9) + swapped


def coarse_workspace(space: CoarseSpace) -> CoarseWork:
    """Scratch for a solve with these tables."""
    m = len(space.pivots)
    sizes = {
        "m": m, "groups": len(space.starts) - 1, "entries": len(space.columns), "blocks": len(space.h_columns),
        "longest": int(np.diff(space.h_starts).max(initial=0)), "stored": m + len(space.below),
    }  # fmt: skip
    return allocate(CoarseWork, sizes)
