"""Sparse LU factorization by supernodes: A = L U of a matrix over the nodes of a graph.

The pattern is symmetric, the values need not be. `supernodal_analysis.analyse` makes the plan; then, for each matrix,

    clear(s);  add_block(s, slot, …) for its blocks;  smallest = factor(s);  solve(s, x)

Multifrontal (see `supernodal_analysis` for the front of a supernode): the pivots of a front are eliminated in blocks of six
rows, then C −= L₂₁ U₁₂ goes to the parent's front. L has a unit diagonal; the panel `lower` holds it transposed, so that both
panels are read and written by rows and one product serves both:

    U_jc = A_jc − Σ_k<j L_jk U_kc,     L_ij = (A_ij − Σ_k<j U_kj L_ik) / U_jj

There are no row exchanges: none is needed where xᵀAx > 0 for all x. `factor` returns the smallest pivot, relative to the
diagonal of the matrix. Rows of a panel are padded to a multiple of four with zeros. Products keep the sums of six rows and
eight columns in registers.
"""

from typing import Any, NamedTuple

from ..core.jit import inlined, njit
from ..core.simd import four, load, load4, minus4, part4, plus4, spread, store, store4, times4, total4, where4

BLOCK = 6  # rows that are eliminated at once


class Panel(NamedTuple):
    """Rows in a flat array, `stride` apart."""

    values: Any
    at: Any
    stride: Any


# Assembly ---------------------------------------------------------------------------------------------------------------


@njit
def clear(s):
    """A = 0."""
    for k in range(s.plan[0].values_needed):
        store(s.values, k, 0.0)


@njit
def add_block(s, slot, rows, columns, block, at):
    """Add a dense block, row by row from block[at] on, at a slot of the plan. A slot outside the graph takes nothing."""
    if slot.at < 0:
        return
    v = s.values
    if slot.column == 1:
        for r in range(rows):
            to, source, c = slot.at + r * slot.row, at + r * columns, 0
            while c + 4 <= columns:
                store4(v, to + c, plus4(load4(v, to + c), load4(block, source + c)))
                c += 4
            while c < columns:
                store(v, to + c, load(v, to + c) + load(block, source + c))
                c += 1
        return
    for c in range(columns):
        to, source, r = slot.at + c * slot.column, at + c, 0
        while r + 4 <= rows:
            values = four(
                load(block, source), load(block, source + columns), load(block, source + 2 * columns),
                load(block, source + 3 * columns),
            )  # fmt: skip
            store4(v, to + r, plus4(load4(v, to + r), values))
            source += 4 * columns
            r += 4
        while r < rows:
            store(v, to + r, load(v, to + r) + load(block, source))
            source += columns
            r += 1


# Products of panels -----------------------------------------------------------------------------------------------------


@inlined
def start4(target, at, fresh):
    """Four numbers of the target; zero where it is fresh."""
    return spread(0.0) if fresh else load4(target, at)


@njit
def subtract_6x8(target, left, right, depth, fresh):
    """target[0:6, 0:8] −= left[0:depth, 0:6]ᵀ right[0:depth, 0:8]."""
    t, a, b = target.values, left.values, right.values
    o, step = target.at, target.stride
    r0, r1, r2, r3, r4, r5 = o, o + step, o + 2 * step, o + 3 * step, o + 4 * step, o + 5 * step
    c00, c01 = start4(t, r0, fresh), start4(t, r0 + 4, fresh)
    c10, c11 = start4(t, r1, fresh), start4(t, r1 + 4, fresh)
    c20, c21 = start4(t, r2, fresh), start4(t, r2 + 4, fresh)
    c30, c31 = start4(t, r3, fresh), start4(t, r3 + 4, fresh)
    c40, c41 = start4(t, r4, fresh), start4(t, r4 + 4, fresh)
    c50, c51 = start4(t, r5, fresh), start4(t, r5 + 4, fresh)
    i, j = left.at, right.at
    for _ in range(depth):
        x, y = load4(b, j), load4(b, j + 4)
        m = spread(load(a, i))
        c00, c01 = minus4(c00, times4(m, x)), minus4(c01, times4(m, y))
        m = spread(load(a, i + 1))
        c10, c11 = minus4(c10, times4(m, x)), minus4(c11, times4(m, y))
        m = spread(load(a, i + 2))
        c20, c21 = minus4(c20, times4(m, x)), minus4(c21, times4(m, y))
        m = spread(load(a, i + 3))
        c30, c31 = minus4(c30, times4(m, x)), minus4(c31, times4(m, y))
        m = spread(load(a, i + 4))
        c40, c41 = minus4(c40, times4(m, x)), minus4(c41, times4(m, y))
        m = spread(load(a, i + 5))
        c50, c51 = minus4(c50, times4(m, x)), minus4(c51, times4(m, y))
        i += left.stride
        j += right.stride
    store4(t, r0, c00)
    store4(t, r0 + 4, c01)
    store4(t, r1, c10)
    store4(t, r1 + 4, c11)
    store4(t, r2, c20)
    store4(t, r2 + 4, c21)
    store4(t, r3, c30)
    store4(t, r3 + 4, c31)
    store4(t, r4, c40)
    store4(t, r4 + 4, c41)
    store4(t, r5, c50)
    store4(t, r5 + 4, c51)


@njit
def subtract_6x4(target, left, right, depth, fresh):
    """target[0:6, 0:4] −= left[0:depth, 0:6]ᵀ right[0:depth, 0:4]."""
    t, a, b = target.values, left.values, right.values
    o, step = target.at, target.stride
    c0, c1 = start4(t, o, fresh), start4(t, o + step, fresh)
    c2, c3 = start4(t, o + 2 * step, fresh), start4(t, o + 3 * step, fresh)
    c4, c5 = start4(t, o + 4 * step, fresh), start4(t, o + 5 * step, fresh)
    i, j = left.at, right.at
    for _ in range(depth):
        x = load4(b, j)
        c0 = minus4(c0, times4(spread(load(a, i)), x))
        c1 = minus4(c1, times4(spread(load(a, i + 1)), x))
        c2 = minus4(c2, times4(spread(load(a, i + 2)), x))
        c3 = minus4(c3, times4(spread(load(a, i + 3)), x))
        c4 = minus4(c4, times4(spread(load(a, i + 4)), x))
        c5 = minus4(c5, times4(spread(load(a, i + 5)), x))
        i += left.stride
        j += right.stride
    store4(t, o, c0)
    store4(t, o + step, c1)
    store4(t, o + 2 * step, c2)
    store4(t, o + 3 * step, c3)
    store4(t, o + 4 * step, c4)
    store4(t, o + 5 * step, c5)


@njit
def subtract_1x4(target, left, right, depth, fresh):
    """target[0, 0:4] −= left[0:depth, 0]ᵀ right[0:depth, 0:4]."""
    c = start4(target.values, target.at, fresh)
    i, j = left.at, right.at
    for _ in range(depth):
        c = minus4(c, times4(spread(load(left.values, i)), load4(right.values, j)))
        i += left.stride
        j += right.stride
    store4(target.values, target.at, c)


@inlined
def moved(panel, row, column):
    """The part of a panel from here on."""
    return Panel(panel.values, panel.at + row * panel.stride + column, panel.stride)


@njit
def subtract_product(target, rows, columns, left, right, depth, fresh):
    """target −= leftᵀ right, with `depth` rows in both; columns in fours. fresh: the target is zero, whatever it holds."""
    c = 0
    while c < columns:
        wide = columns - c >= 8
        r = 0
        while r < rows:
            at, l, m = moved(target, r, c), moved(left, 0, r), moved(right, 0, c)  # noqa: E741
            if rows - r >= BLOCK:
                if wide:
                    subtract_6x8(at, l, m, depth, fresh)
                else:
                    subtract_6x4(at, l, m, depth, fresh)
                r += BLOCK
            else:
                subtract_1x4(at, l, m, depth, fresh)
                if wide:
                    subtract_1x4(moved(at, 0, 4), l, moved(m, 0, 4), depth, fresh)
                r += 1
        c += 8 if wide else 4


# Pivots -----------------------------------------------------------------------------------------------------------------


@njit
def factor(s, is_symmetric):
    """Factor in place. Returns the smallest |pivot| over the size of the diagonal of A there: 1 for a diagonal matrix, 0
    where a pivot vanishes or is not a number, after which there are no factors. `plan.negative` counts pivots below zero.

    is_symmetric : A = Aᵀ, and the work is half. Of the two blocks of an edge, the one of the node that is later in order is
    not read.
    """
    plan = s.plan[0]
    measure_diagonal(s)
    plan.negative = 0
    smallest = 1.0
    for number in range(plan.supernodes):
        front = s.supernodes[number]
        ratio = eliminate_pivots(s, front, is_symmetric)
        if not ratio > 0.0:
            return 0.0
        smallest = min(smallest, ratio)
        if front.rest > 0:
            upper, lower = Panel(s.values, front.upper, front.stride), Panel(s.values, front.lower, front.stride)
            eliminate_rest(s, front, 0, lower, upper)
            add_to_parent(s, front, 0)
            if not is_symmetric:
                eliminate_rest(s, front, 1, upper, lower)
                add_to_parent(s, front, 1)
    return smallest


@njit
def measure_diagonal(s):
    """scale = |diagonal of A|."""
    for number in range(s.plan[0].supernodes):
        front = s.supernodes[number]
        for k in range(front.pivots):
            s.scale[front.x + k] = abs(load(s.values, front.upper + k * (front.stride + 1)))


@njit
def eliminate_pivots(s, front, is_symmetric):
    """Eliminate the pivots of a front from both panels. Returns the smallest relative pivot."""
    upper, lower = Panel(s.values, front.upper, front.stride), Panel(s.values, front.lower, front.stride)
    smallest, j = 1.0, 0
    for k in range(front.first_node, front.last_node):
        end = j + s.sizes[s.in_order[k]]
        if end - j > BLOCK and not is_symmetric:
            transpose(upper, lower, j, end)
        while j < end:
            width = min(BLOCK, end - j)
            ratio = eliminate_block(s, front, upper, lower, j, width, is_symmetric)
            if not ratio > 0.0:
                return 0.0
            smallest = min(smallest, ratio)
            j += width
    return smallest


@njit
def transpose(upper, lower, begin, end):
    """Copy what is below the diagonal of a node's own block to the panel `lower`, but for blocks of pivots."""
    v = upper.values
    for i in range(begin + BLOCK, end):
        for k in range(begin, begin + (i - begin) // BLOCK * BLOCK):
            store(v, lower.at + k * lower.stride + i, load(v, upper.at + i * upper.stride + k))


@njit
def eliminate_block(s, front, upper, lower, j, width, is_symmetric):
    """Rows j … j + width − 1 of both panels, given those above. Returns the smallest relative pivot."""
    stride = front.stride
    begin, after = j // 4 * 4, front.shift if j + width == front.pivots else (j + width) // 4 * 4
    if j > 0:
        above = moved(upper, 0, begin)
        subtract_product(moved(upper, j, begin), width, stride - begin, moved(lower, 0, j), above, j, False)
        if not is_symmetric:
            above = moved(lower, 0, after)
            subtract_product(moved(lower, j, after), width, stride - after, moved(upper, 0, j), above, j, False)
    ratio = factor_diagonal(s, moved(upper, j, j), front.x + j, width)
    if not ratio > 0.0:
        return 0.0
    d = s.gathered
    divide(moved(upper, j, after), stride - after, d, width, False)
    if is_symmetric:
        for r in range(width):
            scale_row(moved(lower, j + r, after), moved(upper, j + r, after), load(d, INVERSES + r), stride - after)
    else:
        divide(moved(lower, j, after), stride - after, d, width, True)
    store_factors(moved(upper, j, j), moved(lower, j, j), d, width)
    return ratio


@njit
def store_factors(upper, lower, d, width):
    """Write the factors of a block of pivots to the panels: U, with L below it that nobody reads, and Lᵀ."""
    v = upper.values
    for r in range(width):
        to = upper.at + r * upper.stride
        if width == BLOCK:
            store4(v, to, load4(d, r * ROW))
            store(v, to + 4, load(d, r * ROW + 4))
            store(v, to + 5, load(d, r * ROW + 5))
        else:
            for c in range(width):
                store(v, to + c, load(d, r * ROW + c))
        for c in range(r):
            store(v, lower.at + c * lower.stride + r, load(d, r * ROW + c))


@njit
def scale_row(target, source, factor, columns):
    """target = factor source, of one row."""
    for c in range(0, columns, 4):
        store4(target.values, target.at + c, times4(spread(factor), load4(source.values, source.at + c)))


# The factors of a block of pivots are in `gathered`: ROW numbers a row, L below the diagonal; then 1 / pivot.
ROW, INVERSES = 8, 48


@njit
def factor_diagonal(s, panel, x, width):
    """Factor a block of pivots of which the first is scalar x; fills `inverse`. Returns the smallest relative pivot."""
    d = s.gathered
    if width == BLOCK:
        factor_6x6(panel, d)
    else:
        factor_small(panel, d, width)
    smallest = 1.0
    for k in range(width):
        pivot, scale = load(d, k * ROW + k), s.scale[x + k]
        if not (abs(pivot) > 0.0 and scale > 0.0):
            return 0.0
        smallest = min(smallest, abs(pivot) / scale)
        if pivot < 0.0:
            s.plan[0].negative += 1
        s.inverse[x + k] = load(d, INVERSES + k)
    return smallest


@njit
def factor_small(panel, d, width):
    """Factor a block of less than six pivots."""
    for r in range(width):
        for c in range(width):
            store(d, r * ROW + c, load(panel.values, panel.at + r * panel.stride + c))
    for k in range(width):
        pivot = load(d, k * ROW + k)
        inverse = 1.0 / pivot if pivot != 0.0 else 0.0
        store(d, INVERSES + k, inverse)
        for r in range(k + 1, width):
            factor = load(d, r * ROW + k) * inverse
            store(d, r * ROW + k, factor)
            for c in range(k + 1, width):
                store(d, r * ROW + c, load(d, r * ROW + c) - factor * load(d, k * ROW + c))


@inlined
def reduce_row(d, at, a, b, factor, c, e):
    """A row (a, b) of six, less a factor times the row (c, e); stores the factor at d[at]."""
    store(d, at, factor)
    m = spread(factor)
    return minus4(a, times4(m, c)), minus4(b, times4(m, e))


@inlined
def invert_pivot(d, k, pivot):
    """1 / pivot, which is stored; zero for zero."""
    inverse = 1.0 / pivot if pivot != 0.0 else 0.0
    store(d, INVERSES + k, inverse)
    return inverse


@inlined
def store_row(d, k, a, b):
    """Store row k of U, which leaves factors of L to be stored after it."""
    store4(d, k * ROW, a)
    store4(d, k * ROW + 4, b)


@njit
def factor_6x6(panel, d):
    """Factor a block of six pivots, with its rows in registers (four columns and two)."""
    v, o, n = panel.values, panel.at, panel.stride
    a0, b0 = load4(v, o), load4(v, o + 4)
    a1, b1 = load4(v, o + n), load4(v, o + n + 4)
    a2, b2 = load4(v, o + 2 * n), load4(v, o + 2 * n + 4)
    a3, b3 = load4(v, o + 3 * n), load4(v, o + 3 * n + 4)
    a4, b4 = load4(v, o + 4 * n), load4(v, o + 4 * n + 4)
    a5, b5 = load4(v, o + 5 * n), load4(v, o + 5 * n + 4)
    store_row(d, 0, a0, b0)
    store_row(d, 1, a1, b1)
    store_row(d, 2, a2, b2)
    store_row(d, 3, a3, b3)
    store_row(d, 4, a4, b4)
    store_row(d, 5, a5, b5)
    i = invert_pivot(d, 0, part4(a0, 0))
    a1, b1 = reduce_row(d, ROW, a1, b1, part4(a1, 0) * i, a0, b0)
    a2, b2 = reduce_row(d, 2 * ROW, a2, b2, part4(a2, 0) * i, a0, b0)
    a3, b3 = reduce_row(d, 3 * ROW, a3, b3, part4(a3, 0) * i, a0, b0)
    a4, b4 = reduce_row(d, 4 * ROW, a4, b4, part4(a4, 0) * i, a0, b0)
    a5, b5 = reduce_row(d, 5 * ROW, a5, b5, part4(a5, 0) * i, a0, b0)
    i = invert_pivot(d, 1, part4(a1, 1))
    a2, b2 = reduce_row(d, 2 * ROW + 1, a2, b2, part4(a2, 1) * i, a1, b1)
    a3, b3 = reduce_row(d, 3 * ROW + 1, a3, b3, part4(a3, 1) * i, a1, b1)
    a4, b4 = reduce_row(d, 4 * ROW + 1, a4, b4, part4(a4, 1) * i, a1, b1)
    a5, b5 = reduce_row(d, 5 * ROW + 1, a5, b5, part4(a5, 1) * i, a1, b1)
    i = invert_pivot(d, 2, part4(a2, 2))
    a3, b3 = reduce_row(d, 3 * ROW + 2, a3, b3, part4(a3, 2) * i, a2, b2)
    a4, b4 = reduce_row(d, 4 * ROW + 2, a4, b4, part4(a4, 2) * i, a2, b2)
    a5, b5 = reduce_row(d, 5 * ROW + 2, a5, b5, part4(a5, 2) * i, a2, b2)
    i = invert_pivot(d, 3, part4(a3, 3))
    a4, b4 = reduce_row(d, 4 * ROW + 3, a4, b4, part4(a4, 3) * i, a3, b3)
    a5, b5 = reduce_row(d, 5 * ROW + 3, a5, b5, part4(a5, 3) * i, a3, b3)
    i = invert_pivot(d, 4, part4(b4, 0))
    f = part4(b5, 0) * i
    b5 = minus4(b5, times4(spread(f), b4))
    _ = invert_pivot(d, 5, part4(b5, 1))
    store(d, ROW + 1, part4(a1, 1))
    store(d, ROW + 2, part4(a1, 2))
    store(d, ROW + 3, part4(a1, 3))
    store4(d, ROW + 4, b1)
    store(d, 2 * ROW + 2, part4(a2, 2))
    store(d, 2 * ROW + 3, part4(a2, 3))
    store4(d, 2 * ROW + 4, b2)
    store(d, 3 * ROW + 3, part4(a3, 3))
    store4(d, 3 * ROW + 4, b3)
    store4(d, 4 * ROW + 4, b4)
    store(d, 5 * ROW + 4, f)
    store(d, 5 * ROW + 5, part4(b5, 1))


@njit
def divide(panel, columns, d, width, is_lower):
    """Rows of U: L⁻¹ A, or of Lᵀ: U⁻ᵀ Aᵀ, of a block of pivots whose factors are d."""
    row, column = (1, ROW) if is_lower else (ROW, 1)
    if width == BLOCK:
        for c in range(0, columns, 4):
            divide_6x4(moved(panel, 0, c), d, row, column, is_lower)
        return
    for c in range(0, columns, 4):
        for r in range(width):
            at = panel.at + r * panel.stride + c
            value = load4(panel.values, at)
            for k in range(r):
                factor = spread(load(d, r * row + k * column))
                value = minus4(value, times4(factor, load4(panel.values, panel.at + k * panel.stride + c)))
            if is_lower:
                value = times4(value, spread(load(d, INVERSES + r)))
            store4(panel.values, at, value)


@inlined
def less(value, d, at, row):
    """value − d[at] row."""
    return minus4(value, times4(spread(load(d, at)), row))


@inlined
def scaled(value, d, at, is_scaled):
    """value d[at], where it is to be scaled."""
    return times4(value, spread(load(d, at))) if is_scaled else value


@njit
def divide_6x4(panel, d, r, c, is_lower):
    """`divide` for six rows and four columns; d[i r + j c], j < i, are the factors."""
    v, at, step, last = panel.values, panel.at, panel.stride, INVERSES
    a0 = scaled(load4(v, at), d, last, is_lower)
    store4(v, at, a0)
    a1 = less(load4(v, at + step), d, r, a0)
    a1 = scaled(a1, d, last + 1, is_lower)
    store4(v, at + step, a1)
    a2 = less(less(load4(v, at + 2 * step), d, 2 * r, a0), d, 2 * r + c, a1)
    a2 = scaled(a2, d, last + 2, is_lower)
    store4(v, at + 2 * step, a2)
    a3 = less(less(less(load4(v, at + 3 * step), d, 3 * r, a0), d, 3 * r + c, a1), d, 3 * r + 2 * c, a2)
    a3 = scaled(a3, d, last + 3, is_lower)
    store4(v, at + 3 * step, a3)
    a4 = less(less(load4(v, at + 4 * step), d, 4 * r, a0), d, 4 * r + c, a1)
    a4 = scaled(less(less(a4, d, 4 * r + 2 * c, a2), d, 4 * r + 3 * c, a3), d, last + 4, is_lower)
    store4(v, at + 4 * step, a4)
    a5 = less(less(less(load4(v, at + 5 * step), d, 5 * r, a0), d, 5 * r + c, a1), d, 5 * r + 2 * c, a2)
    a5 = scaled(less(less(a5, d, 5 * r + 3 * c, a3), d, 5 * r + 4 * c, a4), d, last + 5, is_lower)
    store4(v, at + 5 * step, a5)


# From a front to its parent's -------------------------------------------------------------------------------------------


@njit
def eliminate_rest(s, front, side, left, right):
    """C −= leftᵀ right, from the pivots of a front; side 1: Cᵀ. Only later nodes, and on side 0 a node's own."""
    wide = front.stride - front.shift
    target = Panel(s.work, front.trail + side * front.rest * wide, wide)
    left, right = moved(left, 0, front.shift), moved(right, 0, front.shift)
    for k in range(front.first_row, front.last_row):
        row = s.rows[k]
        begin = (row.at + side * row.count) // 4 * 4
        if begin < wide:
            subtract_product(
                moved(target, row.at, begin), row.count, wide - begin, moved(left, 0, row.at), moved(right, 0, begin),
                front.pivots, front.is_leaf == 1,
            )  # fmt: skip


@njit
def add_to_parent(s, front, side):
    """Add C to the front of the parent; side 1: Cᵀ."""
    parent = s.supernodes[front.parent]
    wide, width = front.stride - front.shift, parent.stride - parent.shift
    first = parent.trail + side * parent.rest * width
    if front.is_first == 1:
        clear_triangle(s, parent, first, side)
    source = Panel(s.work, front.trail + side * front.rest * wide, wide)
    panel = Panel(s.values, parent.lower if side == 1 else parent.upper, parent.stride)
    rest = Panel(s.work, first - parent.shift * width - parent.shift, width)
    for k in range(front.first_row, front.last_row):
        row = s.rows[k]
        skip = side * row.count
        at, to, count, n = row.at + skip, row.to + skip, row.reach - skip, row.next
        while True:
            if count > 0:
                if row.to < parent.shift:
                    add_rows(moved(panel, row.to, to), moved(source, row.at, at), row.count, count)
                else:
                    add_rows(moved(rest, row.to, to), moved(source, row.at, at), row.count, count)
            if n == front.last_row:
                break
            other = s.rows[n]
            at, to, count, n = other.at, other.to, other.reach, other.next


@njit
def clear_triangle(s, front, first, side):
    """C = 0 of a front, or Cᵀ, at work[first:]: what is read of it."""
    wide = front.stride - front.shift
    for k in range(front.first_row, front.last_row):
        row = s.rows[k]
        begin = (row.at + side * row.count) // 4 * 4
        r, end = row.at, row.at + row.count
        while r < end:
            to = first + r * wide
            for c in range(begin, wide, 4):
                if end - r >= BLOCK:
                    store4(s.work, to + c, spread(0.0))
                    store4(s.work, to + c + wide, spread(0.0))
                    store4(s.work, to + c + 2 * wide, spread(0.0))
                    store4(s.work, to + c + 3 * wide, spread(0.0))
                    store4(s.work, to + c + 4 * wide, spread(0.0))
                    store4(s.work, to + c + 5 * wide, spread(0.0))
                else:
                    store4(s.work, to + c, spread(0.0))
            r += BLOCK if end - r >= BLOCK else 1


@njit
def add_rows(target, source, rows, count):
    """target += source, with `count` columns. The columns that fill the last four are read and written as they are."""
    lanes = four(0.0, 1.0, 2.0, 3.0)
    r = 0
    while r < rows:
        to, at = moved(target, r, 0), moved(source, r, 0)
        for c in range(0, count, 4):
            limit = spread(float(count - c))
            add_4(to, at, 0, c, limit, lanes)
            if rows - r >= BLOCK:
                add_4(to, at, 1, c, limit, lanes)
                add_4(to, at, 2, c, limit, lanes)
                add_4(to, at, 3, c, limit, lanes)
                add_4(to, at, 4, c, limit, lanes)
                add_4(to, at, 5, c, limit, lanes)
        r += BLOCK if rows - r >= BLOCK else 1


@inlined
def add_4(target, source, row, column, limit, lanes):
    """Add the first four from a column on, less those from `limit` on."""
    to = target.at + row * target.stride + column
    own = where4(limit, lanes, load4(source.values, source.at + row * source.stride + column))
    store4(target.values, to, plus4(load4(target.values, to), own))


# Solution ---------------------------------------------------------------------------------------------------------------


@njit
def solve(s, x, at):
    """x[at:] ← A⁻¹ x[at:], with the scalars of the nodes one after another, by the factors of `factor`."""
    plan, y = s.plan[0], s.vector
    for i in range(plan.nodes):
        for k in range(s.sizes[i]):
            store(y, s.start[i] + k, load(x, at + s.offset[i] + k))
    for number in range(plan.supernodes):
        front = s.supernodes[number]
        gather_pivots(s, front)
        for k in range(front.shift, front.stride):
            store(s.gathered, k, 0.0)
        solve_lower(s, front)
        for n in range(front.first_run, front.last_run):
            run = s.runs[n]
            for k in range(run.count):
                store(y, run.to + k, load(y, run.to + k) + load(s.gathered, front.shift + run.at + k))
        scatter_pivots(s, front)
    for number in range(plan.supernodes - 1, -1, -1):
        front = s.supernodes[number]
        gather_pivots(s, front)
        for k in range(front.shift + front.rest, front.stride):
            store(s.gathered, k, 0.0)
        for n in range(front.first_run, front.last_run):
            run = s.runs[n]
            for k in range(run.count):
                store(s.gathered, front.shift + run.at + k, load(y, run.to + k))
        solve_upper(s, front)
        scatter_pivots(s, front)
    for i in range(plan.nodes):
        for k in range(s.sizes[i]):
            store(x, at + s.offset[i] + k, load(y, s.start[i] + k))


@inlined
def gather_pivots(s, front):
    """The part of the vector in the pivots of a front, and zeros that fill fours."""
    for k in range(front.pivots):
        store(s.gathered, k, load(s.vector, front.x + k))
    for k in range(front.pivots, front.shift):
        store(s.gathered, k, 0.0)


@inlined
def scatter_pivots(s, front):
    """The same, back to the vector."""
    for k in range(front.pivots):
        store(s.vector, front.x + k, load(s.gathered, k))


@njit
def solve_lower(s, front):
    """w ← L⁻¹ w for the pivots of a front, and w − L₂₁ w for its other rows, w = `gathered`."""
    v, w, stride = s.values, s.gathered, front.stride
    j = 0
    while j + BLOCK <= front.pivots:
        forward_6(Panel(v, front.lower + j * (stride + 1), stride), w, j, stride - j)
        j += BLOCK
    for k in range(j, front.pivots):
        row, value = front.lower + k * stride, load(w, k)
        for i in range(k + 1, front.shift):
            store(w, i, load(w, i) - load(v, row + i) * value)
        for c in range(front.shift, stride, 4):
            store4(w, c, minus4(load4(w, c), times4(spread(value), load4(v, row + c))))


@njit
def forward_6(lower, w, j, columns):
    """Six unknowns w[j : j + 6], and what follows from them for the others of `columns` numbers from w[j] on."""
    v, r, n = lower.values, lower.at, lower.stride
    y0 = load(w, j)
    y1 = load(w, j + 1) - load(v, r + 1) * y0
    y2 = load(w, j + 2) - load(v, r + 2) * y0 - load(v, r + n + 2) * y1
    y3 = load(w, j + 3) - load(v, r + 3) * y0 - load(v, r + n + 3) * y1 - load(v, r + 2 * n + 3) * y2
    y4 = load(w, j + 4) - load(v, r + 4) * y0 - load(v, r + n + 4) * y1 - load(v, r + 2 * n + 4) * y2
    y4 -= load(v, r + 3 * n + 4) * y3
    y5 = load(w, j + 5) - load(v, r + 5) * y0 - load(v, r + n + 5) * y1 - load(v, r + 2 * n + 5) * y2
    y5 = y5 - load(v, r + 3 * n + 5) * y3 - load(v, r + 4 * n + 5) * y4
    x0, x1, x2, x3, x4, x5 = spread(y0), spread(y1), spread(y2), spread(y3), spread(y4), spread(y5)
    for c in range((j + BLOCK) // 4 * 4 - j, columns, 4):
        o = r + c
        left = plus4(times4(x0, load4(v, o)), times4(x1, load4(v, o + n)))
        middle = plus4(times4(x2, load4(v, o + 2 * n)), times4(x3, load4(v, o + 3 * n)))
        right = plus4(times4(x4, load4(v, o + 4 * n)), times4(x5, load4(v, o + 5 * n)))
        store4(w, j + c, minus4(load4(w, j + c), plus4(plus4(left, middle), right)))
    store(w, j, y0)  # after the columns that share four numbers with these
    store(w, j + 1, y1)
    store(w, j + 2, y2)
    store(w, j + 3, y3)
    store(w, j + 4, y4)
    store(w, j + 5, y5)


@njit
def solve_upper(s, front):
    """w ← U⁻¹ w for the pivots of a front, given its other rows, w = `gathered`."""
    v, w, stride = s.values, s.gathered, front.stride
    whole = front.pivots // BLOCK * BLOCK
    for k in range(front.pivots - 1, whole - 1, -1):
        row, total = front.upper + k * stride, load(w, k)
        for c in range(k + 1, front.shift + front.rest):
            total -= load(v, row + c) * load(w, c)
        store(w, k, total * s.inverse[front.x + k])
    for j in range(whole - BLOCK, -1, -BLOCK):
        backward_6(Panel(v, front.upper + j * stride, stride), w, j, s.inverse, front.x + j)


@njit
def backward_6(upper, w, j, inverse, x):
    """Six unknowns w[j : j + 6], given those after them."""
    v, r, n = upper.values, upper.at, upper.stride
    begin = (j + BLOCK + 3) // 4 * 4
    s0, s1, s2, s3, s4, s5 = spread(0.0), spread(0.0), spread(0.0), spread(0.0), spread(0.0), spread(0.0)
    for c in range(begin, n, 4):
        m, o = load4(w, c), r + c
        s0 = plus4(s0, times4(m, load4(v, o)))
        s1 = plus4(s1, times4(m, load4(v, o + n)))
        s2 = plus4(s2, times4(m, load4(v, o + 2 * n)))
        s3 = plus4(s3, times4(m, load4(v, o + 3 * n)))
        s4 = plus4(s4, times4(m, load4(v, o + 4 * n)))
        s5 = plus4(s5, times4(m, load4(v, o + 5 * n)))
    y0, y1, y2 = load(w, j) - total4(s0), load(w, j + 1) - total4(s1), load(w, j + 2) - total4(s2)
    y3, y4, y5 = load(w, j + 3) - total4(s3), load(w, j + 4) - total4(s4), load(w, j + 5) - total4(s5)
    for c in range(j + BLOCK, begin):
        m, o = load(w, c), r + c
        y0 -= load(v, o) * m
        y1 -= load(v, o + n) * m
        y2 -= load(v, o + 2 * n) * m
        y3 -= load(v, o + 3 * n) * m
        y4 -= load(v, o + 4 * n) * m
        y5 -= load(v, o + 5 * n) * m
    r += j
    y5 *= inverse[x + 5]
    y4 = (y4 - load(v, r + 4 * n + 5) * y5) * inverse[x + 4]
    y3 = (y3 - load(v, r + 3 * n + 5) * y5 - load(v, r + 3 * n + 4) * y4) * inverse[x + 3]
    y2 = y2 - load(v, r + 2 * n + 5) * y5 - load(v, r + 2 * n + 4) * y4 - load(v, r + 2 * n + 3) * y3
    y2 *= inverse[x + 2]
    y1 = y1 - load(v, r + n + 5) * y5 - load(v, r + n + 4) * y4 - load(v, r + n + 3) * y3 - load(v, r + n + 2) * y2
    y1 *= inverse[x + 1]
    y0 = y0 - load(v, r + 5) * y5 - load(v, r + 4) * y4 - load(v, r + 3) * y3 - load(v, r + 2) * y2
    y0 = (y0 - load(v, r + 1) * y1) * inverse[x]
    store(w, j, y0)
    store(w, j + 1, y1)
    store(w, j + 2, y2)
    store(w, j + 3, y3)
    store(w, j + 4, y4)
    store(w, j + 5, y5)
