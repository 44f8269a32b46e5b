"""The tree of a model for the eye: bodies and links with the joints that carry them, totals, and warnings."""

from __future__ import annotations

import math
import sys
from typing import Any

from ..scene.articulate import Link
from ..scene.body import WORLD
from ..scene.joint import Joint
from .imported import ImportedModel

FREEDOMS = {"weld": 0, "hinge": 1, "slider": 1, "ball": 3}


def model_tree(model: ImportedModel) -> Any:
    """A `rich` tree from the world on; bodies that nothing carries are free."""
    from rich.text import Text
    from rich.tree import Tree

    scene = model.scene
    carried: dict[str, list[Joint]] = {}
    for name in model.joints:
        carried.setdefault(scene.joints[name].a.name, []).append(scene.joints[name])
    held = {joint.b for joints in carried.values() for joint in joints}
    tree = Tree(Text(f"{WORLD.name} ({len(scene.obstacles)} obstacles)" if scene.obstacles else WORLD.name))
    waiting: list[tuple[Any, Any, str]] = [
        (tree, item, "free") for item in [*scene.bodies.values(), *scene.links.values()] if item not in held
    ]
    waiting += [(tree, joint.b, _joint(model, joint)) for joint in carried.get(WORLD.name, [])]
    waiting.reverse()
    while waiting:
        branch, item, how = waiting.pop()
        mass = "no mass" if isinstance(item, Link) else f"{item.mass:.6g} kg"
        inner = branch.add(Text(f"{item.name}  {mass}  ← {how}"))
        waiting += [(inner, joint.b, _joint(model, joint)) for joint in reversed(carried.get(item.name, []))]
    return tree


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
    scene = model.scene
    held = {scene.joints[name].b for name in model.joints}
    free = sum(item not in held for item in [*scene.bodies.values(), *scene.links.values()])
    return {
        "format": model.format,
        "bodies": len(scene.bodies),
        "links without mass": len(scene.links),
        "joints": len(model.joints),
        "freedoms": 6 * free + sum(FREEDOMS[scene.joints[name].kind] for name in model.joints),
        "loops and couplings": len(scene.joints) - len(model.joints),
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
