"""Links between the pages lead somewhere, also where they are read as plain Markdown; examples with >>> are as they say."""

import doctest
import re

import pytest

from .pages import DOCS, FENCE, ROOT, name_of, pages

PAGES = [*pages(), *(page for page in sorted(DOCS.rglob("*.md")) if page.parent != DOCS)]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def anchors(text: str) -> set[str]:
    """What a code host calls the headings of a page."""
    heads = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    for target in LINK.findall(FENCE.sub("", page.read_text("utf-8"))):
        if target.startswith(("https://", "http://")):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists() and found.is_relative_to(ROOT), target
        assert not anchor or anchor in anchors(found.read_text("utf-8")), target


@pytest.mark.parametrize("page", [page for page in PAGES if ">>> " in page.read_text("utf-8")], ids=name_of)
def test_examples_with_prompts_print_what_they_say(page):
    assert doctest.testfile(str(page), module_relative=False).failed == 0


SOURCE = re.compile(r"\[`([\w/]+\.py)`\]\(([^)\s]+\.py)\)")
ITEM = re.compile(r"^- .*(?:\n  .*)*", re.M)
LINKED = [page for page in PAGES if SOURCE.search(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", LINKED, ids=name_of)
def test_links_to_files_are_called_by_their_paths(page):
    for name, target in SOURCE.findall(page.read_text("utf-8")):
        assert f"/{target}".endswith(f"/{name}"), f"{name} leads to {target}"


@pytest.mark.parametrize("page", [page for page in LINKED if page.parent.name == "chapters"], ids=name_of)
def test_functions_named_beside_a_file_are_in_it(page):
    for item in ITEM.findall(page.read_text("utf-8")):
        files = [(page.parent / target).read_text("utf-8") for _, target in SOURCE.findall(item)]
        for name in re.findall(r"`(\w+)`", item) if files else ():
            assert any(re.search(rf"\b{name}\b", text) for text in files), f"{name} is in none of the files of: {item}"
