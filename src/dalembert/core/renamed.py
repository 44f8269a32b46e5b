"""Names that changed. Old names work for one release and issue a DeprecationWarning that names the new one.

Type checkers and completion see the new names only.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

SETTINGS = {"frames": "frame_rate"}
"""Settings of runs: old name → new name."""
_PACKAGE = str(Path(__file__).parent.parent)
Function = TypeVar("Function", bound=Callable[..., Any])


class BothNamesError(TypeError):
    """A call gives a keyword under its old name and under its new one."""


def warn_renamed(old: str, new: str) -> None:
    """Issue a DeprecationWarning that points at the caller's line outside this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    message = f"{old} is now called {new}; write {new} (the old name will be removed in the next release)"
    warnings.warn(message, DeprecationWarning, stacklevel=level)


def renamed_keywords(**new_names: str) -> Callable[[Function], Function]:
    """Let a function take keywords by their old names (old=new), with a warning; use it as a decorator.

    Raises TypeError for a call that gives both names.
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*args: Any, **keywords: Any) -> Any:
            if not new_names.keys().isdisjoint(keywords):
                keywords = current_names(keywords, new_names)
            return function(*args, **keywords)

        return call  # type: ignore[return-value]

    return decorate


def renamed_method(old: str, new: str) -> Any:
    """The method `new` under its old name."""

    def call(self: Any, *args: Any, **keywords: Any) -> Any:
        owner = type(self).__name__
        warn_renamed(f"{owner}.{old}", f"{owner}.{new}")
        return getattr(self, new)(*args, **keywords)

    call.__name__, call.__doc__ = old, f"The old name of `{new}`."
    return call


def current_names(
    given: Mapping[str, Any], new_names: Mapping[str, str] = SETTINGS, *, quiet: bool = False
) -> dict[str, Any]:
    """Keywords with new names in place of old ones. quiet : without warnings, for what a file recorded.

    >>> current_names({"frames": 30.0}, quiet=True)
    {'frame_rate': 30.0}
    """
    found = dict(given)
    for old, new in new_names.items():
        if old not in found:
            continue
        if new in found:
            raise BothNamesError(f"{old} and {new} are both given; {old} is the old name of {new}; give {new} alone")
        if not quiet:
            warn_renamed(old, new)
        found[new] = found.pop(old)
    return found
