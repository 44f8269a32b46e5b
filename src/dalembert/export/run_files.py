"""Formats of runs: NetCDF in, pictures, films and the page of a run out. Readers and writers are imported when used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..file_format import SAVED, add_reader, add_writer


def read_run(path: Path, floating: bool) -> Any:
    """A saved run."""
    from ..trajectory import Trajectory

    return Trajectory.load(path)


def run_of(source: Any) -> Any:
    """The trajectory of a run; of a scene that was not run, its start."""
    from ..scene.scene import Scene
    from ..simulate import Simulation

    run = Simulation(source) if isinstance(source, Scene) else source
    return run.trajectory if isinstance(run, Simulation) else run


def write_picture(source: Any, path: Path, **options: Any) -> list[Any]:
    """A picture of an instant."""
    run_of(source).save_picture(path, **options)
    return []


def write_film(source: Any, path: Path, **options: Any) -> list[Any]:
    """A film of a run."""
    run_of(source).save_movie(path, **options)
    return []


def write_page(source: Any, path: Path) -> list[Any]:
    """The page of a run."""
    run_of(source).save_report(path)
    return []


add_reader("a saved run", SAVED, read_run, model=False)
add_writer("a picture", (".png",), write_picture, options=("time", "size"))
add_writer("a film", (".mp4", ".gif"), write_film, options=("speed", "size"))
add_writer("the page of the run", (".html",), write_page)
