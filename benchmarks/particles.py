"""The explicit step of free particles against the bandwidth of memory.

Particles of different masses in gravity, one thread. A step must read and write the place and the momentum of each, and
read its mass: 104 bytes. The yardstick is STREAM's triad, a[i] = b[i] + s c[i] (24 bytes a number, as STREAM counts), or the
same in place, a[i] = a[i] + s b[i], whichever is faster, over arrays that take as much memory together. Loops and methods
take turns, and the shortest turn of each counts. A frame is 30 steps; "time_stepping" copies the state once a frame too.

    python benchmarks/particles.py [numbers of particles]
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np

import dalembert as dal
from readme import refreshed

ROOT = Path(__file__).parent.parent
SIZES = (10_000, 100_000, 1_000_000)
BYTES = 8 * (2 * 6 + 1)  # a particle and step: place and momentum, in and out, and the mass
TRIAD_BYTES = 24
DT, STEPS = 1e-3, 30  # s; steps a frame
TURNS = 20
TURN, ENOUGH = 0.05, 2.0  # s: the least of a turn, and of all turns of one


@numba.njit
def triad(a: np.ndarray, b: np.ndarray, c: np.ndarray, s: float) -> None:
    for i in range(a.size):
        a[i] = b[i] + s * c[i]


@numba.njit
def triad_in_place(a: np.ndarray, b: np.ndarray, s: float) -> None:
    for i in range(a.size):
        a[i] = a[i] + s * b[i]


def timed(work: Callable[[], object]) -> float:
    """s"""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def triads(n: int) -> dict[str, Callable[[], float]]:
    """Loops over as much memory as n particles move; each returns seconds a particle's worth of it."""
    numbers = BYTES * n // TRIAD_BYTES
    a, b, c = (np.full(numbers, 1.0 + k) for k in range(3))
    triad(a, b, c, 1e-9)
    triad_in_place(a, b, 1e-9)
    return {
        "triad": lambda: timed(lambda: triad(a, b, c, 1e-9)) / n,
        "triad, in place": lambda: timed(lambda: triad_in_place(a, b, 1e-9)) / n,
    }


def method(n: int, name: str, *, with_spring: bool = False) -> Callable[[], float]:
    """A method; a call makes a frame of steps and returns seconds a particle and step. A spring, even of no stiffness, makes
    "time_stepping" take the step that all forces can act in."""
    rng = np.random.default_rng(n)
    scene = dal.Scene("free particles")
    group = scene.add_particles(
        "all", rng.normal(size=(n, 3)), mass=rng.uniform(0.5, 2.0, n), velocity=rng.normal(size=(n, 3))
    )
    if with_spring:
        scene.springs("one", group, [[0, 1]], stiffness=0.0)
    run = dal.Simulation(scene, method=name, dt=DT, frame_rate=1.0 / (STEPS * DT))

    def frame() -> float:
        before = run.kernel_time
        run.advance(STEPS * DT)
        return (run.kernel_time - before) / (STEPS * n)

    return frame


def measure(n: int) -> dict[str, float]:
    """Seconds a particle and step, or for as many bytes."""
    works = {
        **triads(n),
        "time_stepping": method(n, "time_stepping"),
        "time_stepping, with a spring": method(n, "time_stepping", with_spring=True),
        "symplectic_euler": method(n, "symplectic_euler"),
        "euler": method(n, "euler"),
    }
    best = {name: work() for name, work in works.items()}
    spent = dict.fromkeys(works, 0.0)
    for _ in range(TURNS):
        for name, work in works.items():
            start = time.perf_counter()
            while spent[name] < ENOUGH:
                best[name] = min(best[name], work())
                if time.perf_counter() - start > TURN:
                    break
            spent[name] += time.perf_counter() - start
    bandwidth = BYTES / min(best["triad"], best["triad, in place"])
    for name, seconds in best.items():
        rate = BYTES / seconds
        print(f"{n:9} {name:>30} {1e9 * seconds:8.3f} ns {1e-9 * rate:8.2f} GB/s {rate / bandwidth:6.1%}", flush=True)
    return best


def table(sizes: tuple[int, ...]) -> str:
    """Markdown: nanoseconds a particle and step, bytes over that, and its share of the triad's bandwidth."""
    columns = [measure(n) for n in sizes]
    lines = ["| | " + " | ".join(f"{n:.0e} particles" for n in sizes) + " |", "|---|" + "---|" * len(sizes)]
    for name in columns[0]:
        cells = []
        for column in columns:
            share = min(column["triad"], column["triad, in place"]) / column[name]
            rate = f"{1e-9 * BYTES / column[name]:.3g} GB/s"
            cells.append(rate if "triad" in name else f"{1e9 * column[name]:.3g} ns, {rate}, {share:.0%}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(sizes: tuple[int, ...]) -> None:
    block = f"""## Free particles and the bandwidth of memory

Explicit steps of particles in gravity, one thread: time a particle and step, the {BYTES} bytes that a step must move of each
over that time, and its share of what the faster of two triads reaches over as much memory. The rows: "time_stepping", which
passes once over free particles; the same with a spring in the scene (of no stiffness), so that all forces can act; two
integration methods. They take turns; the shortest counts.

{table(sizes)}
"""
    path = ROOT / "docs" / "benchmarks.md"
    path.write_text(refreshed(path.read_text(encoding="utf-8"), "particles", block), encoding="utf-8")


if __name__ == "__main__":
    main(tuple(int(float(word)) for word in sys.argv[1:]) or SIZES)
