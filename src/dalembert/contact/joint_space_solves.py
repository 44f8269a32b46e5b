"""Solutions with the factor of the mass matrix of a tree, M = Lᵀ D L, over the packed speeds of an assembly: b ← M⁻¹ b."""

from ..core.jit import njit
from ..core.simd import load, store


@njit
def solve_three(b, at, first, end, tree, js):
    """b ← M⁻¹ b for three right-hand sides, side by side, of packed speeds first … end; with the factors of `factorize`."""
    freedoms, matrix, freedom_at, packed_at = tree.freedoms, tree.matrix, js.freedom_at, js.packed_at
    m, at = freedoms.shape[0], at - 3 * first
    for p in range(end - 1, first - 1, -1):
        k, own = freedom_at[p], at + 3 * p
        x, y, z = load(b, own), load(b, own + 1), load(b, own + 2)
        if x == 0.0 and y == 0.0 and z == 0.0:
            continue
        row, i = k * m, freedoms[k].before
        while i >= 0:
            to, share = at + 3 * packed_at[i], load(matrix, row + i)
            store(b, to, load(b, to) - share * x)
            store(b, to + 1, load(b, to + 1) - share * y)
            store(b, to + 2, load(b, to + 2) - share * z)
            i = freedoms[i].before
    for p in range(first, end):
        k, own = freedom_at[p], at + 3 * p
        row, i = k * m, freedoms[k].before
        inverse = 1.0 / load(matrix, row + k)
        x, y, z = load(b, own) * inverse, load(b, own + 1) * inverse, load(b, own + 2) * inverse
        while i >= 0:
            to, share = at + 3 * packed_at[i], load(matrix, row + i)
            x -= share * load(b, to)
            y -= share * load(b, to + 1)
            z -= share * load(b, to + 2)
            i = freedoms[i].before
        store(b, own, x)
        store(b, own + 1, y)
        store(b, own + 2, z)


@njit
def solve_one(b, at, first, end, tree, js):
    """The same for one. Returns b M⁻¹ b."""
    freedoms, matrix, freedom_at, packed_at = tree.freedoms, tree.matrix, js.freedom_at, js.packed_at
    m, at, total = freedoms.shape[0], at - first, 0.0
    for p in range(end - 1, first - 1, -1):
        k = freedom_at[p]
        x, i = load(b, at + p), freedoms[k].before
        if x == 0.0:
            continue
        total += x * x / load(matrix, k * m + k)
        while i >= 0:
            to = at + packed_at[i]
            store(b, to, load(b, to) - load(matrix, k * m + i) * x)
            i = freedoms[i].before
    for p in range(first, end):
        k = freedom_at[p]
        x, i = load(b, at + p) / load(matrix, k * m + k), freedoms[k].before
        while i >= 0:
            x -= load(matrix, k * m + i) * load(b, at + packed_at[i])
            i = freedoms[i].before
        store(b, at + p, x)
    return total
