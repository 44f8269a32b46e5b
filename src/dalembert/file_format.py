"""The format of a file that is to be written, by the suffix of its name."""

from __future__ import annotations

import os
from pathlib import Path

SAVED = (".nc",)
PAGES = (".html", ".htm")
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp", ".gif")
MOVIES = (".mp4", ".gif")


def require_suffix(path: str | os.PathLike[str], *suffixes: str) -> Path:
    """The path. Raises ValueError unless its name ends in one of the suffixes, in capitals or not.

    >>> require_suffix("run.csv", ".nc")
    Traceback (most recent call last):
    ValueError: 'run.csv': unsupported format '.csv'; the name must end in .nc
    """
    file = Path(path)
    if file.suffix.lower() not in suffixes:
        raise ValueError(
            f"'{file}': unsupported format {file.suffix!r}; the name must end in {' or '.join(suffixes)}"
            if len(suffixes) < 3
            else f"'{file}': unsupported format {file.suffix!r}; the name must end in one of {', '.join(suffixes)}"
        )
    return file
