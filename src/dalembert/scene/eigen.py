"""Eigenvectors of small symmetric matrices, by arithmetic that gives the same bits on every processor, unlike LAPACK's."""

from __future__ import annotations

import math

import numpy as np

SWEEPS = 30


def eigenvectors(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (n,), ascending, and eigenvectors, the columns of an orthogonal (n, n), of a symmetric matrix (n, n).

    Jacobi's method: rotations in one plane after another make each element beside the diagonal zero, until all are small
    against the diagonal. G. Golub, C. Van Loan, Matrix Computations, 4th ed., §8.5.

    >>> eigenvectors(np.array([[2.0, 0.0], [0.0, 1.0]]))[0].tolist()
    [1.0, 2.0]
    """
    n = len(matrix)
    a = [list(map(float, row)) for row in matrix]
    v = [[float(i == j) for j in range(n)] for i in range(n)]
    pairs = [(p, q) for p in range(n) for q in range(p + 1, n)]
    for _ in range(SWEEPS):
        size = max(abs(a[i][i]) for i in range(n))
        left = [(p, q) for p, q in pairs if abs(a[p][q]) > 1e-20 * size]
        if not left:
            break
        for p, q in left:
            _rotate(a, v, p, q)
    order = sorted(range(n), key=lambda i: a[i][i])
    return np.array([a[i][i] for i in order]), np.array([[row[i] for i in order] for row in v])


def _rotate(a: list[list[float]], v: list[list[float]], p: int, q: int) -> None:
    """Make a[p][q] zero."""
    if a[p][q] == 0.0:
        return
    slope = (a[q][q] - a[p][p]) / (2.0 * a[p][q])
    t = math.copysign(1.0, slope) / (abs(slope) + math.sqrt(1.0 + slope * slope))
    c = 1.0 / math.sqrt(1.0 + t * t)
    s = t * c
    moved = t * a[p][q]
    a[p][p] -= moved
    a[q][q] += moved
    a[p][q] = a[q][p] = 0.0
    for k in range(len(a)):
        if k not in (p, q):
            x, y = a[k][p], a[k][q]
            a[k][p] = a[p][k] = c * x - s * y
            a[k][q] = a[q][k] = s * x + c * y
        x, y = v[k][p], v[k][q]
        v[k][p], v[k][q] = c * x - s * y, s * x + c * y
