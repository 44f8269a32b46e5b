"""docs/architecture.md names files and folders that are there, and leaves no folder of the package out."""

import re
from pathlib import Path

import pytest

from .pages import DOCS, ROOT

PACKAGE = ROOT / "src" / "dalembert"
PAGE = (DOCS / "architecture.md").read_text("utf-8")
ROWS = re.findall(r"^\| (`.+?) \| (.+) \|$", PAGE, re.M)
NAMED = re.compile(r"`([\w./*]+(?:\.py|\.js|/))`")


def there(name: str, folders: list[Path]) -> bool:
    """Whether a file, a folder, or something that a pattern fits is in one of the folders."""
    return any(next(folder.glob(name.rstrip("/")), None) is not None for folder in folders)


@pytest.mark.parametrize("where, text", ROWS, ids=[row[0] for row in ROWS])
def test_what_the_table_names_is_in_the_folder_of_its_row(where, text):
    for name in NAMED.findall(where):
        assert there(name, [PACKAGE]), name
    folders = [PACKAGE, *(PACKAGE / name for name in NAMED.findall(where) if name.endswith("/"))]
    for name in NAMED.findall(text):
        assert there(name, folders), name


def test_what_the_text_names_is_somewhere_in_the_repository():
    everywhere = [ROOT, PACKAGE, *(path for path in PACKAGE.iterdir() if path.is_dir()), DOCS, DOCS / "_ext"]
    for name in NAMED.findall(PAGE):
        assert there(name, everywhere), name


def test_every_folder_has_its_row():
    named = {name.rstrip("/") for where, _ in ROWS for name in NAMED.findall(where)}
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert folders <= named, folders - named


def test_every_module_of_the_package_itself_is_named():
    named = {name.rpartition("/")[2] for name in NAMED.findall(PAGE)}
    modules = {path.name for path in PACKAGE.glob("*.py") if not path.name.startswith("__")}
    assert modules <= named, sorted(modules - named)
