"""The end of a step: loops closed, by the smallest change of joint coordinates in the metric of the masses; see
`mechanics.projection`, which does the same with bodies. What that changes of energy and momenta goes to the ledger."""

from ..arrays import clear
from ..jit import njit
from ..linalg.block_matrix import load_3
from ..mechanics.constraints import jacobian_velocity
from ..mechanics.particles import particles_at
from ..mechanics.projection import ITERATIONS, NOT_CLOSED, POSITION_ROUNDING, STALE, largest
from ..mechanics.system import (
    bodies_of,
    energies_of,
    error_of,
    multipliers_of,
    power_of,
    settings_of,
)
from ..mechanics.system import nodes_of as particle_nodes_of
from ..model.tables import PROJECTION_WORK, REACTION_IMPULSE, REACTION_TORQUE, STATE_SIZE
from ..pointer import FORCES, RECORD, call_pointer
from ..unchecked import peek, poke
from ..vec import add, cross, sub
from .lift import lift
from .loops import factor_loops, solve_loops
from .motion import step
from .tables_of import (
    change_of,
    dydt_of,
    freedoms_of,
    options_of,
    system_of,
    tree_of,
    wanted_of,
    y_of,
)


@njit
def project(t, z, reduced):
    """Newton on C(u) = 0, then J w = 0, with the factors of the last Newton step if that was small. The rank is that where
    the loops are closed. Returns a status; `look` has been where z is then, and the loops are factored there."""
    system, options = system_of(reduced), options_of(reduced)[0]
    length, error, wanted, change = (
        settings_of(system)[0].length, error_of(system), wanted_of(reduced), change_of(reduced)
    )  # fmt: skip
    status = look(t, z, reduced)
    if status != 0:
        return status
    before = books(z, reduced)
    worst, decide, factored = largest(error), options.held == 0, False
    for iteration in range(ITERATIONS):
        if not worst > POSITION_ROUNDING * length:
            break
        factored = worst <= STALE * length
        if factor_loops(decide or factored, reduced) >= 0:
            return NOT_CLOSED
        aim(error, reduced)
        step(z, 1.0, change, tree_of(reduced))
        change_particles(z, change, 0, reduced)
        if factored:
            break
        previous, decide = worst, True
        status = place(t, z, reduced)
        if status != 0:
            return status
        worst = largest(error)
        if iteration > 3 and not worst < 0.9 * previous:
            break
    if not worst <= 1e-6 * length or (not factored and factor_loops(True, reduced) >= 0):
        return NOT_CLOSED
    options.held = 1
    jacobian_velocity(system, wanted)
    aim(wanted, reduced)
    for k in range(options.speeds):
        at = options.coordinates + k
        poke(z, at, peek(z, at) + peek(change, k))
    change_particles(z, change, 1, reduced)
    status = look(t, z, reduced)
    book_change(z, before, books(z, reduced), system_of(reduced))
    return status


@njit
def aim(rates, reduced):
    """The smallest change of the speeds, in the metric of the masses, that takes these rates away from the rows of the
    loops."""
    wanted = wanted_of(reduced)
    for r in range(wanted.shape[0]):
        poke(wanted, r, -peek(rates, r))
    clear(change_of(reduced))
    solve_loops(multipliers_of(system_of(reduced)), reduced)


@njit
def book_change(z, before, after, system):
    """What a correction has changed of energy and momenta (see `books`) goes to the ledger."""
    ledger = z.shape[0] - power_of(system).shape[0] + settings_of(system)[0].ledger
    increase(z, ledger + PROJECTION_WORK, after[0] - before[0])
    impulse, turning = sub(after[1], before[1]), sub(after[2], before[2])
    for k in range(3):
        increase(z, ledger + REACTION_IMPULSE + k, impulse[k])
        increase(z, ledger + REACTION_TORQUE + k, turning[k])


@njit
def increase(z, at, amount):
    poke(z, at, peek(z, at) + amount)


@njit
def place(t, z, reduced):
    """Loops and forces at z. Returns a status."""
    options = options_of(reduced)[0]
    lift(z, reduced)
    return call_pointer(options.mechanism, options.handle, FORCES, t, y_of(reduced), dydt_of(reduced))


@njit
def look(t, z, reduced):
    """Loops, forces and energies at z. Returns a status."""
    options, status = options_of(reduced)[0], place(t, z, reduced)
    if status == 0:
        status = call_pointer(options.mechanism, options.handle, RECORD, t, y_of(reduced), dydt_of(reduced))
    return status


@njit
def books(z, reduced):
    """Energy, momentum and angular momentum of everything, where `look` has been."""
    system, y, options = system_of(reduced), y_of(reduced), options_of(reduced)[0]
    energies = energies_of(system)
    energy = energies[0] + energies[1]
    for k in range(options.speeds):
        w = peek(z, options.coordinates + k)
        energy += 0.5 * freedoms_of(tree_of(reduced))[k].armature * w * w
    total, turning = momenta(y, system)
    return energy, total, turning


@njit
def momenta(y, system):
    """Momentum and angular momentum of everything."""
    settings = settings_of(system)[0]
    total, turning = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for b in range(settings.rigid):
        at = STATE_SIZE * b
        p = load_3(y, at + 7)
        total = add(total, p)
        turning = add(turning, add(cross(load_3(y, at), p), load_3(y, at + 10)))
    at = particles_at(system)
    for i in range(settings.particles):
        p = load_3(y, at + 3 * (settings.particles + i))
        total = add(total, p)
        turning = add(turning, cross(load_3(y, at + 3 * i), p))
    return total, turning


@njit
def change_particles(z, change, momenta, reduced):
    """Move the particles in loops, or change their momenta, by a change of their places or velocities."""
    system, options = system_of(reduced), options_of(reduced)[0]
    nodes, bodies, settings = particle_nodes_of(system), bodies_of(system), settings_of(system)[0]
    at = options.coordinates + options.speeds
    for i in range(nodes.shape[0]):
        factor, to = 1.0, at + 3 * nodes[i].particle
        if momenta != 0:
            factor, to = bodies[settings.rigid + i].mass, to + 3 * settings.particles
        for k in range(3):
            increase(z, to + k, factor * peek(change, options.speeds + 3 * i + k))
