"""Nothing public is left out of the reference: what no page lists is put at the end of one."""

import functools
import inspect
import re
import typing
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import dalembert

CLASSES = {"reference/scene": "Scene", "reference/simulation": "Simulation"}  # page → the class whose members it lists
REST = "reference/more"  # where names of the package go


def listed(folder: Path) -> set[str]:
    """The names that the pages list, without that of the package."""
    pages = "".join(page.read_text("utf-8") for page in sorted((folder / "reference").glob("*.rst")))
    return set(re.findall(r"^\.\. auto\w+:: dalembert\.([\w.]+)", pages, re.M))


def directive(owner: Any, path: str) -> str:
    """What shows a name: a class with its members, a function, a property, or a value."""
    item = inspect.getattr_static(owner, path.rpartition(".")[2]) if "." in path else getattr(owner, path)
    if typing.get_origin(item) is not None:  # a type that is no class
        return f".. autodata:: dalembert.{path}\n   :no-value:\n"
    if typing.is_typeddict(item):
        return f".. autoclass:: dalembert.{path}\n"
    if inspect.isclass(item):
        return f".. autoclass:: dalembert.{path}\n   :members:\n   :inherited-members: Exception\n"
    if isinstance(item, property | functools.cached_property):
        return f".. autoproperty:: dalembert.{path}\n"
    kind = ("method" if "." in path else "function") if callable(item) or isinstance(item, classmethod) else "data"
    return f".. auto{kind}:: dalembert.{path}\n"


def complete(app: Sphinx, document: str, source: list[str]) -> None:
    """Append what is not listed to the page where it belongs."""
    if document in CLASSES:
        prefix, owner = f"{CLASSES[document]}.", getattr(dalembert, CLASSES[document])
        names = [name for name in dir(owner) if not name.startswith("_")]
    elif document == REST:
        prefix, owner = "", dalembert
        names = [name for name in dalembert.__all__ if not name.startswith("_")]
    else:
        return
    missing = sorted({prefix + name for name in names} - listed(Path(app.srcdir)))
    if missing:
        parts = [directive(owner, path) for path in missing]
        source[0] += "\n".join(["", "More", "----", "", *parts])


def setup(app: Sphinx) -> dict[str, Any]:
    """Extend the pages when they are read."""
    app.connect("source-read", complete)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
