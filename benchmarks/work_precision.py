"""Work–precision: the error at the end of a run against the time that it took, as the step or the tolerance shrinks.

`section` is what docs/benchmarks.md says of it; docs/work-precision.png is the picture. Alone: python work_precision.py
"""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import dalembert as dal
import mjcf
from dalembert.model.compile import compile_scene
from problems import PROBLEMS, Problem, mujoco_end, ours_end, reference

PICTURE = Path(__file__).parent.parent / "docs" / "work-precision.png"
GOALS = (1e-3, 1e-6, 1e-9)  # errors of the table, m
HALVED = 2.0 ** -np.arange(7)
STYLES = {
    "dalembert rk4": {"color": "#4c78a8", "marker": "o"},
    "dalembert dop853, fixed step": {"color": "#f58518", "marker": "s"},
    "dalembert dop853, adaptive": {"color": "#e45756", "marker": "D"},
    "MuJoCo RK4": {"color": "#555555", "marker": "^", "linestyle": "--"},
    "MuJoCo implicitfast": {"color": "#aaaaaa", "marker": "v", "linestyle": "--"},
}
Run = Callable[[], tuple[float, np.ndarray]]  # seconds in the compiled loop, and where the point ends
Curves = dict[str, list[tuple[float, float]]]  # (seconds a simulated second, error in m), from coarse to fine


def our_run(problem: Problem, model, **settings) -> Run:
    def run() -> tuple[float, np.ndarray]:
        simulation = dal.Simulation(model, frame_rate=1.0 / problem.duration, **settings)
        simulation.advance(problem.duration)
        return simulation.kernel_time, ours_end(problem, simulation)

    return run


def mujoco_run(problem: Problem, integrator: str, steps: int) -> Run:
    import mujoco

    model, data = mjcf.mujoco_scene(problem.build(), integrator, problem.duration / steps)
    velocity = data.qvel.copy()

    def run() -> tuple[float, np.ndarray]:
        mujoco.mj_resetData(model, data)
        data.qvel[:] = velocity
        start = time.perf_counter()
        mujoco.mj_step(model, data, steps)
        seconds = time.perf_counter() - start
        reset = data.time < 0.999 * problem.duration  # what it does by itself when it goes unstable
        return seconds, np.full(3, np.inf) if reset else mujoco_end(problem, model, data)

    return run


def runs_of(problem: Problem) -> dict[str, list[Run]]:
    """Each method at its sweep, from coarse to fine."""
    model = compile_scene(problem.build())

    def counts(fractions: np.ndarray) -> list[int]:
        return [round(problem.duration / (problem.longest * part)) for part in fractions]

    runs: dict[str, list[Run]] = {
        "dalembert rk4": [our_run(problem, model, method="rk4", dt=problem.duration / n) for n in counts(HALVED)],
        "dalembert dop853, fixed step": [
            our_run(problem, model, method="dop853", dt=problem.duration / n) for n in counts(2.0 * HALVED[:6])
        ],
        "dalembert dop853, adaptive": [
            our_run(problem, model, method="dop853", rtol=rtol) for rtol in 10.0 ** -np.arange(3, 14)
        ],
    }
    try:
        runs["MuJoCo RK4"] = [mujoco_run(problem, "RK4", n) for n in counts(HALVED)]
        runs["MuJoCo implicitfast"] = [mujoco_run(problem, "implicitfast", n) for n in counts(4.0 ** -np.arange(5))]
    except ImportError as error:
        print(f"MuJoCo: {error}")
    return runs


def curves_of(problem: Problem, turns: int) -> tuple[Curves, float]:
    """The curves, each time the least of `turns`, which alternate; and how far the two references are apart, m.

    Left out: runs that fail, errors above a metre, and errors below what the references agree to.
    """
    end, apart = reference(problem)
    runs = runs_of(problem)
    times = {(name, k): np.inf for name, row in runs.items() for k in range(len(row))}
    errors = dict.fromkeys(times, np.inf)
    for _ in range(turns):
        for name, k in times:
            try:
                seconds, place = runs[name][k]()
            except dal.SimulationError:
                continue  # the step is too long for the mechanism
            times[name, k] = min(times[name, k], seconds / problem.duration)
            errors[name, k] = float(np.linalg.norm(place - end))
    kept = {name: [(times[name, k], errors[name, k]) for k in range(len(row))] for name, row in runs.items()}
    return {name: [point for point in row if apart < point[1] < 1.0] for name, row in kept.items()}, apart


def time_to(goal: float, curve: list[tuple[float, float]]) -> float:
    """Seconds a simulated second at an error (m), between the runs on either side; NaN where no run comes below it."""
    for (slow, good), (fast, bad) in zip(curve[1:], curve, strict=False):
        if good <= goal <= bad:
            part = np.log(bad / goal) / np.log(bad / good) if bad > good else 1.0
            return float(fast * (slow / fast) ** part)
    return curve[0][0] if curve and curve[0][1] <= goal else float("nan")


def cell(seconds: float) -> str:
    if np.isnan(seconds):
        return "—"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"


def draw(results: dict[str, Curves], path: Path = PICTURE) -> None:
    """One panel a problem: error against time, both logarithmic."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 13})
    figure, panels = plt.subplots(
        1, len(results), figsize=(5.4 * len(results), 5.6), layout="constrained", squeeze=False
    )
    for panel, (title, curves) in zip(panels[0], results.items(), strict=True):
        for name, points in curves.items():
            if points:
                panel.loglog(*np.transpose(points), label=name, linewidth=1.8, markersize=6, **STYLES[name])
        panel.set_title(title)
        panel.set_xlabel("wall time per simulated second, s")
        panel.grid(alpha=0.3)
    panels[0][0].set_ylabel("error of the end point, m")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def section(problems: tuple[Problem, ...] = PROBLEMS, turns: int = 5, picture: Path = PICTURE) -> str:
    """Markdown; writes the picture."""
    results, notes, lines = {}, [], []
    for problem in problems:
        results[problem.title], apart = curves_of(problem, turns)
        notes.append(f"- {problem.title}: {problem.duration:g} s; the references are {apart:.1g} m apart")
        for name, curve in results[problem.title].items():
            lines.append(f"| {problem.title} | {name} | " + " | ".join(cell(time_to(g, curve)) for g in GOALS) + " |")
        print("\n".join(lines[-len(STYLES) :]), flush=True)
    draw(results, picture)
    head = "| mechanism | method | " + " | ".join(f"{goal:.0e} m" for goal in GOALS) + " |"
    return f"""## Work and precision

![error of the end point against wall time, three mechanisms]({picture.name})

The error is the distance of a point at the end of the mechanism from its position by our DOP853 at rtol = 1e-14. MuJoCo's
accelerations, integrated by SciPy's DOP853 in joint coordinates, confirm that reference; errors smaller than their
difference are not drawn. The time is that of the compiled loop, the least of {turns} runs that take turns. There is no
damping, no armature and no contact; inertia is given in numbers.

{chr(10).join(notes)}

Wall time for a simulated second, at three errors:

{head}
|---|---|{"---|" * len(GOALS)}
{chr(10).join(lines)}
"""


if __name__ == "__main__":
    print(section())
