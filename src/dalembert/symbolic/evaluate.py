"""The equations of a generated function behind one C pointer, for the integrators: y = (u, v, work).

`work` is what forces, constraints that move and explicit time dependence have done, so that the energy less it is constant.
A step ends with u and v put back on the constraints, by the least change in the metric of the masses.
"""

from collections.abc import Sequence

import numpy as np

from ..jit import CFunction, njit
from ..pointer import C_SIGNATURE, COMPLETE_EVALUATED, DERIVATIVE, call_pointer, viewer
from ..status import MESSAGES
from ..table_function import TableFunction
from ..tables import table_at
from .constrained import SINGULAR_MASS, Equations, accelerate, correct, dot, end_step, factorize, places

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
    _, _, gradient, _, _, energy = places(n, plan.holonomic, plan.rows)
    power = values[energy + 1]
    for r in range(plan.rows):
        power += tables.multipliers[r] * dot(values, gradient + r * n, y, n, n)
    for i in range(n):
        dydt[i] = y[n + i]
        dydt[n + i] = step[i]
    dydt[2 * n] = power


@njit
def gap_left(y, tables):
    """Whether a holonomic constraint asks for another change of coordinates that is more than rounding."""
    plan = tables.plan[0]
    n, values = plan.n, tables.values
    _, gap, gradient, _, _, _ = places(n, plan.holonomic, plan.rows)
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
    _, gap, gradient, drift, _, _ = places(n, plan.holonomic, rows)
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
        target[r] = -values[drift + r] - dot(values, gradient + r * n, y, n, n)
    correct(rows, tables)
    for i in range(n):
        y[n + i] += step[i]
    return prepare(t, y, tables)


@njit
def perform(task, t, y, dydt, tables):
    """Do one of the tasks of `pointer`; returns a status."""
    plan = tables.plan[0]
    if task == COMPLETE_EVALUATED and plan.rows == 0:
        end_step(tables)
        return 0
    status = 0 if task == COMPLETE_EVALUATED else prepare(t, y, tables)
    if status == 0 and task != DERIVATIVE and plan.rows > 0:
        energy = places(plan.n, plan.holonomic, plan.rows)[5]
        before = tables.values[energy]
        status = project(t, y, tables)
        y[2 * plan.n] += tables.values[energy] - before
    if status == 0 and task != DERIVATIVE:
        end_step(tables)
    if status == 0:
        finish(y, dydt, tables)
    return status


def equations_of_motion(data, task, t, y, n, dydt, m):
    return perform(task, t, _floats(y, n), _floats(dydt, m), table_at(Equations, data))


COMPILED = CFunction(equations_of_motion, C_SIGNATURE)


def failure(tables: Equations, names: Sequence[str], status: int) -> str:
    """What a status means, where `names` are those of the coordinates."""
    if status == SINGULAR_MASS:
        name = names[int(tables.plan[0].stuck)]
        return (
            f"the mass matrix is singular: nothing resists the acceleration of {name!r} there; take other coordinates (at a "
            "pole), or give what it moves a mass"
        )
    if status == NOT_MET:
        return "the holonomic constraints cannot be met; they contradict each other, or the step is too long"
    return MESSAGES.get(status, f"status {status}")


class Motion(TableFunction):
    """Equations behind a C pointer."""

    def __init__(self, tables: Equations) -> None:
        super().__init__(COMPILED, perform, tables)
