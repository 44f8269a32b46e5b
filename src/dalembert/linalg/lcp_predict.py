"""The clamped set C of an LCP, foretold: one factorization that takes the contacts in the order of what they do most.

Solutions are the minima of the energy ½ fᵀ A f + bᵀ f between the bounds. With q the accelerations while those in C are zero,
and S the Schur complement of A_CC in A, taking p into C lowers the energy by q_p²/(2 S_pp). The contact with the greatest
such gain comes next, until no acceleration outside has the wrong sign. What remains to be seen is whether the forces in C
keep to their bounds. Mostly they do, and the problem is solved at the cost of factoring A_CC; if not, Dantzig's driver goes
on from here.

Row c of the factor is row p of S when p was taken: U_ci = A_pi − Σ_{e<c} L_ce U_ei, where L_ce = U_ep/d_e and d_e is the
pivot of row e. It is found for all i, so that q_i changes by −U_ci q_p/d_c and S_ii by −U_ci²/d_c. Backwards along the rows
of L, which are kept by position in C, the forces follow: f_c = −q_p/d_c − Σ_{e>c} L_ec f_e, with the q_p of the moment when p
was taken. Contacts that depend on C, S_ii ≈ 0, are left to the driver.
"""

import math

from ..jit import inlined, njit
from ..lanes import larger4, over4, peek4, plus4, poke4, spread, times4, where4
from ..unchecked import peek, poke
from .lcp_factor import add_multiple
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
    ZERO,
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
LEAST = SIZE  # the row of the least pivots, infinite for what is in C


@inlined
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
        if work[DA * n + i] < -work[LEAST * n + i]:
            return NOT_SEMIDEFINITE, False
    return OK, find_forces(n, work, ints, k)


@inlined
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
        work[LEAST * n + i] = INDEPENDENT * diagonal
        work[ZERO * n + i] = 0.0
        work[A * n + i] = work[B * n + i]
    if not at_rest:
        accelerations(n, matrix, stride, work, DF)


@inlined
def greatest(n, work):
    """(index, gain) of the greatest gain, q²/S where q drives the force away from its bound."""
    whole = n - n % 4
    for i in range(0, whole, 4):
        q, s = peek4(work, A * n + i), peek4(work, DA * n + i)
        rise, fall = times4(q, peek4(work, RISE * n + i)), times4(q, peek4(work, FALL * n + i))
        wrong = larger4(times4(spread(-1.0), rise), fall)
        poke4(work, GAIN * n + i, where4(s, peek4(work, LEAST * n + i), over4(times4(wrong, wrong), s)))
    for i in range(whole, n):
        q, s = peek(work, A * n + i), peek(work, DA * n + i)
        wrong = max(-q * peek(work, RISE * n + i), q * peek(work, FALL * n + i))
        poke(work, GAIN * n + i, wrong * wrong / s if s > peek(work, LEAST * n + i) else 0.0)
    p, gain, other, of_other = 0, 0.0, 0, 0.0  # the even and the odd ones, which are compared side by side
    for i in range(0, n - 1, 2):
        even, odd = peek(work, GAIN * n + i), peek(work, GAIN * n + i + 1)
        p = i if even > gain else p
        gain = even if even > gain else gain
        other = i + 1 if odd > of_other else other
        of_other = odd if odd > of_other else of_other
    if n % 2 == 1 and work[GAIN * n + n - 1] > gain:
        p, gain = n - 1, work[GAIN * n + n - 1]
    return (p, gain) if gain >= of_other else (other, of_other)


@inlined
def lower_row(n, c):
    """Where row c of −L lies: the rows of U are followed by those of L."""
    return FACTOR * n + (n + c) * n


@inlined
def row_of(n, work, k, c):
    """(place of row c of the factor, its part in row k); zeros where there is none."""
    return (FACTOR * n + c * n, work[lower_row(n, k) + c]) if c < k else (ZERO * n, 0.0)


@inlined
def take(n, matrix, stride, work, ints, k, p):
    """Take p into C as number k. The last four rows that add to its own are handled along with the changes of q and S."""
    own, before = FACTOR * n + k * n, ZERO * n
    for c in range(k):
        poke(work, lower_row(n, k) + c, -peek(work, FACTOR * n + c * n + p) * peek(work, X * n + c))
    rest = max(k - 1, 0) // 4 * 4
    for c in range(0, rest, 4):
        (c0, f0), (c1, f1) = row_of(n, work, k, c), row_of(n, work, k, c + 1)
        (c2, f2), (c3, f3) = row_of(n, work, k, c + 2), row_of(n, work, k, c + 3)
        add_four(work, own, before, work, c0, c1, c2, c3, f0, f1, f2, f3, n)
        before = own
    (c0, f0), (c1, f1) = row_of(n, work, k, rest), row_of(n, work, k, rest + 1)
    (c2, f2), (c3, f3) = row_of(n, work, k, rest + 2), row_of(n, work, k, rest + 3)
    add_four(work, own, before, work, c0, c1, c2, c3, f0, f1, f2, f3, n)
    inverse = 1.0 / work[DA * n + p]
    force = work[A * n + p] * inverse
    whole = n - n % 4
    for i in range(0, whole, 4):
        u = plus4(peek4(matrix, p * stride + i), peek4(work, own + i))
        poke4(work, own + i, u)
        poke4(work, A * n + i, plus4(peek4(work, A * n + i), times4(spread(-force), u)))
        poke4(work, DA * n + i, plus4(peek4(work, DA * n + i), times4(spread(-inverse), times4(u, u))))
    for i in range(whole, n):
        u = peek(matrix, p * stride + i) + peek(work, own + i)
        poke(work, own + i, u)
        poke(work, A * n + i, peek(work, A * n + i) - u * force)
        poke(work, DA * n + i, peek(work, DA * n + i) - u * u * inverse)
    work[LEAST * n + p] = math.inf
    work[Y * n + k] = -force
    work[X * n + k] = inverse
    ints[ORDER * n + k] = p


@inlined
def find_forces(n, work, ints, k):
    """The forces of C, backwards. Returns whether all of them keep to their bounds."""
    kept = True
    for c in range(k - 1, -1, -1):
        p, x = ints[ORDER * n + c], work[Y * n + c]
        add_multiple(work, Y * n, work, lower_row(n, c), x, c)
        f = work[F * n + p] + x
        work[F * n + p] = f
        kept = kept and work[LOWER * n + p] <= f <= work[UPPER * n + p]
    return kept


@njit
def by_position(n, work, ints):
    """Put U in the place of L that `lcp_factor` wants: U_cr = L_rc, with the pivots on the diagonal."""
    k = ints[COUNT * n]
    for r in range(k):
        work[FACTOR * n + r * n + r] = 1.0 / work[X * n + r]
        for c in range(r):
            work[FACTOR * n + c * n + r] = -work[lower_row(n, r) + c]
