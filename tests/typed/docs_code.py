"""The Python of the documentation as programs for type checkers."""

import ast
import tokenize
from pathlib import Path

from docs.pages import DOCS, ROOT, blocks

PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def program_of(page: Path) -> str:
    """All Python of a page in one program, each line at the line of the page."""
    lines: list[str] = []
    for block in blocks(page):
        if block.language == "python":
            lines += [""] * (block.line - 1 - len(lines)) + block.text.splitlines()
    return with_any("\n".join(lines) + "\n")


def with_any(source: str) -> str:
    """The program, with `: Any` and `-> Any` where a function of the reader's has no annotation.

    Functions that a page defines for its calculations stay short so, and all that they call is checked all the same.
    """
    lines = source.splitlines()
    puts: list[tuple[int, int, str]] = []  # line from 0 on, column in bytes, text
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef):
            continue
        given = node.args
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
        for each in every:
            if each.annotation is None and each.arg not in ("self", "cls"):
                puts.append((int(each.end_lineno or 0) - 1, int(each.end_col_offset or 0), ": __Any"))
        if node.returns is None:
            puts.append((*_colon(lines, node.lineno - 1), " -> __Any"))
    for row, column, text in sorted(puts, reverse=True):
        line = lines[row].encode()
        lines[row] = (line[:column] + text.encode() + line[column:]).decode()
    head = "from typing import Any as __Any" if puts else ""
    if head:
        assert lines[0] == "", "the first line of a page is its title"
        lines[0] = head
    return "\n".join(lines) + "\n"


def _colon(lines: list[str], first: int) -> tuple[int, int]:
    """The line, and the column in bytes, of the colon that ends the head of a function."""
    depth = 0
    for token in tokenize.generate_tokens(iter([line + "\n" for line in lines[first:]]).__next__):
        depth += (token.string in "([{") - (token.string in ")]}") if token.type == tokenize.OP else 0
        if token.string == ":" and depth == 0:
            row = first + token.start[0] - 1
            return row, len(lines[row][: token.start[1]].encode())
    raise AssertionError("a function without a colon")


def write_programs(folder: Path) -> dict[str, Path]:
    """Write the programs of all pages to a folder. Returns file name → page."""
    found = {}
    for page in PAGES:
        if any(block.language == "python" for block in blocks(page)):
            name = "_".join(page.relative_to(ROOT).with_suffix("").parts).replace("-", "_") + ".py"
            (folder / name).write_text(program_of(page), "utf-8")
            found[name] = page
    return found
