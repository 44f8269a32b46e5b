"""The pages of the documentation, what is in them, and how their blocks are run."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PEERS = {"mujoco", "pybullet", "pymunk"}  # a block that imports one is run where it is installed
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line of the page that it starts at."""

    language: str
    text: str
    line: int


def pages(folder: str = "") -> list[Path]:
    """Pages of a folder of docs/ and below; of docs/ itself, and README.md, without one."""
    if folder:
        return sorted((DOCS / folder).rglob("*.md"))
    return [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    text = page.read_text("utf-8")
    return [Block(match[1].strip(), match[2], text.count("\n", 0, match.start()) + 2) for match in FENCE.finditer(text)]


def with_python(found: list[Path]) -> list[Path]:
    """Those that have Python to run."""
    return [page for page in found if any(block.language == "python" for block in blocks(page))]


def peers_missing(text: str) -> bool:
    """Whether a block imports another engine that is not installed."""
    import importlib.util

    wanted = PEERS & set(re.findall(r"^import (\w+)", text, re.M))
    return any(importlib.util.find_spec(name) is None for name in wanted)


def run_page(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run all Python of a page in one namespace, in a folder of its own; a failure names the line of the page."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace = {"__name__": "__main__", "__file__": os.fspath(folder / "page.py")}
    for block in blocks(page):
        if block.language == "python" and not peers_missing(block.text):
            source = "\n" * (block.line - 1) + block.text
            exec(compile(source, os.fspath(page), "exec"), namespace)
