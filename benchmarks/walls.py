"""Walls of n × n boxes in every engine at hand: time a step and worst penetration, side by side, for the README.

Penetration is measured alike for all, from the poses, by our box–box detection in double precision, over the second that
follows on the first.
"""

import sys

import numpy as np

import contact_peers
import dalembert as dal
from contact_peers import Engine
from dalembert.collide.detect import Detector, collision_of
from dalembert.collide.tables import CONTACTS
from race import built, race
from readme import write
from scenes import wall

DT = 1 / 240
SIZES = (5, 10, 20, 40)
CONVERGING = 10  # the largest wall for the converging solver, which is not made for real time
SETTLE = 240  # steps
LOOKS = 24  # at penetration, over as many steps again


class Penetration:
    """The deepest overlap of a scene's bodies at given poses."""

    def __init__(self, scene: dal.Scene) -> None:
        self._detector = Detector(collision_of(scene))

    def __call__(self, poses: np.ndarray) -> float:
        """m; poses : (n, 7)."""
        y = np.zeros((len(poses), 13))
        y[:, :7] = poses
        if self._detector(y.ravel(), 0.0) != 0:
            return float("nan")
        collision = self._detector.collision
        contacts = collision.contacts[: collision.counts[CONTACTS]]
        return float(max(0.0, -contacts["separation"].min(initial=0.0)))


def settle(engine: Engine, penetration: Penetration) -> float:
    """Let it stand; returns the worst penetration of the second half (m)."""
    engine.advance(SETTLE)
    worst = 0.0
    for _ in range(LOOKS):
        engine.advance(SETTLE // LOOKS)
        worst = max(worst, penetration(engine.poses()))
    return worst


def measure(n: int) -> dict[str, tuple[float, float]]:
    """(seconds a step, worst penetration in m) of every engine."""
    scene = wall(n)
    makers = {
        "dalembert": lambda: contact_peers.ours(scene, DT),
        "dalembert, converging": lambda: contact_peers.ours(scene, DT, solver="interior_point"),
        "MuJoCo": lambda: contact_peers.mujoco(scene, DT),
        "PyBullet": lambda: contact_peers.pybullet(scene, DT),
        "Rapier": lambda: contact_peers.rapier(scene, DT),
        "Jolt": lambda: contact_peers.jolt(scene, DT),
    }
    if n > CONVERGING:
        del makers["dalembert, converging"]
    engines = built(makers)
    penetration = Penetration(scene)
    worst = {name: settle(engine, penetration) for name, engine in engines.items()}
    times = race({name: engine.advance for name, engine in engines.items()}, 100)
    for name, seconds in times.items():
        print(f"n = {n}: {name}: {seconds * 1e6:.4g} µs, {worst[name] * 1e3:.4g} mm", flush=True)
    return {name: (times[name], worst[name]) for name in times}


PEERS = ("MuJoCo", "PyBullet", "Rapier", "Jolt")


def table(sizes: tuple[int, ...]) -> str:
    """Markdown: microseconds a step, and worst penetration in millimetres; then the peers that could not be installed."""
    columns = [measure(n) for n in sizes]
    lines = ["| engine | " + " | ".join(f"{n} × {n}" for n in sizes) + " |", "|---|" + "---|" * len(sizes)]
    for name in dict.fromkeys(name for column in columns for name in column):
        found = [column.get(name) for column in columns]
        cells = ["—" if pair is None else f"{pair[0] * 1e6:.3g} µs, {pair[1] * 1e3:.2g} mm" for pair in found]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    missing = [name for name in PEERS if not any(name in column for column in columns)]
    if missing:
        lines += ["", f"Not installed in this run: {', '.join(missing)}."]
    return "\n".join(lines)


def main(sizes: tuple[int, ...]) -> None:
    block = f"""Time of a step of 1/240 s, and the deepest overlap in the second after the first, of a wall of unit boxes:

{table(sizes)}

One thread. Engines take turns in one run; the shortest counts. Sleeping is off; all other settings are defaults.
"""
    write("walls", "Walls of boxes", block)


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SIZES)
