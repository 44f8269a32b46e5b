"""Matrices to look at: read from Matrix Market files, or random and badly scaled."""

from __future__ import annotations

import gzip
import zlib
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .square_matrix import checked

if TYPE_CHECKING:
    from scipy.sparse import csc_array

MAX_BYTES = 1 << 29  # of text, unpacked
MAX_ROWS = 1_000_000
MAX_ENTRIES = 20_000_000
MAX_DENSE = 5000  # rows


def read_matrix(path: Path | str) -> csc_array:
    """The square real matrix of a Matrix Market file (.mtx, or packed, .mtx.gz), without the zeros that the file may store.

    Raises ValueError: it is no such file, or holds no square matrix of finite real numbers, or one of more than a million
    rows or 20 million entries; OSError where it cannot be read.
    """
    from scipy.io import mminfo, mmread

    text = _text(Path(path))
    try:
        rows, columns, entries, _, field, _ = mminfo(BytesIO(text))
        if field == "complex":
            raise ValueError("the matrix must have real entries, not complex ones")
        if rows != columns:
            raise ValueError(f"the matrix must be square, not of shape {(rows, columns)}")
        if rows > MAX_ROWS or entries > MAX_ENTRIES:
            raise ValueError(
                f"the matrix has {rows} rows and {entries} entries; at most {MAX_ROWS} and {MAX_ENTRIES} are read"
            )
        if entries > len(text):
            raise ValueError(f"the file is cut off: it is too short for {entries} entries")
        return checked(mmread(BytesIO(text)))
    except (ValueError, OverflowError, IndexError, TypeError) as error:
        raise ValueError(str(error) or "no Matrix Market file") from error


def _text(path: Path) -> bytes:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"it cannot be unpacked: {error}") from error
    if len(text) > MAX_BYTES:
        raise ValueError(f"more than {MAX_BYTES >> 20} MiB of text are not read")
    return text


def badly_scaled(n: int, seed: int = 0) -> np.ndarray:
    """D₁ A D₂, an (n, n) array: A of random numbers in [0, 1), D₁ and D₂ diagonal, of squares of such numbers.

    Raises ValueError: n is not 1 to 5000.
    """
    if not 1 <= n <= MAX_DENSE:
        raise ValueError(f"n is {n}: it must be 1 to {MAX_DENSE}")
    rng = np.random.default_rng(seed)
    rows, columns = rng.uniform(size=(2, n)) ** 2
    return rows[:, None] * rng.uniform(size=(n, n)) * columns
