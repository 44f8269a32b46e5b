"""One mechanism in maximal coordinates: f(t, y), the end of a step, and the C function that does both.

In the order of a step: an integration method asks for derivatives (`derivative` = `prepare` and `finish`), then for the
end of the step (`complete`: projection onto the constraints, and the derivative there); recorded frames are measured
(`measure`). `mechanism_task` is the entry of all of these; it is compiled once, whatever integrates it. `Mechanism` is
the same from Python.

The C function receives the address of the table `System` of a model. Without compilation (NUMBA_DISABLE_JIT=1) the same
tasks run in plain Python.
"""

import math
from collections.abc import Mapping, Sized
from typing import Any

import numpy as np

from ..core.c_function import (
    C_SIGNATURE,
    CARRY,
    CHOOSE_ROWS,
    COMPLETE_EVALUATED,
    CONSTRAIN,
    DERIVATIVE,
    DRIFT,
    FACTORIZE,
    FORCES,
    KINEMATICS,
    MEASURE,
    MERGE,
    PARTICLE_FORCES,
    PARTICLE_MATRIX,
    POTENTIAL,
    POWERS,
    RECORD,
    WRITE,
    viewer,
)
from ..core.jit import DISABLED, CFunction, inlined, njit
from ..core.math3 import add, add_scaled, cross, dot, load3, matvec, normalize, rotate_by, scale, sub, symvec
from ..core.math3 import derivative as quaternion_derivative
from ..core.profiler import SAMPLE, begin_timing, end_stage
from ..core.simd import store
from ..core.status import ENDS_RUN
from ..core.tables import TableFunction, table_at
from ..linalg.block_matrix import store_3
from ..model.tables import (
    CABLE,
    CABLE_ENTRY,
    CONSTRAINT_WORK,
    COUPLING,
    CURVE,
    CUSTOM,
    FACTORIZATION,
    FEEDBACK,
    FIELD,
    FORCE_IMPULSE,
    FORCE_STAGE,
    JACOBIAN,
    LIMITED,
    MASS,
    PARAMETER,
    PENALTY,
    PRESCRIBED,
    PROJECTION,
    PROJECTION_WORK,
    REACTION_IMPULSE,
    REACTION_TORQUE,
    SOFT,
    SOLVE,
    STATE_SIZE,
    TORQUE_IMPULSE,
    UPDATE,
    System,
)
from .cables import CABLES_ENTRY, tables_of_cables
from .commands import COMMANDS_ENTRY, DRIVES, MOTIONS, PLACES, SETTLE_PROJECTION, call_commands
from .constraints import (
    NOT_SOLVED,
    acceleration_rhs,
    assemble_hubs,
    choose_rows,
    constrain,
    factorize,
    jacobian_velocity,
    solve_multipliers,
    spread,
    wrench_of,
)
from .forces import add_powers, all_energy, apply_forces, exert_all, find_powers, potential_energy
from .jacobian import (
    ENERGY,
    RATES,
    ROWS,
    SPECIAL_FORCES,
    SPECIAL_POWERS,
    call_special,
    fill_parameter_rates,
    fill_rows,
    fill_special_rows,
    plain_rate,
)
from .kinematics import (
    carries,
    carry,
    drift,
    kinetic_energy,
    load6,
    load9,
    merge_spins,
    spin_rates,
    update_kinematics,
    use_spins,
)
from .particle_forces import (
    ELEMENTS_ENTRY,
    FIELDS_ENTRY,
    PAIRS_ENTRY,
    call_particle_functions,
    drift_particles,
    exchange_forces,
    finish_particles,
    load_nodes,
    particle_forces,
    particle_potential,
    particles_at,
    particles_kinetic,
    split_forces,
)

SINGULAR = 101  # status: the constraint system could not be factored
USER_FUNCTION = ENDS_RUN + 3  # status: a function of the user's failed
NOT_CLOSED = 103  # status: projection could not close the joints

POSITION_ROUNDING = 1e-14  # of the model's length: errors C below it are rounding
STALE = 1e-11  # of the same: after a correction of a larger error the Jacobian is evaluated again
CLOSED = 1e-6  # of the same: with a larger error left the joints count as open
SLOW = 0.9  # share of the error left by a Newton step: with more the iteration has stopped converging
ITERATIONS = 25
_floats = viewer(np.float64)


# The entry ------------------------------------------------------------------------------------------------------------


@njit
def mechanism_task(task, t, y, dydt, system):
    """Do one of the tasks of `core.c_function` at time t (s) and state y; returns a status, 0 if all went well.

    Reads y and writes dydt; DRIFT and the end of a step write y; all tasks overwrite tables of the system.
    """
    if task == DERIVATIVE:
        return derivative(t, y, dydt, system)
    if task == DRIFT:
        h = dydt[0]
        drift(h, y, system.settings[0].rigid, system.bodies)
        drift_particles(h, y, system)
        return 0
    if task == CONSTRAIN:
        return constrain(y, dydt, system)
    if task == PARTICLE_FORCES:
        return split_forces(t, y, dydt, system)
    if task == PARTICLE_MATRIX:
        return call_particle_functions(task, t, y, dydt, system)
    if task == FORCES:
        return exert_at(t, y, dydt, system)
    if task == CARRY:
        carry(y, dydt, system)
        return 0
    if task == MERGE:
        merge_spins(y, system)
        return 0
    if task == WRITE:
        write_derivative(y, dydt, system)
        return 0
    if task == RECORD:
        record(t, y, dydt, system)
        return 0
    if task == MEASURE:
        return measure(t, y, dydt, system)
    if task == POWERS:
        find_powers(y, system)
        return 0
    if task == POTENTIAL:
        potential_energy(y, system)
        return 0
    if task == KINEMATICS:
        return prepare(t, y, system)
    if task == FACTORIZE:
        return 0 if factorize(system) == 0 else SINGULAR
    if task == CHOOSE_ROWS:
        return begin_open(t, y, system)
    return complete(t, y, dydt, task == COMPLETE_EVALUATED, system)


def mechanism_entry(data, task, t, y, n, dydt, m):
    return mechanism_task(task, t, _floats(y, n), _floats(dydt, m), table_at(System, data))


MECHANISM_ENTRY = CFunction(mechanism_entry, C_SIGNATURE)


# The derivative of the state ------------------------------------------------------------------------------------------
#
# Mass properties → J and J̇ v → J W Jᵀ, factored (`prepare`) → forces → λ → (ẋ, q̇, Ṗ, L̇) (`finish`).


@inlined
def derivative(t, y, dydt, system):
    """f(t, y): the whole right-hand side, ledger included. Returns a status, 0 if all went well."""
    status = prepare(t, y, system)
    if status != 0:
        return status
    return finish(t, y, dydt, system)


@njit
def prepare(t, y, system):
    """What depends on the state alone: kinematics, C, J and J̇ v, and the factorization of J W Jᵀ. Returns a status."""
    timer = system.timer
    status = evaluate_rows(t, y, system)
    if status != 0:
        return status
    if system.settings[0].hold == PENALTY:
        return 0
    if factorize(system) != 0:
        return SINGULAR
    end_stage(timer, FACTORIZATION)
    return 0


@njit
def evaluate_rows(t, y, system):
    """Kinematics, C, J and J̇ v. Returns a status."""
    timer = system.timer
    begin_timing(timer, SAMPLE)
    update_kinematics(y, system.bodies, system.settings[0].rigid, system.kinematics)
    use_spins(y, system)
    load_nodes(y, system)
    if system.commands.shape[0] > 0 and call_commands(MOTIONS, t, y, y, system) != 0:
        return USER_FUNCTION
    end_stage(timer, MASS)
    if fill_rows(t, y, system) != 0:
        return USER_FUNCTION
    end_stage(timer, JACOBIAN)
    return 0


@njit
def begin_open(t, y, system):
    """A step in which joints open begins: see `choose_rows`. Returns a status."""
    if system.settings[0].deficient == 0:
        return 0
    status = evaluate_rows(t, y, system)
    if status == 0:
        choose_rows(system)
    return status


@njit
def finish(t, y, dydt, system):
    """ẏ from what `prepare` left in the tables: forces, λ, and both written to dydt. Returns a status."""
    timer = system.timer
    status = exert(t, y, dydt, system)
    if status != 0:
        return status
    end_stage(timer, FORCE_STAGE)
    constraint_forces(y, system)
    if system.settings[0].unsolved != 0:
        return NOT_SOLVED
    end_stage(timer, SOLVE)
    write_derivative(y, dydt, system)
    end_stage(timer, UPDATE)
    return 0


@njit
def exert(t, y, dydt, system):
    """The applied forces, on bodies and on particles. Returns a status."""
    if apply_forces(t, y, system) != 0:
        return USER_FUNCTION
    status = particle_forces(t, y, dydt, system)
    if status == 0:
        exchange_forces(dydt, system)
    return status


@njit
def exert_at(t, y, dydt, system):
    """The same, and J and J̇ v, at a state whose kinematics are known. Returns a status."""
    load_nodes(y, system)
    if system.commands.shape[0] > 0 and call_commands(MOTIONS, t, y, y, system) != 0:
        return USER_FUNCTION
    if fill_rows(t, y, system) != 0:
        return USER_FUNCTION
    return exert(t, y, dydt, system)


@inlined
def constraint_forces(y, system):
    """`multipliers` = λ by the rule of the run, and Jᵀ λ in the kinematics table.

    Penalty: λ = −(k C + d J v). Else J W Jᵀ λ = −J̇ v − J W Q, with −(k C + d J v) added by feedback (J. Baumgarte, Comput.
    Methods Appl. Mech. Eng. 1, 1972)."""
    multipliers = system.multipliers
    residual = system.residual
    joints = system.joints
    error = system.error
    rhs = system.rhs
    settings = system.settings[0]
    if settings.hold == PENALTY:
        jacobian_velocity(system, residual)
        for r in range(error.shape[0]):
            multipliers[r] = -settings.stiffness * error[r] - settings.damping * residual[r]
        spread(system, multipliers)
        return
    acceleration_rhs(system)
    if settings.hold == FEEDBACK:
        jacobian_velocity(system, residual)
        for i in range(joints.shape[0]):
            joint = joints[i]
            if joint.active != 0:
                for r in range(joint.row, joint.row + joint.rows):
                    rhs[r] -= settings.stiffness * error[r] + settings.damping * residual[r]
    solve_multipliers(system, multipliers, True)


@inlined
def write_derivative(y, dydt, system):
    """(ẋ, q̇, Ṗ, L̇) = (v, ½ ω q, F + F_c, τ + τ_c), the rates of the coordinates, and those of the ledger."""
    settings = system.settings
    kinematics = system.kinematics
    coordinates = system.coordinates
    bodies = settings[0].rigid
    power = system.power
    ledger = settings[0].ledger
    zero = (0.0, 0.0, 0.0)
    total, moment, reaction_total, reaction_moment = zero, zero, zero, zero
    work = 0.0
    for i in range(bodies):
        kin = kinematics[i]
        at = STATE_SIZE * i
        v, omega = load3(kin.v), load3(kin.omega)
        turning = quaternion_derivative((y[at + 3], y[at + 4], y[at + 5], y[at + 6]), omega)
        x, force, torque = load3(kin.x), load3(kin.force), load3(kin.torque)
        reaction, reaction_torque = load3(kin.linear), load3(kin.angular)
        store_3(dydt, at, v)
        for k in range(4):
            store(dydt, at + 3 + k, turning[k])
        store_3(dydt, at + 7, add(force, reaction))
        store_3(dydt, at + 10, add(torque, reaction_torque))
        total = add(total, force)
        moment = add(moment, add(cross(x, force), torque))
        reaction_total = add(reaction_total, reaction)
        reaction_moment = add(reaction_moment, add(cross(x, reaction), reaction_torque))
        work += dot(reaction, v) + dot(reaction_torque, omega)
    for i in range(bodies, bodies + system.nodes.shape[0]):
        kin = kinematics[i]
        reaction = load3(kin.linear)
        reaction_total = add(reaction_total, reaction)
        reaction_moment = add(reaction_moment, cross(load3(kin.x), reaction))
        work += dot(reaction, load3(kin.v))
    force, torque, pinned, pinned_moment = finish_particles(y, dydt, system)
    total, moment = add(total, force), add(moment, torque)
    reaction_total, reaction_moment = sub(reaction_total, pinned), sub(reaction_moment, pinned_moment)
    store_3(power, ledger + FORCE_IMPULSE, total)
    store_3(power, ledger + TORQUE_IMPULSE, moment)
    store_3(power, ledger + REACTION_IMPULSE, reaction_total)
    store_3(power, ledger + REACTION_TORQUE, reaction_moment)
    power[ledger + CONSTRAINT_WORK] = work
    for i in range(coordinates.shape[0]):
        coordinate = coordinates[i]
        if coordinate.kind < PARAMETER:
            dydt[coordinate.at] = plain_rate(coordinate, kinematics)
    if settings[0].special_rows != 0:
        call_special(RATES, 0.0, y, dydt, system)
    at = STATE_SIZE * bodies + 6 * settings[0].particles + coordinates.shape[0]
    for i in range(power.shape[0]):
        dydt[at + i] = power[i]
    if system.commands.shape[0] > 0:
        call_commands(DRIVES, 0.0, y, dydt, system)
    spin_rates(y, dydt, system)


# The end of a step ----------------------------------------------------------------------------------------------------
#
# Quaternions to unit length, the state back on the constraint manifold, and the derivative there.
#
# Position: δ = W Jᵀ μ with J W Jᵀ μ = −C is the smallest correction in the mass metric; x ← x + δx, q ← exp(½ δθ) q.
# Velocity: P ← P + Jᵀ ν with J W Jᵀ ν = −J v. Both use the factorization at the end of the step, which the derivative
# there needs anyway. The energy and momentum that the corrections add go to the ledger.


@njit
def complete(t, y, dydt, evaluated, system):
    """Finish a step in place: y back on its manifold, f(t, y) in dydt. evaluated : whether `prepare` was called at y.
    Returns a status."""
    settings = system.settings[0]
    evaluated = evaluated and settings.open == 0
    settings.open = 0
    normalize_quaternions(y, system.settings[0].rigid)
    if system.commands.shape[0] > 0 and call_commands(PLACES, t, y, y, system) != 0:
        return USER_FUNCTION
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
    if status == 0 and settings.chooses != 0 and settings.hold == PROJECTION:
        choose_rows(system)
    return status


@inlined
def normalize_quaternions(y, bodies):
    """q ← q/|q| of every body, in place."""
    for i in range(bodies):
        at = STATE_SIZE * i + 3
        q = normalize((y[at], y[at + 1], y[at + 2], y[at + 3]))
        for k in range(4):
            y[at + k] = q[k]


@inlined
def project(t, y, dydt, system):
    """Newton on C(q) = 0 in the mass metric, then J v = 0; afterwards the tables are those of the new state."""
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
        if iteration > 3 and not worst < SLOW * previous:
            break
    if not worst <= CLOSED * length:
        return NOT_CLOSED
    gained += correct_velocities(y, system)
    if system.commands.shape[0] > 0:
        call_commands(SETTLE_PROJECTION, t, y, dydt, system)
    if settings[0].unsolved != 0:
        return NOT_SOLVED
    gained += potential_energy(y, system) + nodes_potential(t, y, dydt, system) - before
    y[ledger_start(system) + PROJECTION_WORK] += gained
    return 0


@inlined
def largest(values):
    """The largest |value|; ∞ where one is not a number."""
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
    """The same for particles. Pinned particles get no momentum: their support takes the impulse."""
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


@njit
def nodes_potential(t, y, dydt, system):
    """Potential energy of the particles' forces, where projection moves particles; else 0. Overwrites dydt."""
    return particle_potential(t, y, dydt, system) if system.nodes.shape[0] > 0 else 0.0


@njit
def ledger_start(system):
    """Index of the common entries of the ledger in the state vector."""
    settings = system.settings
    block = STATE_SIZE * settings[0].rigid + 6 * settings[0].particles
    return block + system.coordinates.shape[0] + settings[0].ledger


# Measurements: energies, rates of the constraints, and the wrench of each joint on its second body -----------------------


@inlined
def measure(t, y, dydt, system):
    """Evaluate one state and fill `energies`, `rates` and `wrenches` of the system. Returns a status."""
    settings = system.settings[0]
    chosen, settings.open = settings.open, 0  # all rows share the load
    status = prepare(t, y, system)
    if status == 0:
        status = finish(t, y, dydt, system)
    record(t, y, dydt, system)
    settings.open = chosen
    return status


@njit
def record(t, y, dydt, system):
    """What is recorded of a state that was just evaluated."""
    energies = system.energies
    energies[0] = kinetic_energy(y, system.kinematics, system.settings[0].rigid) + particles_kinetic(y, system)
    if system.settings[0].stepped != 0:
        energies[2] = particle_potential(t, y, dydt, system)
    energies[1] = potential_energy(y, system) + energies[2]
    jacobian_velocity(system, system.rates)
    for j in range(system.reactions.shape[0]):
        reaction(j, system)


@inlined
def reaction(j, system):
    """Jᵀ λ of one joint on one body, moved from the centre of mass to the joint: force and torque, world axes."""
    wrenches = system.wrenches
    multipliers = system.multipliers
    jacobian = system.jacobian
    incidences = system.incidences
    joint = system.joints[j]
    where = system.reactions[j]
    force = (0.0, 0.0, 0.0)
    torque = (0.0, 0.0, 0.0)
    for i in range(joint.first, joint.last):
        if incidences[i].body == where.body:
            f, m = wrench_of(incidences[i], jacobian, multipliers)
            force = add_scaled(force, where.sign, f)
            torque = add_scaled(torque, where.sign, m)
    arm = matvec(load9(system.kinematics[where.body].rotation), load3(where.anchor))
    moment = cross(arm, force)
    for k in range(3):
        wrenches[6 * j + k] = force[k]
        wrenches[6 * j + 3 + k] = torque[k] - moment[k]


# The C function of special parts ----------------------------------------------------------------------------------------
#
# What few scenes need is a C function of its own, so that the others do not compile it: parts of joints that depend on
# curves, couplings or functions of the user's (`fill_special_rows`), forces other than fields (`exert_all`), and bodies of
# many joints (`assemble_hubs`). It receives the tables of the system.


@njit
def special_task(task, t, y, rates, system):
    """Do one of the tasks of `call_special`; returns a status."""
    if task == ROWS:
        return fill_special_rows(t, y, system)
    if task == SPECIAL_FORCES:
        return exert_all(t, y, system)
    if task == SPECIAL_POWERS:
        add_powers(y, system)
    elif task == ENERGY:
        system.energies[1] = all_energy(y, system)
    elif task == RATES:
        fill_parameter_rates(y, rates, system)
    else:
        assemble_hubs(system)
    return 0


def special_entry(data, task, t, y, n, rates, m):
    return special_task(task, t, _floats(y, n), _floats(rates, m), table_at(System, data))


SPECIAL_ENTRY = CFunction(special_entry, C_SIGNATURE)


def has_special_rows(parts: Any, coordinates: Any) -> bool:
    """Whether these tables have such parts, or coordinates of curves or cables."""
    return bool(
        np.isin(parts["kind"], (CURVE, COUPLING, SOFT, CUSTOM, PRESCRIBED, CABLE)).any()
        or (coordinates["kind"] >= PARAMETER).any()
    )


def has_special_forces(forces: Any) -> bool:
    """Whether something but fields is applied to bodies. An idle row may become any force, in the course of a session."""
    other = (forces["kind"] != FIELD) | (forces["active"] == 0)
    return bool((other & (forces["kind"] < LIMITED)).any())


def is_special(tables: Mapping[str, Any], hubs: Sized) -> bool:
    """Whether the tables of a system, or of a model, need the C function of special parts."""
    rows = has_special_rows(tables["parts"], tables["coordinates"])
    return len(hubs) > 0 or rows or has_special_forces(tables["forces"])


# From Python ----------------------------------------------------------------------------------------------------------


ON_PARTICLES: tuple[CFunction, ...] = (FIELDS_ENTRY, ELEMENTS_ENTRY, PAIRS_ENTRY)
"""Forces on particles, in the order of `on_particles` of the settings."""


def on_particles(fields: Sized, sets: Sized, laws: Sized) -> list[CFunction | None]:
    """Those that are needed for these fields, sets of elements and laws between particles."""
    return [function if len(rows) else None for function, rows in zip(ON_PARTICLES, (fields, sets, laws), strict=True)]


def _address(function: CFunction) -> int:
    """The address of a C function; without compilation any nonzero number stands for one."""
    return 1 if DISABLED else function.address


class Mechanism(TableFunction):
    """A system behind a C pointer; calling it does a task on two contiguous float64 arrays and returns a status."""

    def __init__(self, system: System) -> None:
        super().__init__(MECHANISM_ENTRY, mechanism_task, system)
        self.system = system
        self._name_functions()

    def _name_functions(self) -> None:
        """Write the addresses of the C functions that this system needs to the settings."""
        system, settings = self.system, self.system.settings
        wanted = on_particles(system.particle_forces, system.elements.sets, system.interactions.laws)
        settings.on_particles = [0 if one is None else _address(one) for one in wanted]
        settings.special_rows = has_special_rows(system.parts, system.coordinates)
        settings.special_forces = has_special_forces(system.forces)
        settings.motions = _address(COMMANDS_ENTRY) if len(system.commands) else 0
        for at in tables_of_cables(system._asdict()):
            system.curves[at + CABLE_ENTRY] = _address(CABLES_ENTRY)
        settings.special = _address(SPECIAL_ENTRY) if is_special(system._asdict(), system.hubs) else 0

    def __call__(self, task: int, t: float, y: np.ndarray, dydt: np.ndarray) -> int:
        return self.call(task, t, y, dydt)

    def choose_rows(self, t: float, y: np.ndarray) -> None:
        """Choose the rows that count in the stages of the next step, at the closed state y; see `constraints.choose_rows`."""
        if self.system.settings[0].chooses and self.system.settings[0].deficient:
            self.call(CHOOSE_ROWS, t, y, y)
