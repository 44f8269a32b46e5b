"""What `deflation` and the sweeps of `ssor` need of a matrix: Û, Ĥ, and the factors of A_c."""

from ..arrays import clear
from ..jit import inlined, njit
from ..lanes import plus4, times4
from ..unchecked import peek, poke
from ..vec import load3, sub
from .block import load_3x3, product, subtract_product_t
from .block_matrix import add_block
from .ssor import fixed_part, inverse_of, load_symmetric, scale_diagonal, store_symmetric
from .sweeps import gather12, peek12, poke12

ZERO = (0.0,) * 9


@inlined
def transposed(m):
    return (m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8])


@njit
def times_free(m, held, by):
    """m S with the projection of a record, m where there is none."""
    if by < 0:
        return m
    fixed, u = held[by].fixed, load3(held[by].direction)
    a, b, c = (m[0], m[1], m[2]), (m[3], m[4], m[5]), (m[6], m[7], m[8])
    a, b, c = sub(a, fixed_part(fixed, u, a)), sub(b, fixed_part(fixed, u, b)), sub(c, fixed_part(fixed, u, c))
    return (a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])


@inlined
def free_times(m, held, by):
    """S m."""
    return transposed(times_free(transposed(m), held, by))


@njit
def prepare(matrix, held, space, work, swept):
    """F, Fᴵ, Û, Ĥ, and the factors of A_c. Returns False where A_c or a block on the diagonal is not positive definite; then
    A is not."""
    if not scale_diagonal(matrix, held, space.position, work.frame, swept.back):
        return False
    find_leaders(held, space, work)
    clear(work.values)
    patched = space.pivots.shape[0] > 0
    for group in range(space.starts.shape[0] - 1):
        scale_blocks(matrix, space, work, swept, group)
        if patched:
            clear(work.row)
            spread_rows(matrix, held, space, work, group)
            gather_rows(held, space, work, group)
            scale_rows(space, work, swept, group)
    if patched:
        add_diagonals(matrix, held, space, work)
    return factor(space, work.values, work.lower)


@njit
def find_leaders(held, space, work):
    """Of each patch without a free node the record that fixes the fewest directions."""
    unknown = -2
    for at in range(work.held_by.shape[0]):
        work.held_by[at] = -1
    for i in range(work.led_by.shape[0]):
        work.led_by[i] = unknown
    for k in range(held.shape[0]):
        work.held_by[space.position[held[k].node]] = k
    for i in range(space.patch.shape[0]):
        by, leader = work.held_by[space.position[i]], work.led_by[space.patch[i]]
        if by < 0 or leader == unknown or (leader >= 0 and held[by].fixed < held[leader].fixed):
            work.led_by[space.patch[i]] = by


# A block of a lane is nine numbers, four apart.
@inlined
def put_lane(a, o, m):
    for k in range(9):
        poke(a, o + 4 * k, m[k])


@inlined
def add_lane(a, o, m):
    for k in range(9):
        poke(a, o + 4 * k, peek(a, o + 4 * k) + m[k])


@inlined
def load_lane(a, o):
    return (
        peek(a, o), peek(a, o + 4), peek(a, o + 8), peek(a, o + 12), peek(a, o + 16), peek(a, o + 20), peek(a, o + 24),
        peek(a, o + 28), peek(a, o + 32),
    )  # fmt: skip


@inlined
def block_of(values, source):
    """The block of a slot."""
    m = load_3x3(values, 9 * (source // 2))
    return transposed(m) if source % 2 == 1 else m


@njit
def scale_blocks(matrix, space, work, swept, group):
    """Û of a group of rows."""
    side, o = work.frame.shape[0] // 3, 12 * group
    f_0, f_1, f_2 = peek12(work.frame, o), peek12(work.frame, side + o), peek12(work.frame, 2 * side + o)
    for k in range(space.starts[group], space.starts[group + 1]):
        for lane in range(4):
            source = space.sources[4 * k + lane]
            put_lane(work.block, lane, block_of(matrix.values, source) if source >= 0 else ZERO)
        b_0, b_1, b_2 = scaled_rows(work.block, 0, f_0, f_1, f_2)
        g_0 = gather12(work.frame, space.columns, 4 * k, 0)
        g_1 = gather12(work.frame, space.columns, 4 * k, side)
        g_2 = gather12(work.frame, space.columns, 4 * k, 2 * side)
        poke12(swept.upper, 36 * k, combined(b_0, g_0, g_1, g_2))
        poke12(swept.upper, 36 * k + 12, combined(b_1, g_0, g_1, g_2))
        poke12(swept.upper, 36 * k + 24, combined(b_2, g_0, g_1, g_2))


@njit
def spread_rows(matrix, held, space, work, group):
    """U W of a group of rows, to the left of which S is missing."""
    for at in range(4 * space.starts[group], 4 * space.starts[group + 1]):
        source = space.sources[at]
        if source >= 0:
            m = times_free(block_of(matrix.values, source), held, work.held_by[space.columns[at]])
            add_lane(work.row, space.slots[at], m)


@njit
def gather_rows(held, space, work, group):
    """Complete the rows of H, and add what they give to A_c."""
    first = 4 * space.h_starts[group]
    for at in range(first, 4 * space.h_starts[group + 1]):
        target, o, lane = space.targets[at], 36 * ((at - first) // 4) + at % 4, at % 4
        if target < 0:
            continue
        m, own = load_lane(work.row, o), space.patches[4 * group + lane]
        by, leader = work.held_by[12 * group + lane], work.led_by[own // 3]
        other = work.led_by[space.h_columns[at] // 3]
        if by >= 0 or leader >= 0 or other >= 0:
            m = free_times(times_free(m, held, other), held, by)
            put_lane(work.row, o, m)
            m = free_times(m, held, leader)
        add_block(work.values, target, m)
        if space.h_columns[at] == own:
            add_block(work.values, target, transposed(m))


@njit
def add_diagonals(matrix, held, space, work):
    """Add Wᵀ D W to A_c, whose diagonal gets something where P is zero."""
    for i in range(space.patch.shape[0]):
        by, leader = work.held_by[space.position[i]], work.led_by[space.patch[i]]
        m, target = load_3x3(matrix.values, 9 * matrix.starts[i]), space.own[space.patch[i]]
        if by >= 0 or leader >= 0:
            size = m[0] + m[4] + m[8]
            one = (size, 0.0, 0.0, 0.0, size, 0.0, 0.0, 0.0, size)
            m = times_free(times_free(m, held, by), held, leader)
            m = free_times(free_times(m, held, by), held, leader)
            if leader >= 0:
                add_block(work.values, target, one)
                m = sub_9(m, times_free(one, held, leader))
        add_block(work.values, target, m)


@inlined
def sub_9(m, n):
    a, b, c = sub(m[:3], n[:3]), sub(m[3:6], n[3:6]), sub(m[6:], n[6:])
    return a + b + c


@njit
def scale_rows(space, work, swept, group):
    """Ĥ of a group of rows."""
    side, o = work.frame.shape[0] // 3, 12 * group
    f_0, f_1, f_2 = peek12(work.frame, o), peek12(work.frame, side + o), peek12(work.frame, 2 * side + o)
    first = space.h_starts[group]
    for k in range(first, space.h_starts[group + 1]):
        b_0, b_1, b_2 = scaled_rows(work.row, 36 * (k - first), f_0, f_1, f_2)
        poke12(swept.h, 36 * k, b_0)
        poke12(swept.h, 36 * k + 12, b_1)
        poke12(swept.h, 36 * k + 24, b_2)


@inlined
def combined(a, v_0, v_1, v_2):
    """a₀ v₀ + a₁ v₁ + a₂ v₂, four times."""
    return (
        plus4(plus4(times4(a[0], v_0[0]), times4(a[1], v_1[0])), times4(a[2], v_2[0])),
        plus4(plus4(times4(a[0], v_0[1]), times4(a[1], v_1[1])), times4(a[2], v_2[1])),
        plus4(plus4(times4(a[0], v_0[2]), times4(a[1], v_1[2])), times4(a[2], v_2[2])),
    )


@inlined
def scaled_rows(a, o, f_0, f_1, f_2):
    """The rows of Fᵀ B for four blocks B from a[o] on, with rows of F."""
    b_0, b_1, b_2 = peek12(a, o), peek12(a, o + 12), peek12(a, o + 24)
    return (
        combined((f_0[0], f_1[0], f_2[0]), b_0, b_1, b_2),
        combined((f_0[1], f_1[1], f_2[1]), b_0, b_1, b_2),
        combined((f_0[2], f_1[2], f_2[2]), b_0, b_1, b_2),
    )


@njit
def factor(space, values, lower):
    """`ldl.factor` of a definite matrix whose blocks are 3×3; whether it is one."""
    for k in range(space.pivots.shape[0]):
        column = space.pivots[k]
        inverse, definite = inverse_of(load_symmetric(values, column.pivot))
        if not definite:
            return False
        store_symmetric(values, column.pivot, inverse, 1.0)
        for e in range(column.first, column.last):
            o = space.below[e].offset
            product(lower, o, values, o, values, column.pivot, 3, 3)
        for u in range(column.first_update, column.last_update):
            update = space.updates[u]
            subtract_product_t(values, update.target, lower, update.left, 3, values, update.right, 3, 3)
    return True
