"""The table of condition numbers of matrices as they are, and after scaling: what `dalembert condition` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ..no_solution import NoSolution
from .condition import condition_number
from .equilibrate import equilibrate
from .matrices import badly_scaled, read_matrix
from .square_matrix import checked


def condition_table(files: Sequence[Path], random: Sequence[int], exact: bool) -> Iterator[tuple[str, bool]]:
    """Lines, each with whether it is of the table: the head, then a matrix each, or what is wrong with it.

    files : of Matrix Market; random : rows of matrices of `badly_scaled`; exact : every column of the inverses is computed.
    """
    names = [file.name.removesuffix(".gz").removesuffix(".mtx") for file in files] + [f"random-{n}" for n in random]
    width = max(map(len, names), default=4)
    yield f"{'name':{width}} {'n':>8} {'nnz':>9} {'original':>10} {'MC64':>10} {'ALG3':>10}", True
    for source, name in zip([*files, *random], names, strict=True):
        try:
            matrix = read_matrix(source) if isinstance(source, Path) else checked(badly_scaled(source))
            scaled = (matrix, equilibrate(matrix, "mc64").matrix, equilibrate(matrix, "alg3").matrix)
            columns = " ".join(f"{condition_number(each, exact):>10.2e}" for each in scaled)
        except (ValueError, OSError, NoSolution) as error:
            yield f"{source if isinstance(source, Path) else name}: {error}", False
        else:
            yield f"{name:{width}} {matrix.shape[0]:>8} {matrix.nnz:>9} {columns}", True
