"""Carriers: the bodies that particles touch or are attached to, as unknowns of a stage.

A stage moves bodies by X = X₀ + J ζ: X the displacement and turn of each since the start of the stage, X₀ the same
without particles, and ζ the change of the coordinates, whose mass matrix is M. A force of particles on a body is Jᵀ of
its wrench there. So a stage asks the coordinates for five products, and for X₀:

    BEGIN     place the bodies where the stage starts; their velocities into the kinematics table, X₀ into `wanted`
    SPREAD    X = J ζ
    COLLECT   ρ + Jᵀ (wrenches)
    INERTIA   ρ + w M ζ
    FACTOR    prepare RESPOND, with the inertia of what the bodies carry
    RESPOND   ζ ≈ (w M)⁻¹ ρ among the motions that joints allow: the preconditioner of conjugate gradients. The part of
              ρ that joints carry is removed from it, because its rounding error would grow (N. Gould, M. Hribar, J.
              Nocedal, SIAM J. Sci. Comput. 23, 2001)
    PROJECT   the part of ρ that moves the bodies; joints carry the rest

Bodies without joints in coordinates of their own have J = 1, and M is block diagonal: that is written out here and in
`stage` and `linear`. All others are a C function: `joined_task` for bodies with joints in maximal coordinates, at the
end of this file, and `joint_space_carriers` for trees in joint coordinates.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ..core.c_function import (
    C_SIGNATURE,
    C_TYPE,
    CHOOSE_ROWS,
    CONSTRAIN,
    DERIVATIVE,
    DRIFT,
    call_pointer,
    part_of,
    view,
    viewer,
)
from ..core.jit import DISABLED, CFunction, inlined, njit
from ..core.math3 import add, add_scaled, congruence, load3, scale, store3, sub, symvec
from ..core.simd import clear, load, store
from ..core.status import OK
from ..core.tables import table_at
from ..dynamics.constraints import jacobian_acceleration
from ..dynamics.kinematics import load6, load9
from ..dynamics.mechanism import Mechanism
from ..linalg.block_matrix import add_3, load_3, store_3
from ..model.tables import System
from .tables import BODY_ROW, Steps

BEGIN, SPREAD, COLLECT, INERTIA, FACTOR, RESPOND, PROJECT = range(7)

# In a stage -------------------------------------------------------------------------------------------------------------


@njit
def call_carriers(task, t, source, target, steps):
    """Do one of the tasks above. Returns a status."""
    options = steps.options[0]
    return call_pointer(options.carriers, options.carriers_data, task, t, source, target)


@njit
def spread(z, out, system, steps):
    """`out` = the displacements and turns of all bodies, of the unknowns z of particles and bodies."""
    n = 3 * system.settings[0].particles
    if steps.options[0].carriers != 0:
        call_carriers(SPREAD, 0.0, part_of(z, n, steps.offset.shape[0]), out, steps)
        return
    for k in range(out.shape[0]):
        store(out, k, load(z, n + k))


# Wrenches on bodies are summed in `wrenches` between the two functions that follow.
@njit
def begin_wrenches(q, system, steps):
    """Wrenches from now on are added to the bodies' part of q."""
    wrenches, n = steps.wrenches, 3 * system.settings[0].particles
    if steps.options[0].carriers != 0:
        clear(wrenches)
        return
    for k in range(wrenches.shape[0]):
        store(wrenches, k, load(q, n + k))


@njit
def end_wrenches(q, system, steps):
    """Add `wrenches` to the bodies' part of q, as forces on their unknowns."""
    wrenches, n = steps.wrenches, 3 * system.settings[0].particles
    if steps.options[0].carriers != 0:
        call_carriers(COLLECT, 0.0, wrenches, part_of(q, n, steps.offset.shape[0]), steps)
        return
    for k in range(wrenches.shape[0]):
        store(q, n + k, load(wrenches, k))


@njit
def begin_carriers(steps):
    """Bodies start from their displacements without particles."""
    clear(steps.offset)
    moved, wanted = steps.moved, steps.wanted
    for k in range(moved.shape[0]):
        store(moved, k, load(wanted, k))


@njit
def momentum_of_offset(steps):
    """`own` = M ζ of the unknowns of bodies at `iterate`. Returns ζᵀ M ζ."""
    own, offset, total = steps.own, steps.offset, 0.0
    clear(own)
    call_carriers(INERTIA, 1.0, offset, own, steps)
    for k in range(own.shape[0]):
        total += load(own, k) * load(offset, k)
    return total


@inlined
def fill_inertia(b, system, steps):
    """Write mass and moments of a body, where it is, to `inertia`."""
    inertia, body = steps.inertia, system.bodies[b]
    m = congruence(load9(system.kinematics[b].rotation), load6(body.inertia))
    for k in range(6):
        store(inertia, 7 * b + 1 + k, m[k])
    store(inertia, 7 * b, body.mass)


@inlined
def body_momentum(b, u, turn, steps):
    """The mass matrix of a body times a displacement and a turn."""
    inertia, at = steps.inertia, 7 * b
    moments = (
        load(inertia, at + 1), load(inertia, at + 2), load(inertia, at + 3), load(inertia, at + 4),
        load(inertia, at + 5), load(inertia, at + 6),
    )  # fmt: skip
    return scale(load(inertia, at), u), symvec(moments, turn)


# Bodies with joints in maximal coordinates ------------------------------------------------------------------------------
#
# The unknowns are X itself, among those with G (X − X₀) = 0 where G are the rows of the joints, and conjugate gradients stay
# there by their preconditioner, W (1 − Gᵀ (G W Gᵀ)⁻¹ G W) / w. What particles weigh on a body is left out of that.


@njit
def begin_joined(t, y, wanted, mechanism, data, system, steps):
    """See BEGIN; y is the state, in place. Returns a status."""
    options, status = steps.options[0], OK
    dydt = steps.spare_rates
    tau = options.fraction * options.dt
    duration = tau
    if options.explicit != 0:
        status = call_pointer(mechanism, data, CHOOSE_ROWS, t, y, dydt)
        dydt[0] = 0.5 * options.dt
        if status == OK:
            status = call_pointer(mechanism, data, DRIFT, 0.0, y, dydt)
        t, duration = t + 0.5 * options.dt, options.dt
    if status == OK:
        status = call_pointer(mechanism, data, DERIVATIVE, t, y, dydt)
    bodies, kinematics = system.bodies, system.kinematics
    for b in range(system.settings[0].rigid):
        kin = kinematics[b]
        fill_inertia(b, system, steps)
        force, torque = add(load3(kin.force), load3(kin.linear)), add(load3(kin.torque), load3(kin.angular))
        shift = add_scaled(load3(kin.v), duration * bodies[b].inverse_mass, force)
        spin = add_scaled(load3(kin.omega), duration, symvec(load6(kin.inverse_inertia), torque))
        store_3(wanted, BODY_ROW * b, scale(tau, shift))
        store_3(wanted, BODY_ROW * b + 3, scale(tau, spin))
    return status


@njit
def hold_by_joints(source, target, mechanism, data, system, steps):
    """`target` = f − Gᵀ λ with G W (f − Gᵀ λ) = 0, for wrenches f on all bodies. Returns a status."""
    bodies, kinematics, rates = system.bodies, system.kinematics, steps.rates
    for b in range(system.settings[0].rigid):
        kin, at = kinematics[b], BODY_ROW * b
        store3(kin.acceleration, scale(bodies[b].inverse_mass, load_3(source, at)))
        store3(kin.turning, symvec(load6(kin.inverse_inertia), load_3(source, at + 3)))
    jacobian_acceleration(system, rates)
    status = call_pointer(mechanism, data, CONSTRAIN, 0.0, rates, rates)
    for b in range(system.settings[0].rigid):
        kin, at = kinematics[b], BODY_ROW * b
        driven = steps.driven[b] != 0  # what acts on it is borne by its drive
        force, torque = sub(load_3(source, at), load3(kin.linear)), sub(load_3(source, at + 3), load3(kin.angular))
        store_3(target, at, (0.0, 0.0, 0.0) if driven else force)
        store_3(target, at + 3, (0.0, 0.0, 0.0) if driven else torque)
    return status


@njit
def respond_joined(weight, target, system):
    """Wrenches become displacements, W f / w."""
    bodies, kinematics = system.bodies, system.kinematics
    for b in range(system.settings[0].rigid):
        at = BODY_ROW * b
        store_3(target, at, scale(bodies[b].inverse_mass / weight, load_3(target, at)))
        turn = symvec(load6(kinematics[b].inverse_inertia), load_3(target, at + 3))
        store_3(target, at + 3, scale(1.0 / weight, turn))


@njit
def joined_task(task, t, source, target, mechanism, data, system, steps):
    """Do one of the tasks; t is a time in BEGIN, else the weight w. Returns a status."""
    if task == BEGIN:
        return begin_joined(t, source, target, mechanism, data, system, steps)
    if task == SPREAD:
        for k in range(target.shape[0]):
            store(target, k, load(source, k))
    elif task == COLLECT:
        for k in range(target.shape[0]):
            store(target, k, load(target, k) + load(source, k))
    elif task == INERTIA:
        for b in range(system.settings[0].rigid):
            at = BODY_ROW * b
            momentum, spin = body_momentum(b, load_3(source, at), load_3(source, at + 3), steps)
            add_3(target, at, scale(t, momentum))
            add_3(target, at + 3, scale(t, spin))
    elif task in (RESPOND, PROJECT):
        status = hold_by_joints(source, target, mechanism, data, system, steps)
        if task == RESPOND:
            for k in range(target.shape[0]):
                store(source, k, load(target, k))
            respond_joined(t, target, system)
        return status
    return OK


_floats = viewer(np.float64)
_addresses = viewer(np.int64)


# `data`: the address and the data of the mechanism, and the addresses of its tables and of those of the step.
def joined_entry(data, task, t, source, n, target, m):
    at = _addresses(data, 4)
    return joined_task(
        task, t, _floats(source, n), _floats(target, m), at[0], at[1], table_at(System, at[2]), table_at(Steps, at[3])
    )


JOINED_ENTRY = CFunction(joined_entry, C_SIGNATURE)


class JoinedCarriers:
    """Bodies with joints in maximal coordinates: `address` and `data` of their C function. bodies : how many there are."""

    def __init__(self, mechanism: Mechanism, bodies: int) -> None:
        self._mechanism, self.unknowns = mechanism, BODY_ROW * bodies
        self._data = np.array([mechanism.address, mechanism.data, 0, 0], np.int64)
        self.data = int(self._data.ctypes.data)
        if DISABLED:
            self._callback = C_TYPE(self._call)
            self.address = int(ctypes.cast(self._callback, ctypes.c_void_p).value or 0)
        else:
            self.address = JOINED_ENTRY.address

    def fit(self, steps: Steps, system_address: int, steps_address: int) -> None:
        """Take the tables of the step."""
        self._steps: Any = steps
        self._data[2:] = system_address, steps_address

    def _call(self, data: int, task: int, t: float, source: int, n: int, target: int, m: int) -> int:
        own = self._mechanism
        values = view(source, n), view(target, m)
        return int(joined_task(task, t, *values, own.address, own.data, own.system, self._steps))

    def begin(self, y: np.ndarray) -> int:
        """Nothing is kept beside the state."""
        return OK
