"""`load_usd`: a USD file with USD Physics as a scene. Needs the package usd-core."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from .imported import ImportedModel
from .usd_package import require_usd


def load_usd(path: str | PathLike[str], *, contacts: bool = True) -> ImportedModel:
    """Read a USD file (.usda, .usdc or .usd): rigid bodies, their mass and colliders, static colliders as obstacles, joints
    (fixed, revolute, prismatic, spherical, distance, and those that lock some freedoms) with stops and drives.

    Lengths become m, masses kg, and where the file has y up it is turned so that z is. Time samples are left out: what
    counts is the default, or else the earliest one. Layers that the file refers to are read where they lie in its folder or
    below; nothing else is, and nothing from a network. The warnings name the prim, and have no line.

    contacts : False leaves out all collision: bodies show their geometry and touch nothing, and there are no obstacles.

    Raises ImportError without usd-core; ValueError, with the prim and the way out, for a file that cannot be read, that
    refers to what lies elsewhere, or that holds what cannot be made.
    """
    require_usd()
    from .usd_files import open_stage
    from .usd_reader import Reader

    file = Path(path).resolve()
    return Reader(open_stage(file), file, contacts).read()
