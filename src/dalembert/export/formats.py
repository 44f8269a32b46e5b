"""Formats of models: URDF, MJCF and USD in, MJCF, glTF and USD out. Readers and writers are imported when used."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..core.file_format import SAVED, add_reader, add_writer

USD = (".usda", ".usdc", ".usd")


def read_xml_model(path: Path, floating: bool) -> Any:
    """A URDF or MJCF file; its root element tells which."""
    from ..io.load import load_model

    return load_model(path, floating=floating or None)


def read_usd(path: Path, floating: bool) -> Any:
    """A USD file."""
    from ..io.usd import load_usd

    return load_usd(path)


def write_mjcf(source: Any, path: Path) -> Iterable[Any]:
    """A scene as MJCF."""
    from ..simulation.trajectory import Trajectory
    from .mjcf import export_mjcf

    if isinstance(source, Trajectory):
        raise ValueError(f"'{path}': a saved run has no scene to write as MJCF; convert the scene itself")
    model = getattr(source, "model", None)  # of a Simulation
    return export_mjcf(source if model is None else model.scene, path)


def write_gltf(source: Any, path: Path) -> Iterable[Any]:
    """A scene, or a run as an animation, as glTF."""
    from .gltf import export_gltf

    return export_gltf(source, path)


def write_usd(source: Any, path: Path) -> Iterable[Any]:
    """A scene, or a run as an animation, as USD."""
    from .usd import export_usd

    return export_usd(source, path)


add_reader("URDF", (".urdf",), read_xml_model)
add_reader("MJCF", (".xml", ".mjcf"), read_xml_model)
add_reader("USD", USD, read_usd)
add_writer("MJCF", (".xml",), write_mjcf)
add_writer("glTF", (".glb",), write_gltf)
add_writer("USD", USD, write_usd)


# ----------------------------------------------------------------------------------------------------------------------
# Formats of runs: NetCDF in, pictures, films and the page of a run out. Readers and writers are imported when used.


def read_run(path: Path, floating: bool) -> Any:
    """A saved run."""
    from ..simulation.trajectory import Trajectory

    return Trajectory.load(path)


def run_of(source: Any) -> Any:
    """The trajectory of a run; of a scene that was not run, its start."""
    from ..scene.scene import Scene
    from ..simulation.simulation import Simulation

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
