"""Laws of surfaces beyond Coulomb's and rigid contact, as a step of contact uses them: tables, and one contact.

Friction against spinning and rolling is that of `rolling`; it acts on each contact point with torques τ. Stribeck's law
sets the coefficient of a step from the sliding speed at its start.

A compliant contact has a stiffness k, N/m, and a damping d, N s/m. With the penetration δ = max(0, −gap), each point
pushes with k δ + d δ̇, and never pulls. With g the gap in the middle of a step over h, δ⁻ = max(0, ½ h u⁻ − g) at its
start and δ⁺ = −(g + ½ h u⁺) at its end, and u the normal velocity before and after the step, its impulse is

    p_n = ½ h k (δ⁻ + δ⁺) + d' (δ⁺ − δ⁻) − m (u⁺ − u⁻) ≥ 0:    u⁺ + c p_n + b ≥ 0 ⊥ p_n ≥ 0,

the midpoint rule, whose errors are of second order. So it is a row with a compliance c. The damping d' and the inertia m
are those of `limits.fit_decay`: a bounce decays as it should, and one that steps cannot follow is damped. As k → ∞ it
is the rigid contact, g + h u⁺ ≥ 0; there δ⁻ counts also where it is negative (`sharpness`). Position correction and
restitution do not act on it, because the spring returns its energy. The elastic energy is ½ k δ²; dampers dissipate
d (δ⁺ − δ⁻)²/h in a step; all other losses are errors of the integration.

Scenes without such surfaces have no such tables and do not use this file. In order: tables, coefficients, one contact,
memory.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..collide.tables import CONTACTS, ISLANDS, find_key
from ..core.jit import inlined, njit
from ..core.math3 import add_scaled, dot, load3, scale, store3
from ..core.simd import load
from ..core.tables import column, part
from .cone import coulomb_velocity, natural_map, project_coulomb
from .fast import note_torque
from .gauss_seidel import axes_of
from .island_problem import IslandProblem
from .limits import fit_decay, least_damping
from .rolling import project_torques, stribeck_friction, torque_residual, update_torques
from .tables import BEFORE, FRICTION_STEP, INVERSE_NORMAL, RESPONSE, ROW

# Tables -----------------------------------------------------------------------------------------------------------------

# What two surfaces make, see `scene.contact.PairFriction`; one row of `made` or `ruled`.
ROLLING, TORSIONAL, STATIC, STRIBECK, STIFFNESS, DAMPING, VALUES = range(7)
# Of each contact: whether it has another law than Coulomb's (`acts`) and resists turning; lengths μ_s and μ_r (m); static and
# sliding coefficients with Stribeck's velocity (m/s); stiffness, damping and gap (m), with c and b of this step, the gap at
# its start (m), and the share of u⁻ that is kept in u⁺ (`keep`). The angular response K and the torque τ (N m s) are in the
# frame of the contact, as the angular velocity before the step (rad/s); `reach` (m) turns angular velocities into velocities.
LAW = np.dtype(
    [("acts", "i8"), ("turns", "i8"), ("spin", "f8"), ("roll", "f8"), ("static", "f8"), ("kinetic", "f8"),
     ("stribeck", "f8"), ("stiffness", "f8"), ("damping", "f8"), ("gap", "f8"), ("compliance", "f8"), ("bias", "f8"),
     ("start", "f8"), ("keep", "f8"), ("torque", "f8", 3), ("before", "f8", 3), ("response", "f8", 6), ("reach", "f8")],
    align=True,
)  # fmt: skip
# The warm start of a contact that resisted turning in the step before: its colliders, facet and feature, and the torque in
# world axes.
MEMORY = np.dtype(
    [("a", "i8"), ("b", "i8"), ("facet", "i8"), ("feature", "i8"), ("torque", "f8", 3)], align=True
)  # fmt: skip
# Entries of `counts`: which half of `memory` is that of the step before, the same at the start of this step, how many rows
# each half has, the row that is likely to be next, and how many classes of materials there are.
HALF, HALF_AT_START, ROWS, LIKELY, CLASSES, COUNTS = 0, 1, 2, 4, 5, 6
ENERGY, KNOWN, ENERGY_AT_START, KNOWN_AT_START = range(4)  # places in `stored`
TURNING_WORK, ELASTIC_WORK, DAMPING_WORK, WORKS = range(4)  # places in `entries`
NO_ENTRY = -1


class Surfaces(NamedTuple):
    """The tables of surface laws. In joint coordinates `jacobian` and `push` are J and M⁻¹ Jᵀ of the angular velocities, as
    `rows.Rows` has those of the velocities, with the same sides."""

    counts: Any = column("COUNTS", np.int64, doc="see HALF")
    entries: Any = column("WORKS", np.int64, fill=NO_ENTRY, doc="of the state: work of torques, springs and dampers")
    stored: Any = column(
        "4", unit="J", doc="elastic energy after the last step, whether it is known; at the start of this"
    )
    class_of: Any = column(dtype=np.int64, doc="the class of material of each collider")
    made: Any = column(doc="VALUES of each two classes")
    keys: Any = column(dtype=np.int64, doc="sorted keys of pairs of colliders that a rule is for")
    ruled: Any = column(doc="VALUES of these")
    laws: Any = column("contacts", LAW)
    memory: Any = column(dtype=MEMORY, doc="two halves, of the step before and of this one")
    jacobian: Any = column("6 * path * contacts", doc="in joint coordinates")
    push: Any = column("6 * span * contacts", doc="likewise")
    problem: Any = part(IslandProblem)


# Coefficients -----------------------------------------------------------------------------------------------------------


@njit
def mark_surfaces(collision, surfaces):
    """Write the coefficients of all contacts, and which islands have some that need more than Coulomb's law: these are not
    swept in groups."""
    contacts, laws = collision.contacts, surfaces.laws
    for i in range(collision.counts[CONTACTS]):
        set_coefficients(contacts[i], laws[i], collision, surfaces)
    for k in range(collision.counts[ISLANDS]):
        island = collision.islands[k]
        island.surfaces = 0
        for i in range(island.first, island.end):
            if laws[i].acts != 0:
                island.surfaces, island.end_group = 1, island.first_group
                break


@njit
def set_coefficients(contact, law, collision, surfaces):
    """Write the coefficients of one contact: what a rule says, or what the materials make."""
    pair, count = collision.pairs[contact.pair], collision.colliders.shape[0]
    values, at = surfaces.made, -1
    if surfaces.keys.shape[0] > 0:
        at = find_key(surfaces.keys, min(pair.a, pair.b) * count + max(pair.a, pair.b))
    if at >= 0:
        values = surfaces.ruled
    else:
        at = surfaces.class_of[pair.a] * surfaces.counts[CLASSES] + surfaces.class_of[pair.b]
    at *= VALUES
    law.roll, law.spin = load(values, at + ROLLING), load(values, at + TORSIONAL)
    law.static, law.stribeck = load(values, at + STATIC), load(values, at + STRIBECK)
    law.stiffness, law.damping = load(values, at + STIFFNESS), load(values, at + DAMPING)
    law.kinetic = contact.friction
    law.turns = 1 if law.roll > 0.0 or law.spin > 0.0 else 0
    slides = law.stribeck > 0.0 and law.static > law.kinetic
    law.acts = 1 if law.turns != 0 or slides or law.stiffness > 0.0 else 0
    law.compliance = 0.0
    store3(law.torque, (0.0, 0.0, 0.0))


# One contact ------------------------------------------------------------------------------------------------------------

FAR = 1e3  # m: the gap of a compliant contact for position correction and restitution, which leave it alone
CLOSED_TO_IMPULSES = 1e4  # m/s: its bias where forces have no time to act
PASSES, ENOUGH = 2, 1e-12  # most passes over impulse and torque of a contact in a sweep; of the change, where they end


@njit
def fill_law(h, i, contact, law, rows):
    """The coefficient of friction, compliance and bias of contact i for a step over h (s); h = 0: no forces act. The angular
    response and velocity are there; `rows` has the others."""
    at = ROW * i
    if law.stribeck > 0.0:
        speed = math.sqrt(load(rows, at + BEFORE + 1) ** 2 + load(rows, at + BEFORE + 2) ** 2)
        contact.friction = stribeck_friction(speed, law.kinetic, law.static, law.stribeck)
    k = law.response
    trace = k[0] + k[1] + k[2]
    if law.turns != 0 and not (trace > 0.0 and load(rows, at + RESPONSE) > 0.0):
        law.turns = 0
    law.reach = math.sqrt(3.0 * load(rows, at + RESPONSE) / trace) if law.turns != 0 else 0.0
    if law.stiffness > 0.0:
        law.gap, contact.separation, contact.restitution = contact.separation, FAR, 0.0
        store3(contact.bend, (0.0, 0.0, 0.0))  # its spring gives back what the curve of its path takes
        if h == 0.0:
            law.compliance, law.bias, law.keep = 0.0, CLOSED_TO_IMPULSES, 0.0
        else:
            set_spring(h, law, load(rows, at + BEFORE), load(rows, at + RESPONSE))


@inlined
def sharpness(turn):
    """How sharply a spring begins to push where contact begins: 1 where steps follow the bounce, 0 where they cannot.
    turn : h √(k K), by which the oscillation turns in a step, rad."""
    return min(1.0, max(0.0, 2.0 - 0.5 * turn))


@njit
def set_spring(h, law, before, response):
    """c and b of a compliant contact in a step over h (s). before : its normal velocity, m/s. response : K, 1/kg."""
    k, d, gap = law.stiffness, law.damping, law.gap
    a, b = h * h * k * response, h * d * response
    inertia, damping = fit_decay(a, least_damping(a, b))
    mass, damping = (inertia / response, damping / response) if response > 0.0 else (0.0, h * d)
    law.start = gap - 0.5 * h * before
    end, begin = 0.5 * h * k + damping / h, 0.5 * h * k - damping / h  # of δ⁺ and δ⁻
    if law.start > 0.0:
        begin *= 1.0 - sharpness(math.sqrt(a))
    resist, keep = 0.5 * h * end + mass, 0.5 * h * begin + mass
    law.compliance, law.keep = 1.0 / resist, keep / resist
    law.bias = ((end + begin) * gap - keep * before) / resist


@njit
def aim_surfaces(collision, surfaces, surface_speeds):
    """The biases of compliant contacts, without the normal velocities of moving surfaces, before the step and after it."""
    for i in range(collision.counts[CONTACTS]):
        law = surfaces.laws[i]
        if law.stiffness > 0.0:
            collision.contacts[i].bias = law.bias - (1.0 - law.keep) * load(surface_speeds, i)


@njit
def project_start(contact, law):
    """The impulse and the torque that a solver starts from, projected on their cones."""
    p = project_coulomb(load3(contact.impulse), contact.friction)
    store3(contact.impulse, p)
    if law.turns != 0:
        store3(law.torque, project_torques(load3(law.torque), law.spin * p[0], law.roll * p[0]))


@inlined
def improve_impulse(contact, law, u, rows, at):
    """`gauss_seidel.improve` with the compliance c: p_n ← max(0, p_n − (u_n + b + c p_n)/(K_nn + c)). Returns the change."""
    old_n, old_t, old_s = load3(contact.impulse)
    excess = u[0] + contact.bias + law.compliance * old_n
    inverse = load(rows, at + INVERSE_NORMAL)
    if law.compliance > 0.0 and inverse > 0.0:
        inverse = 1.0 / (load(rows, at + RESPONSE) + law.compliance)
    new_n = max(0.0, old_n - excess * inverse)
    d_n, step = new_n - old_n, load(rows, at + FRICTION_STEP)
    new_t = old_t - step * (u[1] + contact.bend[1] + load(rows, at + RESPONSE + 1) * d_n)
    new_s = old_s - step * (u[2] + contact.bend[2] + load(rows, at + RESPONSE + 2) * d_n)
    most = contact.friction * new_n
    size = new_t * new_t + new_s * new_s
    if size > most * most:
        shrink = most / math.sqrt(size)
        new_t *= shrink
        new_s *= shrink
    store3(contact.impulse, (new_n, new_t, new_s))
    return (d_n, new_t - old_t, new_s - old_s)


@inlined
def improve_torque(contact, law, omega):
    """Set the torque of a contact to what the law asks for at its angular velocity (n, t, s). Returns the change."""
    old = load3(law.torque)
    k = law.response
    new = update_torques(
        old, omega, (k[0], k[1], k[2], k[3], k[4], k[5]), contact.impulse[0], law.spin, law.roll
    )  # fmt: skip
    store3(law.torque, new)
    return (new[0] - old[0], new[1] - old[1], new[2] - old[2])


@inlined
def size_of_torque(d, law):
    """An estimate of the change of velocity by a change d of the torque, m/s."""
    k = law.response
    return law.reach * max(abs(d[0]) * k[0], abs(d[1]) * k[1], abs(d[2]) * k[2])


@njit
def residual_of_law(contact, law, u, omega, response):
    """The natural map of one contact at its velocities (n, t, s), m/s: the larger of those of impulse and torque."""
    p, (u_n, u_t, u_s) = load3(contact.impulse), coulomb_velocity(contact, u)
    worst = natural_map(
        p, (u_n + law.compliance * p[0], u_t, u_s), contact.friction, response + law.compliance
    )  # fmt: skip
    if law.turns != 0:
        k = law.response
        matrix = (k[0], k[1], k[2], k[3], k[4], k[5])
        left = torque_residual(load3(law.torque), omega, matrix, p[0], law.spin, law.roll)
        worst = max(worst, law.reach * left)
    return worst


@inlined
def turning_work(law, omega):
    """Work of the torque, τ · ½ (ω⁻ + ω⁺), J."""
    return 0.5 * (dot(load3(law.torque), load3(law.before)) + dot(load3(law.torque), omega))


@inlined
def world_torque(contact, torque):
    """τ in world axes."""
    n, t, s = axes_of(contact)
    return add_scaled(add_scaled(scale(torque[0], n), torque[1], t), torque[2], s)


@njit
def spring_energies(h, contact, law, u_n):
    """(elastic energy ½ k δ² before and after a step over h, energy that its damper takes), J, of a compliant contact whose
    normal velocity is u_n after it."""
    k, d = law.stiffness, law.damping
    before, after = max(0.0, -law.start), max(0.0, -(law.gap + 0.5 * h * u_n))
    had, has = 0.5 * k * before * before, 0.5 * k * after * after
    if contact.impulse[0] > 0.0:
        return had, has, d * (after - before) * (after - before) / h
    return had, has, had - has if d > 0.0 else 0.0


@njit
def book_springs(h, entry, energies, y, surfaces):
    """Book the change of the elastic energy, and what dampers took: `energies` are the elastic ones before and after a step
    over h, and that (J). The work of normal impulses, in which both are, is booked at `entry` already. h = 0: the next step
    begins with the gaps that it finds."""
    before, after, taken = energies
    springs, dampers = surfaces.entries[ELASTIC_WORK], surfaces.entries[DAMPING_WORK]
    if springs < 0:
        return
    if h == 0.0:
        surfaces.stored[KNOWN] = 0.0
        return
    if surfaces.stored[KNOWN] == 0.0:
        surfaces.stored[ENERGY], surfaces.stored[KNOWN] = before, 1.0
    gained = after - surfaces.stored[ENERGY]
    y[springs] -= gained
    y[dampers] -= taken
    y[entry] += gained + taken
    surfaces.stored[ENERGY] = after


@njit
def note_torques(tables, surfaces):
    """Add the torques of contacts that bear force to what the step did to their pairs (`tables.STRUCK`)."""
    collision = tables.collision
    for i in range(collision.counts[CONTACTS]):
        contact, law = collision.contacts[i], surfaces.laws[i]
        if law.turns != 0 and contact.impulse[0] > 0.0:
            pair = collision.pairs[contact.pair]
            note_torque(pair.a, pair.b, world_torque(contact, load3(law.torque)), tables.stepping)


# Memory -----------------------------------------------------------------------------------------------------------------


@njit
def remember(contact, law, collision, surfaces):
    """Set the torque of a contact to that of the same feature in the step before, projected on its axes; else zero."""
    counts, memory = surfaces.counts, surfaces.memory
    half, pair = counts[HALF], collision.pairs[contact.pair]
    first, rows, feature = half * (memory.shape[0] // 2), counts[ROWS + half], pair.feature[contact.point]
    for tried in range(rows):
        k = counts[LIKELY] + tried
        if k >= rows:
            k -= rows
        row = memory[first + k]
        if row.a == pair.a and row.b == pair.b and row.facet == pair.facet and row.feature == feature:
            counts[LIKELY] = k + 1 if k + 1 < rows else 0
            n, t, s = axes_of(contact)
            torque = load3(row.torque)
            store3(law.torque, (dot(n, torque), dot(t, torque), dot(s, torque)))
            return


@njit
def save_torques(collision, surfaces):
    """Store the torques of this step, the warm start of the next."""
    counts, memory = surfaces.counts, surfaces.memory
    half = 1 - counts[HALF]
    first, rows = half * (memory.shape[0] // 2), 0
    for i in range(collision.counts[CONTACTS]):
        contact, law = collision.contacts[i], surfaces.laws[i]
        torque = load3(law.torque)
        if law.turns == 0 or (torque[0] == 0.0 and torque[1] == 0.0 and torque[2] == 0.0):
            continue
        pair, row = collision.pairs[contact.pair], memory[first + rows]
        row.a, row.b, row.facet, row.feature = pair.a, pair.b, pair.facet, pair.feature[contact.point]
        store3(row.torque, world_torque(contact, torque))
        rows += 1
    counts[ROWS + half], counts[HALF], counts[LIKELY] = rows, half, 0


@njit
def begin_memory(surfaces):
    """Note which half of the memory is that of the step before, and the elastic energy."""
    stored = surfaces.stored
    surfaces.counts[HALF_AT_START], surfaces.counts[LIKELY] = surfaces.counts[HALF], 0
    stored[ENERGY_AT_START], stored[KNOWN_AT_START] = stored[ENERGY], stored[KNOWN]


@njit
def restore_memory_of(surfaces):
    """Go back to them, where a step is made again."""
    stored = surfaces.stored
    surfaces.counts[HALF], surfaces.counts[LIKELY] = surfaces.counts[HALF_AT_START], 0
    stored[ENERGY], stored[KNOWN] = stored[ENERGY_AT_START], stored[KNOWN_AT_START]


@njit
def restore_gaps(collision, surfaces):
    """The gaps of compliant contacts, which their rows do not have during a step."""
    for i in range(collision.counts[CONTACTS]):
        if surfaces.laws[i].stiffness > 0.0:
            collision.contacts[i].separation = surfaces.laws[i].gap
