"""`dalembert inspect FILE` and `dalembert convert SOURCE TARGET`: model files, and files for other software."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from ...core.file_format import READERS, WRITERS, suffixes_of
from . import FAILED, REFUSED, command

MODELS = suffixes_of((suffix, reader) for suffix, reader in READERS.items() if reader.model)
SOURCE = f"A name from `dalembert list`, a Python file with build(), or a file: {suffixes_of(READERS.items())}."
TARGET = f"The file to write: {suffixes_of(WRITERS.items())}."


@command("inspect")
def inspect(
    file: Annotated[Path, Parameter(help=f"A model: {MODELS}.")], /, *, floating: bool = False, root: Path | None = None
) -> int:
    """Show the contents of a model file: bodies, joints and masses, and warnings about unsupported parts.

    Parameters
    ----------
    floating
        Leave the root link of a URDF free; by default it is fixed to the world.
    root
        Folder with all meshes and included files of a URDF or MJCF model. Default: its package, or its own folder.
    """
    from ...gallery._loading import read_model
    from ...io.load import show_model

    try:
        show_model(read_model(file, floating, root))
    except (ValueError, ImportError) as error:
        print(f"dalembert: {error}", file=sys.stderr)
        return REFUSED
    return 0


@command("convert")
def convert(
    source: Annotated[str, Parameter(help=SOURCE)],
    target: Annotated[Path, Parameter(help=TARGET)],
    /,
    *,
    duration: float | None = None,
    time: float | None = None,
    speed: float | None = None,
    size: tuple[int, int] | None = None,
    contacts: tuple[str, ...] | None = None,
    root: Path | None = None,
) -> int:
    """Write a scene, a model file or a saved run in another format, and warn of everything that it cannot contain.

    Parameters
    ----------
    duration
        Run the scene first, for this time in s. The file then contains the run, if its format can.
    time
        For a picture: its time, s. Default: the end.
    speed
        For a film: simulated seconds per second; below 1 is slow motion.
    size
        For a picture or a film: width and height in pixels.
    contacts
        For a picture or a film: draw contact "forces" or "pressure"; can be repeated.
    root
        Folder with all meshes and included files of a URDF or MJCF model. Default: its package, or its own folder.
    """
    from ...export.formats import read_source, require_target, write_target
    from ...gallery._loading import load
    from ...simulation.errors import SimulationError
    from ...simulation.simulation import Simulation
    from ...simulation.trajectory import Trajectory

    try:
        require_target(target)
        found: Any = read_source(Path(source)) if root is None else None
        thing, settings, warnings = found or (*load(source, False, root=root), ())
        if duration is not None:
            if isinstance(thing, Trajectory):
                raise ValueError(f"{source}: it is a recorded run; leave out --duration")
            settings.pop("duration", None)
            thing = Simulation(thing, **settings).advance(duration)
        options = {"time": time, "speed": speed, "size": size, "contacts": contacts}
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
