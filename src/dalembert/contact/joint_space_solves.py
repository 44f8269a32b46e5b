"""Solutions with the factor of the mass matrix of a tree, M = Lᵀ D L, over the packed speeds of an assembly: b ← M⁻¹ b.

A row of L has entries on the path from its freedom to the root of the tree only; here they lie side by side, and nothing is
stored for the others. With the answer of loops at the end."""

from ..core.jit import inlined, njit
from ..core.simd import clear, load, store
from ..dynamics.joint_space.loops import call_solve_loops


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


@inlined
def is_looped(packed, reduced, js):
    """Whether the assembly of a packed speed has loops."""
    return js.assemblies[js.assembly_of[js.tree.freedoms[js.freedom_at[packed]].node]].looped != 0


@njit
def answer_loops(b, at, step, first, end, reduced, js):
    """The same with the answer of the loops, for numbers of b that are `step` apart. Returns b M⁻¹ b without it."""
    change, after, freedom_at = reduced.change, js.after, js.freedom_at
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
