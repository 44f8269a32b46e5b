"""WIDTH pairs of bodies at a time: a number of each is one value, rows of tables become columns and back.

A value of `WIDTH` numbers is one register of AVX-512, and two of AVX; in single precision it is one of AVX. A value may also
have the numbers of several groups, of WIDTH each (`load_groups`): two in single precision are one register of AVX-512. The
type of an array decides on the precision: what is loaded from float32 stays float32. Each number gets the operations of IEEE
754 that a loop over them would do, in the same order, so that results do not depend on the processor. Vectors of three are
tuples of three such values.
"""

import numpy as np

from .jit import DISABLED, cgutils, inlined, intrinsic, ir, types
from .simd import dot4, lanes, larger4, largest4, minus4, over4, part4, plus4, select4, times4

WIDTH = 8


def _wide(array_type=None):
    """The type of WIDTH numbers of an array."""
    return lanes(WIDTH, array_type is not None and array_type.dtype == types.float32)


def _vector(wide=None):
    """LLVM's type of a value of WIDTH numbers."""
    return ir.VectorType(ir.FloatType() if wide == lanes(WIDTH, True) else ir.DoubleType(), WIDTH)


def _order(numbers):
    """Numbers of lanes, for a shuffle."""
    return ir.Constant(ir.VectorType(ir.IntType(32), len(numbers)), list(numbers))


def _pointer_to_wide(context, builder, array_type, array, index):
    """A pointer to the WIDTH numbers of an array from array[index] on."""
    pointer = _element(context, builder, array_type, array, index)
    return builder.bitcast(pointer, _vector(_wide(array_type)).as_pointer())


def _index(k):
    return ir.Constant(ir.IntType(32), k)


def _element(context, builder, array_type, array, index):
    """A pointer to array[index]."""
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [index])


# Memory -----------------------------------------------------------------------------------------------------------------


@intrinsic
def load_w(typing_context, array, index):
    """The WIDTH numbers from array[index] on, of a contiguous array of float64 or float32."""

    def generate(context, builder, signature, arguments):
        return builder.load(_pointer_to_wide(context, builder, signature.args[0], *arguments), align=4)

    return _wide(array)(array, types.int64), generate


@intrinsic
def store_w(typing_context, array, index, value):
    """array[index : index + WIDTH] = value, of a contiguous array of the precision of the value."""

    def generate(context, builder, signature, arguments):
        pointer = _pointer_to_wide(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], pointer, align=4)
        return context.get_dummy_value()

    return types.void(array, types.int64, _wide(array)), generate


def _spread(builder, number, vector):
    """A number in each lane of a vector."""
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), number, _index(0))
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), _order([0] * vector.count))


@intrinsic
def spread_w(typing_context, value):
    """One number, WIDTH times."""

    def generate(context, builder, signature, arguments):
        return _spread(builder, arguments[0], _vector())

    return _wide()(types.float64), generate


@intrinsic
def spread_like_w(typing_context, value, like):
    """One number in each lane, of the type of another value."""

    def generate(context, builder, signature, arguments):
        vector = arguments[1].type
        number = arguments[0]
        if vector.element == ir.FloatType():
            number = builder.fptrunc(number, ir.FloatType())
        return _spread(builder, number, vector)

    return like(types.float64, like), generate


@intrinsic
def single_w(typing_context, a):
    """Rounded to single precision."""

    def generate(context, builder, signature, arguments):
        return builder.fptrunc(arguments[0], _vector(signature.return_type))

    return lanes(WIDTH, True)(_wide()), generate


@intrinsic
def double_w(typing_context, a):
    """In double precision."""

    def generate(context, builder, signature, arguments):
        return builder.fpext(arguments[0], _vector())

    return _wide()(lanes(WIDTH, True)), generate


@intrinsic
def exceeds_w(typing_context, counts, at, k):
    """1 where counts[at + lane] > k, 0 elsewhere, of an int32 array."""

    def generate(context, builder, signature, arguments):
        whole = ir.VectorType(ir.IntType(32), WIDTH)
        pointer = _element(context, builder, signature.args[0], *arguments[:2])
        found = builder.load(builder.bitcast(pointer, whole.as_pointer()), align=4)
        least = builder.trunc(arguments[2], ir.IntType(32))
        limit = ir.Constant(whole, ir.Undefined)
        for lane in range(WIDTH):
            limit = builder.insert_element(limit, least, _index(lane))
        return builder.uitofp(builder.icmp_signed(">", found, limit), _vector())

    return _wide()(counts, types.int64, types.int64), generate


def _sources(rows, step):
    """One stage of a transposition: blocks of `step` numbers of rows k and k + step are exchanged. Yields, of each row, the
    two rows and the numbers of their elements that it is made of."""
    count = rows[0].type.count
    for k in range(WIDTH):
        first, second = (k, k + step) if not k & step else (k - step, k)
        shift = step if k & step else 0
        order = [j + shift if not j & step else count + j - step + shift for j in range(count)]
        yield rows[first], rows[second], order


@intrinsic
def transpose_w(typing_context, rows):
    """The columns of the matrix of WIDTH rows; of several side by side, where the rows are longer."""
    result = types.UniTuple(rows.dtype, WIDTH)

    def generate(context, builder, signature, arguments):
        found = cgutils.unpack_tuple(builder, arguments[0])
        step = 1
        while step < WIDTH:
            found = [builder.shuffle_vector(a, b, _order(order)) for a, b, order in _sources(found, step)]
            step *= 2
        return context.make_tuple(builder, signature.return_type, found)

    return result(result), generate


# One group of numbers, or several ---------------------------------------------------------------------------------------
# Some loops take several groups at a time that are independent of each other. `gaps` is the tuple of the distances from the
# first to the others, () where there is one alone. A value is of WIDTH numbers for each of them.


def _of_groups(array_type, gaps):
    """The type of WIDTH numbers of an array for each group."""
    return lanes(WIDTH * (1 + len(gaps)), array_type.dtype == types.float32)


def _indices(builder, index, gaps):
    """The indices of all groups."""
    return [index, *(builder.add(index, gap) for gap in cgutils.unpack_tuple(builder, gaps))]


@intrinsic
def load_groups(typing_context, array, index, gaps):
    """The WIDTH numbers from array[index] on, and those from array[index + gap] on for each gap."""

    def generate(context, builder, signature, arguments):
        array, index, gaps = arguments
        found = [
            builder.load(_pointer_to_wide(context, builder, signature.args[0], array, at), align=4)
            for at in _indices(builder, index, gaps)
        ]
        while len(found) > 1:
            order = _order(range(2 * found[0].type.count))
            found = [builder.shuffle_vector(a, b, order) for a, b in zip(found[::2], found[1::2], strict=True)]
        return found[0]

    return _of_groups(array, gaps)(array, types.int64, gaps), generate


@intrinsic
def store_groups(typing_context, array, index, gaps, value):
    """Write them."""

    def generate(context, builder, signature, arguments):
        array, index, gaps, value = arguments
        for k, at in enumerate(_indices(builder, index, gaps)):
            part = builder.shuffle_vector(value, value, _order(range(WIDTH * k, WIDTH * (k + 1))))
            builder.store(part, _pointer_to_wide(context, builder, signature.args[0], array, at), align=4)
        return context.get_dummy_value()

    return types.void(array, types.int64, gaps, value), generate


@intrinsic
def largest_of_groups(typing_context, value):
    """The largest of the numbers of all groups, by lane."""
    kind = lanes(WIDTH, value.single)

    def generate(context, builder, signature, arguments):
        value = arguments[0]
        while value.type.count > WIDTH:
            half = value.type.count // 2
            low, high = (builder.shuffle_vector(value, value, _order(range(at, at + half))) for at in (0, half))
            value = builder.select(builder.fcmp_ordered(">", low, high), low, high)
        return value

    return kind(value), generate


@intrinsic
def distances_w(typing_context, indices, at, gaps):
    """indices[at + gap] − indices[at] for each gap, of an int32 array."""
    result = types.UniTuple(types.int64, len(gaps))

    def generate(context, builder, signature, arguments):
        first, *others = (
            builder.load(_element(context, builder, signature.args[0], arguments[0], index))
            for index in _indices(builder, *arguments[1:])
        )
        found = [builder.sext(builder.sub(other, first), ir.IntType(64)) for other in others]
        return context.make_tuple(builder, result, found)

    return result(indices, types.int64, gaps), generate


# Arithmetic -------------------------------------------------------------------------------------------------------------


plus_w, minus_w, times_w, over_w, larger_w = plus4, minus4, times4, over4, larger4
select_w, largest_w, part_w, dot_w = select4, largest4, part4, dot4


def _function(name):
    """An intrinsic of LLVM of one argument."""

    @intrinsic
    def call(typing_context, a):
        def generate(context, builder, signature, arguments):
            vector = arguments[0].type
            bits = 32 if vector.element == ir.FloatType() else 64
            kind = ir.FunctionType(vector, [vector])
            function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{vector.count}f{bits}")
            return builder.call(function, arguments)

        return a(a), generate

    return call


sqrt_w, magnitude_w = map(_function, ("sqrt", "fabs"))


@intrinsic
def total_w(typing_context, a):
    """The sum of the numbers, one after another."""

    def generate(context, builder, signature, arguments):
        total = builder.extract_element(arguments[0], _index(0))
        for k in range(1, WIDTH):
            total = builder.fadd(total, builder.extract_element(arguments[0], _index(k)))
        return total

    return types.float64(_wide()), generate


if DISABLED:

    def load_w(array, index):
        return array[index : index + WIDTH].copy()

    def store_w(array, index, value):
        array[index : index + WIDTH] = value

    def spread_w(value):
        return np.full(WIDTH, value)

    def load_groups(array, index, gaps):
        return np.concatenate([load_w(array, at) for at in (index, *(index + gap for gap in gaps))])

    def store_groups(array, index, gaps, value):
        for k, at in enumerate((index, *(index + gap for gap in gaps))):
            store_w(array, at, value[WIDTH * k : WIDTH * (k + 1)])

    def largest_of_groups(value):
        return value.reshape(-1, WIDTH).max(axis=0)

    def distances_w(indices, at, gaps):
        return tuple(int(indices[at + gap]) - int(indices[at]) for gap in gaps)

    def spread_like_w(value, like):
        return np.full(like.shape, value, like.dtype)

    def single_w(a):
        return a.astype(np.float32)

    def double_w(a):
        return a.astype(np.float64)

    def exceeds_w(counts, at, k):
        return np.where(counts[at : at + WIDTH] > k, 1.0, 0.0)

    def transpose_w(rows):
        matrices = np.array(rows).reshape(WIDTH, -1, WIDTH)
        return tuple(matrices.T.reshape(WIDTH, -1))

    sqrt_w, magnitude_w = np.sqrt, np.abs

    def total_w(a):
        return float(np.add.accumulate(a)[-1])


# Vectors of three -------------------------------------------------------------------------------------------------------


@inlined
def plus_vector_w(a, b):
    """a + b."""
    return (plus_w(a[0], b[0]), plus_w(a[1], b[1]), plus_w(a[2], b[2]))


@inlined
def minus_vector_w(a, b):
    """a − b."""
    return (minus_w(a[0], b[0]), minus_w(a[1], b[1]), minus_w(a[2], b[2]))


@inlined
def scaled_w(x, a):
    """x a."""
    return (times_w(x, a[0]), times_w(x, a[1]), times_w(x, a[2]))


@inlined
def cross_w(a, b):
    """a × b."""
    return (
        minus_w(times_w(a[1], b[2]), times_w(a[2], b[1])),
        minus_w(times_w(a[2], b[0]), times_w(a[0], b[2])),
        minus_w(times_w(a[0], b[1]), times_w(a[1], b[0])),
    )


@inlined
def symvec_w(s, a):
    """S a, with S symmetric as (xx, yy, zz, xy, xz, yz)."""
    return (
        plus_w(plus_w(times_w(s[0], a[0]), times_w(s[3], a[1])), times_w(s[4], a[2])),
        plus_w(plus_w(times_w(s[3], a[0]), times_w(s[1], a[1])), times_w(s[5], a[2])),
        plus_w(plus_w(times_w(s[4], a[0]), times_w(s[5], a[1])), times_w(s[2], a[2])),
    )
