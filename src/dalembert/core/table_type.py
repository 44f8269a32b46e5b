"""The type of tables in compiled code: one pointer to addresses and lengths; see `tables`.

Imported by `tables.table_at` when the first function of a table is compiled, as it imports Numba.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models, register_default
from numba.core.errors import TypingError
from numba.core.imputils import lower_getattr_generic
from numba.core.registry import cpu_target
from numba.core.typing.templates import AttributeTemplate, infer_getattr

from .c_function import array_type, make_view
from .tables import column_of


class TableType(types.Type):  # type: ignore[misc]
    """The type of a table of one NamedTuple class."""

    def __init__(self, fields: Any) -> None:
        self.fields = fields
        super().__init__(f"{fields.__module__.removeprefix('dalembert.')}.{fields.__qualname__}")

    @property
    def key(self) -> Any:
        return self.fields


@register_default(TableType)
class TableModel(models.PrimitiveModel):  # type: ignore[misc]
    """The pointer."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.IntType(64).as_pointer())


@infer_getattr
class TableAttribute(AttributeTemplate):  # type: ignore[misc]
    """`table.name` is an array of the declared dtype, or the table that is nested there."""

    key = TableType

    def generic_resolve(self, table: TableType, name: str) -> Any:  # type: ignore[override]
        try:
            declared = column_of(table.fields, name)
        except AttributeError as error:
            raise TypingError(str(error)) from None
        return array_type(declared.dtype) if declared.fields is None else TableType(declared.fields)


@lower_getattr_generic(TableType)
def read(context: Any, builder: Any, table: TableType, value: Any, name: str) -> Any:
    """Load address and length. An address table is written before C functions are given it, and not while they run."""
    invariant = builder.module.add_metadata([])

    def word(k: int) -> Any:
        loaded = builder.load(cgutils.gep_inbounds(builder, value, k))
        loaded.set_metadata("invariant.load", invariant)
        return loaded

    declared, at = column_of(table.fields, name), 2 * table.fields._fields.index(name)
    if declared.fields is not None:
        return builder.inttoptr(word(at), ir.IntType(64).as_pointer())
    data = builder.inttoptr(word(at), ir.IntType(8).as_pointer())
    return make_view(context, builder, array_type(declared.dtype), data, [word(at + 1)])


cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
