"""Joints that close loops, as constraints on joint coordinates: J ẇ + J̇ v = 0 with multipliers.

With J the rows of the loops on bodies (see `mechanics.jacobian`) taken through the tree, M the mass matrix, the rates without
loops ẇ₀, and their accelerations v̇₀,

    J M⁻¹ Jᵀ λ = −(J v̇₀ + J̇ v),   ẇ = ẇ₀ + M⁻¹ Jᵀ λ.

Particles in loops are unknowns of their own. Redundant loops (planar ones in space, Bricard's) make this singular; ε on the
diagonal and corrections with the true residual converge to the accelerations all the same (Carpentier et al. 2021).
"""

import math

from ..arrays import clear
from ..jit import njit
from ..linalg.block import load_6
from ..linalg.lu import factorize as factorize_dense
from ..linalg.lu import substitute
from ..mechanics.assembly import load_point
from ..mechanics.system import bodies_of, incidences_of, nodes_of, settings_of
from ..mechanics.system import jacobian_of as body_jacobian_of
from ..unchecked import peek, poke
from ..vec import add, cross, dot, load3
from .mass_matrix import factorize, fill_matrix, solve
from .tables_of import (
    change_of,
    columns_of,
    factor_of,
    jacobian_of,
    motion_of,
    node_of_row_of,
    options_of,
    pivots_of,
    residual_of,
    response_of,
    schur_of,
    system_of,
    tree_of,
    wanted_of,
)
from .tables_of import nodes_of as tree_nodes_of

EPSILON = 1e-10  # relative to the diagonal
CORRECTIONS = 12


@njit
def prepare_loops(reduced):
    """The factor of M, and what `prepare_rows` does. Returns whether that went well."""
    tree = tree_of(reduced)
    fill_matrix(tree)
    return factorize(tree) < 0 and prepare_rows(reduced)


@njit
def prepare_rows(reduced):
    """J and M⁻¹ Jᵀ in joint coordinates, J M⁻¹ Jᵀ and its factor, where the tree and the bodies' J are, and M is factored.
    Returns whether that went well."""
    tree, system, schur, factor = tree_of(reduced), system_of(reduced), schur_of(reduced), factor_of(reduced)
    jacobian, response, options = jacobian_of(reduced), response_of(reduced), options_of(reduced)[0]
    rows, m = wanted_of(reduced).shape[0], options.speeds
    q = change_of(reduced).shape[0]
    fill_rows(reduced)
    first = settings_of(system)[0].rigid
    for r in range(rows):
        for k in range(q):
            value = peek(jacobian, r * q + k)
            if k >= m:
                value *= bodies_of(system)[first + (k - m) // 3].inverse_mass
            poke(response, r * q + k, value)
        solve(response, r * q, tree)
    for r in range(rows):
        for s in range(rows):
            value = 0.0
            for k in range(q):
                value += peek(jacobian, r * q + k) * peek(response, s * q + k)
            poke(schur, r * rows + s, value)
            poke(factor, r * rows + s, value)
    for r in range(rows):
        diagonal = peek(schur, r * rows + r)
        # what was let go has no row: its multiplier is zero
        poke(factor, r * rows + r, diagonal * (1.0 + EPSILON) if diagonal > 0.0 else 1.0)
    return factorize_dense(rows, factor, 0, pivots_of(reduced), 0) == 0


@njit
def fill_rows(reduced):
    """J of the loops along the freedoms, and along the velocities of particles in them."""
    system, jacobian = system_of(reduced), jacobian_of(reduced)
    incidences, own = incidences_of(system), body_jacobian_of(system)
    clear(jacobian)
    for i in range(incidences.shape[0]):
        incidence = incidences[i]
        if incidence.is_point != 0:
            sign, r = load_point(own, incidence.offset)
            for k in range(3):
                axis = (sign if k == 0 else 0.0, sign if k == 1 else 0.0, sign if k == 2 else 0.0)
                carry(incidence.row + k, incidence.body, axis, cross(r, axis), reduced)
        else:
            for k in range(incidence.rows):
                c = load_6(own, incidence.offset + 6 * k)
                carry(incidence.row + k, incidence.body, (c[0], c[1], c[2]), (c[3], c[4], c[5]), reduced)


@njit
def carry(row, body, f, g, reduced):
    """Add a row (f, g) on the velocities of a body, or of a particle in a loop."""
    system, jacobian = system_of(reduced), jacobian_of(reduced)
    rigid, q = settings_of(system)[0].rigid, change_of(reduced).shape[0]
    if rigid <= body < rigid + nodes_of(system).shape[0]:
        at = row * q + options_of(reduced)[0].speeds + 3 * (body - rigid)
        for k in range(3):
            poke(jacobian, at + k, peek(jacobian, at + k) + f[k])
        return
    carry_row(node_of_row_of(reduced)[body], f, g, jacobian, row * q, tree_of(reduced))


@njit
def carry_row(node, f, g, jacobian, at, tree):
    """Add a row (f, g) on the velocities of a node, through all that carries it, to jacobian[at:], one number a freedom."""
    nodes, motion, columns = tree_nodes_of(tree), motion_of(tree), columns_of(tree)
    while node >= 0:
        for k in range(nodes[node].first, nodes[node].last):
            value = dot(load3(columns[k].linear), f) + dot(load3(columns[k].angular), g)
            poke(jacobian, at + k, peek(jacobian, at + k) + value)
        g = add(g, cross(load3(motion[node].r), f))
        node = nodes[node].parent


@njit
def solve_loops(multipliers, reduced):
    """λ with J M⁻¹ Jᵀ λ = `wanted`, and M⁻¹ Jᵀ λ in `change`."""
    schur, factor, pivots = schur_of(reduced), factor_of(reduced), pivots_of(reduced)
    wanted, residual = wanted_of(reduced), residual_of(reduced)
    response, change = response_of(reduced), change_of(reduced)
    rows, q = wanted.shape[0], change.shape[0]
    for r in range(rows):
        poke(multipliers, r, 0.0)
        poke(residual, r, peek(wanted, r))
    previous = math.inf
    for _ in range(CORRECTIONS):
        worst = 0.0
        for r in range(rows):
            worst = max(worst, abs(peek(residual, r)))
        if not worst < 0.5 * previous or worst == 0.0:
            break
        previous = worst
        substitute(rows, factor, 0, pivots, 0, residual, 0)
        for r in range(rows):
            poke(multipliers, r, peek(multipliers, r) + peek(residual, r))
        for r in range(rows):
            value = peek(wanted, r)
            for s in range(rows):
                value -= peek(schur, r * rows + s) * peek(multipliers, s)
            poke(residual, r, value)
    for k in range(q):
        value = 0.0
        for r in range(rows):
            value += peek(response, r * q + k) * peek(multipliers, r)
        poke(change, k, value)
