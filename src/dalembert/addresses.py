"""Readers of tables, for modules that do not read them by attribute yet; see `tables`."""

from typing import Any

import numpy as np

from .jit import DISABLED, intrinsic
from .pointer import part_of as part_of
from .tables import address_of as address_of
from .tables import address_table as address_table
from .tables import handed as handed
from .tables import own_address as own_address


def reader(fields: Any, name: str, dtype: Any = np.float64) -> Any:
    """The function that finds one field of a table."""
    if DISABLED:
        return lambda table: getattr(table, name)

    @intrinsic
    def of(typing_context, table):
        from . import table_type

        found = typing_context.resolve_getattr(table, name)

        def generate(context, builder, signature, arguments):
            return table_type.read(context, builder, table, arguments[0], name)

        return found(table), generate

    return of


def nested_reader(fields: Any, name: str) -> Any:
    """The function that finds a table inside a table."""
    return reader(fields, name)
