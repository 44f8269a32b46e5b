"""Random hulls poured into a bin: how time and memory grow with what touches, and whether it is real time at 60 Hz.

The hulls fall in eight layers into a bin; steps are timed in the last part of the pour, when all of them lie on each other.
"""

import sys
import time

import numpy as np

import dalembert as dal
from readme import ROOT, refreshed
from walls import Penetration

SIZES = (250, 500, 1000, 2000)
DT, PASSES = 1 / 60, 8
CORNERS, SPACING, LAYER = 12, 0.38, 0.42  # m
LAYERS = 8
FALL = 1.5  # s
STEPS = 60  # timed after it
RARELY = 1e-3  # Hz: no frame is recorded in a step


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


def measure(hulls: int, threads: int, passes: int | None) -> dict[str, float]:
    """Steps while all lie on each other, solved as by default (`passes` None) or with a budget of sweeps."""
    budget = {} if passes is None else {"iterations": passes}
    scene = pour(hulls)
    run = dal.Simulation(scene, dt=DT, threads=threads, frame_rate=RARELY, **budget)
    run.step(round(FALL / DT))
    times, residuals, unsolved = [], [], 0
    for _ in range(STEPS):
        start = time.perf_counter()
        run.step()
        times.append(time.perf_counter() - start)
        report = run._driver.report
        residuals.append(float(report.residual[0]))
        unsolved += bool(report.residual[0] > report.aim[0])
    poses = np.hstack([run.state.position, run.state.orientation])
    found = {
        "hulls": hulls, "threads": threads, "passes": 0 if passes is None else passes, "contacts": len(run.contacts),
        "median": float(np.median(times)), "longest": max(times), "residual": float(np.median(residuals)),
        "unsolved": 0 if passes is not None else unsolved, "overlap": Penetration(scene)(poses),
        "megabytes": tables_of(run) / 1e6,
    }  # fmt: skip
    print(", ".join(f"{name} {value:.4g}" for name, value in found.items()), flush=True)
    return found


def main(sizes: tuple[int, ...]) -> None:
    kinds = [(1, None), (2, None), (4, None), (1, PASSES)]
    rows = [measure(size, threads, passes) for size in sizes for threads, passes in kinds]
    lines = [
        "| hulls | threads | contacts | median step | longest | residual | not solved | overlap | tables |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        name = f"{row['hulls']}, {row['passes']} sweeps" if row["passes"] else f"{row['hulls']}"
        unsolved = "" if row["passes"] else f"{row['unsolved']} of {STEPS}"
        lines.append(
            f"| {name} | {row['threads']} | {row['contacts']} | {row['median'] * 1e3:.3g} ms | "
            f"{row['longest'] * 1e3:.3g} ms | {row['residual']:.1g} m/s | {unsolved} | "
            f"{row['overlap'] * 1e3:.2g} mm | {row['megabytes']:.3g} MB |"
        )
    block = f"""## Hulls poured into a bin

Random hulls of {CORNERS} corners poured into a bin, {STEPS} steps of {DT * 1e3:.3g} ms from {FALL:g} s on. Each step is
solved, as by default: to a thousandth of the speed, and no less than a hundredth of what gravity adds in a step. Below, with
a budget of {PASSES} sweeps. The residual is the median; overlap is measured from the poses at the end.

{chr(10).join(lines)}
"""
    page = ROOT / "docs" / "benchmarks.md"
    page.write_text(refreshed(page.read_text("utf-8"), "pour", block), encoding="utf-8")


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SIZES)
