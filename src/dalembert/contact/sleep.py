"""Falling asleep, where the user asked for it: islands of bodies that have been slow for a while are left alone.

What is left of their motion is taken from them, and booked: the energy as work of projection, which is an error of the
energy, the momenta as reactions from outside. While they sleep what bears them bears the forces on them. `collide.sleep`
tells how they wake.
"""

from ..collide.tables import AWAKE, ISLANDS
from ..jit import njit
from ..model.tables import LEDGER, PROJECTION_WORK, STATE_SIZE
from ..unchecked import peek, poke
from ..vec import add, cross, dot, load3, scale
from .impulses import book_reaction
from .tables import ANGULAR, LINEAR, MOTION
from .velocities import three


@njit
def bear_sleeper(body, h, y, system):
    """What bears a body that sleeps answers the forces on it over h."""
    kin = system.kinematics[body]
    force, torque = scale(-h, load3(kin.force)), scale(-h, load3(kin.torque))
    book_reaction(y, force, add(cross(three(y, STATE_SIZE * body), force), torque))


@njit
def fall_asleep(y, system, collision, stepping):
    """Watch who is slow, at the end of a step, and put to sleep the islands in which all have been so for long enough."""
    options, report = stepping.options[0], stepping.report[0]
    asleep, slow, motion = collision.asleep, stepping.slow, stepping.motion
    for body in range(system.bodies.shape[0]):
        slow[body] += options.dt
        if 2.0 * kinetic_energy(body, y, motion) > system.bodies[body].mass * options.sleep_speed**2:
            slow[body] = min(slow[body], 0.0)
    islands, members = collision.islands, collision.members
    for i in range(collision.counts[ISLANDS]):
        island = islands[i]
        tired = True
        for m in range(island.first_member, island.end_member):
            tired = tired and slow[members[m]] >= options.sleep_after
        if tired:
            report.naps += 1
            for m in range(island.first_member, island.end_member):
                asleep[members[m]] = AWAKE + report.naps
                stop(members[m], y, motion)


@njit
def kinetic_energy(body, y, motion):
    """½ (P·v + L·ω), J."""
    at, to = STATE_SIZE * body, MOTION * body
    return 0.5 * (
        dot(three(y, at + 7), three(motion, to + LINEAR)) + dot(three(y, at + 10), three(motion, to + ANGULAR))
    )


@njit
def stop(body, y, motion):
    """Take its motion from a body, and book it."""
    at = STATE_SIZE * body
    x, momentum, moment = three(y, at), three(y, at + 7), three(y, at + 10)
    entry = y.shape[0] - len(LEDGER) + PROJECTION_WORK
    poke(y, entry, peek(y, entry) - kinetic_energy(body, y, motion))
    book_reaction(y, scale(-1.0, momentum), scale(-1.0, add(cross(x, momentum), moment)))
    for k in range(at + 7, at + STATE_SIZE):
        poke(y, k, 0.0)
