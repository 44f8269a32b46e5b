"""`dalembert run`, `dalembert view` and `dalembert replay`: run a scene, view it, or repeat a recorded run."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ...core.file_format import PAGES, SAVED, require_suffix
from . import FAILED, INTERRUPTED, REFUSED, command, plain_warnings
from .sweep import read_parameters

if TYPE_CHECKING:
    from ...simulation.simulation import Simulation
    from ..viewer import RunViewer


@command("run")
@plain_warnings()
def run(
    scene: str,
    /,
    *,
    duration: float | None = None,
    dt: float | None = None,
    rtol: float | None = None,
    method: str | None = None,
    frame_rate: Annotated[float | None, Parameter(name=("--frame-rate", "--frames"))] = None,
    solver: str | None = None,
    threads: int | None = None,
    parameters: Annotated[tuple[str, ...], Parameter(name="--set", negative=())] = (),
    out: Path | None = None,
    resume: Path | None = None,
    report: Path | None = None,
    contact_points: bool = True,
    view: bool = False,
    floating: bool = False,
    root: Path | None = None,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Run a scene and print the table of the run.

    Parameters
    ----------
    scene
        A name from `dalembert list`, a Python file with a function build() that returns a Scene, or a model in URDF
        (.urdf), MJCF (.xml) or USD (.usda, .usdc, .usd).
    duration
        Simulated time, s.
    dt
        Step of a fixed-step method, s.
    rtol
        Relative tolerance of an adaptive method, on the error of one step.
    method
        Integration method, or a method of fixed steps for contact or particles: a name from `dalembert methods`.
    frame_rate
        Recorded frames per second of simulated time, Hz.
    solver
        Contact solver of time steps: a name from `dalembert methods`.
    threads
        Number of threads of time steps with contact.
    parameters
        A parameter of build(), name=value; can be repeated.
    out
        Save the recorded run here (NetCDF).
    resume
        Continue from the last state of this saved run.
    report
        Write a page with the animation, the plots and the table here (HTML).
    contact_points
        Record the contact points of each frame: bodies, positions and forces.
    view
        Show the run in the browser, and keep the viewer open after it; without a display, write the report and print
    its path. floating
        Leave the root link of a URDF free; by default it is fixed to the world.
    root
        Folder with all meshes and included files of a URDF or MJCF model. Default: its package, or its own folder.
    as_json
        Print the table as JSON.
    """
    from ...gallery._loading import load

    shown = None
    try:
        for path, suffixes in ((out, SAVED), (report, PAGES)):
            if path is not None:
                require_suffix(path, *suffixes)  # before the run, not after it
        built, settings = load(scene, floating, read_parameters(parameters), root)
        if view:  # it is seen while the compiler and the kernels are loaded
            from ..viewer import open_run_viewer

            shown = open_run_viewer(built)

        from ...simulation.registry import override, positive
        from ...simulation.simulation import Simulation
        from ...simulation.stability import advice_on_steps
        from ...simulation.trajectory import Trajectory

        given = {
            "duration": duration, "dt": dt, "rtol": rtol, "method": method, "frame_rate": frame_rate, "solver": solver,
            "threads": threads, "contact_points": None if contact_points else False,
        }  # fmt: skip
        settings = override(settings, {key: value for key, value in given.items() if value is not None})
        length = positive("duration", settings.pop("duration", 10.0), "s")
        simulation = Simulation(built, **settings)
        if resume is not None:
            simulation.resume(Trajectory.load(resume))
    except (ValueError, TypeError, OSError, ImportError) as error:
        print(f"dalembert: {error}", file=sys.stderr)
        if shown is not None:
            shown.viewer.close()
        return REFUSED
    if shown is not None:
        shown.follow(simulation)
    advice = advice_on_steps(simulation, length)
    if advice is not None:
        simulation.warn(advice)
    code = _run_to_end(simulation, length, shown)
    _print_report(simulation, as_json)
    if view and shown is None and report is None:
        report = Path("out") / f"{simulation.model.name.replace(' ', '-').replace('/', '-')}.html"
    code = _keep(simulation, out, report, as_json) or code
    if shown is not None:
        shown.stay("failed" if code == FAILED else "interrupted" if code == INTERRUPTED else "done")
    return code


def _run_to_end(simulation: Simulation, duration: float, shown: Any) -> int:
    """Advance by `duration` (s). Returns the exit code."""
    from ...simulation.errors import SimulationError

    try:
        _advance(simulation, duration, shown)
    except SimulationError as error:
        print(f"dalembert: {error}\n\n{simulation.explain()}\n", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _print_report(simulation: Simulation, as_json: bool) -> None:
    """Print the table of the run, or JSON."""
    if as_json:
        print(json.dumps(simulation.report.as_dict()), flush=True)
    else:
        terminal = sys.stdout.isatty()
        print(simulation.report.table(_columns() if terminal else 120, color=terminal), flush=True)


def _columns() -> int:
    """The width of the terminal, in characters."""
    return shutil.get_terminal_size((120, 24)).columns


def _advance(simulation: Simulation, duration: float, shown: RunViewer | None) -> None:
    """Run, shown in the browser if asked, with a progress bar when a person is looking."""
    from contextlib import ExitStack

    watchers: list[Callable[[Simulation], None]] = [] if shown is None else [shown.update]
    with ExitStack() as stack:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            text, share = TextColumn("{task.description}"), TextColumn("{task.percentage:.0f} %")
            columns = (text, BarColumn(), share, TimeRemainingColumn())
            bar = stack.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
            task, start = bar.add_task(simulation.model.name, total=duration), simulation.time
            watchers.append(lambda s: bar.update(task, completed=s.time - start))

        def progress(s: Simulation) -> None:
            for watch in watchers:
                watch(s)

        simulation.advance(duration, progress=progress if watchers else None)


def _keep(simulation: Simulation, out: Path | None, report: Path | None, quiet: bool) -> int:
    """Save and write the report; returns an exit code."""
    from ...simulation.netcdf import rescue

    try:
        if out is not None:
            trajectory = simulation.trajectory
            try:
                print(f"saved {trajectory.save(out)}", file=sys.stderr)
            except OSError as error:
                found = rescue(trajectory.dataset, out)
                raise OSError(f"{error}; the run is saved in {found} instead" if found else str(error)) from error
        if report is not None:
            from ...view.report import write_report

            written = write_report(simulation.trajectory, report)
            print(f"report written to {written.resolve()}", file=sys.stderr if quiet else sys.stdout)
    except (ValueError, OSError) as error:
        print(f"dalembert: {error}", file=sys.stderr)
        return REFUSED
    return 0


# dalembert view -------------------------------------------------------------------------------------------------------


@command("view")
@plain_warnings()
def view(
    scene: str | None = None,
    /,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    dt: float | None = None,
    rtol: float | None = None,
    method: str | None = None,
    frame_rate: Annotated[float | None, Parameter(name=("--frame-rate", "--frames"))] = None,
    solver: str | None = None,
    threads: int | None = None,
    root: Path | None = None,
) -> int:
    """Show a scene in the browser and steer its run, or replay a saved run.

    The run advances in real time. You can pause, step, slow down and rewind it, continue from any time, pull bodies
    with the mouse, change gravity and motors, and switch scenes.

    Parameters
    ----------
    scene
        A name from `dalembert list`, a Python file with build(), a model (URDF, MJCF, USD), or a saved run (.nc).
    host
        Address to serve at. Any address except 127.0.0.1 lets others see and steer the run.
    port
        0 for any free port. Default: 8080, or any free port if 8080 is in use.
    dt
        Step of a fixed-step method, s.
    rtol
        Relative tolerance of an adaptive method, on the error of one step.
    method
        Integration method, or a method of fixed steps for contact or particles: a name from `dalembert methods`.
    frame_rate
        Recorded frames per second of simulated time, Hz.
    solver
        Contact solver of time steps: a name from `dalembert methods`.
    threads
        Number of threads of time steps with contact.
    root
        Folder with all meshes and included files of a URDF or MJCF model. Default: its package, or its own folder.
    """
    from ...gallery import names
    from ...view.live_server import PageServer, server_first

    given = {"dt": dt, "rtol": rtol, "method": method, "frame_rate": frame_rate, "solver": solver, "threads": threads}
    settings = {key: value for key, value in given.items() if value is not None}
    try:
        page = None
        if scene is None or scene in names():  # there is no file that could be refused: the browser may start at once
            page = PageServer(host, port)
            page.announce(True)
        with server_first():
            from ..live_session import open_session

            opened = open_session(scene, host, port, True, settings, root, page)
    except (ValueError, TypeError, OSError, ImportError) as error:
        print(f"dalembert: {error}", file=sys.stderr)
        return REFUSED
    print("Ctrl-C ends it", file=sys.stderr, flush=True)
    opened.serve_forever()
    return 0


# dalembert replay -----------------------------------------------------------------------------------------------------

SAME, DIFFERENT = 0, 1


@command("replay")
@plain_warnings()
def replay(run: Path, /, *, scene: str | None = None) -> int:
    """Repeat a saved run and compare all bits. Exit code 0 if they are, 1 if not.

    Parameters
    ----------
    run
        A saved run (.nc), or a member of a sweep (members/*.nc in its folder).
    scene
        The Python file with build(), or the model, that was run; it is executed. Not needed for scenes of the gallery.
    """
    from ..replay import replay as replayed

    try:
        found = replayed(run, scene)
    except (ValueError, OSError, ImportError) as error:
        print(f"dalembert: {run}: {error}", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED
    print(found)
    return SAME if found.same else DIFFERENT
