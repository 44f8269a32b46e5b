"""From one file to another, by their suffixes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..core.file_format import READERS, WRITERS, require_suffix


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
