"""`make bench`: the chain of N ball-jointed links at 1 ms in every engine at hand, and how time grows with N.

Writes docs/benchmarks.md. Ratios are what counts: they are taken in one run on one machine.
"""

import platform
import sys
import time
from pathlib import Path

import numpy as np

import dalembert as dal
import peers
from scenes import chain

SIZES = (2, 20, 200)
GROWTH = (10, 30, 100, 300, 1000, 3000, 10000)
OUT = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def steps_for(links: int) -> int:
    return int(np.clip(60_000 // links, 5, 20_000))


def ours(links: int, method: str = "rk4") -> float:
    """Seconds a step, measured around the compiled loop."""
    simulation = dal.Simulation(chain(links), method=method, dt=1e-3, frames=1e-3)

    def advance(count: int) -> None:
        simulation.advance(count * 1e-3)

    return peers.best(advance, steps_for(links))


def row(name: str, measure) -> tuple[str, list[float | None]]:
    """One engine's times; None where it fails, with the reason printed."""
    times: list[float | None] = []
    for links in SIZES:
        try:
            times.append(measure(links))
        except Exception as error:
            print(f"{name}, N = {links}: {type(error).__name__}: {error}", file=sys.stderr)
            times.append(None)
    print(name, times, flush=True)
    return name, times


def table() -> str:
    """Markdown: microseconds a step, and the ratio to ours."""
    rows = [
        row("dalembert RK4", ours),
        row("MuJoCo RK4", lambda n: peers.mujoco_step(n, "RK4", max(steps_for(n) // (20 if n > 100 else 1), 3))),
        row("MuJoCo Euler", lambda n: peers.mujoco_step(n, "Euler", max(steps_for(n) // (20 if n > 100 else 1), 3))),
        row("PyBullet", lambda n: peers.pybullet_step(n, steps_for(n)) if n <= 100 else float("nan")),
        row("Drake RK3", lambda n: peers.drake_step(n, max(steps_for(n) // 20, 3)) if n <= 100 else float("nan")),
    ]
    base = rows[0][1]
    lines = ["| engine | " + " | ".join(f"N = {n}" for n in SIZES) + " |", "|---|" + "---|" * len(SIZES)]
    for name, times in rows:
        cells = []
        for t, own in zip(times, base, strict=True):
            if t is None or np.isnan(t) or own is None:
                cells.append("—")
            else:
                cells.append(f"{t * 1e6:.3g} µs" + ("" if name.startswith("dalembert") else f" ({t / own:.3g} ×)"))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def growth() -> str:
    """How the time of a step grows with the number of links."""
    times = []
    for n in GROWTH:
        times.append(ours(n))
        print(f"N = {n}: {times[-1] * 1e6:.4g} µs", flush=True)
    slope = np.polyfit(np.log(GROWTH), np.log(times), 1)[0]
    cells = " | ".join(f"{t * 1e6:.3g}" for t in times)
    head = " | ".join(str(n) for n in GROWTH)
    return f"| N | {head} |\n|---|{'---|' * len(GROWTH)}\n| µs a step | {cells} |\n\nTime ∝ N^{slope:.3f}."


def main() -> None:
    start = time.strftime("%Y-%m-%d")
    text = f"""# Benchmarks

Chain of N ball-jointed links, RK4 at 1 ms, one scene, one thread; the time of one step, and its ratio to ours (larger:
slower than dalembert). Written by `make bench` on {start}, Python {platform.python_version()}, {platform.machine()}.
Compare the ratios, not the times.

{table()}

{growth()}
"""
    OUT.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
