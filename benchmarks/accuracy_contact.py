"""Contact against theory: what benchmarks/accuracy.py measures of impacts, sliding, rolling and resting."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dalembert as dal
from dalembert.gallery import bouncing_ball, incline, rolling

G = 9.81
SOLVERS: dict[str, dict[str, Any]] = {
    "time steps, Gauss–Seidel": {"dt": 1 / 240},
    "time steps, interior point": {"dt": 1 / 240, "solver": "interior_point"},
    "events, Dormand–Prince": {"method": "dormand_prince", "rtol": 1e-10},
}


@dataclass(frozen=True)
class Experiment:
    """A scene with contact, how long it is run (s), what is compared, and the relative error of that."""

    title: str
    compared: str
    build: Callable[[], dal.Scene]
    duration: float
    error: Callable[[dal.Simulation], float]


def slope(friction: float) -> Callable[[], dal.Scene]:
    return lambda: incline.build(friction=friction)


def slid(friction: float) -> Callable[[dal.Simulation], float]:
    """Relative to the way of a body without friction."""

    def error(run: dal.Simulation) -> float:
        way = 0.5 * incline.acceleration(friction) * run.time**2
        free = 0.5 * incline.acceleration(0.0) * run.time**2
        return abs(float(run.state.position[0, 0]) - way) / free

    return error


def rolls(run: dal.Simulation) -> float:
    return abs(float(run.state.velocity[0, 0]) / (5.0 / 7.0) - 1.0)


def bounces(run: dal.Simulation) -> float:
    """How high it flies between the first impact and the second, against e² h."""
    height, speed = float(run.state.position[0, 2]) - bouncing_ball.RADIUS, float(run.state.velocity[0, 2])
    e = run.model.scene.obstacles["ground"].material.restitution
    return abs((height + 0.5 * speed**2 / G) / e**2 - 1.0)


BOXES = 8


def tower() -> dal.Scene:
    """Boxes of 1 kg on each other."""
    scene = dal.Scene("tower", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    for level in range(BOXES):
        scene.add_body(f"box {level}", dal.Box(0.4, 0.4, 0.2), mass=1.0, position=(0, 0, 0.1 + 0.2 * level))
    return scene


def bears(run: dal.Simulation) -> float:
    """What the ground bears against the weight of all boxes."""
    force = sum(float(contact.force[2]) for contact in run.contacts if "ground" in (contact.a, contact.b))
    return abs(abs(force) / (BOXES * G) - 1.0)


EXPERIMENTS = (
    Experiment("block slides down 30°, μ = 0.3", "the way in 1 s", slope(0.3), 1.0, slid(0.3)),
    Experiment("block sticks at 30°, μ = 0.7", "the creep in 1 s", slope(0.7), 1.0, slid(0.7)),
    Experiment("ball slides, then rolls", "speed: 5/7 of the first", rolling.build, 0.5, rolls),
    Experiment("ball bounces, e = 0.8", "height between impacts: e² h", bouncing_ball.build, 0.9, bounces),
    Experiment(f"tower of {BOXES} boxes", "force on the ground", tower, 2.0, bears),
)


def cell(experiment: Experiment, settings: dict[str, Any]) -> tuple[str, str]:
    """The error, and the residual of the law of contact (m/s) with the energy error."""
    run = dal.simulate(experiment.build(), experiment.duration, **settings)
    report = run.report
    return f"{experiment.error(run):.0e}", f"{report.contact.residual:.0e} m/s; {report.energy_residual_relative:.0e}"


def tables() -> tuple[str, str]:
    """Markdown: errors, and what the runs themselves say."""
    head = "| experiment | compared | " + " | ".join(SOLVERS) + " |"
    lines = [head, "|---|---|" + "---|" * len(SOLVERS)]
    residuals = ["| experiment | " + " | ".join(SOLVERS) + " |", "|---|" + "---|" * len(SOLVERS)]
    for experiment in EXPERIMENTS:
        cells = [cell(experiment, settings) for settings in SOLVERS.values()]
        lines.append(f"| {experiment.title} | {experiment.compared} | " + " | ".join(c[0] for c in cells) + " |")
        residuals.append(f"| {experiment.title} | " + " | ".join(c[1] for c in cells) + " |")
        print(lines[-1], residuals[-1], flush=True)
    return "\n".join(lines), "\n".join(residuals)
