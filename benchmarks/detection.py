"""What collision detection costs in piles at rest and in motion, and how much of it is kept from step to step.

    python benchmarks/detection.py [scenes …]

Each scene runs with a budget of sweeps until its window; then detection alone is called at the poses of steps that follow
each other, in three ways: as in a run; with no manifold kept; and with tables that have no past, which is what a detection
without memory would cost. Times are those of the thread, in ms, the least of a few rounds for each pose.
"""

import sys
import time
from collections.abc import Callable

import numpy as np

import dalembert as dal
from box3d.scenes import boxes_poured, large_pyramid
from dalembert.collide.detect import STILL, Detector, collision_of
from dalembert.collide.tables import CONTACTS, PAIRS
from pour import pour
from scenes import wall

SWEEPS, STEPS, ROUNDS = 8, 20, 4
HEADING = """| scene | pairs | contacts | a step | no manifold kept | no memory | share of the step |
|---|---|---|---|---|---|---|"""


def box_on_floor() -> dal.Scene:
    """What a tiny scene pays."""
    scene = dal.Scene("box", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("box", dal.Box(1, 1, 1), density=1000.0, position=(0, 0, 0.5))
    return scene


def spheres(count: int = 500, seed: int = 1) -> dal.Scene:
    """Balls poured into a bin of 2 m × 2 m."""
    rng, scene = np.random.default_rng(seed), dal.Scene("spheres", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    for i, (x, y) in enumerate(((-1, 0), (1, 0), (0, -1), (0, 1))):
        size = (0.2, 2.4, 6.0) if x else (2.4, 0.2, 6.0)
        scene.add_obstacle(f"wall {i}", dal.Box(*size), position=(1.1 * x, 1.1 * y, 3.0))
    for i in range(count):
        layer, place = divmod(i, 49)
        across = 0.27 * (np.array(divmod(place, 7)) - 3) + rng.uniform(-0.01, 0.01, 2)
        at = (*across, 0.2 + 0.3 * layer)
        scene.add_body(f"ball {i}", dal.Sphere(rng.uniform(0.08, 0.12)), density=1000.0, position=at)
    return scene


def terrain(count: int = 200, cells: int = 200, seed: int = 1) -> dal.Scene:
    """Bodies of four shapes on hills of 80 000 triangles."""
    rng, scene = np.random.default_rng(seed), dal.Scene("terrain", material=dal.Material(0.5))
    x = np.linspace(-20, 20, cells + 1)
    heights = 0.4 * np.sin(x[:, None] * 0.9) * np.cos(x * 0.7) + 0.02 * rng.normal(size=(cells + 1, cells + 1))
    scene.add_obstacle("hills", dal.HeightField(heights, 0.2))
    for i in range(count):
        hull = dal.ConvexHull(0.3 * rng.normal(size=(12, 3)))
        shape = (dal.Box(0.5, 0.4, 0.3), dal.Sphere(0.25), hull, dal.Capsule(0.2, 0.5))[i % 4]
        row, column = divmod(i, 15)
        at, q = (2 * (row - 7), 2 * (column - 7), 1.5), rng.normal(size=4)
        scene.add_body(f"body {i}", shape, density=1000.0, position=at, orientation=q)
    return scene


# Scene, dt (s), steps before the window
SCENES: dict[str, tuple[Callable[[], dal.Scene], float, int]] = {
    "box on a floor": (box_on_floor, 1 / 240, 60),
    "wall of 20 × 20": (lambda: wall(20), 1 / 240, 240),
    "500 spheres": (spheres, 1 / 240, 400),
    "terrain": (terrain, 1 / 240, 300),
    "large pyramid": (large_pyramid, 1 / 60, 60),
    "2000 hulls": (lambda: pour(2000), 1 / 60, 90),
    "8000 boxes": (boxes_poured, 1 / 60, 90),
}


def record(scene: dal.Scene, dt: float, before: int) -> tuple[list[tuple[np.ndarray, np.ndarray]], float, float]:
    """(states and travels of the steps of the window, the margin, the share of detection in their time)."""
    run = dal.Simulation(scene, dt=dt, iterations=SWEEPS, frame_rate=1e9)
    run.advance(before * dt)
    driver, found, start = run._driver, [], run._driver.timer
    for _ in range(STEPS):
        run.advance(dt)
        found.append((run._y[: 13 * len(run.state.position)].copy(), driver.collision.travel.copy()))
    spent = {stage: cycles - start[stage] for stage, cycles in driver.timer.items()}
    return found, float(driver._tables.options.margin[0]), spent["collision detection"] / sum(spent.values())


class Measured:
    """Detection of a scene at given states: still: see `Collision`; forget: all that was known, before each."""

    def __init__(self, scene: dal.Scene, still: float, forget: bool) -> None:
        self.detector, self._forget = Detector(collision_of(scene)), forget
        tables = self.detector.collision
        tables.still[0] = still
        self._memory = tables.places, tables.fat_boxes, tables.asked, tables.near_planes
        self._blank = [table.copy() for table in self._memory]

    def times(self, steps: list[tuple[np.ndarray, np.ndarray]], margin: float) -> np.ndarray:
        """s of the thread for each state but the first."""
        least = np.full(len(steps), np.inf)
        for _ in range(ROUNDS):
            for k, (y, travel) in enumerate(steps):
                if self._forget:
                    self.detector.set_counts(0, 0)
                    for table, blank in zip(self._memory, self._blank, strict=True):
                        table[:] = blank
                self.detector.collision.travel[:] = travel
                start = time.thread_time()
                status = self.detector(y, margin)
                least[k] = min(least[k], time.thread_time() - start)
                assert status == 0
        return least[1:]


def measure(name: str) -> str:
    """A row of the table."""
    make, dt, before = SCENES[name]
    scene = make()
    steps, margin, share = record(scene, dt, before)
    cells = []
    for still, forget in ((STILL, False), (0.0, False), (0.0, True)):
        measured = Measured(scene, still, forget)
        cells.append(f"{1e3 * measured.times(steps, margin).mean():.3g} ms")
    counts = measured.detector.collision.counts
    return f"| {name} | {counts[PAIRS]} | {counts[CONTACTS]} | {' | '.join(cells)} | {100 * share:.0f} % |"


def main(names: tuple[str, ...]) -> None:
    print(HEADING)
    for name in names or SCENES:
        print(measure(name), flush=True)


if __name__ == "__main__":
    main(tuple(sys.argv[1:]))
