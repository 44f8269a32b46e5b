"""Formats of models: URDF, MJCF and USD in, MJCF, glTF and USD out. Readers and writers are imported when used."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..file_format import add_reader, add_writer

USD = (".usda", ".usdc", ".usd")


def read_xml_model(path: Path, floating: bool) -> Any:
    """A URDF or MJCF file; its root element tells which."""
    from ..formats.load import load_model

    return load_model(path, floating=floating or None)


def read_usd(path: Path, floating: bool) -> Any:
    """A USD file."""
    from ..formats.usd import load_usd

    return load_usd(path)


def write_mjcf(source: Any, path: Path) -> Iterable[Any]:
    """A scene as MJCF."""
    from ..trajectory import Trajectory
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
