"""Functions that forward keywords: `**options: Unpack[Options]` for type checkers, a signature for `help` and
completion.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


class _Shown:
    """A default that is declared elsewhere."""

    def __repr__(self) -> str:
        return "..."


SHOWN = _Shown()


def with_keywords(options: Any, of: Callable[..., Any] | None = None) -> Callable[[Function], Function]:
    """Give a function that takes `**options` the signature that names them; use it as a decorator.

    options : the TypedDict of the keywords. of : the function or class that they are handed to, which has their order and
        defaults; where its module must not be imported for that, None: defaults are then shown as "...".
    """
    names = list(options.__annotations__)
    keyword = inspect.Parameter.KEYWORD_ONLY
    if of is None:
        handed = [inspect.Parameter(name, keyword, default=SHOWN) for name in names]
    else:
        handed = [
            each.replace(kind=keyword) for each in inspect.signature(of).parameters.values() if each.name in names
        ]

    def named(function: Function) -> Function:
        own = inspect.signature(function)
        rest = [each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD]
        function.__signature__ = own.replace(parameters=[*rest, *handed])  # type: ignore[attr-defined]
        return function

    return named
