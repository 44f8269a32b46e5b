"""Projected Gauss–Seidel over contacts, with the exact Coulomb cone: the real-time solver of a time step.

Each contact in turn is given the impulse p that the law asks for at the velocities of the moment; p is kept between steps
(warm start). With K = J W Jᵀ its own 3 × 3 response, u its velocity (n, t₁, t₂) and b its bias:

    p_n ← max(0, p_n − (u_n + b)/K_nn),   u_t ← u_t + K_tn Δp_n,   p_t ← disc_{μ p_n}(p_t − ρ u_t),

where disc is the projection on the disc of that radius and 1/ρ the larger eigenvalue of K_tt. A fixed point has
p_n ≥ 0 ⊥ u_n + b ≥ 0, and p_t opposes u_t with μ p_n where it slides: Coulomb's law, with no pyramid.
"""

import math

from ..jit import inlined, njit
from ..unchecked import peek, poke
from ..vec import add, cross, dot, load3, scale, store3, symvec
from .motion import coulomb_velocity
from .residual import natural_map
from .tables import BEFORE, FRICTION_STEP, INVERSE_INERTIA, INVERSE_MASS, INVERSE_NORMAL, MOTION, RESPONSE, ROW
from .velocities import push, relative_velocity, six


@inlined
def axes_of(contact):
    """Normal and tangents."""
    f = contact.frame
    return (f[0], f[1], f[2]), (f[3], f[4], f[5]), (f[6], f[7], f[8])


@njit
def prepare_contacts(contacts, count, motion, rows):
    """Fill `rows`: responses, and the velocities as they are now."""
    for i in range(count):
        contact = contacts[i]
        at = ROW * i
        n, t, s = axes_of(contact)
        arm_a, arm_b = load3(contact.arm_a), load3(contact.arm_b)
        k_nn, k_nt, k_ns, k_tt, k_ts, k_ss = response(contact, arm_a, arm_b, n, t, s, motion)
        for k, value in enumerate((k_nn, k_nt, k_ns, k_tt, k_ts, k_ss)):
            poke(rows, at + RESPONSE + k, value)
        poke(rows, at + INVERSE_NORMAL, 1.0 / k_nn)
        half, spread = 0.5 * (k_tt + k_ss), 0.5 * (k_tt - k_ss)
        poke(rows, at + FRICTION_STEP, 1.0 / (half + math.sqrt(spread * spread + k_ts * k_ts)))
        u = relative_velocity(motion, contact, arm_a, arm_b)
        poke(rows, at + BEFORE, dot(n, u))
        poke(rows, at + BEFORE + 1, dot(t, u))
        poke(rows, at + BEFORE + 2, dot(s, u))


@njit
def response(contact, arm_a, arm_b, n, t, s, motion):
    """K = J W Jᵀ in the frame of the contact, as (nn, nt, ns, tt, ts, ss)."""
    k = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for side in range(2):
        at = MOTION * (contact.a if side == 0 else contact.b)
        arm = arm_a if side == 0 else arm_b
        w = peek(motion, at + INVERSE_MASS)
        inverse = six(motion, at + INVERSE_INERTIA)
        an, at_, as_ = cross(arm, n), cross(arm, t), cross(arm, s)
        in_, it, is_ = symvec(inverse, an), symvec(inverse, at_), symvec(inverse, as_)
        k = (
            k[0] + w + dot(an, in_), k[1] + dot(an, it), k[2] + dot(an, is_), k[3] + w + dot(at_, it),
            k[4] + dot(at_, is_), k[5] + w + dot(as_, is_),
        )  # fmt: skip
    return k


@inlined
def world_impulse(n, t, s, p_n, p_t, p_s):
    return add(scale(p_n, n), add(scale(p_t, t), scale(p_s, s)))


@njit
def warm_start(contacts, count, motion):
    """Apply the impulses that the contacts bring from the step before."""
    for i in range(count):
        contact = contacts[i]
        n, t, s = axes_of(contact)
        p = contact.impulse
        apply(contact, world_impulse(n, t, s, p[0], p[1], p[2]), motion)


@inlined
def apply(contact, impulse, motion):
    push(motion, contact.b, impulse, load3(contact.arm_b), 1.0)
    push(motion, contact.a, impulse, load3(contact.arm_a), -1.0)


@njit
def sweep_contacts(contacts, count, motion, rows):
    """One pass over all contacts; returns the largest change of a velocity that it made (m/s)."""
    largest = 0.0
    for i in range(count):
        contact = contacts[i]
        at = ROW * i
        n, t, s = axes_of(contact)
        arm_a, arm_b = load3(contact.arm_a), load3(contact.arm_b)
        u = relative_velocity(motion, contact, arm_a, arm_b)
        old_n, old_t, old_s = load3(contact.impulse)
        excess = dot(n, u) + contact.bias
        if excess >= 0.0 and old_n == 0.0:
            continue
        new_n = max(0.0, old_n - excess * peek(rows, at + INVERSE_NORMAL))
        d_n = new_n - old_n
        step = peek(rows, at + FRICTION_STEP)
        new_t = old_t - step * (dot(t, u) + peek(rows, at + RESPONSE + 1) * d_n)
        new_s = old_s - step * (dot(s, u) + peek(rows, at + RESPONSE + 2) * d_n)
        most = contact.friction * new_n
        size = new_t * new_t + new_s * new_s
        if size > most * most:
            shrink = most / math.sqrt(size)
            new_t *= shrink
            new_s *= shrink
        d_t, d_s = new_t - old_t, new_s - old_s
        if d_n == 0.0 and d_t == 0.0 and d_s == 0.0:
            continue
        store3(contact.impulse, (new_n, new_t, new_s))
        apply(contact, world_impulse(n, t, s, d_n, d_t, d_s), motion)
        largest = max(largest, abs(d_n) * peek(rows, at + RESPONSE), max(abs(d_t), abs(d_s)) / step)
    return largest


@njit
def worst_residual(contacts, count, motion, rows):
    """The largest natural-map residual of Coulomb's law over the contacts (m/s); see `residual`."""
    worst = 0.0
    for i in range(count):
        contact = contacts[i]
        n, t, s = axes_of(contact)
        u = relative_velocity(motion, contact, load3(contact.arm_a), load3(contact.arm_b))
        u_hat = coulomb_velocity(contact, (dot(n, u), dot(t, u), dot(s, u)))
        k = peek(rows, ROW * i + RESPONSE)
        worst = max(worst, natural_map(load3(contact.impulse), u_hat, contact.friction, k))
    return worst


@njit
def sweep_positions(contacts, count, shift, rows, corrections, reach, slop):
    """One pass of the same for displacements instead of velocities: `shift` (as `motion`) is pushed until nothing
    overlaps by more than `slop` (m); contacts farther apart than `reach` (m) are left out. `corrections` are the normal
    multipliers (kg m). Returns the deepest left."""
    deepest = 0.0
    for i in range(count):
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
        new = max(0.0, old - gap * peek(rows, ROW * i + INVERSE_NORMAL))
        if new != old:
            corrections[i] = new
            apply(contact, scale(new - old, n), shift)
    return deepest
