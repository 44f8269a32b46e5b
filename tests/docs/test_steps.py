"""The pages that walk through a step name functions that are there, called by the functions and in the order that they claim.

A line of such a page names a file, a function of it, and, where the caller does not name that function, the name of the
pointer, task or job by which it is called. Lines one level in are the functions that it calls. A second list goes on from a
function of the first.
"""

import ast
import difflib
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from .pages import DOCS, ROOT

PACKAGE = ROOT / "src" / "dalembert"
MOST_FILES = {"step-of-a-mechanism": 8, "step-of-contact": 19, "step-of-cloth": 10}
LINE = re.compile(r"^(?P<indent> *)- \[`(?P<file>[\w/]+\.py): (?P<name>[\w.]+)`\]\((?P<link>\S+)\)"
                  r"(?: \(by `(?P<by>\w+)`\))?: (?P<text>\S.*)$")  # fmt: skip


@dataclass
class Line:
    """A line of a page: a function, how it is called, and the lines of what it calls."""

    number: int
    depth: int
    file: str
    name: str
    link: str
    by: str | None
    calls: list["Line"] = field(default_factory=list)


def read(page: str) -> list[Line]:
    """The functions of a page in its order."""
    lines: list[Line] = []
    path: list[Line] = []
    for number, text in enumerate((DOCS / f"{page}.md").read_text("utf-8").splitlines(), 1):
        if not text.lstrip().startswith("- "):
            continue
        found = LINE.match(text)
        assert found, f"{page}.md:{number}: write `- [`file.py: function`](link) (by `name`): what it computes`"
        depth = len(found["indent"]) // 2
        line = Line(number, depth, found["file"], found["name"], found["link"], found["by"])
        assert depth <= len(path), f"{page}.md:{number}: this line has no caller"
        if depth:
            path[depth - 1].calls.append(line)
        elif lines:
            before = [(other.file, other.name) for other in lines]
            assert (line.file, line.name) in before, f"{page}.md:{number}: no line above calls {line.name}"
        path[depth:] = [line]
        lines.append(line)
    return lines


@cache
def functions(file: str) -> dict[str, ast.FunctionDef]:
    """The functions and methods of a file, the latter as Class.method."""
    found = {}
    for node in ast.parse((PACKAGE / file).read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, node)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{part.name}": part for part in node.body if isinstance(part, ast.FunctionDef)}
    return found


def used(function: ast.FunctionDef) -> list[str]:
    """The names in the body of a function, in the order of its text."""
    found = []
    for statement in function.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                found.append((node.lineno, node.col_offset, node.id))
            elif isinstance(node, ast.Attribute):
                found.append((node.lineno, node.end_col_offset or 0, node.attr))
    return [name for _, _, name in sorted(found)]


def elsewhere(line: Line) -> str:
    """Where else a function of this name is, or what resembles it in its file."""
    likely = (path for path in sorted(PACKAGE.rglob("*.py")) if f"def {line.name}(" in path.read_text("utf-8"))
    files = [str(path.relative_to(PACKAGE)) for path in likely]
    same = [file for file in files if line.name in functions(file)]
    if same:
        return f"there is one in {', '.join(same)}"
    known = functions(line.file) if (PACKAGE / line.file).exists() else {}
    return f"similar names there: {', '.join(difflib.get_close_matches(line.name, known)) or 'none'}"


@pytest.mark.parametrize("page", MOST_FILES)
def test_functions_are_in_the_files_that_the_page_names(page):
    lines = read(page)
    missing = []
    for line in lines:
        if not (PACKAGE / line.file).exists() or line.name not in functions(line.file):
            missing.append(f"{page}.md:{line.number}: {line.file} has no {line.name}; {elsewhere(line)}")
        if (DOCS / line.link).resolve() != PACKAGE / line.file:
            missing.append(f"{page}.md:{line.number}: the link leads to {line.link}, not to {line.file}")
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("page", MOST_FILES)
def test_functions_are_called_by_the_line_above_and_in_this_order(page):
    lines = read(page)
    wrong = []
    for caller in lines:
        names, at = used(functions(caller.file)[caller.name]), -1
        for line in caller.calls:
            name = line.by or line.name.rpartition(".")[2]
            if name not in names:
                wrong.append(f"{page}.md:{line.number}: {caller.file}: {caller.name} does not use {name}")
            elif name not in names[at + 1 :]:
                wrong.append(f"{page}.md:{line.number}: {caller.name} uses {name} before the call of the line above")
            else:
                at = names.index(name, at + 1)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("page, most", MOST_FILES.items())
def test_a_step_is_read_in_few_files(page, most):
    lines = read(page)
    files = sorted({line.file for line in lines})
    assert len(files) <= most, files
    assert len(lines) > 2 * len(files)
    assert max(line.depth for line in lines) <= 8, "Markdown nests no deeper: begin another list"


def test_a_wrong_page_is_noticed(tmp_path, monkeypatch):
    text = (DOCS / "step-of-contact.md").read_text("utf-8")
    monkeypatch.setattr(f"{__name__}.DOCS", tmp_path)
    changed = tmp_path / "step-of-contact.md"
    changed.write_text(text.replace("contact/velocities.py: set_biases`", "contact/velocities.py: set_bias`"), "utf-8")
    with pytest.raises(
        AssertionError, match=r"contact/velocities.py has no set_bias; there is one in contact/restitution.py"
    ):
        test_functions_are_in_the_files_that_the_page_names("step-of-contact")
    lines = text.splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if "warm_start`]" in line)
    lines[first], lines[first + 2] = lines[first + 2], lines[first]
    changed.write_text("".join(lines), "utf-8")
    with pytest.raises(AssertionError, match=r"solve_island uses start_island before the call of the line above"):
        test_functions_are_called_by_the_line_above_and_in_this_order("step-of-contact")


def test_every_page_about_a_step_is_checked():
    assert {path.stem for path in Path(DOCS).glob("step-of-*.md")} == set(MOST_FILES)
