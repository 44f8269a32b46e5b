"""The sweeps of `ssor` over Û and over vectors in the order of `sweep_order`: four rows at a time."""

from ..arrays import clear
from ..jit import inlined, njit
from ..lanes import gather4, minus4, peek4, plus4, poke4, spread, subtract_listed4, times4, total4


@inlined
def peek12(a, o):
    return peek4(a, o), peek4(a, o + 4), peek4(a, o + 8)


@inlined
def poke12(a, o, v):
    poke4(a, o, v[0])
    poke4(a, o + 4, v[1])
    poke4(a, o + 8, v[2])


@inlined
def dot12(m, v):
    """Of four nodes each the inner product of two triples."""
    return plus4(plus4(times4(m[0], v[0]), times4(m[1], v[1])), times4(m[2], v[2]))


@inlined
def times36(a, o, v):
    """Four blocks from a[o] on times four triples."""
    return dot12(peek12(a, o), v), dot12(peek12(a, o + 12), v), dot12(peek12(a, o + 24), v)


@inlined
def transposed_times36(a, o, v):
    x, y, z = peek12(a, o), peek12(a, o + 12), peek12(a, o + 24)
    return dot12((x[0], y[0], z[0]), v), dot12((x[1], y[1], z[1]), v), dot12((x[2], y[2], z[2]), v)


@inlined
def minus12(a, b):
    return minus4(a[0], b[0]), minus4(a[1], b[1]), minus4(a[2], b[2])


@inlined
def plus12(a, b):
    return plus4(a[0], b[0]), plus4(a[1], b[1]), plus4(a[2], b[2])


@inlined
def gather12(a, indices, at, shift):
    return gather4(a, indices, at, shift), gather4(a, indices, at, shift + 4), gather4(a, indices, at, shift + 8)


@inlined
def subtract_listed12(a, indices, at, v):
    subtract_listed4(a, indices, at, 0, v[0])
    subtract_listed4(a, indices, at, 4, v[1])
    subtract_listed4(a, indices, at, 8, v[2])


@inlined
def times12(s, a):
    return times4(s, a[0]), times4(s, a[1]), times4(s, a[2])


@inlined
def gather_3(c, indices, at):
    """Triples of c, one after another, in lanes."""
    return gather4(c, indices, at, 0), gather4(c, indices, at, 1), gather4(c, indices, at, 2)


@inlined
def subtract_listed_3(c, indices, at, v):
    subtract_listed4(c, indices, at, 0, v[0])
    subtract_listed4(c, indices, at, 1, v[1])
    subtract_listed4(c, indices, at, 2, v[2])


@njit
def relax_residual(space, swept, w):
    """w ← (1 + Ûᵀ)⁻¹ w. Returns w · w."""
    starts, columns, upper = space.starts, space.columns, swept.upper
    square = spread(0.0)
    for i in range(starts.shape[0] - 1):
        w_i = peek12(w, 12 * i)
        square = plus4(square, dot12(w_i, w_i))
        for k in range(starts[i], starts[i + 1]):
            subtract_listed12(w, columns, 4 * k, transposed_times36(upper, 36 * k, w_i))
    return total4(square)


@njit
def sweep_upward(space, swept, alpha, y, w, c):
    """y ← y + α t, w ← w − α g; then z = (1 + Û)⁻¹ w, c ← Ĥᵀ (z − w), g = 0. Returns w · w."""
    starts, columns, upper, h_starts, h_columns = (
        space.starts,
        space.columns,
        swept.upper,
        space.h_starts,
        space.h_columns,
    )
    z, t, g, h = swept.z, swept.t, swept.g, swept.h
    patched = c.shape[0] > 0
    step, square, zero = spread(alpha), spread(0.0), spread(0.0)
    clear(c)
    for i in range(starts.shape[0] - 2, -1, -1):
        o = 12 * i
        poke12(y, o, plus12(peek12(y, o), times12(step, peek12(t, o))))
        w_i = minus12(peek12(w, o), times12(step, peek12(g, o)))
        poke12(w, o, w_i)
        poke12(g, o, (zero, zero, zero))
        square = plus4(square, dot12(w_i, w_i))
        z_i = w_i
        for k in range(starts[i], starts[i + 1]):
            z_i = minus12(z_i, times36(upper, 36 * k, gather12(z, columns, 4 * k, 0)))
        poke12(z, o, z_i)
        if patched:
            e_i = minus12(w_i, z_i)
            for k in range(h_starts[i], h_starts[i + 1]):
                subtract_listed_3(c, h_columns, 4 * k, transposed_times36(h, 36 * k, e_i))
    return total4(square)


@njit
def sweep_downward(space, swept, own, beta, w, c):
    """t ← z − Ŵ c + β t and e ← w − z − Ĥ c + β e, with z and w counted `own` times; then from g = 0 g = t + q. Returns
    p · (t + q), which is t · Â t."""
    starts, columns, upper, h_starts, h_columns = (
        space.starts,
        space.columns,
        swept.upper,
        space.h_starts,
        space.h_columns,
    )
    z, t, e, g, h = swept.z, swept.t, swept.e, swept.g, swept.h
    patched = c.shape[0] > 0
    share, step, product = spread(own), spread(beta), spread(0.0)
    for i in range(starts.shape[0] - 1):
        o = 12 * i
        t_i = times12(share, peek12(z, o))
        e_i = minus12(times12(share, peek12(w, o)), t_i)
        if patched:
            t_i = minus12(t_i, times36(swept.back, 36 * i, gather_3(c, space.patches, 4 * i)))
            for k in range(h_starts[i], h_starts[i + 1]):
                e_i = minus12(e_i, times36(h, 36 * k, gather_3(c, h_columns, 4 * k)))
        t_i = plus12(t_i, times12(step, peek12(t, o)))
        e_i = plus12(e_i, times12(step, peek12(e, o)))
        poke12(t, o, t_i)
        poke12(e, o, e_i)
        q_i = plus12(e_i, peek12(g, o))
        g_i = plus12(t_i, q_i)
        poke12(g, o, g_i)
        product = plus4(product, dot12(plus12(t_i, e_i), g_i))
        for k in range(starts[i], starts[i + 1]):
            subtract_listed12(g, columns, 4 * k, transposed_times36(upper, 36 * k, q_i))
    return total4(product)
