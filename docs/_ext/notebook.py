"""Pages of the site as notebooks to download: their Python is in cells, everything else in Markdown.

The page is the only source. By hand: ``python docs/_ext/notebook.py docs/tutorial.md tutorial.ipynb``.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

PAGES = ("tutorial", "how-to/notebooks")
PYTHON = re.compile(r"^```python\n(.*?)^```\n?", re.M | re.S)
PICTURE = re.compile(r"^!\[[^\]]*\]\((?!https?:)[^)]*\)\n*", re.M)  # of a file that a download does not have
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)[^)]*\)")


def notebook_of(text: str) -> dict[str, Any]:
    """The notebook of a page in Markdown, by version 4.5 of the format. Links to other pages become plain text."""
    cells = []
    parts = PYTHON.split(text)
    for i, part in enumerate(parts):
        code = i % 2 == 1
        source = part.strip("\n") if code else LINK.sub(r"\1", PICTURE.sub("", part)).strip()
        if not source:
            continue
        cell: dict[str, Any] = {
            "cell_type": "code" if code else "markdown",
            "id": f"cell-{len(cells)}",
            "metadata": {},
            "source": source.splitlines(keepends=True),
        }
        cells.append(cell | ({"execution_count": None, "outputs": []} if code else {}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def write_notebook(page: Path, path: Path) -> None:
    """Write the notebook of a page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook_of(page.read_text("utf-8")), indent=1, ensure_ascii=False) + "\n", "utf-8")


def setup(app: Any) -> dict[str, Any]:
    """Write the notebooks beside the pages, and link to each below the title of its page."""

    def link(app: Any, name: str, source: list[str]) -> None:
        if name in PAGES:
            file = f"{Path(name).name}.ipynb"
            words = f'<a class="notebook" href="{file}" download>Download this page as a notebook</a>'
            source[0] = re.sub(r"\A(# .*\n)", rf"\1\n{words}\n", source[0], count=1)

    def write(app: Any, failure: Exception | None) -> None:
        if failure is None and app.builder.format == "html":
            for name in PAGES:
                write_notebook(Path(app.srcdir) / f"{name}.md", Path(app.outdir) / f"{name}.ipynb")

    app.connect("source-read", link)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    write_notebook(Path(sys.argv[1]), Path(sys.argv[2]))
