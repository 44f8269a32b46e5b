"""Restitution that adds no energy.

Newton's law u_n⁺ = −e u_n⁻ at each of several contacts that act on each other, or with friction, may ask for more kinetic
energy than there was (Kane & Levinson 1985; Stronge 1990). The energy that impulses p bring is W = p · ½ (u⁻ + u⁺). Without
restitution (e = 0) Coulomb's law makes W ≤ 0. So, where the solution with restitution has W > 0, the step takes the mixture

    p = (1 − θ) p₀ + θ p_e,   u⁺ = (1 − θ) u₀ + θ u_e

of the solutions without and with it, with the largest θ ≤ 1 at which W = 0, each island its own. It pushes and never pulls,
its friction lies in the cone (which is convex), and nothing closes that does not close in either solution.
"""

import math

from ..collide.tables import CONTACTS, ISLANDS
from ..core.jit import inlined, njit
from ..core.math3 import load3
from ..core.simd import copy
from ..core.status import OK
from .joints import contact_work, joint_work
from .solve import solve_impulses
from .tables import (
    BEFORE,
    FREE_SPEEDS,
    ROW,
    SET_PLASTIC,
    WORK,
    call_coordinates,
    call_limits,
    in_joint_space,
    load_motion,
)

ROUNDING = 1e-12  # of the work in both directions: a smaller gain is rounding
CLOSED = 0.1  # of the slop: smaller gaps of contacts that bore force are closed


@inlined
def gap_bias(contact, h, slop):
    """The bias of the normal velocity without restitution: gap / h.

    A tiny gap of a contact that bore force is zero, so that rounding does not decide which of four corners on the ground bear
    force.
    """
    gap = max(contact.separation, 0.0)
    return 0.0 if contact.impulse[0] > 0.0 and gap <= CLOSED * slop else gap / h


@inlined
def set_bias(contact, h, slop, before, u):
    """gap / h, or e u_n⁻ of a contact that closes within the step: its normal velocity was `before` and is u without
    impulses. Returns whether it bounces."""
    contact.bias = gap_bias(contact, h, slop)
    if contact.restitution > 0.0 and before < 0.0 and contact.bias + u < 0.0:
        contact.bias = contact.restitution * before
        return True
    return False


@njit
def limit_restitution(h, with_forces, y, tables):
    """Where the impulses add energy to an island, replace them by the mixture; y holds the momenta without impulses, but with
    those of forces over h, if `with_forces`. Writes impulses and `motion`. Returns a status."""
    islands, count = tables.collision.islands, tables.collision.counts[ISLANDS]
    if not measure_gains(tables):
        return OK
    save_first(tables)
    for i in range(count):
        if islands[i].gained > 0.0:
            make_plastic(h, islands[i], tables)
    if in_joint_space(tables):
        call_coordinates(FREE_SPEEDS, h if with_forces else 0.0, y, tables.stepping.answer, tables)
    else:
        load_motion(y, tables.system.bodies, tables.system.kinematics, tables.stepping.motion)
    status = solve_impulses(tables)
    if status != OK:
        return status
    for i in range(count):
        island = islands[i]
        if island.gained > 0.0:
            plastic, _ = island_work(island, tables)
            mix(0.5, island, tables)
            middle, _ = island_work(island, tables)
            mix(2.0 * largest_share(plastic, middle, island.gained) - 1.0, island, tables)
        else:
            mix(1.0, island, tables)
    return OK


@njit
def measure_gains(tables):
    """W of each island, zero where that is rounding or less; returns whether some island gains."""
    islands = tables.collision.islands
    some = False
    for i in range(tables.collision.counts[ISLANDS]):
        gained, turned_over = island_work(islands[i], tables)
        islands[i].gained = gained if gained > ROUNDING * turned_over else 0.0
        some = some or islands[i].gained > 0.0
    return some


@njit
def save_first(tables):
    """Store the solution with restitution."""
    stepping = tables.stepping
    contacts, bounds, first = tables.collision.contacts, stepping.bounds, stepping.first_impulses
    copy(stepping.first_motion, stepping.motion)
    copy(stepping.first_joint_impulses, stepping.joint_impulses)
    for i in range(tables.collision.counts[CONTACTS]):
        for k in range(3):
            first[3 * i + k] = contacts[i].impulse[k]
    for i in range(bounds.shape[0]):
        bounds[i].first_impulse = bounds[i].impulse


@njit
def make_plastic(h, island, tables):
    """Set the biases of an island to those without restitution."""
    contacts, slop = tables.collision.contacts, tables.stepping.options[0].slop
    for i in range(island.first, island.end):
        contacts[i].bias = gap_bias(contacts[i], h, slop)
    if island.jointed != 0:
        call_limits(SET_PLASTIC, h, tables.stepping.motion, tables)


@njit
def largest_share(w0, middle, w1):
    """The θ in [0, 1] at which the parabola through W(0) = w0 ≤ 0, W(½), W(1) = w1 > 0 is zero."""
    a = 2.0 * (w0 + w1 - 2.0 * middle)
    b = w1 - w0 - a
    root = math.sqrt(max(0.0, b * b - 4.0 * a * w0))
    theta = -2.0 * w0 / (b + root) if b + root > 0.0 else 0.0
    return min(1.0, max(0.0, theta))


@njit
def island_work(island, tables):
    """(W of contacts, stops and joints of an island, the sum of the sizes of its parts), J."""
    stepping = tables.stepping
    contacts = tables.collision.contacts
    motion, rows = stepping.motion, stepping.rows
    work, size = 0.0, 0.0
    if in_joint_space(tables):
        number = tables.collision.island_of[tables.collision.members[island.first_member]]
        call_coordinates(WORK, float(number), motion, stepping.answer, tables)
        return stepping.answer[0], stepping.answer[1]
    if island.jointed != 0:
        call_limits(WORK, 0.0, motion, tables)
        work, size = stepping.answer[0], stepping.answer[1]
        of_joints = joint_work(tables)
        work += of_joints
        size += abs(of_joints)
    for i in range(island.first, island.end):
        contact = contacts[i]
        p = load3(contact.impulse)
        if p[0] > 0.0:
            normal, friction = contact_work(contact, p, motion, rows, ROW * i + BEFORE)
            work += normal + friction
            size += p[0] * abs(rows[ROW * i + BEFORE]) + abs(friction)
    return work, size


@inlined
def interpolate(share, now, first):
    """(1 − share) now + share first; exactly `first` for 1."""
    return first if share == 1.0 else now + share * (first - now)


@njit
def mix(share, island, tables):
    """Impulses and velocities of an island become (1 − share) of the present and `share` of the first solution."""
    stepping = tables.stepping
    contacts, members = tables.collision.contacts, tables.collision.members
    motion, first_motion = stepping.motion, stepping.first_motion
    first = stepping.first_impulses
    bounds = stepping.bounds
    for m in range(island.first_member, island.end_member):
        own = stepping.members[members[m]]
        for i in range(own.first_speed, own.end_speed):
            motion[i] = interpolate(share, motion[i], first_motion[i])
        for i in range(own.first_bound, own.end_bound):
            bounds[i].impulse = interpolate(share, bounds[i].impulse, bounds[i].first_impulse)
    for i in range(island.first, island.end):
        impulse = contacts[i].impulse
        for k in range(3):
            impulse[k] = interpolate(share, impulse[k], first[3 * i + k])
    if island.jointed == 0:
        return
    joints, first_joints = stepping.joint_impulses, stepping.first_joint_impulses
    for i in range(joints.shape[0]):
        joints[i] = interpolate(share, joints[i], first_joints[i])
