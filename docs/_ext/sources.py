"""Links to files of Python, which a code host shows by itself, lead to pages of the site that show them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
FOLDER = "code"


def link(app: Sphinx, document: nodes.document) -> None:
    """Turn what would be a download of a .py file of the repository into a link to its page."""
    shown: set[str] = set()
    for node in list(document.findall(addnodes.download_reference)):
        path = Path(app.env.doc2path(app.env.docname)).parent / node["reftarget"]
        if path.suffix == ".py" and path.resolve().is_relative_to(ROOT):
            name = str(path.resolve().relative_to(ROOT))
            shown.add(name)
            up = "../" * app.env.docname.count("/")
            node.replace_self(nodes.reference("", "", *node.children, refuri=f"{up}{FOLDER}/{name}.html"))
    linked(app.env)[app.env.docname] = shown


def linked(env: Any) -> dict[str, set[str]]:
    """Page → the files that it links to; kept with what Sphinx knows of the pages."""
    if not hasattr(env, "linked_sources"):
        env.linked_sources = {}
    return env.linked_sources


def pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for each file that is linked to."""
    for name in sorted(set().union(*linked(app.env).values())):
        text = (ROOT / name).read_text("utf-8")
        body = app.builder.highlighter.highlight_block(text, "python", linenos=False)  # type: ignore[attr-defined]
        yield f"{FOLDER}/{name}", {"title": name, "body": f"<h1>{name}</h1>\n{body}"}, "page.html"


def setup(app: Sphinx) -> dict[str, Any]:
    """Before Sphinx lists what is to be downloaded (its listeners have the priority 500)."""
    app.connect("doctree-read", link, priority=100)
    app.connect("env-purge-doc", lambda app, env, name: linked(env).pop(name, None))
    app.connect("html-collect-pages", pages)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
