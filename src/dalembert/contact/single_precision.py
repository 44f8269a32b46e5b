"""Sweeps over a large island in motion, in single precision.

What such an island aims at, 1e-3 of its speed or a hundredth of what its weight adds in a step, is far above the rounding of
float32. There, eight numbers fill one register of AVX instead of two, and a body one cache line instead of two: a sweep takes
half the time. What counts stays in double precision: after a cycle of sweeps, and before a residual is measured, the impulses
are put into their cones and applied to the velocities without impulses (mixed-precision refinement, cf. N. J. Higham,
*Accuracy and Stability of Numerical Algorithms*, 2002). The velocities that follow differ from those of the sweeps by the
rounding of these; where this is no longer small beside the aim, sweeps go on in double precision.
"""

from ..collide.tables import MOVED
from ..core.jit import inlined, njit
from ..core.simd import load
from ..core.simd_wide import double_w, load_w, minus_w, part_w, single_w, store_w
from .parallel import APPLY_SINGLE, ROUND, carry_bodies, is_wide, over_colours_of_groups, over_groups, set_shares
from .tables import INVERSE_MASS, MOTION, copy_velocities

RANGE = 1e4  # times the aim: what the fastest body may move at
LIGHTEST, HEAVIEST = 1e-6, 1e6  # kg: bodies whose impulses are far from the ends of the range of float32
ROUNDED = 0.05  # of the aim: what rounding may change a velocity by


@njit
def allows_single(fastest, island, tables):
    """Whether sweeps over an island may be in single precision; fastest : the speed of its fastest body, m/s. It must be
    solved to an aim of its own, so that `free_motion` has the velocities without impulses."""
    collision, motion, options = tables.collision, tables.stepping.motion, tables.stepping.options[0]
    if options.finishes == 0 or island.aim <= options.tolerance or fastest > RANGE * island.aim:
        return False
    if island.jointed != 0 or island.surfaces != 0 or not is_wide(island, collision):
        return False
    for m in range(island.first_member, island.end_member):
        inverse = load(motion, MOTION * collision.members[m] + INVERSE_MASS)
        if not 1.0 / HEAVIEST <= inverse <= 1.0 / LIGHTEST:
            return False
    return True


@njit
def round_island(island, tables):
    """The groups and velocities of an island, and the velocities of what contacts do not move, in single precision."""
    collision, stepping = tables.collision, tables.stepping
    motion, single = stepping.motion, stepping.single_motion
    for m in range(island.first_member, island.end_member):
        round_body(collision.members[m], motion, single)
    for body in range(collision.counts[MOVED], motion.shape[0] // MOTION):
        round_body(body, motion, single)
    over_groups(ROUND, island, tables)


@inlined
def round_body(body, motion, single):
    """The row of a body in single precision."""
    at, half = MOTION * body, MOTION * body + MOTION // 2
    store_w(single, at, single_w(load_w(motion, at)))
    store_w(single, half, single_w(load_w(motion, half)))


@njit
def carry_single(share, island, tables):
    """`parallel.carry_on` in single precision."""
    stepping = tables.stepping
    carry_bodies(share, stepping.single_motion, stepping.single_before_motion, island, tables.collision.members)
    set_shares(share, island, stepping.wide_sums)


@njit
def leave_single(island, tables):
    """The impulses of an island in double precision, and `motion` with them. Where rounding was not small beside the aim, the
    island is not solved in single precision any more."""
    collision, stepping = tables.collision, tables.stepping
    copy_velocities(island, collision.members, stepping.free_motion, stepping.motion)
    over_colours_of_groups(APPLY_SINGLE, island, tables)
    if not rounding_of(island, collision.members, stepping) <= ROUNDED * island.aim:
        island.single = 0


@njit
def rounding_of(island, members, stepping):
    """The largest difference of the velocities in both precisions, m/s."""
    largest = 0.0
    for m in range(island.first_member, island.end_member):
        at = MOTION * members[m]
        change = minus_w(load_w(stepping.motion, at), double_w(load_w(stepping.single_motion, at)))
        for k in range(3):
            largest = max(largest, abs(part_w(change, k)))
    return largest
