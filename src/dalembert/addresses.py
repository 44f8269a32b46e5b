"""Many tables as one argument: a tuple of arrays becomes, inside compiled code, one array of addresses and lengths.

A function asks for what it needs at its head: `kinematics = kinematics_of(system)`. Handing the tuple of arrays itself
from function to function would copy hundreds of numbers at every call. Without compilation the argument is that tuple.
"""

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from .pointer import array_type, make_view


def reader(fields: Any, name: str, dtype: Any = np.float64) -> Any:
    """The function that finds one field of the tuple `fields` (a NamedTuple class of arrays of records or numbers)."""
    if numba.config.DISABLE_JIT:
        return lambda tables: getattr(tables, name)
    at = 2 * fields._fields.index(name)
    kind = array_type(dtype)

    @intrinsic
    def of(typing_context, tables):
        def generate(context, builder, signature, arguments):
            table = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            address, count = (builder.load(cgutils.gep_inbounds(builder, table, at + k)) for k in range(2))
            return make_view(context, builder, kind, builder.inttoptr(address, ir.IntType(8).as_pointer()), count)

        return kind(tables), generate

    return of


def address_table(tables: Any) -> np.ndarray:
    """(2 n,) int64: address and length of every array of the tuple, which must outlive it."""
    return np.array([[array.ctypes.data, array.size] for array in tables], np.int64).reshape(-1)
