"""Where the command line has its scenes from: the gallery, Python files, model files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

MODELS, USD = (".urdf", ".xml", ".mjcf"), (".usda", ".usdc", ".usd")


def load(name: str, floating: bool) -> tuple[Any, dict[str, Any]]:
    """(scene, settings) of a gallery name, of a model file, or of a Python file, which is run."""
    from . import gallery

    if name in gallery.names():
        module = gallery.load(name)
        return module.build(), dict(module.SETTINGS)
    path = Path(name)
    if path.suffix in (*MODELS, *USD):
        return _load_model(path, floating)
    if path.suffix != ".py":
        raise ValueError(
            f"no scene {name!r}; `dalembert list` names the scenes, or give a .py file with build(), or a model: .urdf, .xml "
            "or .usda"
        )
    if not path.is_file():
        raise ValueError(f"no file {name!r}")
    import runpy

    try:
        names = runpy.run_path(str(path))
    except Exception as error:
        raise ValueError(f"{name}: the file failed: {type(error).__name__}: {error}") from error
    if not callable(names.get("build")):
        raise ValueError(f"{name}: it has no function build() that returns a Scene")
    try:
        scene = names["build"]()
    except Exception as error:
        raise ValueError(f"{name}: its build() failed: {type(error).__name__}: {error}") from error
    return scene, dict(names.get("SETTINGS", {}))


def read_model(path: Path, floating: bool) -> Any:
    """The model of a file, by its suffix. Raises ValueError."""
    if path.suffix in USD:
        from .formats.usd import load_usd

        return load_usd(path)
    from .formats.load import load_model

    return load_model(path, floating=floating or None)


def _load_model(path: Path, floating: bool) -> tuple[Any, dict[str, Any]]:
    """(scene, settings) of a model file; its warnings are printed."""
    model = read_model(path, floating)
    for warning in model.warnings:
        print(f"dalembert: warning: {warning}", file=sys.stderr)
    settings: dict[str, Any] = {"coordinates": "joint"}
    if model.scene.bounded() or model.scene.touching():
        settings |= {"method": "time_stepping", "dt": model.timestep or 1e-3}
    return model.scene, settings
