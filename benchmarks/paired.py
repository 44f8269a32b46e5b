"""Whether a change made steps slower: this checkout and another one in turns, in processes of their own.

    python benchmarks/paired.py PATH_OF_OTHER_CHECKOUT [cases ...]

The scenes are those of this checkout's benchmarks, run by the package of either. Each process times one case; the processes
of the two take turns, the order is reversed from one round to the next, and the shortest time of each counts. Prints a table
of processor times and of their ratios, this / other: above 1, this checkout is slower. Rounds are added while a ratio is off
by more than 2 %, up to MOST, as a load on the machine makes times longer and never shorter. The exit code is the number of
cases that are slower by more than 2 %.
"""

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROUNDS, MOST = 4, 16
TOLERANCE = 0.02
TURNS, BUDGET = 8, 0.15  # of a process; processor s of a turn
Advance = Callable[[int], None]  # go on by so many steps


def chain(links: int) -> Advance:
    """A chain by RK4 at 1 ms."""
    import dalembert as dal
    import scenes

    run = dal.Simulation(scenes.chain(links), method="rk4", dt=1e-3, frame_rate=1e-3)

    def advance(steps: int) -> None:
        if run.time > 4.0:  # a long chain that whips needs shorter steps later
            run.restart()
        run.advance(steps * 1e-3)

    return advance


def wall(n: int, solver: str = "gauss_seidel") -> Advance:
    """A wall of boxes that has stood for a second."""
    import dalembert as dal
    import scenes

    dt = 1 / 240
    run = dal.Simulation(scenes.wall(n), dt=dt, solver=solver, frame_rate=1e-3)
    run.advance(1.0 if solver == "gauss_seidel" else 0.1)
    return lambda steps: run.advance(steps * dt) and None


def cloth() -> Advance:
    """A cloth of 40 × 40 vertices in implicit steps; a step is the first half second of its fall, 30 steps."""
    import dalembert as dal
    from dalembert import triangle_grid

    vertices, faces = triangle_grid(2.0, 2.0, 40, 40)
    scene = dal.Scene("cloth")
    scene.cloth("cloth", vertices, faces, density=0.25, stretch=100.0, shear=50.0, bend=1e-5, pinned=[0, 39])
    run = dal.Simulation(scene, method="linear_implicit_euler", dt=1 / 60, frame_rate=1.0)

    def advance(steps: int) -> None:
        for _ in range(steps):  # the iterations of a step depend on the state: always the same ones
            run.restart().advance(0.5)

    return advance


def batch(coordinates: str) -> Advance:
    """Batches of 64 double pendulums from other angles; a step is a batch of 1 s."""
    import numpy as np

    import dalembert as dal
    from dalembert.gallery import double_pendulum

    scene, rng = double_pendulum.build(), np.random.default_rng(1)
    vary = {name: rng.uniform(-np.pi, np.pi, 64) for name in ("shoulder.position", "elbow.position")}

    def advance(steps: int) -> None:
        for _ in range(steps):
            dal.run_batch(scene, 1.0, vary=vary, threads=1, coordinates=coordinates)

    return advance


CASES: dict[str, Callable[[], Advance]] = {
    "chain 2": lambda: chain(2), "chain 20": lambda: chain(20), "chain 200": lambda: chain(200),
    "wall 5": lambda: wall(5), "wall 20": lambda: wall(20), "wall 5, converging": lambda: wall(5, "interior_point"),
    "cloth 40": cloth, "batch, maximal": lambda: batch("maximal"), "batch, joint": lambda: batch("joint"),
}  # fmt: skip


def seconds_a_step(case: str) -> float:
    """The shortest of several turns, processor s."""
    advance = CASES[case]()
    advance(1)
    best = math.inf
    steps = 1
    for turn in range(TURNS + 3):
        start = time.process_time()
        advance(steps)
        spent = (time.process_time() - start) / steps
        if turn < 3:  # how many steps a turn has
            steps = max(1, int(BUDGET / max(spent, 1e-7)))
        else:
            best = min(best, spent)
    return best


def timed(case: str, tree: Path) -> float:
    """The time of a case with the package of a checkout, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tree / "src"), str(ROOT / "benchmarks")])}
    done = subprocess.run(
        [sys.executable, __file__, "--time", case], env=environment, capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[-1])


def compare(case: str, trees: tuple[Path, Path]) -> tuple[float, float]:
    """Seconds a step of this checkout, and of the other."""
    best = [math.inf, math.inf]
    for number in range(MOST):
        for k in (0, 1) if number % 2 else (1, 0):
            best[k] = min(best[k], timed(case, trees[k]))
        if number + 1 >= ROUNDS and abs(best[0] / best[1] - 1.0) < TOLERANCE:
            break
    return best[0], best[1]


def main(other: Path, cases: list[str]) -> int:
    if not (other / "src" / "dalembert").is_dir():
        raise SystemExit(f"{other} is no checkout: it has no src/dalembert")
    slower = 0
    print("| case | this | other | this / other |\n|---|---|---|---|", flush=True)
    for case in cases or CASES:
        ours, theirs = compare(case, (ROOT, other))
        slower += ours > (1.0 + TOLERANCE) * theirs
        print(f"| {case} | {ours * 1e6:.4g} µs | {theirs * 1e6:.4g} µs | {ours / theirs:.3f} |", flush=True)
    return slower


if __name__ == "__main__":
    if sys.argv[1:2] == ["--time"]:
        print(seconds_a_step(sys.argv[2]))
    elif len(sys.argv) < 2:
        sys.exit(__doc__)
    else:
        sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2:]))
