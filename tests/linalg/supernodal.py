"""Sparse matrices over the nodes of a graph, for tests of their factorization."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dalembert.core.kernel import array, kernel, out
from dalembert.core.tables import handed
from dalembert.linalg import supernodal, supernodal_analysis
from dalembert.linalg.supernodal_analysis import NEED_MORE, Supernodal, grown, supernodal_tables


@kernel
def analyse(s: Supernodal, nodes: int, sizes: array(1, np.int64), edges: int, ends: array(1, np.int64)) -> int:
    return supernodal_analysis.analyse(s, nodes, sizes, edges, ends)


@kernel
def assemble_and_factor(s: Supernodal, blocks: array(), is_symmetric: int) -> float:
    supernodal.clear(s)
    at = 0
    for i in range(s.plan[0].nodes):
        supernodal.add_block(s, s.diagonal[i], s.sizes[i], s.sizes[i], blocks, at)
        at += s.sizes[i] * s.sizes[i]
    for e in range(s.plan[0].edges):
        a, b = s.ends[2 * e], s.ends[2 * e + 1]
        if supernodal_analysis.joins(a, b, s.plan[0].nodes):
            count = s.sizes[a] * s.sizes[b]
            supernodal.add_block(s, s.slots[2 * e], s.sizes[a], s.sizes[b], blocks, at)
            supernodal.add_block(s, s.slots[2 * e + 1], s.sizes[b], s.sizes[a], blocks, at + count)
            at += 2 * count
    return supernodal.factor(s, is_symmetric == 1)


@kernel
def solve(s: Supernodal, x: out(), at: int) -> None:
    supernodal.solve(s, x, at)


@dataclass
class Matrix:
    """Sizes of nodes, edges, and the block of each node, then the blocks (a, b) and (b, a) of each edge."""

    sizes: np.ndarray
    edges: list
    blocks: list

    def inside(self):
        n = len(self.sizes)
        return [(a, b) for a, b in self.edges if a != b and 0 <= a < n and 0 <= b < n]

    def csc(self):
        """The matrix, of which the blocks of an edge that occurs twice are added."""
        start = np.concatenate([[0], np.cumsum(self.sizes)])
        places = [(i, i) for i in range(len(self.sizes))]
        for a, b in self.inside():
            places += [(a, b), (b, a)]
        rows, columns = [], []
        for i, j in places:
            r, c = np.meshgrid(np.arange(start[i], start[i + 1]), np.arange(start[j], start[j + 1]), indexing="ij")
            rows.append(r.ravel())
            columns.append(c.ravel())
        values = np.concatenate([block.ravel() for block in self.blocks])
        return sp.csc_matrix((values, (np.concatenate(rows), np.concatenate(columns))), (start[-1], start[-1]))

    def flat(self):
        return np.concatenate([block.ravel() for block in self.blocks])

    def ends(self):
        return np.array(self.edges or [(0, 0)], np.int64).ravel()


def random_matrix(seed, sizes, edges, symmetric=False):
    """Of which the symmetric part is positive definite."""
    rng = np.random.default_rng(seed)
    sizes = np.asarray(sizes, np.int64)
    made = Matrix(sizes, [tuple(map(int, edge)) for edge in edges], [])
    off, load = [], [np.zeros(n) for n in sizes]
    for a, b in made.inside():
        above = rng.normal(size=(sizes[a], sizes[b]))
        below = above.T.copy() if symmetric else rng.normal(size=(sizes[b], sizes[a]))
        off += [above, below]
        load[a] += 0.5 * (np.abs(above).sum(1) + np.abs(below).sum(0))
        load[b] += 0.5 * (np.abs(below).sum(1) + np.abs(above).sum(0))
    for i, n in enumerate(sizes):
        own = rng.normal(size=(n, n))
        own = own + own.T if symmetric else own
        own += np.diag(0.5 * (np.abs(own).sum(0) + np.abs(own).sum(1)) + load[i] + 1.0)
        made.blocks.append(own)
    made.blocks += off
    return made


def random_edges(seed, nodes, count, beyond=0):
    """Pairs of nodes, some of them twice; beyond: those that may be past either end of the nodes."""
    return np.random.default_rng(seed).integers(-beyond, nodes + beyond, (count, 2))


def neighbours_in_space(seed, side):
    """Edges between nodes that are near each other: a jittered grid of side³ points, as in a pile."""
    rng = np.random.default_rng(seed)
    points = np.stack(np.meshgrid(*[np.arange(side)] * 3), -1).reshape(-1, 3) + rng.uniform(-0.35, 0.35, (side**3, 3))
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1)
    return np.argwhere(np.triu(apart < 1.12, 1))


def planned(matrix, s=None):
    """(tables with a plan, how often they grew)"""
    s = supernodal_tables(1) if s is None else s
    growths = 0
    while analyse(handed(s), len(matrix.sizes), matrix.sizes, len(matrix.edges), matrix.ends()) == NEED_MORE:
        s = grown(s)
        growths += 1
    return s, growths


def factored(matrix, s, symmetric=False):
    return assemble_and_factor(handed(s), matrix.flat(), int(symmetric))


def solution(s, right):
    x = right.copy()
    solve(handed(s), x, 0)
    return x
