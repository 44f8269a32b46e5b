"""Where the blocks of a symmetric matrix are that is a sum over elements of a few nodes each: found once per model.

A node is one row of 3×3 blocks: a particle, or half of a rigid body (its velocity is one row, its angular velocity another).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class BlockPattern(NamedTuple):
    """The blocks (i, j), i ≤ j, of a symmetric block matrix, row by row, and where the elements add to them.

    Row i has the blocks starts[i] … starts[i + 1] − 1, the diagonal one first, and columns rise along it. `slots` has an
    (elements, k (k + 1)/2) array for every group of elements: local blocks (a, b), a ≤ b, in the order (0, 0), (0, 1), …,
    (0, k − 1), (1, 1), …; a slot is twice the number of the stored block, plus one where that is the local block's transpose.
    """

    starts: np.ndarray  # (n + 1,) int64
    columns: np.ndarray  # (blocks,) int32
    slots: tuple[np.ndarray, ...]  # int64


def block_pattern(n: int, groups: Sequence[ArrayLike]) -> BlockPattern:
    """The pattern of a matrix of n block rows, whose blocks (i, j) are those with an element that names i and j.

    groups : (elements, k) arrays of node numbers, k ≥ 1, in any order. All diagonal blocks are in the pattern.

    Raises ValueError where a group is no such array, or an element names a node twice or one that is not there.

    >>> pattern = block_pattern(3, [[[2, 0]]])
    >>> pattern.starts.tolist(), pattern.columns.tolist()
    ([0, 2, 3, 4], [0, 2, 1, 2])
    >>> pattern.slots[0].tolist()  # the blocks (2, 2), (2, 0), (0, 0): the second one's transpose is stored
    [[6, 3, 0]]
    """
    if n < 0 or n > np.iinfo(np.int32).max:
        raise ValueError(f"the number of block rows must be from 0 to 2^31 - 1, not {n}")
    checked = [_elements(n, at, group) for at, group in enumerate(groups)]
    keys, turned = [np.arange(n) * (n + 1)], []
    for elements in checked:
        first, second = np.triu_indices(elements.shape[1])
        a, b = elements[:, first], elements[:, second]
        keys.append((np.minimum(a, b) * n + np.maximum(a, b)).ravel())
        turned.append(a > b)
    blocks, number = np.unique(np.concatenate(keys), return_inverse=True)
    rows, columns = np.divmod(blocks, max(n, 1))
    slots, at = [], n
    for swapped in turned:
        slots.append(2 * number[at : at + swapped.size].reshape(swapped.shape) + swapped)
        at += swapped.size
    return BlockPattern(np.searchsorted(rows, np.arange(n + 1)), columns.astype(np.int32), tuple(slots))


def _elements(n: int, at: int, group: ArrayLike) -> np.ndarray:
    elements = np.asarray(group)
    if elements.ndim != 2 or elements.shape[1] == 0 or not np.issubdtype(elements.dtype, np.integer):
        raise ValueError(
            f"group {at} must be an (elements, k) array of integers, k ≥ 1, not {elements.shape} of {elements.dtype}"
        )
    elements = elements.astype(np.int64)
    outside = ((elements < 0) | (elements >= n)).any(axis=1)
    ordered = np.sort(elements, axis=1)
    repeated = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    for bad, why in ((outside, f"which are not all from 0 to {n - 1}"), (repeated, "one of them twice")):
        if bad.any():
            e = int(np.argmax(bad))
            raise ValueError(f"element {e} of group {at} has the nodes {elements[e].tolist()}, {why}")
    return elements
