"""The tables in README.md and docs/benchmarks.md, each between markers of its name."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def _between(name: str) -> tuple[str, str, re.Pattern[str]]:
    """The markers, and the pattern of them and of what is between them."""
    opening, closing = f"<!-- {name} -->", f"<!-- /{name} -->"
    return opening, closing, re.compile(re.escape(opening) + ".*?" + re.escape(closing), re.DOTALL)


def refreshed(text: str, name: str, block: str) -> str:
    """The text with what is between <!-- name --> and <!-- /name --> replaced. Raises ValueError where they are missing."""
    opening, closing, pattern = _between(name)
    if not pattern.search(text):
        raise ValueError(f"the page has no {opening} … {closing}")
    return pattern.sub(lambda _: f"{opening}\n{block}\n{closing}", text)


def kept(text: str, name: str) -> str:
    """What is between these markers, with them; the markers alone where they are missing."""
    opening, closing, pattern = _between(name)
    found = pattern.search(text)
    return found[0] if found else f"{opening}\n{closing}"


def write(name: str, title: str, block: str) -> None:
    """Put a block into README.md, and with a title into docs/benchmarks.md."""
    for path, text in ((ROOT / "README.md", block), (ROOT / "docs" / "benchmarks.md", f"## {title}\n\n{block}")):
        path.write_text(refreshed(path.read_text(encoding="utf-8"), name, text), encoding="utf-8")
