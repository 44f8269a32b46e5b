"""The command line: `dalembert run NAME|FILE.py`, `dalembert list`.

Exit codes: 0 done, 1 the run failed in the middle, 2 the input was refused, 130 interrupted (what was recorded is kept).
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

if TYPE_CHECKING:
    from .simulate import Simulation

FAILED, REFUSED, INTERRUPTED = 1, 2, 130

app = App(name="dalembert", help="Rigid mechanisms simulated exactly and fast, with every joule accounted for.")


@app.command
def run(
    scene: str,
    /,
    *,
    duration: float | None = None,
    dt: float | None = None,
    rtol: float | None = None,
    method: str | None = None,
    frames: float | None = None,
    out: Path | None = None,
    resume: Path | None = None,
    report: Path | None = None,
    view: bool = False,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Run a scene and print the table of the run.

    Parameters
    ----------
    scene
        A name from `dalembert list`, or a Python file with a function build() that returns a Scene.
    duration
        Simulated time, s.
    dt
        Step of a fixed-step method, s.
    rtol
        Relative tolerance of an adaptive method.
    method
        Integration method: euler, midpoint, rk4, bogacki_shampine, dormand_prince, dop853, adaptive_euler,
        symplectic_euler, splitting.
    frames
        Recorded frames a second.
    out
        Save the recorded run here (NetCDF).
    resume
        Go on from the last state of this saved run.
    report
        Write a page with the animation, the plots and the table here (HTML).
    view
        Show the motion in the browser; without a display, write the report and say where.
    as_json
        Print the table as JSON.
    """
    from .errors import SimulationError
    from .simulate import Simulation
    from .trajectory import Trajectory

    try:
        built, settings = _load(scene)
        given = {"duration": duration, "dt": dt, "rtol": rtol, "method": method, "frames": frames}
        settings.update({key: value for key, value in given.items() if value is not None})
        if dt is None and rtol is not None:
            settings.pop("dt", None)
        length = float(settings.pop("duration", 10.0))
        simulation = Simulation(built, **settings)
        if resume is not None:
            simulation.resume(Trajectory.load(resume))
    except (ValueError, OSError) as error:
        print(f"dalembert: {error}", file=sys.stderr)
        return REFUSED
    code = 0
    try:
        _advance(simulation, length)
    except SimulationError as error:
        print(f"dalembert: {error}", file=sys.stderr)
        code = FAILED
    if simulation.interrupted:
        code = INTERRUPTED
    print(json.dumps(simulation.report.as_dict()) if as_json else simulation.report)
    return _keep(simulation, out, report, view, as_json) or code


@app.command(name="list")
def list_scenes() -> int:
    """List the scenes of the gallery."""
    from . import gallery

    for name in gallery.names():
        lines = (gallery.load(name).__doc__ or "").strip().splitlines()
        print(f"{name:16} {lines[0] if lines else ''}")
    return 0


def _load(name: str) -> tuple[Any, dict[str, Any]]:
    """(scene, settings) of a gallery name or of a Python file, which is run."""
    from . import gallery

    if name in gallery.names():
        module = gallery.load(name)
        return module.build(), dict(module.SETTINGS)
    path = Path(name)
    if path.suffix != ".py":
        raise ValueError(f"no scene {name!r}; `dalembert list` names the scenes, or give a .py file with build()")
    if not path.is_file():
        raise ValueError(f"no file {name!r}")
    import runpy

    try:
        names = runpy.run_path(str(path))
    except Exception as error:
        raise ValueError(f"{name}: the file failed: {type(error).__name__}: {error}") from error
    if not callable(names.get("build")):
        raise ValueError(f"{name}: it has no function build() that returns a Scene")
    return names["build"](), dict(names.get("SETTINGS", {}))


def _advance(simulation: Simulation, duration: float) -> None:
    """Run, with a progress bar when a person is looking and it takes longer than a second."""
    if not sys.stderr.isatty():
        simulation.advance(duration)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:.0f} %"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(simulation.model.name, total=duration)
        start = simulation.time
        simulation.advance(duration, progress=lambda s: bar.update(task, completed=s.time - start))


def _keep(simulation: Simulation, out: Path | None, report: Path | None, view: bool, quiet: bool) -> int:
    """Save, write the report, show; returns an exit code."""
    from .view.report import write_report

    try:
        if out is not None:
            print(f"saved {simulation.trajectory.save(out)}", file=sys.stderr)
        has_display = sys.platform in ("darwin", "win32") or bool(
            os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
        )
        if view and not has_display and report is None:
            report = Path("out") / f"{simulation.model.name.replace(' ', '-').replace('/', '-')}.html"
        if report is not None:
            report.parent.mkdir(parents=True, exist_ok=True)
            written = write_report(simulation.trajectory, report)
            print(f"report written to {written.resolve()}", file=sys.stderr if quiet else sys.stdout)
        if view and has_display:
            _show(simulation)
    except (ValueError, OSError) as error:
        print(f"dalembert: {error}", file=sys.stderr)
        return REFUSED
    return 0


def _show(simulation: Simulation) -> None:
    from .view.live import LiveViewer

    trajectory = simulation.trajectory
    with LiveViewer(trajectory.scene_description) as viewer:
        viewer.show(trajectory)
        viewer.serve_forever()


def main() -> None:
    """Entry point of the `dalembert` command."""
    sys.exit(app(result_action="return_value"))


if __name__ == "__main__":
    main()
