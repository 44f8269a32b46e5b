"""Many tables as one argument: a tuple of arrays becomes, inside compiled code, one array of addresses and lengths.

A function asks for what it needs at its head: `kinematics = kinematics_of(system)`. Handing the tuple of arrays itself
from function to function would copy hundreds of numbers at every call. Without compilation the argument is that tuple.
"""

import ctypes
from typing import Any

import numpy as np

from .jit import DISABLED, cgutils, intrinsic, ir, types
from .pointer import array_type, make_view

_NOTHING = ctypes.c_char * 0
_flags_of: Any = np.ndarray.flags.__get__  # attributes of record arrays are looked up in Python


def reader(fields: Any, name: str, dtype: Any = np.float64) -> Any:
    """The function that finds one field of the tuple `fields` (a NamedTuple class of arrays of records or numbers)."""
    if DISABLED:
        return lambda tables: getattr(tables, name)
    at = 2 * fields._fields.index(name)

    @intrinsic
    def of(typing_context, tables):
        kind = array_type(dtype)

        def generate(context, builder, signature, arguments):
            table = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            address, count = (builder.load(cgutils.gep_inbounds(builder, table, at + k)) for k in range(2))
            return make_view(context, builder, kind, builder.inttoptr(address, ir.IntType(8).as_pointer()), [count])

        return kind(tables), generate

    return of


def address_of(array: np.ndarray) -> int:
    """Where the numbers of a contiguous array are."""
    # The attribute `ctypes` says it, too, but takes four times as long.
    return ctypes.addressof(_NOTHING.from_buffer(array)) if _flags_of(array).writeable else int(array.ctypes.data)


def address_table(tables: Any) -> np.ndarray:
    """(2 n,) int64: address and length of every array of the tuple, which must outlive it."""
    return np.array([(address_of(array), array.size) for array in tables], np.int64).reshape(-1)


def handed(tables: Any) -> Any:
    """What kernels take for a tuple of arrays, which must outlive it."""
    return tables if DISABLED else address_table(tables)


class Nested(np.ndarray):
    """The address table of a tuple that is part of another: see `nested`."""

    tables: Any


def nested(tables: Any) -> Any:
    """A tuple of arrays as a field of another tuple. Its `tables` is the tuple itself."""
    found = address_table(tables).view(Nested)
    found.tables = tables
    return found


def nested_reader(fields: Any, name: str) -> Any:
    """The function that finds a field that `nested` made: an argument for the readers of its own fields."""
    if DISABLED:
        return lambda tables: getattr(tables, name).tables
    return reader(fields, name, np.int64)


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
