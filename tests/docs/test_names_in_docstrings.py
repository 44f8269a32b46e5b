"""Docstrings and comments name modules, and things in them, that are there: `contact.limits`, `view.still.save_movie`."""

import ast
import re

from .pages import ROOT

PACKAGE = ROOT / "src" / "dalembert"
FOLDERS = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
NAMED = re.compile(r"`([a-z_]+(?:\.\w+)+)`")


def things() -> dict[str, set[str]]:
    """Module → the names that it binds, in its text."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text("utf-8")
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
        defined = {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        found[module] = defined | set(re.findall(r"^(\w+)\b[^=\n]*=", text, re.MULTILINE))
    return found


def test_modules_that_comments_and_docstrings_name_are_there():
    known, wrong = things(), []
    assert "contact.limits" in known and "save_movie" in known["view.still"]
    for path in (*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            for name in NAMED.findall(line):
                owner, _, thing = name.rpartition(".")
                if name.split(".")[0] in FOLDERS and name not in known and thing not in known.get(owner, ()):
                    wrong.append(f"{path.relative_to(ROOT)}:{number}: {name}")
    assert not wrong, "\n".join(wrong)
