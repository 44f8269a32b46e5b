"""File formats by suffix, with their readers and writers.

A file adds a format with `add_reader` and `add_writer`, and is listed in `export.FORMAT_FILES`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from .registry import Registry

SAVED = (".nc",)
TABLES = (".csv", ".parquet")
USD_SUFFIXES = (".usda", ".usdc", ".usd")
PAGES = (".html", ".htm")
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp", ".gif")
MOVIES = (".mp4", ".gif")


class Reader(NamedTuple):
    """What reads a format.

    format : "URDF". read : (path, floating) → an `ImportedModel`, or a Trajectory; floating: whether the root of a model that
    does not say so itself is free. Raises ValueError, OSError or ImportError. model : whether it is a model.
    """

    format: str
    read: Callable[[Path, bool], Any]
    model: bool = True


class Writer(NamedTuple):
    """What writes a format.

    format : "glTF". write : (source, path, **options) → warnings; the source is a Scene, a Simulation or a Trajectory.
    Raises ValueError, OSError or ImportError. options : names of those that it takes.
    """

    format: str
    write: Callable[..., Iterable[Any]]
    options: tuple[str, ...] = ()


READERS: Registry[Reader] = Registry("format", "dalembert.export", "FORMAT_FILES")
WRITERS: Registry[Writer] = Registry("format", "dalembert.export", "FORMAT_FILES")


def add_reader(name: str, suffixes: Iterable[str], read: Callable[[Path, bool], Any], *, model: bool = True) -> None:
    """Add a format that is read, under each of its suffixes; see `Reader`. Raises ValueError for one that is taken."""
    for suffix in suffixes:
        READERS.add(suffix, Reader(name, read, model))


def add_writer(
    name: str, suffixes: Iterable[str], write: Callable[..., Iterable[Any]], *, options: tuple[str, ...] = ()
) -> None:
    """Add a format that is written; see `Writer`. Raises ValueError for a suffix that is taken."""
    for suffix in suffixes:
        WRITERS.add(suffix, Writer(name, write, options))


def suffixes_of(formats: Iterable[tuple[str, Reader | Writer]]) -> str:
    """The formats with their suffixes, for help and messages.

    >>> suffixes_of(((".usda", Writer("USD", list)), (".usdc", Writer("USD", list)), (".glb", Writer("glTF", list))))
    'USD (.usda, .usdc), glTF (.glb)'
    """
    found: dict[str, list[str]] = {}
    for suffix, entry in formats:
        found.setdefault(entry.format, []).append(suffix)
    return ", ".join(f"{name} ({', '.join(suffixes)})" for name, suffixes in found.items())


def require_suffix(path: str | os.PathLike[str], *suffixes: str) -> Path:
    """The path. Raises ValueError unless its name ends in one of the suffixes, in capitals or not.

    >>> require_suffix("run.csv", ".nc")
    Traceback (most recent call last):
    ValueError: 'run.csv': unsupported format '.csv'; the name must end in .nc
    """
    file = Path(path)
    if file.suffix.lower() not in suffixes:
        raise ValueError(
            f"'{file}': unsupported format {file.suffix!r}; the name must end in {' or '.join(suffixes)}"
            if len(suffixes) < 3
            else f"'{file}': unsupported format {file.suffix!r}; the name must end in one of {', '.join(suffixes)}"
        )
    return file
