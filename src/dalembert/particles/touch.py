"""Contacts of particles within a step: which hold, and in which directions a particle is locked to what it touches.

A contact with the unit normal n asks n·d ≥ −g of the displacement d of its particle beside that of the body, g its
separation, and f_n ≥ 0 of its force, one of the two an equality; friction keeps the rest of the displacement zero unless that
takes more than μ f_n, and is as much as that, against the slip, if so. Contacts that hold lock their particle in the normal,
and one that sticks in all directions; forces come out as what the locks bear. Then contacts that pull are let go, those that
would be crossed are closed, and sliding and sticking are looked at anew: rounds of linear solves until nothing changes.
"""

from ..collide.particle_tables import CONTACTS, particle_contacts_of, particle_counts_of
from ..jit import inlined, njit
from ..linalg.block_matrix import load_3
from ..mechanics.system import kinematics_of, particle_inverse_mass_of, settings_of
from ..unchecked import peek
from ..vec import add, add_scaled, cross, dot, load3, norm, perpendicular, scale, store3, sub
from .tables import BODY_ROW, EXPLICIT, IMPLICIT_MIDPOINT
from .tables_of import (
    active_of,
    aim_of,
    base_of,
    change_of,
    gradient_of,
    image_of,
    memory_of,
    moved_of,
    options_of,
    place_of,
    report_of,
    stage_of,
    start_of,
    touch_counts_of,
    touches_of,
    wanted_of,
)

INDEPENDENT = 1e-6  # sine of the angle to the plane of the others: a normal that is closer to it adds no direction
SLIP = 1e-9  # of the margin: a smaller displacement is none
PULL = 1e-12  # of the typical force: a smaller one is none
STEADY = 0.02  # of the limit: friction that changes by less is solved for


@njit
def gather_touches(particles, system, steps):
    """The touches of a step from its contacts, which are in the order of their particles: those that would be crossed by
    the motion without them hold, and stick."""
    contacts, inverse = particle_contacts_of(particles), particle_inverse_mass_of(system)
    number = particle_counts_of(particles)[CONTACTS]
    touches, counts = touches_of(steps), touch_counts_of(steps)
    counts[0] = 0
    first = 0
    while first < number:
        particle = contacts[first].particle
        last = first
        while last < number and contacts[last].particle == particle:
            last += 1
        if peek(inverse, particle) > 0.0:
            touch = touches[counts[0]]
            counts[0] += 1
            touch.particle, touch.first, touch.last = particle, first, last
            start_touch(touch, contacts, system, steps)
        first = last


@njit
def start_touch(touch, contacts, system, steps):
    active, i = active_of(steps), 3 * touch.particle
    path = sub(load_3(aim_of(steps), i), origin(steps, i))
    for c in range(touch.first, touch.last):
        contact = contacts[c]
        d = sub(path, carried(contact.body, load3(contact.position), wanted_of(steps), system))
        active[c] = 1 if dot(load3(contact.normal), d) < -part(steps) * contact.separation else 0
    zero = (0.0, 0.0, 0.0)
    touch.stick, touch.changes = 1, 0
    store3(touch.friction, zero)
    store3(touch.force, zero)
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
    touch.stick = was.stick
    along = load3(was.friction)
    n = load3(contacts[nearest].normal)
    store3(touch.friction, add_scaled(along, -dot(along, n), n))


@njit
def remember(steps):
    """Keep what was found, for the next step."""
    memory, touches = memory_of(steps), touches_of(steps)
    for k in range(touch_counts_of(steps)[0]):
        touch = touches[k]
        if touch.locked > 0:
            was = memory[touch.particle]
            was.step, was.stick = report_of(steps)[0].steps + 1, touch.stick
            store3(was.friction, load3(touch.friction))


@inlined
def origin(steps, i):
    """Where contacts were looked for."""
    if options_of(steps)[0].scheme == EXPLICIT:
        return load_3(base_of(steps), i)
    return load_3(start_of(steps), i)


@inlined
def part(steps):
    """How much of the way of a step is behind it at the time of the stage."""
    return 0.5 if options_of(steps)[0].scheme == IMPLICIT_MIDPOINT else 1.0


@inlined
def carried(body, point, motion, system):
    """The displacement of a point of a body, with the displacements and turns in `motion`."""
    if body >= settings_of(system)[0].rigid:
        return (0.0, 0.0, 0.0)
    arm = sub(point, load3(kinematics_of(system)[body].x))
    return add(load_3(motion, BODY_ROW * body), cross(load_3(motion, BODY_ROW * body + 3), arm))


@njit
def lock(touch, contacts, system, steps):
    """The directions in which a touch is locked, and how far it shall go in them beside its carrier: the body of the
    contact with the least separation among those that hold."""
    active = active_of(steps)
    touch.locked, touch.normals, least = 0, 0, 1e300
    touch.body = settings_of(system)[0].rigid
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
            add_axis(touch, scale(1.0 / sine, left), (-part(steps) * contact.separation - known) / sine)
    touch.normals = touch.locked
    if touch.body < settings_of(system)[0].rigid:
        store3(touch.arm, sub(load3(touch.arm), load3(kinematics_of(system)[touch.body].x)))
    if touch.normals > 0 and touch.stick != 0:
        complete_axes(touch)


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
def complete_axes(touch):
    """Lock what is left too, without slip."""
    if touch.locked == 1:
        add_axis(touch, perpendicular(axis_of(touch, 0)), 0.0)
    if touch.locked == 2:
        add_axis(touch, cross(axis_of(touch, 0), axis_of(touch, 1)), 0.0)


@inlined
def locked_part(touch, v):
    """E Eᵀ v of the locked directions E."""
    out = (0.0, 0.0, 0.0)
    for k in range(touch.locked):
        axis = axis_of(touch, k)
        out = add_scaled(out, dot(axis, v), axis)
    return out


@inlined
def body_point(touch, motion, at):
    """δ + θ × r of the carrier at the particle, with `motion` from `at` on: displacement, turn."""
    shift, turn = load_3(motion, at), load_3(motion, at + 3)
    return add(shift, cross(turn, load3(touch.arm)))


@njit
def missing(touch, system, steps):
    """The displacement in the locked directions that is still to be made, beside the carrier's own in this solve."""
    i = 3 * touch.particle
    made = sub(load_3(place_of(steps), i), origin(steps, i))
    if touch.body < settings_of(system)[0].rigid:
        made = sub(made, body_point(touch, moved_of(steps), BODY_ROW * touch.body))
    out = (0.0, 0.0, 0.0)
    for k in range(touch.locked):
        axis = axis_of(touch, k)
        out = add_scaled(out, touch.target[k] - dot(axis, made), axis)
    return out


@njit
def review(particles, system, steps):
    """After a solve, with its displacements in `change` and A·change in `image`: which contacts hold now. Returns how many
    touches changed."""
    contacts, touches = particle_contacts_of(particles), touches_of(steps)
    changed = 0
    for k in range(touch_counts_of(steps)[0]):
        if review_touch(touches[k], contacts, system, steps):
            changed += 1
    return changed


@njit
def review_touch(touch, contacts, system, steps):
    i = 3 * touch.particle
    stage = stage_of(steps)[0]
    borne = add(load_3(image_of(steps), i), load_3(gradient_of(steps), i))  # by locks and friction
    store3(touch.force, add(locked_part(touch, borne), load3(touch.friction)))
    made = add(sub(load_3(place_of(steps), i), origin(steps, i)), load_3(change_of(steps), i))
    changed = let_go(touch, contacts, PULL * stage.typical, steps)
    changed = close(touch, contacts, made, system, steps) or changed
    if not changed and touch.normals > 0:
        changed = rub(touch, contacts, made, system, steps)
    if changed:
        lock(touch, contacts, system, steps)
    return changed


@njit
def let_go(touch, contacts, least, steps):
    """End contacts that pull. With several, the force is shared among their normals as along the axes."""
    active = active_of(steps)
    changed = False
    for c in range(touch.first, touch.last):
        if active[c] != 0 and pressing(touch, load3(contacts[c].normal)) < -least:
            active[c] = 0
            changed = True
    if changed:
        touch.stick = 0
        store3(touch.friction, (0.0, 0.0, 0.0))
    return changed


@inlined
def pressing(touch, n):
    """The part of the force that a contact's normal bears: all of it along its own axis if it is alone."""
    return dot(n, load3(touch.force))


@njit
def close(touch, contacts, made, system, steps):
    """Let contacts hold that would be crossed."""
    active, margin = active_of(steps), options_of(steps)[0].margin
    first = 3 * settings_of(system)[0].particles
    changed = False
    for c in range(touch.first, touch.last):
        contact = contacts[c]
        if active[c] != 0:
            continue
        d = sub(made, carried(contact.body, load3(contact.position), moved_of(steps), system))
        if contact.body < settings_of(system)[0].rigid:
            arm = sub(load3(contact.position), load3(kinematics_of(system)[contact.body].x))
            at = first + BODY_ROW * contact.body
            d = sub(d, add(load_3(change_of(steps), at), cross(load_3(change_of(steps), at + 3), arm)))
        if dot(load3(contact.normal), d) < -part(steps) * contact.separation - SLIP * margin:
            active[c] = 1
            changed = True
    return changed


@njit
def rub(touch, contacts, made, system, steps):
    """Sticking or sliding, and the friction of what slides. Returns whether anything changed."""
    limit = friction_limit(touch, contacts, steps)
    normal = (0.0, 0.0, 0.0)
    for k in range(touch.normals):
        normal = add_scaled(normal, dot(axis_of(touch, k), load3(touch.force)), axis_of(touch, k))
    if touch.stick != 0:
        held = sub(load3(touch.force), normal)
        size = norm(held)
        if size <= limit * (1.0 + STEADY):
            return False
        touch.stick = 0
        store3(touch.friction, scale(limit / size, held))
        return True
    slip = slip_of(touch, made, system, steps)
    size, before = norm(slip), load3(touch.friction)
    if size > SLIP * options_of(steps)[0].margin and dot(slip, before) > 0.0:
        # It is pushed along by its friction, which is too much. Once it may stick instead; then friction gives way by turns.
        touch.stick = 1 if touch.changes == 0 else 0
        touch.changes += 1
        store3(touch.friction, scale(0.0 if touch.stick != 0 else 0.5, before))
        return norm(before) > STEADY * limit
    now = before
    if size > SLIP * options_of(steps)[0].margin:
        now = scale(-limit / size, slip)
    elif norm(before) > 0.0:
        now = scale(limit / norm(before), before)
    store3(touch.friction, now)
    return norm(sub(now, before)) > STEADY * limit


@njit
def friction_limit(touch, contacts, steps):
    """Σ μ f_n."""
    active = active_of(steps)
    total = 0.0
    for c in range(touch.first, touch.last):
        if active[c] != 0:
            total += contacts[c].friction * max(0.0, pressing(touch, load3(contacts[c].normal)))
    return total


@njit
def slip_of(touch, made, system, steps):
    """How far a touch moves along what it touches."""
    slip = made
    if touch.body < settings_of(system)[0].rigid:
        slip = sub(slip, body_point(touch, moved_of(steps), BODY_ROW * touch.body))
        slip = sub(
            slip, body_point(touch, change_of(steps), 3 * settings_of(system)[0].particles + BODY_ROW * touch.body)
        )
    return sub(slip, locked_part(touch, slip))
