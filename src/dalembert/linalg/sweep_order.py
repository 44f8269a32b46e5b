"""The order in which sweeps over a symmetric block matrix take its rows, four at a time: found once per model.

Each quarter of the rows has a lane; the rows that stand first in the four lanes are taken at once unless blocks join them,
in which case a lane waits. Lanes are far from each other in most models, so that this is nearly the order of the rows, and
relaxation converges as it does in that. What a row meets one by one, the four meet in one register.
"""

from typing import NamedTuple

import numpy as np

from .block_pattern import BlockPattern

LANES = 4


class SweepOrder(NamedTuple):
    """A group g has four rows. A vector has 12 numbers a group: the first of each row, then the second ones, then the third.

    Row i has position[i] = 12 g + its lane, and its numbers there, 4 and 8 further on. Entries starts[g] … starts[g + 1] − 1
    have a block of each row that is to the right of the diagonal in this order, in any sequence; where one row has
    fewer than another, nothing.
    """

    position: np.ndarray  # (n,) int64
    starts: np.ndarray  # (groups + 1,) int64
    columns: np.ndarray  # (4 entries,) int32, the position of the column, or of the row itself where there is no block
    sources: np.ndarray  # (4 entries,) int64, the block as a slot of `BlockPattern`; −1 where there is none


def sweep_order(pattern: BlockPattern) -> SweepOrder:
    """The order for a pattern.

    >>> from dalembert.linalg.block_pattern import block_pattern
    >>> order = sweep_order(block_pattern(3, [[[0, 1], [1, 2]]]))
    >>> order.position.tolist(), order.starts.tolist()  # rows 0 and 2, then row 1
    ([1, 14, 3], [0, 1, 1])
    >>> order.columns.tolist(), order.sources.tolist()
    ([0, 14, 2, 14], [-1, 2, -1, 7])
    """
    n = len(pattern.starts) - 1
    rows, columns = np.repeat(np.arange(n), np.diff(pattern.starts)), pattern.columns.astype(np.int64)
    blocks = np.flatnonzero(rows != columns)
    position = _positions(n, rows[blocks], columns[blocks])
    one, two = position[rows[blocks]], position[columns[blocks]]
    swapped = one // 12 > two // 12
    left, right = np.where(swapped, two, one), np.where(swapped, one, two)
    groups = 0 if n == 0 else int(position.max()) // 12 + 1
    starts, places = in_lanes(left // 12, left % 12, right, groups)
    table = own_places(starts)
    sources = np.full(len(table), -1)
    table[places], sources[places] = right, 2 * blocks + swapped
    return SweepOrder(position, starts, table.astype(np.int32), sources)


def own_places(starts: np.ndarray) -> np.ndarray:
    """The position of the row that each place of entries belongs to."""
    group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return (3 * LANES * group[:, None] + np.arange(LANES)).ravel()


def in_lanes(group: np.ndarray, lane: np.ndarray, key: np.ndarray, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Where entries of groups start, and the place 4 entry + lane of each item, by rising key within its row."""
    row = LANES * group + lane
    order = np.lexsort((key, row))
    number = np.bincount(row, minlength=LANES * groups)
    rank = np.empty_like(row)
    rank[order] = np.arange(len(row)) - (np.cumsum(number) - number)[row[order]]
    longest = number.reshape(-1, LANES).max(axis=1, initial=0)
    starts = np.concatenate([[0], np.cumsum(longest)])
    return starts, LANES * (starts[group] + rank) + lane


def _positions(n: int, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    tails, heads = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    beside = heads[np.argsort(tails, kind="stable")].tolist()
    first = np.searchsorted(np.sort(tails), np.arange(n + 1)).tolist()
    front = [n * lane // LANES for lane in range(LANES + 1)]
    last = front[1:]
    length = np.bincount(rows, minlength=n)
    delay = [_delay(length, begin, n // LANES) for begin in front[:-1]]
    position = np.zeros(n, np.int64)
    group_of = [-1] * n
    group, left = 0, n
    while left:
        for lane in range(LANES):
            i = front[lane]
            if (
                group >= delay[lane]
                and i < last[lane]
                and all(group_of[j] != group for j in beside[first[i] : first[i + 1]])
            ):
                position[i], group_of[i] = 3 * LANES * group + lane, group
                front[lane] += 1
                left -= 1
        group += 1
    return position


def _delay(length: np.ndarray, begin: int, count: int) -> int:
    """How many groups later a lane should begin for its rows to be about as long as those of the first lane."""
    misfit = [
        np.abs(length[delay:count] - length[begin : begin + count - delay]).sum() for delay in range(min(LANES, count))
    ]
    return int(np.argmin(misfit)) if misfit else 0
