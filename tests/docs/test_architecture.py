"""docs/architecture.md names files and folders that are there, and leaves no folder and no module of the package out."""

import importlib
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


def folders() -> list[Path]:
    """The folders of the package with modules."""
    return sorted(path.parent for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE)


@pytest.mark.parametrize("where, text", ROWS, ids=[row[0] for row in ROWS])
def test_what_the_table_names_is_in_the_folder_of_its_row(where, text):
    for name in NAMED.findall(where):
        assert there(name, [PACKAGE]), name
    folders = [PACKAGE, *(PACKAGE / name for name in NAMED.findall(where) if name.endswith("/"))]
    for name in NAMED.findall(text):
        assert there(name, folders), name


def test_what_the_text_names_is_somewhere_in_the_repository():
    everywhere = [ROOT, PACKAGE, *folders(), DOCS, DOCS / "_ext"]
    for name in NAMED.findall(PAGE):
        assert there(name, everywhere), name


def test_every_folder_has_its_row():
    named = [name.rstrip("/") for where, _ in ROWS for name in NAMED.findall(where)]
    missing = {str(folder.relative_to(PACKAGE)) for folder in folders()} - set(named)
    assert not missing, f"the table has no row for {sorted(missing)}"
    assert len(named) == len(set(named))


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: str(folder.relative_to(PACKAGE)))
def test_every_module_is_named_in_the_row_of_its_folder(folder):
    name = str(folder.relative_to(PACKAGE))
    (text,) = [text for where, text in ROWS if where == f"`{name}/`"]
    modules = {path.name for path in folder.glob("*.py") if not path.name.startswith("__")}
    if name == "gallery":  # the scenes are on a page of their own
        modules = {module for module in modules if module.startswith("_")}
    missing = modules - set(NAMED.findall(text))
    assert not missing, f"the row of {name}/ does not name {sorted(missing)}"


def test_the_package_itself_has_no_other_modules():
    assert [path.name for path in PACKAGE.glob("*.py")] == ["__init__.py"]


def test_the_picture_is_that_of_its_script_and_names_every_folder(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    drawing = importlib.import_module("make_data_flow").drawing()
    assert (DOCS / "data-flow.svg").read_text("utf-8") == drawing, "run docs/make_data_flow.py"
    shown = set(re.findall(r"([a-z]+)/", drawing))
    assert {folder.name for folder in folders() if folder.parent == PACKAGE} <= shown
