"""Where Gauss–Seidel starts: from the impulses of the last step, as far as they lower D (see the line search there)."""

from ..core.jit import njit
from ..core.simd import load, store
from .gauss_seidel import restore_search, save_search, search_line, warm_start
from .parallel import (
    LOAD,
    SCALE,
    SEARCH,
    STORE,
    SUMS,
    WARM_START,
    is_wide,
    move_impulses,
    over_colours_of_groups,
    over_groups,
)
from .tables import MOTION, SPEEDS, copy_velocities


@njit
def start_island(island, tables):
    """Give an island the impulses of the last step, projected on the cones, as far as they lower D: writes impulses and
    `motion`."""
    collision, stepping = tables.collision, tables.stepping
    if not is_wide(island, collision):
        save_search(0.0, island, tables)
        warm_start(island.first, island.end, collision.contacts, stepping.motion)
        search_line(island, tables)
        return
    copy_velocities(island, collision.members, stepping.motion, stepping.search_motion)
    over_colours_of_groups(WARM_START, island, tables)
    share = best_fraction_of_groups(island, tables)
    if share < 1.0:
        take_share(share, island, tables)


@njit
def best_fraction_of_groups(island, tables):
    """`gauss_seidel.best_fraction` from no impulses to the present ones."""
    sums = tables.stepping.wide_sums
    over_groups(SEARCH, island, tables)
    slope, curvature = 0.0, 0.0
    for g in range(island.first_group, island.end_group):
        slope += load(sums, SUMS * g)
        curvature += load(sums, SUMS * g + 1)
    return min(1.0, max(0.0, -slope / curvature)) if curvature > 0.0 else 0.0


@njit
def take_share(share, island, tables):
    """Impulses of an island's groups ← `share` of them; velocities accordingly, from those in `search_motion`."""
    collision, stepping = tables.collision, tables.stepping
    motion, before, sums = stepping.motion, stepping.search_motion, stepping.wide_sums
    for m in range(island.first_member, island.end_member):
        at = MOTION * collision.members[m]
        for i in range(at, at + SPEEDS):
            store(motion, i, load(before, i) + share * (load(motion, i) - load(before, i)))
    store(sums, sums.shape[0] - 1, share)
    over_groups(SCALE, island, tables)


# An island that was at rest gets a sweep from here. Where that changes much, it goes back.


@njit
def save_start(island, tables):
    """Store what `return_to_start` needs."""
    if not is_wide(island, tables.collision) or island.jointed != 0:
        move_impulses(STORE, island, tables)
        save_search(1.0, island, tables)


@njit
def return_to_start(island, tables):
    """Set impulses and velocities to those at `save_start`."""
    collision, stepping = tables.collision, tables.stepping
    if is_wide(island, collision) and island.jointed == 0:
        copy_velocities(island, collision.members, stepping.search_motion, stepping.motion)
        start_island(island, tables)
    else:
        restore_search(0.0, island, tables)
        move_impulses(LOAD, island, tables)
