"""mypy and pyright, both strict: no error in correct programs and in the documentation, and each mistake at its line."""

import shutil
from pathlib import Path

import pytest

from .checkers import Reports, by_mypy, by_pyright, pyright
from .docs_code import write_programs

HERE = Path(__file__).parent
MARK = "# error"
pytestmark = pytest.mark.slow
NO_PYRIGHT = pytest.mark.skipif(pyright is None, reason="basedpyright, of the extra 'test', is not installed")
CHECKERS = [pytest.param(by_mypy, id="mypy"), pytest.param(by_pyright, id="pyright", marks=NO_PYRIGHT)]


@pytest.fixture(scope="module", params=CHECKERS)
def reports(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Reports:
    """What a checker says of all programs: one call, as it reads the package each time."""
    folder = tmp_path_factory.mktemp("programs")
    for file in (*HERE.glob("correct/*.py"), HERE / "mistakes.py"):
        shutil.copy(file, folder)
    assert len(write_programs(folder)) > 30
    return request.param(folder)


def test_correct_programs_and_the_documentation_have_no_errors(reports):
    wrong = [f"{file}:{line}: {text}" for (file, line), text in sorted(reports.items()) if file != "mistakes.py"]
    assert not wrong, "\n".join(wrong)


def test_each_mistake_is_reported_at_its_line(reports):
    lines = (HERE / "mistakes.py").read_text("utf-8").splitlines()
    marked = {number for number, line in enumerate(lines, 1) if line.endswith(MARK)}
    found = {line for file, line in reports if file == "mistakes.py"}
    assert len(marked) > 70
    missed = [lines[number - 1] for number in sorted(marked - found)]
    assert not missed, "not reported:\n" + "\n".join(missed)
    assert not found - marked, [reports["mistakes.py", number] for number in sorted(found - marked)]
