"""The Python of docs/chapters runs, each page in one namespace."""

import pytest

from .pages import name_of, pages, run_page, with_python


@pytest.mark.parametrize("page", with_python(pages("chapters")), ids=name_of)
def test_page_runs(page, tmp_path, monkeypatch):
    run_page(page, tmp_path, monkeypatch)
