"""The choice between compiled functions by a number, made of a registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .jit import inlined


def by_kind(module: str, arguments: str, kinds: Mapping[int, Callable[..., Any]], otherwise: str) -> Any:
    """A compiled function of `kind` and these arguments, that calls the function of that kind with them; `otherwise`, an
    expression, is what it returns for other kinds.

    It is one if after another, in the order of `kinds`, written as source: Numba compiles no loop over different functions.
    module : the name of the module that it becomes part of.
    """
    lines = [f"def choose(kind, {arguments}):"]
    for i, number in enumerate(kinds):
        lines += [f"    if kind == {number}:", f"        return kind_{i}({arguments})"]
    lines.append(f"    return {otherwise}")
    names: dict[str, Any] = {f"kind_{i}": function for i, function in enumerate(kinds.values())}
    names["__name__"] = module
    exec(compile("\n".join(lines), f"<{module}>", "exec"), names)
    return inlined(names["choose"])


def field_of(module: str, name: str) -> Any:
    """A compiled function of a table that reads its field of this name."""
    names: dict[str, Any] = {"__name__": module}
    exec(compile(f"def read(table):\n    return table.{name}", f"<{module}>", "exec"), names)
    return inlined(names["read"])
