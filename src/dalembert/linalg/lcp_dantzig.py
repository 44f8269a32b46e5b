"""Dantzig's algorithm for the forces of resting contact, after Baraff (1994), section 4.

Find f and a = A f + b, A symmetric and positive semidefinite, such that for each i

    lower ≤ f ≤ upper,   a ≥ 0 where f = lower,   a ≤ 0 where f = upper,   a = 0 in between.

A frictionless contact has the bounds 0 and ∞. One index d after another is brought to this: f_d is moved against a_d, the
forces of the clamped contacts C move along so that their accelerations stay zero, and the first of these ends the step:
a_d vanishes, f_d is at a bound, a force in C is at a bound (it leaves C), or the acceleration of one outside vanishes
(it joins C). With x = −A_CC⁻¹ A_Cd and the direction v = (x, 1), the acceleration a_d changes by the pivot
δ = A_dd + A_dC x = vᵀ A v a unit of force, and the factorization of A_CC, which gives x, gains d as its new last row.

Dependent contacts. Where vᵀ A v = 0, semidefiniteness says that A v = 0: forces along v change no acceleration at all, d
cannot join C, and d is moved until a force in C comes to a bound. If none ever does, v ≥ 0 with vᵀ b < 0 proves that
no solution exists. In floating point a change of a_i is a rounding error below ROUNDING √A_ii Σ √A_jj |v_j|, and the
pivot is one below ROUNDING (Σ √A_jj |v_j|)², as |A_ij| ≤ √(A_ii A_jj). An index outside whose acceleration is driven
to zero, but which depends on C, is left out for this d: its acceleration changes by rounding errors only.

Of several changes at the same moment the one of least index is taken, which excludes cycles (Chang 1979). The number of
changes is bounded all the same.

Most problems are solved before any index is driven: `predict` estimates C. Where it is wrong, forces beyond a bound are
released, and the driver starts with the rest, among indices that already fulfil the conditions.

The entry, `dantzig`, comes last; before it the factorization of A_CC, the workspace, friction, the set C, one motion of the
driver, and the prediction.
"""

import math

from ..core.jit import inlined, njit
from ..core.simd import larger4, load, load4, over4, plus4, spread, store, store4, times4, where4
from .dense import lu_factorize, lu_substitute

# LDLᵀ of a symmetric matrix that gains and loses rows: each costs O(k²) for k rows -------------------------------------
#
# The transposed factor is stored, U = Lᵀ with D on its diagonal, row-major at an offset of a flat array with a leading
# dimension: then elimination, and the change when a row is taken out, run along rows.
#
# A new last row (α, aᵀ) of the matrix needs L D l = a and the pivot δ = α − lᵀ D l. Without row and column j, the part of
# the factor after j has to become that of L₃ D₃ L₃ᵀ + d_j l lᵀ with l the old column j: an update by a positive term, which
# loses no accuracy (Gill, Golub, Murray & Saunders 1974, method C1).


@inlined
def dot(a, oa, b, ob, count):
    """Σ a b in four partial sums, which the processor adds side by side."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = count - count % 4
    for i in range(0, whole, 4):
        s0 += load(a, oa + i) * load(b, ob + i)
        s1 += load(a, oa + i + 1) * load(b, ob + i + 1)
        s2 += load(a, oa + i + 2) * load(b, ob + i + 2)
        s3 += load(a, oa + i + 3) * load(b, ob + i + 3)
    for i in range(whole, count):
        s0 += load(a, oa + i) * load(b, ob + i)
    return (s0 + s1) + (s2 + s3)


@inlined
def add_multiple(a, oa, b, ob, factor, count):
    """a += factor b."""
    for i in range(count):
        store(a, oa + i, load(a, oa + i) + factor * load(b, ob + i))


@njit
def eliminate(u, o, stride, k, y):
    """y ← l with L D l = y (y lies in the same array as U). Returns lᵀ D l."""
    for c in range(k - 1):
        add_multiple(u, y + c + 1, u, o + c * stride + c + 1, -u[y + c], k - c - 1)
    square = 0.0
    for c in range(k):
        value = u[y + c] / u[o + c * stride + c]
        square += value * u[y + c]
        u[y + c] = value
    return square


@njit
def substitute_factor(u, o, stride, k, x):
    """x ← Lᵀ⁻¹ x (x lies in the same array as U)."""
    for c in range(k - 2, -1, -1):
        u[x + c] -= dot(u, o + c * stride + c + 1, u, x + c + 1, k - c - 1)


@njit
def append(u, o, stride, k, y, pivot):
    """Append row k of the factor: l (from `eliminate`) and its pivot."""
    for c in range(k):
        u[o + c * stride + k] = u[y + c]
    u[o + k * stride + k] = pivot


@njit
def remove(u, o, stride, k, j, y):
    """Remove row j of k. y : offset of k numbers of scratch in the same array."""
    for c in range(j):
        row = o + c * stride
        for r in range(j, k - 1):
            u[row + r] = u[row + r + 1]
    weight = u[o + j * stride + j]
    for r in range(j + 1, k):
        u[y + r] = u[o + j * stride + r]
    for c in range(j + 1, k):
        old, new = o + c * stride, o + (c - 1) * stride - 1
        p, pivot = u[y + c], u[old + c]
        larger = pivot + weight * p * p
        beta = weight * p / larger
        weight *= pivot / larger
        u[new + c] = larger
        for r in range(c + 1, k):
            rest = load(u, y + r) - p * load(u, old + r)
            store(u, y + r, rest)
            store(u, new + r, load(u, old + r) + beta * rest)


# The workspace, and the test of a result -------------------------------------------------------------------------------
#
# The problem: f and a = A f + b with lower ≤ f ≤ upper. The matrix is symmetric, so that its rows
# are taken for its columns: a sum of columns runs along rows, four at a time.
#
# Workspace: `work` of `work_size(n)` floats, rows of n numbers (input: B, LOWER, UPPER; output: F, A) and the factor; `ints`
# of `ints_size(n)`: the state of each index, the members of C in the order of the factor, and how many they are. With
# friction, COUPLED is 1, and SLOPE, SIDE and OWNER are inputs; else these need not be set.


# Rows of `work`; the factor comes after them.
B, LOWER, UPPER, F, A, SIZE, Y, X, DF, DA, RISE, FALL, GAIN, ZERO, SLOPE, SIDE, TIED, FACTOR = range(18)
# Blocks of `ints`.
STATE, ORDER, OWNER, PIVOTS, COUNT = range(5)
COUPLED = 1  # after COUNT: whether there is friction
WAITING, OUTSIDE, CLAMPED, IGNORED, DRIVEN = range(5)

OK, INFEASIBLE, NOT_SEMIDEFINITE, STALLED, INACCURATE = range(5)

ROUNDING = 2e-14  # see the docstring of this file
SATISFIED = 1e-12  # of the sum of the sizes of its terms: a smaller acceleration is zero


def work_size(n: int) -> int:
    """How many float64 a problem of n unknowns takes."""
    return FACTOR * n + 2 * n * n


def ints_size(n: int) -> int:
    """How many int64 a problem of n unknowns takes."""
    return COUNT * n + 2


@inlined
def add_four(target, o, before, source, rows, factors, count):
    """Row o = row `before` plus four rows of `source` times their factors; each number is loaded and stored once."""
    (c, d, e, g), (p, q, r, s) = rows, factors
    whole = count - count % 4
    for i in range(0, whole, 4):
        first = plus4(times4(spread(p), load4(source, c + i)), times4(spread(q), load4(source, d + i)))
        second = plus4(times4(spread(r), load4(source, e + i)), times4(spread(s), load4(source, g + i)))
        store4(target, o + i, plus4(load4(target, before + i), plus4(first, second)))
    for i in range(whole, count):
        first = p * load(source, c + i) + q * load(source, d + i)
        second = r * load(source, e + i) + s * load(source, g + i)
        store(target, o + i, load(target, before + i) + (first + second))


@njit
def accelerations(n, matrix, stride, work, sizes):
    """a = A f + b into A, and the sums of the sizes of the terms into the row `sizes`."""
    a, sizes = A * n, sizes * n
    for i in range(n):
        b = load(work, B * n + i)
        store(work, a + i, b)
        store(work, sizes + i, abs(b))
    for j in range(0, n, 2):
        k = min(j + 1, n - 1)
        p, q = work[F * n + j], work[F * n + k] if k > j else 0.0
        if p != 0.0 or q != 0.0:
            j, k = j * stride, k * stride
            for i in range(0, n - n % 4, 4):
                first, second = times4(spread(p), load4(matrix, j + i)), times4(spread(q), load4(matrix, k + i))
                both = plus4(larger4(first, times4(spread(-1.0), first)), larger4(second, times4(spread(-1.0), second)))
                store4(work, a + i, plus4(load4(work, a + i), plus4(first, second)))
                store4(work, sizes + i, plus4(load4(work, sizes + i), both))
            for i in range(n - n % 4, n):
                first, second = p * load(matrix, j + i), q * load(matrix, k + i)
                store(work, a + i, load(work, a + i) + (first + second))
                store(work, sizes + i, load(work, sizes + i) + (abs(first) + abs(second)))


@njit
def acceleration(n, matrix, stride, work, i):
    """(A f + b)_i and the sum of the sizes of its terms."""
    value, size = work[B * n + i], abs(work[B * n + i])
    for j in range(n):
        term = matrix[i * stride + j] * work[F * n + j]
        value += term
        size += abs(term)
    return value, size


@njit
def violation(n, matrix, stride, work):
    """Write a of all indices. Returns the largest violation of the conditions, relative to the sizes of the terms of a; at
    least SATISFIED."""
    accelerations(n, matrix, stride, work, DF)
    worst = SATISFIED
    for i in range(n):
        a, scale = work[A * n + i], work[DF * n + i]
        if not scale < math.inf:
            return math.inf
        lower, f, upper = work[LOWER * n + i], work[F * n + i], work[UPPER * n + i]
        if abs(a) > worst * scale and lower != upper and ((a < 0.0 and f < upper) or (a > 0.0 and f > lower)):
            worst = abs(a) / scale
    return worst


# Friction in Dantzig's algorithm, after Baraff (1994), section 5: bounds that move with the normal force ---------------
#
# Index i is a tangent of the contact whose normal force is f_j, its owner, with |f_i| ≤ μ f_j. It sticks (a_i = 0: it
# belongs to C), or its force is at a bound, against a_i. SIDE ±1: it slides already: f_i = ±μ f_j whatever
# a_i is. Two tangents of a contact bound its friction by a pyramid, not by Coulomb's cone.
#
# A force at its bound is tied to its owner, f_i = t_i f_j with t_i = ±μ, and moves along with it. So column j of the
# equations of C is A_j + Σ t_i A_i over what is tied to j. They are not symmetric, and are solved by LU with row pivoting,
# anew for each direction: O(k³) for k in C, which is meant for the few contacts of an instant. While f_j = 0 its tangents
# have no force; when it is about to grow, each is tied to the side that opposes a_i, and joins C at once if a_i turns.
#
# Without symmetry the driver's proof of progress is lost: a force may grow and nothing stop it (INFEASIBLE: so it is where
# Painlevé's rod has no solution), or the changes allowed be used up (STALLED).


@njit
def start_loose(n, matrix, stride, work, ints):
    """No forces, nothing in C."""
    ints[COUNT * n] = 0
    for i in range(n):
        ints[STATE * n + i] = WAITING
        work[SIZE * n + i] = math.sqrt(max(matrix[i * stride + i], 0.0))
        work[F * n + i], work[LOWER * n + i] = 0.0, 0.0
        work[UPPER * n + i] = math.inf if ints[OWNER * n + i] < 0 else 0.0
        work[TIED * n + i] = work[SIDE * n + i] * work[SLOPE * n + i]


@njit
def entry(n, matrix, stride, work, ints, i, j):
    """∂a_i/∂f_j, with the forces that are tied to f_j."""
    value = matrix[i * stride + j]
    for m in range(n):
        if ints[OWNER * n + m] == j and work[TIED * n + m] != 0.0:
            value += work[TIED * n + m] * matrix[i * stride + m]
    return value


@njit
def solve_tied(n, matrix, stride, work, ints):
    """X ← the forces in C that change its accelerations by X."""
    k = ints[COUNT * n]
    for c in range(k):
        for e in range(k):
            i, j = ints[ORDER * n + c], ints[ORDER * n + e]
            work[FACTOR * n + c * k + e] = entry(n, matrix, stride, work, ints, i, j)
    if lu_factorize(k, work, FACTOR * n, ints, PIVOTS * n) == 0:
        lu_substitute(k, work, FACTOR * n, ints, PIVOTS * n, work, X * n)
    else:
        for c in range(k):
            work[X * n + c] = math.nan


@njit
def reduce_tied(n, matrix, stride, work, ints, d):
    """`reduce` with friction: x into X; returns the pivot, and the size of the direction (x, 1)."""
    k = ints[COUNT * n]
    for c in range(k):
        work[X * n + c] = -entry(n, matrix, stride, work, ints, ints[ORDER * n + c], d)
    solve_tied(n, matrix, stride, work, ints)
    pivot, span = entry(n, matrix, stride, work, ints, d, d), work[SIZE * n + d]
    for c in range(k):
        j = ints[ORDER * n + c]
        pivot += entry(n, matrix, stride, work, ints, d, j) * work[X * n + c]
        span += work[SIZE * n + j] * abs(work[X * n + c])
    return pivot, span


@njit
def moves(n, ints, j):
    """Whether force j changes in a motion of the driver."""
    return ints[STATE * n + j] == CLAMPED or ints[STATE * n + j] == DRIVEN


@njit
def add_tied(n, matrix, stride, work, ints, count):
    """DF of tied forces, and their part of DA."""
    for i in range(n):
        j = ints[OWNER * n + i]
        if j >= 0 and work[TIED * n + i] != 0.0 and moves(n, ints, j):
            work[DF * n + i] = work[TIED * n + i] * work[DF * n + j]
            add_multiple(work, DA * n, matrix, i * stride, work[DF * n + i], count)


@njit
def rate_of_bound(n, work, ints, i):
    """How fast the upper bound of i moves; the lower one moves the other way."""
    if ints[COUNT * n + COUPLED] == 0 or ints[OWNER * n + i] < 0:
        return 0.0
    j = ints[OWNER * n + i]
    return work[SLOPE * n + i] * work[DF * n + j] if moves(n, ints, j) else 0.0


@njit
def time_of_friction(n, work, ints, i, span):
    """How far the direction can be followed until a sticking tangent is at a bound, or one at a bound begins to stick."""
    small = ROUNDING * span
    if ints[STATE * n + i] == CLAMPED:
        f, change, rate = work[F * n + i], work[DF * n + i], rate_of_bound(n, work, ints, i)
        time = math.inf
        if (change - rate) * work[SIZE * n + i] > small:
            time = max((work[UPPER * n + i] - f) / (change - rate), 0.0)
        if (-change - rate) * work[SIZE * n + i] > small:
            time = min(time, max((f - work[LOWER * n + i]) / (-change - rate), 0.0))
        return time
    side, a, change = work[TIED * n + i], work[A * n + i], work[DA * n + i]
    if ints[STATE * n + i] != OUTSIDE or work[SIDE * n + i] != 0.0 or not moves(n, ints, ints[OWNER * n + i]):
        return math.inf
    if abs(change) <= small * work[SIZE * n + i] or (change < 0.0) != (side < 0.0):
        return math.inf
    return max(a if side < 0.0 else -a, 0.0) / abs(change)


@njit
def nearer_upper(n, work, i):
    """Whether a force at a bound is at its upper one."""
    return work[UPPER * n + i] - work[F * n + i] <= work[F * n + i] - work[LOWER * n + i]


@njit
def update_bounds(n, work, ints):
    """Bounds of tangents from their normal forces, and the forces tied to these."""
    for i in range(n):
        if ints[OWNER * n + i] >= 0:
            normal = work[F * n + ints[OWNER * n + i]]
            sliding, most = work[SIDE * n + i], work[SLOPE * n + i] * normal
            lower, upper = (sliding * most, sliding * most) if sliding != 0.0 else (-most, most)
            f = work[TIED * n + i] * normal if work[TIED * n + i] != 0.0 else work[F * n + i]
            work[F * n + i] = min(max(f, lower), upper)
            work[LOWER * n + i], work[UPPER * n + i] = lower, upper


@njit
def couple(n, work, ints, j):
    """Index j begins to move: loose if it is a tangent; if it is a normal without force, its tangents oppose their a."""
    if work[SIDE * n + j] == 0.0:
        work[TIED * n + j] = 0.0
    for i in range(n):
        if ints[OWNER * n + i] == j and ints[STATE * n + i] != WAITING and work[F * n + j] == 0.0:
            if work[SIDE * n + i] == 0.0:
                work[TIED * n + i] = work[SLOPE * n + i] * (1.0 if work[A * n + i] < 0.0 else -1.0)


@njit
def tie(n, work, ints, i, side):
    """A tangent has come to its bound."""
    if ints[OWNER * n + i] >= 0 and work[SIDE * n + i] == 0.0:
        work[TIED * n + i] = side * work[SLOPE * n + i]


# The clamped set C of Dantzig's algorithm: who joins, who leaves, and the equations of its accelerations ---------------
#
# Without friction the factorization gains and loses rows, O(k²) each for k in C; with friction the equations
# are not symmetric, and are factored anew for each solution (`lcp_friction`).


@njit
def reduce(n, matrix, stride, work, ints, d):
    """Row d against C: l into Y, x into X. Returns the pivot, and Σ √A_jj |v_j| of the direction v = (x, 1)."""
    if ints[COUNT * n + COUPLED] != 0:
        return reduce_tied(n, matrix, stride, work, ints, d)
    k = ints[COUNT * n]
    for c in range(k):
        work[Y * n + c] = matrix[d * stride + ints[ORDER * n + c]]
    pivot = matrix[d * stride + d] - eliminate(work, FACTOR * n, n, k, Y * n)
    for c in range(k):
        work[X * n + c] = -work[Y * n + c]
    substitute_factor(work, FACTOR * n, n, k, X * n)
    span = work[SIZE * n + d]
    for c in range(k):
        span += work[SIZE * n + ints[ORDER * n + c]] * abs(work[X * n + c])
    return pivot, span


@njit
def join(n, work, ints, i, pivot):
    """Append index i to C, after `reduce` for it."""
    k = ints[COUNT * n]
    if ints[COUNT * n + COUPLED] == 0:
        append(work, FACTOR * n, n, k, Y * n, pivot)
    ints[ORDER * n + k] = i
    ints[COUNT * n] = k + 1
    ints[STATE * n + i] = CLAMPED
    work[A * n + i] = 0.0


@njit
def leave(n, work, ints, i):
    """Remove index i from C."""
    k = ints[COUNT * n]
    j = 0
    while ints[ORDER * n + j] != i:
        j += 1
    if ints[COUNT * n + COUPLED] == 0:
        remove(work, FACTOR * n, n, k, j, Y * n)
    for c in range(j, k - 1):
        ints[ORDER * n + c] = ints[ORDER * n + c + 1]
    ints[COUNT * n] = k - 1
    ints[STATE * n + i] = OUTSIDE


@njit
def uncouple(n, work, ints, j):
    """The force of normal j has become zero: so do its tangents."""
    for i in range(n):
        if ints[OWNER * n + i] == j and work[SIDE * n + i] == 0.0:
            work[TIED * n + i], work[F * n + i] = 0.0, 0.0
            if ints[STATE * n + i] == CLAMPED:
                leave(n, work, ints, i)


@njit
def correct(n, matrix, stride, work, ints):
    """X = the changes of the forces in C that make their accelerations zero."""
    k = ints[COUNT * n]
    for c in range(k):
        i = ints[ORDER * n + c]
        work[X * n + c] = -dot(matrix, i * stride, work, F * n, n) - work[B * n + i]
    if ints[COUNT * n + COUPLED] != 0:
        solve_tied(n, matrix, stride, work, ints)
        return
    eliminate(work, FACTOR * n, n, k, X * n)
    substitute_factor(work, FACTOR * n, n, k, X * n)


@njit
def refine(n, matrix, stride, work, ints):
    """Correct rounding of the accelerations in C, and compute those outside again."""
    correct(n, matrix, stride, work, ints)
    for c in range(ints[COUNT * n]):
        i = ints[ORDER * n + c]
        work[F * n + i] = min(max(work[F * n + i] + work[X * n + c], work[LOWER * n + i]), work[UPPER * n + i])
    if ints[COUNT * n + COUPLED] != 0:
        update_bounds(n, work, ints)
    for i in range(n):
        if ints[STATE * n + i] in (OUTSIDE, IGNORED):
            work[A * n + i] = dot(matrix, i * stride, work, F * n, n) + work[B * n + i]


# One motion of the driver ----------------------------------------------------------------------------------------------
#
# How forces and accelerations change with the driven force, and which change of an index ends that first. A change below
# ROUNDING times the size of its terms is a rounding error.


@njit
def direction(n, matrix, stride, work, ints, d, sign):
    """DF and, outside of C, DA: changes of f and a as f_d moves by `sign`. Returns the pivot and the size, as `reduce`."""
    pivot, span = reduce(n, matrix, stride, work, ints, d)
    k = ints[COUNT * n]
    for c in range(k):
        work[DF * n + ints[ORDER * n + c]] = sign * work[X * n + c]
    work[DF * n + d] = sign
    count = 0
    for i in range(n):
        if ints[STATE * n + i] in (OUTSIDE, IGNORED):
            count = i + 1
    for i in range(count):
        work[DA * n + i] = sign * matrix[d * stride + i]
    whole = k - k % 4 if count > 0 else 0
    for c in range(0, whole, 4):
        e, g, h, j = (ints[ORDER * n + c], ints[ORDER * n + c + 1], ints[ORDER * n + c + 2], ints[ORDER * n + c + 3])
        rows = (e * stride, g * stride, h * stride, j * stride)
        factors = (work[DF * n + e], work[DF * n + g], work[DF * n + h], work[DF * n + j])
        add_four(work, DA * n, DA * n, matrix, rows, factors, count)
    for c in range(whole, k if count > 0 else 0):
        j = ints[ORDER * n + c]
        add_multiple(work, DA * n, matrix, j * stride, work[DF * n + j], count)
    if ints[COUNT * n + COUPLED] != 0:
        add_tied(n, matrix, stride, work, ints, count)
    return pivot, span


@njit
def time_to_change(n, work, ints, i, span):
    """How far the direction can be followed until index i changes side."""
    if ints[COUNT * n + COUPLED] != 0 and ints[OWNER * n + i] >= 0:
        return time_of_friction(n, work, ints, i, span)
    lower, upper = work[LOWER * n + i], work[UPPER * n + i]
    f, a = work[F * n + i], work[A * n + i]
    if ints[STATE * n + i] == CLAMPED:
        change = work[DF * n + i]
        if abs(change) * work[SIZE * n + i] <= ROUNDING * span:
            return math.inf
        return max((f - lower) / -change if change < 0.0 else (upper - f) / change, 0.0)
    change = work[DA * n + i]
    if ints[STATE * n + i] != OUTSIDE or lower == upper or abs(change) <= ROUNDING * span * work[SIZE * n + i]:
        return math.inf
    if change < 0.0:
        return max(a, 0.0) / -change if f < upper else math.inf
    return max(-a, 0.0) / change if f > lower else math.inf


@njit
def time_to_goal(n, work, ints, d, goal):
    """How far the direction can be followed until the driven force is at its bound."""
    closing = 1.0 - rate_of_bound(n, work, ints, d)
    return abs(work[goal] - work[F * n + d]) / closing if closing > 0.0 else math.inf


@njit
def first_change(n, work, ints, own, span):
    """(index, step) of the first change, of least index among equals; index −1: the driven index itself, at step `own`."""
    best, step = -1, own
    for i in range(n):
        time = time_to_change(n, work, ints, i, span)
        if time < step:
            best, step = i, time
    return best, step


@njit
def move(n, work, ints, d, step, change):
    """Follow the direction; `change` is that of a_d."""
    for i in range(n):
        state = ints[STATE * n + i]
        if state == CLAMPED or i == d:
            work[F * n + i] += step * work[DF * n + i]
        elif state != WAITING:
            work[A * n + i] += step * work[DA * n + i]
    work[A * n + d] += step * change
    if ints[COUNT * n + COUPLED] != 0:
        update_bounds(n, work, ints)


# The prediction of C ---------------------------------------------------------------------------------------------------
#
# One factorization that takes the contacts in the order of their gains.
#
# Solutions are the minima of the energy ½ fᵀ A f + bᵀ f between the bounds. With q the accelerations while those in C are
# zero, and S the Schur complement of A_CC in A, taking p into C lowers the energy by q_p²/(2 S_pp). The contact with the
# greatest such gain comes next, until no acceleration outside has the wrong sign. What remains to be seen is whether the
# forces in C keep to their bounds. Mostly they do, and the problem is solved at the cost of factoring A_CC; if not,
# Dantzig's driver goes on from here.
#
# Row c of the factor is row p of S when p was taken: U_ci = A_pi − Σ_{e<c} L_ce U_ei, where L_ce = U_ep/d_e and d_e is the
# pivot of row e. It is found for all i, so that q_i changes by −U_ci q_p/d_c and S_ii by −U_ci²/d_c. Backwards along the
# rows of L, which are stored by position in C, the forces follow: f_c = −q_p/d_c − Σ_{e>c} L_ec f_e, with the q_p of the
# moment when p was taken. Contacts that depend on C, S_ii ≈ 0, are left to the driver.


INDEPENDENT = 1e-8  # of A_ii: a larger S_ii is a pivot; an S_ii below its negative shows that A is not semidefinite
NEGLIGIBLE = 1e-20  # of the first gain: a smaller one is rounding
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
        q, s = load4(work, A * n + i), load4(work, DA * n + i)
        rise, fall = times4(q, load4(work, RISE * n + i)), times4(q, load4(work, FALL * n + i))
        wrong = larger4(times4(spread(-1.0), rise), fall)
        store4(work, GAIN * n + i, where4(s, load4(work, LEAST * n + i), over4(times4(wrong, wrong), s)))
    for i in range(whole, n):
        q, s = load(work, A * n + i), load(work, DA * n + i)
        wrong = max(-q * load(work, RISE * n + i), q * load(work, FALL * n + i))
        store(work, GAIN * n + i, wrong * wrong / s if s > load(work, LEAST * n + i) else 0.0)
    p, gain, other, of_other = 0, 0.0, 0, 0.0  # the even and the odd ones, which are compared side by side
    for i in range(0, n - 1, 2):
        even, odd = load(work, GAIN * n + i), load(work, GAIN * n + i + 1)
        p = i if even > gain else p
        gain = even if even > gain else gain
        other = i + 1 if odd > of_other else other
        of_other = odd if odd > of_other else of_other
    if n % 2 == 1 and work[GAIN * n + n - 1] > gain:
        p, gain = n - 1, work[GAIN * n + n - 1]
    return (p, gain) if gain >= of_other else (other, of_other)


@inlined
def lower_row(n, c):
    """Offset of row c of −L: the rows of U are followed by those of L."""
    return FACTOR * n + (n + c) * n


@inlined
def row_of(n, work, k, c):
    """(offset of row c of the factor, its multiple in row k); zeros where there is none."""
    return (FACTOR * n + c * n, work[lower_row(n, k) + c]) if c < k else (ZERO * n, 0.0)


@inlined
def take(n, matrix, stride, work, ints, k, p):
    """Take p into C as number k. The last four rows that add to its own are handled along with the changes of q and S."""
    own, before = FACTOR * n + k * n, ZERO * n
    for c in range(k):
        store(work, lower_row(n, k) + c, -load(work, FACTOR * n + c * n + p) * load(work, X * n + c))
    rest = max(k - 1, 0) // 4 * 4
    for c in range(0, rest, 4):
        (c0, f0), (c1, f1) = row_of(n, work, k, c), row_of(n, work, k, c + 1)
        (c2, f2), (c3, f3) = row_of(n, work, k, c + 2), row_of(n, work, k, c + 3)
        add_four(work, own, before, work, (c0, c1, c2, c3), (f0, f1, f2, f3), n)
        before = own
    (c0, f0), (c1, f1) = row_of(n, work, k, rest), row_of(n, work, k, rest + 1)
    (c2, f2), (c3, f3) = row_of(n, work, k, rest + 2), row_of(n, work, k, rest + 3)
    add_four(work, own, before, work, (c0, c1, c2, c3), (f0, f1, f2, f3), n)
    inverse = 1.0 / work[DA * n + p]
    force = work[A * n + p] * inverse
    whole = n - n % 4
    for i in range(0, whole, 4):
        u = plus4(load4(matrix, p * stride + i), load4(work, own + i))
        store4(work, own + i, u)
        store4(work, A * n + i, plus4(load4(work, A * n + i), times4(spread(-force), u)))
        store4(work, DA * n + i, plus4(load4(work, DA * n + i), times4(spread(-inverse), times4(u, u))))
    for i in range(whole, n):
        u = load(matrix, p * stride + i) + load(work, own + i)
        store(work, own + i, u)
        store(work, A * n + i, load(work, A * n + i) - u * force)
        store(work, DA * n + i, load(work, DA * n + i) - u * u * inverse)
    work[LEAST * n + p] = math.inf
    work[Y * n + k] = -force
    work[X * n + k] = inverse
    ints[ORDER * n + k] = p


@inlined
def find_forces(n, work, ints, k):
    """The forces of C, backwards. Returns whether all of them keep to their bounds."""
    feasible = True
    for c in range(k - 1, -1, -1):
        p, x = ints[ORDER * n + c], work[Y * n + c]
        add_multiple(work, Y * n, work, lower_row(n, c), x, c)
        f = work[F * n + p] + x
        work[F * n + p] = f
        feasible = feasible and work[LOWER * n + p] <= f <= work[UPPER * n + p]
    return feasible


@njit
def transpose_factor(n, work, ints):
    """The factor of `predict` in the form of `eliminate`: U_cr = L_rc, with the pivots on the diagonal."""
    k = ints[COUNT * n]
    for r in range(k):
        work[FACTOR * n + r * n + r] = 1.0 / work[X * n + r]
        for c in range(r):
            work[FACTOR * n + c * n + r] = -work[lower_row(n, r) + c]


# The entry -------------------------------------------------------------------------------------------------------------

ACCURATE = 1e-10  # the largest violation of a result, on the scale of SATISFIED
PASSES = 3
CHANGES = 50  # an index, at most
ORDERS = 12  # of the indices that are tried with friction


@njit
def dantzig(n, matrix, stride, work, ints):
    """Solve; `matrix` is flat, row i from i * stride. Returns a status, and leaves f and a in `work`."""
    if ints[COUNT * n + COUPLED] != 0:
        return dantzig_with_friction(n, matrix, stride, work, ints)
    status, feasible = predict(n, matrix, stride, work, ints)
    if status != OK or (feasible and violation(n, matrix, stride, work) <= SATISFIED):
        return status
    begin(n, matrix, stride, work, ints)
    return drive_all(n, matrix, stride, work, ints, 0)


@njit
def dantzig_with_friction(n, matrix, stride, work, ints):
    """The same with friction: where one order of the indices stalls, another seldom does."""
    status = OK
    for first in range(max(1, min(n, ORDERS))):
        start_loose(n, matrix, stride, work, ints)
        status = drive_all(n, matrix, stride, work, ints, first)
        if status == OK:
            break
    return status


@njit
def drive_all(n, matrix, stride, work, ints, first):
    """Drive index after index, beginning with `first`, until the conditions hold everywhere. Returns a status."""
    left = CHANGES * (n + 1)
    for _ in range(PASSES):
        for e in range(n):
            d = (first + e) % n
            if ints[STATE * n + d] != CLAMPED:
                status, left = drive(n, matrix, stride, work, ints, d, left)
                if status != OK:
                    return status
        refine(n, matrix, stride, work, ints)
        if violation(n, matrix, stride, work) <= ACCURATE:
            return OK
    return INACCURATE


@njit
def begin(n, matrix, stride, work, ints):
    """Release forces beyond their bounds from the predicted C until there are none. Indices outside C are WAITING."""
    transpose_factor(n, work, ints)
    for i in range(n):
        ints[STATE * n + i] = WAITING
        work[SIZE * n + i] = math.sqrt(max(matrix[i * stride + i], 0.0))
    for c in range(ints[COUNT * n]):
        ints[STATE * n + ints[ORDER * n + c]] = CLAMPED
    released = True
    while released:
        released = False
        correct(n, matrix, stride, work, ints)
        for c in range(ints[COUNT * n]):
            i = ints[ORDER * n + c]
            work[DF * n + i] = work[F * n + i] + work[X * n + c]
        for i in range(n):
            if ints[STATE * n + i] == CLAMPED:
                lower, f, upper = work[LOWER * n + i], work[DF * n + i], work[UPPER * n + i]
                work[F * n + i] = min(max(f, lower), upper)
                if f < lower or f > upper:
                    leave(n, work, ints, i)
                    ints[STATE * n + i] = WAITING
                    released = True


@njit
def drive(n, matrix, stride, work, ints, d, left):
    """Bring index d to complementarity. Returns (status, how many changes are left)."""
    a, scale = acceleration(n, matrix, stride, work, d)
    work[A * n + d] = a
    ints[STATE * n + d] = OUTSIDE
    lower, f, upper = work[LOWER * n + d], work[F * n + d], work[UPPER * n + d]
    coupled = ints[COUNT * n + COUPLED] != 0
    if lower == upper or (abs(a) <= SATISFIED * scale and not lower < f < upper):
        return OK, left
    if coupled:
        couple(n, work, ints, d)
    for i in range(n):
        if ints[STATE * n + i] == IGNORED:
            ints[STATE * n + i] = OUTSIDE
    sign = 1.0 if a < 0.0 else -1.0
    goal = (UPPER if a < 0.0 else LOWER) * n + d  # index of that bound: with friction it may move
    while work[F * n + d] != work[goal]:
        if left == 0:
            return STALLED, left
        left -= 1
        ints[STATE * n + d] = DRIVEN
        pivot, span = direction(n, matrix, stride, work, ints, d, sign)
        if pivot < -ROUNDING * span * span and not coupled:
            return NOT_SEMIDEFINITE, left
        independent = pivot > ROUNDING * span * span
        if not independent:
            refine(n, matrix, stride, work, ints)
            a, scale = acceleration(n, matrix, stride, work, d)
            work[A * n + d] = a
            if abs(a) <= SATISFIED * scale:
                ints[STATE * n + d] = OUTSIDE
                return OK, left
        at_zero = abs(work[A * n + d]) / pivot if independent else math.inf
        i, step = first_change(n, work, ints, min(time_to_goal(n, work, ints, d, goal), at_zero), span)
        if step == math.inf:
            # Nothing stops this direction. An acceleration within the accuracy of the result may stay as it is.
            ints[STATE * n + d] = OUTSIDE
            return (OK if abs(a) <= ACCURATE * scale else INFEASIBLE), left
        move(n, work, ints, d, step, sign * pivot)
        ints[STATE * n + d] = OUTSIDE
        if i >= 0:
            exchange(n, matrix, stride, work, ints, i)
        elif at_zero <= step:
            join(n, work, ints, d, pivot)
            return OK, left
        else:
            work[F * n + d] = work[goal]
    if coupled:
        tie(n, work, ints, d, sign)
    return OK, left


@njit
def exchange(n, matrix, stride, work, ints, i):
    """Index i leaves C, its force at the bound it came to; or it joins C, or is ignored when it depends on C."""
    coupled = ints[COUNT * n + COUPLED] != 0
    work[A * n + i] = 0.0
    if ints[STATE * n + i] == CLAMPED:
        rises = work[DF * n + i] > 0.0 if not coupled else nearer_upper(n, work, i)
        work[F * n + i] = work[(UPPER if rises else LOWER) * n + i]
        work[DF * n + i] = 0.0
        leave(n, work, ints, i)
        if coupled:
            uncouple(n, work, ints, i)
            tie(n, work, ints, i, 1.0 if rises else -1.0)
        return
    side = work[TIED * n + i]
    if coupled:
        couple(n, work, ints, i)
    pivot, span = reduce(n, matrix, stride, work, ints, i)
    if pivot > ROUNDING * span * span:
        join(n, work, ints, i, pivot)
    else:
        work[TIED * n + i] = side
        ints[STATE * n + i] = IGNORED
