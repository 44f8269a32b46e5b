"""Write the tables of methods into docs/how-to/methods.md, from the registry."""

import sys
from pathlib import Path

from dalembert.simulation.methods import registry

HERE = Path(__file__).parent
PAGE = HERE / "how-to" / "methods.md"
TABLES = {"methods": registry.table, "method-options": registry.options_table}

if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent / "benchmarks"))
    from readme import refreshed

    text = PAGE.read_text("utf-8")
    for name, table in TABLES.items():
        text = refreshed(text, name, table())
    PAGE.write_text(text, "utf-8")
