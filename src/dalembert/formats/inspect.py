"""The tree of a model for the eye: bodies and links with the joints that carry them, totals, and warnings."""

from __future__ import annotations

import math
import sys
from typing import Any, NamedTuple

from ..scene.articulate import Link
from ..scene.body import WORLD
from ..scene.joint import Joint
from .imported import ImportedModel

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
    told: set[Joint] = set()
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
                if joint not in told:
                    told.add(joint)
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
    stops = model.scene.forces.get(f"{joint.name}/limit")
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
