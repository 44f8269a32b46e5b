"""The tables of `linalg.conjugate_gradient` from those of a step."""

from ..jit import inlined, njit
from ..linalg.block_matrix import BlockMatrix, multiply
from ..linalg.coarse_space import CoarseSpace, CoarseWork
from ..linalg.conjugate_gradient import Workspace, conjugate_gradient
from ..pointer import part_of
from ..unchecked import peek, poke
from ..vec import cross, store3
from .touch import axis_of


@inlined
def matrix_of(steps):
    return BlockMatrix(steps.starts, steps.columns, steps.values)


@inlined
def space_of(steps):
    at = steps.space
    return CoarseSpace(
        at.position, at.starts, at.columns, at.sources, at.patch, at.patches,
        at.h_starts, at.h_columns, at.slots, at.targets, at.own, at.pivots, at.below,
        at.updates,
    )  # fmt: skip


@inlined
def coarse_of(steps):
    at = steps.coarse
    return CoarseWork(
        at.held_by, at.led_by, at.frame, at.back, at.upper, at.h, at.z, at.t, at.e,
        at.g, at.exact_back, at.exact_upper, at.exact_h, at.exact_z, at.exact_t,
        at.exact_e, at.exact_g, at.row, at.block, at.values, at.lower, at.c,
        at.y, at.w,
    )  # fmt: skip


@inlined
def work_of(n, steps):
    return Workspace(part_of(steps.direction, 0, n), part_of(steps.residual, 0, n))


@njit
def list_held(steps):
    """Fill the table of held nodes: pinned particles, and locked ones. Returns how many there are."""
    touches, pinned, held = steps.touches, steps.pinned, steps.held
    number = 0
    for k in range(pinned.shape[0]):
        held[number].node, held[number].fixed = pinned[k], 3
        number += 1
    for k in range(steps.touch_counts[0]):
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
    held = steps.held[: list_held(steps)]
    status = conjugate_gradient(
        matrix_of(steps), held, space_of(steps), part_of(steps.rhs, 0, n), part_of(steps.change, 0, n),
        work_of(n, steps), coarse_of(steps), tolerance, steps.options[0].linear_iterations, steps.solution[0],
    )  # fmt: skip
    steps.report[0].linear += steps.solution[0].iterations
    return status


@njit
def apply(u, out, system, steps):
    """out = A u of all particles."""
    if steps.options[0].explicit == 0:
        multiply(matrix_of(steps), u, out)
        return
    mass, weight = system.particle_mass, steps.stage[0].weight
    for i in range(mass.shape[0]):
        for k in range(3 * i, 3 * i + 3):
            poke(out, k, weight * peek(mass, i) * peek(u, k))
