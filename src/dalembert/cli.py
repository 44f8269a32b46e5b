"""The command line: `dalembert run`, `view`, `sweep`, `replay`, `convert` and others, which `dalembert --help` lists.

Exit codes: 0 done, 1 the run failed in the middle, 2 the input was refused, 130 interrupted (what was recorded is kept).
"""

from __future__ import annotations

import sys

from cyclopts import App

from .commands.condition import condition
from .commands.convert import convert, inspect
from .commands.methods import methods
from .commands.replay import replay
from .commands.run import run
from .commands.solvers import solvers
from .commands.sweep import sweep
from .commands.view import view

app = App(name="dalembert", help="Rigid mechanisms simulated exactly and fast, with every joule accounted for.")
for command in (run, view, sweep, replay, methods, solvers, inspect, convert, condition):
    app.command(command)


@app.command(name="list")
def list_scenes() -> int:
    """List the scenes of the gallery."""
    from . import gallery

    for name in gallery.names():
        lines = (gallery.load(name).__doc__ or "").strip().splitlines()
        print(f"{name:16} {lines[0] if lines else ''}")
    return 0


@app.command(name="compile")
def compile_everything() -> int:
    """Compile every kernel now, with every core, so that no first run waits (when an image is built, say).

    Prints a table of all kernels: what each is for, how long it took, and where it is kept.
    """
    from rich.console import Console
    from rich.table import Table

    from . import ahead, cache_folders

    rows = ahead.table(ahead.compile_ahead(ahead.everything()))
    table = Table("kernel", "purpose", "seconds", f"kept in {cache_folders.asked_for()}", box=None, pad_edge=False)
    table.columns[2].justify = "right"
    for column in table.columns:
        column.overflow = "fold"
    for row in rows:
        table.add_row(*row)
    Console(markup=False, highlight=False).print(table)
    return 0


def main() -> None:
    """Entry point of the `dalembert` command."""
    sys.exit(app(result_action="return_value"))


if __name__ == "__main__":
    main()
