"""How deep a USD text is nested, found out before USD reads it: its parser and its stage call themselves for each level, so
that a text that is nested some ten thousand deep ends the process.

Strings, asset paths and comments hold any characters, and are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

MAX_DEPTH = 256
BINARY = b"PXR-USDC"
# What is passed over; or, in a group, the beginning of one that does not end, or a line end that not every parser knows.
PASSED_OVER = re.compile(
    rb'"""(?:[^"\\]|\\.|"(?!""))*"""' + rb"|'''(?:[^'\\]|\\.|'(?!''))*'''"
    rb'|"(?:[^"\\\n]|\\.)*"' + rb"|'(?:[^'\\\n]|\\.)*'"
    rb"|@@@(?:[^@\\]|\\.|@(?!@@))*@@@|@[^@\n]*@|#[^\r\n]*|//[^\r\n]*|/\*.*?\*/|([\"'@]|/\*|\r(?!\n))",
    re.DOTALL,
)
CHUNK = 1 << 24  # bytes looked at at a time
STEP = np.zeros(256, np.int8)
STEP[list(b"([{")], STEP[list(b")]}")] = 1, -1


def require_shallow(file: Path) -> None:
    """Raises ValueError, naming the file and the way out, for a text that is nested too deep. Binary files pass."""
    data = file.read_bytes()
    if data.startswith(BINARY):
        return

    def pass_over(found: re.Match[bytes]) -> bytes:
        if found[1] is not None:
            line = data.count(b"\n", 0, found.start()) + 1
            raise ValueError(
                f"{file}:{line}: not a readable USD text ({found[1].decode()!r} without an end); export it again"
            )
        return b" "

    text = PASSED_OVER.sub(pass_over, data)
    if any(depth > MAX_DEPTH for depth in _depths(text)):
        raise ValueError(f"{file}: it is nested more than {MAX_DEPTH} deep; flatten it")


def _depths(text: bytes) -> Iterator[int]:
    """The greatest depth in each chunk of a text."""
    depth = 0
    for start in range(0, len(text), CHUNK):
        steps = STEP[np.frombuffer(text, np.uint8, min(CHUNK, len(text) - start), start)]
        depths = depth + np.cumsum(steps, dtype=np.int64)
        yield int(depths.max())
        depth = int(depths[-1])
