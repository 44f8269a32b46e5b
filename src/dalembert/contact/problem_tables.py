"""A frictional contact problem, given as matrices, in the tables of the converging solver.

The solver knows blocks of speeds, and contacts and rows of at most four blocks. Blocks are the connected components of the
pattern of M. Where a contact touches more than four of them, as with bodies whose mass matrix is diagonal, blocks of 2, 3 or
6 consecutive speeds are tried; what still touches too many joins the rest of its blocks to one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core.tables import allocate
from ..linalg.supernodal_analysis import supernodal_tables
from .cone_problem import BLOCKS, STEP, ConeProblem

UNIFORM = (2, 3, 6)  # sizes of blocks that are tried
LARGEST_BLOCK = 8192  # speeds: its dense matrices take 4 GB


class Layout(NamedTuple):
    """Blocks of speeds. The solver's vectors are those of the caller, x[order]."""

    block: np.ndarray  # (n,) of each speed
    first: np.ndarray  # (blocks + 1,) in the solver's vectors
    order: np.ndarray  # (n,) the caller's speed at each place
    place: np.ndarray  # (n,) its inverse

    @property
    def sizes(self) -> np.ndarray:
        """(blocks,) speeds of each."""
        return np.diff(self.first)


# Blocks ------------------------------------------------------------------------------------------------------------------


def find_layout(masses: Any, touched: Any) -> Layout:
    """The blocks of M (n, n), for contacts and rows that touch the speeds `touched` (csr, one row for each).

    Raises ValueError where a block is too large for dense matrices.
    """
    from scipy.sparse.csgraph import connected_components

    n = masses.shape[0]
    components = connected_components(masses, directed=False)[1].astype(np.int64)
    best = components
    excess = count_excess(touched, components)
    for size in UNIFORM:
        if excess == 0 or n % size:
            continue
        labels = np.arange(n) // size
        low, high = np.full(n, n), np.full(n, -1)
        np.minimum.at(low, components, labels)
        np.maximum.at(high, components, labels)
        if (low[components] == high[components]).all() and count_excess(touched, labels) < excess:
            best, excess = labels, count_excess(touched, labels)
    if excess:
        best = join_blocks(touched, best)
    return order_blocks(best)


def pairs_of(touched: Any, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(row, block) of all pairs that touch, in order."""
    n = max(len(labels), 1)
    rows = np.repeat(np.arange(touched.shape[0]), np.diff(touched.indptr))
    keys = np.unique(rows * n + labels[touched.indices])
    return keys // n, keys % n


def count_excess(touched: Any, labels: np.ndarray) -> int:
    """How many rows touch more than BLOCKS blocks."""
    rows, _ = pairs_of(touched, labels)
    return int((np.bincount(rows, minlength=1) > BLOCKS).sum())


def join_blocks(touched: Any, labels: np.ndarray) -> np.ndarray:
    """Join blocks until no row touches more than BLOCKS of them: of each row the smallest are joined with each other."""
    labels = labels.copy()
    for i in range(touched.shape[0]):
        columns = touched.indices[touched.indptr[i] : touched.indptr[i + 1]]
        own = np.unique(labels[columns])
        if len(own) > BLOCKS:
            sizes = np.array([(labels == k).sum() for k in own])
            joined = own[np.argsort(-sizes, kind="stable")][BLOCKS - 1 :]
            labels[np.isin(labels, joined)] = joined[0]
    return labels


def order_blocks(labels: np.ndarray) -> Layout:
    """Blocks by their first speed. Raises ValueError for one that is too large."""
    _, at, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(at), np.int64)
    rank[np.argsort(at, kind="stable")] = np.arange(len(at))
    block = rank[inverse.reshape(-1)]
    sizes = np.bincount(block, minlength=len(at))
    if sizes.max(initial=0) > LARGEST_BLOCK:
        raise ValueError(
            f"{sizes.max()} speeds depend on each other through M, or through contacts of more than {BLOCKS} of its blocks; "
            f"this solver takes at most {LARGEST_BLOCK}: split the problem, or lump the masses"
        )
    order = np.argsort(block, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return Layout(block, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), order, place)


# Tables ------------------------------------------------------------------------------------------------------------------


def make_tables(masses: Any, contacts: Any, rows: Any, layout: Layout) -> ConeProblem:
    """The tables of a problem with M (n, n), J (3 m, n) and rows (k, n), all csr; impulses, friction etc. are blank."""
    sizes = layout.sizes
    n, m, k = masses.shape[0], contacts.shape[0] // 3, rows.shape[0]
    mass_at = np.concatenate([[0], np.cumsum(sizes**2)])
    of_contacts = blocks_of_rows(contacts, 3, layout, 0)
    of_rows = blocks_of_rows(rows, 1, layout, of_contacts.length)
    count = np.concatenate([of_contacts.counts, of_rows.counts])
    edges = int((count * (count - 1) // 2).sum())
    made = allocate(
        ConeProblem,
        {"blocks": len(sizes), "contacts": m, "rows": k, "masses": int(mass_at[-1]), "jacobian": of_rows.length + 1,
         "speeds": n, "edges": edges, "largest": int(sizes.max(initial=1))},
        step=np.zeros(1, STEP).view(np.recarray),
        matrix=supernodal_tables(len(sizes) + 1, edges + 1, n, 4 * len(sizes), 4 * int(mass_at[-1]), 64),
    )  # fmt: skip
    step = made.step[0]
    step.blocks, step.contacts, step.rows, step.speeds = len(sizes), m, k, n
    made.blocks["member"], made.blocks["speeds"] = np.arange(len(sizes)), sizes
    made.blocks["first"], made.blocks["mass"] = layout.first[:-1], mass_at[:-1]
    entries = masses.tocoo()
    row, column = layout.place[entries.row], layout.place[entries.col]
    block = layout.block[entries.row]
    first = layout.first[block]
    made.masses[mass_at[block] + (row - first) * sizes[block] + column - first] = entries.data
    for table, found in ((made.cones, of_contacts), (made.rows, of_rows)):
        table.number[:] = np.arange(len(table))
        table.blocks[:], table.at[:] = found.blocks, found.at
        made.jacobian[found.to] = found.values
    return made


class RowBlocks(NamedTuple):
    """Where the Jacobians of contacts or rows are in the table `jacobian`."""

    blocks: np.ndarray  # (m, BLOCKS), -1: none
    at: np.ndarray  # (m, BLOCKS)
    counts: np.ndarray  # (m,) blocks of each
    to: np.ndarray  # where each entry goes
    values: np.ndarray  # the entries
    length: int  # of the table so far


def blocks_of_rows(matrix: Any, height: int, layout: Layout, start: int) -> RowBlocks:
    """The same for a csr matrix, `height` rows for each contact or row, from `start` of the table on."""
    entries, sizes = matrix.tocoo(), layout.sizes
    m, blocks = matrix.shape[0] // height, max(len(sizes), 1)
    own, block = entries.row // height, layout.block[entries.col]
    keys, inverse = np.unique(own * blocks + block, return_inverse=True)
    inverse = inverse.reshape(-1)
    contact, touched = keys // blocks, keys % blocks
    lengths = height * sizes[touched]
    first = start + np.cumsum(lengths) - lengths
    counts = np.bincount(contact, minlength=m)
    side = np.arange(len(keys)) - np.repeat(np.cumsum(counts) - counts, counts)
    of_blocks, at = np.full((m, BLOCKS), -1, np.int64), np.zeros((m, BLOCKS), np.int64)
    of_blocks[contact, side], at[contact, side] = touched, first
    within = layout.place[entries.col] - layout.first[block]
    to = first[inverse] + (entries.row % height) * sizes[block] + within
    return RowBlocks(of_blocks, at, counts, to, entries.data, start + int(lengths.sum()))
