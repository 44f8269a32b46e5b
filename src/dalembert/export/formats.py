"""The file formats: models are read and written, runs read, pictures, films and pages written; and conversion by
suffix.

The readers and writers behind them are imported when they are used.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.file_format import READERS, SAVED, TABLES, USD_SUFFIXES, WRITERS, add_reader, add_writer, require_suffix

if TYPE_CHECKING:
    from ..scene.scene import Scene
    from ..simulation.simulation import Simulation
    from ..simulation.trajectory import Trajectory
    from .shown import ExportWarning

# Models ---------------------------------------------------------------------------------------------------------------


def export_usd(source: Simulation | Trajectory | Scene, path: str | PathLike[str]) -> list[ExportWarning]:
    """Write a USD file (.usda, .usdc or .usd), z up, in m and kg. Returns warnings about what the file does not
    contain.

    A body is an Xform at its centre of mass with its shape below; a run gives it time samples at the recorded instants.
    A scene, and a run that has its scene, also have USD Physics: rigid bodies with mass and inertia, colliders and
    their materials, joints with stops, drives for torsion springs and motors. USD keeps most of these in float32.
    Particles are points, curves or meshes with time samples.

    Raises ImportError if usd-core is not installed, and ValueError for a run without frames or an unsupported suffix.
    """
    from ..io.load import require_usd

    require_usd()
    from .usd import write_stage

    return write_stage(source, path)


def read_xml_model(path: Path, floating: bool) -> Any:
    """A URDF or MJCF file; its root element tells which."""
    from ..io.load import load_model

    return load_model(path, floating=floating or None)


def read_usd(path: Path, floating: bool) -> Any:
    """A USD file."""
    from ..io.load import load_usd

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
    return export_usd(source, path)


add_reader("URDF", (".urdf",), read_xml_model)
add_reader("MJCF", (".xml", ".mjcf"), read_xml_model)
add_reader("USD", USD_SUFFIXES, read_usd)
add_writer("MJCF", (".xml",), write_mjcf)
add_writer("glTF", (".glb",), write_gltf)
add_writer("USD", USD_SUFFIXES, write_usd)


# Runs -----------------------------------------------------------------------------------------------------------------


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


def write_table(source: Any, path: Path) -> list[Any]:
    """The frames of a run as a table."""
    run_of(source).save(path)
    return []


add_reader("a saved run", SAVED, read_run, model=False)
add_writer("a picture", (".png",), write_picture, options=("time", "size", "contacts"))
add_writer("a film", (".mp4", ".gif"), write_film, options=("speed", "size", "contacts"))
add_writer("the page of the run", (".html",), write_page)
add_writer("a table", TABLES, write_table)


# From one file to another ---------------------------------------------------------------------------------------------


def read_source(path: Path) -> tuple[Any, dict[str, Any], Iterable[Any]] | None:
    """A saved run or the scene of a model file, its settings and warnings; None for a suffix that nothing reads.

    Raises ValueError, OSError or ImportError where it cannot be read.
    """
    suffix = path.suffix.lower()
    if suffix not in READERS:
        return None
    reader = READERS[suffix]
    found = reader.read(path, False)
    return (found.scene, {}, found.warnings) if reader.model else (found, {}, [])


def require_target(path: Path) -> None:
    """Raises ValueError for a suffix that nothing writes."""
    require_suffix(path, *WRITERS)


def write_target(source: Any, path: Path, **options: Any) -> Iterable[Any]:
    """Write a Scene, a Simulation or a Trajectory to a file; returns the warnings. options: of the format, by name.

    Raises ValueError, OSError or ImportError where that fails.
    """
    require_target(path)
    suffix = path.suffix.lower()
    writer = WRITERS[suffix]
    refused = next((name for name in options if name not in writer.options), None)
    if refused is not None:
        raise ValueError(f"'{path}': {refused} is not an option of {suffix} files; leave it out")
    return writer.write(source, path, **options)
