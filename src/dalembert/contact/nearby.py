"""The impulses of an impact in free motion, on the bodies that it affects.

An impact of two bodies among thousands changes few velocities. All contacts of the step satisfy the law until then, so
bodies whose velocities do not change need no new solution and keep their bits. The set of affected bodies starts with
the two that collide. Each round finds the contacts of this set and makes some sweeps over them; then neighbours whose
velocity has changed by more than the target residual are added. So the result satisfies the law at all contacts to this
residual, and the cost depends on the affected bodies only.

    gap + h u_n ≥ 0 ⊥ p_n ≥ 0,   |p_t| ≤ μ p_n,   u = J v,   h the rest of the half step

Contacts with restitution bounce as in the step (`restitution`), each time from the velocities before the impact. If the
set contains joints, prescribed motions or sleeping bodies, all contacts are solved (`velocities.resolve_impacts`).

Bodies in flight have the velocity u of the drift, in which forces act at the middles of steps only. It is right where two
steps meet. τ later (negative: before) the velocity is u + τ W F. If a body bounces there, the impulse follows from that
velocity, and is applied to u. Then the energy where the next two steps meet has changed by what the law of impact takes,
exactly if F is constant. `lead` is τ of each body that bounces and bears no other force, else zero: what stays in contact
keeps u, as its forces are balanced from then on.

In order: the entry, the rounds, the bodies and contacts of one, sweeps, and the momenta after them.
"""

from ..collide.near import BESIDE, ELSEWHERE, LOOK_NEAR, NOT_FINITE, begin_near, end_near, mark_near, restart_near
from ..collide.tables import CONTACTS, ISLANDS, NEAR, NEAR_MEMBERS, NEED_ROOM, PAIRS, ROUND
from ..core.c_function import call_pointer
from ..core.jit import inlined, njit
from ..core.math3 import add_scaled, load3, norm, store3, sub, symvec
from ..core.simd import clear, load, store
from ..core.status import NON_FINITE, OK
from .fast import (
    PAIR_ROW,
    TIME,
    body_outruns,
    is_free,
    leave_to_detection,
    normal_rate,
    note_contacts,
    soon,
    soon_in_crowd,
    watch_pairs,
    weight_in,
)
from .gauss_seidel import axes_of, prepare_contacts, sweep_contacts, world_impulse, worst_residual
from .joints import add_and_book
from .large_islands import FACTORED
from .position_correction import move_separations
from .restitution import ELASTIC_ROUNDS, gap_bias, make_impacts_of, normal_velocity
from .seams import pass_seams_of
from .solve import MANY_SWEEPS, aim_of_many, pace_of
from .tables import (
    ANGULAR,
    BEFORE,
    FINISH_ISLAND,
    INVERSE_INERTIA,
    INVERSE_MASS,
    LINEAR,
    MANY,
    MOTION,
    ROW,
    SPEEDS,
    call_finisher,
    copy_velocities,
    has_surfaces,
    in_joint_space,
    load_motion,
    push,
    put_three,
    six,
    three,
)

SWEEPS_OF_IMPACTS = 200  # most sweeps of the solver at an impact of a fast body, or more if the user allows
SWEEPS_A_ROUND = 10
MOST_LOOKS = 16
SPREAD = (
    0.1  # of the largest change of velocity: bodies of a large pile that change less wait for the middle of the step
)
MOST_FINISHES = 4
MEETS = 5e-3  # of the thickness of the thinner of two: the largest gap at an impact in free motion
ROUNDING = 1e-9  # of the rate at which a contact closes


@inlined
def concerns_few(tables):
    """Whether the impacts of a run may be solved among few bodies: in coordinates of bodies, with Coulomb's law."""
    return not in_joint_space(tables) and not has_surfaces(tables)


@njit
def resolve_impact(h, lead, y, tables):
    """The impulses at an impact: those of contacts that would close within h (s), of bodies that were hit and of those that
    these set in motion, from the state y and the kinematics there. lead (s) : for how long forces act on bodies in flight
    first. Where elastic bodies are caught between others, and their rounds run out, only what closes soon takes part; they
    meet the rest on the way. Writes momenta and ledger in y, `struck`, and the residual. Returns a status: ELSEWHERE, and no
    momenta written, where all contacts are to be solved."""
    collision, stepping, system = tables.collision, tables.stepping, tables.system
    load_motion(y, system, stepping.motion)
    mark_hit(tables)
    pairs = collision.counts[PAIRS]
    report, caught, dt = stepping.report[0], stepping.report[0].caught, stepping.options[0].dt
    closing = min(h, soon_in_crowd(stepping)) if report.crowded != 0 else h
    status = solve_marked(closing, dt, lead, 0.0, False, False, y, tables)
    if status == OK and report.caught > caught and report.crowded == 0:
        report.caught, report.crowded = caught, 1
        load_motion(y, system, stepping.motion)
        mark_hit(tables)
        status = solve_marked(min(h, soon_in_crowd(stepping)), dt, lead, 0.0, False, False, y, tables)
    if status != OK:
        clear(stepping.lead)
        report.caught = caught
        return status
    island = collision.islands[collision.counts[ISLANDS]]
    report.residual, report.aim = island.residual, island.aim
    if lead != 0.0 or report.crowded != 0:
        for m in range(island.first_member, island.end_member):
            body = collision.members[m]
            if (load(stepping.lead, body) != 0.0 or report.crowded != 0) and change_of(body, stepping) > 0.0:
                watch_pairs(body, body, tables)
    if report.crowded != 0 and collision.counts[PAIRS] == pairs:
        unmark_unmoved(island, tables)
    return add_nearby(y, tables)


# Impacts that follow soon are solved with the first: detection looks ahead, and their contacts may close no farther than they
# are open. One by one, they would take as many solutions, and bodies that are caught between others would be hit without end.


@njit
def mark_hit(tables):
    """Mark the bodies of the impact that `continuous` has found first, and of those that follow soon."""
    collision, stepping = tables.collision, tables.stepping
    begin_near(collision)
    for body in range(tables.system.bodies.shape[0]):
        if stepping.hit[body] <= stepping.impact[TIME] + soon(body, stepping):
            mark_near(body, collision)


@njit
def solve_marked(h, reach, lead, allowed, bent, corrected, y, tables):
    """The impulses of the contacts that would close within h (s), of the bodies that are marked and those that these
    concern, from the velocities in `motion`, after forces have acted on bodies in flight for `lead` (s); detection looks as
    far as bodies move within `reach` (s). What closes no faster than `allowed` (m/s) is left. Contacts are `bent` as in the
    step, if this is its middle. Separations are those after the displacements of the step, if it is `corrected`. Writes
    `motion`, and contacts and their impulses after those of the step. Returns a status: ELSEWHERE where all contacts are to
    be solved, also because those of few bodies are to be solved to the aim and were not."""
    looks, bounced, status = 0, True, OK
    clear(tables.stepping.lead)
    while status == OK and looks < MOST_LOOKS and (looks == 0 or outrun_nearby(reach, bounced, tables)):
        if looks > 0:
            forget_nearby(tables)
            restart_near(tables.collision)
        bounced, status = solve_nearby(h, reach, lead, allowed, bent, corrected, y, tables)
        looks += 1
    end_near(tables.collision)
    island = tables.collision.islands[tables.collision.counts[ISLANDS]]
    to_aim = tables.callbacks[0].solver != 0 or tables.stepping.options[0].finishes != 0
    return ELSEWHERE if status == OK and to_aim and island.residual > island.aim else status


@njit
def forget_nearby(tables):
    """The velocities of the bodies concerned become those before."""
    island = tables.collision.islands[tables.collision.counts[ISLANDS]]
    copy_velocities(island, tables.collision.members, tables.stepping.free_motion, tables.stepping.motion)


@njit
def exchange_nearby(tables):
    """Exchange the velocities of the bodies concerned before and after."""
    island, stepping = tables.collision.islands[tables.collision.counts[ISLANDS]], tables.stepping
    for m in range(island.first_member, island.end_member):
        at = MOTION * tables.collision.members[m]
        for k in range(at, at + SPEEDS):
            now = load(stepping.motion, k)
            store(stepping.motion, k, load(stepping.free_motion, k))
            store(stepping.free_motion, k, now)


@njit
def add_nearby(y, tables):
    """Add the impulses to the momenta in y, their work to the ledger, and what they did to `struck`. Returns a status:
    NEED_ROOM where that table is full."""
    island = tables.collision.islands[tables.collision.counts[ISLANDS]]
    add_and_book(island.first, island.end, y, tables)
    return OK if note_contacts(island.first, island.end, tables) else NEED_ROOM


@njit
def outrun_nearby(h, bounced, tables):
    """Whether some body concerned may meet what was not looked for within h (s), see `fast.outruns`."""
    counts, members, found = tables.collision.counts, tables.collision.members, False
    first = tables.collision.marks.shape[0] - 1
    for m in range(first, first + counts[NEAR_MEMBERS]):
        found = body_outruns(members[m], h, bounced, tables.stepping.motion, tables) or found
    return found


# Rounds -----------------------------------------------------------------------------------------------------------------


@njit
def solve_nearby(h, reach, lead, allowed, bent, corrected, y, tables):
    """Impulses of the contacts concerned, and the velocities of their bodies, in a row of `islands` after those of the step.
    Returns (whether elastic bodies bounced, a status)."""
    collision, options = tables.collision, tables.stepping.options[0]
    island = begin_island(tables)
    sweeps, finishes, bounced = 0, 0, False
    grown, solved = True, False
    while grown or not solved:
        if grown:
            begin = island.end
            status = add_contacts(h, reach, lead, allowed, bent, corrected, y, island, tables)
            if status != OK:
                return False, status
            bounced = start(begin, h, island, tables)
        set_aim(island, tables)
        most = most_sweeps(island, tables)
        for _ in range(SWEEPS_A_ROUND):
            solved = (
                sweep_contacts(
                    island.first, island.end, collision.contacts, tables.stepping.motion, tables.stepping.rows
                )
                <= island.aim
            )
            sweeps += 1
            if solved:
                break
        if solved or sweeps >= most:
            measure(island, tables)
            solved = island.residual <= island.aim or sweeps >= most
        grown = spread(island, tables)
        unsolved = island.residual > island.aim and options.finishes != 0 and island.end - island.first <= FACTORED
        if solved and not grown and unsolved and finishes < MOST_FINISHES:
            finishes += 1
            status = finish_nearby(tables)
            if status != OK:
                return False, status
            grown = spread(island, tables)
    take_impacts(island, tables)
    return bounced, OK


@inlined
def most_sweeps(island, tables):
    """The most sweeps of an impact: as many as the step may take, or more; then the converging solver may follow."""
    options = tables.stepping.options[0]
    if tables.callbacks[0].solver != 0:
        return SWEEPS_OF_IMPACTS
    many = options.finishes != 0 and island.aim > options.tolerance  # without a budget of sweeps
    return max(options.iterations, MANY_SWEEPS if many else SWEEPS_OF_IMPACTS)


@njit
def begin_island(tables):
    """The row of the bodies concerned, which begins empty. Returns it."""
    collision, counts = tables.collision, tables.collision.counts
    island = collision.islands[counts[ISLANDS]]
    island.first = island.end = counts[CONTACTS]
    island.first_member = island.end_member = collision.marks.shape[0] - 1
    island.first_colour, island.colours, island.first_group, island.end_group = 0, 0, 0, 0
    island.jointed, island.surfaces, island.slow = 0, 0, 0
    island.iterations, island.residual, island.aim = 0, 0.0, tables.stepping.options[0].tolerance
    return island


@njit
def spread(island, tables):
    """Mark the neighbours whose velocities have changed by more than the aim, or in a large pile by a part of the largest
    change, for the next round; returns whether there are some."""
    collision, found, enough = tables.collision, False, island.aim
    marks, members, counts = collision.marks, collision.members, collision.counts
    if tables.callbacks[0].solver == 0 and island.aim > tables.stepping.options[0].tolerance:
        for m in range(island.first_member, island.end_member):
            enough = max(enough, SPREAD * change_of(members[m], tables.stepping))
    for m in range(island.first_member, island.end_member):
        body = members[m]
        if marks[body] == BESIDE and change_of(body, tables.stepping) > enough:
            marks[body] = counts[ROUND] + 1
            found = True
    if found:
        counts[ROUND] += 1
    return found


@njit
def unmark_unmoved(island, tables):
    """Unmark the neighbours whose velocities have not changed: what continuous detection knows of them remains true."""
    collision = tables.collision
    for m in range(island.first_member, island.end_member):
        body = collision.members[m]
        if collision.marks[body] == BESIDE and change_of(body, tables.stepping) == 0.0:
            collision.marks[body] = 0


@njit
def change_of(body, stepping):
    """How much the velocity of some point of a body has changed at most (m/s)."""
    now, before, at = stepping.motion, stepping.free_motion, MOTION * body
    change = norm(sub(three(now, at + LINEAR), three(before, at + LINEAR)))
    return change + stepping.swing[body] * norm(sub(three(now, at + ANGULAR), three(before, at + ANGULAR)))


@njit
def set_aim(island, tables):
    """The residual that an impact is to reach (m/s): the tolerance; in a large pile, what the step was to reach for it; or
    where the impact concerns many, a small part of their speed or of what the weight adds to it in a step, as `solve.set_aim`
    has it. With the converging solver its tolerances, as in `converge`."""
    tolerance, stepping = tables.stepping.options[0].tolerance, tables.stepping
    if tables.callbacks[0].solver != 0:
        _, fastest, _ = pace_of(island, True, stepping.free_motion, tables)
        island.aim = tolerance * fastest
        if island.end - island.first > MANY:
            island.aim = max(island.aim, stepping.options[0].tolerance_of_many)
        return
    island.aim = tolerance
    for m in range(island.first_member, island.end_member):
        island.aim = max(island.aim, stepping.aims[tables.collision.members[m]])
    if island.end - island.first > MANY:
        speed, _, weight = pace_of(island, True, stepping.free_motion, tables)
        island.aim = max(island.aim, aim_of_many(speed, weight, tolerance))


# Bodies and contacts ----------------------------------------------------------------------------------------------------


@njit
def add_contacts(h, reach, lead, allowed, bent, corrected, y, island, tables):
    """Detect the contacts of the bodies that were marked last, with their rows; and load the velocities of their neighbours.
    Returns a status."""
    collision, stepping = tables.collision, tables.stepping
    counts, contacts = collision.counts, collision.contacts
    first, begin = island.end_member, island.end
    extend_travel(reach, tables)
    callbacks = tables.callbacks[0]
    status = call_pointer(callbacks.detector, callbacks.detector_data, LOOK_NEAR, stepping.options[0].margin, y, y)
    if status == NOT_FINITE:
        return NON_FINITE
    if status != OK:
        return status
    island.end = counts[CONTACTS] + counts[NEAR]
    island.end_member = collision.marks.shape[0] - 1 + counts[NEAR_MEMBERS]
    if lead != 0.0:
        act_on_flying(lead, h, first, island, tables)
    for m in range(first, island.end_member):
        body = collision.members[m]
        for k in range(MOTION * body, MOTION * (body + 1)):
            store(stepping.free_motion, k, load(stepping.motion, k))
            store(stepping.kick, k, 0.0)
    for i in range(begin, island.end):
        store3(contacts[i].impulse, (0.0, 0.0, 0.0))
        store(stepping.surface_speeds, i, 0.0)
        if not bent:
            store3(contacts[i].bend, (0.0, 0.0, 0.0))
    if corrected:
        move_separations(begin, island.end, contacts, stepping.shift)
    if stepping.report[0].crowded != 0:
        close_met(begin, island.end, tables)
    pass_seams_of(begin, island, h, stepping.free_motion, tables)
    status = leave_to_detection(begin, island.end, h, stepping.free_motion, y, tables)
    if status != OK:
        return status
    prepare_contacts(begin, island.end, contacts, stepping.free_motion, stepping.rows)
    leave_as_solved(begin, island.end, h, allowed, tables)
    return OK


@njit
def close_met(begin, end, tables):
    """Close contacts begin … end of the pair that meets, where detection takes it to touch: in a crowd, no more time is left
    for that than others have until they meet."""
    stepping, pairs = tables.stepping, tables.collision.pairs
    for i in range(begin, end):
        contact = tables.collision.contacts[i]
        if contact.pair == int(stepping.impact[PAIR_ROW]):
            thin = min(stepping.walls[pairs[contact.pair].a], stepping.walls[pairs[contact.pair].b])
            if contact.separation <= MEETS * thin:
                contact.separation = min(contact.separation, 0.0)


@njit
def act_on_flying(lead, h, first, island, tables):
    """Let the forces of `lead` (s) act on the velocities of the bodies concerned, from the `first` on, that are in flight and
    bounce within h (s). Writes `motion` and `lead`."""
    stepping, system, motion = tables.stepping, tables.system, tables.stepping.motion
    for m in range(first, island.end_member):
        body = tables.collision.members[m]
        at = MOTION * body
        w = load(motion, at + INVERSE_MASS)
        if w == 0.0 or load(stepping.lead, body) != 0.0 or not is_free(body, tables):
            continue
        if not bounces_off(body, h, island, tables):
            continue
        kin = system.kinematics[body]
        store(stepping.lead, body, lead)
        put_three(motion, at + LINEAR, add_scaled(three(motion, at + LINEAR), lead * w, load3(kin.force)))
        turn = symvec(six(motion, at + INVERSE_INERTIA), load3(kin.torque))
        put_three(motion, at + ANGULAR, add_scaled(three(motion, at + ANGULAR), lead, turn))


@njit
def bounces_off(body, h, island, tables):
    """Whether a body meets something within h (s), and bounces off whatever it meets: so fast that weight does not bring it
    back within a step."""
    contacts, motion = tables.collision.contacts, tables.stepping.motion
    dt, found = tables.stepping.options[0].dt, False
    for i in range(island.first, island.end):
        contact = contacts[i]
        if contact.a != body and contact.b != body:
            continue
        u = normal_rate(contact, motion)
        if contact.separation + h * u < 0.0:
            if -u * contact.restitution <= weight_in(contact.a, dt, tables) + weight_in(contact.b, dt, tables):
                return False
            found = True
    return found


@njit
def leave_as_solved(begin, end, h, allowed, tables):
    """Let contacts begin … end of bodies that were not marked first, or that close no faster than is `allowed` (m/s), close
    as far as they would within h (s) before the impact. The step has solved these, to its residual, or with so many sweeps
    as were allowed: what is left of that is not for an impact to correct, which would concern all that the residual does."""
    contacts, rows, marks = tables.collision.contacts, tables.stepping.rows, tables.collision.marks
    for i in range(begin, end):
        contact = contacts[i]
        closes = -load(rows, ROW * i + BEFORE) - contact.bend[0]
        solved = marks[contact.a] != 1 and marks[contact.b] != 1
        if solved or closes - max(contact.separation, 0.0) / h <= allowed:
            contact.separation = max(contact.separation, (1.0 + ROUNDING) * h * closes)


@njit
def extend_travel(h, tables):
    """Let detection look for the bodies marked last as far as they move within h (s), or farther if it did before."""
    collision, bodies = tables.collision, tables.collision.marks.shape[0] - 1
    travel, members, counts, motion = collision.travel, collision.members, collision.counts, tables.stepping.motion
    for m in range(bodies, bodies + counts[NEAR_MEMBERS]):
        body = members[m]
        if collision.marks[body] == counts[ROUND]:
            at = MOTION * body
            travel[2 * body] = max(travel[2 * body], h * norm(three(motion, at + LINEAR)))
            travel[2 * body + 1] = max(travel[2 * body + 1], h * norm(three(motion, at + ANGULAR)))


# Impulses ---------------------------------------------------------------------------------------------------------------


@njit
def start(begin, h, island, tables):
    """The biases of the contacts, which are new from `begin` on; where some bounce, their impacts, from the velocities
    before. Returns whether elastic bodies may have bounced."""
    stepping, contacts, kept = tables.stepping, tables.collision.contacts, tables.stepping.options[0].kept
    bounces = False
    for i in range(island.first, island.end):
        if i >= begin:
            contacts[i].bias = gap_bias(contacts[i], h, kept)
        if contacts[i].restitution > 0.0:
            u = normal_velocity(contacts[i], stepping.free_motion)
            bounces = bounces or (u < 0.0 and gap_bias(contacts[i], h, kept) + u < 0.0)
    for i in range(3 * island.first, 3 * island.end):
        stepping.impacts[i] = 0.0
    if not bounces:
        return False
    copy_velocities(island, tables.collision.members, stepping.free_motion, stepping.motion)
    for i in range(island.first, island.end):
        store3(contacts[i].impulse, (0.0, 0.0, 0.0))
        contacts[i].bias = gap_bias(contacts[i], h, kept)
    return make_impacts_of(island, h, tables) == ELASTIC_ROUNDS


@njit
def measure(island, tables):
    """Write the residual of the island."""
    collision, stepping = tables.collision, tables.stepping
    island.residual = worst_residual(island.first, island.end, collision.contacts, stepping.motion, stepping.rows)


@njit
def finish_nearby(tables):
    """Solve the bodies concerned by the converging solver, from where sweeps left them, and from the velocities after the
    impacts. Returns a status: NEED_ROOM where that is not at hand yet."""
    if tables.callbacks[0].finisher == 0:
        tables.stepping.report[0].wants_finisher = 1
        return NEED_ROOM
    number = tables.collision.counts[ISLANDS]
    push_impacts(1.0, tables.collision.islands[number], tables)
    status = call_finisher(FINISH_ISLAND, number, tables)
    push_impacts(-1.0, tables.collision.islands[number], tables)
    return status


@njit
def push_impacts(sign, island, tables):
    """Add so many times the impulses of the impacts to the velocities before."""
    contacts, stepping = tables.collision.contacts, tables.stepping
    for i in range(island.first, island.end):
        p = three(stepping.impacts, 3 * i)
        if p[0] != 0.0:
            contact, axes = contacts[i], axes_of(contacts[i])
            impulse = world_impulse(axes[0], axes[1], axes[2], p[0], p[1], p[2])
            push(stepping.free_motion, contact.b, impulse, load3(contact.arm_b), sign)
            push(stepping.free_motion, contact.a, impulse, load3(contact.arm_a), -sign)


@njit
def take_impacts(island, tables):
    """Add the impulses of impacts to those of the contacts."""
    contacts, impacts = tables.collision.contacts, tables.stepping.impacts
    for i in range(island.first, island.end):
        for k in range(3):
            contacts[i].impulse[k] += load(impacts, 3 * i + k)
