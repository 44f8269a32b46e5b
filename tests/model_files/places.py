"""Where packages with model files keep them, without importing those packages."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path


def package_files(package: str, pattern: str) -> list[Path]:
    """The files of an installed package that fit a pattern; none where it is not installed."""
    found = importlib.util.find_spec(package)
    folders = [] if found is None or not found.submodule_search_locations else found.submodule_search_locations
    return sorted(path for folder in folders for path in Path(folder).glob(pattern))


def example_robots() -> list[Path]:
    """The URDF files of example-robot-data, which installs itself below the prefix of its package manager."""
    folders = [Path(folder) / "cmeel.prefix/share/example-robot-data" for folder in sys.path]
    return sorted({path.resolve() for folder in folders for path in folder.glob("robots/**/*.urdf")})
