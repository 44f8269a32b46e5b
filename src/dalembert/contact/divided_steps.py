"""Steps in parts: what stands on something and hits something else does so where it gets there.

All impulses of a step act at its middle. A wheel with spokes that pivots on one of them and lands on the next would lose its
speed up to half a step before it lands, above the ground. Its centre would cut the corner of its path, by h |u_n|/4 in
height, and each landing would leave m g h |u_n|/4 too much energy.

So a step in which a body hits something is made in parts: one that ends just before the contact closes, one that is an
instant, in which the impulses of the impact act, and the rest. Where two parts meet the velocity is right to second order, so
that of the impact is, and what follows it.

The time follows from the gap g and the velocity u_n at the middle of a trial, g/|u_n| after it. More trials, with their
middle there, make it exact, as Newton's method does. A trial ends before its impulses, so that the time is not sure by as
much as these may do on the way; a part ends so much earlier, and one more follows. Contacts that close after the end of
a part are left to the next. Bodies in flight need none of this: they bounce on their way (`fast`).

It is done in small scenes, for contacts that did not bear force before, close faster than weight adds in a step, and have a
body that stands, or that joints hold.
"""

import math

from ..collide.tables import AWAKE, CONTACTS, PAIRS
from ..collide.tables import FREE as UNLINKED
from ..core.jit import inlined, njit
from ..core.math3 import dot, load3, norm
from .fast import BEYOND, FAR_AHEAD, normal_rate, way_of, weight_in
from .tables import ANGULAR, MOTION, STEP_ROUNDING, three

LATE, LEFT = 1, 2  # `late` of a pair with contacts that were left to this part of a step; that are left to the next
# What happens with contacts that hit: they divide the part of a step, are looked at alone, are left to the next part, close
DIVIDES, PROBES, LEAVES, CLOSES = range(4)
DIVIDED = 60  # status: the step is to be made in parts
INSTANT = 2e-5  # of a step
SOON = 5e-4  # of a step: a contact that closes so soon does so at once, and with it those that close in twice that time
EARLY = 5e-5  # of a step: so much before a hit a part ends, so that nothing overlaps
HARD = 1.0  # times the velocity that weight adds in a step: slower contacts close in the middle of a step
BORE = 1e-9  # m/s: what a contact that bears force adds to the velocities of its bodies, more than rounding
MOST_CONTACTS, MOST_BODIES = 32, 32  # of a scene whose steps are divided
MOST_PARTS, MOST_PROBES = 16, 3  # of a step; of a part of it
MOST_TURN = 0.1  # rad in a step, of bodies that hit


@njit
def divides(tables):
    """Whether this step may be made in parts: that of a small scene, or one that was begun so or has contacts that were left
    to it."""
    system, counts, report = tables.system, tables.collision.counts, tables.stepping.report[0]
    if system.bodies.shape[0] > MOST_BODIES or system.settings[0].stepped != 0 or system.commands.shape[0] > 0:
        return False
    if counts[CONTACTS] <= MOST_CONTACTS or report.parts > 0 or report.hits != DIVIDES:
        return True
    for i in range(counts[PAIRS]):
        if tables.collision.pairs[i].late != 0:
            return True
    return False


@njit
def find_hits(motion, tables):
    """Look for contacts that hit in this part of a step, at the velocities in `motion` before its impulses. Returns whether
    one closes before its end, or this was to be looked at alone; then `hit` of the report is when, from the start of the
    part, and `unsure` how much earlier it may be (s). Those that close later are left to the next part. In an instant, those
    that close soon are closed; if there are none, one that closes later divides it too. Where bodies met on their way to the
    middle, all contacts act there."""
    contacts, pairs, stepping, first = tables.collision.contacts, tables.collision.pairs, tables.stepping, math.inf
    report, h, whole, closed = stepping.report[0], stepping.options[0].dt, stepping.options[0].whole, False
    last, kept, instant = 0.5 * h, 0.0, is_instant(stepping)
    if instant:
        last, kept = 2.0 * SOON * whole, stepping.options[0].kept
    for i in range(tables.collision.counts[CONTACTS] if report.passed != 0 else 0):
        contact = contacts[i]
        u = normal_rate(contact, motion)
        if not is_hit(contact, u, motion, tables):
            if instant:
                keep_apart(contact, tables)
            continue
        fall = fall_of(contact, contact.b, tables) - fall_of(contact, contact.a, tables)
        time = -(contact.separation + 0.125 * fall * h * h) / u  # after the middle
        hit = 0.5 * h + time
        unsure = 0.5 * hit * weight_of(contact, hit, tables) / abs(u)  # by what forces may do on the way
        divides_part = report.hits == PROBES or (report.hits == DIVIDES and time < last + unsure)
        leaves = report.hits == LEAVES or (time >= last and contact.separation > kept)
        if (divides_part or (instant and leaves)) and hit < first:
            first = hit
            report.hit, report.unsure = hit, unsure
        if leaves and not divides_part:
            if report.hits == DIVIDES and turns_far(contact, motion, whole):
                continue
            contact.separation += BEYOND * way_of(contact, motion, tables)[2] * (time_to_close(stepping) / h)
            pairs[contact.pair].late = LEFT
        elif not divides_part:
            closed = True
            contact.separation = min(contact.separation, 0.0)
    if report.hits == PROBES or (first < math.inf and not closed):
        return True
    for i in range(tables.collision.counts[PAIRS]):
        pairs[i].late = LATE if pairs[i].late == LEFT else 0
    return False


@njit
def is_hit(contact, u, motion, tables):
    """Whether a contact that closes at the velocity u (m/s) hits hard, and has a body that stands; and none that moves or
    turns so far in a step that it meets another place than this."""
    if u >= 0.0:
        return False
    whole = tables.stepping.options[0].whole
    weight, report = weight_of(contact, whole, tables), tables.stepping.report[0]
    known = report.parts > 0 or report.hits != DIVIDES
    hard = 0.5 * HARD if known else HARD  # so that one that is found once is found again
    reach = (weight - u) * whole
    if -u <= hard * weight or abs(contact.separation) >= reach or bears(contact, whole, tables):
        return False
    if reach > FAR_AHEAD * way_of(contact, motion, tables)[0]:
        return False
    if known or tables.collision.pairs[contact.pair].late != 0:
        return True
    standing = stands(contact.a, tables) or stands(contact.b, tables)
    return standing and not turns_far(contact, motion, whole)


@inlined
def turns_far(contact, motion, h):
    """Whether a body of a contact turns so far within h (s) that the time of a hit cannot be told ahead."""
    a, b = three(motion, MOTION * contact.a + ANGULAR), three(motion, MOTION * contact.b + ANGULAR)
    return h * max(norm(a), norm(b)) > MOST_TURN


@inlined
def keep_apart(contact, tables):
    """Bodies that nearly touch do not meet in an instant, but may be made to approach each other by its impacts. They get no
    faster than they may be until the next middle of a part: their gap is that which they may close in an instant."""
    options, next_drift = tables.stepping.options[0], drift_ahead(tables.stepping)
    if 0.0 < contact.separation < max(options.kept, next_drift * weight_of(contact, options.whole, tables)):
        contact.separation *= options.dt / next_drift


@inlined
def bore(contact, tables):
    """Whether a contact bore force in the last step."""
    bodies, inverse_mass = tables.system.bodies, 0.0
    for body in (contact.a, contact.b):
        if body < bodies.shape[0]:
            inverse_mass += bodies[body].inverse_mass
    return contact.impulse[0] * inverse_mass > BORE


@inlined
def bears(contact, whole, tables):
    """Whether a contact bore force in the last step, and was not left closing by it, as one that had a gap then."""
    return bore(contact, tables) and contact.after[0] > -HARD * weight_of(contact, whole, tables)


@inlined
def weight_of(contact, h, tables):
    """The velocity that forces add to the bodies of a contact within h (s), m/s."""
    return weight_in(contact.a, h, tables) + weight_in(contact.b, h, tables)


@njit
def fall_of(contact, body, tables):
    """The acceleration of a body along the normal of a contact, m/s²: by its forces, if nothing bears it, else about zero."""
    if body >= tables.system.bodies.shape[0] or is_borne(body, tables):
        return 0.0
    return tables.system.bodies[body].inverse_mass * dot(
        load3(contact.frame), load3(tables.system.kinematics[body].force)
    )


@njit
def stands(body, tables):
    """Whether a body stands on something, or joints hold it."""
    if body >= tables.system.bodies.shape[0] or tables.system.bodies[body].inverse_mass == 0.0:
        return False
    return tables.collision.linked[body] != UNLINKED or is_borne(body, tables)


@njit
def is_borne(body, tables):
    """Whether a body sleeps, or a contact bears it."""
    contacts, whole = tables.collision.contacts, tables.stepping.options[0].whole
    if tables.collision.asleep[body] != AWAKE:
        return True
    for i in range(tables.collision.counts[CONTACTS]):
        contact = contacts[i]
        if (contact.a == body or contact.b == body) and bears(contact, whole, tables):
            return True
    return False


@inlined
def drift_ahead(stepping):
    """The time (s) from the middle of this step, or of this part of it, until the next."""
    options, report = stepping.options[0], stepping.report[0]
    after = options.whole - report.done - options.dt
    if after <= STEP_ROUNDING * options.whole:
        after = options.whole
    elif report.hits == LEAVES:
        after = options.dt  # so that velocities are tangent to the paths at its end, where bodies hit
    return 0.5 * (options.dt + after)


@inlined
def time_to_close(stepping):
    """In what time (s) a gap may close after the middle: until the next one, where contacts act again. In an instant, gaps
    that must not close so soon are made smaller (`keep_apart`)."""
    return stepping.options[0].dt if is_instant(stepping) else drift_ahead(stepping)


@inlined
def happens_later(hit, whole):
    """Whether a hit after so many seconds ends a part of a step; else it is in an instant, now."""
    return hit > SOON * whole


@inlined
def happens_at(hit, expected, whole):
    """Whether a hit is where it was expected (s)."""
    return abs(hit - expected) <= SOON * whole


@inlined
def time_until_hit(report, whole):
    """How long a part is that ends before a hit (s)."""
    time = report.hit - EARLY * whole
    return time - report.unsure if time > report.unsure + SOON * whole else time


@inlined
def instant_of(whole):
    """How long an instant is (s)."""
    return INSTANT * whole


@inlined
def is_instant(stepping):
    """Whether the part of a step that is made now is an instant: what overlaps is not moved apart in it, as that would open
    gaps that are far for so short a time."""
    return stepping.report[0].hits == CLOSES and stepping.options[0].dt <= instant_of(stepping.options[0].whole)
