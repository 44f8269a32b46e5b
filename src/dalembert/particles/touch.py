"""Contacts of particles within a step: which hold, and in which directions a particle is locked to what it touches.

A contact with the unit normal n asks n·d ≥ −g of the displacement d of its particle beside that of the body, g its
separation, and f_n ≥ 0 of its force, one of the two an equality; friction keeps the rest s of the displacement zero unless
that takes more than μ f_n, and is as much as that, against s, if so. Contacts that hold lock their particle in the normal,
and one that sticks in all directions; forces come out as what the locks bear. One that slides is pulled back by −κ s with
κ = μ f_n/|s| as found before, which belongs to the matrix, so that no slip is turned round. Then contacts that pull are let
go, those that would be crossed are closed, and friction is looked at anew: rounds of linear solves until little changes.
"""

from ..collide.particle_tables import CONTACTS, particle_contacts_of, particle_counts_of
from ..jit import inlined, njit
from ..linalg.block_matrix import add_3, load_3
from ..mechanics.kinematics import load9
from ..mechanics.system import kinematics_of, particle_inverse_mass_of, settings_of
from ..unchecked import peek
from ..vec import add, add_scaled, cross, dot, load3, matvec, norm, perpendicular, scale, store3, sub, unit
from .tables import BODY_ROW, EXPLICIT, IMPLICIT_MIDPOINT
from .tables_of import (
    active_of,
    aim_of,
    attachments_of,
    base_of,
    change_of,
    memory_of,
    moved_of,
    options_of,
    place_of,
    report_of,
    stage_of,
    start_of,
    tied_of,
    touch_counts_of,
    touches_of,
    wanted_of,
)

INDEPENDENT = 1e-6  # sine of the angle to the plane of the others: a normal that is closer to it adds no direction
CREEP = 1e-5  # m/s: what slides more slowly may as well stick


@njit
def gather_touches(particles, system, steps):
    """The touches of a step from its contacts, which are in the order of their particles: those that would be crossed by
    the motion without them hold, and stick."""
    contacts, inverse = particle_contacts_of(particles), particle_inverse_mass_of(system)
    number = particle_counts_of(particles)[CONTACTS]
    touches, counts, tied = touches_of(steps), touch_counts_of(steps), tied_of(steps)
    first = 0
    while first < number:
        particle = contacts[first].particle
        last = first
        while last < number and contacts[last].particle == particle:
            last += 1
        if peek(inverse, particle) > 0.0 and (tied.shape[0] == 0 or tied[particle] == 0):
            touch = touches[counts[0]]
            counts[0] += 1
            touch.particle, touch.first, touch.last = particle, first, last
            start_touch(touch, contacts, system, steps)
        first = last


@njit
def gather_attachments(system, steps):
    """Particles that are attached to bodies are locked to them, whatever they bear, and brought back where they drifted."""
    attachments, touches, counts = attachments_of(steps), touches_of(steps), touch_counts_of(steps)
    kinematics = kinematics_of(system)
    for k in range(attachments.shape[0]):
        attachment, touch = attachments[k], touches[counts[0]]
        counts[0] += 1
        kin = kinematics[attachment.body]
        arm = matvec(load9(kin.rotation), load3(attachment.anchor))
        touch.particle, touch.first, touch.last, touch.body = attachment.particle, 0, 0, attachment.body
        touch.locked, touch.normals, touch.stick, touch.grip = 0, 0, 1, 0.0
        store3(touch.arm, arm)
        store3(touch.force, (0.0, 0.0, 0.0))
        store3(touch.friction, (0.0, 0.0, 0.0))
        off = sub(add(load3(kin.x), arm), load_3(start_of(steps), 3 * attachment.particle))
        omega, tau = load3(kin.omega), part(steps) * options_of(steps)[0].dt
        if options_of(steps)[0].scheme == EXPLICIT:
            tau *= 0.5
        bend = scale(0.5 * tau * tau, cross(omega, cross(omega, arm)))  # of the way: turns add up to first order only
        for c in range(3):
            add_axis(touch, unit(c), off[c] + bend[c])


@njit
def start_touch(touch, contacts, system, steps):
    active, i = active_of(steps), 3 * touch.particle
    path = sub(load_3(aim_of(steps), i), load_3(start_of(steps), i))
    for c in range(touch.first, touch.last):
        contact = contacts[c]
        d = sub(path, carried(contact.body, load3(contact.position), wanted_of(steps), 0, system))
        active[c] = 1 if dot(load3(contact.normal), d) < -part(steps) * contact.separation else 0
    touch.stick, touch.grip, touch.returns, touch.body = 1, 0.0, 0, settings_of(system)[0].rigid
    store3(touch.friction, (0.0, 0.0, 0.0))
    store3(touch.force, (0.0, 0.0, 0.0))
    recall(touch, contacts, steps)
    lock(touch, contacts, system, steps)


# What rests or slides now most likely did so in the step before.
@njit
def recall(touch, contacts, steps):
    """Begin with what was found for this particle in the step before, if it touches."""
    memory, active = memory_of(steps), active_of(steps)
    was = memory[touch.particle]
    if was.step != report_of(steps)[0].steps:
        return
    nearest = touch.first
    for c in range(touch.first, touch.last):
        if contacts[c].separation < contacts[nearest].separation:
            nearest = c
    active[nearest] = 1
    touch.stick, touch.grip = was.stick, was.grip


@njit
def remember(steps):
    """Keep what was found, for the next step."""
    if options_of(steps)[0].contacts == 0:
        return
    memory, touches = memory_of(steps), touches_of(steps)
    for k in range(touch_counts_of(steps)[0]):
        touch = touches[k]
        if touch.locked > 0:
            was = memory[touch.particle]
            was.step, was.stick, was.grip = report_of(steps)[0].steps + 1, touch.stick, touch.grip
            if touch.stick == 0 and norm(load3(touch.friction)) > touch.grip * CREEP * stage_of(steps)[0].tau:
                continue
            was.stick, was.grip = 1, 0.0


@inlined
def part(steps):
    """How much of the way of a step is behind it at the time of the stage."""
    return 0.5 if options_of(steps)[0].scheme == IMPLICIT_MIDPOINT else 1.0


@inlined
def carried(body, point, motion, first, system):
    """The displacement of a point of a body, with the displacements and turns that are in `motion` from `first` on."""
    if body >= settings_of(system)[0].rigid:
        return (0.0, 0.0, 0.0)
    return shifted(motion, first + BODY_ROW * body, sub(point, load3(kinematics_of(system)[body].x)))


@inlined
def shifted(motion, at, arm):
    """δ + θ × r at the arm r of a body, with δ and θ that are at `at`."""
    return add(load_3(motion, at), cross(load_3(motion, at + 3), arm))


@njit
def lock(touch, contacts, system, steps):
    """The directions in which a touch is locked, and how far it shall go in them beside its carrier: the body of the
    contact with the least separation among those that hold."""
    active = active_of(steps)
    touch.locked, touch.normals, least = 0, 0, 1e300
    for c in range(touch.first, touch.last):
        if active[c] == 0:
            continue
        contact = contacts[c]
        if contact.separation < least:
            least = contact.separation
            touch.body = contact.body
            store3(touch.arm, load3(contact.position))
        n = load3(contact.normal)
        known, left = 0.0, n
        for k in range(touch.locked):
            axis = axis_of(touch, k)
            share = dot(n, axis)
            known += share * touch.target[k]
            left = add_scaled(left, -share, axis)
        sine = norm(left)
        if touch.locked < 3 and sine > INDEPENDENT:
            add_axis(touch, scale(1.0 / sine, left), (landing(touch.particle, contact, system, steps) - known) / sine)
    touch.normals = touch.locked
    if touch.normals > 0 and touch.body < settings_of(system)[0].rigid:
        store3(touch.arm, sub(load3(touch.arm), load3(kinematics_of(system)[touch.body].x)))
    if touch.normals > 0 and touch.stick != 0:
        complete_axes(touch, system, steps)


# A contact that closes ends with no velocity along its normal, or with a bounce; what is left of a gap is closed, and an
# overlap is not opened, as that would take a velocity: `books` puts it right. The explicit scheme has moved for half a step
# before; the midpoint rule ends with twice the velocity of its stage less the one before.
@njit
def landing(particle, contact, system, steps):
    """How far a contact's particle shall go along its normal, since contacts were looked for, beside the body."""
    options, n = options_of(steps)[0], load3(contact.normal)
    v, c = velocities_before(particle, contact.body, load3(contact.position), system, steps)
    closing, e = dot(n, sub(v, c)), contact.restitution
    first = 0.5 * options.dt * dot(n, v) if options.scheme == EXPLICIT else 0.0
    gap = contact.separation + first
    if options.scheme == IMPLICIT_MIDPOINT:
        return 0.25 * options.dt * (1.0 - e) * closing if closing < 0.0 else -0.5 * max(gap, 0.0)
    if e > 0.0 and closing < 0.0:
        return first - e * closing * (0.5 * options.dt if options.scheme == EXPLICIT else options.dt)
    return first - max(gap, 0.0)


@njit
def velocities_before(particle, body, point, system, steps):
    """Of a particle at the start of the step, and of a point of a body, in world axes, where contacts were looked for."""
    n = settings_of(system)[0].particles
    v = scale(peek(particle_inverse_mass_of(system), particle), load_3(start_of(steps), 3 * (n + particle)))
    if body >= settings_of(system)[0].rigid:
        return v, (0.0, 0.0, 0.0)
    kin = kinematics_of(system)[body]
    return v, add(load3(kin.v), cross(load3(kin.omega), sub(point, load3(kin.x))))


@inlined
def axis_of(touch, k):
    return (touch.axes[3 * k], touch.axes[3 * k + 1], touch.axes[3 * k + 2])


@inlined
def add_axis(touch, axis, target):
    for k in range(3):
        touch.axes[3 * touch.locked + k] = axis[k]
    touch.target[touch.locked] = target
    touch.locked += 1


@njit
def complete_axes(touch, system, steps):
    """Lock what is left too, so that the step ends without slip; see `landing`."""
    options = options_of(steps)[0]
    point = load3(touch.arm)
    if touch.body < settings_of(system)[0].rigid:
        point = add(point, load3(kinematics_of(system)[touch.body].x))
    v, c = velocities_before(touch.particle, touch.body, point, system, steps)
    way = (0.0, 0.0, 0.0)
    if options.scheme == EXPLICIT:
        way = scale(0.5 * options.dt, v)
    elif options.scheme == IMPLICIT_MIDPOINT:
        way = scale(0.25 * options.dt, sub(v, c))
    if touch.locked == 1:
        axis = perpendicular(axis_of(touch, 0))
        add_axis(touch, axis, dot(axis, way))
    if touch.locked == 2:
        axis = cross(axis_of(touch, 0), axis_of(touch, 1))
        add_axis(touch, axis, dot(axis, way))


@inlined
def part_along(touch, axes, v):
    """The part of v in the span of so many axes."""
    out = (0.0, 0.0, 0.0)
    for k in range(axes):
        axis = axis_of(touch, k)
        out = add_scaled(out, dot(axis, v), axis)
    return out


@inlined
def locked_part(touch, v):
    """E Eᵀ v of the locked directions E."""
    return part_along(touch, touch.locked, v)


@inlined
def free_part(touch, v):
    return sub(v, locked_part(touch, v))


@inlined
def normal_part(touch, v):
    """The part of v in the span of the normals."""
    return part_along(touch, touch.normals, v)


@inlined
def tangent_part(touch, v):
    return sub(v, normal_part(touch, v))


@inlined
def slides(touch):
    """Whether friction pulls at it."""
    return touch.grip != 0.0 and touch.stick == 0 and touch.normals > 0


@inlined
def body_point(touch, motion, at):
    """δ + θ × r of the carrier at the particle, with `motion` from `at` on: displacement, turn."""
    return shifted(motion, at, load3(touch.arm))


@inlined
def push_carrier(touch, force, values, at):
    """Add a force on the carrier at the particle, and its moment, to the six numbers at `at`."""
    add_3(values, at, force)
    add_3(values, at + 3, cross(load3(touch.arm), force))


@njit
def missing(touch, system, steps):
    """The displacement in the locked directions that is still to be made, beside the carrier's own in this solve."""
    i = 3 * touch.particle
    made = sub(load_3(place_of(steps), i), load_3(start_of(steps), i))
    if touch.body < settings_of(system)[0].rigid:
        made = sub(made, body_point(touch, moved_of(steps), BODY_ROW * touch.body))
    out = (0.0, 0.0, 0.0)
    for k in range(touch.locked):
        axis = axis_of(touch, k)
        out = add_scaled(out, touch.target[k] - dot(axis, made), axis)
    return out


@njit
def friction_at(touch, share, body_share, system, steps):
    """−κ s of what slides, at `place` and so much of `change` further on, for the particle and for its carrier."""
    if not slides(touch):
        return (0.0, 0.0, 0.0)
    return scale(-touch.grip, slip_of(touch, share, body_share, system, steps))


@njit
def slip_of(touch, share, body_share, system, steps):
    """How far a touch has moved along what it touches, at `place` and so much of `change` further on."""
    i, n = 3 * touch.particle, 3 * settings_of(system)[0].particles
    slip = add_scaled(sub(load_3(place_of(steps), i), slid_from(i, steps)), share, load_3(change_of(steps), i))
    if touch.body < settings_of(system)[0].rigid:
        slip = sub(slip, body_point(touch, moved_of(steps), BODY_ROW * touch.body))
        slip = add_scaled(slip, -body_share, body_point(touch, change_of(steps), n + BODY_ROW * touch.body))
    return tangent_part(touch, slip)


@inlined
def slid_from(i, steps):
    """Where slip is counted from: the start of what a stage moves, of which the explicit scheme has half a step behind it."""
    if options_of(steps)[0].scheme == EXPLICIT:
        return load_3(base_of(steps), i)
    return load_3(start_of(steps), i)
