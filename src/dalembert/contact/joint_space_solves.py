"""Solutions with the factor of the mass matrix of a tree, M = Lᵀ D L, over the packed speeds of an assembly: b ← M⁻¹ b.

A row of L has entries on the path from its freedom to the root of the tree only; here they lie side by side, and nothing is
stored for the others. The answer of loops follows.

In order: one tree, few loops, and any loops.
"""

from ..core.jit import inlined, njit
from ..core.math3 import add, cross, dot, load3
from ..core.simd import clear, load, store
from ..dynamics.joint_space.loops import call_solve_loops
from .island_problem import incidence_row


@njit
def pack_matrix(values, diagonal, tree, js):
    """Copy M, which is in `tree.matrix`, in the order of the packed speeds."""
    freedoms, matrix, freedom_at, at = tree.freedoms, tree.matrix, js.freedom_at, 0
    m = freedoms.shape[0]
    for p in range(m):
        k = freedom_at[p]
        row, i = k * m, freedoms[k].before
        store(diagonal, p, load(matrix, row + k))
        while i >= 0:
            store(values, at, load(matrix, row + i))
            at += 1
            i = freedoms[i].before


@njit
def factorize_packed(values, diagonal, js):
    """L and 1/D of M, in place. Returns a freedom with a pivot not positive, or −1.

    The row of what is on a path is the rest of that path, so that both lie side by side."""
    starts, columns = js.factor_starts, js.factor_columns
    for p in range(diagonal.shape[0] - 1, -1, -1):
        pivot, end = load(diagonal, p), starts[p + 1]
        if not pivot > 0.0:
            return js.freedom_at[p]
        inverse = 1.0 / pivot
        for e in range(starts[p], end):
            i, value = columns[e], load(values, e)
            share, to = inverse * value, starts[i] - (e + 1)
            store(diagonal, i, load(diagonal, i) - share * value)
            for t in range(e + 1, end):
                store(values, to + t, load(values, to + t) - share * load(values, t))
            store(values, e, share)
        store(diagonal, p, inverse)
    return -1


@njit
def solve_three(b, at, first, end, js):
    """b ← M⁻¹ b for three right-hand sides, side by side from `at`, of packed speeds first … end."""
    starts, columns, values, inverses = js.factor_starts, js.factor_columns, js.factor_values, js.factor_inverse
    at -= 3 * first
    for p in range(end - 1, first - 1, -1):
        own = at + 3 * p
        x, y, z = load(b, own), load(b, own + 1), load(b, own + 2)
        if x == 0.0 and y == 0.0 and z == 0.0:
            continue
        for e in range(starts[p], starts[p + 1]):
            to, share = at + 3 * columns[e], load(values, e)
            store(b, to, load(b, to) - share * x)
            store(b, to + 1, load(b, to + 1) - share * y)
            store(b, to + 2, load(b, to + 2) - share * z)
    for p in range(first, end):
        own, inverse = at + 3 * p, load(inverses, p)
        x, y, z = load(b, own) * inverse, load(b, own + 1) * inverse, load(b, own + 2) * inverse
        for e in range(starts[p], starts[p + 1]):
            to, share = at + 3 * columns[e], load(values, e)
            x -= share * load(b, to)
            y -= share * load(b, to + 1)
            z -= share * load(b, to + 2)
        store(b, own, x)
        store(b, own + 1, y)
        store(b, own + 2, z)


@njit
def solve_one(b, at, first, end, values, inverses, js):
    """The same for one, with the entries of a factor. Returns b M⁻¹ b."""
    starts, columns = js.factor_starts, js.factor_columns
    total, at = 0.0, at - first
    for p in range(end - 1, first - 1, -1):
        x = load(b, at + p)
        if x == 0.0:
            continue
        total += x * x * load(inverses, p)
        for e in range(starts[p], starts[p + 1]):
            to = at + columns[e]
            store(b, to, load(b, to) - load(values, e) * x)
    for p in range(first, end):
        x = load(b, at + p) * load(inverses, p)
        for e in range(starts[p], starts[p + 1]):
            x -= load(values, e) * load(b, at + columns[e])
        store(b, at + p, x)
    return total


# Few loops --------------------------------------------------------------------------------------------------------------
#
# With G the rows of the loops on all packed speeds, X = M⁻¹ Gᵀ and S = G X = L D Lᵀ, an impulse b along the speeds changes
# them by y − X S⁻¹ G y, y = M⁻¹ b. That is O(r m + r²) for r rows and m speeds, less than a pass over all links where r is
# small, as it is for grippers and joints that follow others. `loops.solve_loops` is O(links + rows) for any number.

FEW = 16  # rows
DEPENDENT = 1e-10  # share of S_kk that the rows before leave: with less, `loops` decides


@njit
def factor_few_loops(reduced, js):
    """Write G, X and the factor of S, where the tree and the rows of the loops are. Returns whether it could; if not, `few`
    is 0."""
    few, m = reduced.wanted.shape[0], js.freedom_at.shape[0]
    rows, answers, matrix = js.loop_rows, js.loop_answers, js.loop_matrix
    js.few[0] = 0
    if matrix.shape[0] != few * few:
        return False
    fill_loop_rows(reduced, js)
    for k in range(few * m):
        store(answers, k, load(rows, k))
    for r in range(few):
        solve_one(answers, m * r, 0, m, js.factor_values, js.factor_inverse, js)
        for s in range(r + 1):
            value = 0.0
            for k in range(m):
                value += load(rows, m * s + k) * load(answers, m * r + k)
            store(matrix, few * r + s, value)
    for r in range(few):
        alone = load(matrix, few * r + r)
        for s in range(r):
            value = load(matrix, few * r + s)
            for q in range(s):
                value -= load(matrix, few * r + q) * load(matrix, few * s + q)
            store(matrix, few * r + s, value)  # L_rs D_s, until the next loop
        pivot = alone
        for s in range(r):
            value = load(matrix, few * r + s)
            store(matrix, few * r + s, value * load(matrix, few * s + s))
            pivot -= value * load(matrix, few * r + s)
        if reduced.independent[r] != 0 and alone > 0.0 and not pivot > DEPENDENT * alone:
            return False
        store(matrix, few * r + r, 1.0 / pivot if reduced.independent[r] != 0 and alone > 0.0 else 0.0)
    js.few[0] = 1
    return True


@njit
def fill_loop_rows(reduced, js):
    """G, row by row; rows that depend on others are zero."""
    system, tree, m = reduced.system, js.tree, js.freedom_at.shape[0]
    clear(js.loop_rows)
    for j in range(system.joints.shape[0]):
        joint = system.joints[j]
        for i in range(joint.first, joint.last if joint.active != 0 else joint.first):
            incidence = system.incidences[i]
            node = js.node_of_row[incidence.body]
            if node < 0:
                continue
            for r in range(3 if incidence.is_point != 0 else incidence.rows):
                if reduced.independent[incidence.row + r] != 0:
                    f, g = incidence_row(incidence, r, system.jacobian)
                    add_loop_row(js.loop_rows, m * (incidence.row + r), node, f, g, tree, js)


@njit
def add_loop_row(rows, at, node, f, g, tree, js):
    """rows[at …] += (f, g) J, a row on the velocities of a link, for each packed speed on its path."""
    nodes, motion, columns, path = tree.nodes, tree.motion, tree.columns, js.paths[2 * node]
    while node >= 0:
        for k in range(nodes[node].first, nodes[node].last):
            to = at + js.rows.indices[path]
            store(rows, to, load(rows, to) + dot(load3(columns[k].linear), f) + dot(load3(columns[k].angular), g))
            path += 1
        g = add(g, cross(load3(motion[node].r), f))
        node = nodes[node].parent


@njit
def solve_few(t, js):
    """t ← S⁻¹ t; zero for rows that depend on others."""
    matrix, few = js.loop_matrix, t.shape[0]
    for r in range(few):
        value = load(t, r)
        for s in range(r):
            value -= load(matrix, few * r + s) * load(t, s)
        store(t, r, value)
    for r in range(few - 1, -1, -1):
        value = load(t, r) * load(matrix, few * r + r)
        for s in range(r + 1, few):
            value -= load(matrix, few * s + r) * load(t, s)
        store(t, r, value)


@njit
def subtract_loops(b, at, step, first, end, js):
    """b ← b − X S⁻¹ G b, for numbers of packed speeds first … end that are `step` apart, from `at`."""
    rows, answers, t, m = js.loop_rows, js.loop_answers, js.loop_scratch, js.freedom_at.shape[0]
    for r in range(t.shape[0]):
        value = 0.0
        for p in range(first, end):
            value += load(rows, m * r + p) * load(b, at + step * (p - first))
        store(t, r, value)
    solve_few(t, js)
    for r in range(t.shape[0]):
        share = load(t, r)
        for p in range(first, end if share != 0.0 else first):
            k = at + step * (p - first)
            store(b, k, load(b, k) - share * load(answers, m * r + p))


@njit
def answer_few(x, wanted, multipliers, js):
    """x ← M⁻¹ x + X λ with G x = wanted, over all packed speeds; λ into `multipliers`."""
    rows, answers, m = js.loop_rows, js.loop_answers, js.freedom_at.shape[0]
    solve_one(x, 0, 0, m, js.factor_values, js.factor_inverse, js)
    for r in range(multipliers.shape[0]):
        value = load(wanted, r)
        for p in range(m):
            value -= load(rows, m * r + p) * load(x, p)
        store(multipliers, r, value)
    solve_few(multipliers, js)
    for r in range(multipliers.shape[0]):
        for p in range(m):
            store(x, p, load(x, p) + load(multipliers, r) * load(answers, m * r + p))


# Any loops --------------------------------------------------------------------------------------------------------------


@inlined
def is_looped(packed, reduced, js):
    """Whether the assembly of a packed speed has loops."""
    return js.assemblies[js.assembly_of[js.tree.freedoms[js.freedom_at[packed]].node]].looped != 0


@njit
def answer_loops(b, at, step, first, end, reduced, js):
    """The same with the answer of the loops, for numbers of b that are `step` apart (1, where loops are few). Returns
    b M⁻¹ b without it."""
    change, after, freedom_at = reduced.change, js.after, js.freedom_at
    if js.few[0] != 0:
        total = solve_one(b, at, first, end, js.factor_values, js.factor_inverse, js)
        subtract_loops(b, at, 1, first, end, js)
        return total
    clear(change)
    for p in range(first, end):
        value = load(b, at + step * (p - first))
        store(change, freedom_at[p], value)
        store(after, p - first, value)
    total = solve_one(after, 0, first, end, js.factor_values, js.factor_inverse, js)
    clear(reduced.wanted)
    call_solve_loops(reduced)
    for p in range(first, end):
        store(b, at + step * (p - first), load(change, freedom_at[p]))
    return total


@njit
def answer_three(b, at, first, end, reduced, js):
    """M⁻¹ b with the answer of the loops, if there are some, for three right-hand sides whose numbers alternate."""
    looped = is_looped(first, reduced, js)
    if looped and js.few[0] == 0:
        for c in range(3):
            answer_loops(b, at + c, 3, first, end, reduced, js)
        return
    solve_three(b, at, first, end, js)
    for c in range(3 if looped else 0):
        subtract_loops(b, at + c, 3, first, end, js)
