"""What an impact does: the impulses of all contacts that close at one instant, by a law that the user names.

With A = J W Jᵀ of the contacts, the joints' answer in it, impulses p take the relative velocities from u to u⁺ = u + A p.
All three laws keep Coulomb's law with the exact cone on u⁺, and none adds energy.

simultaneous  Newton's hypothesis for all at once: u_n⁺ ≥ −e u_n ⊥ p_n ≥ 0, one complementarity problem. In Newton's cradle of
              equal balls the first one recoils, and all others move: momentum and energy are kept, but the shock is spread.
              Where Newton's law with friction would add energy (Kane's paradox), e is taken just small enough not to.
sequential    Contacts one at a time, the one that closes fastest first, with j = −(1 + e) u_n / (J W Jᵀ)_nn, until none
              closes: the limit of contacts that are far stiffer than they are many. In the cradle the last ball takes the
              velocity.
poisson       All at once, in two phases: compression until none closes, then restitution with e times the impulses of
              compression. In the cradle it does what "simultaneous" does; with friction and with several contacts of one
              body it differs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..linalg.lcp import OK, boxed
from ..no_solution import NoSolution
from .cone_sweeps import CONE, FREE, solve

ROUNDS = 100_000  # of single impacts
BISECTIONS = 60


def coulomb(matrix: np.ndarray, b: np.ndarray, friction: np.ndarray, lower: np.ndarray | None = None) -> np.ndarray:
    """Impulses (n, 3) with a = A p + b: p_n ≥ lower ⊥ a_n ≥ 0, |p_t| ≤ μ p_n against a_t. Raises NoSolution."""
    n = len(b)
    least = np.zeros(n) if lower is None else lower
    if not friction.any():
        normal = matrix[::3, ::3]
        status, found = boxed(np.ascontiguousarray(normal), b[:, 0] + normal @ least, np.zeros(n), np.full(n, np.inf))
        if status == OK:
            return np.column_stack([found + least, np.zeros((n, 2))])
    kinds = np.where(friction > 0.0, CONE, FREE)
    p, change = solve(matrix, b, kinds, friction, np.zeros((n, 2)), least)
    if not change <= 1e-9:
        raise NoSolution(f"the impulses of {n} contacts were not found: the last change was {change:.3g} of the speeds")
    return p


def simultaneous(matrix: np.ndarray, u: np.ndarray, e: np.ndarray, friction: np.ndarray) -> np.ndarray:
    """Impulses (n, 3), N s, of contacts with relative velocities u (n, 3), m/s, in their frames."""

    def impulses(part: float) -> np.ndarray:
        b = u.copy()
        b[:, 0] += part * e * np.minimum(u[:, 0], 0.0)
        return coulomb(matrix, b, friction)

    def gain(p: np.ndarray) -> float:
        return float(np.sum(p * u) + 0.5 * p.ravel() @ matrix @ p.ravel())

    p = impulses(1.0)
    rounding = 1e-12 * float(np.sum(np.abs(p * u)))
    if gain(p) <= rounding:
        return p
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if gain(impulses(middle)) <= 0.0 else (low, middle)
    return impulses(low)


def sequential(matrix: np.ndarray, u: np.ndarray, e: np.ndarray, friction: np.ndarray) -> np.ndarray:
    """The same, contact by contact; what is left after many rounds is stopped all at once, without restitution."""
    total = np.zeros_like(u)
    now = u.copy()
    closes = 1e-12 * float(np.abs(u).max(initial=0.0))
    for _ in range(ROUNDS):
        k = int(np.argmin(now[:, 0]))
        if now[k, 0] >= -closes:
            return total
        block = slice(3 * k, 3 * k + 3)
        p = simultaneous(matrix[block, block], now[k : k + 1], e[k : k + 1], friction[k : k + 1])[0]
        total[k] += p
        now = u + (matrix @ total.ravel()).reshape(-1, 3)
    return total + coulomb(matrix, now, friction)


def poisson(matrix: np.ndarray, u: np.ndarray, e: np.ndarray, friction: np.ndarray) -> np.ndarray:
    """The same by Poisson's hypothesis."""
    compression = coulomb(matrix, u, friction)
    after = u + (matrix @ compression.ravel()).reshape(-1, 3)
    return compression + coulomb(matrix, after, friction, e * compression[:, 0])


LAWS: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    "simultaneous": simultaneous,
    "sequential": sequential,
    "poisson": poisson,
}
