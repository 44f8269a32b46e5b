"""Contact with Coulomb friction as a problem over blocks of speeds, and the matrix of Newton's method for it.

Bodies (6 speeds), trees of joints (n speeds) or whatever else moves are blocks i with masses Mᵢ. Contacts, each with three
rows J (n, t, s), and scalar rows g, which are those of joints, loops, stops, motors and dry friction, have up to four blocks.
With w the speeds, p and λ the impulses:

    M (w − w_free) = Jᵀ p + gᵀ λ,      K_μ ∋ p ⊥ û = u + (bias + μ |u_t|) e_n ∈ K_μ*,      u = J w,
    e = g w − target + C λ:    e = 0 where least < λ < most,   e ≥ 0 at λ = least,   e ≤ 0 at λ = most.

A method of Newton's kind has, in each step, δp = f − K δu with a 3 × 3 matrix K for each contact and δλ = f − k g δw for each
row, and so

    (M + Σ Jᵀ K J + Σ k gᵀ g) δw = −r + Σ Jᵀ f + Σ gᵀ f,     r = M (w − w_free) − Jᵀ p − gᵀ λ.

K is not symmetric where a contact slides. `linalg.supernodal` factorizes the matrix. In order: tables, products with rows,
the matrix, its solution, residuals.
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.jit import njit
from ..core.math3 import add, dot, load3, norm, scale, store3, sub
from ..core.simd import load, load4, part4, plus4, spread, store, store4, times4
from ..core.tables import column, part
from ..linalg.supernodal import add_block, clear, factor, solve
from ..linalg.supernodal_analysis import NEED_MORE as LONGER
from ..linalg.supernodal_analysis import Supernodal, analyse
from .cone import natural_map, project_coulomb, project_dual, tangent_norm
from .island_problem import BLOCK
from .island_problem import MOST_BLOCKS as BLOCKS

# Tables ----------------------------------------------------------------------------------------------------------------

# Statuses. Of the first two the solution is at hand; NEED_MORE asks for longer tables of `matrix`.
SOLVED, NOT_CONVERGED, NEED_MORE, NOT_FINITE = range(4)

# Input: the counts, the most factorizations, the tolerance in m/s and relative to the typical speed, whether the impulses are
# a start (`warm`). Output: factorizations, the tolerance (m/s, the larger of both), the typical speed (m/s), the residual of
# the result (m/s), its parts (see Residuals), and its worst contact. `regularization`, `coupling` and `symmetric` belong to
# the solver.
STEP = np.dtype(
    [("blocks", "i8"), ("contacts", "i8"), ("rows", "i8"), ("speeds", "i8"), ("edges", "i8"), ("max_iterations", "i8"),
     ("tolerance", "f8"), ("relative", "f8"), ("warm", "i8"), ("iterations", "i8"), ("speed", "f8"),
     ("residual", "f8"), ("symmetric", "i8"),
     ("regularization", "f8"), ("coupling", "f8"), ("cone", "f8"), ("dual", "f8"), ("complementarity", "f8"),
     ("natural_map", "f8"),
     ("joints", "f8"), ("balance", "f8"), ("worst", "i8")],
    align=True,
)  # fmt: skip
# A contact: its number to the caller, its blocks (−1: none), where J begins in `jacobian` for each (3 × size, row by row),
# and its first edge of the matrix; in: friction, bias, the part of u that is given (`offset`, m/s: of what moves by command),
# and the impulse of the start; out: impulse. Compliance: J M⁻¹ Jᵀ of the normal; 0 between blocks that nothing moves. K and f
# of Newton's step; u + bias e_n and û at the iterate; the rest is the solver's, in the variables of the Lorentz cone (see
# `cone_solver`).
CONE = np.dtype(
    [("number", "i8"), ("blocks", "i8", BLOCKS), ("at", "i8", BLOCKS), ("edge", "i8"), ("friction", "f8"), ("bias", "f8"),
     ("offset", "f8", 3), ("impulse", "f8", 3), ("compliance", "f8"), ("stiffness", "f8", 9), ("f", "f8", 3),
     ("p", "f8", 3), ("u", "f8", 3),
     ("du", "f8", 3), ("u_hat", "f8", 3), ("sliding", "f8", 2), ("prior", "f8", 3), ("saved", "f8", 3),
     ("force", "f8", 3), ("slack", "f8", 3), ("force_step", "f8", 3), ("slack_step", "f8", 3), ("slip", "f8"),
     ("d", "f8", 5), ("beta", "f8"), ("w", "f8", 3), ("g", "f8", 3), ("penalty", "f8"), ("ceiling", "f8"), ("left", "f8")],
    align=True,
)  # fmt: skip
# A scalar row: likewise; target, C, least and most, and the impulse λ. response: g M⁻¹ gᵀ. Of Newton's step: k, f; at
# the iterate g w − target (`rate`) and the error e; slacks of λ − least and of most − λ, with their steps.
ROW = np.dtype(
    [("number", "i8"), ("blocks", "i8", BLOCKS), ("at", "i8", BLOCKS), ("edge", "i8"), ("target", "f8"),
     ("compliance", "f8"), ("least", "f8"), ("most", "f8"), ("impulse", "f8"), ("response", "f8"), ("stiffness", "f8"),
     ("f", "f8"), ("force", "f8"), ("rate", "f8"), ("error", "f8"), ("prior", "f8"), ("saved", "f8"), ("step", "f8"),
     ("rate_saved", "f8"), ("rate_step", "f8"), ("lower", "f8"), ("upper", "f8"), ("lower_step", "f8"), ("upper_step", "f8"),
     ("penalty", "f8"), ("ceiling", "f8"), ("left", "f8")],
    align=True,
)  # fmt: skip

# Vectors in `vectors`: the iterate, its step, the iterate before a line search, r, a right-hand side, scratch, and the
# iterate before a round.
POINT, DIRECTION, SAVED, GRADIENT, RIGHT, LEFT, START = range(7)
VECTORS = 7
BODY = 6  # speeds of a block whose products are written out
RUN = 8  # contacts of two bodies that are added to the matrix together
PADDED, SIDE = 8, 24  # numbers of a row of K J of a body, and of its three rows
SCRATCH = 3  # times the speeds of the largest block squared


class ConeProblem(NamedTuple):
    """A problem, its solution, and the workspace of the solver. In and out:"""

    step: Any = column("1", STEP)
    blocks: Any = column("blocks", BLOCK, used="step[0].blocks")
    masses: Any = column("masses", unit="kg, kg m, kg m²", doc="M, block by block")
    cones: Any = column("contacts", CONE, used="step[0].contacts")
    rows: Any = column("rows", ROW, used="step[0].rows")
    jacobian: Any = column("jacobian + 4", doc="J and g, block by block; four are read at a time")
    speeds: Any = column("speeds", unit="m/s, rad/s", doc="in: w_free; out: w")
    # Workspace
    free: Any = column("speeds", unit="m/s, rad/s", doc="w_free")
    vectors: Any = column("VECTORS * speeds")
    sizes: Any = column("blocks", np.int64, doc="speeds of each block")
    ends: Any = column("2 * edges", np.int64, doc="blocks at the ends of each edge of the matrix")
    inverses: Any = column("masses", doc="M⁻¹, block by block")
    scratch: Any = column(
        "SCRATCH * largest * largest + 4 * RUN * SIDE + 8", doc="dense blocks, or J and K J of a run of contacts"
    )
    matrix: Any = part(Supernodal)


# Products with rows ------------------------------------------------------------------------------------------------------


@njit
def contact_rate(cone, problem, x, base):
    """J x of a contact, as (n, t, s)."""
    jacobian = problem.jacobian
    n, t, s = 0.0, 0.0, 0.0
    for side in range(BLOCKS):
        if cone.blocks[side] < 0:
            break
        block, at = problem.blocks[cone.blocks[side]], cone.at[side]
        size, first = block.speeds, base + block.first
        if size == BODY:  # unrolled
            for k in range(BODY):
                value = load(x, first + k)
                n += load(jacobian, at + k) * value
                t += load(jacobian, at + BODY + k) * value
                s += load(jacobian, at + 2 * BODY + k) * value
            continue
        for k in range(size):
            value = load(x, first + k)
            n += load(jacobian, at + k) * value
            t += load(jacobian, at + size + k) * value
            s += load(jacobian, at + 2 * size + k) * value
    return (n, t, s)


@njit
def push_contact(cone, p, problem, x, base):
    """x += Jᵀ p of a contact."""
    jacobian = problem.jacobian
    for side in range(BLOCKS):
        if cone.blocks[side] < 0:
            break
        block, at = problem.blocks[cone.blocks[side]], cone.at[side]
        size, first = block.speeds, base + block.first
        if size == BODY:
            push_body(p, jacobian, at, x, first)
            continue
        for k in range(size):
            more = p[0] * load(jacobian, at + k) + p[1] * load(jacobian, at + size + k)
            store(x, first + k, load(x, first + k) + more + p[2] * load(jacobian, at + 2 * size + k))


@njit
def push_body(p, jacobian, at, x, first):
    """x[first : first + 6] += Jᵀ p of a body."""
    n, t, s = spread(p[0]), spread(p[1]), spread(p[2])
    more = plus4(times4(n, load4(jacobian, at)), times4(t, load4(jacobian, at + BODY)))
    store4(x, first, plus4(load4(x, first), plus4(more, times4(s, load4(jacobian, at + 2 * BODY)))))
    for k in range(4, BODY):
        last = p[0] * load(jacobian, at + k) + p[1] * load(jacobian, at + BODY + k)
        store(x, first + k, load(x, first + k) + last + p[2] * load(jacobian, at + 2 * BODY + k))


@njit
def row_rate(row, problem, x, base):
    """g x of a scalar row."""
    jacobian, value = problem.jacobian, 0.0
    for side in range(BLOCKS):
        if row.blocks[side] < 0:
            break
        block, at = problem.blocks[row.blocks[side]], row.at[side]
        for k in range(block.speeds):
            value += load(jacobian, at + k) * load(x, base + block.first + k)
    return value


@njit
def push_row(row, impulse, problem, x, base):
    """x += gᵀ λ of a scalar row."""
    jacobian = problem.jacobian
    for side in range(BLOCKS):
        if row.blocks[side] < 0:
            break
        block, at = problem.blocks[row.blocks[side]], row.at[side]
        for k in range(block.speeds):
            to = base + block.first + k
            store(x, to, load(x, to) + impulse * load(jacobian, at + k))


@njit
def add_momentum(problem, s, x, base, out, at):
    """out[at:] += s M x[base:]."""
    masses = problem.masses
    for i in range(problem.step[0].blocks):
        block = problem.blocks[i]
        for r in range(block.speeds):
            value = 0.0
            for k in range(block.speeds):
                value += load(masses, block.mass + r * block.speeds + k) * load(x, base + block.first + k)
            store(out, at + block.first + r, load(out, at + block.first + r) + s * value)


# Masses ----------------------------------------------------------------------------------------------------------------


@njit
def invert_masses(problem):
    """M⁻¹ of each block, by Gauss–Jordan elimination without exchange, as M is positive definite. Returns whether it is."""
    for i in range(problem.step[0].blocks):
        block = problem.blocks[i]
        if not invert(problem.masses, problem.inverses, block.mass, block.speeds):
            return False
    return True


@njit
def invert(a, out, at, n):
    """The inverse of a positive definite n × n matrix at a[at:], into out[at:]. Returns whether it is positive."""
    for k in range(n * n):
        store(out, at + k, load(a, at + k))
    for k in range(n):
        pivot = load(out, at + k * n + k)
        if not pivot > 0.0:
            return False
        inverse = 1.0 / pivot
        store(out, at + k * n + k, 1.0)
        for c in range(n):
            store(out, at + k * n + c, load(out, at + k * n + c) * inverse)
        for r in range(n):
            if r != k:
                factor = load(out, at + r * n + k)
                store(out, at + r * n + k, 0.0)
                for c in range(n):
                    store(out, at + r * n + c, load(out, at + r * n + c) - factor * load(out, at + k * n + c))
    return True


@njit
def own_response(problem, blocks, at, shift):
    """g M⁻¹ gᵀ of the row that begins `shift` rows after `at` of each block."""
    jacobian, inverses, value = problem.jacobian, problem.inverses, 0.0
    for side in range(BLOCKS):
        if blocks[side] < 0:
            break
        block = problem.blocks[blocks[side]]
        size, row = block.speeds, at[side] + shift * block.speeds
        for r in range(size):
            turned = 0.0
            for k in range(size):
                turned += load(inverses, block.mass + r * size + k) * load(jacobian, row + k)
            value += load(jacobian, row + r) * turned
    return value


@njit
def add_responses(problem, s, out):
    """out += s M⁻¹ (Jᵀ p + gᵀ λ), of the impulses p and `force`."""
    step, vectors = problem.step[0], problem.vectors
    base = LEFT * step.speeds
    for k in range(step.speeds):
        store(vectors, base + k, 0.0)
    for i in range(step.contacts):
        push_contact(problem.cones[i], load3(problem.cones[i].p), problem, vectors, base)
    for i in range(step.rows):
        push_row(problem.rows[i], problem.rows[i].force, problem, vectors, base)
    for i in range(step.blocks):
        block = problem.blocks[i]
        for r in range(block.speeds):
            value = 0.0
            for k in range(block.speeds):
                value += load(problem.inverses, block.mass + r * block.speeds + k) * load(
                    vectors, base + block.first + k
                )
            store(out, block.first + r, load(out, block.first + r) + s * value)


# The matrix ------------------------------------------------------------------------------------------------------------


@njit
def plan_matrix(problem):
    """List the edges between blocks, and plan the factorization. Returns NEED_MORE where a table is too short, else 0."""
    step = problem.step[0]
    for i in range(step.blocks):
        problem.sizes[i] = problem.blocks[i].speeds
    edges = 0
    for i in range(step.contacts):
        problem.cones[i].edge = edges
        edges = list_edges(problem.cones[i].blocks, edges, problem.ends)
    for i in range(step.rows):
        problem.rows[i].edge = edges
        edges = list_edges(problem.rows[i].blocks, edges, problem.ends)
    step.edges = edges
    status = analyse(problem.matrix, step.blocks, problem.sizes, edges, problem.ends)
    return NEED_MORE if status == LONGER else 0


@njit
def list_edges(blocks, edges, ends):
    """Write the pairs of blocks of a contact or row; returns the number of edges so far."""
    for a in range(BLOCKS):
        if blocks[a] < 0:
            break
        for b in range(a + 1, BLOCKS):
            if blocks[b] < 0:
                break
            ends[2 * edges], ends[2 * edges + 1] = blocks[a], blocks[b]
            edges += 1
    return edges


@njit
def assemble(problem):
    """M + Σ Jᵀ K J + Σ k gᵀ g."""
    step, s = problem.step[0], problem.matrix
    clear(s)
    for i in range(step.blocks):
        block = problem.blocks[i]
        add_block(s, s.diagonal[i], block.speeds, block.speeds, problem.masses, block.mass)
    i = 0
    while i < step.contacts:
        end = end_of_run(problem, i)
        if end > i:
            add_run(problem, i, end)
            i = end
        else:
            if problem.cones[i].compliance > 0.0:
                add_contact(problem.cones[i], problem)
            i += 1
    for i in range(step.rows):
        if problem.rows[i].stiffness > 0.0:
            add_row(problem.rows[i], problem)


@njit
def end_of_run(problem, first):
    """The end of the contacts from `first` on with the same blocks: one body or two. `first`, where it has others."""
    blocks, most = problem.cones[first].blocks, min(first + RUN, problem.step[0].contacts)
    a, b = blocks[0], blocks[1]
    if blocks[2] >= 0 or a < 0 or problem.blocks[a].speeds != BODY or (b >= 0 and problem.blocks[b].speeds != BODY):
        return first
    end = first
    while end < most:
        own = problem.cones[end]
        if own.blocks[0] != a or own.blocks[1] != b or own.blocks[2] >= 0:
            break
        end += 1
    return end


@njit
def add_run(problem, first, end):
    """Add Σ Jᵀ K J of contacts between the same bodies to the matrix."""
    s, cone, x = problem.matrix, problem.cones[first], problem.scratch
    a, b = cone.blocks[0], cone.blocks[1]
    at, depth = 0, 0
    for i in range(first, end):
        own = problem.cones[i]
        if own.compliance > 0.0:  # something moves
            multiply_body(own.stiffness, problem.jacobian, own.at[0], x, at, at + RUN * SIDE)
            if b >= 0:
                multiply_body(own.stiffness, problem.jacobian, own.at[1], x, at + 2 * RUN * SIDE, at + 3 * RUN * SIDE)
            at += SIDE
            depth += 3
    add_product(problem, s.diagonal[a], 0, 0, depth)
    if b >= 0:
        add_product(problem, s.diagonal[b], 1, 1, depth)
        add_product(problem, s.slots[2 * cone.edge], 0, 1, depth)
        add_product(problem, s.slots[2 * cone.edge + 1], 1, 0, depth)


@njit
def multiply_body(k, jacobian, at, out, copied, to):
    """out[copied:] = J and out[to:] = K J of a body, in rows of PADDED; what is after the six of a row has no meaning."""
    n0, t0, s0 = load4(jacobian, at), load4(jacobian, at + BODY), load4(jacobian, at + 2 * BODY)
    n1, t1, s1 = load4(jacobian, at + 4), load4(jacobian, at + BODY + 4), load4(jacobian, at + 2 * BODY + 4)
    store4(out, copied, n0)
    store4(out, copied + 4, n1)
    store4(out, copied + PADDED, t0)
    store4(out, copied + PADDED + 4, t1)
    store4(out, copied + 2 * PADDED, s0)
    store4(out, copied + 2 * PADDED + 4, s1)
    for r in range(3):
        n, t, s = spread(k[3 * r]), spread(k[3 * r + 1]), spread(k[3 * r + 2])
        store4(out, to + PADDED * r, plus4(times4(n, n0), plus4(times4(t, t0), times4(s, s0))))
        store4(out, to + PADDED * r + 4, plus4(times4(n, n1), plus4(times4(t, t1), times4(s, s1))))


@njit
def add_product(problem, slot, left, right, depth):
    """Add Jᵀ (K J) at a slot of the matrix, with `depth` rows of J of the block `left`, and of K J of the block `right`."""
    j, kj = 2 * RUN * SIDE * left, RUN * SIDE * (2 * right + 1)
    if slot.at < 0:
        return
    if slot.column == 1:
        add_6x6(problem.scratch, j, kj, depth, problem.matrix.values, slot.at, slot.row)
    else:  # the transposed product, as the slot is one of columns
        add_6x6(problem.scratch, kj, j, depth, problem.matrix.values, slot.at, slot.column)


@njit
def add_6x6(x, left, right, depth, out, to, row):
    """out[r, c] += Σₖ x[left][k, r] x[right][k, c], with the sums in registers."""
    a0 = a1 = a2 = a3 = a4 = a5 = spread(0.0)
    b0 = b1 = b2 = b3 = b4 = b5 = spread(0.0)
    for _ in range(depth):
        a, b = load4(x, right), load4(x, right + 4)
        m = spread(load(x, left))
        a0, b0 = plus4(a0, times4(m, a)), plus4(b0, times4(m, b))
        m = spread(load(x, left + 1))
        a1, b1 = plus4(a1, times4(m, a)), plus4(b1, times4(m, b))
        m = spread(load(x, left + 2))
        a2, b2 = plus4(a2, times4(m, a)), plus4(b2, times4(m, b))
        m = spread(load(x, left + 3))
        a3, b3 = plus4(a3, times4(m, a)), plus4(b3, times4(m, b))
        m = spread(load(x, left + 4))
        a4, b4 = plus4(a4, times4(m, a)), plus4(b4, times4(m, b))
        m = spread(load(x, left + 5))
        a5, b5 = plus4(a5, times4(m, a)), plus4(b5, times4(m, b))
        left += PADDED
        right += PADDED
    add_six(out, to, a0, b0)
    add_six(out, to + row, a1, b1)
    add_six(out, to + 2 * row, a2, b2)
    add_six(out, to + 3 * row, a3, b3)
    add_six(out, to + 4 * row, a4, b4)
    add_six(out, to + 5 * row, a5, b5)


@njit
def add_six(out, to, a, b):
    """out[to : to + 6] += four numbers and the first two of four."""
    store4(out, to, plus4(load4(out, to), a))
    store(out, to + 4, load(out, to + 4) + part4(b, 0))
    store(out, to + 5, load(out, to + 5) + part4(b, 1))


@njit
def add_contact(cone, problem):
    """Add Jᵀ K J of a contact to the matrix."""
    blocks, edge, s = problem.blocks, cone.edge, problem.matrix
    for a in range(BLOCKS):
        if cone.blocks[a] < 0:
            break
        left = blocks[cone.blocks[a]].speeds
        multiply_stiffness(cone, cone.at[a], left, problem)
        multiply_blocks(cone.at[a], left, left, problem)
        add_block(s, s.diagonal[cone.blocks[a]], left, left, problem.scratch, 6 * left)
        for b in range(a):  # block (b, a): Jᵀ of b, K J of a
            other = blocks[cone.blocks[b]].speeds
            multiply_blocks(cone.at[b], other, left, problem)
            add_block(s, s.slots[2 * edge_between(edge, b, a, cone.blocks)], other, left, problem.scratch, 6 * left)
        for b in range(a + 1, BLOCKS):
            if cone.blocks[b] < 0:
                break
            other = blocks[cone.blocks[b]].speeds
            multiply_blocks(cone.at[b], other, left, problem)
            slot = s.slots[2 * edge_between(edge, a, b, cone.blocks) + 1]
            add_block(s, slot, other, left, problem.scratch, 6 * left)


@njit
def edge_between(first, a, b, blocks):
    """The edge of blocks a < b of a contact or row, in the order of `list_edges`."""
    count = 0
    for k in range(BLOCKS):
        count += 1 if blocks[k] >= 0 else 0
    number = first
    for k in range(a):
        number += count - 1 - k
    return number + b - a - 1


@njit
def multiply_stiffness(cone, at, size, problem):
    """scratch[0:3 size] = K J of one block, row by row."""
    k, jacobian, out = cone.stiffness, problem.jacobian, problem.scratch
    for c in range(size):
        n, t, s = load(jacobian, at + c), load(jacobian, at + size + c), load(jacobian, at + 2 * size + c)
        store(out, c, k[0] * n + k[1] * t + k[2] * s)
        store(out, size + c, k[3] * n + k[4] * t + k[5] * s)
        store(out, 2 * size + c, k[6] * n + k[7] * t + k[8] * s)


@njit
def multiply_blocks(at, rows, columns, problem):
    """scratch[6 columns:] = Jᵀ (K J), rows × columns, with J of one block and K J of another in scratch."""
    jacobian, x = problem.jacobian, problem.scratch
    out = 6 * columns
    for r in range(rows):
        n, t, s = load(jacobian, at + r), load(jacobian, at + rows + r), load(jacobian, at + 2 * rows + r)
        for c in range(columns):
            store(x, out + r * columns + c, n * load(x, c) + t * load(x, columns + c) + s * load(x, 2 * columns + c))


@njit
def add_row(row, problem):
    """Add k gᵀ g of a scalar row to the matrix."""
    blocks, edge, s = problem.blocks, row.edge, problem.matrix
    for a in range(BLOCKS):
        if row.blocks[a] < 0:
            break
        left = blocks[row.blocks[a]].speeds
        multiply_rows(row, a, a, problem)
        add_block(s, s.diagonal[row.blocks[a]], left, left, problem.scratch, 0)
        for b in range(a + 1, BLOCKS):
            if row.blocks[b] < 0:
                break
            other, between = blocks[row.blocks[b]].speeds, edge_between(edge, a, b, row.blocks)
            multiply_rows(row, a, b, problem)
            add_block(s, s.slots[2 * between], left, other, problem.scratch, 0)
            multiply_rows(row, b, a, problem)
            add_block(s, s.slots[2 * between + 1], other, left, problem.scratch, 0)


@njit
def multiply_rows(row, a, b, problem):
    """scratch = k gᵀ g of two blocks of a row."""
    jacobian, rows, columns = (
        problem.jacobian,
        problem.blocks[row.blocks[a]].speeds,
        problem.blocks[row.blocks[b]].speeds,
    )
    for r in range(rows):
        value = row.stiffness * load(jacobian, row.at[a] + r)
        for c in range(columns):
            store(problem.scratch, r * columns + c, value * load(jacobian, row.at[b] + c))


# Its solution ----------------------------------------------------------------------------------------------------------

SMALLEST_PIVOT = 1e-14  # relative to the diagonal


@njit
def factorize(problem):
    """Assemble and factorize the matrix. Returns whether there are factors."""
    assemble(problem)
    return factor(problem.matrix, problem.step[0].symmetric != 0) > SMALLEST_PIVOT


@njit
def direction(problem, refinements):
    """δw of Newton's step for the f of contacts and rows, into DIRECTION, and `du`, the change of u of each contact, and of
    rows in `rate_step`, the change of g w. It is refined with the products row by row, not with their sum."""
    step = problem.step[0]
    vectors, n = problem.vectors, step.speeds
    for k in range(n):
        store(vectors, RIGHT * n + k, -load(vectors, GRADIENT * n + k))
        store(vectors, DIRECTION * n + k, 0.0)
    push_steps(problem, RIGHT * n, False)
    for done in range(1 + refinements):
        solve(problem.matrix, vectors, RIGHT * n)
        for k in range(n):
            store(vectors, DIRECTION * n + k, load(vectors, DIRECTION * n + k) + load(vectors, RIGHT * n + k))
        rates_of_step(problem)
        if done < refinements:
            for k in range(n):
                store(vectors, RIGHT * n + k, -load(vectors, GRADIENT * n + k))
            add_momentum(problem, -1.0, vectors, DIRECTION * n, vectors, RIGHT * n)
            push_steps(problem, RIGHT * n, True)


@njit
def rates_of_step(problem):
    """δu of each contact and g δw of each row."""
    vectors, n = problem.vectors, problem.step[0].speeds
    for i in range(problem.step[0].contacts):
        d = contact_rate(problem.cones[i], problem, vectors, DIRECTION * n)
        for k in range(3):
            problem.cones[i].du[k] = d[k]
    for i in range(problem.step[0].rows):
        problem.rows[i].rate_step = row_rate(problem.rows[i], problem, vectors, DIRECTION * n)


@njit
def push_steps(problem, base, with_step):
    """vectors[base:] += Jᵀ δp + gᵀ δλ; f − K δu `with_step`, else f."""
    vectors = problem.vectors
    for i in range(problem.step[0].contacts):
        cone = problem.cones[i]
        if cone.compliance > 0.0:
            p = load3(cone.f)
            if with_step:
                p = sub(p, multiply_3x3(cone.stiffness, load3(cone.du)))
            push_contact(cone, p, problem, vectors, base)
    for i in range(problem.step[0].rows):
        row = problem.rows[i]
        push_row(row, row.f - row.stiffness * row.rate_step if with_step else row.f, problem, vectors, base)


@njit
def multiply_3x3(m, x):
    """m x, with m row by row."""
    return (
        m[0] * x[0] + m[1] * x[1] + m[2] * x[2], m[3] * x[0] + m[4] * x[1] + m[5] * x[2],
        m[6] * x[0] + m[7] * x[1] + m[8] * x[2],
    )  # fmt: skip


# Residuals -------------------------------------------------------------------------------------------------------------
#
# How far a set of impulses and speeds is from the law. For each contact c = (J M⁻¹ Jᵀ)_nn turns impulses into velocities, and
# all are velocities, m/s (of rows of rotations, rad/s):
#
#     cone             c |p − proj_K(p)|
#     dual             |û − proj_K*(û)|
#     complementarity  c |p·û| / max(c |p|, V)
#     natural map      c |p − proj_K(p − û / c)|
#
# The natural map is the error that V. Acary, M. Brémond, O. Huber, "On solving contact problems with Coulomb friction:
# formulations and numerical comparisons", 2018, measure their solvers with (there with c = 1, a 2-norm, and relative to the
# norm of the free relative velocity); the worst contact counts here. `joints` is |e| of rows, as far as it is not compliance,
# and of bounds what is left of their law; `balance` is the largest |r| over the diagonal of M.


@njit
def evaluate(problem):
    """u and û of each contact, e of each row, and r at the iterate with the impulses p and `force`. Returns the residual: the
    worst of natural map, rows and balance (m/s), and writes `worst`, the contact of the former."""
    find_rates(problem)
    return judge(problem)


@njit
def find_rates(problem):
    """u of each contact, with its bias, and g w − target of each row."""
    step, vectors = problem.step[0], problem.vectors
    for i in range(step.contacts):
        cone = problem.cones[i]
        u = add(contact_rate(cone, problem, vectors, POINT * step.speeds), load3(cone.offset))
        store3(cone.u, add(u, (cone.bias, 0.0, 0.0)))
    for i in range(step.rows):
        row = problem.rows[i]
        row.rate = row_rate(row, problem, vectors, POINT * step.speeds) - row.target


@njit
def judge(problem):
    """The same as `evaluate` for the rates of contacts and rows that are known."""
    step = problem.step[0]
    vectors, n = problem.vectors, step.speeds
    gradient, point = GRADIENT * n, POINT * n
    for k in range(n):
        store(vectors, gradient + k, 0.0)
        store(vectors, LEFT * n + k, load(vectors, point + k) - load(problem.free, k))
    add_momentum(problem, 1.0, vectors, LEFT * n, vectors, gradient)
    worst, total = 0.0, 0.0
    step.worst = -1
    for i in range(step.contacts):
        cone = problem.cones[i]
        if cone.compliance > 0.0:
            error = evaluate_contact(cone, problem)
            if error > worst:
                worst, step.worst = error, i
            total += error
    for i in range(step.rows):
        error = evaluate_row(problem.rows[i], problem)
        worst = max(worst, error)
        total += error
    error = balance(problem)
    worst = max(worst, error)
    return worst if total + error < HUGE else HUGE


HUGE = 1e300  # residual of an iterate that is not finite


@njit
def evaluate_contact(cone, problem):
    """The same of one contact; returns its natural map."""
    vectors, n, p = problem.vectors, problem.step[0].speeds, load3(cone.p)
    u = load3(cone.u)
    u_hat = (u[0] + cone.friction * tangent_norm(u), u[1], u[2])
    store3(cone.u_hat, u_hat)
    push_contact(cone, scale(-1.0, p), problem, vectors, GRADIENT * n)
    return natural_map(p, u_hat, cone.friction, cone.compliance)


@njit
def evaluate_row(row, problem):
    """The same of one row; returns |λ − clamp(λ − e/(K + C))| K."""
    vectors, n = problem.vectors, problem.step[0].speeds
    row.error = row.rate + row.compliance * row.force
    push_row(row, -row.force, problem, vectors, GRADIENT * n)
    if not row.response > 0.0:
        return 0.0
    wanted = row.force - row.error / (row.response + row.compliance)
    return row.response * abs(min(row.most, max(row.least, wanted)) - row.force)


@njit
def balance(problem):
    """The largest |r| over the diagonal of M."""
    vectors, masses, gradient, worst = problem.vectors, problem.masses, GRADIENT * problem.step[0].speeds, 0.0
    for i in range(problem.step[0].blocks):
        block = problem.blocks[i]
        for k in range(block.speeds):
            worst = max(
                worst,
                abs(load(vectors, gradient + block.first + k)) / load(masses, block.mass + k * (block.speeds + 1)),
            )
    return worst


@njit
def measure(problem):
    """The parts of the residual of the result, in `step`."""
    step = problem.step[0]
    n = step.speeds
    for k in range(n):
        store(problem.vectors, POINT * n + k, load(problem.speeds, k))
    for i in range(step.contacts):
        for k in range(3):
            problem.cones[i].p[k] = problem.cones[i].impulse[k]
    for i in range(step.rows):
        problem.rows[i].force = problem.rows[i].impulse
    evaluate(problem)
    cone, dual, complementarity, natural, joints = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(step.contacts):
        own = problem.cones[i]
        c = own.compliance
        if c > 0.0:
            p, u = load3(own.impulse), load3(own.u_hat)
            cone = max(cone, c * norm(sub(p, project_coulomb(p, own.friction))))
            dual = max(dual, norm(sub(u, project_dual(u, own.friction))))
            complementarity = max(complementarity, c * abs(dot(p, u)) / max(c * norm(p), step.speed))
            natural = max(natural, natural_map(p, u, own.friction, c))
    for i in range(step.rows):
        row = problem.rows[i]
        wanted = row.force - row.error / (row.response + row.compliance) if row.response > 0.0 else row.force
        joints = max(joints, row.response * abs(min(row.most, max(row.least, wanted)) - row.force))
    step.cone, step.dual, step.complementarity, step.natural_map = cone, dual, complementarity, natural
    step.joints, step.balance = joints, balance(problem)


@njit
def typical_speed(problem):
    """The largest |J w_free| of a contact, or speed at which one would overlap; |g w_free| of a rigid row, or speed that its
    impulse has to change; 1 where all are zero."""
    step, speed = problem.step[0], 0.0
    for i in range(step.contacts):
        cone = problem.cones[i]
        u = add(contact_rate(cone, problem, problem.free, 0), load3(cone.offset))
        speed = max(speed, norm(u), -(u[0] + cone.bias))
    for i in range(step.rows):
        row = problem.rows[i]
        if row.compliance == 0.0 and row.response > 0.0:
            rate = row_rate(row, problem, problem.free, 0)
            wanted = min(row.most, max(row.least, (row.target - rate) / row.response))
            speed = max(speed, abs(rate), row.response * abs(wanted))
    return speed if speed > 0.0 else 1.0


@njit
def add_scaled_direction(problem, length):
    """Move the iterate along its step."""
    vectors, n = problem.vectors, problem.step[0].speeds
    for k in range(n):
        store(vectors, POINT * n + k, load(vectors, POINT * n + k) + length * load(vectors, DIRECTION * n + k))
