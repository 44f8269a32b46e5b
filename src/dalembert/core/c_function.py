"""Calls of user functions from compiled kernels, through a C function pointer, so that the kernel is not recompiled:

    int64 function(int64 data, int64 task, double t, double *in, int64 n_in, double *out, int64 n_out)

which returns 0, or a code of at least `status.PASSED_THROUGH`. `data` is a value registered with the function, such as
an address. User functions have no data, and a single task. The pointer also keeps compile time low: the code on either
side of it is compiled once, on its own.
"""

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .jit import DISABLED, arrayobj, cgutils, intrinsic, ir, njit, numpy_support, types
from .status import ENDS_RUN

RAISED = ENDS_RUN  # a Python function raised: see `user_function.Pointer.error`
WRONG_LENGTH = ENDS_RUN + 1  # a compiled function returned another number of values than it should
NOT_A_NUMBER = ENDS_RUN + 2  # the function of an event returned NaN

# Tasks: what a system of equations is asked for.
DERIVATIVE = 0  # out = f(t, in)
COMPLETE = 1  # in: the end of a step, moved in place onto what it must satisfy; out = f there
COMPLETE_EVALUATED = 2  # the same, where out holds f(t, in) already
MEASURE = 3  # evaluate, and leave what is recorded in the system's own tables
DRIFT = 4  # in: advanced in place over out[0] seconds, at constant momenta
CONSTRAIN = 5  # in: changes wanted of the rates J v, at the state evaluated last; out: the impulses that make them
PARTICLE_FORCES = 6  # in: places and velocities of particles; out: forces on them
PARTICLE_MATRIX = 7  # the same; out: a matrix, to which minus their derivatives are added
SOLVE = 8  # in: a right-hand side; out: the solution, with what is prescribed of it on entry
FORCES = (
    9  # at a state whose kinematics are in the tables: J, J̇ v and the forces on all bodies; out: those of particles
)
WRITE = 10  # out = f(t, in) from these forces and those of constraints in the tables
RECORD = 11  # the rest of MEASURE, after these two
CARRY = 12  # in: a state, out: f there; behind both is written what a step carries beside them
MERGE = 13  # in: a raw step's end, and behind it what was carried: put into the state
KINEMATICS = 14  # in: a state; kinematics, J, J̇ v and the factorization there
FACTORIZE = 15  # the factorization anew, where `compliance` of joints has changed
EVENT = 16  # in: a state; out[0] changes sign where the event is
PARTICLE_RATES = 17  # in: places of particles; out: their velocities, and forces, to which more are added
PARTICLE_ENERGY = 18  # the same, where only the potential energy is asked for; out is overwritten
POWERS = 19  # the ledger's powers of forces once more, at the velocities in the kinematics table
POTENTIAL = 20  # the potential energy of forces on bodies, into `energies[1]`
CHOOSE_ROWS = 21  # in: a state with closed joints; which rows of J count until the next COMPLETE
LOOK_TO = 22  # in: the end of a step, out: f there: a look into the step begins
LOOK_FROM = 23  # in: its start, out: f there
LOOK = 24  # in: a state within it; out[0]: the time (s) from there within which no event can be; 0 where there is one

C_TYPE = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_double, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p,
    ctypes.c_int64,
)  # fmt: skip
C_SIGNATURE = "int64(int64, int64, float64, CPointer(float64), int64, CPointer(float64), int64)"


@intrinsic
def _call_address(typing_context, address, data, task, t, data_in, n_in, data_out, n_out):
    """Call the C function at `address`; data_in and data_out are addresses of float64 arrays."""

    def generate(context, builder, signature, arguments):
        number, word = ir.DoubleType(), ir.IntType(64)
        kind = ir.FunctionType(word, [word, word, number, word, word, word, word])
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        return builder.call(function, arguments[1:])

    word = types.int64
    return word(word, word, word, types.float64, types.uint64, word, types.uint64, word), generate


@functools.cache
def array_type(dtype: Any, dimensions: int = 1) -> Any:
    """The Numba type of a contiguous array of a NumPy dtype."""
    return types.Array(numpy_support.from_dtype(np.dtype(dtype)), dimensions, "C")


def make_view(context: Any, builder: Any, kind: Any, data: Any, shape: Sequence[Any]) -> Any:
    """Code for an array of a shape at the LLVM pointer `data`, which it does not own."""
    item = context.get_data_type(kind.dtype)
    size = context.get_constant(types.intp, context.get_abi_sizeof(item))
    strides = [size]
    for length in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], length))
    array = context.make_array(kind)(context, builder)
    arrayobj.populate_array(array, builder.bitcast(data, item.as_pointer()), list(shape), strides, size, None)
    return array._getvalue()


def viewer(dtype: Any, dimensions: int = 1) -> Any:
    """A function (pointer, count) → array, for compiled code; `numba.carray` counts references. With more than one dimension
    it takes a shape instead of the count."""

    @intrinsic
    def view_at(typing_context, pointer, shape):
        kind = array_type(dtype, dimensions)
        shape = types.int64 if dimensions == 1 else types.UniTuple(types.int64, dimensions)

        def generate(context, builder, signature, arguments):
            data = arguments[0]
            if not isinstance(data.type, ir.PointerType):
                data = builder.inttoptr(data, ir.IntType(8).as_pointer())
            lengths = [arguments[1]] if dimensions == 1 else cgutils.unpack_tuple(builder, arguments[1])
            return make_view(context, builder, kind, data, lengths)

        return kind(pointer, shape), generate

    return view_at


@intrinsic
def part_of(typing_context, array, at, count):
    """array[at : at + count] of a contiguous float64 array."""

    floats = array_type(np.float64)

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return make_view(context, builder, floats, builder.gep(data, [arguments[1]]), [arguments[2]])

    return floats(array, types.int64, types.int64), generate


if DISABLED:

    def part_of(array, at, count):
        """array[at : at + count] of a contiguous float64 array."""
        return array[at : at + count]

    def call_pointer(address, data, task, t, values_in, values_out):
        """Call the C function at `address` (int64) on two contiguous float64[n] arrays; returns its status."""
        function = C_TYPE(int(address))
        return function(
            int(data), task, t, values_in.ctypes.data, values_in.size, values_out.ctypes.data, values_out.size
        )

else:

    @njit
    def call_pointer(address, data, task, t, values_in, values_out):
        """Call the C function at `address` (int64) on two contiguous float64[n] arrays; returns its status."""
        return _call_address(
            address, data, task, t, values_in.ctypes.data, values_in.size, values_out.ctypes.data, values_out.size
        )


def view(address: int, n: int) -> np.ndarray:
    """The float64[n] array at an address."""
    return np.ctypeslib.as_array((ctypes.c_double * n).from_address(address))
