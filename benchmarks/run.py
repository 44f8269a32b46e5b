"""`make bench`: the chain of N ball-jointed links at 1 ms in every engine at hand, how time grows with N, work–precision.

Writes docs/benchmarks.md, but for the sections that other scripts write there, docs/work-precision.png and the table in
README.md. Ratios are what counts: engines take turns in
one run on one machine. `--quick` runs small sizes to see that everything works, and writes to out/ only.
"""

import platform
import sys
import time
from pathlib import Path

import numpy as np

import dalembert as dal
import peers
import work_precision
from problems import PROBLEMS
from race import Advance, built, race
from readme import kept, refreshed
from scenes import chain

ROOT = Path(__file__).parent.parent
OURS = "dalembert RK4"
SIZES = (2, 20, 100, 200)
GROWTH = (10, 30, 100, 300, 1000, 3000, 10000)
SECTIONS = (
    "walls",
    "pour",
    "particles",
    "cloth",
    "interactions",
    "joint-coordinates",
    "batch",
    "robots",
    "start",
)  # of docs/benchmarks.md, each by the script of its name
IN_CACHE = 1000  # links whose tables a processor's caches hold


def our_chain(links: int) -> Advance:
    """Ours by RK4; no frames but the last are recorded."""
    simulation = dal.Simulation(chain(links), method="rk4", dt=1e-3, frame_rate=1e-3)

    def advance(count: int) -> None:
        simulation.advance(count * 1e-3)

    return advance


def most_steps(links: int) -> int:
    """Steps of a turn: long enough to be timed, short enough that no chain whips itself to pieces."""
    return int(np.clip(60_000 // links, 5, 20_000))


def times_of(links: int) -> dict[str, float]:
    """Seconds a step of every engine that can run the chain."""
    makers = {
        OURS: lambda: our_chain(links),
        "MuJoCo RK4": lambda: peers.mujoco_chain(links, "RK4"),
        "MuJoCo Euler": lambda: peers.mujoco_chain(links, "Euler"),
        "PyBullet": lambda: peers.pybullet_chain(links),
        "Drake RK3": lambda: peers.drake_chain(links),
    }
    times = race(built(makers), most_steps(links))
    print(f"N = {links}:", ", ".join(f"{name} {t * 1e6:.4g} µs" for name, t in times.items()), flush=True)
    return {name: times.get(name, float("nan")) for name in makers}


def table(sizes: tuple[int, ...]) -> str:
    """Markdown: microseconds a step, and the ratio to ours."""
    columns = [times_of(links) for links in sizes]
    lines = ["| engine | " + " | ".join(f"N = {n}" for n in sizes) + " |", "|---|" + "---|" * len(sizes)]
    for name in columns[0]:
        cells = []
        for column in columns:
            ratio = "" if name == OURS else f" ({column[name] / column[OURS]:.3g} ×)"
            cells.append("—" if np.isnan(column[name]) else f"{column[name] * 1e6:.3g} µs{ratio}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def exponent(times: dict[int, float]) -> float:
    """p of the power law time ∝ N^p that fits best."""
    return float(np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)[0])


def growth(sizes: tuple[int, ...]) -> tuple[str, str]:
    """Markdown of how the time of a step grows with the number of links: the table, and the exponents in a sentence."""
    best = dict.fromkeys(sizes, np.inf)
    chains = {str(n): our_chain(n) for n in sizes}
    for _ in range(3):  # rounds over all sizes, so that a load on the machine tilts no line
        for n in sizes:
            best[n] = min(best[n], *race({str(n): chains[str(n)]}, most_steps(n), turns=2).values())
    cached = {n: t for n, t in best.items() if n <= IN_CACHE}
    law = (
        f"From N = {sizes[0]} to {sizes[-1]} our time grows as N^{exponent(best):.2f}, "
        f"to {max(cached)} as N^{exponent(cached):.2f} (longer chains outgrow the processor's caches)."
    )
    print("growth:", ", ".join(f"{n}: {t * 1e6:.4g} µs" for n, t in best.items()), law, flush=True)
    head, cells = (" | ".join(row) for row in (map(str, sizes), (f"{t * 1e6:.3g}" for t in best.values())))
    return f"| N | {head} |\n|---|{'---|' * len(sizes)}\n| µs a step | {cells} |\n\n{law}", law


def main(quick: bool) -> None:
    sizes, growth_sizes = ((2, 20), (10, 30, 100)) if quick else (SIZES, GROWTH)
    folder = ROOT / "out" if quick else ROOT / "docs"
    folder.mkdir(exist_ok=True)
    engines = table(sizes)
    grown, law = growth(growth_sizes)
    section = work_precision.section(
        PROBLEMS[:1] if quick else PROBLEMS, 1 if quick else 5, folder / work_precision.PICTURE.name
    )
    page = ROOT / "docs" / "benchmarks.md"
    others = "\n\n".join(kept(page.read_text(encoding="utf-8"), name) for name in SECTIONS)
    text = f"""# Benchmarks

This page compares the speed of dalembert with that of other physics engines, on the same scenes and in the same run.
Compare the ratios, not the times: the times depend on the machine. `make bench` writes this page (here on
{time.strftime("%Y-%m-%d")}, Python {platform.python_version()}, {platform.machine()}).

## A chain of N ball-jointed links

The table gives the time of one step by RK4 at 1 ms, with one scene and one thread, and its ratio to ours (above 1:
slower than dalembert). Engines take turns, and the shortest time counts. A dash means that the engine cannot run that
chain.

{engines}

Our time grows with N as follows:

{grown}

{section}
{others}
"""
    block = f"""Time of a step, chain of N ball-jointed links at 1 ms (in brackets: its ratio to ours):

{engines}

{law}
"""
    (folder / "benchmarks.md").write_text(text, encoding="utf-8")
    readme = refreshed((ROOT / "README.md").read_text(encoding="utf-8"), "benchmark", block)
    (folder if quick else ROOT).joinpath("README.md").write_text(readme, encoding="utf-8")


if __name__ == "__main__":
    main(quick="--quick" in sys.argv[1:])
