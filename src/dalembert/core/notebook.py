"""Output of objects in notebooks: tables in HTML with escaped text and bounded size; and a test whether this is a
notebook.

Names may come from untrusted files, so all text is escaped. IPython is not imported: a notebook has already done so.
"""

from __future__ import annotations

import html
import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

MOST_ROWS = 25  # of a table
MOST_CELL = 160  # characters of a cell
MOST_COLUMNS = 12
MOST_LINES = 60  # of a table of names and values

STYLE = """<style>
.dalembert { font: 13px/1.45 system-ui, "Segoe UI", Roboto, sans-serif; max-width: 860px; }
.dalembert .title { font-weight: 600; overflow-wrap: anywhere; }
.dalembert .muted { opacity: 0.72; }
.dalembert .scroll { overflow-x: auto; }
.dalembert.dalembert table { border-collapse: collapse; margin: 4px 0 8px; font-size: 12.5px;
  font-variant-numeric: tabular-nums; }
.dalembert.dalembert table tr { background: none; }
.dalembert.dalembert table th, .dalembert.dalembert table td { text-align: left; vertical-align: top; padding: 2px 14px 2px 0;
  border: 0; border-bottom: 1px solid rgba(128, 128, 128, 0.28); max-width: 420px; overflow-wrap: break-word; }
.dalembert.dalembert table th { opacity: 0.72; font-weight: 400; white-space: nowrap; }
.dalembert.dalembert table.lines th { white-space: pre; }
.dalembert.dalembert table tr.warning { background: rgba(230, 190, 60, 0.22); }
.dalembert details { margin: 2px 0; }
.dalembert summary { cursor: pointer; }
.dalembert .view { position: relative; max-width: 860px; margin: 4px 0 8px; border-radius: 10px; overflow: hidden;
  background: #fff; border: 1px solid rgba(128, 128, 128, 0.28); }
</style>"""


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook, which a call that waits would block."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def text(value: object, most: int = MOST_CELL) -> str:
    """Escaped text of at most `most` characters.

    >>> text("<b>")
    '&lt;b&gt;'
    """
    plain = str(value)
    return html.escape(plain if len(plain) <= most else plain[: most - 1] + "…")


def block(*parts: str) -> str:
    """Parts in HTML as one output, with their style. Each part must be escaped."""
    return f'{STYLE}<div class="dalembert">{"".join(parts)}</div>'


def title(name: object, *facts: object) -> str:
    """The first line: a name, and what is to be said of it beside."""
    beside = f' <span class="muted">{" · ".join(map(text, facts))}</span>' if facts else ""
    return f'<div><span class="title">{text(name)}</span>{beside}</div>'


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things.

    >>> counted(1, "body", "bodies"), counted(2, "joint")
    ('1 body', '2 joints')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"


def note(words: object) -> str:
    """A line in grey."""
    return f'<div class="muted">{text(words, 400)}</div>'


def lines(rows: Iterable[tuple[object, object]], warned: Sequence[str] = ()) -> str:
    """A table of names and values; rows with a name of `warned` stand out. At most `MOST_LINES`."""
    found = list(rows)
    marks = (' class="warning"' if name in warned else "" for name, _ in found)
    body = "".join(
        f"<tr{mark}><th>{text(name)}</th><td>{text(value, 600)}</td></tr>"
        for mark, (name, value) in zip(marks, found[:MOST_LINES], strict=False)
    )
    more = note(f"and {len(found) - MOST_LINES} lines more") if len(found) > MOST_LINES else ""
    return f'<div class="scroll"><table class="lines">{body}</table></div>{more}'


def table(columns: Sequence[object], rows: Iterable[Sequence[object]], count: int | None = None) -> str:
    """A table with a head, of at most `MOST_ROWS` rows of `MOST_COLUMNS`; count: how many there are in all."""
    found = list(islice(rows, MOST_ROWS))
    head = "".join(f"<th>{text(name)}</th>" for name in columns[:MOST_COLUMNS])
    body = "".join(f"<tr>{''.join(f'<td>{text(cell)}</td>' for cell in row[:MOST_COLUMNS])}</tr>" for row in found)
    left = (len(found) if count is None else count) - len(found)
    more = note(f"and {left} more") if left > 0 else ""
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{more}'


def folded(name: object, content: str, shown: bool = False) -> str:
    """Content that opens by a click on its name."""
    return f"<details{' open' if shown else ''}><summary>{text(name)}</summary>{content}</details>"


def numbers(values: Any, digits: int = 4) -> str:
    """Numbers of a small vector, or one number, to so many digits.

    >>> numbers((1.0, 2.34567, -0.0))
    '1, 2.346, 0'
    """
    try:
        return ", ".join(f"{float(value) + 0.0:.{digits}g}" for value in values)
    except TypeError:
        return f"{float(values) + 0.0:.{digits}g}"


def served(name: object, address: str) -> str:
    """Where a page is served."""
    link = f'<a href="{text(address)}" target="_blank" rel="noopener">{text(address)}</a>'
    return block(title(name), f"<div>Open {link} in a browser on this machine. <code>close()</code> ends it.</div>")
