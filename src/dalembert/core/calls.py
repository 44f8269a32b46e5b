"""Messages for calls with wrong arguments and for unknown attributes: the nearest name, and the arguments of the method."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from .renamed import BothNamesError

Class = TypeVar("Class", bound=type)


def explain_calls(
    hints: Mapping[tuple[str, str], str], methods: Collection[str] | None = None
) -> Callable[[Class], Class]:
    """A class decorator: for a call with wrong arguments, methods list the arguments that they take.

    hints : (method, keyword) → what to write in place of a keyword that people expect there. methods : names of the
    decorated methods; default: all public ones, and the constructor. Valid calls have next to no extra cost.
    """

    def decorate(owner: Class) -> Class:
        for name in dir(owner) if methods is None else methods:
            method = getattr(owner, name)
            if not name.startswith("_") and inspect.isfunction(method):
                setattr(owner, name, _explained(owner.__name__, name, method, hints))
        if methods is not None:
            return owner
        own = owner.__init__  # type: ignore[misc]
        owner.__init__ = _explained(owner.__name__, "__init__", own, hints)  # type: ignore[misc]
        return owner

    return decorate


def _explained(owner: str, name: str, method: Callable[..., Any], hints: Mapping[tuple[str, str], str]) -> Any:
    @functools.wraps(method)
    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            return method(*arguments, **keywords)
        except BothNamesError:
            raise
        except TypeError as error:
            message = misfit(
                owner if name == "__init__" else f"{owner}.{name}", method, arguments, keywords, hints, name
            )
            if message is None:
                raise
            raise TypeError(message) from error

    return call


def misfit(
    title: str, method: Callable[..., Any], arguments: tuple[Any, ...], keywords: Mapping[str, Any],
    hints: Mapping[tuple[str, str], str], name: str,
) -> str | None:  # fmt: skip
    """What to say of a call that does not fit the signature; None where it fits."""
    signature = inspect.signature(method)
    try:
        signature.bind(*arguments, **keywords)
    except TypeError as error:
        reason = str(error)
    else:
        return None
    known = [each for each in signature.parameters if each != "self"]
    unknown = [word for word in keywords if word not in known]
    says = f"{title}() has no keyword {unknown[0]!r}" if unknown else f"{title}(): {reason}"
    for word in unknown[:1]:
        near = difflib.get_close_matches(word, known, n=2, cutoff=0.6)
        hint = hints.get((name, word)) or (f"did you mean {' or '.join(map(repr, near))}?" if near else "")
        says += f"; {hint}" if hint else ""
    return f"{says} It takes {written(signature)}" if says.endswith("?") else f"{says}; it takes {written(signature)}"


def written(signature: inspect.Signature) -> str:
    """The parameters, as they are written in a call: those with defaults in brackets.

    >>> written(inspect.signature(lambda self, name, *, mass=None: None))
    '(name, [mass=])'
    """
    parts = []
    for each in signature.parameters.values():
        if each.name == "self" or each.kind in (each.VAR_KEYWORD, each.VAR_POSITIONAL):
            continue
        shown = f"{each.name}=" if each.kind is each.KEYWORD_ONLY else each.name
        parts.append(shown if each.default is each.empty else f"[{shown}]")
    return f"({', '.join(parts)})"


class ExplainsNames:
    """A base class whose objects name the nearest attribute, or a hint of `_hints`, for an unknown one."""

    _hints: ClassVar[Mapping[str, str]] = {}  # name that people expect → what to write instead

    if not TYPE_CHECKING:  # to a type checker, a class with `__getattr__` has every attribute

        def __getattr__(self, name: str) -> Any:
            if hasattr(type(self), name):
                return object.__getattribute__(self, name)  # a property that failed: its own error
            raise AttributeError(name if name.startswith("_") else unknown_attribute(self, name))


def unknown_attribute(thing: Any, name: str) -> str:
    """The message for an attribute that an object does not have."""
    known = [each for each in dir(thing) if not each.startswith("_")]
    hint = getattr(type(thing), "_hints", {}).get(name)
    near = difflib.get_close_matches(name, known, n=2, cutoff=0.6)
    if hint is None:
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"it has {', '.join(known)}"
    return f"{type(thing).__name__} has no attribute {name!r}; {hint}"
