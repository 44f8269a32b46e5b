"""Impacts of mechanisms in rounds: bodies with joints in maximal coordinates, and all bodies in joint coordinates.

The rounds are those of `restitution`. With joints, an impulse p along a row J changes the speeds by W Jᵀ p, W = M⁻¹
less the response of the joints, so that one contact has the response J W Jᵀ, the inverse of its effective mass. Without
impacts, forces and joints change the speeds from w to w + k; impulses q at rows with J change the energy by

    ΔT(q) = q · J (w + ½ k) + ½ q · J W Jᵀ q,

as for bodies without joints, because W is symmetric: elastic impacts of mechanisms keep energy to rounding, whether or
not the sweeps of a round converged. Stops of joints with restitution take part. Springs, dampers and motors with gains
are in W. Ideal motors and dry friction, whose impulses have bounds, answer in each sweep (*drives*).

In order: the table, velocities and impulses of a row, which rows bounce, one round, an island, and the C function.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..collide.tables import CONTACTS, ISLANDS
from ..core.c_function import C_SIGNATURE, viewer
from ..core.jit import CFunction, inlined, njit
from ..core.math3 import dot, load3, store3, sub
from ..core.simd import clear, copy, load, store
from ..core.status import OK
from ..core.tables import column, part, table_at
from ..model.tables import STOP
from .gauss_seidel import apply, axes_of, world_impulse
from .joints import LOCKED, project_velocities, solve_joints
from .limits import impulse_change, present_rate, push_coordinate
from .restitution import (
    AT_ONCE,
    CLOSED,
    GROWN,
    NEARLY_SOLVED,
    NONE,
    ROUGH,
    ROUNDING,
    SMOOTH,
    SOLVED,
    SWEEPS,
    UPDATES,
    are_ordered,
    does_not_rest,
    gap_bias,
    gap_rate,
    impulse_at,
    interpolate,
    is_last,
    kept_share,
    largest_share,
    most_rounds,
    note_end,
    touches,
    weaken_impact,
)
from .rows import Rows, bound_rate, contact_velocity, push_bound, push_contact
from .tables import (
    BEFORE,
    FRICTION_STEP,
    INVERSE_NORMAL,
    MAKE_IMPACTS,
    OFF,
    PUSH_IMPACTS,
    RESPONSE,
    ROW,
    ContactTables,
    clear_velocities,
    in_joint_space,
    relative_velocity,
    three,
)

# A contact or a stop: which (−1: it is the other), its coefficients, the velocity that forces and joints
# add (n, t, s), those at the start of a round, the impulses of a round, of its first solution and of the step, what the
# normal velocity is to be after the round, less its sign (infinite: it does not bounce), the gap at the time of the round,
# the approach below which it rests, its response as six, 1/K_nn and the step of friction, and whether these are known.
STRIKER = np.dtype(
    [("contact", "i8"), ("bound", "i8"), ("restitution", "f8"), ("friction", "f8"), ("kick", "f8", 3), ("start", "f8", 3),
     ("pulse", "f8", 3), ("first", "f8", 3), ("total", "f8", 3), ("aim", "f8"), ("gap", "f8"), ("least", "f8"),
     ("response", "f8", 6), ("inverse", "f8"), ("step", "f8"), ("known", "i8")],
    align=True,
)  # fmt: skip


class MechanismImpacts(NamedTuple):
    """What the impacts of mechanisms need beside `Stepping`: rows of joint coordinates (none in those of bodies), and room
    for the strikers of one island."""

    rows: Any = part(Rows)
    strikers: Any = column("contacts + bounds", STRIKER)
    chosen: Any = column("contacts + bounds", np.int64, doc="those that bounce in a round")


def bounces(tables: Any) -> bool:
    """Whether something that has joints, or moves in joint coordinates, can bounce: a surface, a pair or a stop has
    restitution."""
    collision, system = tables.collision, tables.system
    if not (len(system.joints) or len(tables.stepping.bounds) or tables.callbacks.coordinates[0]):
        return False
    surfaces = collision.colliders.restitution.any() or collision.rule_values[1::2].any()
    return bool(surfaces or (system.forces.restitution[system.forces.kind == STOP] > 0.0).any())


# Velocities and impulses of a row ---------------------------------------------------------------------------------------


@njit
def velocity(row, own, tables):
    """(n, t, s) of a striker at the velocities in `motion`, without those of moving surfaces along the normal; the rate of a
    stop toward the inside."""
    if row.bound >= 0:
        return rate_of(row.bound, own, tables), 0.0, 0.0
    return speed_of_contact(row.contact, own, tables)


@njit
def speed_of_contact(i, own, tables):
    """(n, t, s) of contact i, likewise."""
    motion, along = tables.stepping.motion, load(tables.stepping.surface_speeds, i)
    if in_joint_space(tables):
        u = contact_velocity(i, motion, own.rows)
        return u[0] - along, u[1], u[2]
    contact = tables.collision.contacts[i]
    n, t, s = axes_of(contact)
    u = relative_velocity(motion, contact, load3(contact.arm_a), load3(contact.arm_b))
    return dot(n, u) - along, dot(t, u), dot(s, u)


@inlined
def rate_of(bound, own, tables):
    """The rate of a coordinate with a bound."""
    if in_joint_space(tables):
        return bound_rate(bound, tables.stepping.motion, own.rows)
    return present_rate(tables.stepping.bounds[bound], tables)


@njit
def push(row, d, own, tables):
    """Apply an impulse (n, t, s) at a striker to `motion`; in coordinates of bodies the joints do not answer yet."""
    motion, joint_space = tables.stepping.motion, in_joint_space(tables)
    if row.bound >= 0:
        push_rate(row.bound, d[0], own, tables)
    elif joint_space:
        push_contact(row.contact, d, motion, own.rows)
    else:
        contact = tables.collision.contacts[row.contact]
        n, t, s = axes_of(contact)
        apply(contact, world_impulse(n, t, s, d[0], d[1], d[2]), motion)


@inlined
def push_rate(bound, impulse, own, tables):
    """Apply an impulse along a coordinate."""
    if in_joint_space(tables):
        push_bound(bound, impulse, tables.stepping.motion, own.rows)
    else:
        push_coordinate(tables.stepping.bounds[bound], impulse, tables.stepping.motion)


@njit
def answer_joints(tables):
    """What the joints of bodies answer; in joint coordinates the responses have it."""
    if not in_joint_space(tables):
        status = solve_joints(tables)
        if status != OK:
            tables.stepping.report[0].status = status


@njit
def find_response(row, tables):
    """The response of a striker, where it is not known yet: zero if joints leave it no freedom."""
    stepping = tables.stepping
    if row.known != 0:
        return
    row.known = 1
    if row.bound >= 0:
        k = stepping.bounds[row.bound].response
        row.inverse = 1.0 / k if k != OFF else 0.0
        row.response[0] = k
        return
    at = ROW * row.contact
    if not in_joint_space(tables):
        respond_with_joints(row, tables)
        return
    for k in range(6):
        row.response[k] = load(stepping.rows, at + RESPONSE + k)
    row.inverse, row.step = load(stepping.rows, at + INVERSE_NORMAL), load(stepping.rows, at + FRICTION_STEP)


@njit
def respond_with_joints(row, tables):
    """K = J W Jᵀ of a contact of bodies with joints, by unit impulses; `support_motion` is scratch."""
    stepping, contact = tables.stepping, tables.collision.contacts[row.contact]
    trial, k, alone = stepping.support_motion, row.response, 0.0
    n, t, s = axes_of(contact)
    for c in range(3 if row.friction > 0.0 else 1):
        clear_velocities(stepping.motion, trial)
        apply(contact, n if c == 0 else t if c == 1 else s, trial)
        u = relative_velocity(trial, contact, load3(contact.arm_a), load3(contact.arm_b))
        alone = dot(n, u) if c == 0 else alone
        project_velocities(tables, trial)
        u = relative_velocity(trial, contact, load3(contact.arm_a), load3(contact.arm_b))
        if c == 0:
            k[0], k[1], k[2] = dot(n, u), dot(t, u), dot(s, u)
        elif c == 1:
            k[3], k[4] = dot(t, u), dot(s, u)
        else:
            k[5] = dot(s, u)
    row.inverse = 1.0 / k[0] if k[0] > LOCKED * alone else 0.0
    half, spread = 0.5 * (k[3] + k[5]), 0.5 * (k[3] - k[5])
    largest = half + math.sqrt(spread * spread + k[4] * k[4])
    row.step = 1.0 / largest if largest > LOCKED * alone else 0.0


# Drives -----------------------------------------------------------------------------------------------------------------


@njit
def sweep_drives(island, own, tables):
    """A sweep over the bounds of an island that are no stops; returns the largest change of a rate."""
    stepping, forces, largest = tables.stepping, tables.system.forces, 0.0
    for m in range(island.first_member, island.end_member):
        member = stepping.members[tables.collision.members[m]]
        for i in range(member.first_bound, member.end_bound):
            bound = stepping.bounds[i]
            if bound.response == OFF or forces[bound.force].kind == STOP:
                continue
            change = impulse_change(bound, rate_of(i, own, tables))
            if change != 0.0:
                bound.impulse += change
                push_rate(i, change, own, tables)
                answer_joints(tables)
                largest = max(largest, abs(change) * bound.response)
    return largest


@njit
def settle_drives(enough, island, own, tables):
    """Sweeps over the drives until nothing changes by more than `enough`."""
    for _ in range(SWEEPS):
        if sweep_drives(island, own, tables) <= enough:
            return


@njit
def start_drives(island, own, tables):
    """Apply the impulses of the last step of all drives, and let them settle. Returns whether there are some."""
    stepping, forces, some = tables.stepping, tables.system.forces, False
    for m in range(island.first_member, island.end_member):
        member = stepping.members[tables.collision.members[m]]
        for i in range(member.first_bound, member.end_bound):
            bound = stepping.bounds[i]
            if bound.response != OFF and forces[bound.force].kind != STOP:
                some = True
                push_rate(i, bound.impulse, own, tables)
    if some:
        answer_joints(tables)
        settle_drives(0.0, island, own, tables)
    return some


# Which rows bounce ------------------------------------------------------------------------------------------------------


@inlined
def is_mechanism(island, tables):
    """Whether the impacts of an island are found here."""
    return island.jointed != 0 or in_joint_space(tables)


@njit
def some_approach(h, tables):
    """Whether some contact or stop with restitution approaches before the forces act: without one, none bounces. Sets the
    biases of all contacts here to those without restitution, and clears impulses."""
    stepping, collision, some = tables.stepping, tables.collision, False
    contacts, bounds, kept = collision.contacts, stepping.bounds, stepping.options[0].kept
    for i in range(collision.counts[ISLANDS]):
        island = collision.islands[i]
        if not is_mechanism(island, tables):
            continue
        for c in range(island.first, island.end):
            along = load(stepping.surface_speeds, c)
            contacts[c].bias = gap_bias(contacts[c], h, kept) - along
            approach = load(stepping.rows, ROW * c + BEFORE) - along
            some = some or (contacts[c].restitution > 0.0 and approach < 0.0)
            for k in range(3 * c, 3 * c + 3):
                store(stepping.impacts, k, 0.0)
    for i in range(bounds.shape[0]):
        bounds[i].impact = 0.0
        force = tables.system.forces[bounds[i].force]
        some = some or (force.kind == STOP and force.restitution > 0.0 and bounds[i].before < 0.0)
    return some


@njit
def list_strikers(island, own, tables):
    """Fill `strikers` with the contacts and stops of an island, at the velocities with forces and joints, in `motion`.
    Returns (how many, their largest coefficient of restitution)."""
    stepping, strikers, forces = tables.stepping, own.strikers, tables.system.forces
    contacts, least = tables.collision.contacts, stepping.options[0].tolerance
    count, restitution = 0, 0.0
    for i in range(island.first, island.end):
        row = strikers[count]
        row.contact, row.bound, row.friction = i, -1, contacts[i].friction
        row.restitution, row.gap = contacts[i].restitution, max(contacts[i].separation, 0.0)
        u, before = velocity(row, own, tables), three(stepping.rows, ROW * i + BEFORE)
        along = load(stepping.surface_speeds, i)
        store3(row.kick, (u[0] + along - before[0], u[1] - before[1], u[2] - before[2]))
        count += 1
    for m in range(island.first_member, island.end_member):
        member = stepping.members[tables.collision.members[m]]
        for i in range(member.first_bound, member.end_bound):
            bound, force = stepping.bounds[i], forces[stepping.bounds[i].force]
            if force.kind == STOP:
                row = strikers[count]
                row.contact, row.bound, row.friction = -1, i, 0.0
                row.restitution, row.gap = force.restitution, max(bound.gap, 0.0)
                store3(row.kick, (rate_of(i, own, tables) - bound.before, 0.0, 0.0))
                count += 1
    for k in range(count):
        row, kick = strikers[k], load3(strikers[k].kick)
        restitution = max(restitution, row.restitution)
        row.least, row.known = max(least, 0.5 * math.sqrt(dot(kick, kick))), 0
        store3(row.total, (0.0, 0.0, 0.0))
    return count, restitution


@njit
def bias_of(row, h, tables):
    """(gap / h without restitution, whether the striker touches or bore force)."""
    slop = tables.stepping.options[0].slop
    if row.bound >= 0:
        bound = tables.stepping.bounds[row.bound]
        gap = max(bound.gap, 0.0)
        return gap / h, bound.impulse > 0.0 or gap <= CLOSED * slop
    contact = tables.collision.contacts[row.contact]
    return gap_rate(contact, h, tables.stepping.options[0].kept), touches(contact, slop)


@njit
def hits(row, h, own, tables):
    """Whether a striker hits now, where joints leave it some freedom; finds its response then."""
    v = velocity(row, own, tables)[0]
    gap_rate, is_closed = bias_of(row, h, tables)
    if not does_not_rest(v - row.kick[0], v, gap_rate, is_closed, row.restitution, row.least):
        return False
    find_response(row, tables)
    return row.inverse > 0.0


@njit
def choose_strikers(count, h, own, tables):
    """Find the strikers that bounce in a round, and those without restitution that hit at the same time: sets `aim`, and the
    impulses of the round to zero. Returns (the kind of the round, the fastest approach)."""
    strikers, kind, fastest, least, most = own.strikers, NONE, 0.0, 1.0, 0.0
    for k in range(count):
        row = strikers[k]
        row.aim = math.inf
        store3(row.pulse, (0.0, 0.0, 0.0))
        if row.restitution > 0.0 and hits(row, h, own, tables):
            kind = ROUGH if row.friction > 0.0 or kind == ROUGH else SMOOTH
            row.aim = velocity(row, own, tables)[0]
            fastest = max(fastest, row.kick[0] - row.aim)
            least, most = min(least, row.restitution), max(most, row.restitution)
    if kind == NONE:
        return kind, fastest
    for k in range(count):
        row = strikers[k]
        if row.restitution <= 0.0 and hits(row, h, own, tables):
            row.aim, least = velocity(row, own, tables)[0], 0.0
    if least < most:
        kind = ROUGH
    for k in range(count):
        row = strikers[k]
        if row.aim < math.inf:
            e, kick = row.restitution, row.kick[0]
            row.aim = e * (row.aim - kick) if kind == ROUGH else -kick * e / (1.0 + e)
    return kind, fastest


@njit
def keep_first(count, h, own, tables):
    """Of the strikers that bounce keep those that close first, and advance the gaps to that time."""
    strikers, contacts = own.strikers, tables.collision.contacts
    first, best = math.inf, -1
    for k in range(count):
        row = strikers[k]
        if row.aim < math.inf:
            time = row.gap / -velocity(row, own, tables)[0]
            if time < first:
                first, best = time, k
    for k in range(count):
        row, other = strikers[k], strikers[best]
        u = velocity(row, own, tables)[0]
        row.gap += first * u
        same = k == best
        if row.contact >= 0 and other.contact >= 0:
            a, b = contacts[row.contact], contacts[other.contact]
            same = a.a == b.a and a.b == b.b
        if row.gap > AT_ONCE * h * -u and not same:
            row.aim = math.inf
        row.gap = max(row.gap, 0.0)


@njit
def closes(count, h, own, tables):
    """Whether some striker closes within the step."""
    for k in range(count):
        row = own.strikers[k]
        if bias_of(row, h, tables)[0] + velocity(row, own, tables)[0] < 0.0:
            return True
    return False


# One round --------------------------------------------------------------------------------------------------------------


@njit
def save_round(count, island, own, tables):
    """Store where a round starts, and list those that bounce in it. Returns how many."""
    stepping, bounces = tables.stepping, 0
    copy_island(stepping.motion, stepping.first_motion, island, tables)
    copy(stepping.first_joint_impulses, stepping.joint_impulses)
    for i in range(stepping.bounds.shape[0]):
        stepping.bounds[i].first_impulse = stepping.bounds[i].impulse
    for k in range(count):
        row = own.strikers[k]
        if row.aim < math.inf:
            store3(row.start, velocity(row, own, tables))
            own.chosen[bounces] = k
            bounces += 1
    return bounces


@njit
def copy_island(source, target, island, tables):
    """Copy the speeds of an island from one packed vector to another."""
    members = tables.collision.members
    for m in range(island.first_member, island.end_member):
        own = tables.stepping.members[members[m]]
        for i in range(own.first_speed, own.end_speed):
            store(target, i, load(source, i))


@njit
def solve_round(rough, bounces, fastest, island, own, tables):
    """Gauss–Seidel for the impulses of a round, with friction if `rough`; drives answer. Returns whether a contact jams."""
    enough, jams = fastest * (NEARLY_SOLVED if rough else SOLVED), False
    for _ in range(max(SWEEPS, UPDATES // max(bounces, 1))):
        largest, jams = 0.0, False
        for k in range(bounces):
            row = own.strikers[own.chosen[k]]
            change, ends = improve_striker(rough, row, enough, GROWN * fastest, own, tables)
            largest, jams = max(largest, change), jams or not ends
        if max(largest, sweep_drives(island, own, tables)) <= enough:
            break
    return jams


@njit
def improve_striker(rough, row, enough, most, own, tables):
    """Set the impulse of a striker to what its law asks for; enough, most : see `restitution.impulse_at`. Returns (the change
    of its velocity, m/s; whether there is such an impulse)."""
    u, old, k = velocity(row, own, tables), load3(row.pulse), row.response
    k = k[0], k[1], k[2], k[3], k[4], k[5]
    friction = row.friction if rough else 0.0
    new, change, ends = impulse_at(old, u, row.aim, k, row.inverse, row.step, friction, enough, most)
    d = sub(new, old)
    if d[0] == 0.0 and d[1] == 0.0 and d[2] == 0.0:
        return 0.0, ends
    store3(row.pulse, new)
    push(row, d, own, tables)
    answer_joints(tables)
    return change, ends


@njit
def set_pulses(share, bounces, enough, island, own, tables):
    """The impulses of a round become (1 − share) of what they are and `share` of the first solution, and `motion` the
    velocities after them."""
    stepping = tables.stepping
    copy_island(stepping.first_motion, stepping.motion, island, tables)
    copy(stepping.joint_impulses, stepping.first_joint_impulses)
    for i in range(stepping.bounds.shape[0]):
        stepping.bounds[i].impulse = stepping.bounds[i].first_impulse
    for k in range(bounces):
        row = own.strikers[own.chosen[k]]
        for c in range(3):
            row.pulse[c] = interpolate(share, row.pulse[c], row.first[c])
        if row.pulse[0] > 0.0:
            push(row, load3(row.pulse), own, tables)
    answer_joints(tables)
    settle_drives(enough, island, own, tables)


@njit
def reflect(bounces, fastest, island, own, tables):
    """A round without friction: q = s (1 + e) λ, see `restitution`."""
    strikers, chosen, enough = own.strikers, own.chosen, SOLVED * fastest
    solve_round(False, bounces, fastest, island, own, tables)
    for k in range(bounces):
        strikers[chosen[k]].pulse[0] *= 1.0 + strikers[chosen[k]].restitution
    set_pulses(0.0, bounces, enough, island, own, tables)
    slope, curvature, wanted = 0.0, 0.0, 0.0  # of ΔT(s q) = s slope + ½ s² curvature
    for k in range(bounces):
        row = strikers[chosen[k]]
        q, v, kick = row.pulse[0], row.start[0], row.kick[0]
        slope += q * (v - 0.5 * kick)
        curvature += q * (velocity(row, own, tables)[0] - v)
        wanted += 0.5 * (1.0 - row.restitution) * q * (v - kick)
    if curvature <= 0.0:
        return
    s = (-slope + math.sqrt(max(0.0, slope * slope + 2.0 * curvature * wanted))) / curvature
    for k in range(bounces):
        strikers[chosen[k]].pulse[0] *= s
    set_pulses(0.0, bounces, enough, island, own, tables)


@njit
def collide_with_friction(bounces, fastest, island, own, tables):
    """A round with friction: Newton's and Coulomb's laws, or the mixture that adds no energy. Where a contact jams, nothing
    bounces."""
    strikers, chosen, enough = own.strikers, own.chosen, NEARLY_SOLVED * fastest
    jams = solve_round(True, bounces, fastest, island, own, tables)
    gained, turned_over = round_work(bounces, own, tables)
    if not jams and gained <= ROUNDING * turned_over:
        return
    for k in range(bounces):
        row = strikers[chosen[k]]
        store3(row.first, load3(row.pulse))
        row.aim = 0.0
        if jams:
            store3(row.pulse, (0.0, 0.0, 0.0))
    if jams:
        set_pulses(0.0, bounces, enough, island, own, tables)
    solve_round(True, bounces, fastest, island, own, tables)
    if jams:
        return
    plastic, _ = round_work(bounces, own, tables)
    set_pulses(0.5, bounces, enough, island, own, tables)
    middle, _ = round_work(bounces, own, tables)
    share = largest_share(plastic, middle, gained)
    set_pulses(2.0 * share - 1.0, bounces, enough, island, own, tables)


@njit
def round_work(bounces, own, tables):
    """(ΔT of the impulses of a round, the sum of the sizes of its parts), J."""
    work, size = 0.0, 0.0
    for k in range(bounces):
        row = own.strikers[own.chosen[k]]
        p, kick, start = load3(row.pulse), load3(row.kick), load3(row.start)
        before = dot(p, start) - dot(p, kick)
        work += 0.5 * (before + dot(p, velocity(row, own, tables)))
        size += abs(before)
    return work, size


# An island --------------------------------------------------------------------------------------------------------------


@njit
def bounce_island(island, h, own, tables):
    """The rounds of an island, from the velocities in `motion`: writes the impulses of contacts and stops. Where nothing
    closes after them, the impulses of the last step are forgotten. Returns whether something bounced."""
    drives = start_drives(island, own, tables)
    count, restitution = list_strikers(island, own, tables)
    first = 0.0
    for number in range(most_rounds(restitution, tables.stepping.report[0])):
        kind, fastest = choose_strikers(count, h, own, tables)
        first = fastest if number == 0 else first
        if kind == NONE:
            if number > 0:
                keep_impulses(not closes(count, h, own, tables), count, own, tables)
            return number > 0
        if is_last(number, restitution, drives, fastest, first, island, tables):
            break
        if are_ordered(restitution, count):
            keep_first(count, h, own, tables)
        bounces = save_round(count, island, own, tables)
        if kind == SMOOTH:
            reflect(bounces, fastest, island, own, tables)
        else:
            collide_with_friction(bounces, fastest, island, own, tables)
        for k in range(bounces):
            row = own.strikers[own.chosen[k]]
            for c in range(3):
                row.total[c] += row.pulse[c]
        note_end(number, restitution, tables.stepping.report[0])
    keep_impulses(False, count, own, tables)
    return True


@njit
def keep_impulses(forget, count, own, tables):
    """Write the impulses of all rounds of an island and the velocities after them, and `forget` the impulses of the last
    step."""
    stepping, contacts = tables.stepping, tables.collision.contacts
    for k in range(count):
        row = own.strikers[k]
        u = velocity(row, own, tables)[0]
        if row.bound >= 0:
            stepping.bounds[row.bound].impact, stepping.bounds[row.bound].impact_speed = row.total[0], u
            if forget:
                stepping.bounds[row.bound].impulse = 0.0
            continue
        for c in range(3):
            stepping.impacts[3 * row.contact + c] = row.total[c]
        store(stepping.impact_speeds, row.contact, u)
        if forget:
            store3(contacts[row.contact].impulse, (0.0, 0.0, 0.0))


@njit
def make_impacts(h, own, tables):
    """The impacts of all mechanisms within h (s), from the velocities with forces in `motion`: writes `impacts`, those of
    bounds, and the biases of contacts without restitution. `answer` becomes (whether something bounced, whether `motion` was
    changed). Returns a status."""
    stepping, collision, report = tables.stepping, tables.collision, tables.stepping.report[0]
    answer = stepping.answer
    answer[0], answer[1] = 0.0, 0.0
    if not some_approach(h, tables):
        return OK
    answer[1], report.status = 1.0, OK
    if not in_joint_space(tables):
        clear(stepping.joint_impulses)
        answer_joints(tables)
    copy(stepping.first_motion, stepping.motion)
    for i in range(collision.counts[ISLANDS]):
        island = collision.islands[i]
        if is_mechanism(island, tables) and bounce_island(island, h, own, tables):
            answer[0] = 1.0
    return report.status


@njit
def push_impacts(own, tables):
    """Apply the impulses that `make_impacts` found to `motion`, without an answer of joints of bodies; those of contacts in
    coordinates of bodies are not applied here."""
    stepping, bounds = tables.stepping, tables.stepping.bounds
    for i in range(bounds.shape[0]):
        if bounds[i].impact != 0.0:
            push_rate(i, bounds[i].impact, own, tables)
    if in_joint_space(tables):
        for i in range(tables.collision.counts[CONTACTS]):
            p = three(stepping.impacts, 3 * i)
            if p[0] > 0.0:
                push_contact(i, p, stepping.motion, own.rows)
    return OK


@njit
def weaken_mechanisms(own, tables):
    """The same as `restitution.weaken_impacts` for the contacts and stops of mechanisms; `answer` becomes whether there was
    something to weaken. Returns a status."""
    collision, stepping, forces, some = tables.collision, tables.stepping, tables.system.forces, False
    for k in range(collision.counts[ISLANDS]):
        island = collision.islands[k]
        if not is_mechanism(island, tables):
            continue
        for i in range(island.first, island.end):
            if stepping.impacts[3 * i] > 0.0:
                some = weaken_impact(i, speed_of_contact(i, own, tables)[0], island.aim, tables) or some
        for m in range(island.first_member, island.end_member):
            member = stepping.members[collision.members[m]]
            for i in range(member.first_bound, member.end_bound):
                bound = stepping.bounds[i]
                if bound.impact > 0.0 and bound.response != OFF:
                    u, inverse, e = rate_of(i, own, tables), 1.0 / bound.response, forces[bound.force].restitution
                    share = kept_share(bound.impact, inverse, e, bound.impact_speed, u, island.aim)
                    bound.impact *= share
                    some = some or share < 1.0
    stepping.answer[0] = 1.0 if some else 0.0
    return OK


_floats = viewer(np.float64)


@njit
def impacts_task(task, h, own, tables):
    """MAKE_IMPACTS within h (s), PUSH_IMPACTS or WEAKEN_IMPACTS. Returns a status."""
    if task == MAKE_IMPACTS:
        return make_impacts(h, own, tables)
    return push_impacts(own, tables) if task == PUSH_IMPACTS else weaken_mechanisms(own, tables)


def impacts_entry(data, task, h, y, n, out, m):
    tables = table_at(ContactTables, data)
    return impacts_task(task, h, table_at(MechanismImpacts, tables.callbacks[0].impact_rows), tables)


IMPACTS_ENTRY = CFunction(impacts_entry, C_SIGNATURE)
