"""Cloth of 100 × 100 vertices hung by two corners, at 1/60 s, beside MuJoCo's.

2 m × 2 m, 0.25 kg/m², at first level; it falls and swings for 2 s, for two stretching stiffnesses k. Ours:
"linear_implicit_euler" with conjugate gradients to 1e-4, shearing stiffness k/2. MuJoCo: a flex of as many vertices,
Young's modulus times thickness k, Poisson's ratio 0, which is the same stiffness against shear; both bend with the
rigidity k t²/12 of a thickness t of 1 mm. It runs by "discrete", which takes elasticity implicitly, at 1/60 s (a step
whose linear solve it reports as not converged is counted), and by "Euler" at the largest step that keeps velocities
bounded for a quarter of a second. No contact, no damping. One thread, in seconds of the processor: stretches of their runs
take turns, and of each stretch the shortest of three runs counts, or the only one where a run takes more than 10 s.

    python benchmarks/cloth.py [stiffnesses, N/m]
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import dalembert as dal
from dalembert.scene.mesh_file import triangle_grid
from readme import refreshed

ROOT = Path(__file__).parent.parent
VERTICES, SIZE, DENSITY, THICKNESS = 100, 2.0, 0.25, 1e-3  # a side; m; kg/m²; m
STIFFNESSES = (100.0, 1000.0)  # N/m
DT, DURATION = 1 / 60, 2.0  # s
STRETCHES, TURNS = 10, 3  # of a run; runs
LONG = 10.0  # s: a run that takes longer is made once
TRIED = 1e-3 * 2.0 ** (-0.5 * np.arange(9))  # s: steps of MuJoCo's explicit integrator, the largest first
TRIAL = 0.25  # s
BOUND = 50.0  # m/s


class Row(NamedTuple):
    """One line of the table."""

    engine: str
    stiffness: float  # N/m
    dt: float  # s
    seconds: float  # of the processor, a step
    note: str

    @property
    def pace(self) -> float:
        """Seconds that a second takes."""
        return self.seconds / self.dt


class Ours:
    """Our run: `advance` takes it on by some seconds."""

    def __init__(self, stiffness: float) -> None:
        vertices, faces = triangle_grid(SIZE, SIZE, VERTICES, VERTICES)
        scene = dal.Scene("cloth")
        scene.cloth(
            "cloth", vertices, faces, density=DENSITY, stretch=stiffness, shear=0.5 * stiffness,
            bend=stiffness * THICKNESS**2 / 12.0, pinned=[0, VERTICES - 1],
        )  # fmt: skip
        self.stiffness = stiffness
        self.run = dal.Simulation(scene, method="linear_implicit_euler", dt=DT, linear_tolerance=1e-4, frame_rate=1.0)

    def advance(self, duration: float) -> float:
        """Returns seconds of the processor."""
        start = time.process_time()
        self.run.advance(duration)
        return time.process_time() - start

    def row(self, seconds: float) -> Row:
        """seconds : of the processor, all of the run."""
        report = self.run._driver.report[0]
        stages = self.run.report.stages
        total = sum(stages.values())
        step = seconds / float(report.steps)
        shares = ", ".join(
            f"{name.removeprefix('particles: ')} {1e3 * step * spent / total:.2g}"
            for name, spent in stages.items()
            if spent > 0.02 * total
        )
        return Row(
            "dalembert", self.stiffness, DT, step, f"ms: {shares}; {report.linear / report.steps:.1f} iterations"
        )


class Flex:
    """MuJoCo's cloth, compiled once, as that takes long: stiffnesses are those of k = 1 N/m, scaled."""

    def __init__(self) -> None:
        import mujoco

        spacing = SIZE / (VERTICES - 1)
        self.mujoco = mujoco
        mujoco.set_mju_user_warning(lambda message: None)  # it would write a log file here
        self.model = mujoco.MjModel.from_xml_string(
            f'<mujoco><option integrator="discrete" gravity="0 0 -9.81"/><size memory="2G"/><worldbody>'
            f'<flexcomp name="cloth" type="grid" count="{VERTICES} {VERTICES} 1" spacing="{spacing} {spacing} {spacing}"'
            f' dim="2" mass="{DENSITY * SIZE**2}" radius="1e-3"><elasticity young="{1.0 / THICKNESS}" poisson="0"'
            f' thickness="{THICKNESS}" elastic2d="both"/><contact contype="0" conaffinity="0" selfcollide="none"/>'
            f'<pin id="0 {VERTICES * (VERTICES - 1)}"/></flexcomp></worldbody></mujoco>'
        )
        self._stretch, self._bend = self.model.flex_stiffness.copy(), self.model.flex_bending.copy()

    def set(self, stiffness: float, integrator: str, dt: float) -> None:
        """What the next steps are made with."""
        self.model.flex_stiffness[:] = stiffness * self._stretch
        self.model.flex_bending[:] = stiffness * self._bend
        self.model.opt.integrator = getattr(self.mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
        self.model.opt.timestep = dt


class Theirs:
    """A run of MuJoCo's."""

    def __init__(self, flex: Flex, stiffness: float, integrator: str, dt: float) -> None:
        self.flex, self.stiffness, self.integrator, self.dt = flex, stiffness, integrator, dt
        self.data = flex.mujoco.MjData(flex.model)
        self.steps = 0

    def advance(self, duration: float) -> float:
        """Returns seconds of the processor."""
        self.flex.set(self.stiffness, self.integrator, self.dt)
        count = round(duration / self.dt)
        self.steps += count
        start = time.process_time()
        self.flex.mujoco.mj_step(self.flex.model, self.data, count)
        return time.process_time() - start

    @property
    def bounded(self) -> bool:
        """Whether nothing has flown away; MuJoCo begins anew where numbers become too large."""
        fast = np.abs(self.data.qvel).max()
        return bool(fast < BOUND and self.data.time > 0.9 * self.steps * self.dt)

    def row(self, seconds: float) -> Row:
        """seconds : of the processor, all of the run."""
        unsolved = int(self.data.warning[self.flex.mujoco.mjtWarning.mjWARN_INERTIA].number)
        note = f"{unsolved} of {self.steps} steps not converged" if unsolved else ""
        if not self.bounded:
            note = "unstable"
        name = f"MuJoCo {self.integrator}"
        return Row(name, self.stiffness, self.dt, seconds / self.steps, note)


def largest_explicit(flex: Flex, stiffness: float) -> Row:
    """MuJoCo's Euler at the largest step of those tried that is stable. Raises ValueError if none is."""
    for dt in TRIED:
        run = Theirs(flex, stiffness, "Euler", float(dt))
        seconds = 0.0
        for _ in range(STRETCHES):
            seconds += run.advance(TRIAL / STRETCHES)
            if not run.bounded:
                break
        else:
            return run.row(seconds)
    raise ValueError(f"no step down to {TRIED[-1]:.2g} s is stable")


def attempted(name: str, make: Callable[[], Any]) -> Any:
    """What `make` returns, or None, and the reason printed."""
    try:
        return make()
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
        return None


def measure(stiffness: float, flex: Flex | None) -> list[Row]:
    makers: list[Callable[[], Any]] = [lambda: Ours(stiffness)]
    if flex is not None:
        makers.append(lambda: Theirs(flex, stiffness, "discrete", DT))
    best = np.full((len(makers), STRETCHES), np.inf)
    runs: list[Any] = [None] * len(makers)
    for _ in range(TURNS):
        again = [i for i in range(len(makers)) if not LONG < best[i].sum() < np.inf]
        for i in again:
            runs[i] = makers[i]()
        for k in range(STRETCHES):
            for i in again:
                best[i, k] = min(best[i, k], runs[i].advance(DURATION / STRETCHES))
    rows = [run.row(float(seconds)) for run, seconds in zip(runs, best.sum(axis=1), strict=True)]
    if flex is not None:
        explicit = attempted("MuJoCo Euler", lambda: largest_explicit(flex, stiffness))
        rows += [explicit] if explicit is not None else []
    for row in rows:
        print(f"{row.engine:>16} k = {row.stiffness:g}: dt {1e3 * row.dt:.3g} ms, {1e3 * row.seconds:.3g} ms a step, "
              f"{row.pace:.3g} s a second; {row.note}", flush=True)  # fmt: skip
    return rows


def main(stiffnesses: tuple[float, ...]) -> None:
    flex = attempted("MuJoCo", Flex)
    before = os.getloadavg()[0]
    rows = [row for stiffness in stiffnesses for row in measure(stiffness, flex)]
    lines = [
        "| stretching stiffness | engine | step | time of a step | time of a second | |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        lines.append(
            f"| {row.stiffness:g} N/m | {row.engine} | {1e3 * row.dt:.3g} ms | {1e3 * row.seconds:.3g} ms | "
            f"{row.pace:.3g} s | {row.note} |"
        )
    block = f"""## Cloth

{VERTICES} × {VERTICES} vertices, {SIZE:g} m × {SIZE:g} m, {DENSITY:g} kg/m², level at first, hung by two corners, for
{DURATION:g} s. Ours: "linear_implicit_euler", conjugate gradients to 1e-4. MuJoCo's: a flex of the same stiffnesses; its
"discrete" integrator, which takes elasticity implicitly, and "Euler" at the largest step, of those tried by factors of √2,
that is stable for {TRIAL:g} s. No contact, no damping; one thread, seconds of the processor; they take turns. The load of
the machine's {os.cpu_count()} cores was {before:.1f} before and {os.getloadavg()[0]:.1f} after (1 is this benchmark alone).

{chr(10).join(lines)}
"""
    path = ROOT / "docs" / "benchmarks.md"
    path.write_text(refreshed(path.read_text(encoding="utf-8"), "cloth", block), encoding="utf-8")


if __name__ == "__main__":
    main(tuple(float(word) for word in sys.argv[1:]) or STIFFNESSES)
