"""`dalembert condition FILE.mtx`: condition numbers of matrices."""

from __future__ import annotations

import sys
from pathlib import Path

from . import REFUSED, command


@command("condition")
def condition(*files: Path, random: tuple[int, ...] = (), exact: bool = False) -> int:
    """Print the condition numbers (1-norm) of square matrices as they are, and after scaling by MC64 and by ALG3.

    Parameters
    ----------
    files
        Matrix Market files of real square matrices: .mtx, or packed, .mtx.gz.
    random
        Also a badly scaled dense random matrix with so many rows; may be given again.
    exact
        Compute every column of the inverses, rather than estimate their norms.
    """
    from ..linalg.condition_table import condition_table

    if not (files or random):
        print("dalembert: no matrix: name Matrix Market files, or give --random N", file=sys.stderr)
        return REFUSED
    code = 0
    for line, good in condition_table(files, random, exact):
        print(line if good else f"dalembert: {line}", file=sys.stdout if good else sys.stderr, flush=True)
        code = code if good else REFUSED
    return code
