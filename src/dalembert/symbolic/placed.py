"""The bodies of a scene in generalized coordinates as one C function; see `pointer` for its tasks. z = (u, v), then what the
state of the mechanism has after its bodies: particles, coordinates that are watched, the ledger.

Generated code gives places and Jacobians; forces are those of the mechanism whose state has bodies in it. With
v = J u̇ + drift, v̇ = J ü + γ for both velocities of a body,

    M = Σ Jᵀ (m, I) J,   f = Σ Jᵀ ((F, τ) − (m, I) γ − (0, ω × I ω)).
"""

from typing import Any, NamedTuple

import numpy as np

from ..articulated.books import book_change, momenta
from ..articulated.evaluate import LIFT, copy_tail_back
from ..articulated.lift import copy_tail
from ..jit import CFunction, njit
from ..linalg.block_matrix import load_3, store_3
from ..mechanics.kinematics import load6, load9
from ..model.tables import STATE_SIZE, System
from ..pointer import (
    C_SIGNATURE,
    COMPLETE_EVALUATED,
    DERIVATIVE,
    EVENT,
    FORCES,
    MEASURE,
    RECORD,
    WRITE,
    call_pointer,
    viewer,
)
from ..quat import from_matrix
from ..tables import column, part, table_at
from ..unchecked import peek, poke
from ..vec import add, congruence, cross, dot, load3, scale, store3, sub, symvec
from .constrained import Equations, accelerate, end_step, places
from .evaluate import FILL, prepare, project

FIXED = 24  # as in `generalized`
OPTIONS = np.dtype([("address", "i8"), ("mechanism", "i8"), ("handle", "i8"), ("time", "f8")], align=True)
"""Addresses of the generated function and of the mechanism, what to hand that, and the time of the last whole step (s)."""


class Placed(NamedTuple):
    """A mechanism whose bodies are where generated code says."""

    options: Any = column("1", OPTIONS)
    equations: Any = part(Equations)
    system: Any = part(System)
    motion: Any = column(doc="what the generated function gives: 24 + 6 n numbers a body, then constraints")
    y: Any = column(doc="the state of the mechanism")
    dydt: Any = column()


_floats = viewer(np.float64)
_addresses = viewer(np.int64)


@njit
def perform(task, t, z, dzdt, placed):
    """Do one of the tasks; returns a status."""
    if task == FILL:
        return fill(t, z, dzdt, placed)
    if task == LIFT:
        take(z, placed)
        return lift(t, placed.equations.inputs, placed)
    rows = placed.equations.plan[0].rows
    if task in (DERIVATIVE, MEASURE):
        take(z, placed)
        status = prepare(t, z, placed.equations)
    else:
        placed.options[0].time = t
        if task == COMPLETE_EVALUATED and rows == 0:
            end_step(placed.equations)
            return 0
        take(z, placed)
        status = prepare(t, z, placed.equations)
        if status == 0 and rows > 0:
            status = put_back(t, z, placed)
        if status == 0:
            end_step(placed.equations)
    return finish(t, z, dzdt, placed) if status == 0 else status


@njit
def take(z, placed):
    """The inputs of generated code, and the part of the mechanism's state that is not of bodies, from z."""
    n, inputs = placed.equations.plan[0].n, placed.equations.inputs
    for i in range(2 * n):
        inputs[i] = z[i]
    copy_tail(z, 2 * n, placed.y, STATE_SIZE * placed.system.settings[0].rigid)


@njit
def lift(t, inputs, placed):
    """Put the bodies where u and v have them: the mechanism's state and the rows of its bodies. Returns a status."""
    motion, system, y = placed.motion, placed.system, placed.y
    n, bodies, kinematics = placed.equations.plan[0].n, system.bodies, system.kinematics
    status = call_pointer(placed.options[0].address, 0, DERIVATIVE, t, inputs, motion)
    for b in range(system.settings[0].rigid):
        at, kin = b * (FIXED + 6 * n), kinematics[b]
        rotation = matrix_at(motion, at + 3)
        v = velocity(motion, at + 12, at + FIXED, inputs, n, n)
        omega = velocity(motion, at + 15, at + FIXED + 3 * n, inputs, n, n)
        store3(kin.x, load_3(motion, at))
        for k in range(9):
            kin.rotation[k] = rotation[k]
        store3(kin.v, v)
        store3(kin.omega, omega)
        to = STATE_SIZE * b
        q = from_matrix(rotation)
        store_3(y, to, load_3(motion, at))
        for k in range(4):
            poke(y, to + 3 + k, q[k])
        store_3(y, to + 7, scale(bodies[b].mass, v))
        store_3(y, to + 10, symvec(congruence(rotation, load6(bodies[b].inertia)), omega))
    return status


@njit
def matrix_at(a, at):
    return (
        peek(a, at), peek(a, at + 1), peek(a, at + 2), peek(a, at + 3), peek(a, at + 4), peek(a, at + 5), peek(a, at + 6),
        peek(a, at + 7), peek(a, at + 8),
    )  # fmt: skip


@njit
def velocity(motion, base, jacobian, rates, first, n):
    """Three rows of J times `rates` from `first`, plus three numbers at `base`."""
    x, y, z = load_3(motion, base)
    for i in range(n):
        rate = peek(rates, first + i)
        x += peek(motion, jacobian + i) * rate
        y += peek(motion, jacobian + n + i) * rate
        z += peek(motion, jacobian + 2 * n + i) * rate
    return (x, y, z)


@njit
def fill(t, inputs, values, placed):
    """M, f and the constraints, into `values`. Returns a status."""
    status = lift(t, inputs, placed)
    if status == 0:
        status = call_pointer(placed.options[0].mechanism, placed.options[0].handle, FORCES, t, placed.y, placed.dydt)
    if status != 0:
        return status
    plan, motion = placed.equations.plan[0], placed.motion
    n, rigid = plan.n, placed.system.settings[0].rigid
    force, gap, _, _, _, end = places(n, plan.holonomic, plan.rows)
    for k in range(gap):
        poke(values, k, 0.0)
    for b in range(rigid):
        add_body(b, n, values, force, placed)
    at = rigid * (FIXED + 6 * n)
    for k in range(end - gap):
        poke(values, gap + k, peek(motion, at + k))
    return 0


@njit
def add_body(b, n, values, force, placed):
    """The share of one body in M (its lower triangle) and f."""
    motion = placed.motion
    body, kin, at = placed.system.bodies[b], placed.system.kinematics[b], b * (FIXED + 6 * n)
    inertia, omega = congruence(load9(kin.rotation), load6(body.inertia)), load3(kin.omega)
    left = sub(load3(kin.force), scale(body.mass, load_3(motion, at + 18)))
    turning = add(symvec(inertia, load_3(motion, at + 21)), cross(omega, symvec(inertia, omega)))
    moment = sub(load3(kin.torque), turning)
    for i in range(n):
        v_i, w_i = column(motion, at + FIXED + i, n), column(motion, at + FIXED + 3 * n + i, n)
        p, spin = scale(body.mass, v_i), symvec(inertia, w_i)
        poke(values, force + i, peek(values, force + i) + dot(v_i, left) + dot(w_i, moment))
        for j in range(i + 1):
            v_j, w_j = column(motion, at + FIXED + j, n), column(motion, at + FIXED + 3 * n + j, n)
            poke(values, i * n + j, peek(values, i * n + j) + dot(p, v_j) + dot(spin, w_j))


@njit
def column(a, at, stride):
    return (peek(a, at), peek(a, at + stride), peek(a, at + 2 * stride))


@njit
def finish(t, z, dzdt, placed):
    """ż where `prepare` has been: rates, accelerations, and what the mechanism makes of the rest. Returns a status."""
    equations = placed.equations
    n, step = equations.plan[0].n, equations.step
    accelerate(equations)
    for i in range(n):
        poke(dzdt, i, peek(z, n + i))
        poke(dzdt, n + i, peek(step, i))
    react(n, placed)
    call_pointer(placed.options[0].mechanism, placed.options[0].handle, WRITE, t, placed.y, placed.dydt)
    copy_tail_back(placed.dydt, STATE_SIZE * placed.system.settings[0].rigid, dzdt, 2 * n)
    return 0


@njit
def react(n, placed):
    """What holds each body where its coordinates have it: what its acceleration takes beside the applied forces."""
    system, motion, step = placed.system, placed.motion, placed.equations.step
    bodies, kinematics = system.bodies, system.kinematics
    for b in range(system.settings[0].rigid):
        kin, at = kinematics[b], b * (FIXED + 6 * n)
        inertia, omega = congruence(load9(kin.rotation), load6(bodies[b].inertia)), load3(kin.omega)
        acceleration = velocity(motion, at + 18, at + FIXED, step, 0, n)
        turning = velocity(motion, at + 21, at + FIXED + 3 * n, step, 0, n)
        moment = add(symvec(inertia, turning), cross(omega, symvec(inertia, omega)))
        store3(kin.linear, sub(scale(bodies[b].mass, acceleration), load3(kin.force)))
        store3(kin.angular, sub(moment, load3(kin.torque)))


@njit
def put_back(t, z, placed):
    """Put u and v back on the constraints; what that changes of energy and momenta goes to the ledger. Returns a status."""
    before = books(t, placed)
    status = project(t, z, placed.equations)
    if status != 0:
        return status
    book_change(z, before, books(t, placed), placed.system)
    return 0


@njit
def books(t, placed):
    """Energy, momentum and angular momentum of everything, at the state that was prepared."""
    call_pointer(placed.options[0].mechanism, placed.options[0].handle, RECORD, t, placed.y, placed.dydt)
    total, turning = momenta(placed.y, placed.system)
    return placed.system.energies[0] + placed.system.energies[1], total, turning


# With EVENT `data` is the address of an event function of y, and after it that of the tables.
def bodies_in_coordinates(data, task, t, z, n, dzdt, m):
    if task == EVENT:
        at = _addresses(data, 2)
        placed = table_at(Placed, at[1])
        perform(LIFT, t, _floats(z, n), _floats(z, n), placed)
        return call_pointer(at[0], 0, EVENT, t, placed.y, _floats(dzdt, m))
    return perform(task, t, _floats(z, n), _floats(dzdt, m), table_at(Placed, data))


COMPILED = CFunction(bodies_in_coordinates, C_SIGNATURE)
