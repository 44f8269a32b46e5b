"""Registries: things by name, each added by the file that defines it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from .jit import inlined

Thing = TypeVar("Thing")


class UnknownName(ValueError, KeyError):
    """A name that nothing has."""

    __str__ = ValueError.__str__  # that of KeyError puts the message in quotes


class Registry(Mapping[str, Thing], Generic[Thing]):
    """Things by name. The files that add them are imported when the registry is first read.

    what : what a thing is called in messages: "contact solver". package, files : the package, and the name of the tuple of
    module names in its `__init__`.

    >>> letters = Registry[int]("letter")
    >>> letters.add("a", 1)
    >>> letters["b"]
    Traceback (most recent call last):
    dalembert.core.registry.UnknownName: unknown letter 'b'; the letters are a
    """

    def __init__(self, what: str, package: str = "", files: str = "") -> None:
        self.what, self._things = what, dict[str, Thing]()
        self._package, self._files, self._complete = package, files, not package

    def add(self, name: str, thing: Thing) -> None:
        """Add a thing. Raises ValueError if there is one of that name."""
        if name in self._things:
            raise ValueError(f"two {self.what}s are called {name!r}; rename one of them")
        self._things[name] = thing

    def _all(self) -> dict[str, Thing]:
        """All things, once the files that add them are imported."""
        if not self._complete:
            self._complete = True  # a file that is being imported may ask
            files: Iterable[str] = getattr(importlib.import_module(self._package), self._files)
            for file in files:
                importlib.import_module(f"{self._package}.{file}")
        return self._things

    def __getitem__(self, name: str) -> Thing:
        things = self._all()
        if name not in things:
            raise UnknownName(f"unknown {self.what} {name!r}; the {self.what}s are {', '.join(things)}")
        return things[name]

    def __contains__(self, name: object) -> bool:
        return name in self._all()

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


# Choosing a compiled function by a number -----------------------------------------------------------------------------


def by_kind(
    module: str,
    arguments: str,
    kinds: Mapping[int, Callable[..., Any]],
    otherwise: str,
    arguments_of: Mapping[int, str] | None = None,
) -> Any:
    """A compiled function of `kind` and these arguments, that calls the function of that kind with them, or with those that
    `arguments_of` has for it; `otherwise`, an expression, is what it returns for other kinds.

    It is one if after another, in the order of `kinds`, written as source: Numba compiles no loop over different functions.
    module : the name of the module that it becomes part of.
    """
    lines = [f"def choose(kind, {arguments}):"]
    for i, number in enumerate(kinds):
        own = arguments if arguments_of is None else arguments_of[number]
        lines += [f"    if kind == {number}:", f"        return kind_{i}({own})"]
    lines.append(f"    return {otherwise}")
    names: dict[str, Any] = {f"kind_{i}": function for i, function in enumerate(kinds.values())}
    names["__name__"] = module
    exec(compile("\n".join(lines), f"<{module}>", "exec"), names)
    return inlined(names["choose"])
