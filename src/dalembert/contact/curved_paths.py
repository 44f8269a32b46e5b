"""Contacts that last while bodies turn: where the path of a contact is curved.

The impulses of a step act at one place, and bodies drift from there to the next. A body that rolls, rocks, or slides with
one end on the ground turns on the way. So a contact that has u⁺ = 0 after one middle of a step has, before the next,

    u⁻ = u⁺ + 2 b,     2 b = h J̇ v,

without any force: it opens if the surfaces curve away from each other along the path, and closes otherwise. With the law
u⁺ = 0 each impulse p would end this velocity, and do the work p · ½ (u⁻ + u⁺) = p · b: an ellipsoid that rocks on a smooth
floor would lose half of its energy in two seconds, at 240 steps a second. The law for such a contact is therefore

    u_n⁺ + b_n ≥ 0 ⊥ p_n ≥ 0,     friction opposes u_t⁺ + b_t,

with the *bend* b. Then velocities are −b after a middle and +b before the next; the mean over the drift is zero, the gap is
the same at each middle, and the impulse does no work. This is the law of joints in a step, J (v⁻ + v⁺) = 0 (`joints`), for
contacts that stay closed; Coulomb's law has the velocity that the contact has half a drift later, where two steps meet.

On the last drift the velocity has changed by 2 c = u⁻ − u⁺ of the step before, the *curve* c; on the one before by 2 c′. At
the middle between the last drift and the next it is b = 3/2 c − 1/2 c′, and p · ½ (u⁻ + u⁺) = ¼ p · (c − 2 c′ + c″).

A contact has a bend if the same features touched in the step before, it bore force or is closed, and nothing has hit its
bodies since. It has none along a direction in which c and c′ differ by more than half: then the features have moved on, or
the contact is new. Nor may a bend push bodies apart faster than they approach, or move them faster than they slide, so that
alone it brings no energy. Where one contact has a bend, and another of the same body has none, as it is new, both together
may: p · ½ (u_free + u⁺) > 0 summed over them, u_free without impulses. Such an island is solved again without bends.
Compliant and perfectly elastic contacts, and those of large islands have none, nor do those beside particles with steps of
their own.
"""

import math

from ..collide.islands import LARGE
from ..collide.tables import ISLANDS, UNSEEN
from ..core.jit import inlined, njit
from ..core.math3 import add, dot, load3, norm, scale, store3, sub
from ..core.simd import load
from .divided_steps import bore, drift_ahead, is_instant
from .fast import ELASTIC
from .gauss_seidel import axes_of, world_impulse
from .tables import (
    BEFORE,
    INVERSE_MASS,
    LINEAR,
    MOTION,
    ROW,
    copy_velocities,
    in_joint_space,
    put_three,
    relative_velocity,
    three,
)

AT_START = 2  # `jolted`: velocities were noted where the run began, half a step ago
SAME = 1e-9  # of its speed: a body whose velocity has changed by less was not hit
BOUNCE = 2.0  # times the bend: what a contact with restitution moves at before a step that has bounced, or is about to
GAINED = 1e-9  # of the energy that contacts turn over, by rounding
SHORT = 0.05  # of a step: a drift that tells nothing of a curve, as rounding is large in it
STEADY = 0.5  # of the larger of both: what changed by more from drift to drift is no curve


@inlined
def has_bends(island, tables):
    """Whether contacts of an island have bends; none beside particles with steps of their own, which push bodies between two
    middles. Those of compliant contacts are removed later (`surface_laws.fill_law`)."""
    return island.end - island.first < LARGE and tables.system.settings[0].stepped == 0


@njit
def set_bends(motion, tables):
    """Write the bend of each contact, from its velocities before this step, in `rows`, and after the last. motion : the
    velocities of bodies before this step."""
    collision, stepping = tables.collision, tables.stepping
    whole, drift = stepping.options[0].whole, last_drift(stepping)
    part, ahead = 0.5 * (whole / drift), drift_ahead(stepping) / whole
    for k in range(collision.counts[ISLANDS]):
        island = collision.islands[k]
        if not has_bends(island, tables):
            continue
        for i in range(island.first, island.end):
            contact = collision.contacts[i]
            if contact.after[0] != UNSEEN and drifted(contact.a, motion, tables) and drifted(contact.b, motion, tables):
                before, old = three(stepping.rows, ROW * i + BEFORE), load3(contact.curve)
                curve = scale(part, sub(before, load3(contact.after))) if drift > SHORT * whole else old
                driven = is_driven(contact.a, motion, tables) or is_driven(contact.b, motion, tables)
                known = driven or old[0] != 0.0 or old[1] != 0.0 or old[2] != 0.0
                bend = bend_of(ahead, curve, old if known else curve, before)
                store3(contact.curve, curve)
                hits = is_instant(stepping) and not bore(contact, tables)
                if not hits and lasts(
                    contact, bend, before, stepping.options[0].kept + stepping.options[0].dt * abs(bend[0])
                ):
                    store3(contact.bend, bend)
            else:
                store3(contact.curve, (0.0, 0.0, 0.0))


@inlined
def last_drift(stepping):
    """The time since the last middle of a step, or of a part of it (s)."""
    last = 0.0 if stepping.report[0].jolted == AT_START else stepping.report[0].last
    return 0.5 * (last + stepping.options[0].dt)


@inlined
def lasts(contact, bend, before, gap):
    """Whether a contact bore force or is closed, over a gap of at most so much (m); and does not bounce."""
    if contact.restitution > ELASTIC or (contact.restitution > 0.0 and abs(before[0]) > BOUNCE * abs(bend[0])):
        return False
    return contact.impulse[0] > 0.0 or (contact.separation <= gap and contact.restitution == 0.0)


@inlined
def bend_of(ahead, curve, old, before):
    """The bend (n, t, s) for the drift `ahead`, in steps, from the curve of the last drift and that of the one before, for a
    step each, and the velocity u⁻."""
    normal = ahead * (1.5 * curve[0] - 0.5 * old[0])
    if abs(curve[0] - old[0]) > STEADY * max(abs(curve[0]), abs(old[0])):
        normal = 0.0
    normal = max(normal, min(before[0], 0.0))
    t, s = ahead * (1.5 * curve[1] - 0.5 * old[1]), ahead * (1.5 * curve[2] - 0.5 * old[2])
    apart = (curve[1] - old[1]) ** 2 + (curve[2] - old[2]) ** 2
    if apart > STEADY**2 * max(curve[1] ** 2 + curve[2] ** 2, old[1] ** 2 + old[2] ** 2):
        return (normal, 0.0, 0.0)
    size, most = t * t + s * s, before[1] ** 2 + before[2] ** 2
    share = math.sqrt(most / size) if size > most else 1.0
    return (normal, share * t, share * s)


@inlined
def is_driven(body, motion, tables):
    """Whether a body moves by command."""
    return body < tables.system.bodies.shape[0] and load(motion, MOTION * body + INVERSE_MASS) == 0.0


@njit
def drifted(body, motion, tables):
    """Whether impulses have not changed the velocity of a body since the last middle of a step."""
    stepping = tables.stepping
    if stepping.report[0].jolted != 1 or body >= tables.system.bodies.shape[0] or is_driven(body, motion, tables):
        return True
    now = three(motion, MOTION * body + LINEAR)
    return norm(sub(now, three(stepping.last_speeds, 3 * body))) <= SAME * norm(now)


@njit
def drop_bends(island, tables):
    """Remove the bends of an island whose contacts bring energy, more than by what is left of the law, and its impulses from
    `motion`; not where joints hold it, or surfaces resist turning. Returns whether it had some."""
    contacts, free, now = tables.collision.contacts, tables.stepping.free_motion, tables.stepping.motion
    if not has_bends(island, tables) or in_joint_space(tables) or island.jointed != 0 or island.surfaces != 0:
        return False
    work, size, pushes, bent = 0.0, 0.0, 0.0, False
    for i in range(island.first, island.end):
        contact = contacts[i]
        (n, t, s), (p_n, p_t, p_s) = axes_of(contact), load3(contact.impulse)
        p = world_impulse(n, t, s, p_n, p_t, p_s)
        arm_a, arm_b = load3(contact.arm_a), load3(contact.arm_b)
        before, after = relative_velocity(free, contact, arm_a, arm_b), relative_velocity(now, contact, arm_a, arm_b)
        work += 0.5 * dot(p, add(before, after))
        size += norm(p) * (norm(before) + norm(after))
        pushes += norm(p)
        bent = bent or norm(load3(contact.bend)) > 0.0
    if not bent or work <= GAINED * size + max(island.residual, island.aim) * pushes:
        return False
    for i in range(island.first, island.end):
        contacts[i].bias -= contacts[i].bend[0]
        store3(contacts[i].bend, (0.0, 0.0, 0.0))
    copy_velocities(island, tables.collision.members, free, now)
    return True


@njit
def note_velocities(motion, tables):
    """Write what `set_bends` needs in the next step: the velocity of each contact, and those of its bodies.
    motion : the velocities of bodies after the impulses; in joint coordinates those of contacts are in `contact_rates`."""
    collision, stepping, trees = tables.collision, tables.stepping, in_joint_space(tables)
    contacts, bodies = collision.contacts, tables.system.bodies.shape[0]
    for k in range(collision.counts[ISLANDS]):
        island = collision.islands[k]
        bends = has_bends(island, tables)
        for i in range(island.first, island.end):
            contact = contacts[i]
            if not bends:
                store3(contact.after, (UNSEEN, 0.0, 0.0))
                store3(contact.curve, (0.0, 0.0, 0.0))
                continue
            if trees:
                store3(contact.after, three(stepping.contact_rates, 3 * i))
            else:
                n, t, s = axes_of(contact)
                u = relative_velocity(motion, contact, load3(contact.arm_a), load3(contact.arm_b))
                store3(contact.after, (dot(n, u), dot(t, u), dot(s, u)))
            for body in (contact.a, contact.b):
                if body < bodies:
                    put_three(stepping.last_speeds, 3 * body, three(motion, MOTION * body + LINEAR))
