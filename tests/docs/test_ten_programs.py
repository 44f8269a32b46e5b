"""The programs of docs/how-to/ten-programs.md: ten, each complete, of at most 20 lines, printing what the page says."""

import contextlib
import importlib.util
import io
import re

import pytest

from .pages import DOCS, ROOT, Block, blocks

PAGE = DOCS / "how-to" / "ten-programs.md"
SUBJECTS = (
    "A pendulum", "A robot arm", "A sweep", "Your own force", "A stack of boxes", "A cloth on a table", "An interactive loop",
    "A notebook", "A cable over a pulley", "A robot from a file, with sensors",
)  # fmt: skip
MOST_LINES = 20
PROMISED = re.compile(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", re.M | re.S)


def programs() -> dict[str, list[Block]]:
    """Subject → the blocks below its heading."""
    found: dict[str, list[Block]] = {subject: [] for subject in SUBJECTS}
    text = PAGE.read_text("utf-8")
    lines = {match[1]: text.count("\n", 0, match.start()) + 1 for match in PROMISED.finditer(text)}
    for block in blocks(PAGE):
        found[max((line, subject) for subject, line in lines.items() if line < block.line)[1]].append(block)
    assert tuple(lines) == SUBJECTS
    return found


def stripped(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


def test_there_are_ten_of_at_most_twenty_lines():
    assert len(SUBJECTS) == 10
    for subject, found in programs().items():
        assert [block.language for block in found] in (["python", "text"], ["python"]), subject
        assert len(found[0].text.strip().splitlines()) <= MOST_LINES, subject
        assert "import dalembert as dal" in found[0].text, subject


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_program_runs_by_itself_and_prints_what_the_page_shows(subject, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    program, *printed = programs()[subject]
    source = "\n" * (program.line - 1) + program.text
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(source, str(PAGE), "exec"), {"__name__": "__main__", "__file__": str(tmp_path / "program.py")})
    assert stripped(out.getvalue()) == stripped("".join(block.text for block in printed))
    for name in re.findall(r'(?:save_picture|savefig|to_csv|write_text)\("([\w.]+)"', program.text):
        assert (tmp_path / name).stat().st_size > 100


def test_the_notebook_shows_a_player_and_the_report(tmp_path, monkeypatch):
    """The program is one cell; what its last line shows is a player and a table."""
    nbformat = pytest.importorskip("nbformat", reason="notebooks are executed with the extra 'test'")
    pytest.importorskip("nbclient", reason="notebooks are executed with the extra 'test'")
    spec = importlib.util.spec_from_file_location("executed", ROOT / "tests" / "notebook" / "test_executed.py")
    tools = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tools)
    (program,) = programs()["A notebook"]
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(program.text)])
    tools.execute(made, tmp_path, monkeypatch)
    (shown,) = tools.shown_by(made.cells[0].outputs)
    assert "<iframe" in shown["text/html"] and "<table" in shown["text/html"]
