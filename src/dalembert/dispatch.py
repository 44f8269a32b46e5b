"""The choice between compiled functions by a number, made of a registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .jit import inlined


def by_kind(
    module: str,
    arguments: str,
    kinds: Mapping[int, Callable[..., Any]],
    otherwise: str,
    given: Mapping[int, str] | None = None,
) -> Any:
    """A compiled function of `kind` and these arguments, that calls the function of that kind with them, or with those that
    `given` has for it; `otherwise`, an expression, is what it returns for other kinds.

    It is one if after another, in the order of `kinds`, written as source: Numba compiles no loop over different functions.
    module : the name of the module that it becomes part of.
    """
    lines = [f"def choose(kind, {arguments}):"]
    for i, number in enumerate(kinds):
        own = arguments if given is None else given[number]
        lines += [f"    if kind == {number}:", f"        return kind_{i}({own})"]
    lines.append(f"    return {otherwise}")
    names: dict[str, Any] = {f"kind_{i}": function for i, function in enumerate(kinds.values())}
    names["__name__"] = module
    exec(compile("\n".join(lines), f"<{module}>", "exec"), names)
    return inlined(names["choose"])
