"""docs/extending.md: the file of a section is added to a copy of the package, and its script is run with that copy."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs.pages import DOCS, blocks

PAGE = DOCS / "extending.md"
PACKAGE = DOCS.parent / "src" / "dalembert"


def section(title: str, folder: Path) -> list:
    """The blocks of a section of the page."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.M | re.S)
    assert found is not None, f"{PAGE.name} has no section {title!r}"
    part = folder / "section.md"
    part.write_text(found[1], "utf-8")
    return blocks(part)


def add_file(package: Path, path: str, text: str) -> None:
    """Add the file of a section. The only thing that it may change is one line of an `__init__`: the line that begins with
    the same words takes the place of the old one, or it stands at the end."""
    target = package / path
    if target.name != "__init__.py":
        assert not target.exists(), f"{path} is in the package already"
        target.write_text(text, "utf-8")
        return
    (line,) = text.strip().splitlines()
    head = line.partition("(")[0] if "=" in line else line
    lines = target.read_text("utf-8").splitlines()
    places = [k for k, old in enumerate(lines) if old.startswith(head)]
    assert len(places) <= 1
    if places:
        lines[places[0]] = line
    else:
        lines.append(line)
    target.write_text("\n".join(lines) + "\n", "utf-8")


@pytest.fixture
def extended(tmp_path):
    """A function (title of a section) → what its script printed; the script ran with the package and that one file."""

    def run(title: str) -> str:
        package = tmp_path / "package" / "dalembert"
        shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
        found = section(title, tmp_path)
        files = [block for block in found if block.language.startswith("python ") and block.language != "python script"]
        assert sum(not block.language.endswith("/__init__.py") for block in files) == 1 and len(files) <= 2
        for block in files:
            add_file(package, block.language.removeprefix("python "), block.text)
        (script,) = (block.text for block in found if block.language == "python script")
        check = f"import dalembert\nassert dalembert.__file__.startswith({str(package)!r})\n"
        done = subprocess.run(
            [sys.executable, "-c", check + script],
            cwd=tmp_path, capture_output=True, text=True, timeout=1800, check=False,
            env={**os.environ, "PYTHONPATH": str(package.parent)},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run
