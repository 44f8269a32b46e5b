"""Forces between all particles, or all that are near: how time grows with their number, and how exact the tree is.

One evaluation on one thread, the shortest of several, in seconds of the processor; it builds its grid or tree anew. "cells":
repulsion of particles at random, 8 to a cell. "tree": gravitation of a Plummer sphere, softened by 1e-3 of its scale
radius; errors are relative to all pairs, over 300 bodies, and the total force is over the sum of the sizes of the forces. The
column of ratios should stay the same with n: time over n for cells, over n log₂ n for the tree, over the number of pairs for
all pairs.

    python benchmarks/interactions.py [most]     (particles, at most a million if not given; all pairs take 1e5 at most)
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dalembert.core.tables import handed
from dalembert.pairwise.forces import RadialLaw, interactions_entry, make_interactions
from dalembert.pairwise.laws import ALL_PAIRS, CELLS, GRAVITATION, REPULSION, TREE, Interactions
from readme import refreshed

ROOT = Path(__file__).parent.parent
SIZES = (1_000, 10_000, 100_000, 1_000_000)
SOFTENING = 1e-3
SAMPLE = 300
MOST_PAIRS = 100_000
ANGLES = (0.5, 0.7)


class Row(NamedTuple):
    """One line of the table."""

    method: str
    n: int
    seconds: float  # of one evaluation
    ratio: float  # ns, over what the time should grow with
    error: float = np.nan  # root mean square, relative
    total: float = np.nan  # total force


def plummer(n: int) -> np.ndarray:
    """(n, 3) places of a Plummer sphere of scale radius 1."""
    rng = np.random.default_rng(n)
    r = 1.0 / np.sqrt(rng.uniform(0.0, 1.0, n) ** (-2.0 / 3.0) - 1.0)
    direction = rng.normal(size=(n, 3))
    return (r / np.linalg.norm(direction, axis=1))[:, None] * direction


def measured(tables: Interactions, x: np.ndarray, turns: int) -> tuple[float, np.ndarray]:
    """(seconds of an evaluation, forces (n, 3))."""
    flat, f, power, argument = x.ravel(), np.zeros(x.size), np.zeros(1), handed(tables)
    interactions_entry(0.0, flat[:0], flat[:0], f[:0], power, handed(make_interactions([])))  # compiled, or loaded
    best = np.inf
    for _ in range(turns):
        f[:] = 0.0
        start = time.process_time()
        _, status = interactions_entry(0.0, flat, flat, f, power, argument)
        best = min(best, time.process_time() - start)
        if status != 0:
            raise RuntimeError(f"status {status}")
    return best, f.reshape(-1, 3)


def gravitation(n: int, method: int, theta: float = 0.0) -> Interactions:
    """The tables of n bodies of total mass 1, with G = 1."""
    masses = np.full(n, 1.0 / n)
    return make_interactions([RadialLaw(GRAVITATION, np.arange(n), masses, method, -1.0, SOFTENING, theta=theta)])


def exact(x: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Forces on some bodies, by all pairs."""
    found = []
    for target in targets:
        d = x - x[target]
        found.append((d / ((d * d).sum(axis=1) + SOFTENING**2)[:, None] ** 1.5).sum(axis=0) / len(x) ** 2)
    return np.array(found)


def turns_of(n: int) -> int:
    return 20 if n <= 10_000 else 5 if n <= 100_000 else 2


def cells_row(n: int) -> Row:
    x = np.random.default_rng(n).uniform(0.0, (n / 8) ** (1 / 3), (n, 3))
    tables = make_interactions([RadialLaw(REPULSION, np.arange(n), method=CELLS, diameter=1.0)])
    seconds, _ = measured(tables, x, turns_of(n))
    return Row("cells", n, seconds, 1e9 * seconds / n)


def tree_row(n: int, theta: float) -> Row:
    x = plummer(n)
    seconds, f = measured(gravitation(n, TREE, theta), x, turns_of(n))
    targets = np.random.default_rng(1).choice(n, SAMPLE, replace=False)
    expected = exact(x, targets)
    errors = np.linalg.norm(f[targets] - expected, axis=1) / np.linalg.norm(expected, axis=1)
    total = np.linalg.norm(f.sum(axis=0)) / np.linalg.norm(f, axis=1).sum()
    name = f"tree, θ = {theta:g}"
    return Row(name, n, seconds, 1e9 * seconds / (n * np.log2(n)), float(np.sqrt((errors**2).mean())), float(total))


def pairs_row(n: int) -> Row:
    seconds, f = measured(gravitation(n, ALL_PAIRS), plummer(n), turns_of(n) if n < MOST_PAIRS else 1)
    total = np.linalg.norm(f.sum(axis=0)) / np.linalg.norm(f, axis=1).sum()
    return Row("all pairs", n, seconds, 1e9 * seconds / (n * (n - 1) / 2), 0.0, float(total))


def rows(most: int, show: Callable[[Row], None] = lambda row: None) -> list[Row]:
    """All lines, each shown when it is known."""
    sizes = [n for n in SIZES if n <= most]
    jobs: list[Callable[[], Row]] = [lambda n=n: cells_row(n) for n in sizes]  # type: ignore[misc]
    jobs += [lambda n=n, angle=angle: tree_row(n, angle) for angle in ANGLES for n in sizes]  # type: ignore[misc]
    jobs += [lambda n=n: pairs_row(n) for n in sizes if n <= MOST_PAIRS]  # type: ignore[misc]
    found = []
    for job in jobs:
        found.append(job())
        show(found[-1])
    return found


def exponents(found: list[Row]) -> dict[str, float]:
    """Of each method, p of the power law time ∝ n^p that fits best."""
    by_method: dict[str, list[Row]] = {}
    for row in found:
        by_method.setdefault(row.method, []).append(row)
    return {
        name: float(np.polyfit(np.log([row.n for row in group]), np.log([row.seconds for row in group]), 1)[0])
        for name, group in by_method.items()
        if len(group) > 1
    }


def show_row(row: Row) -> None:
    accuracy = "" if np.isnan(row.error) else f"{row.error:10.1e} {row.total:12.1e}"
    print(f"{row.method:>14} {row.n:9} {1e3 * row.seconds:12.3f} {row.ratio:10.2f} {accuracy}", flush=True)


def summary(found: list[Row]) -> str:
    """How time grows, and what the tree gains, in sentences."""
    grows = ", ".join(f"n^{power:.2f} ({name})" for name, power in exponents(found).items())
    by = {(row.method, row.n): row.seconds for row in found}
    lines = [f"Time grows as {grows}."]
    for angle in ANGLES:
        gains = [f"{by['all pairs', n] / t:.3g} (n = {n})" for (name, n), t in by.items()
                 if name == f"tree, θ = {angle:g}" and ("all pairs", n) in by]  # fmt: skip
        lines.append(f"All pairs take as long as the tree with θ = {angle:g} times {', '.join(gains)}.")
    return "\n".join(lines)


def section(found: list[Row]) -> str:
    """Markdown, for docs/benchmarks.md."""
    lines = ["| method | particles | time | over its law | rms error | total force |", "|---|---|---|---|---|---|"]
    for row in found:
        accuracy = "— | —" if np.isnan(row.error) else f"{row.error:.1e} | {row.total:.1e}"
        lines.append(f"| {row.method} | {row.n} | {1e3 * row.seconds:.3g} ms | {row.ratio:.3g} ns | {accuracy} |")
    return f"""## Forces between all particles

One evaluation on one thread, the shortest of several: repulsion of particles at random, 8 to a cell ("cells"), and
gravitation of a Plummer sphere by Barnes and Hut's tree and by all pairs. "Over its law": time over n for cells, over
n log₂ n for the tree, over the number of pairs for all pairs. Errors are relative to all pairs.

{chr(10).join(lines)}

{summary(found)}
"""


def main() -> None:
    print(f"{'method':>14} {'particles':>9} {'ms':>12} {'ratio (ns)':>10} {'rms error':>10} {'total force':>12}")
    found = rows(int(float(sys.argv[1])) if len(sys.argv) > 1 else SIZES[-1], show_row)
    print(summary(found))
    path = ROOT / "docs" / "benchmarks.md"
    path.write_text(refreshed(path.read_text(encoding="utf-8"), "interactions", section(found)), encoding="utf-8")


if __name__ == "__main__":
    main()
