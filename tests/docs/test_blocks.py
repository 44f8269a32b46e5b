"""Every fenced block is of a kind that is run or checked."""

import re

import pytest

from .pages import DOCS, ROOT, blocks, name_of

RUN, CHECKED, SHOWN = "python", "console", "text"
ADDED = re.compile(r"python (script|[\w/]+\.py)")  # in extending.md: see tests/extending


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))], ids=name_of)
def test_blocks_are_python_console_or_plain_text(page):
    languages = {block.language for block in blocks(page)}
    if page.name == "gallery.md":  # written by make_gallery.py: thumbnails, and code read from the scenes
        languages = {name for name in languages if not name.startswith(("{container}", "{literalinclude} ../src/"))}
    if page.name == "extending.md":
        languages = {name for name in languages if not ADDED.fullmatch(name)}
    assert languages <= {RUN, CHECKED, SHOWN}


def test_a_block_that_fails_names_its_line(tmp_path, monkeypatch):
    from .pages import run_page

    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```python\nx = 1\n```\n\nand\n\n```python\nx / 0\n```\n", "utf-8")
    with pytest.raises(ZeroDivisionError) as raised:
        run_page(page, tmp_path, monkeypatch)
    assert raised.traceback[-1].lineno + 1 == 10
