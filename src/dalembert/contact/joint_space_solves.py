"""Solutions with the factor of the mass matrix of a tree, M = Lᵀ D L, over the packed speeds of an assembly: b ← M⁻¹ b.

A row of L has entries on the path from its freedom to the root of the tree only. `pack_factor` puts them side by side."""

from ..core.jit import njit
from ..core.simd import load, store


@njit
def pack_factor(values, inverse, tree, js):
    """Copy L and 1/D from the factor in `tree.matrix`, in the order of the packed speeds."""
    freedoms, matrix, freedom_at, at = tree.freedoms, tree.matrix, js.freedom_at, 0
    m = freedoms.shape[0]
    for p in range(m):
        k = freedom_at[p]
        row, i = k * m, freedoms[k].before
        store(inverse, p, 1.0 / load(matrix, row + k))
        while i >= 0:
            store(values, at, load(matrix, row + i))
            at += 1
            i = freedoms[i].before


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
