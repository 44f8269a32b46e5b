"""What a Butcher tableau is, and the check that it has the order it claims.

An explicit Runge–Kutta method of s stages advances y by
    k_i = f(t + c_i h, y + h Σ_j a_ij k_j),   y_new = y + h Σ_i b_i k_i.
A method keeps its derivatives in the rows of one array `k`: s stages, then the derivative at the end, then the extra
stages of the dense output, if any. Dense output is y(t + θh) = y + h Σ_i k_i Σ_j dense_ij θ^(j+1).

A method has order p if Σ_i b_i Φ_i(τ) = 1/γ(τ) for every rooted tree τ of at most p nodes (Butcher; Hairer, Nørsett &
Wanner, *Solving Ordinary Differential Equations I*, II.2); dense output if Σ_i b_i(θ) Φ_i(τ) = θ^|τ|/γ(τ) (II.6).
"""

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Tree = tuple["Tree", ...]


class Tableau(NamedTuple):
    """A method as data. s = `stages`, m = s + 1 + the number of extra stages: the rows of `k`."""

    a: Array  # (s, s) strictly lower triangular
    b: Array  # (s,)
    c: Array  # (s,)
    error: (
        Array  # (r, s + 1): error = h Σ error_i k_i; r = 0 none, 1 an embedded pair, 2 DOP853's fifth and third order
    )
    dense: Array  # (m, degree): coefficients of θ, θ², … for each row of k
    extra_a: Array  # (m - s - 1, m): extra stages, from all rows before them
    extra_c: Array  # (m - s - 1,)
    stages: int
    order: int
    error_order: int  # the error estimate shrinks as h^(error_order + 1)
    dense_order: int
    fsal: int  # 1 if the error estimate uses the derivative at the end
    partitioned: int  # 1: momenta move first and positions see them (symplectic Euler); 2: kick, drift, kick
    beta: float  # memory of the step-size controller: 0 looks at the last error only

    @property
    def rows(self) -> int:
        """The number of rows of `k`."""
        return int(self.dense.shape[0])


def hermite(b: ArrayLike) -> Array:
    """Dense output from both ends and their derivatives: the cubic Hermite polynomial, (s + 1, 3)."""
    weights = np.append(np.asarray(b, dtype=np.float64), 0.0)
    dense = np.outer(weights, [0.0, 3.0, -2.0])
    dense[0] += [1.0, -2.0, 1.0]
    dense[-1] += [0.0, -1.0, 1.0]
    return dense


def build(
    name: str,
    a: Sequence[Sequence[float]],
    b: Sequence[float],
    order: int,
    *,
    c: Sequence[float] | None = None,
    error: Sequence[Sequence[float]] = (),
    error_orders: Sequence[int] = (),
    error_order: int = 0,
    dense: Array | None = None,
    dense_order: int | None = None,
    extra_a: Sequence[Sequence[float]] = (),
    extra_c: Sequence[float] = (),
    partitioned: int = 0,
    beta: float = 0.04,
) -> Tableau:
    """A validated `Tableau`. Rows of `a`, `error` and `extra_a` may be short: the rest is zero.

    error_orders: the order up to which each error row vanishes. Raises ValueError naming the method.
    """
    s = len(b)
    m = s + 1 + len(extra_c)
    matrix = _pad(a, s, s)
    tableau = Tableau(
        a=matrix,
        b=np.array(b, dtype=np.float64),
        c=matrix.sum(axis=1) if c is None else np.array(c, dtype=np.float64),
        error=_pad(error, len(error), s + 1),
        dense=np.ascontiguousarray(hermite(b) if dense is None else dense),
        extra_a=_pad(extra_a, len(extra_c), m),
        extra_c=np.array(extra_c, dtype=np.float64),
        stages=s,
        order=order,
        error_order=error_order or (error_orders[0] if error_orders else 0),
        dense_order=min(order, 3) if dense_order is None else dense_order,
        fsal=int(any(len(row) > s and row[s] != 0.0 for row in error)),
        partitioned=partitioned,
        beta=beta,
    )
    validate(name, tableau, error_orders)
    return tableau


def validate(name: str, tableau: Tableau, error_orders: Sequence[int] = ()) -> None:
    """Check triangularity, row sums and the order of the method, its error rows and its dense output.

    Raises ValueError naming the method and the condition that fails.
    """
    s, m = tableau.stages, tableau.rows
    if np.any(np.triu(tableau.a)):
        raise ValueError(f"method {name!r}: a is not strictly lower triangular, so it is not explicit")
    if tableau.dense.shape[1] < tableau.dense_order:
        raise ValueError(f"method {name!r}: dense output of order {tableau.dense_order} needs as high a degree")
    full = np.zeros((m, m))
    full[:s, :s] = tableau.a
    full[s, :s] = tableau.b
    full[s + 1 :] = tableau.extra_a
    c = np.concatenate([tableau.c, [1.0], tableau.extra_c])
    _expect(name, "row sums of a equal c", full, np.ones(m), c)
    for order in range(1, tableau.order + 1):
        for tree in trees(order):
            weights, target = _weights(full, tree), 1.0 / _density(tree)
            _expect(name, f"condition of order {order}, tree {tree}", tableau.b, weights[:s], target)
            for row, limit in zip(tableau.error, error_orders, strict=True):
                if order <= limit:
                    _expect(name, f"error row vanishes at order {order}, tree {tree}", row, weights[: s + 1], 0.0)
            if order <= tableau.dense_order:
                powers = np.zeros(tableau.dense.shape[1])
                powers[order - 1] = target
                _expect(name, f"dense output of order {order}, tree {tree}", weights, tableau.dense, powers)


@functools.cache
def trees(order: int) -> tuple[Tree, ...]:
    """The rooted trees of `order` nodes; a tree is the sorted tuple of its root's subtrees."""
    found = {tuple(sorted(forest)) for sizes in _partitions(order - 1, order - 1) for forest in _forests(sizes)}
    return tuple(sorted(found))


def _partitions(total: int, largest: int) -> Iterator[tuple[int, ...]]:
    if total == 0:
        yield ()
    for first in range(min(total, largest), 0, -1):
        for rest in _partitions(total - first, first):
            yield (first, *rest)


def _forests(sizes: tuple[int, ...]) -> Iterator[tuple[Tree, ...]]:
    return itertools.product(*(trees(size) for size in sizes))


def _nodes(tree: Tree) -> int:
    return 1 + sum(_nodes(branch) for branch in tree)


def _density(tree: Tree) -> int:
    """γ(τ): the number of nodes times the densities of the root's subtrees."""
    density = _nodes(tree)
    for branch in tree:
        density *= _density(branch)
    return density


def _weights(a: Array, tree: Tree) -> Array:
    """Φ_i(τ): the product over the root's subtrees of Σ_j a_ij Φ_j."""
    weights = np.ones(a.shape[0])
    for branch in tree:
        weights *= a @ _weights(a, branch)
    return weights


def _pad(rows: Sequence[Sequence[float]], height: int, width: int) -> Array:
    matrix = np.zeros((height, width))
    for i, row in enumerate(rows):
        matrix[i, : len(row)] = row
    return matrix


def _expect(name: str, what: str, left: Array, right: Array, wanted: ArrayLike) -> None:
    """Raises ValueError unless left @ right is what is wanted, to 1e-12 of the largest coefficient of a method (or of 1):
    rounding errors grow with it, and the order in which NumPy's library adds depends on the processor."""
    off = float(np.max(np.abs(left @ right - np.asarray(wanted))))
    if not off < 1e-12 * max(1.0, float(np.max(np.abs(left))), float(np.max(np.abs(right)))):
        raise ValueError(f"method {name!r}: {what} does not hold (off by {off:.1e})")
