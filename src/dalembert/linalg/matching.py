"""The perfect matching of rows to columns whose entries have the largest product, and the duals that prove it.

I. Duff, J. Koster, "On algorithms for permuting large entries to the diagonal of a sparse matrix", SIAM J. Matrix Anal. Appl.
22(4), 2001: the logarithms

    cᵢⱼ = log maxₖ|aₖⱼ| − log|aᵢⱼ| ≥ 0

turn the largest product into the least sum, a linear assignment. Its duals keep uᵢ + vⱼ ≤ cᵢⱼ, with equality on the matching,
which bounds the sum of every other matching from below by the sum of this one.

Columns are matched one by one. From a column that is free, Dijkstra's algorithm finds the shortest path to a free row, in
the lengths cᵢⱼ − uᵢ − vⱼ ≥ 0; matched entries have length zero and lead from their row to their column. Along the path
matched and unmatched entries are exchanged. Where d is the distance of a row and D that of the row found, the duals stay
feasible, and tight on the new matching, by u += d − D in every row nearer than D, and the opposite in its column.
"""

from typing import NamedTuple

import numpy as np

from ..core.jit import njit
from ..core.kernel import array, kernel, out
from .dense import Matrix, Sizes, checked, sizes
from .ordering import pop, rise

FREE = -1
UNSEEN, DONE = -1, -2  # places of rows that are not in the heap


class Matching(NamedTuple):
    """One entry in each row and each column, with the largest product of absolute values."""

    rows: np.ndarray  # (n,) the row of each column: matrix[rows] has the matched entries on its diagonal
    row_duals: np.ndarray  # (n,) u
    column_duals: np.ndarray  # (n,) v: u[i] + v[j] ≤ log maxₖ|aₖⱼ| − log|aᵢⱼ|, with equality at i = rows[j]


class MatchingWork(NamedTuple):
    """Results and scratch of `match_columns`, n numbers each."""

    u: np.ndarray  # duals of the rows
    v: np.ndarray  # duals of the columns
    row_of: np.ndarray  # int64, as are all but `distance`: the row of each column, FREE where there is none
    column_of: np.ndarray  # the column of each row
    distance: np.ndarray  # of rows, in the search
    before: np.ndarray  # the column from which a row was reached
    heap: np.ndarray  # of rows by distance; see `ordering`
    place: np.ndarray  # index of a row in the heap, UNSEEN or DONE
    reached: np.ndarray  # the rows of the search


def matching(matrix: Matrix) -> Matching:
    """Choose one entry in each row and column of a square matrix (n, n), dense or sparse, with the largest product of
    absolute values.

    Raises ValueError for a matrix that is not square, empty, not real, not finite or structurally singular, that is,
    without any such choice. The message then names an unmatched row and column, and the structural rank.

    >>> matching([[1.0, 5.0, 0.0], [4.0, 2.0, 3.0], [3.0, 2.0, 0.0]]).rows.tolist()
    [2, 0, 1]
    """
    return match(sizes(checked(matrix)))


def match(matrix: Sizes) -> Matching:
    """The matching of a matrix that was checked. Raises ValueError where it is structurally singular."""
    n = matrix.n
    logs = np.log(matrix.column_values)
    costs = np.repeat(np.maximum.reduceat(logs, matrix.column_start[:-1]), np.diff(matrix.column_start)) - logs
    u, v, distance = np.empty(n), np.empty(n), np.empty(n)
    row_of, column_of, before, heap, place, reached = np.empty((6, n), np.int64)
    work = MatchingWork(u, v, row_of, column_of, distance, before, heap, place, reached)
    matched = _match(n, matrix.column_start, matrix.column_rows, costs, work)
    if matched < n:
        column, row = (int(np.flatnonzero(side == FREE)[0]) for side in (row_of, column_of))
        raise ValueError(
            f"the matrix is structurally singular: at most {matched} of {n} columns can be matched to rows; "
            f"column {column} and row {row} are unmatched"
        )
    return Matching(row_of, u, v)


INTS = array(1, np.int64)
WHOLE = out(1, np.int64)


@kernel
def _match(
    n: int, start: INTS, rows: INTS, costs: array(),
    work: MatchingWork(out(), out(), WHOLE, WHOLE, out(), WHOLE, WHOLE, WHOLE, WHOLE),
) -> int:  # fmt: skip
    """`match_columns` from Python."""
    return match_columns(n, start, rows, costs, work)


@njit
def match_columns(n, start, rows, costs, work):
    """Match all columns that can be matched; returns their number. Writes all of `work`."""
    u, v, row_of, column_of = work.u, work.v, work.row_of, work.column_of
    matched = _begin(n, start, rows, costs, u, v, row_of, column_of)
    for i in range(n):
        work.distance[i] = np.inf
        work.place[i] = UNSEEN
    for j in range(n):
        if row_of[j] == FREE:
            row = _shortest_path(j, start, rows, costs, work)
            if row != FREE:  # else no other matching holds this column and those before it
                _exchange(row, j, row_of, column_of, work.before)
                matched += 1
    return matched


@njit
def _begin(n, start, rows, costs, u, v, row_of, column_of):
    """Feasible duals, and a first matching where they are tight; returns its size."""
    for i in range(n):
        u[i] = np.inf
        row_of[i] = FREE
        column_of[i] = FREE
    for k in range(start[n]):
        u[rows[k]] = min(u[rows[k]], costs[k])
    matched = 0
    for j in range(n):
        v[j] = np.inf
        for k in range(start[j], start[j + 1]):
            v[j] = min(v[j], costs[k] - u[rows[k]])
        for k in range(start[j], start[j + 1]):
            i = rows[k]
            if column_of[i] == FREE and costs[k] - u[i] == v[j]:
                row_of[j] = i
                column_of[i] = j
                matched += 1
                break
    return matched


@njit
def _shortest_path(root, start, rows, costs, work):
    """The free row nearest to the free column `root`, and the duals for the matching that has both; FREE if there is none.

    before[i] is the column from which row i was reached. `distance` is infinite and `place` UNSEEN again afterwards.
    """
    u, v, column_of, distance = work.u, work.v, work.column_of, work.distance
    before, heap, place, reached = work.before, work.heap, work.place, work.reached
    length, count = 0, 0
    end, shortest = FREE, np.inf
    here, j = 0.0, root
    while True:
        for k in range(start[j], start[j + 1]):
            i = rows[k]
            if place[i] == DONE:  # rounding may make it look nearer
                continue
            there = here + (costs[k] - u[i] - v[j])
            if there < shortest and there < distance[i]:
                before[i] = j
                if column_of[i] == FREE:
                    end, shortest = i, there
                    continue
                if place[i] == UNSEEN:
                    reached[count] = i
                    count += 1
                    place[i] = length
                    length += 1
                distance[i] = there
                rise(heap, place, distance, place[i], i)
        if length == 0 or distance[heap[0]] >= shortest:
            break
        i = pop(heap, place, distance, length)
        length -= 1
        place[i] = DONE
        here, j = distance[i], column_of[i]
    for r in range(count):
        i = reached[r]
        if end != FREE and place[i] == DONE:
            u[i] += distance[i] - shortest
            v[column_of[i]] -= distance[i] - shortest
        distance[i] = np.inf
        place[i] = UNSEEN
    if end != FREE:
        v[root] += shortest
    return end


@njit
def _exchange(row, root, row_of, column_of, before):
    """Exchange matched and unmatched entries along the path, from its end back to the column where it began."""
    while True:
        j = before[row]
        column_of[row] = j
        following = row_of[j]
        row_of[j] = row
        if j == root:
            return
        row = following
