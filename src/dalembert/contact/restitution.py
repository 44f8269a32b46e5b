"""Restitution that makes no energy.

Newton's law u_n⁺ = −e u_n⁻ at each of several contacts that act on each other, or with friction, may ask for more kinetic
energy than there was (Kane & Levinson 1985; Stronge 1990). The energy that impulses p bring is W = p · ½ (u⁻ + u⁺). Without
restitution (e = 0) Coulomb's law makes W ≤ 0. So, where the solution with restitution has W > 0, the step takes the mixture

    p = (1 − θ) p₀ + θ p_e,   u⁺ = (1 − θ) u₀ + θ u_e

of the solutions without and with it, with the largest θ ≤ 1 at which W = 0. It pushes and never pulls, its friction lies in
the cone (which is convex), and nothing closes that does not close in either solution.
"""

import math

from ..arrays import copy
from ..collide.tables import CONTACTS
from ..collide.tables_of import contacts_of, counts_of
from ..jit import inlined, njit
from ..mechanics.system import bodies_of, kinematics_of
from ..status import OK
from ..vec import add, load3, scale, store3
from .bounded import passive_work, set_bounces
from .impulses import contact_work
from .joints import joint_work
from .solve import solve
from .tables import BEFORE, ROW
from .tables_of import (
    bounds_of,
    first_impulses_of,
    first_joint_impulses_of,
    first_motion_of,
    joint_impulses_of,
    motion_of,
    options_of,
    rows_of,
)
from .velocities import load_motion, three

ROUNDING = 1e-12  # of the work done either way
CLOSED = 0.1  # of the slop: a gap that is none


@inlined
def gap_bias(contact, h, slop):
    """What the law of contact without restitution adds to the normal velocity: gap / h.

    Where force was borne a gap of next to nothing is none: of four corners that stand on the ground, which ones do is not
    to change with rounding.
    """
    gap = max(contact.separation, 0.0)
    return 0.0 if contact.impulse[0] > 0.0 and gap <= CLOSED * slop else gap / h


@njit
def limit_restitution(walls, h, y, system, collision, stepping, problem):
    """Where the impulses of `solve` bring energy, put the mixture in their place; y holds the momenta without impulses.
    Returns a status."""
    gained, turned_over = total_work(system, collision, stepping)
    if gained <= ROUNDING * turned_over:
        return OK
    contacts = contacts_of(collision)
    count = counts_of(collision)[CONTACTS]
    motion, first_motion = motion_of(stepping), first_motion_of(stepping)
    first, first_joints = first_impulses_of(stepping), first_joint_impulses_of(stepping)
    bounds, slop = bounds_of(stepping), options_of(stepping)[0].slop
    copy(first_motion, motion)
    copy(first_joints, joint_impulses_of(stepping))
    for i in range(count):
        contact = contacts[i]
        for k in range(3):
            first[3 * i + k] = contact.impulse[k]
        contact.bias = gap_bias(contact, h, slop)
    for i in range(bounds.shape[0]):
        bounds[i].first_impulse = bounds[i].impulse
    set_bounces(h, system, stepping, True)
    load_motion(y, bodies_of(system), kinematics_of(system), motion)
    status = solve(walls, system, collision, stepping, problem)
    if status != OK:
        return status
    plastic, _ = total_work(system, collision, stepping)
    mixture(0.5, collision, stepping)
    middle, _ = total_work(system, collision, stepping)
    mixture(2.0 * largest_share(plastic, middle, gained) - 1.0, collision, stepping)
    return OK


@njit
def largest_share(w0, middle, w1):
    """The θ in [0, 1] at which the parabola through W(0) = w0 ≤ 0, W(½), W(1) = w1 > 0 is zero."""
    a = 2.0 * (w0 + w1 - 2.0 * middle)
    b = w1 - w0 - a
    root = math.sqrt(max(0.0, b * b - 4.0 * a * w0))
    theta = -2.0 * w0 / (b + root) if b + root > 0.0 else 0.0
    return min(1.0, max(0.0, theta))


@njit
def total_work(system, collision, stepping):
    """(W of contacts, stops and joints, the sum of their parts without their signs), J."""
    contacts = contacts_of(collision)
    motion, rows = motion_of(stepping), rows_of(stepping)
    work, size = passive_work(system, stepping)
    of_joints = joint_work(system, stepping)
    work += of_joints
    size += abs(of_joints)
    for i in range(counts_of(collision)[CONTACTS]):
        contact = contacts[i]
        p = load3(contact.impulse)
        if p[0] > 0.0:
            normal, friction = contact_work(contact, p, motion, rows, ROW * i + BEFORE)
            work += normal + friction
            size += p[0] * abs(rows[ROW * i + BEFORE]) + abs(friction)
    return work, size


@njit
def mixture(share, collision, stepping):
    """Impulses and velocities become (1 − share) of what they are and `share` of the first solution's."""
    motion, first_motion = motion_of(stepping), first_motion_of(stepping)
    joints, first_joints = joint_impulses_of(stepping), first_joint_impulses_of(stepping)
    first = first_impulses_of(stepping)
    for i in range(motion.shape[0]):
        motion[i] += share * (first_motion[i] - motion[i])
    for i in range(joints.shape[0]):
        joints[i] += share * (first_joints[i] - joints[i])
    bounds = bounds_of(stepping)
    for i in range(bounds.shape[0]):
        bounds[i].impulse += share * (bounds[i].first_impulse - bounds[i].impulse)
    contacts = contacts_of(collision)
    for i in range(counts_of(collision)[CONTACTS]):
        contact = contacts[i]
        p = load3(contact.impulse)
        store3(contact.impulse, add(scale(1.0 - share, p), scale(share, three(first, 3 * i))))
