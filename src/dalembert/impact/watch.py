"""What ends a stretch of smooth motion: one number that is positive until something happens.

It is the least of what must stay positive:

    separation of features that do not touch yet        g > −tiny
    of contacts that bear no force                      g > −tiny, less than that while they part
    normal force                                        f_n > −tiny
    friction where it sticks                            μ f_n − |f_t| > −tiny
    velocity along the way it slides                    u·d > −tiny
    distance from the rim of a face or the end of an edge

The slack keeps rounding from being an event, and lets the motion go on from the event just handled.
"""

import math

from ..collide.tables import CONTACTS
from ..collide.tables import NEED_ROOM as MORE_ROOM
from ..jit import inlined, njit
from ..mechanics.kinematics import load9
from ..pointer import DERIVATIVE, call_pointer
from ..status import ENDS_RUN, NON_FINITE
from ..unchecked import peek
from ..vec import dot, load3, matvec_t, sub
from .forces import contact_forces
from .geometry import place_touches
from .tables import OPEN, SIDE, SLIDING, STICKING

NEED_ROOM = ENDS_RUN + 50  # status: collision detection needs room

# What the least number is of, in `options.cause`
NOTHING, MEETS, CLOSES, LETS_GO, SLIPS, STOPS, LEAVES = range(7)


@njit
def watch(t, y, values, system, collision, touching):
    """values[0] changes sign from + to − when something happens. Returns a status."""
    options = touching.options[0]
    if options.touches > 0:
        status = call_pointer(options.mechanism, options.mechanism_data, DERIVATIVE, t, y, touching.spare)
        if status == 0:
            status = contact_forces(y, touching.spare, system, touching)
        if status != 0:
            return status
        place_touches(options.touches, system, touching)
    options.cause = NOTHING
    least = math.inf
    for k in range(options.touches):
        value, cause = of_touch(touching.touches[k], k < options.active, options, system, touching)
        if value < least:
            least, options.cause = value, cause
    rigid = system.settings[0].rigid
    status = call_pointer(options.detector, options.detector_data, rigid, options.margin, y, y)
    if status != 0:
        return NEED_ROOM if status == MORE_ROOM else NON_FINITE
    value = nearest(collision, touching)
    if value < least:
        least, options.cause = value, MEETS
    values[0] = least
    return 0


@njit
def of_touch(touch, active, options, system, touching):
    """(number, cause) of one contact."""
    if not active or touch.mode == OPEN:
        slack = options.tiny_gap if touch.velocity[0] < 0.0 else 3.0 * options.tiny_gap
        return touch.gap + slack + touch.slack_gap, CLOSES
    least, cause = touch.force[0] + options.tiny_force, LETS_GO
    if touch.mode == STICKING:
        rubs = math.sqrt(touch.force[1] * touch.force[1] + touch.force[2] * touch.force[2])
        value = touch.friction * touch.force[0] - rubs + touch.slack_cone + options.tiny_force
        if value < least:
            least, cause = value, SLIPS
    if touch.mode == SLIDING:
        f, slide = touch.frame, load3(touch.slide)
        value = options.tiny_speed
        value += touch.velocity[1] * dot((f[3], f[4], f[5]), slide) + touch.velocity[2] * dot((f[6], f[7], f[8]), slide)
        if value < least:
            least, cause = value, STOPS
    value = inside(touch.position, system.kinematics[touch.i], touch.first_i, touch.last_i, touching.sides)
    value = min(value, inside(touch.position, system.kinematics[touch.j], touch.first_j, touch.last_j, touching.sides))
    return (value, LEAVES) if value < least else (least, cause)


@inlined
def inside(position, kin, first, last, sides):
    """How far a point is inside of the rim of a feature."""
    local = matvec_t(load9(kin.rotation), sub(load3(position), load3(kin.x)))
    least = math.inf
    for s in range(first, last):
        at = SIDE * s
        least = min(
            least, peek(sides, at + 3) - dot((peek(sides, at), peek(sides, at + 1), peek(sides, at + 2)), local)
        )
    return least


@njit
def nearest(collision, touching):
    """The least separation of what collision detection finds, but for the contacts that are known."""
    options = touching.options[0]
    contacts = collision.contacts
    least = options.margin
    for c in range(collision.counts[CONTACTS]):
        contact = contacts[c]
        if contact.separation + options.tiny_gap < least and not known(contact, collision, touching):
            least = contact.separation + options.tiny_gap
    return least


@inlined
def known(contact, collision, touching):
    """Whether a point that was found is one of the touches."""
    options = touching.options[0]
    touches = touching.touches
    pair = collision.pairs[contact.pair]
    for k in range(options.touches):
        touch = touches[k]
        if min(touch.a, touch.b) == min(pair.a, pair.b) and max(touch.a, touch.b) == max(pair.a, pair.b):
            d = sub(load3(contact.position), load3(touch.position))
            if dot(d, d) <= options.near * options.near:
                return True
    return False
