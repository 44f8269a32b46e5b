"""The derivative of the state: mass properties → J and J̇ v → J W Jᵀ → forces → λ → (ẋ, q̇, Ṗ, L̇).

`prepare` does what depends on the state alone and ends with a factorization; `finish` uses it. A step ends with
`complete`, which uses the same factorization to put the state back on the constraint manifold.
"""

from ..core.jit import inlined, njit
from ..core.math3 import add, add_scaled, cross, dot, load3, matvec, sub
from ..core.math3 import derivative as quaternion_derivative
from ..core.profiler import SAMPLE, begin_timing, end_stage
from ..core.simd import store
from ..core.status import ENDS_RUN
from ..model.tables import (
    CONSTRAINT_WORK,
    FACTORIZATION,
    FEEDBACK,
    FORCE_IMPULSE,
    FORCE_STAGE,
    JACOBIAN,
    MASS,
    PARAMETER,
    PENALTY,
    REACTION_IMPULSE,
    REACTION_TORQUE,
    SOLVE,
    STATE_SIZE,
    TORQUE_IMPULSE,
    UPDATE,
)
from .constraints import (
    NOT_SOLVED,
    acceleration_rhs,
    factorize,
    jacobian_velocity,
    solve_multipliers,
    spread,
    wrench_of,
)
from .forces import apply_forces, potential_energy
from .jacobian import RATES, ask, fill_rows, plain_rate
from .kinematics import kinetic_energy, load9, spin_rates, update_kinematics, use_spins
from .particle_forces import (
    exchange_forces,
    finish_particles,
    load_nodes,
    particle_forces,
    particle_potential,
    particles_kinetic,
)

SINGULAR = 101  # the constraint system could not be factored
USER_FUNCTION = ENDS_RUN + 3  # a function of the user's failed


@inlined
def derivative(t, y, dydt, system):
    """f(t, y): the whole right-hand side, ledger included. Returns a status, 0 if all went well."""
    status = prepare(t, y, system)
    if status != 0:
        return status
    return finish(t, y, dydt, system)


@njit
def prepare(t, y, system):
    timer = system.timer
    begin_timing(timer, SAMPLE)
    update_kinematics(y, system.bodies, system.settings[0].rigid, system.kinematics)
    use_spins(y, system)
    load_nodes(y, system)
    end_stage(timer, MASS)
    if fill_rows(t, y, system) != 0:
        return USER_FUNCTION
    end_stage(timer, JACOBIAN)
    if system.settings[0].hold == PENALTY:
        return 0
    if factorize(system) != 0:
        return SINGULAR
    end_stage(timer, FACTORIZATION)
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
    if fill_rows(t, y, system) != 0:
        return USER_FUNCTION
    return exert(t, y, dydt, system)


@njit
def finish(t, y, dydt, system):
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


@inlined
def constraint_forces(y, system):
    """λ by the rule in force, spread over the bodies."""
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
def store_3(values, at, a):
    store(values, at, a[0])
    store(values, at + 1, a[1])
    store(values, at + 2, a[2])


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
    force, torque, held, held_moment = finish_particles(y, dydt, system)
    total, moment = add(total, force), add(moment, torque)
    reaction_total, reaction_moment = sub(reaction_total, held), sub(reaction_moment, held_moment)
    store_3(power, ledger + FORCE_IMPULSE, total)
    store_3(power, ledger + TORQUE_IMPULSE, moment)
    store_3(power, ledger + REACTION_IMPULSE, reaction_total)
    store_3(power, ledger + REACTION_TORQUE, reaction_moment)
    power[ledger + CONSTRAINT_WORK] = work
    for i in range(coordinates.shape[0]):
        coordinate = coordinates[i]
        if coordinate.kind != PARAMETER:
            dydt[coordinate.at] = plain_rate(coordinate, kinematics)
    if settings[0].special_rows != 0:
        ask(RATES, 0.0, y, dydt, system)
    at = STATE_SIZE * bodies + 6 * settings[0].particles + coordinates.shape[0]
    for i in range(power.shape[0]):
        dydt[at + i] = power[i]
    spin_rates(y, dydt, system)


# ----------------------------------------------------------------------------------------------------------------------
# What is recorded of a state: energies, rates of the constraints, and what each joint does to its second body.


@inlined
def measure(t, y, dydt, system):
    """Evaluate one state and fill `energies`, `rates` and `wrenches` of the system. Returns a status."""
    status = prepare(t, y, system)
    if status == 0:
        status = finish(t, y, dydt, system)
    record(t, y, dydt, system)
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
