"""Projected Gauss–Seidel over contacts, with the exact Coulomb cone: the real-time solver of a time step.

Each contact in turn gets the impulse p that satisfies the law at the current velocities. The first guess is p of the
last step (warm start). With K = J W Jᵀ its own 3 × 3 response, u its velocity (n, t, s) and b its bias:

    p_n ← max(0, p_n − (u_n + b)/K_nn),   u_t ← u_t + K_tn Δp_n,   p_t ← disc_{μ p_n}(p_t − ρ u_t),

where disc is the projection on the disc of that radius and 1/ρ the larger eigenvalue of K_tt. A fixed point has
p_n ≥ 0 ⊥ u_n + b ≥ 0, and p_t opposes u_t with μ p_n if it slides: Coulomb's law with the exact cone.

In order: rows, one contact, sweeps over contacts, and the line search. `solve` calls them.
"""

import math

from ..core.jit import inlined, njit
from ..core.math3 import add, add_scaled, cross, dot, load3, scale, store3, sub, symvec
from ..core.simd import load, store
from .cone import coulomb_velocity, natural_map, project_coulomb
from .tables import (
    BEFORE,
    FRICTION_STEP,
    INVERSE_INERTIA,
    INVERSE_MASS,
    INVERSE_NORMAL,
    MOTION,
    RESPONSE,
    ROW,
    SPEEDS,
    copy_velocities,
    push,
    relative_velocity,
    six,
    three,
)


@inlined
def axes_of(contact):
    """Normal and tangents."""
    f = contact.frame
    return (f[0], f[1], f[2]), (f[3], f[4], f[5]), (f[6], f[7], f[8])


@njit
def prepare_contacts(begin, end, contacts, motion, rows):
    """Fill `rows` of contacts begin … end: responses, and the velocities in `motion`."""
    for i in range(begin, end):
        contact = contacts[i]
        n, t, s = axes_of(contact)
        arm_a, arm_b = load3(contact.arm_a), load3(contact.arm_b)
        k = add_six(response(contact.a, arm_a, n, t, s, motion), response(contact.b, arm_b, n, t, s, motion))
        put_row(k, rows, ROW * i)
        u = relative_velocity(motion, contact, arm_a, arm_b)
        store(rows, ROW * i + BEFORE, dot(n, u))
        store(rows, ROW * i + BEFORE + 1, dot(t, u))
        store(rows, ROW * i + BEFORE + 2, dot(s, u))


@njit
def prepare_responses(begin, end, contacts, motion, rows):
    """The responses alone, of contacts whose sweeps are in groups."""
    for i in range(begin, end):
        contact = contacts[i]
        n, t, s = axes_of(contact)
        a, b = load3(contact.arm_a), load3(contact.arm_b)
        k = add_six(response(contact.a, a, n, t, s, motion), response(contact.b, b, n, t, s, motion))
        put_row(k, rows, ROW * i)


@njit
def response(body, arm, n, t, s, motion):
    """What a body adds to K = J W Jᵀ in the frame of the contact, as (nn, nt, ns, tt, ts, ss)."""
    w = load(motion, MOTION * body + INVERSE_MASS)
    inverse = six(motion, MOTION * body + INVERSE_INERTIA)
    of_n, of_t, of_s = cross(arm, n), cross(arm, t), cross(arm, s)
    turn_n, turn_t, turn_s = symvec(inverse, of_n), symvec(inverse, of_t), symvec(inverse, of_s)
    return (
        w + dot(of_n, turn_n), dot(of_n, turn_t), dot(of_n, turn_s), w + dot(of_t, turn_t), dot(of_t, turn_s),
        w + dot(of_s, turn_s),
    )  # fmt: skip


@inlined
def add_six(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5])


@inlined
def put_row(k, rows, at):
    """Write K of a contact, 1/K_nn and the step of friction."""
    for i in range(6):
        store(rows, at + RESPONSE + i, k[i])
    store(rows, at + INVERSE_NORMAL, 1.0 / k[0])
    half, spread = 0.5 * (k[3] + k[5]), 0.5 * (k[3] - k[5])
    store(rows, at + FRICTION_STEP, 1.0 / (half + math.sqrt(spread * spread + k[4] * k[4])))


@inlined
def world_impulse(n, t, s, p_n, p_t, p_s):
    """p_n n + p_t t + p_s s."""
    return add(scale(p_n, n), add(scale(p_t, t), scale(p_s, s)))


@njit
def warm_start(begin, end, contacts, motion):
    """Apply the impulses of the last step, projected on the cones, as the axes of contacts turn."""
    for i in range(begin, end):
        contact = contacts[i]
        n, t, s = axes_of(contact)
        p = project_coulomb(load3(contact.impulse), contact.friction)
        store3(contact.impulse, p)
        apply(contact, world_impulse(n, t, s, p[0], p[1], p[2]), motion)


@inlined
def apply(contact, impulse, motion):
    """Apply an impulse (world axes) to b, and its opposite to a."""
    push(motion, contact.b, impulse, load3(contact.arm_b), 1.0)
    push(motion, contact.a, impulse, load3(contact.arm_a), -1.0)


@inlined
def improve(contact, u, share, rows, at):
    """Set the impulse of a contact to what the law asks for at its velocity u, or go `share` of the way; returns the change.
    Both are in its frame, (n, t, s)."""
    old_n, old_t, old_s = load3(contact.impulse)
    excess = u[0] + contact.bias
    if excess >= 0.0 and old_n == 0.0 and old_t == 0.0 and old_s == 0.0:
        return (0.0, 0.0, 0.0)
    new_n = max(0.0, old_n - share * excess * load(rows, at + INVERSE_NORMAL))
    d_n = new_n - old_n
    step = share * load(rows, at + FRICTION_STEP)
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
def is_zero(d):
    return d[0] == 0.0 and d[1] == 0.0 and d[2] == 0.0


@inlined
def size_of(d, rows, at):
    """An estimate of the change of velocity of a contact by a change d of its impulse, m/s."""
    of_friction = max(abs(d[1]), abs(d[2])) / load(rows, at + FRICTION_STEP)
    return max(abs(d[0]) * load(rows, at + RESPONSE), of_friction)


@inlined
def sweep_contact(i, contacts, motion, rows):
    """Improve contact i, and change the velocities of its bodies; returns an estimate of the change of its velocity (m/s)."""
    contact = contacts[i]
    n, t, s = axes_of(contact)
    u = relative_velocity(motion, contact, load3(contact.arm_a), load3(contact.arm_b))
    d = improve(contact, (dot(n, u), dot(t, u), dot(s, u)), 1.0, rows, ROW * i)
    if is_zero(d):
        return 0.0
    apply(contact, world_impulse(n, t, s, d[0], d[1], d[2]), motion)
    return size_of(d, rows, ROW * i)


@njit
def sweep_contacts(begin, end, contacts, motion, rows):
    """One sweep; returns the largest change of a velocity that it made (m/s)."""
    largest = 0.0
    for i in range(begin, end):
        largest = max(largest, sweep_contact(i, contacts, motion, rows))
    return largest


@inlined
def residual_of(i, contacts, motion, rows):
    """The natural-map residual of Coulomb's law at contact i (m/s); see `cone`."""
    contact = contacts[i]
    n, t, s = axes_of(contact)
    u = relative_velocity(motion, contact, load3(contact.arm_a), load3(contact.arm_b))
    u_hat = coulomb_velocity(contact, (dot(n, u), dot(t, u), dot(s, u)))
    return natural_map(load3(contact.impulse), u_hat, contact.friction, load(rows, ROW * i + RESPONSE))


@njit
def worst_residual(begin, end, contacts, motion, rows):
    """The largest residual of contacts begin … end (m/s)."""
    worst = 0.0
    for i in range(begin, end):
        worst = max(worst, residual_of(i, contacts, motion, rows))
    return worst


@njit
def sweep_positions(begin, end, contacts, shift, rows, corrections, reach, slop):
    """One sweep for displacements in `shift`, until nothing overlaps by more than `slop` (m): c ← max(0, c − (g + slop +
    δ)/K_nn) with c in `corrections` (kg m). Contacts farther apart than `reach` (m) are left out. Returns the deepest left
    (m)."""
    deepest = 0.0
    for i in range(begin, end):
        contact = contacts[i]
        if contact.separation > reach:
            continue
        n, _, _ = axes_of(contact)
        gap = (
            contact.separation
            + slop
            + dot(n, relative_velocity(shift, contact, load3(contact.arm_a), load3(contact.arm_b)))
        )
        deepest = max(deepest, -gap)
        old = corrections[i]
        new = max(0.0, old - gap * load(rows, ROW * i + INVERSE_NORMAL))
        if new != old:
            corrections[i] = new
            apply(contact, scale(new - old, n), shift)
    return deepest


# Line search ------------------------------------------------------------------------------------------------------------
#
# Without friction the impulses p of a step minimize D, the kinetic energy with the biases b,
#
#     D(p) = ½ vᵀ M v + bᵀ p,   D(p + α Δp) = D(p) + α (u + b)·Δp + ½ α² Δu·Δp   with v = v_free + W Jᵀ p, u = J v.
#
# Each change of a sweep decreases D. From p to a guess p + Δp, the search goes to the α in [0, 1] where D is least;
# mixtures of impulses in the cones are in the cones. So the impulses of the last step, with which a step starts, add no
# energy, whatever has changed since, and no guess is overshot, to be undone in the next step.


@njit
def save_search(share, island, tables):
    """Store where a search starts: the velocities of an island, and `share` of its impulses: 1, or 0 where the velocities do
    not have these impulses in them yet."""
    stepping = tables.stepping
    contacts, start = tables.collision.contacts, stepping.search_impulses
    copy_velocities(island, tables.collision.members, stepping.motion, stepping.search_motion)
    for i in range(island.first, island.end):
        for k in range(3):
            store(start, 3 * i + k, share * contacts[i].impulse[k])


@njit
def search_line(island, tables):
    """Go back to the point where D is least between the start of the search and the present; returns α."""
    share = best_fraction(island, tables)
    if share < 1.0:
        restore_search(share, island, tables)
    return share


@njit
def best_fraction(island, tables):
    """The α in [0, 1] at which D is least between the start of the search (0) and the present (1)."""
    stepping = tables.stepping
    contacts = tables.collision.contacts
    motion, before, start = stepping.motion, stepping.search_motion, stepping.search_impulses
    slope, curvature = 0.0, 0.0
    for i in range(island.first, island.end):
        contact = contacts[i]
        n, t, s = axes_of(contact)
        d = sub(load3(contact.impulse), three(start, 3 * i))
        if is_zero(d):
            continue
        impulse = world_impulse(n, t, s, d[0], d[1], d[2])
        arm_a, arm_b = load3(contact.arm_a), load3(contact.arm_b)
        first = dot(impulse, relative_velocity(before, contact, arm_a, arm_b))
        slope += first + contact.bias * d[0] + contact.bend[1] * d[1] + contact.bend[2] * d[2]
        curvature += dot(impulse, relative_velocity(motion, contact, arm_a, arm_b)) - first
    return min(1.0, max(0.0, -slope / curvature)) if curvature > 0.0 else 0.0


@njit
def restore_search(share, island, tables):
    """Set impulses and velocities of an island to (1 − share) of the start of the search and `share` of the present ones."""
    stepping = tables.stepping
    contacts, members = tables.collision.contacts, tables.collision.members
    motion, before, start = stepping.motion, stepping.search_motion, stepping.search_impulses
    for m in range(island.first_member, island.end_member):
        at = MOTION * members[m]
        for i in range(at, at + SPEEDS):
            store(motion, i, load(before, i) + share * (load(motion, i) - load(before, i)))
    for i in range(island.first, island.end):
        old = three(start, 3 * i)
        store3(contacts[i].impulse, add_scaled(old, share, sub(load3(contacts[i].impulse), old)))
