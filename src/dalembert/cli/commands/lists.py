"""`dalembert list`, `dalembert methods` and `dalembert compile`."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from . import command

if TYPE_CHECKING:
    from ...gallery import Example


@command("compile")
def compile_everything() -> int:
    """Compile all kernels now, on all cores, so that no later run has to compile (for example when building an image).

    Prints a table of all kernels, with purpose, compilation time in seconds, and location of the machine code.
    """
    from rich.console import Console
    from rich.table import Table

    from ...core import cache_folders
    from ...simulation import precompile as ahead

    rows = ahead.table(ahead.precompile(ahead.everything()))
    table = Table("kernel", "purpose", "seconds", f"cached in {cache_folders.preferred()}", box=None, pad_edge=False)
    table.columns[2].justify = "right"
    for column in table.columns:
        column.overflow = "fold"
    for row in rows:
        table.add_row(*row)
    Console(markup=False, highlight=False).print(table)
    return 0


# dalembert list -------------------------------------------------------------------------------------------------------


@command("list")
def list_scenes(*, as_json: Annotated[bool, Parameter(name="--json", negative=())] = False) -> int:
    """List the scenes of the gallery.

    Parameters
    ----------
    as_json
        Print a JSON list: for each scene its name, a description, the parameters of its build() with defaults, and its
        settings.
    """
    from ... import gallery

    found = []
    for name in gallery.names():
        module = gallery.load(name)
        lines = (module.__doc__ or "").strip().splitlines()
        found.append((name, lines[0] if lines else "", module))
    if as_json:
        print(json.dumps([_as_plain(*each) for each in found], indent=1))
        return 0
    for name, line, _ in found:
        print(f"{name:16} {line}")
    return 0


def _as_plain(name: str, line: str, module: Example) -> dict[str, Any]:
    """A scene of the gallery as plain data."""
    from ...simulation.provenance import plain_items

    parameters = inspect.signature(module.build).parameters.values()
    defaults, _ = plain_items({each.name: each.default for each in parameters if each.default is not each.empty})
    settings, _ = plain_items(dict(module.SETTINGS))
    return {"name": name, "description": line, "parameters": defaults, "settings": settings}


# dalembert methods ----------------------------------------------------------------------------------------------------


@command("methods")
def methods() -> int:
    """List the integration methods and contact solvers, with their options and defaults."""
    from ...contact.solvers import SOLVERS
    from ...simulation.methods import registry

    print("Methods (--method)")
    for family in registry.FAMILIES:
        for name in family.names():
            facts = family.facts(name)
            print(f"  {name:24} order {facts.order}, {facts.steps + ';':19} {facts.help}")
    print("Options of methods")
    for each in registry.classes():
        print(f"  {each.__name__:24} {', '.join(registry.option_words(each))}")
    print("Contact solvers (--solver)")
    for name, own in SOLVERS.items():
        print(f"  {name:24} {own.help}; at most {own.iterations} passes, to {own.tolerance:g} {own.unit}")
    return 0
