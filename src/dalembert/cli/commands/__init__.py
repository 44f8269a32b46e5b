"""Commands of the command line. Each file adds one with `@command`. Exit codes: 0 for success, or one of these."""

from __future__ import annotations

import functools
import importlib
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from ...core.registry import Registry
from ...core.status import SimulationWarning

FAILED, REFUSED, INTERRUPTED = 1, 2, 130
COMMANDS: Registry[Callable[..., int]] = Registry("command")
Command = TypeVar("Command", bound=Callable[..., int])


def command(name: str) -> Callable[[Command], Command]:
    """Add a function as the command of that name. Its parameters are those of the command, and its docstring the help. Bad
    input that it raises is printed in a line."""

    def add(function: Command) -> Command:
        @functools.wraps(function)
        def guarded(*arguments: Any, **options: Any) -> int:
            try:
                return function(*arguments, **options)
            except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
                print(f"dalembert: {str(error) or type(error).__name__}", file=sys.stderr)
                return REFUSED
            except KeyboardInterrupt:
                return INTERRUPTED

        COMMANDS.add(name, guarded)
        return function

    return add


def all_commands() -> dict[str, Callable[..., int]]:
    """The commands by name, of all files here."""
    for file in sorted(Path(__file__).parent.glob("[!_]*.py")):
        importlib.import_module(f"{__name__}.{file.stem}")
    return dict(COMMANDS)


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Print each `SimulationWarning` on the standard error once, without a place in the code."""
    with warnings.catch_warnings():
        other = warnings.showwarning

        def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, SimulationWarning):
                print(f"dalembert: warning: {message}", file=sys.stderr, flush=True)
            else:
                other(message, category, *where, **more)

        warnings.showwarning = show  # type: ignore[assignment]
        yield
