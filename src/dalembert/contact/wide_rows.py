"""Sweeps over groups of WIDTH pairs of bodies, whose points are in structures of arrays.

The pairs of one colour move different bodies (`collide.islands`), so that WIDTH of them can be solved together: a
*group*. Its velocities are read once for all of its points and written once. Each lane is computed as in
`gauss_seidel.sweep_contacts` for one pair, in the same order of operations, so both give the same impulses. Missing
pairs and points are zero and give no impulse. Their separation is NO_POINT, so they do not count as overlap.

A group is HEAD numbers, and POINT numbers for each point of the pair that has most, in `wide`; of each quantity there are
WIDTH numbers, one for each pair. They are packed once a step; the impulses of a sweep stay here until `STORE` writes them to
the contacts. This is a C function of its own, which only scenes of many bodies need.

In order: packing; velocities of the bodies of a group; warm start and line search; sweeps; residuals; the C function.
"""

import math

import numpy as np

from ..collide.tables import LANE_COUNTS, POINTS
from ..core.c_function import C_SIGNATURE, viewer
from ..core.jit import CFunction, inlined, njit
from ..core.simd import load, store
from ..core.simd_wide import (
    WIDTH,
    cross_w,
    distances_w,
    dot_w,
    double_w,
    exceeds_w,
    larger_w,
    largest_of_groups,
    largest_w,
    load_groups,
    load_w,
    magnitude_w,
    minus_vector_w,
    minus_w,
    over_w,
    part_w,
    plus_vector_w,
    plus_w,
    scaled_w,
    select_w,
    single_w,
    spread_like_w,
    spread_w,
    sqrt_w,
    store_groups,
    store_w,
    symvec_w,
    times_w,
    total_w,
    transpose_w,
)
from ..core.status import OK
from ..core.tables import table_at
from ..core.thread_pool import CONTACT_SLOT
from .parallel import (
    ALONE,
    APPLY_SINGLE,
    LOAD,
    MEASURE,
    OF_PARTS,
    PACK,
    ROUND,
    SCALE,
    SEARCH,
    SINGLE_SWEEP_ON,
    SUMS,
    WARM_START,
    WIDE_POSITIONS,
    WIDE_POSITIONS_ON,
    WIDE_RESIDUAL,
    WIDE_SWEEP,
    WIDE_SWEEP_ON,
)
from .tables import BEFORE, MOTION, ROW, ContactTables

# Offsets of a group: the frame of the pair, its friction
HEAD = 10 * WIDTH
NORMAL, TANGENT, OTHER, FRICTION = 0, 3 * WIDTH, 6 * WIDTH, 9 * WIDTH
# and of a point: its arms, its bias, its impulse (n, t, s); 1/K_nn, K_nt, K_ns and the step of friction; and for position
# correction its separation and its multiplier
POINT = 18 * WIDTH
ARM_A, ARM_B, BIAS, IMPULSE = 0, 3 * WIDTH, 6 * WIDTH, 7 * WIDTH
INVERSE, RESPONSE_N, RESPONSE_T, RESPONSE_S, STEP, INVERSE_STEP, GAP, CORRECTION = range(10 * WIDTH, POINT, WIDTH)
SIZE = HEAD + POINT  # numbers a contact takes at most
NO_POINT = 1e300  # m: the separation where a lane has no point, beyond all that overlaps
# The distances from a group to those that are swept with it (`simd_wide.load_groups`): none, or in `bodies` that of the next
ONE, NEXT = (), (LANE_COUNTS,)
BEFORE_POINT = 3 * WIDTH  # numbers a point has in `wide_before`: its impulse, or first its multiplier


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
        for lane in range(WIDTH):
            count = collision.lanes[LANE_COUNTS * g + WIDTH + lane]
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
        bodies[body], bodies[body + WIDTH] = world, world
        for c in range(10):
            store(wide, at + WIDTH * c, 0.0)
        return
    one = collision.contacts[contact]
    bodies[body], bodies[body + WIDTH] = MOTION * one.a, MOTION * one.b
    for c in range(9):
        store(wide, at + WIDTH * c, one.frame[c])
    store(wide, at + FRICTION, one.friction)


@njit
def pack_point(i, exists, at, contacts, wide):
    """Write the arms and the separation of a point of a lane."""
    if not exists:
        for c in range(POINT // WIDTH):
            store(wide, at + WIDTH * c, 0.0)
        store(wide, at + GAP, NO_POINT)
        return
    contact = contacts[i]
    for c in range(3):
        store(wide, at + ARM_A + WIDTH * c, contact.arm_a[c])
        store(wide, at + ARM_B + WIDTH * c, contact.arm_b[c])
    store(wide, at + GAP, contact.separation)
    store(wide, at + CORRECTION, 0.0)


@njit
def pack_responses(g, collision, stepping):
    """Write the responses of a group, and the velocities before the step of its contacts, which are in `rows`."""
    motion, wide, bodies = stepping.motion, stepping.wide, stepping.wide_bodies
    head, to_a = group_at(g, collision), LANE_COUNTS * g
    n, t, s, _ = frame_of_group(head, wide, ONE)
    v_a, omega_a, m_a, i_a = gather_bodies(motion, bodies, to_a, ONE)
    v_b, omega_b, m_b, i_b = gather_bodies(motion, bodies, to_a + WIDTH, ONE)
    zero, one, half = spread_w(0.0), spread_w(1.0), spread_w(0.5)
    for k in range(points_of(g, collision)):
        at = head + HEAD + POINT * k
        arm_a, arm_b = three_w(wide, at + ARM_A, ONE), three_w(wide, at + ARM_B, ONE)
        a, b = response_w(arm_a, n, t, s, m_a, i_a), response_w(arm_b, n, t, s, m_b, i_b)
        exists = exceeds_w(collision.lanes, to_a + WIDTH, k)
        nn, nt, ns = plus_w(a[0], b[0]), plus_w(a[1], b[1]), plus_w(a[2], b[2])
        tt, ts, ss = plus_w(a[3], b[3]), plus_w(a[4], b[4]), plus_w(a[5], b[5])
        mean, apart = times_w(half, plus_w(tt, ss)), times_w(half, minus_w(tt, ss))
        most = plus_w(mean, sqrt_w(plus_w(times_w(apart, apart), times_w(ts, ts))))
        store_w(wide, at + INVERSE, select_w(exists, zero, over_w(one, nn), zero))
        store_w(wide, at + STEP, select_w(exists, zero, over_w(one, most), zero))
        store_w(wide, at + RESPONSE_N, nn)
        store_w(wide, at + INVERSE_STEP, most)
        store_w(wide, at + RESPONSE_T, nt)
        store_w(wide, at + RESPONSE_S, ns)
        u = velocity_w(v_a, omega_a, v_b, omega_b, arm_a, arm_b)
        store_before((dot_w(n, u), dot_w(t, u), dot_w(s, u)), g, k, collision.lanes, stepping.rows)


@inlined
def response_w(arm, n, t, s, m, inverse):
    """`gauss_seidel.response` of a body of each lane."""
    of_n, of_t, of_s = cross_w(arm, n), cross_w(arm, t), cross_w(arm, s)
    turn_n, turn_t, turn_s = symvec_w(inverse, of_n), symvec_w(inverse, of_t), symvec_w(inverse, of_s)
    return (
        plus_w(m, dot_w(of_n, turn_n)), dot_w(of_n, turn_t), dot_w(of_n, turn_s), plus_w(m, dot_w(of_t, turn_t)),
        dot_w(of_t, turn_s), plus_w(m, dot_w(of_s, turn_s)),
    )  # fmt: skip


@inlined
def store_before(u, g, k, lanes, rows):
    """Write the velocities (n, t, s) of point k of each lane to the rows of its contacts."""
    for lane in range(WIDTH):
        if lanes[LANE_COUNTS * g + WIDTH + lane] > k:
            at = ROW * (lanes[LANE_COUNTS * g + lane] + k) + BEFORE
            store(rows, at, part_w(u[0], lane))
            store(rows, at + 1, part_w(u[1], lane))
            store(rows, at + 2, part_w(u[2], lane))


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
    for lane in range(WIDTH):
        first = lanes[LANE_COUNTS * g + lane]
        for k in range(lanes[LANE_COUNTS * g + WIDTH + lane]):
            contact, to = contacts[first + k], at + POINT * k + lane
            store(wide, to + BIAS, contact.bias)
            for c in range(3):
                store(wide, to + IMPULSE + WIDTH * c, contact.impulse[c])


@njit
def store_impulses(begin, end, collision, wide):
    """Impulses of groups begin … end → contacts."""
    contacts, lanes = collision.contacts, collision.lanes
    for g in range(begin, end):
        at = group_at(g, collision) + HEAD
        for lane in range(WIDTH):
            first = lanes[LANE_COUNTS * g + lane]
            for k in range(lanes[LANE_COUNTS * g + WIDTH + lane]):
                contact, source = contacts[first + k], at + POINT * k + lane + IMPULSE
                for c in range(3):
                    contact.impulse[c] = load(wide, source + WIDTH * c)


# Bodies of a group --------------------------------------------------------------------------------------------------------


@inlined
def gather_bodies(motion, bodies, at, gaps):
    """(v, ω, 1/m, I⁻¹) of WIDTH bodies, whose rows of `motion` begin at bodies[at], …, bodies[at + WIDTH − 1], and of as many
    from bodies[at + gap] on for each gap."""
    v0, v1, v2, w0, w1, w2, m, i0 = transpose_w(rows_of_bodies(motion, bodies, at, 0, gaps))
    i1, i2, i3, i4, i5, _, _, _ = transpose_w(rows_of_bodies(motion, bodies, at, WIDTH, gaps))
    return (v0, v1, v2), (w0, w1, w2), m, (i0, i1, i2, i3, i4, i5)


@inlined
def gather_velocities(motion, bodies, at):
    """(v, ω) of WIDTH bodies, likewise."""
    v0, v1, v2, w0, w1, w2, _, _ = transpose_w(rows_of_bodies(motion, bodies, at, 0, ONE))
    return (v0, v1, v2), (w0, w1, w2)


@inlined
def rows_of_bodies(motion, bodies, at, shift, gaps):
    """WIDTH numbers of each body, from `shift` on."""
    return (
        row_of_body(motion, bodies, at, shift, gaps), row_of_body(motion, bodies, at + 1, shift, gaps),
        row_of_body(motion, bodies, at + 2, shift, gaps), row_of_body(motion, bodies, at + 3, shift, gaps),
        row_of_body(motion, bodies, at + 4, shift, gaps), row_of_body(motion, bodies, at + 5, shift, gaps),
        row_of_body(motion, bodies, at + 6, shift, gaps), row_of_body(motion, bodies, at + 7, shift, gaps),
    )  # fmt: skip


@inlined
def row_of_body(motion, bodies, at, shift, gaps):
    """WIDTH numbers of the body at bodies[at], from `shift` on, and of that at bodies[at + gap] for each gap."""
    return load_groups(motion, int(bodies[at]) + shift, distances_w(bodies, at, gaps))


@inlined
def scatter_bodies(motion, bodies, at, v, omega, m, i0, gaps):
    """Write v and ω of the bodies of `gather_bodies`. 1/m and the first of I⁻¹ are written as they are. Bodies without mass
    may be there twice: their velocities have not changed."""
    rows = transpose_w((v[0], v[1], v[2], omega[0], omega[1], omega[2], m, i0))
    for lane in range(WIDTH):
        to = at + lane
        store_groups(motion, int(bodies[to]), distances_w(bodies, to, gaps), rows[lane])


@inlined
def three_w(wide, at, gaps):
    """A vector of each lane."""
    return (load_groups(wide, at, gaps), load_groups(wide, at + WIDTH, gaps), load_groups(wide, at + 2 * WIDTH, gaps))


@inlined
def velocity_w(v_a, omega_a, v_b, omega_b, arm_a, arm_b):
    """Velocity of the point of b less that of a."""
    return minus_vector_w(plus_vector_w(v_b, cross_w(omega_b, arm_b)), plus_vector_w(v_a, cross_w(omega_a, arm_a)))


# Warm start and line search -----------------------------------------------------------------------------------------------


@njit
def warm_start_groups(begin, end, collision, stepping):
    """`gauss_seidel.warm_start` for groups begin … end: reads their contacts, writes `wide` and `motion`."""
    for g in range(begin, end):
        load_group(g, collision, stepping.wide)
        apply_group(g, collision, stepping)


@njit
def apply_group(g, collision, stepping):
    """Project the impulses of a group on the cones, and apply them: writes `wide` and `motion`."""
    motion, wide, bodies = stepping.motion, stepping.wide, stepping.wide_bodies
    head = group_at(g, collision)
    n, t, s, mu = frame_of_group(head, wide, ONE)
    velocities, masses = bodies_of_group(g, motion, bodies, ONE)
    for k in range(points_of(g, collision)):
        at = head + HEAD + POINT * k
        d = three_w(wide, at + IMPULSE, ONE)
        d = project_coulomb_w(d, sqrt_w(plus_w(times_w(d[1], d[1]), times_w(d[2], d[2]))), mu)
        store_w(wide, at + IMPULSE, d[0])
        store_w(wide, at + IMPULSE + WIDTH, d[1])
        store_w(wide, at + IMPULSE + 2 * WIDTH, d[2])
        p = plus_vector_w(scaled_w(d[0], n), plus_vector_w(scaled_w(d[1], t), scaled_w(d[2], s)))
        velocities = pushed(velocities, masses, p, three_w(wide, at + ARM_A, ONE), three_w(wide, at + ARM_B, ONE))
    put_bodies_of_group(g, velocities, masses, motion, bodies, ONE)


@inlined
def project_coulomb_w(x, size, mu):
    """`cone.project_coulomb` of one vector of each lane; size : |x_t|."""
    zero, one = spread_w(0.0), spread_w(1.0)
    normal = over_w(plus_w(x[0], times_w(mu, size)), plus_w(one, times_w(mu, mu)))
    share = over_w(times_w(mu, normal), size)
    inside, polar, negative = times_w(mu, x[0]), times_w(mu, size), minus_w(zero, x[0])
    normal, share = select_w(size, inside, normal, x[0]), select_w(size, inside, share, one)
    normal, share = select_w(polar, negative, normal, zero), select_w(polar, negative, share, zero)
    return (normal, times_w(share, x[1]), times_w(share, x[2]))


@njit
def search_groups(begin, end, collision, stepping):
    """Of D along the warm start of groups begin … end (`gauss_seidel.best_fraction`): the slope and the curvature that each
    adds, into `wide_sums`."""
    motion, before, wide = stepping.motion, stepping.search_motion, stepping.wide
    bodies, sums = stepping.wide_bodies, stepping.wide_sums
    for g in range(begin, end):
        head, to_a = group_at(g, collision), LANE_COUNTS * g
        n, t, s, _ = frame_of_group(head, wide, ONE)
        v_a, omega_a = gather_velocities(motion, bodies, to_a)
        v_b, omega_b = gather_velocities(motion, bodies, to_a + WIDTH)
        first_v_a, first_omega_a = gather_velocities(before, bodies, to_a)
        first_v_b, first_omega_b = gather_velocities(before, bodies, to_a + WIDTH)
        slope, total = spread_w(0.0), spread_w(0.0)
        for k in range(points_of(g, collision)):
            at = head + HEAD + POINT * k
            d = three_w(wide, at + IMPULSE, ONE)
            p = plus_vector_w(scaled_w(d[0], n), plus_vector_w(scaled_w(d[1], t), scaled_w(d[2], s)))
            arm_a, arm_b = three_w(wide, at + ARM_A, ONE), three_w(wide, at + ARM_B, ONE)
            u = velocity_w(first_v_a, first_omega_a, first_v_b, first_omega_b, arm_a, arm_b)
            first = dot_w(p, u)
            slope = plus_w(slope, plus_w(first, times_w(load_w(wide, at + BIAS), d[0])))
            u = velocity_w(v_a, omega_a, v_b, omega_b, arm_a, arm_b)
            total = plus_w(total, minus_w(dot_w(p, u), first))
        store(sums, SUMS * g, total_w(slope))
        store(sums, SUMS * g + 1, total_w(total))


@njit
def scale_groups(begin, end, collision, stepping):
    """Impulses of groups begin … end ← the share of them that `wide_sums` says."""
    wide, sums = stepping.wide, stepping.wide_sums
    for g in range(begin, end):
        share = spread_w(load(sums, SUMS * g))
        at = group_at(g, collision) + HEAD + IMPULSE
        for k in range(points_of(g, collision)):
            for c in range(0, 3 * WIDTH, WIDTH):
                store_w(wide, at + POINT * k + c, times_w(share, load_w(wide, at + POINT * k + c)))


@njit
def carry_group(g, at, numbers, share, wide, before, collision):
    """The part of `parallel.carry_on` for one group: `numbers` numbers of each of its points, from `at` on."""
    first, old = group_at(g, collision) + HEAD + at, BEFORE_POINT * collision.group_points[g]
    for k in range(points_of(g, collision)):
        for c in range(0, numbers * WIDTH, WIDTH):
            carry_w(wide, first + POINT * k + c, before, old + BEFORE_POINT * k + c, share)


@inlined
def carry_w(wide, at, before, old, share):
    """Carry on one number of each lane."""
    now = load_w(wide, at)
    if share > 0.0:
        store_w(wide, at, plus_w(now, times_w(spread_like_w(share, now), minus_w(now, load_w(before, old)))))
    store_w(before, old, now)


# Sweeps -------------------------------------------------------------------------------------------------------------------


@inlined
def improve_w(u, mu, wide, at, gaps):
    """`gauss_seidel.improve` for one point of each lane at its velocity u: writes its impulse; returns the change."""
    old_n, old_t, old_s = three_w(wide, at + IMPULSE, gaps)
    zero, one = spread_like_w(0.0, old_n), spread_like_w(1.0, old_n)
    excess = plus_w(u[0], load_groups(wide, at + BIAS, gaps))
    new_n = larger_w(minus_w(old_n, times_w(excess, load_groups(wide, at + INVERSE, gaps))), zero)
    d_n = minus_w(new_n, old_n)
    step = load_groups(wide, at + STEP, gaps)
    new_t = minus_w(old_t, times_w(step, plus_w(u[1], times_w(load_groups(wide, at + RESPONSE_T, gaps), d_n))))
    new_s = minus_w(old_s, times_w(step, plus_w(u[2], times_w(load_groups(wide, at + RESPONSE_S, gaps), d_n))))
    most = times_w(mu, new_n)
    square = plus_w(times_w(new_t, new_t), times_w(new_s, new_s))
    shrink = select_w(square, times_w(most, most), over_w(most, sqrt_w(square)), one)
    new_t, new_s = times_w(new_t, shrink), times_w(new_s, shrink)
    store_groups(wide, at + IMPULSE, gaps, new_n)
    store_groups(wide, at + IMPULSE + WIDTH, gaps, new_t)
    store_groups(wide, at + IMPULSE + 2 * WIDTH, gaps, new_s)
    return (d_n, minus_w(new_t, old_t), minus_w(new_s, old_s))


# The points of a group depend on each other: each needs the velocities that the one before left. So two groups of a colour
# with as many points, which are independent, are swept together (`simd_wide.load_groups`): in single precision both fill one
# register of AVX-512.


@inlined
def bodies_of_group(g, motion, bodies, gaps):
    """(v, ω of a; v, ω of b; 1/m, I⁻¹ of a; 1/m, I⁻¹ of b) of the bodies of a group, and of those that follow."""
    v_a, omega_a, m_a, i_a = gather_bodies(motion, bodies, LANE_COUNTS * g, gaps)
    v_b, omega_b, m_b, i_b = gather_bodies(motion, bodies, LANE_COUNTS * g + WIDTH, gaps)
    return (v_a, omega_a, v_b, omega_b), (m_a, i_a, m_b, i_b)


@inlined
def put_bodies_of_group(g, velocities, masses, motion, bodies, gaps):
    """Write their velocities."""
    v_a, omega_a, v_b, omega_b = velocities
    m_a, i_a, m_b, i_b = masses
    scatter_bodies(motion, bodies, LANE_COUNTS * g, v_a, omega_a, m_a, i_a[0], gaps)
    scatter_bodies(motion, bodies, LANE_COUNTS * g + WIDTH, v_b, omega_b, m_b, i_b[0], gaps)


@inlined
def frame_of_group(head, wide, gaps):
    """(n, t, s, μ) of a group."""
    return (
        three_w(wide, head + NORMAL, gaps), three_w(wide, head + TANGENT, gaps), three_w(wide, head + OTHER, gaps),
        load_groups(wide, head + FRICTION, gaps),
    )  # fmt: skip


@inlined
def pushed(velocities, masses, p, arm_a, arm_b):
    """The velocities after impulses p on b and −p on a."""
    v_a, omega_a, v_b, omega_b = velocities
    m_a, i_a, m_b, i_b = masses
    return (
        minus_vector_w(v_a, scaled_w(m_a, p)), minus_vector_w(omega_a, symvec_w(i_a, cross_w(arm_a, p))),
        plus_vector_w(v_b, scaled_w(m_b, p)), plus_vector_w(omega_b, symvec_w(i_b, cross_w(arm_b, p))),
    )  # fmt: skip


@inlined
def sweep_point(at, gaps, velocities, masses, frame, largest, wide):
    """Improve the impulses of a point of some groups; returns the velocities after it, and the larger of `largest` and the
    changes of velocities (m/s), by lane."""
    n, t, s, mu = frame
    v_a, omega_a, v_b, omega_b = velocities
    arm_a, arm_b = three_w(wide, at + ARM_A, gaps), three_w(wide, at + ARM_B, gaps)
    u = velocity_w(v_a, omega_a, v_b, omega_b, arm_a, arm_b)
    d = improve_w((dot_w(n, u), dot_w(t, u), dot_w(s, u)), mu, wide, at, gaps)
    p = plus_vector_w(scaled_w(d[0], n), plus_vector_w(scaled_w(d[1], t), scaled_w(d[2], s)))
    largest = larger_w(times_w(magnitude_w(d[0]), load_groups(wide, at + RESPONSE_N, gaps)), largest)
    change = larger_w(magnitude_w(d[1]), magnitude_w(d[2]))
    largest = larger_w(times_w(change, load_groups(wide, at + INVERSE_STEP, gaps)), largest)
    return pushed(velocities, masses, p, arm_a, arm_b), largest


@njit
def sweep_group(g, gaps, lane_gaps, largest, wide, motion, bodies, collision):
    """One sweep over the points of a group, and of those that follow at these distances in `wide` and in `bodies`; returns
    the larger of `largest` and the changes of velocities (m/s), by lane."""
    head = group_at(g, collision)
    frame = frame_of_group(head, wide, gaps)
    velocities, masses = bodies_of_group(g, motion, bodies, lane_gaps)
    changes = spread_like_w(0.0, frame[3])
    for k in range(points_of(g, collision)):
        velocities, changes = sweep_point(head + HEAD + POINT * k, gaps, velocities, masses, frame, changes, wide)
    put_bodies_of_group(g, velocities, masses, motion, bodies, lane_gaps)
    return larger_w(largest_of_groups(changes), largest)


@inlined
def are_alike(g, end, collision):
    """Whether group g and the next one, before `end`, have as many points."""
    return g + 1 < end and points_of(g, collision) == points_of(g + 1, collision)


@njit
def sweep_groups(begin, end, carried, share, wide, before, motion, collision, stepping):
    """One sweep over groups begin … end of one colour, which `parallel.carry_on` may have `carried`, by this share; returns
    the largest change of a velocity that it made (m/s). wide, motion : the tables of this name, or those in single
    precision."""
    bodies = stepping.wide_bodies
    largest = spread_like_w(0.0, load_w(motion, 0))
    g = begin
    while g < end:
        count = 2 if are_alike(g, end, collision) else 1
        if carried:
            for k in range(g, g + count):
                carry_group(k, IMPULSE, 3, share, wide, before, collision)
        if count == 2:
            gaps = (group_at(g + 1, collision) - group_at(g, collision),)
            largest = sweep_group(g, gaps, NEXT, largest, wide, motion, bodies, collision)
        else:
            largest = sweep_group(g, ONE, ONE, largest, wide, motion, bodies, collision)
        g += count
    return largest_w(largest)


@njit
def sweep_group_positions(g, deepest, collision, stepping):
    """`gauss_seidel.sweep_positions` for a group; returns the larger of `deepest` and what overlaps (m), by lane."""
    shift, wide, bodies = stepping.shift, stepping.wide, stepping.wide_bodies
    reach, slop = spread_w(stepping.report[0].overlap), spread_w(stepping.options[0].slop)
    head, to_a = group_at(g, collision), LANE_COUNTS * g
    n = three_w(wide, head + NORMAL, ONE)
    v_a, omega_a, m_a, i_a = gather_bodies(shift, bodies, to_a, ONE)
    v_b, omega_b, m_b, i_b = gather_bodies(shift, bodies, to_a + WIDTH, ONE)
    zero = spread_w(0.0)
    for k in range(points_of(g, collision)):
        at = head + HEAD + POINT * k
        arm_a, arm_b = three_w(wide, at + ARM_A, ONE), three_w(wide, at + ARM_B, ONE)
        separation, old = load_w(wide, at + GAP), load_w(wide, at + CORRECTION)
        u = velocity_w(v_a, omega_a, v_b, omega_b, arm_a, arm_b)
        gap = plus_w(plus_w(separation, slop), dot_w(n, u))
        deepest = larger_w(select_w(separation, reach, zero, minus_w(zero, gap)), deepest)
        new = larger_w(minus_w(old, times_w(gap, load_w(wide, at + INVERSE))), zero)
        new = select_w(separation, reach, old, new)
        store_w(wide, at + CORRECTION, new)
        p = scaled_w(minus_w(new, old), n)
        v_b, v_a = plus_vector_w(v_b, scaled_w(m_b, p)), minus_vector_w(v_a, scaled_w(m_a, p))
        omega_b = plus_vector_w(omega_b, symvec_w(i_b, cross_w(arm_b, p)))
        omega_a = minus_vector_w(omega_a, symvec_w(i_a, cross_w(arm_a, p)))
    scatter_bodies(shift, bodies, to_a, v_a, omega_a, m_a, i_a[0], ONE)
    scatter_bodies(shift, bodies, to_a + WIDTH, v_b, omega_b, m_b, i_b[0], ONE)
    return deepest


@njit
def sweep_groups_positions(begin, end, carried, share, collision, stepping):
    """The same over the displacements of groups begin … end; returns the deepest overlap left (m)."""
    deepest = spread_w(0.0)
    for g in range(begin, end):
        if carried:
            carry_group(g, CORRECTION, 1, share, stepping.wide, stepping.wide_before, collision)
        deepest = sweep_group_positions(g, deepest, collision, stepping)
    return largest_w(deepest)


# Single precision -------------------------------------------------------------------------------------------------------
# See `large_islands`: the same sweeps over `single_wide` and `single_motion`, which are laid out like `wide` and `motion`.


@njit
def round_groups(begin, end, collision, stepping):
    """Groups begin … end of `wide` → `single_wide`."""
    wide, single = stepping.wide, stepping.single_wide
    for g in range(begin, end):
        head = group_at(g, collision)
        for c in range(head, head + HEAD, WIDTH):
            store_w(single, c, single_w(load_w(wide, c)))
        for k in range(points_of(g, collision)):
            at = head + HEAD + POINT * k
            for c in range(at, at + GAP, WIDTH):
                store_w(single, c, single_w(load_w(wide, c)))


@njit
def apply_single_groups(begin, end, collision, stepping):
    """Impulses of groups begin … end in `single_wide` → `wide`, in their cones, and applied to `motion`."""
    wide, single = stepping.wide, stepping.single_wide
    for g in range(begin, end):
        at = group_at(g, collision) + HEAD + IMPULSE
        for k in range(points_of(g, collision)):
            for c in range(at + POINT * k, at + POINT * k + 3 * WIDTH, WIDTH):
                store_w(wide, c, double_w(load_w(single, c)))
        apply_group(g, collision, stepping)


# Residual -----------------------------------------------------------------------------------------------------------------


@inlined
def natural_map_w(p, u, mu, inverse):
    """`cone.natural_map` squared for one point of each lane; u is De Saxcé's velocity. NaN where there is no point."""
    x = minus_vector_w(p, scaled_w(inverse, u))
    nearest = project_coulomb_w(x, sqrt_w(plus_w(times_w(x[1], x[1]), times_w(x[2], x[2]))), mu)
    rest = minus_vector_w(u, scaled_w(over_w(spread_w(1.0), inverse), minus_vector_w(nearest, x)))
    return dot_w(rest, rest)


@inlined
def velocities_of_group(g, collision, stepping):
    """(v, ω of a; v, ω of b) of the bodies of a group."""
    motion, bodies, to_a = stepping.motion, stepping.wide_bodies, LANE_COUNTS * g
    v_a, omega_a = gather_velocities(motion, bodies, to_a)
    v_b, omega_b = gather_velocities(motion, bodies, to_a + WIDTH)
    return v_a, omega_a, v_b, omega_b


@inlined
def residual_of_point(head, k, velocities, wide):
    """The squared residual of Coulomb's law at point k of a group that begins at `head` (m²/s²), by lane."""
    n, t, s, mu = frame_of_group(head, wide, ONE)
    at = head + HEAD + POINT * k
    w = velocity_w(*velocities, three_w(wide, at + ARM_A, ONE), three_w(wide, at + ARM_B, ONE))
    u_n, u_t, u_s = dot_w(n, w), dot_w(t, w), dot_w(s, w)
    slip = sqrt_w(plus_w(times_w(u_t, u_t), times_w(u_s, u_s)))
    u_n = plus_w(plus_w(u_n, load_w(wide, at + BIAS)), times_w(mu, slip))
    return natural_map_w(three_w(wide, at + IMPULSE, ONE), (u_n, u_t, u_s), mu, load_w(wide, at + INVERSE))


@njit
def residual_of_group(g, worst, collision, stepping):
    """The larger of `worst` and the squared residuals of Coulomb's law of a group (m²/s²), by lane."""
    velocities = velocities_of_group(g, collision, stepping)
    for k in range(points_of(g, collision)):
        worst = larger_w(residual_of_point(group_at(g, collision), k, velocities, stepping.wide), worst)
    return worst


@njit
def measure_groups(begin, end, collision, stepping):
    """The natural-map residual of each contact of groups begin … end (m/s), into `residuals`."""
    lanes, residuals = collision.lanes, stepping.residuals
    for g in range(begin, end):
        velocities = velocities_of_group(g, collision, stepping)
        for k in range(points_of(g, collision)):
            square = residual_of_point(group_at(g, collision), k, velocities, stepping.wide)
            for lane in range(WIDTH):
                if lanes[LANE_COUNTS * g + WIDTH + lane] > k:
                    store(residuals, lanes[LANE_COUNTS * g + lane] + k, math.sqrt(part_w(square, lane)))


@njit
def worst_residual_of_groups(begin, end, collision, stepping):
    """The largest natural-map residual of groups begin … end (m/s)."""
    worst = spread_w(0.0)
    for g in range(begin, end):
        worst = residual_of_group(g, worst, collision, stepping)
    return math.sqrt(largest_w(worst))


# C function ---------------------------------------------------------------------------------------------------------------


@njit
def run_job_of_parts(kind, value, begin, end, tables):
    """A job over the groups of parts begin … end of one colour (`islands.bucket_of`), which are side by side where their
    pairs have as many points; returns the largest of their values."""
    groups, largest = tables.collision.bucket_groups, 0.0
    for k in range(POINTS):
        first, last = POINTS * begin + k, POINTS * (end - 1) + k
        if groups[2 * last + 1] > groups[2 * first]:
            largest = max(largest, run_wide_job(kind, value, groups[2 * first], groups[2 * last + 1], tables))
    return largest


@njit
def run_wide_job(kind, value, begin, end, tables):
    """A job over groups begin … end, with a number; returns the largest of their values."""
    collision, stepping = tables.collision, tables.stepping
    if kind == WIDE_SWEEP or kind == WIDE_SWEEP_ON:  # noqa: SIM109 - compiled
        wide, before, motion = stepping.wide, stepping.wide_before, stepping.motion
        return sweep_groups(begin, end, kind == WIDE_SWEEP_ON, value, wide, before, motion, collision, stepping)
    if kind == SINGLE_SWEEP_ON:
        single, old, rounded = stepping.single_wide, stepping.single_before, stepping.single_motion
        return sweep_groups(begin, end, True, value, single, old, rounded, collision, stepping)
    if kind == WIDE_RESIDUAL:
        return worst_residual_of_groups(begin, end, collision, stepping)
    if kind == WIDE_POSITIONS or kind == WIDE_POSITIONS_ON:  # noqa: SIM109 - compiled
        return sweep_groups_positions(begin, end, kind == WIDE_POSITIONS_ON, value, collision, stepping)
    if kind == MEASURE:
        measure_groups(begin, end, collision, stepping)
    elif kind == PACK:
        pack(begin, end, collision, stepping)
    elif kind == LOAD:
        load_impulses(begin, end, collision, stepping.wide)
    elif kind == WARM_START:
        warm_start_groups(begin, end, collision, stepping)
    elif kind == SEARCH:
        search_groups(begin, end, collision, stepping)
    elif kind == SCALE:
        scale_groups(begin, end, collision, stepping)
    elif kind == ROUND:
        round_groups(begin, end, collision, stepping)
    elif kind == APPLY_SINGLE:
        apply_single_groups(begin, end, collision, stepping)
    else:
        store_impulses(begin, end, collision, stepping.wide)
    return 0.0


_floats = viewer(np.float64)
_addresses = viewer(np.int64)


# A job of a thread (`core.thread_pool`): `data` is the address of its slot or, of a job ALONE, of its tables. The items of
# the job are n … m, and its result is in `dydt`.
def wide_entry(data, task, stop, y, n, dydt, m):
    address = data if task % OF_PARTS >= ALONE else _addresses(data, CONTACT_SLOT + 1)[CONTACT_SLOT]
    result, tables = _floats(dydt, 1), table_at(ContactTables, address)
    kind = task % ALONE
    if task >= OF_PARTS:
        result[0] = max(result[0], run_job_of_parts(kind, stop, n, m, tables))
    else:
        result[0] = max(result[0], run_wide_job(kind, stop, n, m, tables))
    return OK


WIDE_ENTRY = CFunction(wide_entry, C_SIGNATURE)
