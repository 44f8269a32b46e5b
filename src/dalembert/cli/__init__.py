"""The command line: `dalembert run`, `view`, `sweep`, `replay`, `convert` and others, which `dalembert --help` lists.

Exit codes: 0 success, 1 the run failed, 2 invalid input, 130 interrupted (recorded frames are kept).
"""

from __future__ import annotations

import sys

from cyclopts import App

from .commands import all_commands

app = App(
    name="dalembert",
    help="A physics engine for mechanisms, robots, contact and particles, with an energy audit of every run.",
)
for name, command in all_commands().items():
    app.command(command, name=name)


def main() -> None:
    """Entry point of the `dalembert` command."""
    sys.exit(app(result_action="return_value"))


if __name__ == "__main__":
    main()
