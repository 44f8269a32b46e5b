"""Random hulls poured into a bin: how time and memory grow with what touches, and whether it is real time at 60 Hz.

The hulls fall in eight layers into a bin; steps are timed in the last part of the pour, when all of them lie on each other.
"""

import sys
import time

import numpy as np

import dalembert as dal
from dalembert.core.thread_pool import cores
from readme import ROOT, refreshed
from walls import Penetration

SIZES = (250, 500, 1000, 2000)
DT, PASSES = 1 / 60, 8
CORNERS, SPACING, LAYER = 12, 0.38, 0.42  # m
LAYERS = 8
FALL = 1.5  # s
STEPS, TURN = 60, 6  # timed after it; and by one run before the next
THREADS = (1, 2, 4)
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


class Measured:
    """A pour whose steps are timed while all lie on each other, solved as by default (`passes` None) or with a budget of
    sweeps."""

    def __init__(self, hulls: int, threads: int, passes: int | None) -> None:
        self.hulls, self.threads, self.passes, self.scene = hulls, threads, passes, pour(hulls)
        budget = {} if passes is None else {"iterations": passes}
        self.run = dal.Simulation(self.scene, dt=DT, threads=threads, frame_rate=RARELY, **budget)
        self.run.step(round(FALL / DT))
        self.times: list[float] = []
        self.residuals: list[float] = []
        self.unsolved = 0

    def step(self) -> None:
        start = time.perf_counter()
        self.run.step()
        self.times.append(time.perf_counter() - start)
        report = self.run._driver.report
        self.residuals.append(float(report.residual[0]))
        self.unsolved += bool(report.residual[0] > report.aim[0])

    def row(self, first: "Measured") -> str:
        """Of the table; `first` has the default settings and one thread."""
        run, solved = self.run, self.passes is None
        poses = np.hstack([run.state.position, run.state.orientation])
        turns = [np.reshape(one.times, (-1, TURN)).sum(axis=1) for one in (first, self)]
        gain = f"{np.median(turns[0] / turns[1]):.2f}" if solved and self.threads > 1 else ""
        return (
            f"| {self.hulls}{'' if solved else f', {self.passes} sweeps'} | {self.threads} | {len(run.contacts)} | "
            f"{np.median(self.times) * 1e3:.3g} ms | {max(self.times) * 1e3:.3g} ms | {gain} | "
            f"{np.median(self.residuals):.1g} m/s | {f'{self.unsolved} of {STEPS}' if solved else ''} | "
            f"{Penetration(self.scene)(poses) * 1e3:.2g} mm | {tables_of(run) / 1e6:.3g} MB |"
        )


def rows_of(hulls: int) -> list[str]:
    """The rows of so many hulls, by threads; the runs take turns of some steps."""
    kinds = [(threads, None) for threads in THREADS if threads <= cores()] + [(1, PASSES)]
    runs = [Measured(hulls, threads, passes) for threads, passes in kinds]
    for _ in range(STEPS // TURN):
        for run in runs:
            for _ in range(TURN):
                run.step()
    rows = [run.row(runs[0]) for run in runs]
    print("\n".join(rows), flush=True)
    return rows


def main(sizes: tuple[int, ...]) -> None:
    lines = [
        "| hulls | threads | contacts | median step | longest | gain | residual | not solved | overlap | tables |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for size in sizes:
        lines += rows_of(size)
    block = f"""## Hulls poured into a bin

Random hulls of {CORNERS} corners poured into a bin, {STEPS} steps of {DT * 1e3:.3g} ms from {FALL:g} s on. Each step is
solved, as by default: to a thousandth of the speed, and no less than a hundredth of what gravity adds in a step. Below, with
a budget of {PASSES} sweeps. The residual is the median; overlap is measured from the poses at the end. The runs of one size
take turns of {TURN} steps; gain: median of the time of such a turn with one thread over that with more, on {cores()} cores.

{chr(10).join(lines)}
"""
    page = ROOT / "docs" / "benchmarks.md"
    page.write_text(refreshed(page.read_text("utf-8"), "pour", block), encoding="utf-8")


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SIZES)
