"""The tables that `make bench` writes have their places: it would stop, after minutes, where one is missing."""

import re
import sys

import pytest

from .pages import DOCS, ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
from readme import refreshed  # noqa: E402

sys.path.pop(0)

PLACES = {
    ROOT / "README.md": ("benchmark", "walls", "start"),
    DOCS / "benchmarks.md": (
        "walls", "pour", "box3d", "particles", "cloth", "interactions", "joint-coordinates", "robots", "batch", "start",
    ),
    DOCS / "linear-systems.md": ("student", "solvers"),
}  # fmt: skip


@pytest.mark.parametrize("page, name", [(page, name) for page, names in PLACES.items() for name in names])
def test_a_table_has_its_place(page, name):
    assert "all new" in refreshed(page.read_text("utf-8"), name, "all new")


def test_no_other_place_is_left():
    for page, names in PLACES.items():
        assert set(re.findall(r"^<!-- ([\w-]+) -->$", page.read_text("utf-8"), re.M)) == set(names), page
