"""Sweeps over contacts four wide: four pairs of bodies at a time, whose points are in structures of arrays.

The pairs of one colour move different bodies (`collide.islands`), so that four of them can be solved together: a
*group*. Its velocities are read once for all of its points and written once. Each of the four numbers is computed as in
`gauss_seidel.sweep_contacts` for one pair, in the same order of operations, so both give the same impulses. Missing
pairs and points are zero and give no impulse. Their separation is NO_POINT, so they do not count as overlap.

A group is HEAD numbers, and POINT numbers for each point of the pair that has most, in `wide`; each number is four
numbers, one for each pair. They are packed once a step; the impulses of a sweep stay here until `STORE` writes them to
the contacts. This is a C function of its own, which only scenes of many bodies need.

In order: packing; velocities of the bodies of a group; warm start and line search; sweeps; residuals; the C function.
"""

import math

import numpy as np

from ..collide.tables import LANE_COUNTS
from ..core.c_function import C_SIGNATURE, viewer
from ..core.jit import CFunction, inlined, njit
from ..core.simd import four, larger4, load, load4, minus4, over4, part4, plus4, spread, store, store4, times4, total4
from ..core.simd_bodies import (
    cross4,
    dot4,
    largest4,
    magnitude4,
    minus_vector4,
    plus_vector4,
    scaled4,
    select4,
    sqrt4,
    symvec4,
    transpose4,
)
from ..core.status import OK
from ..core.tables import table_at
from ..core.thread_pool import CONTACT_SLOT
from .parallel import (
    ALONE,
    CARRY_CORRECTIONS,
    CARRY_IMPULSES,
    LOAD,
    PACK,
    SCALE,
    SEARCH,
    SUMS,
    WARM_START,
    WIDE_POSITIONS,
    WIDE_RESIDUAL,
    WIDE_SWEEP,
)
from .tables import BEFORE, MOTION, ROW, ContactTables

# Offsets of a group: the frame of the pair, its friction
HEAD = 40
NORMAL, TANGENT, OTHER, FRICTION = 0, 12, 24, 36
# and of a point: its arms, its bias, its impulse (n, t, s); 1/K_nn, K_nt, K_ns and the step of friction; and for position
# correction its separation and its multiplier
POINT = 64
ARM_A, ARM_B, BIAS, IMPULSE = 0, 12, 24, 28
INVERSE, RESPONSE_T, RESPONSE_S, STEP, GAP, CORRECTION = range(40, 64, 4)
SIZE = HEAD + POINT  # numbers a contact takes at most
NO_POINT = 1e300  # m: the separation where a lane has no point, beyond all that overlaps
BEFORE_POINT = 12  # numbers a point has in `wide_before`: its impulse, or first its multiplier


@inlined
def group_at(group, collision):
    """Where a group begins in `wide`."""
    return HEAD * group + POINT * collision.group_points[group]


@inlined
def points_of(group, collision):
    """The most points of its pairs."""
    return collision.group_points[group + 1] - collision.group_points[group]


# Packing ------------------------------------------------------------------------------------------------------------------


@njit
def pack(begin, end, collision, stepping):
    """Write groups begin … end from their contacts and rows, without impulses."""
    for g in range(begin, end):
        at, points = group_at(g, collision), points_of(g, collision)
        for lane in range(4):
            count = collision.lanes[LANE_COUNTS * g + 4 + lane]
            first = collision.lanes[LANE_COUNTS * g + lane]
            pack_head(first, count, at + lane, LANE_COUNTS * g + lane, collision, stepping)
            for k in range(points):
                pack_point(first + k, k < count, at + HEAD + POINT * k + lane, collision.contacts, stepping.wide)
        pack_responses(g, collision, stepping)


@njit
def pack_head(contact, count, at, body, collision, stepping):
    """Write the frame, the friction and the bodies of a lane."""
    wide, bodies = stepping.wide, stepping.wide_bodies
    if count == 0:
        world = stepping.motion.shape[0] - MOTION
        bodies[body], bodies[body + 4] = world, world
        for c in range(10):
            store(wide, at + 4 * c, 0.0)
        return
    one = collision.contacts[contact]
    bodies[body], bodies[body + 4] = MOTION * one.a, MOTION * one.b
    for c in range(9):
        store(wide, at + 4 * c, one.frame[c])
    store(wide, at + FRICTION, one.friction)


@njit
def pack_point(i, exists, at, contacts, wide):
    """Write the arms and the separation of a point of a lane."""
    if not exists:
        for c in range(POINT // 4):
            store(wide, at + 4 * c, 0.0)
        store(wide, at + GAP, NO_POINT)
        return
    contact = contacts[i]
    for c in range(3):
        store(wide, at + ARM_A + 4 * c, contact.arm_a[c])
        store(wide, at + ARM_B + 4 * c, contact.arm_b[c])
    store(wide, at + GAP, contact.separation)
    store(wide, at + CORRECTION, 0.0)


@njit
def pack_responses(g, collision, stepping):
    """Write the responses of a group, and the velocities before the step of its contacts, which are in `rows`."""
    motion, wide, bodies = stepping.motion, stepping.wide, stepping.wide_bodies
    head, to_a = group_at(g, collision), LANE_COUNTS * g
    n, t, s = three4(wide, head + NORMAL), three4(wide, head + TANGENT), three4(wide, head + OTHER)
    v_a, omega_a, m_a, i_a = gather_bodies(motion, bodies, to_a)
    v_b, omega_b, m_b, i_b = gather_bodies(motion, bodies, to_a + 4)
    zero, one, half = spread(0.0), spread(1.0), spread(0.5)
    for k in range(points_of(g, collision)):
        at = head + HEAD + POINT * k
        arm_a, arm_b = three4(wide, at + ARM_A), three4(wide, at + ARM_B)
        a, b = response4(arm_a, n, t, s, m_a, i_a), response4(arm_b, n, t, s, m_b, i_b)
        exists = existing_lanes(g, k, collision.lanes)
        nn, nt, ns = plus4(a[0], b[0]), plus4(a[1], b[1]), plus4(a[2], b[2])
        tt, ts, ss = plus4(a[3], b[3]), plus4(a[4], b[4]), plus4(a[5], b[5])
        mean, apart = times4(half, plus4(tt, ss)), times4(half, minus4(tt, ss))
        most = plus4(mean, sqrt4(plus4(times4(apart, apart), times4(ts, ts))))
        store4(wide, at + INVERSE, select4(exists, zero, over4(one, nn), zero))
        store4(wide, at + STEP, select4(exists, zero, over4(one, most), zero))
        store4(wide, at + RESPONSE_T, nt)
        store4(wide, at + RESPONSE_S, ns)
        u = velocity4(v_a, omega_a, v_b, omega_b, arm_a, arm_b)
        store_before((dot4(n, u), dot4(t, u), dot4(s, u)), g, k, collision.lanes, stepping.rows)


@inlined
def response4(arm, n, t, s, m, inverse):
    """`gauss_seidel.response` of a body of each lane."""
    of_n, of_t, of_s = cross4(arm, n), cross4(arm, t), cross4(arm, s)
    turn_n, turn_t, turn_s = symvec4(inverse, of_n), symvec4(inverse, of_t), symvec4(inverse, of_s)
    return (
        plus4(m, dot4(of_n, turn_n)), dot4(of_n, turn_t), dot4(of_n, turn_s), plus4(m, dot4(of_t, turn_t)),
        dot4(of_t, turn_s), plus4(m, dot4(of_s, turn_s)),
    )  # fmt: skip


@inlined
def existing_lanes(g, k, lanes):
    """1 where the pair of a lane has a point k, 0 elsewhere."""
    at = LANE_COUNTS * g + 4
    return four(
        1.0 if lanes[at] > k else 0.0, 1.0 if lanes[at + 1] > k else 0.0,
        1.0 if lanes[at + 2] > k else 0.0, 1.0 if lanes[at + 3] > k else 0.0,
    )  # fmt: skip


@inlined
def store_before(u, g, k, lanes, rows):
    """Write the velocities (n, t, s) of point k of each lane to the rows of its contacts."""
    for lane in range(4):
        if lanes[LANE_COUNTS * g + 4 + lane] > k:
            at = ROW * (lanes[LANE_COUNTS * g + lane] + k) + BEFORE
            store(rows, at, part4(u[0], lane))
            store(rows, at + 1, part4(u[1], lane))
            store(rows, at + 2, part4(u[2], lane))


@njit
def load_impulses(begin, end, collision, wide):
    """Biases and impulses of the contacts of groups begin … end → `wide`."""
    for g in range(begin, end):
        load_group(g, collision, wide)


@njit
def load_group(g, collision, wide):
    """Biases and impulses of the contacts of a group → `wide`."""
    contacts, lanes = collision.contacts, collision.lanes
    at = group_at(g, collision) + HEAD
    for lane in range(4):
        first = lanes[LANE_COUNTS * g + lane]
        for k in range(lanes[LANE_COUNTS * g + 4 + lane]):
            contact, to = contacts[first + k], at + POINT * k + lane
            store(wide, to + BIAS, contact.bias)
            for c in range(3):
                store(wide, to + IMPULSE + 4 * c, contact.impulse[c])


@njit
def store_impulses(begin, end, collision, wide):
    """Impulses of groups begin … end → contacts."""
    contacts, lanes = collision.contacts, collision.lanes
    for g in range(begin, end):
        at = group_at(g, collision) + HEAD
        for lane in range(4):
            first = lanes[LANE_COUNTS * g + lane]
            for k in range(lanes[LANE_COUNTS * g + 4 + lane]):
                contact, source = contacts[first + k], at + POINT * k + lane + IMPULSE
                for c in range(3):
                    contact.impulse[c] = load(wide, source + 4 * c)


# Bodies of a group --------------------------------------------------------------------------------------------------------


@inlined
def gather_bodies(motion, bodies, at):
    """(v, ω, 1/m, I⁻¹) of four bodies, whose rows of `motion` begin at bodies[at], …, bodies[at + 3]."""
    a, b, c, d = int(bodies[at]), int(bodies[at + 1]), int(bodies[at + 2]), int(bodies[at + 3])
    v0, v1, v2, w0 = transpose4(load4(motion, a), load4(motion, b), load4(motion, c), load4(motion, d))
    w1, w2, m, i0 = transpose4(load4(motion, a + 4), load4(motion, b + 4), load4(motion, c + 4), load4(motion, d + 4))
    i1, i2, i3, i4 = transpose4(load4(motion, a + 8), load4(motion, b + 8), load4(motion, c + 8), load4(motion, d + 8))
    i5 = four(load(motion, a + 12), load(motion, b + 12), load(motion, c + 12), load(motion, d + 12))
    return (v0, v1, v2), (w0, w1, w2), m, (i0, i1, i2, i3, i4, i5)


@inlined
def scatter_bodies(motion, bodies, at, v, omega, m, i0):
    """Write v and ω of four bodies. 1/m and the first of I⁻¹ are written as they are. Bodies without mass may be there
    twice: their velocities have not changed."""
    p, q, r, s = transpose4(v[0], v[1], v[2], omega[0])
    a, b, c, d = int(bodies[at]), int(bodies[at + 1]), int(bodies[at + 2]), int(bodies[at + 3])
    store4(motion, a, p)
    store4(motion, b, q)
    store4(motion, c, r)
    store4(motion, d, s)
    p, q, r, s = transpose4(omega[1], omega[2], m, i0)
    store4(motion, a + 4, p)
    store4(motion, b + 4, q)
    store4(motion, c + 4, r)
    store4(motion, d + 4, s)


@inlined
def three4(wide, at):
    """A vector of each lane."""
    return (load4(wide, at), load4(wide, at + 4), load4(wide, at + 8))


@inlined
def velocity4(v_a, omega_a, v_b, omega_b, arm_a, arm_b):
    """Velocity of the point of b less that of a."""
    return minus_vector4(plus_vector4(v_b, cross4(omega_b, arm_b)), plus_vector4(v_a, cross4(omega_a, arm_a)))


# Warm start and line search -----------------------------------------------------------------------------------------------


@njit
def warm_start_groups(begin, end, collision, stepping):
    """`gauss_seidel.warm_start` for groups begin … end: reads their contacts, writes `wide` and `motion`."""
    motion, wide, bodies = stepping.motion, stepping.wide, stepping.wide_bodies
    for g in range(begin, end):
        load_group(g, collision, wide)
        head, to_a = group_at(g, collision), LANE_COUNTS * g
        n, t, s = three4(wide, head + NORMAL), three4(wide, head + TANGENT), three4(wide, head + OTHER)
        mu = load4(wide, head + FRICTION)
        v_a, omega_a, m_a, i_a = gather_bodies(motion, bodies, to_a)
        v_b, omega_b, m_b, i_b = gather_bodies(motion, bodies, to_a + 4)
        for k in range(points_of(g, collision)):
            at = head + HEAD + POINT * k
            d = three4(wide, at + IMPULSE)
            d = project_coulomb4(d, sqrt4(plus4(times4(d[1], d[1]), times4(d[2], d[2]))), mu)
            store4(wide, at + IMPULSE, d[0])
            store4(wide, at + IMPULSE + 4, d[1])
            store4(wide, at + IMPULSE + 8, d[2])
            p = plus_vector4(scaled4(d[0], n), plus_vector4(scaled4(d[1], t), scaled4(d[2], s)))
            v_b, v_a = plus_vector4(v_b, scaled4(m_b, p)), minus_vector4(v_a, scaled4(m_a, p))
            omega_b = plus_vector4(omega_b, symvec4(i_b, cross4(three4(wide, at + ARM_B), p)))
            omega_a = minus_vector4(omega_a, symvec4(i_a, cross4(three4(wide, at + ARM_A), p)))
        scatter_bodies(motion, bodies, to_a, v_a, omega_a, m_a, i_a[0])
        scatter_bodies(motion, bodies, to_a + 4, v_b, omega_b, m_b, i_b[0])


@inlined
def project_coulomb4(x, size, mu):
    """`cone.project_coulomb` of one vector of each lane; size : |x_t|."""
    zero, one = spread(0.0), spread(1.0)
    normal = over4(plus4(x[0], times4(mu, size)), plus4(one, times4(mu, mu)))
    share = over4(times4(mu, normal), size)
    inside, polar, negative = times4(mu, x[0]), times4(mu, size), minus4(zero, x[0])
    normal, share = select4(size, inside, normal, x[0]), select4(size, inside, share, one)
    normal, share = select4(polar, negative, normal, zero), select4(polar, negative, share, zero)
    return (normal, times4(share, x[1]), times4(share, x[2]))


@njit
def search_groups(begin, end, collision, stepping):
    """Of D along the warm start of groups begin … end (`gauss_seidel.best_fraction`): the slope and the curvature that each
    adds, into `wide_sums`."""
    motion, before, wide = stepping.motion, stepping.search_motion, stepping.wide
    bodies, sums = stepping.wide_bodies, stepping.wide_sums
    for g in range(begin, end):
        head, to_a = group_at(g, collision), LANE_COUNTS * g
        n, t, s = three4(wide, head + NORMAL), three4(wide, head + TANGENT), three4(wide, head + OTHER)
        v_a, omega_a, _, _ = gather_bodies(motion, bodies, to_a)
        v_b, omega_b, _, _ = gather_bodies(motion, bodies, to_a + 4)
        first_v_a, first_omega_a, _, _ = gather_bodies(before, bodies, to_a)
        first_v_b, first_omega_b, _, _ = gather_bodies(before, bodies, to_a + 4)
        slope, total = spread(0.0), spread(0.0)
        for k in range(points_of(g, collision)):
            at = head + HEAD + POINT * k
            d = three4(wide, at + IMPULSE)
            p = plus_vector4(scaled4(d[0], n), plus_vector4(scaled4(d[1], t), scaled4(d[2], s)))
            arm_a, arm_b = three4(wide, at + ARM_A), three4(wide, at + ARM_B)
            u = velocity4(first_v_a, first_omega_a, first_v_b, first_omega_b, arm_a, arm_b)
            first = dot4(p, u)
            slope = plus4(slope, plus4(first, times4(load4(wide, at + BIAS), d[0])))
            u = velocity4(v_a, omega_a, v_b, omega_b, arm_a, arm_b)
            total = plus4(total, minus4(dot4(p, u), first))
        store(sums, SUMS * g, total4(slope))
        store(sums, SUMS * g + 1, total4(total))


@njit
def scale_groups(begin, end, collision, stepping):
    """Impulses of groups begin … end ← the share of them that `wide_sums` says."""
    wide, sums = stepping.wide, stepping.wide_sums
    for g in range(begin, end):
        share = spread(load(sums, SUMS * g))
        at = group_at(g, collision) + HEAD + IMPULSE
        for k in range(points_of(g, collision)):
            for c in range(0, 12, 4):
                store4(wide, at + POINT * k + c, times4(share, load4(wide, at + POINT * k + c)))


@njit
def carry_impulses(begin, end, collision, stepping):
    """The part of `parallel.carry_on` for the impulses of groups begin … end."""
    wide, before, sums = stepping.wide, stepping.wide_before, stepping.wide_sums
    for g in range(begin, end):
        share = load(sums, SUMS * g)
        at, old = group_at(g, collision) + HEAD + IMPULSE, BEFORE_POINT * collision.group_points[g]
        for k in range(points_of(g, collision)):
            for c in range(0, 12, 4):
                carry4(wide, at + POINT * k + c, before, old + BEFORE_POINT * k + c, share)


@njit
def carry_corrections(begin, end, collision, stepping):
    """The part of `parallel.carry_on` for the multipliers of the displacements of groups begin … end."""
    wide, before, sums = stepping.wide, stepping.wide_before, stepping.wide_sums
    for g in range(begin, end):
        share = load(sums, SUMS * g)
        at, old = group_at(g, collision) + HEAD + CORRECTION, BEFORE_POINT * collision.group_points[g]
        for k in range(points_of(g, collision)):
            carry4(wide, at + POINT * k, before, old + BEFORE_POINT * k, share)


@inlined
def carry4(wide, at, before, old, share):
    """Carry on one number of each lane."""
    now = load4(wide, at)
    if share > 0.0:
        store4(wide, at, plus4(now, times4(spread(share), minus4(now, load4(before, old)))))
    store4(before, old, now)


# Sweeps -------------------------------------------------------------------------------------------------------------------


@inlined
def improve4(u, mu, wide, at):
    """`gauss_seidel.improve` for one point of each lane at its velocity u: writes its impulse; returns the change."""
    zero = spread(0.0)
    old_n, old_t, old_s = load4(wide, at + IMPULSE), load4(wide, at + IMPULSE + 4), load4(wide, at + IMPULSE + 8)
    excess = plus4(u[0], load4(wide, at + BIAS))
    new_n = larger4(minus4(old_n, times4(excess, load4(wide, at + INVERSE))), zero)
    d_n = minus4(new_n, old_n)
    step = load4(wide, at + STEP)
    new_t = minus4(old_t, times4(step, plus4(u[1], times4(load4(wide, at + RESPONSE_T), d_n))))
    new_s = minus4(old_s, times4(step, plus4(u[2], times4(load4(wide, at + RESPONSE_S), d_n))))
    most = times4(mu, new_n)
    square = plus4(times4(new_t, new_t), times4(new_s, new_s))
    shrink = select4(square, times4(most, most), over4(most, sqrt4(square)), spread(1.0))
    new_t, new_s = times4(new_t, shrink), times4(new_s, shrink)
    store4(wide, at + IMPULSE, new_n)
    store4(wide, at + IMPULSE + 4, new_t)
    store4(wide, at + IMPULSE + 8, new_s)
    return (d_n, minus4(new_t, old_t), minus4(new_s, old_s))


@njit
def sweep_group(g, largest, collision, stepping):
    """One sweep over the points of a group; returns the larger of `largest` and the changes of velocities (m/s), by lane."""
    motion, wide, bodies = stepping.motion, stepping.wide, stepping.wide_bodies
    head, to_a = group_at(g, collision), LANE_COUNTS * g
    n, t, s = three4(wide, head + NORMAL), three4(wide, head + TANGENT), three4(wide, head + OTHER)
    mu = load4(wide, head + FRICTION)
    v_a, omega_a, m_a, i_a = gather_bodies(motion, bodies, to_a)
    v_b, omega_b, m_b, i_b = gather_bodies(motion, bodies, to_a + 4)
    for k in range(points_of(g, collision)):
        at = head + HEAD + POINT * k
        arm_a, arm_b = three4(wide, at + ARM_A), three4(wide, at + ARM_B)
        u = velocity4(v_a, omega_a, v_b, omega_b, arm_a, arm_b)
        d = improve4((dot4(n, u), dot4(t, u), dot4(s, u)), mu, wide, at)
        p = plus_vector4(scaled4(d[0], n), plus_vector4(scaled4(d[1], t), scaled4(d[2], s)))
        v_b, v_a = plus_vector4(v_b, scaled4(m_b, p)), minus_vector4(v_a, scaled4(m_a, p))
        omega_b = plus_vector4(omega_b, symvec4(i_b, cross4(arm_b, p)))
        omega_a = minus_vector4(omega_a, symvec4(i_a, cross4(arm_a, p)))
        largest = larger4(over4(magnitude4(d[0]), load4(wide, at + INVERSE)), largest)
        step = load4(wide, at + STEP)
        largest = larger4(over4(larger4(magnitude4(d[1]), magnitude4(d[2])), step), largest)
    scatter_bodies(motion, bodies, to_a, v_a, omega_a, m_a, i_a[0])
    scatter_bodies(motion, bodies, to_a + 4, v_b, omega_b, m_b, i_b[0])
    return largest


@njit
def sweep_groups(begin, end, collision, stepping):
    """One sweep over groups begin … end; returns the largest change of a velocity that it made (m/s)."""
    largest = spread(0.0)
    for g in range(begin, end):
        largest = sweep_group(g, largest, collision, stepping)
    return largest4(largest)


@njit
def sweep_group_positions(g, deepest, collision, stepping):
    """`gauss_seidel.sweep_positions` for a group; returns the larger of `deepest` and what overlaps (m), by lane."""
    shift, wide, bodies = stepping.shift, stepping.wide, stepping.wide_bodies
    reach, slop = spread(stepping.report[0].overlap), spread(stepping.options[0].slop)
    head, to_a = group_at(g, collision), LANE_COUNTS * g
    n = three4(wide, head + NORMAL)
    v_a, omega_a, m_a, i_a = gather_bodies(shift, bodies, to_a)
    v_b, omega_b, m_b, i_b = gather_bodies(shift, bodies, to_a + 4)
    zero = spread(0.0)
    for k in range(points_of(g, collision)):
        at = head + HEAD + POINT * k
        arm_a, arm_b = three4(wide, at + ARM_A), three4(wide, at + ARM_B)
        separation, old = load4(wide, at + GAP), load4(wide, at + CORRECTION)
        u = velocity4(v_a, omega_a, v_b, omega_b, arm_a, arm_b)
        gap = plus4(plus4(separation, slop), dot4(n, u))
        deepest = larger4(select4(separation, reach, zero, minus4(zero, gap)), deepest)
        new = larger4(minus4(old, times4(gap, load4(wide, at + INVERSE))), zero)
        new = select4(separation, reach, old, new)
        store4(wide, at + CORRECTION, new)
        p = scaled4(minus4(new, old), n)
        v_b, v_a = plus_vector4(v_b, scaled4(m_b, p)), minus_vector4(v_a, scaled4(m_a, p))
        omega_b = plus_vector4(omega_b, symvec4(i_b, cross4(arm_b, p)))
        omega_a = minus_vector4(omega_a, symvec4(i_a, cross4(arm_a, p)))
    scatter_bodies(shift, bodies, to_a, v_a, omega_a, m_a, i_a[0])
    scatter_bodies(shift, bodies, to_a + 4, v_b, omega_b, m_b, i_b[0])
    return deepest


@njit
def sweep_groups_positions(begin, end, collision, stepping):
    """One sweep over the displacements of groups begin … end; returns the deepest overlap left (m)."""
    deepest = spread(0.0)
    for g in range(begin, end):
        deepest = sweep_group_positions(g, deepest, collision, stepping)
    return largest4(deepest)


# Residual -----------------------------------------------------------------------------------------------------------------


@inlined
def natural_map4(p, u, mu, inverse):
    """`cone.natural_map` squared for one point of each lane; u is De Saxcé's velocity. NaN where there is no point."""
    x = minus_vector4(p, scaled4(inverse, u))
    nearest = project_coulomb4(x, sqrt4(plus4(times4(x[1], x[1]), times4(x[2], x[2]))), mu)
    rest = minus_vector4(u, scaled4(over4(spread(1.0), inverse), minus_vector4(nearest, x)))
    return dot4(rest, rest)


@njit
def residual_of_group(g, worst, collision, stepping):
    """The larger of `worst` and the squared residuals of Coulomb's law of a group (m²/s²), by lane."""
    motion, wide, bodies = stepping.motion, stepping.wide, stepping.wide_bodies
    head, to_a = group_at(g, collision), LANE_COUNTS * g
    n, t, s = three4(wide, head + NORMAL), three4(wide, head + TANGENT), three4(wide, head + OTHER)
    mu = load4(wide, head + FRICTION)
    v_a, omega_a, _, _ = gather_bodies(motion, bodies, to_a)
    v_b, omega_b, _, _ = gather_bodies(motion, bodies, to_a + 4)
    for k in range(points_of(g, collision)):
        at = head + HEAD + POINT * k
        w = velocity4(v_a, omega_a, v_b, omega_b, three4(wide, at + ARM_A), three4(wide, at + ARM_B))
        u_n, u_t, u_s = dot4(n, w), dot4(t, w), dot4(s, w)
        slip = sqrt4(plus4(times4(u_t, u_t), times4(u_s, u_s)))
        u_n = plus4(plus4(u_n, load4(wide, at + BIAS)), times4(mu, slip))
        square = natural_map4(three4(wide, at + IMPULSE), (u_n, u_t, u_s), mu, load4(wide, at + INVERSE))
        worst = larger4(square, worst)
    return worst


@njit
def worst_residual_of_groups(begin, end, collision, stepping):
    """The largest natural-map residual of groups begin … end (m/s)."""
    worst = spread(0.0)
    for g in range(begin, end):
        worst = residual_of_group(g, worst, collision, stepping)
    return math.sqrt(largest4(worst))


# C function ---------------------------------------------------------------------------------------------------------------


@njit
def run_wide_job(kind, begin, end, tables):
    """A job over groups begin … end; returns the largest of their values."""
    collision, stepping = tables.collision, tables.stepping
    if kind == WIDE_SWEEP:
        return sweep_groups(begin, end, collision, stepping)
    if kind == WIDE_RESIDUAL:
        return worst_residual_of_groups(begin, end, collision, stepping)
    if kind == WIDE_POSITIONS:
        return sweep_groups_positions(begin, end, collision, stepping)
    if kind == PACK:
        pack(begin, end, collision, stepping)
    elif kind == LOAD:
        load_impulses(begin, end, collision, stepping.wide)
    elif kind == WARM_START:
        warm_start_groups(begin, end, collision, stepping)
    elif kind == SEARCH:
        search_groups(begin, end, collision, stepping)
    elif kind == SCALE:
        scale_groups(begin, end, collision, stepping)
    elif kind == CARRY_IMPULSES:
        carry_impulses(begin, end, collision, stepping)
    elif kind == CARRY_CORRECTIONS:
        carry_corrections(begin, end, collision, stepping)
    else:
        store_impulses(begin, end, collision, stepping.wide)
    return 0.0


_floats = viewer(np.float64)
_addresses = viewer(np.int64)


# A job of a thread (`core.thread_pool`): `data` is the address of its slot or, of a job ALONE, of its tables. The items of
# the job are n … m, and its result is in `dydt`.
def wide_entry(data, task, stop, y, n, dydt, m):
    address = data if task >= ALONE else _addresses(data, CONTACT_SLOT + 1)[CONTACT_SLOT]
    result = _floats(dydt, 1)
    result[0] = max(result[0], run_wide_job(task % ALONE, n, m, table_at(ContactTables, address)))
    return OK


WIDE_ENTRY = CFunction(wide_entry, C_SIGNATURE)
