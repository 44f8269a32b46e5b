"""Restitution: impacts in rounds, which conserve energy for e = 1 and never add any.

Impulses act at the middle of a step, where forces change the velocities from v⁻ to v⁻ + k. Let w be the velocities
without k, v = w + k those with it, and J those of a contact along its normal. A contact with restitution e bounces in a
step when it approaches, J w < 0, and closes within the step, gap + h J v < 0. Newton's law at one contact is J v⁺ = −e
J w.

Contacts that do not approach do not bounce: of three balls in a row, the first two collide, and then the last two. So
the contacts of an island that bounce do so in rounds, until none is left. In one round they act together, by the
generalized reflection of Smith, Kaufman, Vouga, Tamstorf and Grinspun ("Reflections on simultaneous impact", ACM
Transactions on Graphics 31, 2012): with the least impulses λ ≥ 0 that end the approach, the impulses are q = s (1 + e)
λ. With a = w + k/2, impulses q change the energy by exactly

    ΔT(q) = q · J a + ½ q · J W Jᵀ q = ½ q · J (w + v⁺).

The factor s is such that ΔT(q) = ½ Σ (1 − e) q J w, as it is for one contact: s = 1 where λ is exact, and e = 1 keeps
energy to rounding for any λ. With friction, or with contacts of different restitution, the impulses of a round satisfy
Newton's and Coulomb's laws; contacts without restitution that hit at the same time take part. These laws may ask
for more kinetic energy than there was (Kane & Levinson 1985; Stronge 1990), and then the round takes the mixture (1 −
θ) p₀ + θ p_e of the impulses without and with restitution, with the largest θ ≤ 1 at which ΔT = 0. It pushes and never
pulls, its friction lies in the cone (which is convex), and nothing closes that does not close in either solution.

Contacts with e > 0.5 bounce in the order in which their gaps close: in one round the points of one pair of bodies, and
contacts that close at the same time. In islands of more than 300 contacts only elastic ones do; less restitution hides
the order. Rounds end when nothing approaches, or where energy is lost when the bounces left would be slow; the solution
without restitution, which follows for all contacts, ends these approaches. Elastic bodies that need more than four rounds
are crowded: each may hit several others in a step, and rounds at one place would not end, as in a dense gas. Then what does
not touch yet is left to continuous detection, which finds every impact at its time and place.

Islands with joints, and all in joint coordinates, have the same rounds with the responses of their joints, and stops
take part: `mechanism_impacts`, which scenes without them do not compile.

In order: the choice of bouncing contacts, the rounds of an island, one round, what other contacts add, and the initial
speeds.
"""

import math

from ..collide.tables import CONTACTS, ISLANDS
from ..core.c_function import call_pointer
from ..core.jit import inlined, njit
from ..core.math3 import dot, load3, norm, store3
from ..core.simd import load, store
from ..core.status import OK
from ..core.tables import own_address
from ..dynamics.commands import SHOW_VELOCITIES, call_commands
from .fast import ELASTIC, driven_distance
from .gauss_seidel import apply, axes_of, prepare_responses, world_impulse
from .parallel import is_wide
from .tables import (
    FREE_SPEEDS,
    FRICTION_STEP,
    INVERSE_NORMAL,
    MAKE_IMPACTS,
    MOTION,
    PUSH_IMPACTS,
    RESPONSE,
    ROW,
    SPEEDS,
    WEAKEN_IMPACTS,
    call_coordinates,
    copy_velocities,
    in_joint_space,
    load_motion,
    put_three,
    relative_velocity,
    six,
    three,
)

ROUNDING = 1e-12  # of the work in both directions: a smaller gain is rounding
CLOSED = 0.1  # of the slop: contacts with smaller gaps are closed
ELASTIC_ROUNDS, ROUNDS = 1000, 4  # most rounds of impacts in a step; so many first: see `most_rounds` and `is_last`
SLOW = 0.05  # of the fastest approach in the first round: what would bounce slower is left to the last solution
IN_ORDER, FEW = 0.5, 300  # with a larger coefficient, among so few contacts, impacts happen in their order
AT_ONCE = 1e-9  # of the step: gaps that close so shortly after each other close at the same time
SWEEPS, UPDATES = 50, 1000  # most sweeps of a round, or as many as improve so many contacts
REFINEMENTS = 1000  # most of the impulse of one contact with friction
GROWN = 1e3  # times the fastest approach: where changes of velocity grow so far, a contact jams
SOLVED, NEARLY_SOLVED = 1e-12, 1e-9  # of the fastest approach: where sweeps of a round without and with friction end
# The kinds of a round: nothing bounces; all contacts have one restitution and no friction; others.
NONE, SMOOTH, ROUGH = range(3)


@inlined
def gap_rate(contact, h, kept):
    """The velocity at which the gap of a contact would close within h (s), gap / h. A contact that bore force keeps it over a
    gap of at most `kept` (m).

    Otherwise gaps of nanometres would decide which of four corners on the ground bear force, and the forces in a pile at rest
    would move from contact to contact, by as much as its weight, to close them.
    """
    gap = max(contact.separation, 0.0)
    return 0.0 if contact.impulse[0] > 0.0 and gap <= kept else gap / h


@inlined
def gap_bias(contact, h, kept):
    """The bias of the normal velocity without restitution: that rate, and the bend of the contact."""
    return gap_rate(contact, h, kept) + contact.bend[0]


@inlined
def set_bias(contact, h, kept, before, u):
    """gap / h, or e u_n⁻ of a contact that closes within the step: its normal velocity was `before` and is u without
    impulses. Returns whether it bounces."""
    contact.bias = gap_bias(contact, h, kept)
    if contact.restitution > 0.0 and before < 0.0 and contact.bias + u < 0.0:
        contact.bias = contact.restitution * before
        store3(contact.bend, (0.0, 0.0, 0.0))
        return True
    return False


@inlined
def bounces_now(contact, h, slop, w, v, kick):
    """Whether a contact with normal velocities w without and v with the kick of the forces bounces."""
    return contact.restitution > 0.0 and hits_now(contact, h, slop, w, v, kick)


@inlined
def hits_now(contact, h, slop, w, v, kick):
    """Whether it hits, with restitution or without. It rests if it is no faster than half the kick of one of its bodies."""
    if w >= 0.0:
        return False
    least = 0.5 * max(norm(three(kick, MOTION * contact.a)), norm(three(kick, MOTION * contact.b)))
    return does_not_rest(w, v, gap_rate(contact, h, slop), touches(contact, slop), contact.restitution, least)


@inlined
def touches(contact, slop):
    """Whether a contact is closed, or bore force in the last step."""
    return contact.impulse[0] > 0.0 or contact.separation <= CLOSED * slop


@inlined
def does_not_rest(w, v, gap_rate, is_closed, restitution, least):
    """Whether what may bounce does, at velocities w without and v with the kick of the forces; gap_rate : gap / h. What rests
    does not: no faster than `least`, and closed, or too far to close at w (if it is elastic, a gap is enough)."""
    if w >= 0.0 or gap_rate + v >= 0.0:
        return False
    if not is_closed and (restitution > ELASTIC or gap_rate + w < 0.0):
        return True
    return w < -least


# Rounds of impacts ------------------------------------------------------------------------------------------------------
#
# Scratch of a round: its impulses q in `search_impulses`, those of a first solution in `first_impulses`, the velocities
# before it in `search_motion`, the bias of each contact in `corrections`, infinite for one that does not bounce, and the
# indices of those that do in `links`. Gaps of elastic islands at the time of the round are in `support_rows`. Velocities of
# contacts in a round are without those of moving surfaces along the normal (`surface_speeds`).


@njit
def make_impacts(h, with_forces, y, tables):
    """The impacts of a step, of all islands without joints: writes `motion`, `impacts`, and the biases of these islands
    without restitution. `motion` holds the velocities v⁻ + k. Returns the most rounds that an island with impacts may have,
    0 where there are none."""
    collision, stepping = tables.collision, tables.stepping
    islands, kept = collision.islands, stepping.options[0].kept
    set_kick(with_forces, y, tables)
    most = 0
    for i in range(collision.counts[ISLANDS]):
        island = islands[i]
        if island.jointed != 0:
            continue
        most = max(most, make_impacts_of(island, h, tables))
        for c in range(island.first, island.end):
            contact = collision.contacts[c]
            contact.bias = gap_bias(contact, h, kept) - load(stepping.surface_speeds, c)
    return most


@njit
def set_kick(with_forces, y, tables):
    """Write `kick`, the velocities k that forces have added, and motions those of kinematic bodies, and clear `impacts`."""
    stepping, system = tables.stepping, tables.system
    kick, motion, impacts = stepping.kick, stepping.motion, stepping.impacts
    driven = with_forces and system.commands.shape[0] > 0
    if driven:
        call_commands(SHOW_VELOCITIES, 0.0, y, y, system)
    load_motion(stepping.saved if with_forces else y, system, kick)
    if driven:
        call_commands(SHOW_VELOCITIES, 1.0, y, y, system)
    for body in range(system.bodies.shape[0]):
        for k in range(MOTION * body, MOTION * body + SPEEDS):
            store(kick, k, load(motion, k) - load(kick, k))
    for i in range(3 * tables.collision.counts[CONTACTS]):
        impacts[i] = 0.0


@njit
def make_impacts_of(island, h, tables):
    """The rounds of an island. Where nothing closes after them, the impulses of the last step are forgotten, as no contact
    needs one. Returns the most rounds that it may have, 0 if there were no impacts."""
    stepping, contacts = tables.stepping, tables.collision.contacts
    impacts, q = stepping.impacts, stepping.search_impulses
    restitution, first = 0.0, 0.0
    for i in range(island.first, island.end):
        restitution = max(restitution, contacts[i].restitution)
        stepping.support_rows[i] = max(contacts[i].separation, 0.0)
    most = ELASTIC_ROUNDS if restitution > ELASTIC else ROUNDS
    for number in range(most_rounds(restitution, stepping.report[0])):
        kind, fastest = choose_impacts(island, h, tables)
        first = fastest if number == 0 else first
        if kind == NONE:
            if number > 0 and not closes(island, h, tables):
                for i in range(island.first, island.end):
                    store3(contacts[i].impulse, (0.0, 0.0, 0.0))
            note_speeds(island, tables)
            return most if number > 0 else 0
        if is_last(number, restitution, False, fastest, first, island, tables):
            break
        if are_ordered(restitution, island.end - island.first):
            keep_first(island, h, tables)
        if number == 0 and is_wide(island, tables.collision):
            prepare_responses(island.first, island.end, contacts, stepping.motion, stepping.rows)
        copy_velocities(island, tables.collision.members, stepping.motion, stepping.search_motion)
        if kind == SMOOTH:
            reflect(island, fastest, tables)
        else:
            collide_with_friction(island, fastest, tables)
        for i in range(3 * island.first, 3 * island.end):
            impacts[i] += q[i]
        note_end(number, restitution, stepping.report[0])
    note_speeds(island, tables)
    return most


@inlined
def most_rounds(restitution, report):
    """The most rounds of an island. Elastic bodies that need more than a few are crowded: what does not touch yet then meets
    on its way, each at its time, and rounds are for the rest."""
    return ROUNDS if restitution > ELASTIC and report.crowded == 0 else ELASTIC_ROUNDS


@inlined
def note_end(number, restitution, report):
    """Count that the rounds of an elastic island run out, if this is their last `number`: what still approaches does not
    bounce. Where bounces lose energy, many of them in a narrow gap lose all of it."""
    if number + 1 == most_rounds(restitution, report) and restitution > ELASTIC:
        report.caught += 1


@njit
def is_last(number, restitution, drives, fastest, first, island, tables):
    """Whether the rounds end after so many where bounces lose energy: those left would be slow, compared with the first
    approaches; or `drives` (ideal motors), or bodies that move by command take part, between which what jams would bounce
    ever faster. A row of balls needs as many rounds as it has balls."""
    if number < ROUNDS or restitution > ELASTIC:
        return False
    return drives or restitution * fastest <= SLOW * first or is_driven(island, tables)


@njit
def is_driven(island, tables):
    """Whether a body at a contact of an island moves by command."""
    for i in range(island.first, island.end):
        contact = tables.collision.contacts[i]
        if driven_distance(contact.a, 1.0, tables) + driven_distance(contact.b, 1.0, tables) > 0.0:
            return True
    return False


@inlined
def are_ordered(restitution, contacts):
    """Whether so many contacts bounce in the order in which they close."""
    return restitution > ELASTIC or (restitution > IN_ORDER and contacts <= FEW)


@inlined
def normal_velocity(contact, motion):
    """J v."""
    n, _, _ = axes_of(contact)
    return dot(n, relative_velocity(motion, contact, load3(contact.arm_a), load3(contact.arm_b)))


@inlined
def approach_velocity(i, motion, tables):
    """The same of contact i without the part of moving surfaces."""
    return normal_velocity(tables.collision.contacts[i], motion) - load(tables.stepping.surface_speeds, i)


@njit
def closes(island, h, tables):
    """Whether some contact closes within the step."""
    contacts, kept = tables.collision.contacts, tables.stepping.options[0].kept
    for i in range(island.first, island.end):
        if gap_bias(contacts[i], h, kept) + approach_velocity(i, tables.stepping.motion, tables) < 0.0:
            return True
    return False


@njit
def choose_impacts(island, h, tables):
    """Find the contacts that bounce, and those without restitution that hit at the same time: sets `corrections` to the bias
    of each, and clears q. Returns (the kind of the round, the fastest approach)."""
    stepping, contacts = tables.stepping, tables.collision.contacts
    bias, q, slop = stepping.corrections, stepping.search_impulses, stepping.options[0].slop
    kind, fastest, least, most = NONE, 0.0, 1.0, 0.0
    for i in range(island.first, island.end):
        contact = contacts[i]
        v, k = approach_velocity(i, stepping.motion, tables), normal_velocity(contact, stepping.kick)
        bias[i] = math.inf
        q[3 * i], q[3 * i + 1], q[3 * i + 2] = 0.0, 0.0, 0.0
        if bounces_now(contact, h, slop, v - k, v, stepping.kick):
            kind = ROUGH if contact.friction > 0.0 or kind == ROUGH else SMOOTH
            fastest = max(fastest, k - v)
            bias[i] = k
            least, most = min(least, contact.restitution), max(most, contact.restitution)
    if kind == NONE:
        return kind, fastest
    for i in range(island.first, island.end):
        contact = contacts[i]
        if contact.restitution <= 0.0:
            v, k = approach_velocity(i, stepping.motion, tables), normal_velocity(contact, stepping.kick)
            if hits_now(contact, h, slop, v - k, v, stepping.kick):
                bias[i], least = k, 0.0
    if least < most:
        kind = ROUGH
    for i in range(island.first, island.end):
        if bias[i] < math.inf:
            e, k = contacts[i].restitution, bias[i]
            w = approach_velocity(i, stepping.motion, tables) - k
            bias[i] = (e * w if kind == ROUGH else -k * e / (1.0 + e)) - load(stepping.surface_speeds, i)
    return kind, fastest


@njit
def keep_first(island, h, tables):
    """Of the contacts that bounce keep those that close first, and advance the gaps to that time: the others do not bounce in
    this round."""
    stepping, contacts = tables.stepping, tables.collision.contacts
    bias, gaps, motion = stepping.corrections, stepping.support_rows, stepping.motion
    first, a, b = math.inf, -1, -1
    for i in range(island.first, island.end):
        if bias[i] < math.inf:
            time = gaps[i] / -approach_velocity(i, motion, tables)
            if time < first:
                first, a, b = time, contacts[i].a, contacts[i].b
    for i in range(island.first, island.end):
        contact = contacts[i]
        u = approach_velocity(i, motion, tables)
        gaps[i] += first * u
        if gaps[i] > AT_ONCE * h * -u and (contact.a != a or contact.b != b):
            bias[i] = math.inf
        gaps[i] = max(gaps[i], 0.0)


# One round --------------------------------------------------------------------------------------------------------------


@njit
def solve_round(rough, island, fastest, tables):
    """Gauss–Seidel for the impulses q of the contacts that bounce: q_n ≥ 0 ⊥ J v + bias ≥ 0, with friction if `rough`.
    Returns whether a contact jams."""
    chosen, bias, count = tables.stepping.links, tables.stepping.corrections, 0
    for i in range(island.first, island.end):
        if bias[i] < math.inf:
            chosen[2 * island.first + count] = i
            count += 1
    enough = fastest * (NEARLY_SOLVED if rough else SOLVED)
    jams = False
    for _ in range(max(SWEEPS, UPDATES // max(count, 1))):
        largest, jams = sweep_impacts(rough, 2 * island.first, count, enough, GROWN * fastest, tables)
        if largest <= enough:
            break
    return jams


@njit
def sweep_impacts(rough, begin, count, enough, most, tables):
    """One sweep over the contacts links[begin : begin + count]. enough, most : see `impulse_at`. Returns (the largest change
    of a velocity, m/s; whether a contact jams)."""
    stepping, contacts, chosen = tables.stepping, tables.collision.contacts, tables.stepping.links
    bias, q, rows, motion = stepping.corrections, stepping.search_impulses, stepping.rows, stepping.motion
    largest, jams = 0.0, False
    for number in range(begin, begin + count):
        i = chosen[number]
        contact, at = contacts[i], ROW * i
        n, t, s = axes_of(contact)
        u = relative_velocity(motion, contact, load3(contact.arm_a), load3(contact.arm_b))
        old, k = three(q, 3 * i), six(rows, at + RESPONSE)
        inverse, step = load(rows, at + INVERSE_NORMAL), load(rows, at + FRICTION_STEP)
        friction = contact.friction if rough else 0.0
        u = dot(n, u), dot(t, u), dot(s, u)
        new, change, ends = impulse_at(old, u, bias[i], k, inverse, step, friction, enough, most)
        put_three(q, 3 * i, new)
        apply(contact, world_impulse(n, t, s, new[0] - old[0], new[1] - old[1], new[2] - old[2]), motion)
        largest, jams = max(largest, change), jams or not ends
    return largest, jams


# Sweeps over the normal and the friction of a contact converge slowly where one changes the velocity of the other: in a bar
# on a hinge by the factor μ |J_t| / J_n each. So the impulse of a contact is found first, with those of the others as they
# are. Where that factor is above 1, the bar jams: no impulse lets it bounce.


@inlined
def impulse_at(p, u, aim, k, inverse, step, friction, enough, most):
    """The impulse (n, t, s) of a contact that bounces, which has p at its velocity u, by Newton's and Coulomb's laws:
    u_n + aim ≥ 0 ⊥ p_n ≥ 0, |p_t| ≤ μ p_n against u_t. k : its response as six; inverse : 1/k_nn; step : of friction.
    Velocities change by no more than `enough` (m/s) at last; where they change by more than `most`, there is no solution, and
    p is improved once. Returns (the impulse, an estimate of the change of velocity in m/s, whether there is a solution)."""
    new, first, d, ends, number = p, p, 0.0, True, 0
    while number == 0 or (friction > 0.0 and ends and d > enough and number < REFINEMENTS):
        normal = max(0.0, new[0] - (u[0] + aim) * inverse)
        d_n = normal - new[0]
        d = abs(d_n) * k[0]
        d_t, d_s = -new[1], -new[2]
        if friction > 0.0:
            d_t, d_s = -step * (u[1] + k[1] * d_n), -step * (u[2] + k[2] * d_n)
            size, bound = math.sqrt((new[1] + d_t) ** 2 + (new[2] + d_s) ** 2), friction * normal
            shrink = bound / size if size > bound else 1.0
            d_t, d_s = shrink * (new[1] + d_t) - new[1], shrink * (new[2] + d_s) - new[2]
            d = max(d, max(abs(d_t), abs(d_s)) / step) if step > 0.0 else d
        u = (
            u[0] + k[0] * d_n + k[1] * d_t + k[2] * d_s,
            u[1] + k[1] * d_n + k[3] * d_t + k[4] * d_s,
            u[2] + k[2] * d_n + k[4] * d_t + k[5] * d_s,
        )
        new, number = (normal, new[1] + d_t, new[2] + d_s), number + 1
        first, ends = new if number == 1 else first, d <= most
    new = new if ends else first
    d = abs(new[0] - p[0]) * k[0]
    if friction > 0.0 and step > 0.0:
        d = max(d, max(abs(new[1] - p[1]), abs(new[2] - p[2])) / step)
    return new, d, ends


@njit
def set_impulses(share, first, island, tables):
    """q becomes (1 − share) q + share · `first`, and `motion` the velocities after it."""
    stepping, contacts = tables.stepping, tables.collision.contacts
    q, motion = stepping.search_impulses, stepping.motion
    copy_velocities(island, tables.collision.members, stepping.search_motion, motion)
    for i in range(island.first, island.end):
        for k in range(3 * i, 3 * i + 3):
            q[k] = interpolate(share, q[k], first[k])
        if q[3 * i] > 0.0:
            n, t, s = axes_of(contacts[i])
            apply(contacts[i], world_impulse(n, t, s, q[3 * i], q[3 * i + 1], q[3 * i + 2]), motion)


@njit
def reflect(island, fastest, tables):
    """A round without friction: q = s (1 + e) λ, see above."""
    stepping, contacts = tables.stepping, tables.collision.contacts
    q, motion, start, kick = stepping.search_impulses, stepping.motion, stepping.search_motion, stepping.kick
    solve_round(False, island, fastest, tables)
    for i in range(island.first, island.end):
        q[3 * i] *= 1.0 + contacts[i].restitution
    set_impulses(0.0, q, island, tables)
    slope, curvature, wanted = 0.0, 0.0, 0.0  # of ΔT(s q) = s slope + ½ s² curvature
    for i in range(island.first, island.end):
        if q[3 * i] > 0.0:
            v, k = approach_velocity(i, start, tables), normal_velocity(contacts[i], kick)
            slope += q[3 * i] * (v - 0.5 * k)
            curvature += q[3 * i] * (approach_velocity(i, motion, tables) - v)
            wanted += 0.5 * (1.0 - contacts[i].restitution) * q[3 * i] * (v - k)
    if curvature <= 0.0:
        return
    s = (-slope + math.sqrt(max(0.0, slope * slope + 2.0 * curvature * wanted))) / curvature
    for i in range(island.first, island.end):
        q[3 * i] *= s
    set_impulses(0.0, q, island, tables)


@njit
def collide_with_friction(island, fastest, tables):
    """A round with friction: Newton's and Coulomb's laws, or the mixture that adds no energy. Where a contact jams, nothing
    bounces."""
    stepping = tables.stepping
    q, first = stepping.search_impulses, stepping.first_impulses
    bias = stepping.corrections
    jams = solve_round(True, island, fastest, tables)
    gained, turned_over = impact_work(island, tables)
    if not jams and gained <= ROUNDING * turned_over:
        return
    for i in range(island.first, island.end):
        for k in range(3 * i, 3 * i + 3):
            first[k] = q[k]
            q[k] = 0.0 if jams else q[k]
        if bias[i] < math.inf:
            bias[i] = -load(stepping.surface_speeds, i)
    if jams:
        set_impulses(0.0, q, island, tables)
    solve_round(True, island, fastest, tables)
    if jams:
        return
    plastic, _ = impact_work(island, tables)
    set_impulses(0.5, first, island, tables)
    middle, _ = impact_work(island, tables)
    set_impulses(2.0 * largest_share(plastic, middle, gained) - 1.0, first, island, tables)


@njit
def impact_work(island, tables):
    """(ΔT(q), the sum of the sizes of its parts), J."""
    stepping, contacts = tables.stepping, tables.collision.contacts
    q, motion, start, kick = stepping.search_impulses, stepping.motion, stepping.search_motion, stepping.kick
    work, size = 0.0, 0.0
    for i in range(island.first, island.end):
        if q[3 * i] <= 0.0:
            continue
        contact = contacts[i]
        n, t, s = axes_of(contact)
        p = world_impulse(n, t, s, q[3 * i], q[3 * i + 1], q[3 * i + 2])
        arm_a, arm_b = load3(contact.arm_a), load3(contact.arm_b)
        given = q[3 * i] * load(stepping.surface_speeds, i)
        before = dot(p, relative_velocity(start, contact, arm_a, arm_b)) - given
        before -= dot(p, relative_velocity(kick, contact, arm_a, arm_b))
        after = dot(p, relative_velocity(motion, contact, arm_a, arm_b)) - given
        work += 0.5 * (before + after)
        size += abs(before)
    return work, size


@njit
def largest_share(w0, middle, w1):
    """The θ in [0, 1] at which the parabola through W(0) = w0 ≤ 0, W(½), W(1) = w1 > 0 is zero."""
    a = 2.0 * (w0 + w1 - 2.0 * middle)
    b = w1 - w0 - a
    root = math.sqrt(max(0.0, b * b - 4.0 * a * w0))
    theta = -2.0 * w0 / (b + root) if b + root > 0.0 else 0.0
    return min(1.0, max(0.0, theta))


@inlined
def interpolate(share, now, first):
    """(1 − share) now + share first; exactly `first` for 1."""
    return first if share == 1.0 else now + share * (first - now)


# What contacts that do not bounce add -----------------------------------------------------------------------------------
#
# The solution without restitution follows for all contacts, and its impulses may raise a contact that bounced faster than
# the rounds let it go. A block that rocks on an edge is an example: its weight loads the other edge within the step, and
# that load would return what the bounce lost, again and again. So such a contact leaves with the speed that the rounds gave
# it, by a smaller impulse, and the solution is made again. What is below the aim of the island may be added to the speed.

REPEATS = 4  # most such solutions
EXCESS = 0.1  # of the speed that the bounce lost: what may be added to that after the rounds


@njit
def note_speeds(island, tables):
    """Keep the normal velocities of the contacts of an island that bounced, after its rounds."""
    stepping = tables.stepping
    for i in range(island.first, island.end):
        if stepping.impacts[3 * i] > 0.0:
            store(stepping.impact_speeds, i, approach_velocity(i, stepping.motion, tables))


@inlined
def kept_share(impulse, inverse, restitution, speed, u, aim):
    """The share of the impulse of a bounce that is left, where it went with `speed` after the rounds and has u now."""
    excess = u - max(speed, 0.0)
    if excess <= max(aim, EXCESS * (1.0 - restitution) * abs(speed)):
        return 1.0
    return max(0.0, 1.0 - excess * inverse / impulse)


@njit
def weaken_impact(i, u, aim, tables):
    """Weaken the impulse of contact i, which bounced, if its normal velocity u is faster than after the rounds. Returns
    whether it was."""
    stepping = tables.stepping
    impacts = stepping.impacts
    inverse = load(stepping.rows, ROW * i + INVERSE_NORMAL)
    restitution = tables.collision.contacts[i].restitution
    share = kept_share(impacts[3 * i], inverse, restitution, load(stepping.impact_speeds, i), u, aim)
    for k in range(3 * i, 3 * i + 3):
        impacts[k] *= share
    return share < 1.0


@njit
def weaken_impacts(impacts, bounced, tables):
    """Weaken what bounced and is faster now than after the rounds. impacts : whether islands without joints had some;
    bounced : whether others had. Returns whether there was something to weaken."""
    collision, stepping, some = tables.collision, tables.stepping, False
    for k in range(collision.counts[ISLANDS] if impacts else 0):
        island = collision.islands[k]
        if island.jointed == 0:
            for i in range(island.first, island.end):
                if stepping.impacts[3 * i] > 0.0:
                    some = weaken_impact(i, approach_velocity(i, stepping.motion, tables), island.aim, tables) or some
    if bounced:
        motion = stepping.motion
        call_pointer(tables.callbacks[0].impacts, own_address(tables), WEAKEN_IMPACTS, 0.0, motion, motion)
        some = some or stepping.answer[0] != 0.0
        stepping.answer[0], stepping.answer[1] = 0.0, 0.0
    return some


# Where the solver starts ------------------------------------------------------------------------------------------------


@njit
def load_speeds(h, y, tables):
    """Fill `motion` with the velocities without impulses: from the momenta in y, which forces over h have changed."""
    if in_joint_space(tables):
        call_coordinates(FREE_SPEEDS, h, y, tables.stepping.answer, tables)
        return
    load_motion(y, tables.system, tables.stepping.motion)
    if tables.system.commands.shape[0] > 0:
        copy_given(tables)


@njit
def copy_given(tables):
    """The velocities of kinematic bodies, which are members of no island, from `motion` to the other packed velocities."""
    stepping, commands = tables.stepping, tables.system.commands
    for i in range(commands.shape[0]):
        at = MOTION * commands[i].body
        for k in range(at, at + SPEEDS if at >= 0 else at):
            store(stepping.search_motion, k, load(stepping.motion, k))
            store(stepping.support_motion, k, load(stepping.motion, k))


@njit
def load_free_motion(h, impacts, y, tables):
    """The same, with the velocities of the impacts if there were any."""
    stepping, contacts = tables.stepping, tables.collision.contacts
    load_speeds(h, y, tables)
    if impacts != 0:
        for i in range(tables.collision.counts[CONTACTS]):
            n, t, s = axes_of(contacts[i])
            p = stepping.impacts[3 * i], stepping.impacts[3 * i + 1], stepping.impacts[3 * i + 2]
            if p[0] > 0.0:
                apply(contacts[i], world_impulse(n, t, s, p[0], p[1], p[2]), stepping.motion)


@njit
def bounce_mechanisms(h, closing, with_forces, impacts, y, tables):
    """The impacts of what has joints, and of all in joint coordinates, where something of that can bounce within the time
    `closing` (s); with those of other islands, if there were `impacts`. Leaves in `motion` the velocities after all of them.
    Returns (whether there were some, a status)."""
    address, answer = tables.callbacks[0].impacts, tables.stepping.answer
    if address == 0:
        return False, OK
    motion = tables.stepping.motion
    status = call_pointer(address, own_address(tables), MAKE_IMPACTS, closing, motion, motion)
    bounced, moved = answer[0] != 0.0, answer[1] != 0.0
    answer[0], answer[1] = 0.0, 0.0  # zero is what `limits_value` returns where there are no limits
    if status == OK and moved:
        load_after_impacts(h if with_forces else 0.0, impacts, bounced, y, tables)
    return bounced, status


@njit
def load_after_impacts(h, impacts, bounced, y, tables):
    """Fill `motion` with the velocities without impulses but those of impacts, of mechanisms too if these `bounced`."""
    load_free_motion(h, 1 if bounced and not in_joint_space(tables) else impacts, y, tables)
    if bounced:
        motion = tables.stepping.motion
        call_pointer(tables.callbacks[0].impacts, own_address(tables), PUSH_IMPACTS, h, motion, motion)


@njit
def add_impacts(tables):
    """Add the impulses of impacts to those of contacts and stops."""
    impacts, contacts, bounds = tables.stepping.impacts, tables.collision.contacts, tables.stepping.bounds
    for i in range(bounds.shape[0]):
        bounds[i].impulse += bounds[i].impact
    for i in range(tables.collision.counts[CONTACTS]):
        for k in range(3):
            contacts[i].impulse[k] += impacts[3 * i + k]
