"""The tables in README.md, each between markers of its name."""

import re


def refreshed(readme: str, name: str, block: str) -> str:
    """The text with what is between <!-- name --> and <!-- /name --> replaced. Raises ValueError where they are missing."""
    opening, closing = f"<!-- {name} -->", f"<!-- /{name} -->"
    pattern = re.compile(re.escape(opening) + ".*?" + re.escape(closing), re.DOTALL)
    if not pattern.search(readme):
        raise ValueError(f"README.md has no {opening} … {closing}")
    return pattern.sub(lambda _: f"{opening}\n{block}\n{closing}", readme)
