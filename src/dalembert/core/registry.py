"""Registries: objects by name, each added by the file that defines it; and compiled dispatch over registered functions."""

from __future__ import annotations

import importlib
import linecache
import math
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


# Dispatch by a number, made of a registry ------------------------------------------------------------------------------


def by_kind(
    module: str, name: str, arguments: str, functions: Mapping[int, Callable[..., Any]], otherwise: str,
    passed: Mapping[int, str] | None = None,
) -> Any:  # fmt: skip
    """The compiled function name(kind, arguments), which calls the function of that kind.

    It is written as source, one comparison after another in the order of `functions`, because Numba compiles no loop over
    different functions; LLVM makes a jump table of the comparisons. The functions become part of it.

    module : the module that it belongs to. arguments : their names, "size, u". otherwise : an expression, which may use
    `inf`, of what it returns for other kinds. passed : the arguments of each function, where they are not all of them.
    """
    file = f"<{module}.{name}>"
    lines = [f"def {name}(kind, {arguments}):"]
    for i, kind in enumerate(functions):
        own = arguments if passed is None else passed[kind]
        lines += [f"    if kind == {kind}:", f"        return function_{i}({own})"]
    source = "\n".join([*lines, f"    return {otherwise}"]) + "\n"
    space: dict[str, Any] = {f"function_{i}": function for i, function in enumerate(functions.values())}
    space |= {"__name__": module, "inf": math.inf}
    exec(compile(source, file, "exec"), space)
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file  # for tracebacks
    return inlined(space[name])
