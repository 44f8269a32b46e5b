"""M v̇ = f + Gᵀ λ with G v̇ = −γ, dense and small, for any number of constraints, dependent ones included.

With M = L Lᵀ and X = L⁻¹ Gᵀ it is S λ = −γ − Xᵀ L⁻¹ f, S = Xᵀ X. S + ε diag S is factored, and the solution corrected
with the true residual until that stops falling: where constraints depend on each other, that converges to an acceleration
that all of them share (the proximal iteration of Carpentier et al. 2021). Holonomic constraints come first, so that the
leading block of the factor is theirs.
"""

from typing import Any, NamedTuple

import numpy as np

from ..arrays import clear
from ..jit import njit
from ..linalg import cholesky
from ..tables import allocate, column

PLAN = np.dtype(
    [
        ("address", "i8"),  # of what fills `values` from `inputs`
        ("handle", "i8"),  # what to hand it
        ("n", "i8"),  # coordinates
        ("holonomic", "i8"),  # constraints of the first kind
        ("rows", "i8"),  # constraints of both kinds
        ("stuck", "i8"),  # the coordinate that the mass matrix says nothing about, where it is singular
    ],
    align=True,
)


class Equations(NamedTuple):
    """One system of equations. `values` is what `layout` says; what generated code leaves out is 0."""

    plan: Any = column("1", PLAN)
    inputs: Any = column("2 * n + parameters", doc="u (n), v (n), parameters")
    values: Any = column("values")
    factor: Any = column("n * n", doc="L")
    largest: Any = column("n", doc="the largest diagonal entries of M at the ends of steps so far")
    scale: Any = column("n", doc="the same, or those of the last evaluation, if they are larger")
    cross: Any = column("rows * n", doc="Xᵀ")
    schur: Any = column("rows * rows", doc="the factor of S")
    ones: Any = column("rows", fill=1.0)
    target: Any = column("rows", doc="what S λ is to be")
    multipliers: Any = column("rows", doc="λ")
    residual: Any = column("rows")
    step: Any = column("n", doc="accelerations, or the change of coordinates or rates that projection makes")


SINGULAR_MASS = 170  # status: the mass matrix is singular
LEAST = 1e-14  # of the largest diagonal entry so far: smaller pivots are rounding
EPSILON = 1e-10  # relative to the diagonal of S
MOST_CORRECTIONS = 30


def layout(n: Any, holonomic: Any, rows: Any) -> tuple[Any, ...]:
    """Where in `values` stand: f (after M, n²), gaps g, gradients G, drifts a of G v + a = 0, biases γ, and the energy, then
    the power of what does work."""
    force = n * n
    gap = force + n
    gradient = gap + holonomic
    drift = gradient + rows * n
    bias = drift + rows
    return force, gap, gradient, drift, bias, bias + rows


places = njit(layout)


def make_equations(address: int, n: int, holonomic: int, rows: int, parameters: np.ndarray) -> Equations:
    """Tables for n coordinates with so many constraints."""
    plan = np.zeros(1, PLAN).view(np.recarray)
    plan.address, plan.n, plan.holonomic, plan.rows, plan.stuck = address, n, holonomic, rows, -1
    sizes = {"n": n, "rows": rows, "values": layout(n, holonomic, rows)[-1] + 2}
    return allocate(Equations, sizes, plan=plan, inputs=np.concatenate([np.zeros(2 * n), parameters]))


@njit
def factorize(tables):
    """Factor M, and S where there are constraints. Returns a status."""
    plan = tables.plan[0]
    values, factor, scale, largest = tables.values, tables.factor, tables.scale, tables.largest
    n, rows = plan.n, plan.rows
    for i in range(n):
        scale[i] = max(largest[i], values[i * n + i])
        for j in range(i + 1):
            factor[i * n + j] = values[i * n + j]
    plan.stuck = cholesky.factorize(n, factor, 0, n, scale, LEAST)
    if plan.stuck >= 0:
        return SINGULAR_MASS
    if rows == 0:
        return 0
    cross, schur = tables.cross, tables.schur
    gradient = places(n, plan.holonomic, rows)[2]
    for r in range(rows):
        for i in range(n):
            cross[r * n + i] = values[gradient + r * n + i]
        cholesky.forward(n, factor, 0, n, cross, r * n)
    for r in range(rows):
        for s in range(r + 1):
            schur[r * rows + s] = dot(cross, r * n, cross, s * n, n)
        at = r * rows + r
        schur[at] = schur[at] * (1.0 + EPSILON) if schur[at] > 0.0 else 1.0
    cholesky.factorize(rows, schur, 0, rows, tables.ones, 0.0)
    return 0


@njit
def end_step(tables):
    """A step ends with the state that was prepared last; those of trial steps that are rejected leave nothing behind."""
    largest, scale = tables.largest, tables.scale
    for i in range(scale.shape[0]):
        largest[i] = scale[i]


@njit
def dot(a, at, b, bt, n):
    total = 0.0
    for i in range(n):
        total += a[at + i] * b[bt + i]
    return total


@njit
def solve_multipliers(rows, tables):
    """S λ = `target` for the first so many rows, least squares where that has no solution."""
    n, stride = tables.plan[0].n, tables.plan[0].rows
    target, residual, multipliers = tables.target, tables.residual, tables.multipliers
    cross, schur, step = tables.cross, tables.schur, tables.step
    clear(multipliers)
    previous = 1e300
    for _ in range(MOST_CORRECTIONS):
        combine(rows, n, cross, multipliers, step)
        worst = 0.0
        for r in range(rows):
            residual[r] = target[r] - dot(cross, r * n, step, 0, n)
            worst = max(worst, abs(residual[r]))
        if not worst < 0.5 * previous:
            return
        previous = worst
        cholesky.forward(rows, schur, 0, stride, residual, 0)
        cholesky.backward(rows, schur, 0, stride, residual, 0)
        for r in range(rows):
            multipliers[r] += residual[r]


@njit
def combine(rows, n, cross, multipliers, out):
    """out ← X λ."""
    clear(out)
    for r in range(rows):
        for i in range(n):
            out[i] += cross[r * n + i] * multipliers[r]


@njit
def correct(rows, tables):
    """step ← M⁻¹ Gᵀ λ, the least change in the metric of the masses for which G step = `target` in the first so many rows."""
    n = tables.plan[0].n
    solve_multipliers(rows, tables)
    combine(rows, n, tables.cross, tables.multipliers, tables.step)
    cholesky.backward(n, tables.factor, 0, n, tables.step, 0)


@njit
def accelerate(tables):
    """step ← v̇, with the multipliers that go with it."""
    plan = tables.plan[0]
    n, rows = plan.n, plan.rows
    values, factor, step = tables.values, tables.factor, tables.step
    force, _, _, _, bias, _ = places(n, plan.holonomic, rows)
    for i in range(n):
        step[i] = values[force + i]
    cholesky.forward(n, factor, 0, n, step, 0)
    if rows > 0:
        target, cross, multipliers = tables.target, tables.cross, tables.multipliers
        for r in range(rows):
            target[r] = -values[bias + r] - dot(cross, r * n, step, 0, n)
        solve_multipliers(rows, tables)
        for i in range(n):
            step[i] = values[force + i]
        cholesky.forward(n, factor, 0, n, step, 0)
        for r in range(rows):
            for i in range(n):
                step[i] += cross[r * n + i] * multipliers[r]
    cholesky.backward(n, factor, 0, n, step, 0)
