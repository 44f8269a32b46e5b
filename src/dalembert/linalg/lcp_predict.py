"""The clamped set C of an LCP, foretold: one factorization that takes the contacts in the order of what they do most.

Solutions are the minima of the energy ½ fᵀ A f + bᵀ f between the bounds. With q the accelerations while those in C are zero,
and S the Schur complement of A_CC in A, taking p into C lowers the energy by q_p²/(2 S_pp). The contact with the greatest
such gain comes next, until no acceleration outside has the wrong sign. What remains to be seen is whether the forces in C
keep to their bounds. Mostly they do, and the problem is solved at the cost of factoring A_CC; if not, Dantzig's driver goes
on from here.

Row c of the factor is row p of S when p was taken: U_ci = A_pi − Σ_{e<c} U_ep U_ei / d_e, with d_c = U_cp. It is found for
all i, so that q_i changes by −U_ci q_p/d_c, S_ii by −U_ci²/d_c. The forces follow backwards, f_p = −(q_p + Σ_i U_ci f_i)/d_c
with the q_p of that moment and i later in C. Contacts that depend on C, S_ii ≈ 0, are left to the driver.
"""

from ..jit import njit
from ..unchecked import peek, poke
from .lcp_factor import dot
from .lcp_problem import (
    COUNT,
    DA,
    DF,
    FACTOR,
    FALL,
    GAIN,
    LOWER,
    NOT_SEMIDEFINITE,
    OK,
    ORDER,
    RISE,
    SIZE,
    UPPER,
    A,
    B,
    F,
    X,
    Y,
    accelerations,
    add_four,
)  # fmt: skip

INDEPENDENT = 1e-8  # a part of A_ii: S_ii above it is a pivot; below the negative of it, A is not semidefinite
NEGLIGIBLE = 1e-20  # a gain this small beside the first is rounding


@njit
def predict(n, matrix, stride, work, ints):
    """Fill C, and f if it lies between the bounds. Returns (status, whether it does)."""
    start(n, matrix, stride, work)
    k, least = 0, 0.0
    while k < n:
        p, gain = greatest(n, work)
        if not gain > least:
            break
        if k == 0:
            least = NEGLIGIBLE * gain
        take(n, matrix, stride, work, ints, k, p)
        k += 1
    ints[COUNT * n] = k
    for i in range(n):
        if work[DA * n + i] < -work[SIZE * n + i]:
            return NOT_SEMIDEFINITE, False
    return OK, find_forces(n, work, ints, k)


@njit
def start(n, matrix, stride, work):
    """Nothing in C: forces zero, or the bound next to it; which way each may go."""
    at_rest = True
    for i in range(n):
        lower, upper = work[LOWER * n + i], work[UPPER * n + i]
        f = min(max(0.0, lower), upper)
        work[F * n + i] = f
        work[RISE * n + i] = 1.0 if f < upper else 0.0
        work[FALL * n + i] = 1.0 if f > lower else 0.0
        at_rest = at_rest and f == 0.0
        diagonal = matrix[i * stride + i]
        work[DA * n + i] = diagonal
        work[SIZE * n + i] = INDEPENDENT * diagonal
        work[A * n + i] = work[B * n + i]
    if not at_rest:
        accelerations(n, matrix, stride, work, DF)
    for i in range(n):
        weigh(n, work, i, peek(work, A * n + i), peek(work, DA * n + i))


@njit
def weigh(n, work, i, q, s):
    """What index i would gain, q²/S where q drives it away from its bound."""
    wrong = max(-q * peek(work, RISE * n + i), q * peek(work, FALL * n + i))
    poke(work, GAIN * n + i, wrong * wrong / s if s > peek(work, SIZE * n + i) else 0.0)


@njit
def greatest(n, work):
    """(index, gain) of the greatest gain."""
    p, gain = 0, 0.0
    for i in range(n):
        value = peek(work, GAIN * n + i)
        p = i if value > gain else p
        gain = value if value > gain else gain
    return p, gain


@njit
def take(n, matrix, stride, work, ints, k, p):
    """Take p into C as number k."""
    row = FACTOR * n + k * n
    for c in range(k):
        work[DF * n + c] = -work[FACTOR * n + c * n + p] * work[X * n + c]
    for i in range(n):
        poke(work, row + i, peek(matrix, p * stride + i))
    for c in range(0, k, 4):
        d, e, g = min(c + 1, k - 1), min(c + 2, k - 1), min(c + 3, k - 1)
        add_four(
            work, row, work, FACTOR * n + c * n, FACTOR * n + d * n, FACTOR * n + e * n, FACTOR * n + g * n,
            work[DF * n + c], work[DF * n + d] if d > c else 0.0, work[DF * n + e] if e > d else 0.0,
            work[DF * n + g] if g > e else 0.0, n,
        )  # fmt: skip
    inverse = 1.0 / work[row + p]
    force = work[A * n + p] * inverse
    for i in range(n):
        u = peek(work, row + i)
        q = peek(work, A * n + i) - u * force
        s = peek(work, DA * n + i) - u * u * inverse
        poke(work, A * n + i, q)
        poke(work, DA * n + i, s)
        weigh(n, work, i, q, s)
    work[GAIN * n + p] = 0.0
    work[RISE * n + p], work[FALL * n + p] = 0.0, 0.0
    work[Y * n + k] = -force
    work[X * n + k] = inverse
    ints[ORDER * n + k] = p


@njit
def find_forces(n, work, ints, k):
    """The forces of C, backwards, added to F if all of them keep to their bounds. Returns whether they do."""
    for i in range(n):
        work[DF * n + i] = 0.0
    kept = True
    for c in range(k - 1, -1, -1):
        p = ints[ORDER * n + c]
        x = work[Y * n + c] - dot(work, FACTOR * n + c * n, work, DF * n, n) * work[X * n + c]
        work[DF * n + p] = x
        f = work[F * n + p] + x
        kept = kept and work[LOWER * n + p] <= f <= work[UPPER * n + p]
    if kept:
        for i in range(n):
            work[F * n + i] += work[DF * n + i]
    return kept


@njit
def by_position(n, work, ints):
    """Turn the factor into that of `lcp_factor`: columns in the order of C, rows divided by their pivots."""
    k = ints[COUNT * n]
    for c in range(k):
        row = FACTOR * n + c * n
        for i in range(n):
            work[DF * n + i] = work[row + i]
        for r in range(c + 1, k):
            work[row + r] = work[DF * n + ints[ORDER * n + r]] * work[X * n + c]
        work[row + c] = 1.0 / work[X * n + c]
