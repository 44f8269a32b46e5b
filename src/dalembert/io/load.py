"""`load_model` and `load_usd`: a URDF, MJCF or USD file as a scene; and a printed list of the contents of a model.

Readers are imported when they are used; the USD reader needs the package usd-core.
"""

from __future__ import annotations

import math
import sys
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from ..scene.body import WORLD
from ..scene.checks import part_name
from ..scene.joint import Joint, Link
from ..scene.scene_warnings import simplification_message
from .files import Folder, ImportedModel, Warnings, read_xml


def load_model(
    path: str | PathLike[str], *, floating: bool | None = None, limits: bool = True, friction: bool = True,
    contacts: bool = True, root: str | PathLike[str] | None = None,
) -> ImportedModel:  # fmt: skip
    """Read a robot or mechanism from a URDF or MJCF file. Only files in one folder and below are read.

    Parameters
    ----------
    path : the file. Its root element, <robot> or <mujoco>, determines the format.
    floating : whether the root link of a URDF is free. Default: it is fixed to the world. MJCF files state this
        themselves.
    limits, friction : False leaves out stops and dry friction of joints, which need method "time_stepping".
    contacts : False leaves out all collision geometry: bodies have only their visual geometry, and there are no
        obstacles. Integration methods can run such scenes too.
    root : the folder that contains all meshes and included files. Default: the package of the model (the nearest parent
        folder with a package.xml), or the folder of the model.

    Raises ValueError, with file, line and a suggestion, for malformed files and mechanisms that cannot be built.
    Unsupported parts become warnings in `ImportedModel.warnings`.
    """
    file = _resolved(path)
    element = read_xml(file)
    warnings, folder = Warnings(), Folder(file, root)
    if element.tag == "robot":
        from .urdf import from_urdf

        model = from_urdf(element, folder, warnings, bool(floating), limits, friction, contacts)
    elif element.tag in ("mujoco", "mujocoinclude"):
        if floating is not None:
            raise ValueError(f"{file}: floating is for URDF files; MJCF files use <freejoint/>; leave it out")
        from .mjcf import from_mjcf

        model = from_mjcf(element, folder, warnings, limits, friction, contacts)
    else:
        raise element.error(
            "the root element is neither <robot> (URDF) nor <mujoco> (MJCF); give a file of one of these"
        )
    if simplified := simplification_message(model.scene):
        warnings.add(element, simplified)
    model.warnings = warnings.list()
    return model


def _resolved(path: str | PathLike[str]) -> Path:
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise ValueError(f"model file {str(path)!r:.200}: not a valid file name ({error})") from None


# USD ------------------------------------------------------------------------------------------------------------------


def require_usd() -> None:
    """Raises ImportError with the way out where usd-core is not installed."""
    try:
        import pxr  # noqa: F401
    except ImportError:
        raise ImportError("USD files need the package usd-core: pip install 'dalembert[usd]'") from None


def load_usd(path: str | PathLike[str], *, contacts: bool = True) -> ImportedModel:
    """Read a USD file (.usda, .usdc or .usd): rigid bodies, their mass and colliders, static colliders as obstacles,
    joints (fixed, revolute, prismatic, spherical, distance, and those that lock some freedoms) with stops and drives.

    Lengths become m, masses kg, and a file with y up is rotated so that z is up. Of time samples only the default
    value, or else the earliest one, is used. Referenced layers are read only if they lie in the folder of the file or
    below, and never from a network. Warnings name the prim, and have no line.

    contacts : False leaves out all collision geometry: bodies have only their visual geometry, and there are no
    obstacles.

    Raises ImportError if usd-core is not installed; ValueError, with the prim and a suggestion, for a file that cannot
    be read, that refers to files elsewhere, or that has parts that cannot be converted.
    """
    require_usd()
    from .usd import Reader, open_stage

    file = Path(path).resolve()
    return Reader(open_stage(file), file, contacts).read()


# Inspection: the tree of bodies, links and joints, totals, and warnings -----------------------------------------------

FREEDOMS = {"weld": 0, "hinge": 1, "slider": 1, "cylindrical": 2, "universal": 2, "ball": 3}


class Branch(NamedTuple):
    """Something in the tree: what carries it and how (None: it is free), and whether that leads back to what is there
    already."""

    carrier: Any
    joint: Joint | None
    item: Any
    closes: bool


def branches(model: ImportedModel) -> list[Branch]:
    """The tree from the world on, carriers first; bodies that nothing carries are free."""
    scene = model.scene
    at: dict[Any, list[Joint]] = {}
    for name in model.joints:
        for end in {id(end): end for end in scene.joints[name].bodies}.values():
            at.setdefault(end, []).append(scene.joints[name])
    found: list[Branch] = []
    known: set[Any] = set()
    listed: set[Joint] = set()
    for root in (WORLD, *scene.bodies.values(), *scene.links.values()):
        if root in known:
            continue
        if root is not WORLD:
            found.append(Branch(WORLD, None, root, False))
        known.add(root)
        waiting: list[Any] = [root]
        while waiting:
            here = waiting.pop()
            for joint in at.get(here, []):
                if joint not in listed:
                    listed.add(joint)
                    other: Any = joint.b if joint.a is here else joint.a
                    found.append(Branch(here, joint, other, other in known))
                    if other not in known:
                        known.add(other)
                        waiting.append(other)
    return found


def model_tree(model: ImportedModel) -> Any:
    """A `rich` tree of the `branches`."""
    from rich.text import Text
    from rich.tree import Tree

    obstacles = len(model.scene.obstacles)
    tree = Tree(Text(f"{WORLD.name} ({obstacles} obstacles)" if obstacles else WORLD.name))
    drawn = {WORLD: tree}
    for carrier, joint, item, closes in branches(model):
        how = "free" if joint is None else _joint(model, joint)
        if closes:
            drawn[carrier].add(Text(f"closes a loop to {item.name}  ← {how}"))
        else:
            drawn[item] = drawn[carrier].add(Text(f"{item.name}  {_mass(item)}  ← {how}"))
    return tree


def _mass(item: Any) -> str:
    return "no mass" if isinstance(item, Link) else f"{item.mass:.6g} kg"


def _joint(model: ImportedModel, joint: Joint) -> str:
    """Its kind, name, stops and drives."""
    words = f"{joint.kind} {joint.name}"
    stops = model.scene.forces.get(part_name(joint.name, "limit"))
    if stops is not None:
        low, high = (math.degrees(stop) if joint.angle else stop for stop in stops.stops)
        words += f" [{low:.4g}, {high:.4g}] {'°' if joint.angle else 'm'}"
    drives = [actuator.name for actuator in model.actuators.values() if actuator.joint is joint]
    return words + (f" (driven by {', '.join(drives)})" if drives else "")


def model_totals(model: ImportedModel) -> dict[str, Any]:
    """Numbers of what there is, the mass of what moves (kg) and the freedoms of the tree."""
    scene, found = model.scene, branches(model)
    freedoms = [
        6 if branch.joint is None else FREEDOMS.get(branch.joint.kind, 0) for branch in found if not branch.closes
    ]
    return {
        "format": model.format,
        "bodies": len(scene.bodies),
        "links without mass": len(scene.links),
        "joints": len(model.joints),
        "freedoms": sum(freedoms),
        "loops and couplings": len(scene.joints)
        - sum(branch.joint is not None and not branch.closes for branch in found),
        "mass, kg": sum(body.mass for body in scene.bodies.values()),
        "obstacles": len(scene.obstacles),
        "actuators": len(model.actuators),
        "keyframes": len(model.keyframes),
        "warnings": len(model.warnings),
    }


def show_model(model: ImportedModel) -> None:
    """Prints tree, totals and warnings."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 200, soft_wrap=True)
    console.print(model_tree(model))
    table = Table(show_header=False, box=None, pad_edge=False)
    for key, value in model_totals(model).items():
        table.add_row(key, f"{value:.6g}" if isinstance(value, float) else str(value))
    console.print(table)
    for warning in model.warnings:
        console.print(f"warning: {warning}", markup=False, highlight=False)
