"""Batches of double pendulums against a Python loop over the same runs, and against MuJoCo's rollout.

Every member starts at other angles; all record 60 frames a second. The loop runs `Batch.alone(i).advance(duration)` over a
compiled model, so that building scenes is not counted, and its frames are compared with those of the batch: they must be
the same bits. All take turns, and the shortest turn of each counts. Times are processor time, which others on the machine
skew least; what all cores gain is wall time, and left out where the cores were not free (less than 90 % busy with us).
MuJoCo records the state of every step, as it cannot leave any out; its RK4 has the steps of ours.

    python benchmarks/batch.py [--all]         # --all: also all 10 000 members of the first row, at once
"""

import os
import platform
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import dalembert as dal
from dalembert.gallery import double_pendulum
from race import Advance, built
from readme import refreshed

ROOT = Path(__file__).parent.parent
DURATION = 10.0  # s
MEMBERS = 10_000
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
LOOP, ONE, ALL, MUJOCO = "Python loop", "batch, one thread", "batch, all cores", "MuJoCo rollout, RK4, 1 ms"
TURNS, BUDGET = 4, 0.3  # s
CASES = {
    "joint coordinates, dormand_prince, rtol 1e-8": {"coordinates": "joint"},
    "joint coordinates, dop853, rtol 1e-8": {"coordinates": "joint", "method": "dop853"},
    "joint coordinates, the first at 10 frames a second": {"coordinates": "joint", "frame_rate": 10.0},
    "joint coordinates, rk4, 1 ms": {"coordinates": "joint", "method": "rk4", "dt": 1e-3},
    "maximal coordinates, dormand_prince, rtol 1e-8": {},
    "maximal coordinates, rk4, 1 ms": {"method": "rk4", "dt": 1e-3},
}


def angles(members: int) -> dict[str, np.ndarray]:
    """Angles of both joints at random (rad)."""
    rng = np.random.default_rng(1)
    return {name: rng.uniform(-np.pi, np.pi, MEMBERS)[:members] for name in ("shoulder.position", "elbow.position")}


def in_batch(settings: dict[str, object], threads: int) -> Advance:
    """So many members in a batch."""
    scene = double_pendulum.build()

    def advance(members: int) -> None:
        dal.run_batch(scene, DURATION, vary=angles(members), threads=threads, **settings)

    return advance


def in_loop(settings: dict[str, object]) -> Advance:
    """The same members, one after another from Python. Raises ValueError where their bits differ from those of the batch."""
    batch = dal.run_batch(double_pendulum.build(), DURATION, vary=angles(64), **settings)

    def advance(members: int) -> None:
        for member in range(members):
            batch.alone(member).advance(DURATION)

    for member in range(3):
        run = batch.alone(member).advance(DURATION)
        if not np.array_equal(run.trajectory.state.values, batch.state[member]):
            raise ValueError(f"member {member} is not the same by itself")
    return advance


def in_mujoco() -> Advance:
    """mujoco.rollout of the exported scene, RK4 at 1 ms."""
    import mujoco
    from mujoco import rollout

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pendulum.xml")
        dal.export_mjcf(double_pendulum.build(), path)
        model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.timestep, model.opt.integrator = 1e-3, mujoco.mjtIntegrator.mjINT_RK4
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    data = [mujoco.MjData(model) for _ in range(CORES)]
    first, kind = mujoco.MjData(model), mujoco.mjtState.mjSTATE_FULLPHYSICS
    pool = rollout.Rollout(nthread=CORES)
    steps = round(DURATION / model.opt.timestep)

    def states(members: int) -> np.ndarray:
        given = angles(members)
        out = np.zeros((members, mujoco.mj_stateSize(model, kind)))
        for member in range(members):
            first.qpos[:] = [given[name][member] for name in ("shoulder.position", "elbow.position")]
            mujoco.mj_getState(model, first, out[member], kind)
        return out

    def advance(members: int) -> None:
        for k in range(0, members, 64):
            pool.rollout(model, data, states(members)[k : k + 64], nstep=steps)

    found, _ = pool.rollout(model, data, states(1), nstep=500)
    own = dal.run_batch(double_pendulum.build(), 0.5, vary=angles(1), **CASES["joint coordinates, rk4, 1 ms"]).alone(0)
    own.advance(0.5)
    if not np.allclose(found[0, -1, 1:3], own.coordinates, atol=1e-6):
        raise ValueError(f"MuJoCo has other angles after 0.5 s: {found[0, -1, 1:3]} and {own.coordinates}")
    return advance


def turn_of(advance: Advance, members: int) -> tuple[float, float]:
    """Processor time and wall time a member, s."""
    processor, wall = time.process_time(), time.perf_counter()
    advance(members)
    return (time.process_time() - processor) / members, (time.perf_counter() - wall) / members


def shortest(engines: dict[str, Advance]) -> dict[str, tuple[float, float]]:
    """Least processor time and least wall time a member of each, by turns of about BUDGET s."""
    found = {name: turn_of(advance, 2) for name, advance in engines.items()}
    for _ in range(TURNS):
        for name, advance in engines.items():
            members = int(min(max(BUDGET / found[name][0], CORES), 256))
            found[name] = tuple(map(min, found[name], turn_of(advance, members)))
    return found


def free(processor: float, wall: float) -> bool:
    """Whether all cores were ours."""
    return processor > 0.9 * CORES * wall


def row(name: str, settings: dict[str, object]) -> str:
    """One line of the table."""
    times = shortest({LOOP: in_loop(settings), ONE: in_batch(settings, 1), ALL: in_batch(settings, CORES)})
    loop, one, every = times[LOOP], times[ONE], times[ALL]
    gains = [f"**{loop[1] / every[1]:.1f}**", f"{one[1] / every[1]:.2f}"] if free(*every) else ["—", "—"]
    cells = [
        f"{1e3 * loop[0]:.3g} ms",
        f"{1e3 * one[0]:.3g} ms",
        f"{loop[0] / one[0]:.1f}",
        f"{every[0] / one[0]:.2f}",
        *gains,
    ]
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Race, and write the section of docs/benchmarks.md."""
    lines = [
        f"| run | {LOOP} | batch | gain a core | cost on {CORES} threads | gain on {CORES} cores | one core to {CORES} |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, settings in CASES.items():
        lines.append(row(name, settings))
        print(lines[-1], flush=True)
    for name, advance in built({MUJOCO: in_mujoco}).items():
        lines.append(f"| {name} | — | {1e3 * shortest({name: advance})[name][0]:.3g} ms | — | — | — | — |")
        print(lines[-1], flush=True)
    more = []
    if "--all" in sys.argv:
        start = time.perf_counter()
        batch = dal.run_batch(double_pendulum.build(), DURATION, vary=angles(MEMBERS), coordinates="joint")
        took, worst = time.perf_counter() - start, batch.energy_residual
        more = [
            f"All {MEMBERS} members of the first row took {took:.1f} s; {len(batch.failed)} failed; their energy balance was",
            f"off by {worst.max():.2g} J at worst, by {np.median(worst):.2g} J in the median.",
            "",
        ]
        print("\n".join(more), flush=True)
    block = "\n".join([
        "## Batches", "",
        f"Double pendulums of {DURATION:g} s from random angles ({platform.machine()}): processor time a member, the least",
        "of several turns. The loop runs the same members by the same method one after another from Python, with the same",
        "frames (60 a second), and gives the same bits. The last two columns are wall time; a dash where the cores were not",
        "free. MuJoCo records every step.", "",
        *lines, "", *more,
    ])  # fmt: skip
    page = ROOT / "docs" / "benchmarks.md"
    page.write_text(refreshed(page.read_text("utf-8"), "batch", block), encoding="utf-8")


if __name__ == "__main__":
    main()
