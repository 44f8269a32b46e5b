"""The end of a step: loops closed, by the smallest change of joint coordinates in the metric of the masses; see
`mechanics.projection`, which does the same with bodies. What that changes of energy and momenta goes to the ledger."""

from ..arrays import clear
from ..jit import njit
from ..mechanics.constraints import jacobian_velocity
from ..mechanics.projection import ITERATIONS, NOT_CLOSED, POSITION_ROUNDING, STALE, largest
from ..unchecked import peek, poke
from .books import book_change, books, increase, look, place
from .loops import factor_loops, solve_loops
from .motion import step


@njit
def project(t, z, reduced):
    """Newton on C(u) = 0, then J w = 0, with the factors of the last Newton step if that was small. The rank is that where
    the loops are closed. Returns a status; `look` has been where z is then, and the loops are factored there."""
    system, options = reduced.system, reduced.options[0]
    length, error, change = system.settings[0].length, system.error, reduced.change
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
        step(z, 1.0, change, reduced.tree)
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
    jacobian_velocity(system, reduced.wanted)
    aim(reduced.wanted, reduced)
    for k in range(options.speeds):
        at = options.coordinates + k
        poke(z, at, peek(z, at) + peek(change, k))
    change_particles(z, change, 1, reduced)
    status = look(t, z, reduced)
    book_change(z, before, books(z, reduced), reduced.system)
    return status


@njit
def aim(rates, reduced):
    """The smallest change of the speeds, in the metric of the masses, that takes these rates away from the rows of the
    loops."""
    wanted = reduced.wanted
    for r in range(wanted.shape[0]):
        poke(wanted, r, -peek(rates, r))
    clear(reduced.change)
    solve_loops(reduced.system.multipliers, reduced)


@njit
def change_particles(z, change, momenta, reduced):
    """Move the particles in loops, or change their momenta, by a change of their places or velocities."""
    system, options = reduced.system, reduced.options[0]
    nodes, bodies, settings = system.nodes, system.bodies, system.settings[0]
    at = options.coordinates + options.speeds
    for i in range(nodes.shape[0]):
        factor, to = 1.0, at + 3 * nodes[i].particle
        if momenta != 0:
            factor, to = bodies[settings.rigid + i].mass, to + 3 * settings.particles
        for k in range(3):
            increase(z, to + k, factor * peek(change, options.speeds + 3 * i + k))
