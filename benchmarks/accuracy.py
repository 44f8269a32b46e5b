"""How right the engine is, against solutions that are known: writes docs/accuracy.md and docs/accuracy-order.png.

    python benchmarks/accuracy.py

Order of each method by regression, error over tolerance, drift over long runs, contact against theory. Everything here is
deterministic; it takes less than two minutes once the kernels are compiled.
"""

import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import accuracy_contact
import dalembert as dal
from accuracy_cases import ORBIT, PENDULUM, TUMBLING, Case, run_case

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "accuracy-order.png"
ROUNDING = 3e-13  # errors below it are not those of a method
BODIES = {
    "euler": 1, "symplectic_euler": 1, "midpoint": 2, "splitting": 2, "time_stepping": 2, "bogacki_shampine": 3, "rk4": 4,
    "dormand_prince": 5, "dop853": 8,
}  # fmt: skip
PARTICLES = {
    "euler": 1, "symplectic_euler": 1, "implicit_euler": 1, "linear_implicit_euler": 1, "implicit_midpoint": 2, "bdf2": 2,
    "time_stepping": 2, "rk4": 4, "dormand_prince": 5, "dop853": 8,
}  # fmt: skip
IMPLICIT = ("implicit_euler", "linear_implicit_euler", "implicit_midpoint", "bdf2")
CASES = ((PENDULUM, BODIES), (TUMBLING, BODIES), (ORBIT, PARTICLES))
FIRST = {1: 2000, 2: 200, 3: 200, 4: 200, 5: 50, 8: 12}  # steps of the longest step, by order
Curves = dict[str, list[tuple[float, float]]]


def convergence(case: Case, methods: dict[str, int], **settings: Any) -> Curves:
    """(step s, error) of each method for six steps, each 1/√2 of the one before."""
    curves: Curves = {}
    for method, order in methods.items():
        counts = [round(FIRST[order] * 2.0 ** (k / 2)) for k in range(6)]
        runs = [(case.duration / n, run_case(case, method=method, dt=case.duration / n, **settings)) for n in counts]
        curves[method] = [(dt, case.error(run)) for dt, run in runs]
    return curves


def order_of(points: list[tuple[float, float]]) -> str:
    """The slope of the error over the step in logarithms, where the error is above rounding."""
    kept = [point for point in points if point[1] > ROUNDING]
    return "—" if len(kept) < 3 else f"{np.polyfit(*np.log(kept).T, 1)[0]:.2f}"


def order_section() -> str:
    """Markdown; writes the picture."""
    found = {case.title: convergence(case, methods) for case, methods in CASES}
    joint = {method: order for method, order in BODIES.items() if method not in ("symplectic_euler", "splitting")}
    found[PENDULUM.title + ", joint coordinates"] = convergence(PENDULUM, joint, coordinates="joint")
    draw(found)
    titles = list(found)
    lines = ["| method | order | " + " | ".join(titles) + " |", "|---|---|" + "---|" * len(titles)]
    for method, order in (BODIES | PARTICLES).items():
        cells = [order_of(found[title][method]) if method in found[title] else "" for title in titles]
        lines.append(f"| `{method}` | {order} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def draw(found: dict[str, Curves]) -> None:
    """One panel a case: error against step, both logarithmic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5.4), layout="constrained")
    panels = figure.subplots(1, len(CASES))
    colors = {name: f"C{i % 10}" for i, name in enumerate(BODIES | PARTICLES)}
    for panel, (case, _) in zip(panels, CASES, strict=True):
        for method, points in found[case.title].items():
            style = "s--" if method in IMPLICIT else "o-"
            panel.loglog(*np.transpose(points), style, label=method, color=colors[method], markersize=4)
        panel.set(title=case.title, xlabel="step, s", ylim=(1e-16, 10))
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("error at the end, m (of the free body: a share of 1)")
    handles = {text: line for panel in panels for line, text in zip(*panel.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=5, frameon=False)
    figure.savefig(PICTURE, dpi=110)


TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)


def tolerance_section() -> tuple[str, float, float]:
    """Markdown: what comes of a tolerance; the least and the largest error, as multiples of the tolerance."""
    factors = []
    lines = ["| method | case | " + " | ".join(f"`rtol={rtol:.0e}`" for rtol in TOLERANCES) + " |"]
    lines.append("|---|---|" + "---|" * len(TOLERANCES))
    for method in ("bogacki_shampine", "dormand_prince", "dop853"):
        for case in (PENDULUM, TUMBLING, ORBIT):
            cells = []
            for rtol in TOLERANCES:
                run = run_case(case, method=method, rtol=rtol)
                factors.append(case.error(run) / rtol)
                cells.append(f"{case.error(run):.0e} ({run.report.steps})")
            lines.append(f"| `{method}` | {case.title} | " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    return "\n".join(lines), min(factors), max(factors)


def chain(links: int = 20) -> dal.Scene:
    """Links of 10 cm on ball joints, level at the start."""
    scene, above = dal.Scene("chain"), dal.WORLD
    for i in range(links):
        link = scene.add_body(f"link {i}", dal.Capsule(0.01, 0.08), mass=0.1, position=(0.1 * i + 0.05, 0, 0),
                              orientation=(np.sqrt(0.5), 0, np.sqrt(0.5), 0))  # fmt: skip
        scene.ball(f"joint {i}", above, link, at=(0.1 * i, 0, 0))
        above = link
    return scene


def four_bar() -> dal.Scene:
    """A planar loop of hinges in space: three of its constraints say what others say."""
    from dalembert import gallery

    return gallery.load("four-bar").build()


LONG: tuple[tuple[str, Callable[[], dal.Scene], float, dict[str, Any]], ...] = (
    ("pendulum", PENDULUM.build, 1000.0, {"method": "dop853", "rtol": 1e-10}),
    ("pendulum", PENDULUM.build, 1000.0, {"method": "rk4", "dt": 2e-3}),
    ("pendulum", PENDULUM.steppable, 1000.0, {"method": "time_stepping", "dt": 2e-3}),
    ("pendulum", PENDULUM.build, 1000.0, {"method": "dop853", "rtol": 1e-10, "coordinates": "joint"}),
    ("free body", TUMBLING.build, 1000.0, {"method": "dop853", "rtol": 1e-10}),
    ("free body", TUMBLING.build, 1000.0, {"method": "splitting", "dt": 1e-2}),
    ("chain of 20 links", chain, 30.0, {"method": "dop853", "rtol": 1e-10}),
    ("chain of 20 links", chain, 30.0, {"method": "rk4", "dt": 2.5e-4}),
    ("chain of 20 links", chain, 30.0, {"method": "rk4", "dt": 2.5e-4, "hold": "feedback", "stiffness": 1e4, "damping": 2e2}),
    ("chain of 20 links", chain, 30.0, {"method": "rk4", "dt": 2.5e-4, "coordinates": "joint"}),
    ("four-bar loop, redundant", four_bar, 100.0, {"method": "dop853", "rtol": 1e-10}),
)  # fmt: skip


def long_section() -> str:
    """Markdown: what drifts over long runs of systems that lose no energy."""
    lines = [
        "| mechanism | settings | time | energy error | of the integration | worst joint |",
        "|---|---|---|---|---|---|",
    ]
    for title, build, duration, settings in LONG:
        run = dal.simulate(build(), duration, frame_rate=10.0, **settings)
        error, integration = run.report.energy_residual_relative, run.report.integration_error / run.report.energy_scale
        joint = f"{run.report.joint_error:.0e} m" if run.report.joint_error else "0" if run.report.worst_joint else "—"
        given = ", ".join(f"`{key}={value!r}`" for key, value in settings.items())
        lines.append(f"| {title} | {given} | {duration:g} s | {error:.0e} | {integration:.0e} | {joint} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    orders, (tolerances, least, most), long, (errors, residuals) = (
        order_section(), tolerance_section(), long_section(), accuracy_contact.tables(),
    )  # fmt: skip
    page = f"""# Accuracy

This page shows how large the errors of each method are. It compares runs with known solutions: a pendulum of any
amplitude and a free body with Jacobi's elliptic functions, an ellipse with Kepler's equation, contact with formulas.
The scenes are in `benchmarks/accuracy_cases.py` and `benchmarks/accuracy_contact.py`. `python benchmarks/accuracy.py`
writes this page (here with Python {platform.python_version()}, {platform.machine()}).

## Order

The figure shows the error at the end of a run against its step, both logarithmic. The slope of the best straight line
is the measured order of the method. Each line has six steps. Errors below {ROUNDING:.0e} are rounding, and are left out
of the fit; a dash means that too few errors are above it.

![error against step, three cases](accuracy-order.png)

{orders}

Joints do not reduce the order of a method, because the state is projected onto the constraints after each step.
`splitting` and `time_stepping` move a free body by a rule of fourth order; with forces they are of second order. The
steps of `dop853` must be long to keep its error above rounding, so that terms of higher order affect its slope.

## Tolerances

The table gives the error at the end of a run and, in brackets, the number of steps. `rtol` is a tolerance on the local
error: it bounds the error that one step adds. The error of the run is the sum of these errors, and grows with time and
with the conditioning of the motion. The runs here last 1.3 s (pendulum) and 4 s (the others), and end with errors
between {least:.0e} and {most:.0f} times `rtol`.

{tolerances}

## Long runs

These mechanisms lose no energy, so every change of their energy is an error. The energy error of the audit is the
largest change, here relative to the largest kinetic energy. "Of the integration" is the part that comes neither from
projection nor from constraints. The ledger integrates their work too; if the parts cancel each other, this part may be
larger than the sum. "Worst joint" is the largest distance by which a joint was open in any frame.

{long}

## Contact

The table gives relative errors of contact in time steps of 1/240 s, with each solver, and by events.

{errors}

A contact that lasts while bodies turn has an error of second order
([how](step-of-contact.md#contacts-on-curved-paths)). The [bicycle](gallery.md#bicycle) of the benchmark of 2007
agrees with its linear equations to 2e-3 of its peaks at 960 steps a second, and to 2e-4 at 3840 with rims of a
quarter of the width; the [rattleback](gallery.md#rattleback) agrees with the equations of rolling to 8e-3 rad/s at
960 and 2e-3 at 1920. In time steps a bounce of bodies in flight happens where and when they meet, and in small scenes
so does an impact of bodies that stand or are joined to others ([how](step-of-contact.md#steps-in-parts)). Otherwise,
or where a body turns by more than 0.1 rad a step while it lands, an impact happens in the middle of the step that
contains it, with an error of first order in the step. By events every impact happens at its exact time.

An impact without restitution takes two steps: the body closes the gap in the first, and stops in the second. Without
friction the result is that of one impact. With friction it can differ at any step size, because the contact may slide
in other directions in the two parts. Of 16 boxes that tumble and fall by 5 cm, half are within 4e-5 m of the result
by events after 0.25 s, and the worst is 2e-2 m away. Use events where this matters.

The next table has what the runs report themselves: the largest residual of Coulomb's law in any step, and the
relative energy error.

{residuals}
"""
    (ROOT / "docs" / "accuracy.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
