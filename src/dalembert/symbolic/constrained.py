"""M v̇ = f + Gᵀ λ with G v̇ = −γ, dense and small, for any number of constraints, also redundant ones: its solution,
the projection at the end of a step, and the C function of both for equations from a generated function.

With M = L Lᵀ and X = L⁻¹ Gᵀ it is S λ = −γ − Xᵀ L⁻¹ f, S = Xᵀ X. S + ε diag S is factored, and the solution corrected
with the true residual until it stops decreasing: for redundant constraints this converges to an acceleration that
satisfies all of them (the proximal iteration of Carpentier et al. 2021). Holonomic constraints come first, so that the
leading block of the factor is theirs.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.c_function import C_SIGNATURE, COMPLETE_EVALUATED, DERIVATIVE, call_pointer, viewer
from ..core.jit import CFunction, njit
from ..core.simd import clear
from ..core.status import MESSAGES
from ..core.tables import TableFunction, allocate, column, table_at
from ..linalg import dense as cholesky

PLAN = np.dtype(
    [
        ("address", "i8"),  # of what fills `values` from `inputs`
        ("handle", "i8"),  # what to hand it
        ("n", "i8"),  # coordinates
        ("holonomic", "i8"),  # constraints of the first kind
        ("rows", "i8"),  # constraints of both kinds
        ("stuck", "i8"),  # the coordinate without inertia, where the mass matrix is singular
    ],
    align=True,
)


class Equations(NamedTuple):
    """One system of equations. `values` is ordered as in `layout`; entries that generated code leaves out are 0."""

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
EPSILON = 1e-10  # relative to the diagonal of S: the corrections remove its effect
MOST_CORRECTIONS = 30
PROGRESS = 0.5  # corrections end where the residual does not fall to this share


def layout(n: Any, holonomic: Any, rows: Any) -> tuple[Any, ...]:
    """Offsets in `values` of f (after M, n²), gaps g, gradients G, drifts a of G v + a = 0, biases γ, and the energy, then
    the power of what does work."""
    force = n * n
    gap = force + n
    gradient = gap + holonomic
    drift = gradient + rows * n
    bias = drift + rows
    return force, gap, gradient, drift, bias, bias + rows


offsets = njit(layout)


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
    plan.stuck = cholesky.cholesky_factorize(n, factor, 0, n, scale, LEAST)
    if plan.stuck >= 0:
        return SINGULAR_MASS
    if rows == 0:
        return 0
    cross, schur = tables.cross, tables.schur
    gradient = offsets(n, plan.holonomic, rows)[2]
    for r in range(rows):
        for i in range(n):
            cross[r * n + i] = values[gradient + r * n + i]
        cholesky.forward(n, factor, 0, n, cross, r * n)
    for r in range(rows):
        for s in range(r + 1):
            schur[r * rows + s] = dot_product(cross, r * n, cross, s * n, n)
        at = r * rows + r
        schur[at] = schur[at] * (1.0 + EPSILON) if schur[at] > 0.0 else 1.0
    cholesky.cholesky_factorize(rows, schur, 0, rows, tables.ones, 0.0)
    return 0


@njit
def end_step(tables):
    """Accept the scales of the state that was prepared last; those of rejected steps are not used again."""
    largest, scale = tables.largest, tables.scale
    for i in range(scale.shape[0]):
        largest[i] = scale[i]


@njit
def dot_product(a, at, b, bt, n):
    """Σ a[at + i] b[bt + i]."""
    total = 0.0
    for i in range(n):
        total += a[at + i] * b[bt + i]
    return total


@njit
def solve_multipliers(rows, tables):
    """`multipliers` = λ with S λ = `target` for the first `rows` rows; least squares where that has no solution."""
    n, stride = tables.plan[0].n, tables.plan[0].rows
    target, residual, multipliers = tables.target, tables.residual, tables.multipliers
    cross, schur, step = tables.cross, tables.schur, tables.step
    clear(multipliers)
    previous = math.inf
    for _ in range(MOST_CORRECTIONS):
        combine(rows, n, cross, multipliers, step)
        worst = 0.0
        for r in range(rows):
            residual[r] = target[r] - dot_product(cross, r * n, step, 0, n)
            worst = max(worst, abs(residual[r]))
        if not worst < PROGRESS * previous:
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
    """`step` = v̇, and `multipliers` = λ."""
    plan = tables.plan[0]
    n, rows = plan.n, plan.rows
    values, factor, step = tables.values, tables.factor, tables.step
    force, _, _, _, bias, _ = offsets(n, plan.holonomic, rows)
    for i in range(n):
        step[i] = values[force + i]
    cholesky.forward(n, factor, 0, n, step, 0)
    if rows > 0:
        target, cross, multipliers = tables.target, tables.cross, tables.multipliers
        for r in range(rows):
            target[r] = -values[bias + r] - dot_product(cross, r * n, step, 0, n)
        solve_multipliers(rows, tables)
        for i in range(n):
            step[i] = values[force + i]
        cholesky.forward(n, factor, 0, n, step, 0)
        for r in range(rows):
            for i in range(n):
                step[i] += cross[r * n + i] * multipliers[r]
    cholesky.backward(n, factor, 0, n, step, 0)


# The equations of a generated function behind one C pointer, for the integrators: y = (u, v, work) ---------------------
#
# `work` is what forces, constraints that move and explicit time dependence have done, so that the energy less it is
# constant. A step ends with u and v put back on the constraints, by the least change in the metric of the masses.


FILL = 30  # task: M, f and the constraints, from u, v and parameters
NOT_MET = 171  # status: holonomic constraints could not be met
ITERATIONS = 25
NEARLY = 1e-8  # of 1 + |u|: what Newton's method leaves after a smaller step is rounding
FAR = 1e-6  # of the same: what is further off is not met
_floats = viewer(np.float64)


@njit
def prepare(t, y, tables):
    """M, f and the constraints at a state, factored. Returns a status."""
    plan = tables.plan[0]
    inputs = tables.inputs
    for i in range(2 * plan.n):
        inputs[i] = y[i]
    status = call_pointer(plan.address, plan.handle, FILL, t, inputs, tables.values)
    return status if status != 0 else factorize(tables)


@njit
def finish(y, dydt, tables):
    """ẏ = (v, v̇, power), at the state that was prepared."""
    plan = tables.plan[0]
    n, values, step = plan.n, tables.values, tables.step
    accelerate(tables)
    _, _, gradient, _, _, energy = offsets(n, plan.holonomic, plan.rows)
    power = values[energy + 1]
    for r in range(plan.rows):
        power += tables.multipliers[r] * dot_product(values, gradient + r * n, y, n, n)
    for i in range(n):
        dydt[i] = y[n + i]
        dydt[n + i] = step[i]
    dydt[2 * n] = power


@njit
def gap_left(y, tables):
    """Whether a holonomic constraint is still violated by more than rounding."""
    plan = tables.plan[0]
    n, values = plan.n, tables.values
    _, gap, gradient, _, _, _ = offsets(n, plan.holonomic, plan.rows)
    for r in range(plan.holonomic):
        reach = 0.0
        for i in range(n):
            reach += abs(values[gradient + r * n + i]) * (1.0 + abs(y[i]))
        if abs(values[gap + r]) > FAR * reach:
            return True
    return False


@njit
def project(t, y, tables):
    """Newton's method on g(u, t) = 0, then G v + a = 0, from a state that was prepared; so is the one that it ends with.
    Returns a status."""
    plan = tables.plan[0]
    n, rows, values, target, step = plan.n, plan.rows, tables.values, tables.target, tables.step
    _, gap, gradient, drift, _, _ = offsets(n, plan.holonomic, rows)
    size, count = 1.0, 0
    while plan.holonomic > 0 and size > NEARLY:
        if count == ITERATIONS:
            return NOT_MET
        count += 1
        for r in range(plan.holonomic):
            target[r] = -values[gap + r]
        correct(plan.holonomic, tables)
        size = 0.0
        for i in range(n):
            size = max(size, abs(step[i]) / (1.0 + abs(y[i])))
            y[i] += step[i]
        status = prepare(t, y, tables)
        if status != 0:
            return status
    if gap_left(y, tables):
        return NOT_MET
    for r in range(rows):
        target[r] = -values[drift + r] - dot_product(values, gradient + r * n, y, n, n)
    correct(rows, tables)
    for i in range(n):
        y[n + i] += step[i]
    return prepare(t, y, tables)


@njit
def equations_task(task, t, y, dydt, tables):
    """Do one of the tasks of `core.c_function`; returns a status."""
    plan = tables.plan[0]
    if task == COMPLETE_EVALUATED and plan.rows == 0:
        end_step(tables)
        return 0
    status = 0 if task == COMPLETE_EVALUATED else prepare(t, y, tables)
    if status == 0 and task != DERIVATIVE and plan.rows > 0:
        energy = offsets(plan.n, plan.holonomic, plan.rows)[5]
        before = tables.values[energy]
        status = project(t, y, tables)
        y[2 * plan.n] += tables.values[energy] - before
    if status == 0 and task != DERIVATIVE:
        end_step(tables)
    if status == 0:
        finish(y, dydt, tables)
    return status


def equations_of_motion(data, task, t, y, n, dydt, m):
    return equations_task(task, t, _floats(y, n), _floats(dydt, m), table_at(Equations, data))


EQUATIONS_ENTRY = CFunction(equations_of_motion, C_SIGNATURE)


def failure(tables: Equations, names: Sequence[str], status: int) -> str:
    """What a status means, where `names` are those of the coordinates."""
    if status == SINGULAR_MASS:
        name = names[int(tables.plan[0].stuck)]
        return (
            f"the mass matrix is singular: {name!r} has no inertia there; use other coordinates (at a pole), or give the "
            "bodies that it moves a mass"
        )
    if status == NOT_MET:
        return "the holonomic constraints cannot be met; they contradict each other, or the step is too long"
    return MESSAGES.get(status, f"status {status}")


class Motion(TableFunction):
    """Equations behind a C pointer."""

    def __init__(self, tables: Equations) -> None:
        super().__init__(EQUATIONS_ENTRY, equations_task, tables)
