"""Tables as text: which tables a run has, and what is in one of them, with names and units."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from .tables import Column, column_of, is_table

DEEPEST = 3  # objects of this package inside each other that tables are looked for in
NARROW = 10  # characters: numbers are printed with as many digits as fit


def find_tables(*owners: Any) -> dict[str, Any]:
    """The tables that objects of this package hold, by the names of their classes: "system", "tree_stepping"."""
    found: dict[str, Any] = {}

    def add(value: Any, depth: int) -> None:
        if is_table(type(value)):
            if found.setdefault(_name(type(value)), value) is value:
                for inside in value:
                    if isinstance(inside, tuple):
                        add(inside, depth)
        elif type(value).__module__.startswith("dalembert.") and depth < DEEPEST and hasattr(value, "__dict__"):
            for own in vars(value).values():
                add(own, depth + 1)

    for owner in owners:
        add(owner, 0)
    return found


def list_tables(tables: dict[str, Any]) -> str:
    """One line for each array of all tables: its name, length, kind, unit and meaning."""
    lines = [("table", "rows", "of", "unit", "")]
    for name, table in tables.items():
        for field in table._fields:
            column = column_of(type(table), field)
            if column.fields is None:
                kind = f"records of {len(column.dtype.names)}" if column.dtype.names else str(column.dtype)
                unit = "" if column.dtype.names else column.unit
                lines.append((f"{name}.{field}", str(len(getattr(table, field))), kind, unit, column.doc))
    return _aligned(lines)


def show_table(tables: dict[str, Any], name: str, most: int) -> str:
    """The first rows of an array, "contacts" or "collision.contacts": records as columns with their units.

    Raises ValueError for an unknown name, or one that several tables have.
    """
    full = [f"{owner}.{field}" for owner, table in tables.items() for field in table._fields]
    wanted = [one for one in full if one == name or one.endswith(f".{name}")]
    arrays = {id(_at(tables, one)): one for one in reversed(wanted)}
    if len(arrays) != 1:
        which = f"{name!r} is in {', '.join(wanted)}; give one of these" if arrays else f"no table is called {name!r}; "
        raise ValueError(which if arrays else which + f"there are {', '.join(full)}")
    (path,) = arrays.values()
    owner, field = path.split(".")
    table, column = tables[owner], column_of(type(tables[owner]), field)
    values = getattr(table, field)
    if column.fields is not None:
        return list_tables({_name(column.fields): values})
    used = _used(table, column, len(values))
    head = f"{path}: {used} of {len(values)} rows" + (f", {column.doc}" if column.doc else "")
    rows = values[: min(used, most)]
    more = [f"… {used - most} more"] if used > most else []
    if column.dtype.names is None:
        numbers = [(str(i), _number(value)) for i, value in enumerate(rows)]
        return "\n".join([head, _aligned([("row", column.unit or "value"), *numbers]), *more])
    units = dict(re.findall(r"(\w+) ([^,]+)", column.unit))
    titles = ["row", *(f"{one} ({units[one]})" if one in units else one for one in column.dtype.names)]
    records = [(str(i), *(_entry(np.asarray(row[one])) for one in column.dtype.names)) for i, row in enumerate(rows)]
    return "\n".join([head, _aligned([tuple(titles), *records]), *more])


def _name(kind: type) -> str:
    """The name of a class in lower case: "tree_stepping" of TreeStepping."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


def _at(tables: dict[str, Any], path: str) -> Any:
    owner, field = path.split(".")
    return getattr(tables[owner], field)


def _used(table: Any, column: Column, rows: int) -> int:
    """How many rows hold something."""
    if not column.used:
        return rows
    return int(eval(column.used, vars(sys.modules[type(table).__module__]) | table._asdict()))


def _entry(value: np.ndarray) -> str:
    return " ".join(_number(one) for one in value.reshape(-1))


def _number(value: Any) -> str:
    return str(value) if isinstance(value, (np.integer, int)) else f"{float(value):.{NARROW - 6}g}"


def _aligned(lines: Sequence[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
