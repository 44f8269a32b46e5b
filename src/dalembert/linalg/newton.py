"""Newton's method for a minimum: full steps if the Hessian is positive definite, else modified ones.

    H d = −∇f,   x ← x + α d

If H is not positive definite, d need not be a descent direction. Then the eigenvalues of a dense H are replaced by
their absolute values, and a sparse H gets a multiple of the identity, the smallest of a geometric sequence that makes
it positive definite (J. Nocedal, S. Wright, "Numerical optimization", 2006, §3.4). α is halved from 1 until the value
satisfies Armijo's rule, and is 1 near the minimum, where the method converges quadratically.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core.status import NoSolution

SUFFICIENT = 1e-4  # Armijo's share of the decrease that the slope predicts
HALVINGS = 60
FLOOR = 1e-8  # of the largest eigenvalue or diagonal entry: smaller ones are replaced by it
ROUNDING = 1e4 * np.finfo(float).eps  # of the value: a smaller decrease is computed from the gradients instead
SYMMETRIC = 1e-8  # of the largest entry


class Minimum(NamedTuple):
    """The result of Newton's method, with the history of its steps."""

    x: np.ndarray  # (n,), the minimum
    value: float  # of the function at x
    values: np.ndarray  # at the start and after every step
    gradient_norms: np.ndarray  # likewise, 2-norm
    lengths: np.ndarray  # α of every step
    converged: bool  # whether the gradient is within the tolerance


def minimize(
    value: Callable[[np.ndarray], float],
    gradient: Callable[[np.ndarray], np.ndarray],
    hessian: Callable[[np.ndarray], Any],
    start: ArrayLike,
    *,
    tolerance: float = 1e-8,
    scale: float | None = None,
    max_iterations: int = 100,
) -> Minimum:
    """Find x with ‖∇f(x)‖ ≤ `tolerance` times `scale`, by Newton's method from `start` (n,).

    value : f; infinite outside its domain, which no step leaves. gradient : (n,). hessian : (n, n), an array or a SciPy
    sparse matrix. scale : the reference for the norm of the gradient. Default: its norm at the start.

    Every step decreases f. If the gradient vanishes at the start, the start is returned, even if it is a saddle point.
    After `max_iterations`, or if rounding prevents a further decrease of f, `converged` is False.

    Raises ValueError if the start, or f, its gradient or its Hessian there, are not finite or have the wrong shape;
    NoSolution if f does not decrease along a descent direction, for example because the gradient is not that of f.

    >>> import numpy as np
    >>> rosenbrock = lambda x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    >>> slope = lambda x: np.array([2 * (x[0] - 1) - 400 * x[0] * (x[1] - x[0] ** 2), 200 * (x[1] - x[0] ** 2)])
    >>> bend = lambda x: np.array([[2 - 400 * (x[1] - 3 * x[0] ** 2), -400 * x[0]], [-400 * x[0], 200]])
    >>> minimize(rosenbrock, slope, bend, (-1.2, 1.0)).x.round(6).tolist()
    [1.0, 1.0]
    """
    x = np.array(start, float)
    if x.ndim != 1 or not np.isfinite(x).all():
        raise ValueError(f"start must be a list of finite numbers, not {start!r}")
    f, g = float(value(x)), _checked_gradient(gradient, x)
    if not (np.isfinite(f) and np.isfinite(g).all()):
        raise ValueError(f"the value ({f}) or the gradient at the start is not finite; start where both are")
    goal = tolerance * (float(np.linalg.norm(g)) if scale is None else scale)
    lengths: list[float] = []
    values, norms = [f], [float(np.linalg.norm(g))]
    while norms[-1] > goal and len(lengths) < max_iterations:
        d = -solve_positive(_checked_hessian(hessian, x), g)
        found = _line_search(value, gradient, x, f, g, d)
        if found is None:
            break
        length, x, f, g = found
        values.append(f)
        norms.append(float(np.linalg.norm(g)))
        lengths.append(length)
    return Minimum(x, f, np.array(values), np.array(norms), np.array(lengths), norms[-1] <= goal)


def solve_positive(matrix: Any, right: np.ndarray) -> np.ndarray:
    """Solve H d = right (n,) for symmetric H (n, n), dense or sparse, made positive definite where it is not."""
    from scipy.linalg import cho_factor, cho_solve  # SciPy's parts are slow to load, and most runs need none
    from scipy.sparse import csc_array, issparse

    if issparse(matrix):
        return _solve_sparse(csc_array(matrix), right)
    try:
        return cho_solve(cho_factor(matrix), right)
    except np.linalg.LinAlgError:
        sizes, axes = np.linalg.eigh(matrix)
        sizes = np.abs(sizes)
        return axes @ ((axes.T @ right) / np.maximum(sizes, FLOOR * max(sizes.max(), np.finfo(float).tiny)))


def _solve_sparse(matrix: Any, right: np.ndarray) -> np.ndarray:
    """`solve_positive` of a sparse matrix, by L D Lᵀ of H + σ 1 with the least σ of a geometric sequence."""
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import splu

    diagonal = matrix.diagonal()
    least = FLOOR * max(float(np.abs(diagonal).max(initial=0.0)), np.finfo(float).tiny)
    shift = 0.0 if diagonal.min(initial=0.0) >= 0.0 else least - float(diagonal.min())
    identity = eye_array(len(right), format="csc")
    while True:
        try:
            # Symmetric pivoting: the pivots are those of L D Lᵀ, which show definiteness.
            factor = splu(
                matrix + shift * identity, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0,
                options={"SymmetricMode": True},
            )  # fmt: skip
            if (factor.U.diagonal() > 0.0).all() and (factor.perm_r == factor.perm_c).all():
                return factor.solve(right)
        except RuntimeError:  # exactly singular
            pass
        shift = max(10.0 * shift, least)


def _checked_gradient(gradient: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """The gradient at x. Raises ValueError for another shape."""
    g = np.asarray(gradient(x), float)
    if g.shape != x.shape:
        raise ValueError(f"the gradient has shape {g.shape}; it must be {x.shape}")
    return g


def _checked_hessian(hessian: Callable[[np.ndarray], Any], x: np.ndarray) -> Any:
    """The Hessian at x. Raises ValueError for one of another shape, not finite, or not symmetric."""
    from scipy.sparse import issparse

    h = hessian(x)
    h = h if issparse(h) else np.asarray(h, float)
    if h.shape != (x.size, x.size):
        raise ValueError(f"the Hessian has shape {h.shape}; it must be {(x.size, x.size)}")
    largest, skew = abs(h).max(), abs(h - h.T).max()
    if not np.isfinite(largest):
        raise ValueError("the Hessian is not finite")
    if skew > SYMMETRIC * largest:
        raise ValueError(f"the Hessian is not symmetric: entries differ by {skew:.3g} from their mirror images")
    return h


def _line_search(
    value: Callable[[np.ndarray], float],
    gradient: Callable[[np.ndarray], np.ndarray],
    x: np.ndarray,
    f: float,
    g: np.ndarray,
    d: np.ndarray,
) -> tuple[float, np.ndarray, float, np.ndarray] | None:
    """(α, x, f, ∇f) of the first of 1, ½, ¼, ... that brings f down enough; None where rounding hides whether any does.

    Where the promised decrease is lost in the rounding of f, it is α (∇f·d + ∇f'·d) / 2, which is right to third order in d.
    """
    slope = float(g @ d)
    hidden = -slope <= ROUNDING * abs(f)
    length = 1.0
    for _ in range(HALVINGS):
        there = x + length * d
        now = float(value(there))
        if np.isfinite(now):
            there_g = _checked_gradient(gradient, there)
            change = 0.5 * length * (slope + float(there_g @ d)) if hidden else now - f
            if np.isfinite(there_g).all() and change <= SUFFICIENT * length * slope < 0.0:
                return length, there, now, there_g
        length *= 0.5
    if hidden:
        return None
    raise NoSolution(
        f"the value does not decrease from {f:.6g} along a direction in which its slope is {slope:.3g}; does the "
        "gradient belong to the value, and is it smooth?"
    )
