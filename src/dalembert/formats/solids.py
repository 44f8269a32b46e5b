"""The shapes of bodies, and obstacles, from the solids of a description."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..scene.contact import HalfSpace, Material
from ..scene.shapes import Compound, Part
from .built import Built, free_name, told
from .description import Description, Pose, Segment, Solid
from .imported import Warnings


def carried_solids(description: Description, built: Built, warnings: Warnings) -> dict[Segment, list[Solid]]:
    """The solids of each body: its own, and those of segments without mass that are fixed to it."""
    first: dict[Segment, Segment] = {}
    for segment in description.segments:
        group = built.groups[segment]
        if group is not None and segment.mass > 0.0:
            first.setdefault(group, segment)
    carried: dict[Segment, list[Solid]] = {segment: [] for segment in description.segments}
    for segment in description.segments:
        group, carrier = built.groups[segment], segment
        if group is None or not segment.solids:
            continue
        while carrier.mass == 0.0 and carrier is not group and carrier.parent is not None:
            carrier = carrier.parent
        if carrier.mass == 0.0:
            if group not in first:
                warnings.add(segment.element, f"{segment.name!r} has no mass; its geometry is left out")
                continue
            carrier = first[group]
        turn = built.poses[carrier].rotation.T
        place = Pose(
            turn @ (built.poses[segment].position - built.poses[carrier].position), turn @ built.poses[segment].rotation
        )
        for solid in segment.solids:
            if isinstance(solid.shape, HalfSpace):
                warnings.add(solid.element, "a plane that moves is left out; use a box")
                continue
            solid.pose = place @ solid.pose if carrier is not segment else solid.pose
            carried[carrier].append(solid)
    return carried


def shape_of(solids: list[Solid], center: np.ndarray) -> Any:
    """One shape whose frame is at the centre of mass, with the segment's axes."""
    if not solids:
        return None
    only = solids[0]
    if (
        len(solids) == 1
        and np.array_equal(only.pose.position, center)
        and np.array_equal(only.pose.rotation, np.eye(3))
    ):
        return only.shape
    return Compound([Part(solid.shape, solid.pose.position - center, solid.pose.quaternion) for solid in solids])  # type: ignore[arg-type]


def material_of(touching: list[Solid]) -> Material:
    """A body has one material: the roughest and bounciest of its solids."""
    return Material(max(solid.friction for solid in touching), max(solid.restitution for solid in touching))


def fixed_solids(description: Description, built: Built) -> list[tuple[Solid, Pose]]:
    """What touches and does not move, with the pose of what it is given in; nothing where no body touches."""
    fixed = [(solid, Pose()) for solid in description.solids]
    for segment in description.segments:
        if built.groups[segment] is None:
            fixed += [(solid, built.poses[segment]) for solid in segment.solids]
    return [(solid, outer) for solid, outer in fixed if solid.touches]


def add_obstacle(solid: Solid, outer: Pose, group: str, built: Built) -> None:
    """An obstacle for a solid that does not move."""
    scene, pose = built.scene, outer @ solid.pose
    with told(solid.element):
        name = free_name(solid.name, scene.bodies, scene.links, scene.obstacles)
        scene.add_obstacle(
            name, solid.shape, position=pose.position, orientation=pose.quaternion, material=material_of([solid]),
            group=group, **({"color": solid.color} if solid.color else {}),  # type: ignore[arg-type]
        )  # fmt: skip
    built.solids[name], built.members[name] = [solid], None
