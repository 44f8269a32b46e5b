"""Fast access to arrays for the innermost loops: unchecked loads and stores, whole arrays, four numbers at a time.

`load` and `store` omit the test for negative indices that Numba makes at each access. The index must be within the
array; indices come from tables of the compiled model.
"""

import functools
import math

import numpy as np

from .jit import DISABLED, cgutils, extending, inlined, intrinsic, ir, njit, types


def _pointer(context, builder, array_type, array, index):
    data = context.make_array(array_type)(context, builder, array).data
    return cgutils.pointer_add(builder, data, builder.mul(index, index.type(8)))


@intrinsic
def load(typing_context, array, index):
    """array[index] of a contiguous float64 array."""

    def generate(context, builder, signature, arguments):
        return builder.load(_pointer(context, builder, signature.args[0], *arguments))

    return types.float64(array, types.int64), generate


@intrinsic
def store(typing_context, array, index, value):
    """array[index] = value for a contiguous float64 array."""

    def generate(context, builder, signature, arguments):
        builder.store(arguments[2], _pointer(context, builder, signature.args[0], *arguments[:2]))
        return context.get_dummy_value()

    return types.void(array, types.int64, types.float64), generate


if DISABLED:

    def load(array, index):
        return array[index]

    def store(array, index, value):
        array[index] = value


# Whole arrays ---------------------------------------------------------------------------------------------------------
# NumPy's slices would count references and test for overlaps.


@njit
def clear(a):
    """a = 0."""
    for i in range(a.shape[0]):
        a[i] = 0.0


@njit
def copy(target, source):
    """target = source, of the length of `target`."""
    for i in range(target.shape[0]):
        target[i] = source[i]


@njit
def is_finite(a):
    """Whether all numbers of an array are finite."""
    for i in range(a.shape[0]):
        if not abs(a[i]) < math.inf:
            return False
    return True


# Four numbers at a time -----------------------------------------------------------------------------------------------
# SIMD operations that the compiler does not make of a loop by itself where that is short, or where it cannot tell
# whether the rows it reads and writes overlap. Four numbers are in one register where the processor has such.


@functools.cache
def lanes(count, single=False):
    """Numba's type of so many numbers in one register, or in several: of float64, or of float32."""

    class Lanes(types.Type):
        def __init__(self):
            super().__init__(f"{count} {'single ' if single else ''}lanes")
            self.single = single

    @extending.register_model(Lanes)
    class LanesModel(extending.models.PrimitiveModel):
        def __init__(self, manager, kind):
            number = ir.FloatType() if single else ir.DoubleType()
            super().__init__(manager, kind, ir.VectorType(number, count))

    return Lanes()


def _four():
    return lanes(4)


def _vector():
    return ir.VectorType(ir.DoubleType(), 4)


def _vector_of(array_type):
    """The type of four numbers of an array: of float64, or of float32, which is converted where it is read or written."""
    return _vector() if array_type.dtype == types.float64 else ir.VectorType(ir.FloatType(), 4)


def _pointer_to_four(context, builder, array_type, array, index):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), _vector_of(array_type).as_pointer())


@intrinsic
def load4(typing_context, array, index):
    """The four from array[index] on, of a contiguous array of float64 or float32."""

    def generate(context, builder, signature, arguments):
        kind = signature.args[0]
        found = builder.load(_pointer_to_four(context, builder, kind, *arguments), align=kind.dtype.bitwidth // 8)
        return found if kind.dtype == types.float64 else builder.fpext(found, _vector())

    return _four()(array, types.int64), generate


@intrinsic
def store4(typing_context, array, index, value):
    """array[index : index + 4] = value, of a contiguous array of float64 or float32."""

    def generate(context, builder, signature, arguments):
        kind, value = signature.args[0], arguments[2]
        pointer = _pointer_to_four(context, builder, kind, *arguments[:2])
        if kind.dtype != types.float64:
            value = builder.fptrunc(value, _vector_of(kind))
        builder.store(value, pointer, align=kind.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.int64, _four()), generate


def _index(k):
    return ir.Constant(ir.IntType(32), k)


def _listed(context, builder, array_type, array, indices_type, indices, at, shift):
    """Pointers to array[indices[at + k] + shift], k = 0 … 3."""
    data = context.make_array(array_type)(context, builder, array).data
    table = context.make_array(indices_type)(context, builder, indices).data
    for k in range(4):
        index = builder.load(builder.gep(table, [builder.add(at, at.type(k))]))
        yield builder.gep(data, [builder.add(builder.sext(index, at.type), shift)])


@intrinsic
def gather4(typing_context, array, indices, at, shift):
    """array[indices[at + k] + shift], k = 0 … 3, of an array of float64 or float32, with int32 indices."""

    def generate(context, builder, signature, arguments):
        kinds = signature.args
        result = ir.Constant(_vector_of(kinds[0]), ir.Undefined)
        for k, pointer in enumerate(
            _listed(context, builder, kinds[0], arguments[0], kinds[1], arguments[1], *arguments[2:])
        ):
            result = builder.insert_element(result, builder.load(pointer), _index(k))
        return result if kinds[0].dtype == types.float64 else builder.fpext(result, _vector())

    return _four()(array, indices, types.int64, types.int64), generate


@intrinsic
def subtract_listed4(typing_context, array, indices, at, shift, value):
    """array[indices[at + k] + shift] −= value[k], one after another: indices may be the same."""

    def generate(context, builder, signature, arguments):
        kinds, value = signature.args, arguments[4]
        if kinds[0].dtype != types.float64:
            value = builder.fptrunc(value, _vector_of(kinds[0]))
        for k, pointer in enumerate(
            _listed(context, builder, kinds[0], arguments[0], kinds[1], arguments[1], *arguments[2:4])
        ):
            builder.store(builder.fsub(builder.load(pointer), builder.extract_element(value, _index(k))), pointer)
        return context.get_dummy_value()

    return types.void(array, indices, types.int64, types.int64, _four()), generate


@intrinsic
def total4(typing_context, value):
    """The sum of the four."""

    def generate(context, builder, signature, arguments):
        parts = [builder.extract_element(arguments[0], _index(k)) for k in range(4)]
        return builder.fadd(builder.fadd(parts[0], parts[1]), builder.fadd(parts[2], parts[3]))

    return types.float64(_four()), generate


@intrinsic
def four(typing_context, a, b, c, d):
    """Four numbers."""

    def generate(context, builder, signature, arguments):
        result = ir.Constant(_vector(), ir.Undefined)
        for k in range(4):
            result = builder.insert_element(result, arguments[k], _index(k))
        return result

    return _four()(*[types.float64] * 4), generate


@intrinsic
def spread(typing_context, value):
    """One number, four times."""

    def generate(context, builder, signature, arguments):
        result = ir.Constant(_vector(), ir.Undefined)
        for k in range(4):
            result = builder.insert_element(result, arguments[0], _index(k))
        return result

    return _four()(types.float64), generate


# Arithmetic takes values of any number of lanes: see `simd_wide`.


def _operator(instruction):
    """The function that does an operation on each two numbers."""

    @intrinsic
    def operate(typing_context, a, b):
        return a(a, b), lambda context, builder, signature, arguments: getattr(builder, instruction)(*arguments)

    return operate


plus4, minus4, times4, over4 = map(_operator, ("fadd", "fsub", "fmul", "fdiv"))


@intrinsic
def larger4(typing_context, a, b):
    """The larger of each two."""

    def generate(context, builder, signature, arguments):
        return builder.select(builder.fcmp_ordered(">", *arguments), *arguments)

    return a(a, b), generate


@intrinsic
def select4(typing_context, a, b, value, other):
    """`value` where a > b, `other` elsewhere."""

    def generate(context, builder, signature, arguments):
        return builder.select(builder.fcmp_ordered(">", *arguments[:2]), *arguments[2:])

    return a(a, b, value, other), generate


@intrinsic
def largest4(typing_context, a):
    """The largest of the numbers, as a float64."""

    def generate(context, builder, signature, arguments):
        largest = builder.extract_element(arguments[0], _index(0))
        for k in range(1, arguments[0].type.count):
            part = builder.extract_element(arguments[0], _index(k))
            largest = builder.select(builder.fcmp_ordered(">", part, largest), part, largest)
        return largest if largest.type == ir.DoubleType() else builder.fpext(largest, ir.DoubleType())

    return types.float64(a), generate


@intrinsic
def part4(typing_context, value, k):
    """One of the numbers."""

    def generate(context, builder, signature, arguments):
        return builder.extract_element(*arguments)

    return types.float64(value, types.int64), generate


@intrinsic
def where4(typing_context, a, b, value):
    """The value where a > b, zero elsewhere."""
    four = _four()

    def generate(context, builder, signature, arguments):
        zero = ir.Constant(_vector(), [0.0] * 4)
        return builder.select(builder.fcmp_ordered(">", *arguments[:2]), arguments[2], zero)

    return four(four, four, four), generate


def _shuffled(*order):
    """The function that makes four numbers of those of one register."""

    @intrinsic
    def shuffle(typing_context, value):
        four = _four()

        def generate(context, builder, signature, arguments):
            indices = ir.Constant(ir.VectorType(ir.IntType(32), 4), order)
            return builder.shuffle_vector(arguments[0], ir.Constant(_vector(), ir.Undefined), indices)

        return four(four), generate

    return shuffle


# Each of four numbers three times, for four vectors one after another: the first four of these twelve, and so on.
THRICE = (0, 0, 0, 1), (1, 1, 2, 2), (2, 3, 3, 3)
first_thrice, middle_thrice, last_thrice = (_shuffled(*order) for order in THRICE)


if DISABLED:

    def load4(array, index):
        return array[index : index + 4].astype(np.float64)

    def store4(array, index, value):
        array[index : index + 4] = value

    def spread(value):
        return np.full(4, value)

    def four(a, b, c, d):
        return np.array([a, b, c, d])

    def gather4(array, indices, at, shift):
        return array[indices[at : at + 4] + shift].astype(np.float64)

    def subtract_listed4(array, indices, at, shift, value):
        np.subtract.at(array, indices[at : at + 4] + shift, value.astype(array.dtype))

    def part4(value, k):
        return value[k]

    def total4(value):
        return (value[0] + value[1]) + (value[2] + value[3])

    plus4, minus4, times4, larger4, largest4 = np.add, np.subtract, np.multiply, np.maximum, np.max

    def over4(a, b):
        with np.errstate(all="ignore"):
            return a / b

    def where4(a, b, value):
        return np.where(a > b, value, 0.0)

    def select4(a, b, value, other):
        return np.where(a > b, value, other)

    first_thrice, middle_thrice, last_thrice = (lambda value, order=order: value[list(order)] for order in THRICE)


@inlined
def dot4(a, b):
    """a · b of vectors of three, one a lane."""
    return plus4(plus4(times4(a[0], b[0]), times4(a[1], b[1])), times4(a[2], b[2]))
