"""The end of a step: quaternions to unit length, state back on the constraint manifold, derivative there.

Position: δ = W Jᵀ μ with J W Jᵀ μ = −C is the smallest correction in the mass metric; x ← x + δx, q ← exp(½ δθ) q.
Velocity: P ← P + Jᵀ ν with J W Jᵀ ν = −J v. Both use the factorization at the end of the step, which the derivative
there needs anyway. The energy and momentum that the corrections add go to the ledger.
"""

import math

from ..core.jit import inlined, njit
from ..core.math3 import cross, dot, load3, normalize, rotate_by, scale, symvec
from ..core.profiler import end_stage
from ..model.tables import PROJECTION, PROJECTION_WORK, REACTION_IMPULSE, REACTION_TORQUE, SOLVE, STATE_SIZE, UPDATE
from .constraints import NOT_SOLVED, jacobian_velocity, solve_multipliers
from .dynamics import finish, prepare
from .forces import potential_energy
from .kinematics import carries, carry, load6
from .particle_forces import particle_potential, particles_at

POSITION_ROUNDING = 1e-14  # relative to the model's length: errors below are rounding
STALE = 1e-11  # relative: a larger correction needs the Jacobian anew
ITERATIONS = 25
NOT_CLOSED = 103  # the joints could not be closed by projection


@njit
def complete(t, y, dydt, evaluated, system):
    """Finish a step in place: y back on its manifold, f(t, y) in dydt. Returns a status."""
    normalize_quaternions(y, system.settings[0].rigid)
    if not evaluated:
        status = prepare(t, y, system)
        if status != 0:
            return status
    status = 0
    if system.settings[0].hold == PROJECTION and system.error.shape[0] > 0:
        status = project(t, y, dydt, system)
        end_stage(system.timer, UPDATE)
        evaluated = False
    if status == 0 and not evaluated:
        status = finish(t, y, dydt, system)
    if status == 0 and carries(y, system):
        carry(y, dydt, system)
    return status


@inlined
def normalize_quaternions(y, bodies):
    for i in range(bodies):
        at = STATE_SIZE * i + 3
        q = normalize((y[at], y[at + 1], y[at + 2], y[at + 3]))
        for k in range(4):
            y[at + k] = q[k]


@inlined
def project(t, y, dydt, system):
    """Newton on C(q) = 0 in the mass metric, then J v = 0; the tables hold for the new state afterwards."""
    error = system.error
    settings = system.settings
    length = settings[0].length
    before = potential_energy(y, system) + nodes_potential(t, y, dydt, system)
    gained = 0.0
    worst = largest(error)
    for iteration in range(ITERATIONS):
        if not worst > POSITION_ROUNDING * length:
            break
        gained += correct_positions(y, system)
        if settings[0].unsolved != 0:
            return NOT_SOLVED
        if worst <= STALE * length:
            break
        previous = worst
        status = prepare(t, y, system)
        if status != 0:
            return status
        worst = largest(error)
        if iteration > 3 and not worst < 0.9 * previous:
            break
    if not worst <= 1e-6 * length:
        return NOT_CLOSED
    gained += correct_velocities(y, system)
    if settings[0].unsolved != 0:
        return NOT_SOLVED
    gained += potential_energy(y, system) + nodes_potential(t, y, dydt, system) - before
    y[ledger_start(system) + PROJECTION_WORK] += gained
    return 0


@njit
def nodes_potential(t, y, dydt, system):
    """Potential energy of the particles' forces, where projection moves particles; else 0. Overwrites dydt."""
    return particle_potential(t, y, dydt, system) if system.nodes.shape[0] > 0 else 0.0


@njit
def ledger_start(system):
    """Where the ledger's common entries stand in the state vector."""
    settings = system.settings
    block = STATE_SIZE * settings[0].rigid + 6 * settings[0].particles
    return block + system.coordinates.shape[0] + settings[0].ledger


@inlined
def largest(values):
    worst = 0.0
    for i in range(values.shape[0]):
        size = abs(values[i])
        if not size <= worst:
            worst = size if not math.isnan(size) else math.inf
    return worst


@inlined
def correct_positions(y, system):
    """One Newton step; returns the kinetic energy gained: with L fixed, a turn δθ changes it by δθ·(ω × L)."""
    rhs = system.rhs
    kinematics = system.kinematics
    error = system.error
    bodies = system.bodies
    for r in range(error.shape[0]):
        rhs[r] = -error[r]
    for r in range(error.shape[0], rhs.shape[0]):
        rhs[r] = 0.0
    end_stage(system.timer, UPDATE)
    solve_multipliers(system, system.multipliers, False)
    end_stage(system.timer, SOLVE)
    gained = 0.0
    ledger = ledger_start(system)
    for i in range(system.settings[0].rigid):
        kin = kinematics[i]
        at = STATE_SIZE * i
        w = bodies[i].inverse_mass
        moment = cross(scale(w, load3(kin.linear)), (y[at + 7], y[at + 8], y[at + 9]))
        turn = symvec(load6(kin.inverse_inertia), load3(kin.angular))
        q = rotate_by((y[at + 3], y[at + 4], y[at + 5], y[at + 6]), turn)
        for k in range(3):
            y[at + k] += w * kin.linear[k]
            kin.x[k] = y[at + k]
            y[ledger + REACTION_TORQUE + k] += moment[k]
        for k in range(4):
            y[at + 3 + k] = q[k]
        gained += dot(turn, cross(load3(kin.omega), (y[at + 10], y[at + 11], y[at + 12])))
    move_nodes(y, system)
    return gained


@inlined
def move_nodes(y, system):
    """The same for particles, which do not turn."""
    nodes, bodies, kinematics = system.nodes, system.bodies, system.kinematics
    settings = system.settings[0]
    ledger = ledger_start(system)
    for i in range(nodes.shape[0]):
        kin = kinematics[settings.rigid + i]
        at = particles_at(system) + 3 * nodes[i].particle
        shift = scale(bodies[settings.rigid + i].inverse_mass, load3(kin.linear))
        p = at + 3 * settings.particles
        moment = cross(shift, (y[p], y[p + 1], y[p + 2]))
        for k in range(3):
            y[at + k] += shift[k]
            kin.x[k] = y[at + k]
            y[ledger + REACTION_TORQUE + k] += moment[k]


@inlined
def correct_velocities(y, system):
    """P, L ← P, L + Jᵀ ν; returns the kinetic energy gained, ½ (v + v′)·ΔP + ½ (ω + ω′)·ΔL."""
    rhs = system.rhs
    kinematics = system.kinematics
    bodies = system.bodies
    jacobian_velocity(system, rhs)
    for r in range(rhs.shape[0]):
        rhs[r] = -rhs[r]
    end_stage(system.timer, UPDATE)
    solve_multipliers(system, system.multipliers, False)
    end_stage(system.timer, SOLVE)
    gained = 0.0
    ledger = ledger_start(system)
    for i in range(system.settings[0].rigid):
        kin = kinematics[i]
        at = STATE_SIZE * i
        w = bodies[i].inverse_mass
        moment = cross(load3(kin.x), load3(kin.linear))
        spin = symvec(load6(kin.inverse_inertia), load3(kin.angular))
        for k in range(3):
            y[at + 7 + k] += kin.linear[k]
            y[at + 10 + k] += kin.angular[k]
            y[ledger + REACTION_IMPULSE + k] += kin.linear[k]
            y[ledger + REACTION_TORQUE + k] += moment[k] + kin.angular[k]
            gained += (kin.v[k] + 0.5 * w * kin.linear[k]) * kin.linear[k]
            gained += (kin.omega[k] + 0.5 * spin[k]) * kin.angular[k]
            kin.v[k] += w * kin.linear[k]
            kin.omega[k] += spin[k]
            kin.momentum[k] += kin.angular[k]
    return gained + push_nodes(y, system)


@inlined
def push_nodes(y, system):
    """The same for particles. What is pinned gets no momentum, and the impulse that it bears is its support's."""
    nodes, bodies, kinematics = system.nodes, system.bodies, system.kinematics
    settings = system.settings[0]
    ledger = ledger_start(system)
    gained = 0.0
    for i in range(nodes.shape[0]):
        w = bodies[settings.rigid + i].inverse_mass
        if w == 0.0:
            continue
        kin = kinematics[settings.rigid + i]
        at = particles_at(system) + 3 * (settings.particles + nodes[i].particle)
        moment = cross(load3(kin.x), load3(kin.linear))
        for k in range(3):
            y[at + k] += kin.linear[k]
            y[ledger + REACTION_IMPULSE + k] += kin.linear[k]
            y[ledger + REACTION_TORQUE + k] += moment[k]
            gained += (kin.v[k] + 0.5 * w * kin.linear[k]) * kin.linear[k]
            kin.v[k] += w * kin.linear[k]
    return gained
