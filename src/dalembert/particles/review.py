"""What contacts of particles bear after a linear solve, and which of them hold then; see `touch`."""

from ..jit import inlined, njit
from ..linalg.block_matrix import load_3
from ..unchecked import peek
from ..vec import add, dot, load3, norm, store3, sub
from .lock import lock
from .touch import CREEP, carried, friction_at, locked_part, part, slip_of, tangent_part

CROSSED = 1e-9  # of the margin: contacts that would be crossed by less are not closed
PULL = 1e-12  # of the typical force: a smaller one is none
FRICTION_UNTIL, CONTACTS_UNTIL = 8, 20  # steps of Newton's method after which they are no longer looked at
RETURNS = 2  # how often in a step what slides may stick again
FIRMEST = 100.0  # of what its own mass resists with: the strongest pull on what slides, which matrices bear well
STEADY = 1e-3  # of the limit: friction that is right to this is left


@njit
def measure_touches(system, steps):
    """After a solve, with its displacements in `change` and A·change in `image`: what contacts bear."""
    touches = steps.touches
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        i = 3 * touch.particle
        borne = add(load_3(steps.image, i), load_3(steps.gradient, i))
        friction = friction_at(touch, 1.0, 1.0, system, steps)
        store3(touch.friction, friction)
        store3(touch.force, add(locked_part(touch, borne), friction))


@njit
def review(iteration, particles, system, steps):
    """Which contacts hold now that their forces are known. Returns how many touches began or ended contacts, and of how many
    the friction changed. Late in a stage friction, and then contacts, stay as they are, so that Newton's method can end."""
    contacts, touches = particles.contacts, steps.touches
    changed, rubbed = 0, 0
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        if iteration >= CONTACTS_UNTIL:
            continue
        now = let_go(touch, contacts, PULL * steps.stage[0].typical, steps)
        now = close(touch, contacts, system, steps) or now
        changed += 1 if now else 0
        if not now and touch.normals > 0 and iteration < FRICTION_UNTIL:
            now = rub(touch, contacts, system, steps)
            rubbed += 1 if now else 0
        if now:
            lock(touch, contacts, system, steps)
    return changed, rubbed


@njit
def let_go(touch, contacts, least, steps):
    """End contacts that pull. With several, the force is shared among their normals as along the axes."""
    active = steps.active
    changed = False
    for c in range(touch.first, touch.last):
        if active[c] != 0 and pressing(touch, load3(contacts[c].normal)) < -least:
            active[c] = 0
            changed = True
    if changed:
        touch.stick, touch.grip = 0, 0.0
    return changed


@inlined
def pressing(touch, n):
    """The part of the force that a contact's normal bears: all of it along its own axis if it is alone."""
    return dot(n, load3(touch.force))


@njit
def close(touch, contacts, system, steps):
    """Let contacts hold that would be crossed."""
    active, margin = steps.active, steps.options[0].margin
    i, first = 3 * touch.particle, 3 * system.settings[0].particles
    made = add(sub(load_3(steps.place, i), load_3(steps.start, i)), load_3(steps.change, i))
    changed = False
    for c in range(touch.first, touch.last):
        contact = contacts[c]
        if active[c] != 0:
            continue
        point = load3(contact.position)
        d = sub(made, carried(contact.body, point, steps.moved, 0, system))
        d = sub(d, carried(contact.body, point, steps.change, first, system))
        if dot(load3(contact.normal), d) < -part(steps) * contact.separation - CROSSED * margin:
            active[c] = 1
            changed = True
    return changed


@njit
def rub(touch, contacts, system, steps):
    """Sticking or sliding, and how strongly what slides is pulled back. Returns whether that changed by much."""
    limit = friction_limit(touch, contacts, steps)
    if touch.stick != 0:
        held = load3(touch.force)
        size = norm(tangent_part(touch, held))
        if size <= limit * (1.0 + STEADY):
            return False
        # If nothing else held it, it would slide by about this:
        mass = peek(system.particle_mass, touch.particle)
        touch.stick, touch.grip = 0, steps.stage[0].weight * mass * limit / (size - limit)
        return True
    least = CREEP * steps.stage[0].tau
    size = norm(slip_of(touch, 1.0, 1.0, system, steps))
    if abs(touch.grip * size - limit) <= STEADY * limit or (size <= least and touch.grip * size <= limit):
        return False
    # Alone, it would slip by b/(a + κ) under the force b, and κ s = μ f_n is where κ = a μ f_n/(b − μ f_n). Where b is no
    # more than μ f_n it sticks; what comes to that again and again is left to creep.
    a = steps.stage[0].weight * peek(system.particle_mass, touch.particle)
    beyond = size * (a + touch.grip) - limit
    if beyond * FIRMEST > limit:
        touch.grip = a * limit / beyond
    elif touch.returns < RETURNS:
        touch.returns += 1
        touch.stick, touch.grip = 1, 0.0
    elif touch.grip < FIRMEST * a:
        touch.grip = FIRMEST * a
    else:
        return False
    return True


@njit
def friction_limit(touch, contacts, steps):
    """Σ μ f_n."""
    active = steps.active
    total = 0.0
    for c in range(touch.first, touch.last):
        if active[c] != 0:
            total += contacts[c].friction * max(0.0, pressing(touch, load3(contacts[c].normal)))
    return total
