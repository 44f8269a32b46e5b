"""The site builds without warnings and without a network, has all that is public, and asks nothing of other hosts."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dalembert

from .pages import DOCS, ROOT

pytest.importorskip("sphinx", reason="the site is built with the extra 'docs'")

FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\bsrc=["'](?P<src>[^"']+)|"""
    r"""<link\b[^>]*?\bhref=["'](?P<href>[^"']+)|url\(["']?(?P<url>[^"')]+)|@import\s+["'](?P<imported>[^"']+)"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The built site. Addresses of other hosts cannot be reached while it is built."""
    folder = tmp_path_factory.mktemp("site")
    nowhere = "http://127.0.0.1:9"
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d", str(folder / "trees"), str(DOCS),
         str(folder / "html")],
        cwd=ROOT, capture_output=True, text=True, timeout=1800,
        env=os.environ | {name: nowhere for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


def test_every_page_is_there(site):
    for page in DOCS.rglob("*.md"):
        assert (site / page.relative_to(DOCS)).with_suffix(".html").exists(), page
    text = (site / "index.html").read_text("utf-8")
    topics = (page.stem for page in DOCS.glob("*.md") if page.stem != "index")
    for name in (*topics, "how-to/model-files", "reference/scene", "chapters/index", "coming-from/mujoco"):
        assert text.count(f'href="{name}.html"') >= 2, (
            f"{name} is not on the first page beside its place in the side bar"
        )


def test_nothing_is_fetched_from_another_host(site):
    looked_at = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert len(looked_at) > 20
    for page in looked_at:
        for match in FETCHED.finditer(page.read_text("utf-8")):
            address = next(group for group in match.groups() if group)
            assert not re.match(r"(https?:)?//", address), f"{page.relative_to(site)}: {address}"


def test_what_pages_fetch_is_there(site):
    for page in site.rglob("*.html"):
        for match in FETCHED.finditer(page.read_text("utf-8")):
            address = next(group for group in match.groups() if group)
            if not address.startswith(("data:", "#")):
                assert (page.parent / address.split("?")[0].split("#")[0]).exists(), (
                    f"{page.relative_to(site)}: {address}"
                )
    assert (site / "_static" / "STIXTwoMath-Regular.ttf").stat().st_size > 100_000


def test_every_public_name_has_its_place(site):
    from sphinx.util.inventory import InventoryFile

    with (site / "objects.inv").open("rb") as file:
        inventory = InventoryFile.load(file, "", lambda base, path: path)
    known = {name for role, names in inventory.items() if role.startswith("py:") for name in names}
    wanted = {f"dalembert.{name}" for name in dalembert.__all__ if name != "__version__"}
    for owner in ("Scene", "Simulation", "Articulation", "Trajectory", "State"):
        members = (name for name in dir(getattr(dalembert, owner)) if not name.startswith("_"))
        wanted |= {f"dalembert.{owner}.{name}" for name in members}
    assert not wanted - known


def test_formulas_are_elements_of_mathml(site, monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    mathml = importlib.import_module("mathml").mathml
    assert "<mfrac><mn>1</mn><mn>2</mn></mfrac>" in mathml(r"\frac12", display=False)
    assert "𝐫" in mathml(r"\mathbf{r}", display=True)
    pages = [page for page in DOCS.rglob("*.md") if "$$" in page.read_text("utf-8")]
    for page in pages:
        assert "<math" in (site / page.relative_to(DOCS)).with_suffix(".html").read_text("utf-8")
