"""From one file to another, by their suffixes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..file_format import require_suffix
from ..formats.load import load_model
from ..formats.usd import load_usd
from ..formats.usd_package import SUFFIXES as USD
from ..scene.scene import Scene
from ..simulate import Simulation
from ..trajectory import Trajectory
from .gltf import export_gltf
from .mjcf import export_mjcf
from .usd import export_usd

PICTURES = (".png", ".gif", ".mp4", ".html")
MODELS = (".urdf", ".xml")
SAVED = ".nc"


def read_source(path: Path) -> tuple[Scene | Trajectory, dict[str, Any], Iterable[Any]] | None:
    """A saved run or the scene of a model file, its settings and warnings; None for another suffix.

    Raises ValueError, OSError or ImportError where it cannot be read.
    """
    suffix = path.suffix.lower()
    if suffix == SAVED:
        return Trajectory.load(path), {}, []
    if suffix in USD:
        model = load_usd(path)
        return model.scene, {}, model.warnings
    if suffix in MODELS:
        model = load_model(path)
        return model.scene, {}, model.warnings
    return None


def require_target(path: Path) -> None:
    """Raises ValueError for a suffix that nothing here writes."""
    require_suffix(path, ".xml", ".glb", *USD, *PICTURES)


def write_target(source: Scene | Simulation | Trajectory, path: Path, **shown: Any) -> Iterable[Any]:
    """Write the file; returns the warnings. shown: options of pictures and films, by name.

    Raises ValueError, OSError or ImportError where that fails.
    """
    require_target(path)
    if path.suffix.lower() in PICTURES:
        return _write_picture(source, path, shown)
    if shown:
        raise ValueError(f"'{path}': {', '.join(shown)} is for pictures and films only; leave it out")
    if path.suffix.lower() != ".xml":
        return (export_gltf if path.suffix.lower() == ".glb" else export_usd)(source, path)
    if isinstance(source, Trajectory):
        raise ValueError(f"'{path}': a saved run has no scene to write as MJCF; convert the scene itself")
    return export_mjcf(source.model.scene if isinstance(source, Simulation) else source, path)


def _write_picture(source: Scene | Simulation | Trajectory, path: Path, options: dict[str, Any]) -> list[Any]:
    """A picture, a film or a page of a run; of a scene that was not run, its start."""
    run = Simulation(source).trajectory if isinstance(source, Scene) else source
    run = run.trajectory if isinstance(run, Simulation) else run
    suffix = path.suffix.lower()
    allowed = {".png": ("time", "size"), ".html": ()}.get(suffix, ("speed", "size"))
    refused = next((name for name in options if name not in allowed), None)
    if refused is not None:
        raise ValueError(f"'{path}': {refused} is nothing that a {suffix} file takes; leave it out")
    save = {".png": run.save_picture, ".html": run.save_report}.get(suffix, run.save_movie)
    save(path, **options)
    return []
