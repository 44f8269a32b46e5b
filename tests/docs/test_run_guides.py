"""The Python of docs/how-to runs, each page in one namespace; that of ten-programs.md, see test_ten_programs.py."""

import pytest

from .pages import name_of, pages, run_page, with_python

PAGES = [page for page in with_python(pages("how-to")) if page.name != "ten-programs.md"]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_page_runs(page, tmp_path, monkeypatch):
    run_page(page, tmp_path, monkeypatch)
