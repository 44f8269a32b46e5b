"""The order of the pages: it stands here, so that index.md is plain Markdown. What is not listed comes after the topics."""

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

SECTIONS = {
    "Start": ["tutorial", "gallery"],
    "Topics": [
        "models",
        "coordinates",
        "control",
        "viewer",
        "exports",
        "sweeps",
        "batches",
        "linear-systems",
        "stiffness",
    ],
    "How-to": ["how-to/*"],
    "Chapters": ["chapters/*"],
    "Reference": ["reference/*"],
    "Measured": ["accuracy", "benchmarks"],
    "Coming from": ["coming-from/*"],
    "Inside": [
        "architecture",
        "step-of-a-mechanism",
        "step-of-contact",
        "step-of-cloth",
        "extending",
        "contributing",
    ],
}
REST = "Topics"  # where pages of docs/ go that are not listed
FIRST = {
    "chapters/*": ["index"],
    "how-to/*": [
        "installation",
        "ten-programs",
        "notebooks",
        "model-files",
        "methods",
        "steps",
        "motors",
        "interactive-loop",
        "motions",
        "sensors",
        "cables",
        "contact-experiments",
        "piles",
        "particles-and-cloth",
        "events-and-release",
        "redundant-constraints",
        "types",
        "audit",
        "save-and-resume",
        "warnings",
        "explain",
        "own-forces",
    ],
    "reference/*": ["scene", "shapes", "simulation", "sensors", "views", "many", "files", "mechanics", "mathematics"],
}


def pages(folder: Path, entry: str) -> list[str]:
    """The page, or those of a folder: what FIRST says, then the others by name."""
    if not entry.endswith("/*"):
        return [entry] if any((folder / f"{entry}{suffix}").exists() for suffix in (".md", ".rst")) else []
    inside = folder / entry[:-2]
    names = sorted(path.stem for path in inside.glob("*") if path.suffix in (".md", ".rst"))
    order = [name for name in FIRST.get(entry, ()) if name in names]
    return [f"{entry[:-2]}/{name}" for name in [*order, *(name for name in names if name not in order)]]


def add_navigation(app: Sphinx, document: str, source: list[str]) -> None:
    """The tables of contents, at the end of the first page; the side bar shows them."""
    if document != app.config.root_doc:
        return
    folder = Path(app.srcdir)
    known = {app.config.root_doc, *(entry for entries in SECTIONS.values() for entry in entries)}
    others = sorted({page.stem for page in folder.glob("*.md")} - known)
    for caption, entries in SECTIONS.items():
        found = [page for entry in entries for page in pages(folder, entry)] + (others if caption == REST else [])
        if found:
            lines = ["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *found, "```", ""]
            source[0] += "\n".join(lines)


def setup(app: Sphinx) -> dict[str, Any]:
    """Extend the first page when it is read."""
    app.connect("source-read", add_navigation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
