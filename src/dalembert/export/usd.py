"""`export_usd`: a scene or a run as a USD file with USD Physics. Needs the package usd-core."""

from __future__ import annotations

from os import PathLike

from ..formats.usd_package import SUFFIXES, require_usd
from ..scene.scene import Scene
from ..simulate import Simulation
from ..trajectory import Trajectory
from .shared import ExportWarning, target
from .shown import shown


def export_usd(source: Simulation | Trajectory | Scene, path: str | PathLike[str]) -> list[ExportWarning]:
    """Write a USD file (.usda, .usdc or .usd), z up, in m and kg; returns what it does not have.

    A body is an Xform at its centre of mass with its shape below; a run gives it time samples at the recorded instants. A
    scene, and a run that still knows its scene, have USD Physics too: rigid bodies with mass and inertia, colliders and
    their materials, joints with stops, drives for torsion springs and motors. USD keeps most of these in float32. Particles
    are points, curves or meshes with time samples.

    Raises ImportError without usd-core, ValueError for a run of no instants, or another suffix.
    """
    require_usd()
    from .usd_stage import Stage

    file = target(path, *SUFFIXES)
    stage = Stage(shown(source))
    stage.write()
    stage.save(file)
    return stage.warnings
