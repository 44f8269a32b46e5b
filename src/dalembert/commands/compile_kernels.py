"""`dalembert compile`."""

from __future__ import annotations

from . import command


@command("compile")
def compile_everything() -> int:
    """Compile every kernel now, with every core, so that no first run waits (when an image is built, say).

    Prints a table of all kernels: what each is for, how long it took, and where it is kept.
    """
    from rich.console import Console
    from rich.table import Table

    from .. import ahead, cache_folders

    rows = ahead.table(ahead.compile_ahead(ahead.everything()))
    table = Table("kernel", "purpose", "seconds", f"kept in {cache_folders.asked_for()}", box=None, pad_edge=False)
    table.columns[2].justify = "right"
    for column in table.columns:
        column.overflow = "fold"
    for row in rows:
        table.add_row(*row)
    Console(markup=False, highlight=False).print(table)
    return 0
