"""The tables of `linalg.conjugate_gradient` from those of a step."""

import numpy as np

from ..addresses import nested_reader, part_of, reader
from ..jit import inlined, njit
from ..linalg.block_matrix import BlockMatrix, multiply
from ..linalg.coarse_space import CoarseSpace, CoarseWork
from ..linalg.conjugate_gradient import Workspace, conjugate_gradient
from ..linalg.ordering import COLUMN, ENTRY, UPDATE
from ..mechanics.system import particle_mass_of
from ..unchecked import peek, poke
from ..vec import cross, store3
from .tables import Steps
from .tables_of import (
    change_of,
    columns_of,
    direction_of,
    held_of,
    options_of,
    pinned_of,
    report_of,
    residual_of,
    rhs_of,
    solution_of,
    stage_of,
    starts_of,
    touch_counts_of,
    touches_of,
    values_of,
)
from .touch import axis_of

space_table = nested_reader(Steps, "space")
coarse_table = nested_reader(Steps, "coarse")
position_of = reader(CoarseSpace, "position", np.int64)
group_starts_of = reader(CoarseSpace, "starts", np.int64)
lane_columns_of = reader(CoarseSpace, "columns", np.int32)
sources_of = reader(CoarseSpace, "sources", np.int64)
patch_of = reader(CoarseSpace, "patch", np.int64)
patches_of = reader(CoarseSpace, "patches", np.int32)
h_starts_of = reader(CoarseSpace, "h_starts", np.int64)
h_columns_of = reader(CoarseSpace, "h_columns", np.int32)
slots_of = reader(CoarseSpace, "slots", np.int64)
targets_of = reader(CoarseSpace, "targets", np.int64)
own_of = reader(CoarseSpace, "own", np.int64)
pivots_of = reader(CoarseSpace, "pivots", COLUMN)
below_of = reader(CoarseSpace, "below", ENTRY)
updates_of = reader(CoarseSpace, "updates", UPDATE)
held_by_of = reader(CoarseWork, "held_by", np.int64)
led_by_of = reader(CoarseWork, "led_by", np.int64)
frame_of = reader(CoarseWork, "frame")
back_of = reader(CoarseWork, "back", np.float32)
upper_of = reader(CoarseWork, "upper", np.float32)
h_of = reader(CoarseWork, "h", np.float32)
z_of = reader(CoarseWork, "z", np.float32)
t_of = reader(CoarseWork, "t", np.float32)
e_of = reader(CoarseWork, "e", np.float32)
g_of = reader(CoarseWork, "g", np.float32)
exact_back_of = reader(CoarseWork, "exact_back")
exact_upper_of = reader(CoarseWork, "exact_upper")
exact_h_of = reader(CoarseWork, "exact_h")
exact_z_of = reader(CoarseWork, "exact_z")
exact_t_of = reader(CoarseWork, "exact_t")
exact_e_of = reader(CoarseWork, "exact_e")
exact_g_of = reader(CoarseWork, "exact_g")
row_of = reader(CoarseWork, "row")
block_of = reader(CoarseWork, "block")
coarse_values_of = reader(CoarseWork, "values")
lower_of = reader(CoarseWork, "lower")
c_of = reader(CoarseWork, "c")
y_of = reader(CoarseWork, "y")
w_of = reader(CoarseWork, "w")


@inlined
def matrix_of(steps):
    return BlockMatrix(starts_of(steps), columns_of(steps), values_of(steps))


@inlined
def space_of(steps):
    at = space_table(steps)
    return CoarseSpace(
        position_of(at), group_starts_of(at), lane_columns_of(at), sources_of(at), patch_of(at), patches_of(at),
        h_starts_of(at), h_columns_of(at), slots_of(at), targets_of(at), own_of(at), pivots_of(at), below_of(at),
        updates_of(at),
    )  # fmt: skip


@inlined
def coarse_of(steps):
    at = coarse_table(steps)
    return CoarseWork(
        held_by_of(at), led_by_of(at), frame_of(at), back_of(at), upper_of(at), h_of(at), z_of(at), t_of(at), e_of(at),
        g_of(at), exact_back_of(at), exact_upper_of(at), exact_h_of(at), exact_z_of(at), exact_t_of(at),
        exact_e_of(at), exact_g_of(at), row_of(at), block_of(at), coarse_values_of(at), lower_of(at), c_of(at),
        y_of(at), w_of(at),
    )  # fmt: skip


@inlined
def work_of(n, steps):
    return Workspace(part_of(direction_of(steps), 0, n), part_of(residual_of(steps), 0, n))


@njit
def list_held(steps):
    """Fill the table of held nodes: pinned particles, and locked ones. Returns how many there are."""
    touches, pinned, held = touches_of(steps), pinned_of(steps), held_of(steps)
    number = 0
    for k in range(pinned.shape[0]):
        held[number].node, held[number].fixed = pinned[k], 3
        number += 1
    for k in range(touch_counts_of(steps)[0]):
        touch = touches[k]
        if touch.locked > 0:
            row = held[number]
            row.node, row.fixed = touch.particle, touch.locked
            if touch.locked == 1:
                store3(row.direction, axis_of(touch, 0))
            elif touch.locked == 2:
                store3(row.direction, cross(axis_of(touch, 0), axis_of(touch, 1)))
            number += 1
    return number


@njit
def solve_held(tolerance, n, steps):
    """Conjugate gradients with filter, for n numbers, from what is prescribed. Returns a status of `linalg`."""
    options, report = options_of(steps)[0], report_of(steps)[0]
    held = held_of(steps)[: list_held(steps)]
    status = conjugate_gradient(
        matrix_of(steps), held, space_of(steps), part_of(rhs_of(steps), 0, n), part_of(change_of(steps), 0, n),
        work_of(n, steps), coarse_of(steps), tolerance, options.linear_iterations, solution_of(steps)[0],
    )  # fmt: skip
    report.linear += solution_of(steps)[0].iterations
    return status


@njit
def apply(u, out, system, steps):
    """out = A u of all particles."""
    if options_of(steps)[0].explicit == 0:
        multiply(matrix_of(steps), u, out)
        return
    mass, weight = particle_mass_of(system), stage_of(steps)[0].weight
    for i in range(mass.shape[0]):
        for k in range(3 * i, 3 * i + 3):
            poke(out, k, weight * peek(mass, i) * peek(u, k))
