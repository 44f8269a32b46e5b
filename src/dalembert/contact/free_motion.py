"""Free motion between the middles of two steps, and the impacts of fast bodies in it.

Momenta are constant while bodies move freely. If there are fast bodies, the motion stops at each impact that the
contacts of the step did not prevent (`continuous`), and impulses act on the affected bodies (`nearby`). If the pair
still approaches after that, an impulse on this pair alone ends the impact.

In order: free motion of bodies, and in joint coordinates.
"""

import math

from ..collide.near import ELSEWHERE, begin_near, mark_near
from ..collide.tables import CONTACTS, NEED_ROOM
from ..core.c_function import DERIVATIVE, DRIFT, call_pointer
from ..core.jit import inlined, njit
from ..core.math3 import cross, dot, load3, perpendicular, store3, sub
from ..core.simd import clear, load, store
from ..core.status import OK
from ..core.tables import own_address
from ..dynamics.commands import BEGIN_INSTANT, MOTIONS, PLACES, SETTLE, call_commands
from ..model.tables import LEDGER, PROJECTION_WORK, STATE_SIZE
from .fast import (
    FIND,
    FIND_NEXT,
    IMPACT_NORMAL,
    IMPACT_POINT,
    PAIR_ROW,
    SIDE_A,
    SIDE_B,
    STRIKE,
    TIME,
    bounces_on_way,
    note_contacts,
    note_meeting,
    note_strike,
    rebound,
)
from .gauss_seidel import apply, prepare_contacts
from .joints import LOCKED, add_and_book, apply_joint_impulses, project_velocities, rates_of_motion
from .nearby import SWEEPS_OF_IMPACTS, concerns_few, mark_hit, resolve_impact
from .tables import (
    BEFORE,
    BOOK,
    END_WAY_IMPACT,
    FILL_ROWS,
    FREE_SPEEDS,
    INVERSE_NORMAL,
    LEAD,
    MOTION,
    PLACE_ON_WAY,
    POWER,
    RATES,
    SPEEDS,
    UNLEAD,
    WALK,
    call_coordinates,
    call_mechanism,
    clear_velocities,
    load_motion,
    note_way,
    relative_velocity,
    three,
)
from .velocities import (
    book_detour,
    copy_momenta,
    keep_detection,
    resolve_impacts,
    set_travel,
    solve_velocities,
    store_impulses,
)

USUAL = 8  # impacts in half a step; those that follow are counted of each body, see `fast.doublings`
MOST_IMPACTS, OF_BODIES = 64, 64  # in half a step: so many impacts of fast bodies, and one more for so many bodies
MOST_IN_CROWD = 32  # likewise, for each body, where elastic bodies are crowded
HELD = 1 << 40  # in place of the number of its impacts: a body that stays where it is for the rest of half a step
AT_ONCE = 1e-6  # of half a step: an impact so soon after another is at the same place


@njit
def advance(t, h, first, y, dydt, tables):
    """Free motion over h from t (s), in place, with the impacts of fast bodies; whether it is the `first` half of a step.
    Returns a status."""
    callbacks, stepping = tables.callbacks, tables.stepping
    watch, impact, report = callbacks[0].continuous, stepping.impact, stepping.report[0]
    if stepping.options[0].fast == 0:
        return drift(callbacks, h, y, dydt)
    if first and report.passed != 0:
        status = show_commands(t, y, tables)
        return drift(callbacks, h, y, dydt) if status == OK else status
    if watch == 0:
        report.wants_continuous = 1
        return NEED_ROOM
    left, last, search, known = h, (-1.0, -1.0), FIND, not first
    clear(stepping.met)
    k = 0
    while k < most_impacts(tables):  # which an impact may change
        status = show_commands(t + h - left, y, tables)
        if status == OK:
            status = call_pointer(watch, own_address(tables), search, left, y, dydt)
        if status != OK or impact[TIME] >= left:
            return drift(callbacks, left, y, dydt) if status == OK else status
        again = impact[TIME] <= AT_ONCE * h and last[0] == impact[SIDE_A] and last[1] == impact[SIDE_B]
        last = impact[SIDE_A], impact[SIDE_B]
        begin_impact(first, k, tables)
        k += 1
        status = drift(callbacks, impact[TIME], y, dydt)
        left -= impact[TIME]
        report.impacts += 1
        copy_momenta(y, tables)
        concerned = again
        if status == OK and again:
            mark_hit(tables)
            clear(tables.stepping.lead)
            status = strike_alone(t + h - left, left, y, dydt, tables)
        elif status == OK:
            lead = h - left if first else -left
            concerned, status = resolve_on_way(t + h - left, left, lead, known, y, dydt, tables)
            known = True
            note_way(report)
        search = FIND_NEXT if concerned and tables.system.commands.shape[0] == 0 else FIND
        book_detour(left - h if first else left, y, tables)
        if status != OK:
            return status
    return hold_meeting(left, y, dydt, tables)


@inlined
def most_impacts(tables):
    """The most impacts in half a step."""
    bodies = tables.system.bodies.shape[0]
    return MOST_IMPACTS + (MOST_IN_CROWD * bodies if tables.stepping.report[0].crowded != 0 else bodies // OF_BODIES)


@njit
def begin_impact(first, earlier, tables):
    """What an impact in the `first` or second half of a step changes is saved before. earlier : impacts in this half."""
    keep_detection(first, tables)
    note_meeting(tables)
    if earlier >= USUAL and tables.stepping.report[0].crowded == 0:
        count_impact(tables)
    tables.stepping.report[0].jolted = 1
    if tables.stepping.report[0].unstored != 0:
        store_impulses(tables)


@njit
def count_impact(tables):
    """Count an impact of its two bodies."""
    collision, met = tables.collision, tables.stepping.met
    pair = collision.pairs[int(tables.stepping.impact[PAIR_ROW])]
    for collider in (pair.a, pair.b):
        body = collision.colliders[collider].body
        if body < met.shape[0]:
            met[body] += 1


@njit
def resolve_on_way(t, h, lead, known, y, dydt, tables):
    """Resolve an impact at t (s), with the contacts that would close within h (s): among the bodies that it concerns, or,
    where that cannot be, all of them. lead (s) : for how long forces act on bodies in flight first, see `nearby`; known :
    whether `travel` is of this step. Returns (whether it concerned only the bodies that are marked, a status)."""
    options = tables.stepping.options[0]
    if concerns_few(tables):
        status = call_mechanism(tables.callbacks, DERIVATIVE, t, y, dydt)
        if not known:
            set_travel(options.dt, False, tables)
        if status == OK:
            status = resolve_impact(h, lead, y, tables)
        if status != ELSEWHERE:
            return True, status
    iterations = options.iterations
    options.iterations = max(iterations, SWEEPS_OF_IMPACTS)
    status = resolve_impacts(t, h, lead, y, dydt, tables)
    options.iterations = iterations
    return False, status


@njit
def drift(callbacks, h, y, spare):
    """Free motion over h (s), in place; see `core.c_function.DRIFT`."""
    spare[0] = h
    return call_mechanism(callbacks, DRIFT, 0.0, y, spare)


@njit
def show_commands(t, y, tables):
    """Write the poses of kinematic bodies at t (s) to y, and their velocities to the kinematics table. Returns a status."""
    if tables.system.commands.shape[0] == 0:
        return OK
    status = call_commands(PLACES, t, y, y, tables.system)
    return call_commands(MOTIONS, t, y, y, tables.system) if status == OK else status


@njit
def strike_alone(t, left, y, dydt, tables):
    """An impulse on the pair of the last impact alone, at t (s), which ends its approach or lets it bounce. Returns a
    status."""
    driven, joined = tables.system.commands.shape[0] > 0, tables.system.joints.shape[0] > 0
    if driven or joined:
        clear(tables.stepping.joint_impulses)
    status = show_commands(t, y, tables)
    if status == OK and joined:
        status = call_mechanism(tables.callbacks, DERIVATIVE, t, y, dydt)
    if status == OK and driven:
        status = call_commands(BEGIN_INSTANT, t, y, y, tables.system)
    if status == OK and joined:
        status = strike_joined(y, tables)
    elif status == OK:
        status = call_pointer(tables.callbacks[0].continuous, own_address(tables), STRIKE, left, y, dydt)
    if status == OK and driven:
        call_commands(SETTLE, 0.0, y, tables.stepping.joint_impulses, tables.system)
    return status


@njit
def strike_joined(y, tables):
    """The same impulse with those of the joints that hold its bodies, at the state that `DERIVATIVE` has seen. Returns a
    status."""
    collision, stepping, report = tables.collision, tables.stepping, tables.stepping.report[0]
    if report.unnoted != 0 and not note_contacts(0, collision.counts[CONTACTS], tables):
        return NEED_ROOM
    report.unnoted = 0
    if collision.contacts.shape[0] == 0:
        return NEED_ROOM
    motion, trial, contact = stepping.motion, stepping.support_motion, collision.contacts[0]
    load_motion(y, tables.system, motion)
    lay_contact(contact, tables)
    prepare_contacts(0, 1, collision.contacts, motion, stepping.rows)
    rates_of_motion(tables.system, motion, stepping.targets)
    for r in range(stepping.targets.shape[0]):
        stepping.targets[r] = -stepping.targets[r]
    n, arm_a, arm_b = load3(contact.frame), load3(contact.arm_a), load3(contact.arm_b)
    clear_velocities(motion, trial)
    apply(contact, n, trial)
    status = project_velocities(tables, trial)
    response = dot(n, relative_velocity(trial, contact, arm_a, arm_b))
    u, free = load(stepping.rows, BEFORE), response > LOCKED / load(stepping.rows, INVERSE_NORMAL)
    size = (rebound(u, tables) - u) / response if free and u < 0.0 else 0.0
    for k in range(motion.shape[0]):
        if k % MOTION < SPEEDS:
            store(motion, k, load(motion, k) + size * load(trial, k))
    for r in range(stepping.change.shape[0]):
        stepping.joint_impulses[r] = size * stepping.change[r]
    store3(contact.impulse, (size, 0.0, 0.0))
    add_and_book(0, 1, y, tables)
    apply_joint_impulses(y, tables)
    collision.counts[CONTACTS] = 0  # its impulse is in `struck`
    return OK if status != OK or size == 0.0 or note_impulse(size, tables) else NEED_ROOM


@njit
def hold_meeting(h, y, dydt, tables):
    """Free motion over h (s) after too many impacts. Bodies that would meet others in that time stay where they are. What the
    forces would have done along their way is booked as work of projection. Returns a status."""
    stepping, bodies = tables.stepping, tables.system.bodies
    stepping.report[0].held += 1
    watch, search, more, status = tables.callbacks[0].continuous, FIND, True, OK
    while status == OK and more:
        status = call_pointer(watch, own_address(tables), search, h, y, dydt)
        more = status == OK and stop_meeting(y, tables)
        search = FIND_NEXT
    if status == OK:
        status = drift(tables.callbacks, h, y, dydt)
    entry = y.shape[0] - len(LEDGER) + PROJECTION_WORK
    for i in range(bodies.shape[0]):
        if stepping.met[i] == HELD:
            for k in range(6):
                store(y, STATE_SIZE * i + 7 + k, load(stepping.shift, MOTION * i + k))
            force = load3(tables.system.kinematics[i].force)
            y[entry] += h * bodies[i].inverse_mass * dot(force, three(y, STATE_SIZE * i + 7))
    return status


@njit
def stop_meeting(y, tables):
    """Keep the momenta of the bodies that detection has found to meet others next, in `shift`, and let them rest. Returns
    whether there are some."""
    stepping, bodies = tables.stepping, tables.system.bodies
    begin_near(tables.collision)
    found = False
    for i in range(bodies.shape[0]):
        if stepping.hit[i] < math.inf and bodies[i].inverse_mass > 0.0 and stepping.met[i] != HELD:
            for k in range(6):
                store(stepping.shift, MOTION * i + k, load(y, STATE_SIZE * i + 7 + k))
                store(y, STATE_SIZE * i + 7 + k, 0.0)
            stepping.met[i] = HELD
            mark_near(i, tables.collision)
            found = True
    return found


# Joint coordinates ------------------------------------------------------------------------------------------------------
#
# Between two middles the speeds of trees are constant. Where an impact has changed them, the coordinates are moved back along
# them, so that PLACE or FINISH, which move on by half a step, end where they should.


@njit
def advance_trees(h, first, y, dydt, tables):
    """The impacts in joint coordinates within h (s) from the state y, of the `first` or second half of a step. Returns a
    status."""
    stepping, report = tables.stepping, tables.stepping.report[0]
    if stepping.options[0].fast == 0 or (first and report.passed != 0):
        return OK
    watch, impact, answer = tables.callbacks[0].continuous, stepping.impact, stepping.answer
    if watch == 0:
        report.wants_continuous = 1
        return NEED_ROOM
    left, last = h, (-1.0, -1.0)
    clear(stepping.met)
    k = 0
    while k < most_impacts(tables):
        status = call_pointer(watch, own_address(tables), FIND, left, y, dydt)
        if status != OK or impact[TIME] >= left:
            if left != h:
                call_coordinates(WALK, left - h, y, answer, tables)
            return status
        again = impact[TIME] <= AT_ONCE * h and last[0] == impact[SIDE_A] and last[1] == impact[SIDE_B]
        last = impact[SIDE_A], impact[SIDE_B]
        begin_impact(first, k, tables)
        k += 1
        call_coordinates(WALK, impact[TIME], y, answer, tables)
        left -= impact[TIME]
        report.impacts += 1
        status = meet_on_way(again, left, left - h if first else left, y, dydt, tables)
        if status != OK:
            return status
    report.held += 1
    call_coordinates(WALK, -h, y, answer, tables)
    return OK


@njit
def meet_on_way(again, left, detour, y, dydt, tables):
    """An impact where the trees are, `left` (s) before half the step ends, see `solve_on_way`. Returns a status."""
    answer = tables.stepping.answer
    status = call_coordinates(PLACE_ON_WAY, left, y, answer, tables)
    if status == OK:
        status = solve_on_way(again, left, detour, y, dydt, tables)
    call_coordinates(END_WAY_IMPACT, 0.0, y, answer, tables)
    answer[0] = 0.0
    return status


@njit
def solve_on_way(again, left, detour, y, dydt, tables):
    """The impulses of an impact; if met `again`, on its pair alone. Books what forces have not done over the `detour` (s),
    see `book_detour`; if the pair bounces, they act before the impact on bodies in flight. Returns a status."""
    stepping, answer = tables.stepping, tables.stepping.answer
    clear(stepping.lead)
    bounces = not again and bounces_on_way(stepping.options[0].dt, tables)
    if bounces:
        call_coordinates(LEAD, -detour, y, answer, tables)
    call_coordinates(POWER, 0.0, y, answer, tables)
    before = answer[0]
    if again:
        status = strike_trees(y, tables)
    else:
        iterations = stepping.options[0].iterations
        stepping.options[0].iterations = max(iterations, SWEEPS_OF_IMPACTS)
        status = solve_velocities(left, False, y, dydt, tables)
        stepping.options[0].iterations = iterations
        note_way(stepping.report[0])
    if status == OK:
        call_coordinates(POWER, 0.0, y, answer, tables)
        entry = y.shape[0] - len(LEDGER) + PROJECTION_WORK
        store(y, entry, load(y, entry) + detour * (before - answer[0]))
        if bounces:
            call_coordinates(UNLEAD, -detour, y, answer, tables)
    return status


@njit
def strike_trees(y, tables):
    """The same impulse in joint coordinates, on the only contact. Returns a status."""
    collision, stepping, report = tables.collision, tables.stepping, tables.stepping.report[0]
    if report.unnoted != 0 and not note_contacts(0, collision.counts[CONTACTS], tables):
        return NEED_ROOM
    report.unnoted = 0
    if collision.contacts.shape[0] == 0:
        return NEED_ROOM
    contact = collision.contacts[0]
    lay_contact(contact, tables)
    collision.counts[CONTACTS] = 1
    for i in range(stepping.bounds.shape[0]):
        stepping.bounds[i].impulse = 0.0
    call_coordinates(FILL_ROWS, 0.0, y, stepping.answer, tables)
    call_coordinates(FREE_SPEEDS, 0.0, y, stepping.answer, tables)
    call_coordinates(RATES, 0.0, stepping.motion, stepping.contact_rates, tables)
    u = load(stepping.contact_rates, 0)
    size = (rebound(u, tables) - u) * load(stepping.rows, INVERSE_NORMAL) if u < 0.0 else 0.0
    store3(contact.impulse, (size, 0.0, 0.0))
    call_coordinates(BOOK, 0.0, y, stepping.answer, tables)
    collision.counts[CONTACTS] = 0  # its impulse is in `struck`
    return OK if size == 0.0 or note_impulse(size, tables) else NEED_ROOM


@njit
def lay_contact(contact, tables):
    """A contact becomes that of the pair of the last impact, without friction and restitution."""
    colliders, impact, rigid = tables.collision.colliders, tables.stepping.impact, tables.system.settings[0].rigid
    n, p = three(impact, IMPACT_NORMAL), three(impact, IMPACT_POINT)
    contact.a, contact.b = colliders[int(impact[SIDE_A])].body, colliders[int(impact[SIDE_B])].body
    t = perpendicular(n)
    s = cross(n, t)
    for k in range(3):
        contact.frame[k], contact.frame[3 + k], contact.frame[6 + k] = n[k], t[k], s[k]
    store3(contact.position, p)
    store3(contact.arm_a, sub(p, load3(tables.system.kinematics[contact.a].x)) if contact.a < rigid else p)
    store3(contact.arm_b, sub(p, load3(tables.system.kinematics[contact.b].x)) if contact.b < rigid else p)
    store3(contact.impulse, (0.0, 0.0, 0.0))
    contact.friction, contact.restitution, contact.bias = 0.0, 0.0, 0.0
    store3(contact.bend, (0.0, 0.0, 0.0))


@njit
def note_impulse(size, tables):
    """Note the impulse (N s) on the pair of the last impact, see `fast.note_strike`; whether there is room."""
    impact = tables.stepping.impact
    n, p = three(impact, IMPACT_NORMAL), three(impact, IMPACT_POINT)
    return note_strike(int(impact[SIDE_A]), int(impact[SIDE_B]), p, n, size, tables)
