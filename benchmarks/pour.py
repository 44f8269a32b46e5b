"""Random hulls poured into a bin: how time and memory grow with what touches, and whether it is real time at 60 Hz.

The hulls fall in eight layers into a bin; a step is timed in the last part of the pour, when all of them lie on each other.
"""

import sys
import time

import numpy as np

import dalembert as dal
from dalembert.collide.tables import CONTACTS
from readme import ROOT, refreshed

SIZES = (250, 500, 1000, 2000)
DT, PASSES = 1 / 60, 8
CORNERS, SPACING, LAYER = 12, 0.38, 0.42  # m
LAYERS = 8
FALL = 1.5  # s
STEPS = 60  # that are timed after it


def pour(hulls: int, seed: int = 1) -> dal.Scene:
    """So many hulls of 0.2 to 0.36 m over a bin, in layers."""
    rng = np.random.default_rng(seed)
    scene = dal.Scene(f"{hulls} hulls", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    across = max(3, round((hulls / LAYERS) ** 0.5))
    side = SPACING * across + 0.1
    for i, (x, y) in enumerate(((-1, 0), (1, 0), (0, -1), (0, 1))):
        size = (0.2, side + 0.4, 4.0) if x else (side + 0.4, 0.2, 4.0)
        place = (0.5 * (side + 0.2) * x, 0.5 * (side + 0.2) * y, 2.0)
        scene.add_obstacle(f"wall {i}", dal.Box(*size), position=place)
    for i in range(hulls):
        points = rng.normal(size=(CORNERS, 3))
        points *= rng.uniform(0.1, 0.18) / np.linalg.norm(points, axis=1)[:, None]
        layer, place = divmod(i, across * across)
        column, row = divmod(place, across)
        scene.add_body(
            f"hull {i}", dal.ConvexHull(points), density=1000.0, orientation=rng.normal(size=4),
            position=(
                SPACING * (column - 0.5 * (across - 1)), SPACING * (row - 0.5 * (across - 1)), 0.3 + LAYER * layer,
            ),
        )  # fmt: skip
    return scene


def tables_of(run: dal.Simulation) -> int:
    """Bytes of the tables of contact and collision detection."""
    driver = run._driver
    return sum(array.nbytes for table in (driver.collision, driver._tables) for array in table)


def measure(hulls: int, threads: int) -> dict[str, float]:
    """What a step takes while all lie on each other: the shortest, and the median, as steps that carry loads are longer."""
    run = dal.Simulation(pour(hulls), dt=DT, iterations=PASSES, threads=threads, frames=10.0)
    run.advance(FALL)
    times = []
    for _ in range(STEPS):
        start = time.perf_counter()
        run.advance(DT)
        times.append(time.perf_counter() - start)
    collision = run._driver.collision
    deepest = max(0.0, -collision.contacts[: collision.counts[CONTACTS]]["separation"].min(initial=0.0))
    found = {
        "hulls": hulls, "threads": threads, "contacts": len(run.contacts), "step": min(times),
        "median": float(np.median(times)),
        "megabytes": tables_of(run) / 1e6, "overlap": deepest,
        "speed": float(np.linalg.norm(run.state.velocity, axis=1).max()),
    }  # fmt: skip
    print(", ".join(f"{name} {value:.4g}" for name, value in found.items()), flush=True)
    return found


def main(sizes: tuple[int, ...]) -> None:
    rows = [measure(size, threads) for size in sizes for threads in (1, 2)]
    lines = [
        "| hulls | threads | contacts | shortest step | median step | overlap | tables |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        lines.append(
            f"| {row['hulls']} | {row['threads']} | {row['contacts']} | {row['step'] * 1e3:.3g} ms | "
            f"{row['median'] * 1e3:.3g} ms | "
            f"{row['overlap'] * 1e3:.2g} mm | {row['megabytes']:.3g} MB |"
        )
    block = f"""## Hulls poured into a bin

Random hulls of {CORNERS} corners poured into a bin; steps of {DT * 1e3:.3g} ms, {PASSES} passes each:

{chr(10).join(lines)}
"""
    page = ROOT / "docs" / "benchmarks.md"
    page.write_text(refreshed(page.read_text("utf-8"), "pour", block), encoding="utf-8")


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SIZES)
