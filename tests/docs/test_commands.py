"""Commands in the documentation exist, and those that are quick are run."""

import re
import shlex
from pathlib import Path

import pytest

from dalembert import gallery
from dalembert.cli import app

from .pages import blocks, name_of, pages

INSTALL = {"pip install .", "make docs", "make demo"}
PAGES = [*pages(), *pages("how-to"), *pages("chapters"), *pages("coming-from")]


def commands(page: Path) -> list[str]:
    """What console blocks tell to type."""
    lines = [line for block in blocks(page) if block.language == "console" for line in block.text.splitlines()]
    return [line[2:].split("#")[0].strip() for line in lines if line.startswith("$ ")]


def mentioned(page: Path) -> list[str]:
    """Commands that stand indented in a page, as in README.md."""
    return [
        line.split("#")[0].strip() for line in re.findall(r"^    (dalembert [a-z].*)$", page.read_text("utf-8"), re.M)
    ]


WITH_CONSOLE = [page for page in PAGES if commands(page)]


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page) or mentioned(page)], ids=name_of)
def test_commands_are_understood(page):
    for command in [*commands(page), *mentioned(page)]:
        if command not in INSTALL:
            words = shlex.split(command)
            assert words[0] == "dalembert", command
            app.parse_args(words[1:], exit_on_error=False, print_error=False)


def quick(words: list[str]) -> bool:
    """Whether a command runs a scene of the gallery for a short time, or a file that is there, and opens no browser."""
    if words[0] not in ("run", "convert") or "--view" in words or (words[0] == "run" and "--duration" not in words):
        return False
    return words[1] in gallery.names() or Path(words[1]).exists()


@pytest.mark.parametrize("page", WITH_CONSOLE, ids=name_of)
def test_quick_commands_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for command in commands(page):
        words = shlex.split(command)[1:]
        if command not in INSTALL and quick(words):
            assert app(words, result_action="return_value") == 0, command
