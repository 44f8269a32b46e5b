"""How far to follow a guess at the impulses of an island.

Without friction the impulses p of a step are where D is least: kinetic energy, with the biases b,

    D(p) = ½ vᵀ M v + bᵀ p,   D(p + α Δp) = D(p) + α (u + b)·Δp + ½ α² Δu·Δp   with v = v_free + W Jᵀ p, u = J v.

Each change that Gauss–Seidel makes brings D down. From p to a guess p + Δp, this goes on to the α in [0, 1] where D is least:
mixtures of impulses in the cones are in the cones. So the impulses of the step before, with which a step starts, bring no
energy, whatever has changed since; and nothing goes too far, to be undone in the next step, and so on, ever more.
"""

from ..jit import njit
from ..unchecked import peek, poke
from ..vec import add_scaled, dot, load3, store3, sub
from .gauss_seidel import axes_of, is_zero, world_impulse
from .tables import MOTION, SPEEDS
from .velocities import copy_velocities, relative_velocity, three


@njit
def keep(share, island, collision, stepping):
    """The velocities as they are, and this share of the impulses (1: as they are; 0: those that made the velocities)."""
    contacts, kept = collision.contacts, stepping.kept_impulses
    copy_velocities(island, collision.members, stepping.motion, stepping.kept_motion)
    for i in range(island.first, island.end):
        for k in range(3):
            poke(kept, 3 * i + k, share * contacts[i].impulse[k])


@njit
def take_best(island, collision, stepping):
    """Go back to where D is least between what was kept and what is; returns α."""
    share = best_share(island, collision, stepping)
    if share < 1.0:
        go_back(share, island, collision, stepping)
    return share


@njit
def best_share(island, collision, stepping):
    """The α in [0, 1] at which D is least between what was kept (0) and what is (1)."""
    contacts = collision.contacts
    motion, before, kept = stepping.motion, stepping.kept_motion, stepping.kept_impulses
    slope, curvature = 0.0, 0.0
    for i in range(island.first, island.end):
        contact = contacts[i]
        n, t, s = axes_of(contact)
        d = sub(load3(contact.impulse), three(kept, 3 * i))
        if is_zero(d):
            continue
        impulse = world_impulse(n, t, s, d[0], d[1], d[2])
        arm_a, arm_b = load3(contact.arm_a), load3(contact.arm_b)
        first = dot(impulse, relative_velocity(before, contact, arm_a, arm_b))
        slope += first + contact.bias * d[0]
        curvature += dot(impulse, relative_velocity(motion, contact, arm_a, arm_b)) - first
    return min(1.0, max(0.0, -slope / curvature)) if curvature > 0.0 else 0.0


@njit
def go_back(share, island, collision, stepping):
    """So far from what was kept to what is: mixtures of impulses in the cones are in the cones."""
    contacts, members = collision.contacts, collision.members
    motion, before, kept = stepping.motion, stepping.kept_motion, stepping.kept_impulses
    for m in range(island.first_member, island.end_member):
        at = MOTION * members[m]
        for i in range(at, at + SPEEDS):
            poke(motion, i, peek(before, i) + share * (peek(motion, i) - peek(before, i)))
    for i in range(island.first, island.end):
        old = three(kept, 3 * i)
        store3(contacts[i].impulse, add_scaled(old, share, sub(load3(contacts[i].impulse), old)))
