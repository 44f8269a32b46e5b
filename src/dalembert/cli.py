"""The command line: `dalembert run`, `view`, `sweep`, `replay`, `convert` and others, which `dalembert --help` lists.

Exit codes: 0 done, 1 the run failed in the middle, 2 the input was refused, 130 interrupted (what was recorded is kept).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from .commands.replay import replay
from .commands.solvers import solvers
from .commands.sweep import read_parameters, sweep
from .commands.view import view as view_command
from .sources import load

if TYPE_CHECKING:
    from .screen import Screen
    from .simulate import Simulation

FAILED, REFUSED, INTERRUPTED = 1, 2, 130

app = App(name="dalembert", help="Rigid mechanisms simulated exactly and fast, with every joule accounted for.")
app.command(replay)
app.command(solvers)
app.command(sweep)
app.command(view_command, name="view")


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
    solver: str | None = None,
    threads: int | None = None,
    parameters: Annotated[tuple[str, ...], Parameter(name="--set", negative=())] = (),
    out: Path | None = None,
    resume: Path | None = None,
    report: Path | None = None,
    view: bool = False,
    floating: bool = False,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Run a scene and print the table of the run.

    Parameters
    ----------
    scene
        A name from `dalembert list`, a Python file with a function build() that returns a Scene, or a model in URDF (.urdf),
        MJCF (.xml) or USD (.usda, .usdc, .usd).
    duration
        Simulated time, s.
    dt
        Step of a fixed-step method, s.
    rtol
        Relative tolerance of an adaptive method.
    method
        Integration method: euler, midpoint, rk4, bogacki_shampine, dormand_prince, dop853, adaptive_euler,
        symplectic_euler, splitting; time_stepping, for contact in fixed steps; or, for what is stiff among particles,
        implicit_euler, linear_implicit_euler, implicit_midpoint, bdf2.
    frames
        Recorded frames a second.
    solver
        Of contact, in time steps: gauss_seidel (real time) or interior_point (converges).
    threads
        How many share the work of time steps with contact.
    parameters
        A parameter of build(), name=value; may be given again.
    out
        Save the recorded run here (NetCDF).
    resume
        Go on from the last state of this saved run.
    report
        Write a page with the animation, the plots and the table here (HTML).
    view
        Show the run in the browser while it goes on, and stay; without a display, write the report and say where.
    floating
        Let the root link of a URDF be free; else it is fixed to the world.
    as_json
        Print the table as JSON.
    """
    screen = None
    try:
        built, settings = load(scene, floating, read_parameters(parameters))
        if view:  # it is seen while the compiler and the kernels are loaded
            from .screen import open_screen

            screen = open_screen(built)

        from .errors import SimulationError
        from .simulate import Simulation
        from .stability import stability_warning
        from .trajectory import Trajectory

        given = {
            "duration": duration, "dt": dt, "rtol": rtol, "method": method, "frames": frames, "solver": solver,
            "threads": threads,
        }  # fmt: skip
        settings.update({key: value for key, value in given.items() if value is not None})
        if dt is None and rtol is not None:
            settings.pop("dt", None)
        length = float(settings.pop("duration", 10.0))
        simulation = Simulation(built, **settings)
        if resume is not None:
            simulation.resume(Trajectory.load(resume))
    except (ValueError, OSError, ImportError) as error:
        print(f"dalembert: {error}", file=sys.stderr)
        if screen is not None:
            screen.viewer.close()
        return REFUSED
    if screen is not None:
        screen.follow(simulation)
    warning = stability_warning(simulation, length)
    if warning is not None:
        print(f"dalembert: warning: {warning}", file=sys.stderr)
    code = 0
    try:
        _advance(simulation, length, screen)
    except SimulationError as error:
        print(f"dalembert: {error}", file=sys.stderr)
        code = FAILED
    if simulation.interrupted:
        code = INTERRUPTED
    print(json.dumps(simulation.report.as_dict()) if as_json else simulation.report, flush=True)
    if view and screen is None and report is None:
        report = Path("out") / f"{simulation.model.name.replace(' ', '-').replace('/', '-')}.html"
    code = _keep(simulation, out, report, as_json) or code
    if screen is not None:
        screen.stay("failed" if code == FAILED else "interrupted" if code == INTERRUPTED else "done")
    return code


@app.command
def inspect(file: Path, /, *, floating: bool = False) -> int:
    """Show what a model file holds: its bodies, joints and masses, and what of it could not be kept.

    Parameters
    ----------
    file
        A model in URDF, MJCF or USD.
    floating
        Let the root link of a URDF be free; else it is fixed to the world.
    """
    from .formats.inspect import show_model
    from .sources import read_model

    try:
        show_model(read_model(file, floating))
    except (ValueError, ImportError) as error:
        print(f"dalembert: {error}", file=sys.stderr)
        return REFUSED
    return 0


@app.command
def convert(
    source: str,
    target: Path,
    /,
    *,
    duration: float | None = None,
    time: float | None = None,
    speed: float | None = None,
    size: tuple[int, int] | None = None,
) -> int:
    """Write a scene, a model file or a saved run in another format, and say what that does not have.

    Parameters
    ----------
    source
        A name from `dalembert list`, a Python file with build(), a saved run (.nc), a URDF or MJCF file (.urdf, .xml), or
        a USD file (.usda, .usdc, .usd).
    target
        The file to write: MJCF (.xml), glTF (.glb), USD (.usda, .usdc, .usd), a picture (.png), a film (.mp4, .gif) or the
        page of the run (.html).
    duration
        Run the scene for so long first, s: the file shows the run, where it can.
    time
        Of a picture: the instant, s; the end if not given.
    speed
        Of a film, in seconds of the run a second: below 1 is slow motion.
    size
        Of a picture or a film: width and height in pixels.
    """
    from .errors import SimulationError
    from .export.convert import read_source, require_target, write_target
    from .simulate import Simulation
    from .trajectory import Trajectory

    try:
        require_target(target)
        found: Any = read_source(Path(source))
        thing, settings, warnings = found or (*load(source, False), ())
        if duration is not None:
            if isinstance(thing, Trajectory):
                raise ValueError(f"{source}: it is a run already; leave out --duration")
            settings.pop("duration", None)
            thing = Simulation(thing, **settings).advance(duration)
        options = {"time": time, "speed": speed, "size": size}
        shown = {name: value for name, value in options.items() if value is not None}
        warnings = [*warnings, *write_target(thing, target, **shown)]
    except (ValueError, OSError, ImportError) as error:
        print(f"dalembert: {error}", file=sys.stderr)
        return REFUSED
    except SimulationError as error:
        print(f"dalembert: {error}", file=sys.stderr)
        return FAILED
    for warning in warnings:
        print(f"dalembert: warning: {warning}", file=sys.stderr)
    print(f"written to {target.resolve()}")
    return 0


@app.command(name="list")
def list_scenes() -> int:
    """List the scenes of the gallery."""
    from . import gallery

    for name in gallery.names():
        lines = (gallery.load(name).__doc__ or "").strip().splitlines()
        print(f"{name:16} {lines[0] if lines else ''}")
    return 0


@app.command(name="compile")
def compile_everything() -> int:
    """Compile every kernel now, with every core, so that no first run waits (when an image is built, say)."""
    from .ahead import EVERYTHING, compile_ahead

    compile_ahead(EVERYTHING)
    return 0


@app.command
def condition(*files: Path, random: tuple[int, ...] = (), exact: bool = False) -> int:
    """Print the condition numbers (1-norm) of square matrices as they are, and after scaling by MC64 and by ALG3.

    Parameters
    ----------
    files
        Matrix Market files of real square matrices: .mtx, or packed, .mtx.gz.
    random
        Also a badly scaled dense random matrix with so many rows; may be given again.
    exact
        Compute every column of the inverses, rather than estimate their norms.
    """
    from .linalg.condition_table import condition_table

    if not (files or random):
        print("dalembert: no matrix: name Matrix Market files, or give --random N", file=sys.stderr)
        return REFUSED
    code = 0
    for line, good in condition_table(files, random, exact):
        print(line if good else f"dalembert: {line}", file=sys.stdout if good else sys.stderr, flush=True)
        code = code if good else REFUSED
    return code


def _advance(simulation: Simulation, duration: float, screen: Screen | None) -> None:
    """Run, shown in the browser if asked, with a progress bar when a person is looking."""
    from contextlib import ExitStack

    watchers: list[Callable[[Simulation], None]] = [] if screen is None else [screen.update]
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
    from .trajectory_file import rescue

    try:
        if out is not None:
            trajectory = simulation.trajectory
            try:
                print(f"saved {trajectory.save(out)}", file=sys.stderr)
            except OSError as error:
                found = rescue(trajectory.dataset, out)
                raise OSError(f"{error}; the run is saved in {found} instead" if found else str(error)) from error
        if report is not None:
            from .view.report import write_report

            written = write_report(simulation.trajectory, report)
            print(f"report written to {written.resolve()}", file=sys.stderr if quiet else sys.stdout)
    except (ValueError, OSError) as error:
        print(f"dalembert: {error}", file=sys.stderr)
        return REFUSED
    return 0


def main() -> None:
    """Entry point of the `dalembert` command."""
    sys.exit(app(result_action="return_value"))


if __name__ == "__main__":
    main()
