"""Tables: many arrays as one argument of compiled code.

A table is a NamedTuple whose fields are declared once, each with dtype, number of rows, unit and meaning:

    class Stepping(NamedTuple):
        motion: Any = column("6 * (bodies + 1)", unit="m/s, rad/s", doc="velocities of bodies")
        contacts: Any = column("contacts", CONTACT, doc="points of contact")
        system: Any = part(System)

Compiled code takes a table as one pointer to an array of addresses and lengths, two int64 a field (`address_table`), and
reads `stepping.motion` and `stepping.system.kinematics` as Python does: see `table_type`. `table_at(Stepping, address)` is
the table at an address, for C functions. Without compilation a table is the NamedTuple itself.
"""

import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np

from .c_function import C_TYPE, view
from .jit import DISABLED, CFunction, intrinsic, types

Table = TypeVar("Table", bound=tuple[Any, ...])
_NOTHING: Any = ctypes.c_char * 0
_flags_of: Any = np.ndarray.flags.__get__  # attributes of record arrays are looked up in Python


@dataclass(frozen=True, eq=False)
class Column:
    """The declaration of one field of a table; see `column` and `part`."""

    shape: str
    dtype: np.dtype
    unit: str
    doc: str
    fill: float
    used: str
    writer: str
    fields: Any  # the class of the table that is nested here; None for an array


def column(
    shape: str = "", dtype: Any = np.float64, unit: str = "", doc: str = "", fill: float = 0.0, used: str = "",
    writer: str = "",
) -> Any:  # fmt: skip
    """Declare an array of a table.

    shape : number of rows, an expression in sizes that `allocate` is given and in constants of the table's module; "" where
    the array is always given.
    dtype : of records or numbers. unit : of the numbers; of records "position m, impulse N s", those that have units.
    fill : what `allocate` fills numbers with.
    used : how many rows hold something, an expression in fields of the same table; "" for all.
    writer : the module or function that writes it, such as "dynamics.kinematics".
    """
    return Column(shape, np.dtype(dtype), unit, doc, fill, used, writer, None)


def part(fields: Any, doc: str = "") -> Any:
    """Declare a table inside a table."""
    return Column("", np.dtype(np.int64), "", doc, 0.0, "", "", fields)


def is_table(kind: Any) -> bool:
    """Whether a class is a table: all its fields are declared by `column` or `part`."""
    declared = getattr(kind, "_field_defaults", {})
    return bool(declared) and all(isinstance(declared.get(name), Column) for name in kind._fields)


def column_of(fields: Any, name: str) -> Column:
    """The declaration of a field. Raises AttributeError for a name that the table does not have, and lists those it has."""
    try:
        return fields._field_defaults[name]  # type: ignore[no-any-return]
    except KeyError:
        raise AttributeError(f"{fields.__name__} has no table {name!r}; it has {', '.join(fields._fields)}") from None


# Allocation -------------------------------------------------------------------------------------------------------------


def allocate(fields: type[Table], sizes: dict[str, int], /, **given: Any) -> Table:
    """Make a table: arrays as declared, but for those that are given.

    Raises AttributeError for a name that the table does not have, TypeError for an array of another dtype, ValueError
    for a field without a shape that is not given, and KeyError for a size that is missing.
    """
    for name in given:
        column_of(fields, name)
    kind: Any = fields
    made = {name: given[name] if name in given else _blank(kind, name, sizes) for name in kind._fields}
    for name, value in made.items():
        declared = column_of(fields, name)
        if declared.fields is None and value.dtype != declared.dtype:
            raise TypeError(f"{kind.__name__}.{name} must be of {declared.dtype}, not of {value.dtype}")
    return kind(**made)  # type: ignore[no-any-return]


def grow(table: Table, known: dict[str, int] | None = None, /, **sizes: int) -> Table:
    """The same table with new arrays where the number of rows depends on one of `sizes`. Their contents are lost.

    known : further sizes that those rows depend on. Raises KeyError for one that is missing.
    """
    fields: Any = type(table)
    shapes = {name: _code(shape) for name in fields._fields if (shape := column_of(fields, name).shape)}
    names = [name for name, code in shapes.items() if not sizes.keys().isdisjoint(code.co_names)]
    return table._replace(**{name: _blank(fields, name, (known or {}) | sizes) for name in names})  # type: ignore[attr-defined, no-any-return]


@cache
def _code(shape: str) -> Any:
    return compile(shape, "<shape of a table>", "eval")


def _blank(fields: Any, name: str, sizes: dict[str, int]) -> np.ndarray:
    """An array as declared."""
    declared = column_of(fields, name)
    if not declared.shape:
        raise ValueError(f"{fields.__name__}.{name} has no declared shape; give the array")
    code, constants = _code(declared.shape), vars(sys.modules[fields.__module__])
    missing = [size for size in code.co_names if size not in sizes and size not in constants]
    if missing:
        raise KeyError(f"{fields.__name__}.{name} has {declared.shape} rows; give {', '.join(missing)}")
    known = {size: sizes[size] if size in sizes else constants[size] for size in code.co_names}
    rows = eval(code, {"__builtins__": {}}, known)
    if declared.dtype.names is not None:
        return np.zeros(rows, declared.dtype).view(np.recarray)
    array = aligned(rows, declared.dtype)
    if declared.fill != 0:  # zeros are not written, so that the system gives memory only to what is used
        array[:] = declared.fill
    return array


LINE = 64  # bytes of a line of the cache, and of a register of AVX-512


def aligned(rows: int, dtype: Any) -> np.ndarray:
    """(rows,) zeros of a dtype, which begin at a line of the cache."""
    size = rows * np.dtype(dtype).itemsize
    room = np.zeros(size + LINE, np.uint8)
    begin = -address_of(room) % LINE
    return room[begin : begin + size].view(dtype)


# Addresses --------------------------------------------------------------------------------------------------------------


class AddressTable(np.ndarray):
    """(2 n,) int64: address and length of every array of a table."""

    parts: list[Any]  # these arrays, and the address tables of nested tables, which must live as long
    address: int  # its own


def address_of(array: np.ndarray) -> int:
    """The address of the numbers of a contiguous array."""
    # The attribute `ctypes` has it, too, but takes four times as long.
    return ctypes.addressof(_NOTHING.from_buffer(array)) if _flags_of(array).writeable else int(array.ctypes.data)


def address_table(table: Any) -> AddressTable:
    """The argument of compiled code for a table. It keeps the arrays of the table alive."""
    parts = []
    rows: list[int] = []
    for value in table:
        if isinstance(value, tuple):
            value = address_table(value)
        parts.append(value)
        rows += address_of(value), value.size
    table = np.array(rows, np.int64).view(AddressTable)
    table.parts, table.address = parts, address_of(table)
    return table


def handed(table: Any) -> Any:
    """The argument of kernels for a table."""
    return table if DISABLED else address_table(table)


# In compiled code -------------------------------------------------------------------------------------------------------


@intrinsic
def table_at(typing_context: Any, fields: Any, address: Any) -> Any:
    """The table of a class at the address (int64) of its `address_table`, in compiled code."""
    from .table_type import TableType

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[1], context.get_value_type(signature.return_type))

    return TableType(fields.instance_class)(fields, types.int64), generate


if DISABLED:

    def own_address(table: Any) -> int:
        """The address of the address table; 0 without compilation."""
        return 0

else:

    @intrinsic
    def own_address(typing_context: Any, table: Any) -> Any:
        """The address of the address table: `data` for C functions of the same table."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ptrtoint(arguments[0], context.get_value_type(types.int64))

        return types.int64(table), generate


# C functions of tables ------------------------------------------------------------------------------------------------


class TableFunction:
    """A C function of a tuple of tables: its `address`, and the `data` to call it with; owns the arrays.

    plain : the same in Python, (task, t, values_in, values_out, tables) → status, for runs without compilation.
    """

    def __init__(self, compiled: CFunction, plain: Callable[..., int], tables: Any) -> None:
        self.tables = tables
        self._table = address_table(tables)
        self.data = int(self._table.ctypes.data)
        if DISABLED:

            def call(data: int, task: int, t: float, source: int, n: int, target: int, m: int) -> int:
                return int(plain(task, t, view(source, n), view(target, m), tables))

            self._callback = C_TYPE(call)
            self.address = int(ctypes.cast(self._callback, ctypes.c_void_p).value or 0)
        else:
            self.address = compiled.address
        self._function = C_TYPE(self.address)

    def call(self, task: int, t: float, values_in: np.ndarray, values_out: np.ndarray) -> int:
        """Call it with a task and two contiguous float64 arrays; returns a status."""
        return int(
            self._function(
                self.data, task, t, values_in.ctypes.data, values_in.size, values_out.ctypes.data, values_out.size
            )
        )
