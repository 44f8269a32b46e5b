"""Small dense systems: the solution of least weighted size where the matrix is singular.

M f = r with a solution, M positive semidefinite on what it acts on: f ← f + (M + ε D)⁻¹ (r − M f), from f = 0, tends to the
solution of least fᵀ D f (the proximal iteration; its first step is there but for ε).
"""

from ..jit import njit
from ..linalg.lu import factorize, substitute
from ..unchecked import peek, poke

EPSILON = 1e-7  # relative to the diagonal
CORRECTIONS = 4


@njit
def solve_least(n, touching):
    """`unknown` of least weighted size with `system` · unknown = `right`; n rows. Returns 0, or 1 if it cannot be found."""
    a, factor, pivots = touching.system, touching.factor, touching.pivots
    right, weight, x, change = touching.right, touching.weight, touching.unknown, touching.change
    for i in range(n * n):
        poke(factor, i, peek(a, i))
    for i in range(n):
        poke(factor, i * n + i, peek(factor, i * n + i) + EPSILON * peek(weight, i))
        x[i] = 0.0
    if factorize(n, factor, 0, pivots, 0) != 0:
        return 1
    for _ in range(CORRECTIONS):
        for i in range(n):
            value = peek(right, i)
            for j in range(n):
                value -= peek(a, i * n + j) * peek(x, j)
            change[i] = value
        substitute(n, factor, 0, pivots, 0, change, 0)
        for i in range(n):
            x[i] += change[i]
    return 0
