"""From the description of a model to a scene at its zero pose."""

from __future__ import annotations

import numpy as np

from ..scene.body import WORLD
from ..scene.joint import Joint
from ..scene.scene import Scene
from .built import Built, free_name, told
from .description import Axis, Description, Segment, Solid
from .imported import Warnings
from .inertia import nearest_inertia
from .solids import add_obstacle, carried_solids, fixed_solids, material_of, shape_of
from .touching import Surfaces, part_neighbours


def build(description: Description, warnings: Warnings, limits: bool, friction: bool) -> Built:
    """The scene. Raises ValueError with file and line where the scene refuses something."""
    built = Built(Scene(description.name, gravity=description.gravity))
    built.scene.imported = True
    _hold_what_has_no_mass(description, warnings)
    for segment in description.segments:
        parent = segment.parent
        built.poses[segment] = segment.pose if parent is None else built.poses[parent] @ segment.pose
        moves = bool(segment.axes) or segment.free
        built.groups[segment] = segment if moves else None if parent is None else built.groups[parent]
    carried, fixed = carried_solids(description, built, warnings), fixed_solids(description, built)
    if not any(solid.touches for solids in carried.values() for solid in solids):
        fixed = []
    with told(description.element):
        surfaces = Surfaces([*carried.values(), *([solid] for solid, _ in fixed)], warnings)
    for segment in description.segments:
        with told(segment.element):
            _add_item(segment, carried[segment], surfaces.group(carried[segment]), built, warnings)
    for segment in description.segments:
        _connect(segment, built, limits, friction)
    for solid, outer in fixed:
        add_obstacle(solid, outer, surfaces.group([solid]), built)
    surfaces.set_rules(built.scene)
    with told(description.element):
        part_neighbours(built, description, surfaces.mixed)
    return built


def _hold_what_has_no_mass(description: Description, warnings: Warnings) -> None:
    """A joint with neither mass nor armature on one of its sides has no equation of motion: it is held fixed instead. The
    side that carries it counts in a free tree only."""
    below = {segment: segment.mass for segment in description.segments}
    for segment in reversed(description.segments):
        if segment.parent is not None and not segment.free:
            below[segment.parent] += below[segment]
    beside: dict[Segment, float] = {}  # what the free tree has in all, or more than anything
    for segment in description.segments:
        above = np.inf if segment.parent is None else beside[segment.parent]
        beside[segment] = below[segment] if segment.free else above
        if not (segment.free or segment.axes) or any(axis.armature for axis in segment.axes):
            continue
        if below[segment] == 0.0 or (segment.axes and below[segment] == beside[segment]):
            names = ", ".join(repr(axis.name) for axis in segment.axes) or "the free joint"
            what = f"{names} of {segment.name!r} moves what has no mass, and is held fixed; give that a mass"
            warnings.add(segment.axes[0].element if segment.axes else segment.element, what)
            segment.weld_name = segment.axes[0].name if segment.axes else ""
            segment.axes, segment.free = [], False


def _add_item(segment: Segment, solids: list[Solid], group: str, built: Built, warnings: Warnings) -> None:
    """The body, link, or part of the world that a segment is."""
    scene, pose = built.scene, built.poses[segment]
    if built.groups[segment] is None:
        built.items[segment] = WORLD
        return
    name = free_name(segment.name if segment.name != WORLD.name else "world (moving)", scene.bodies, scene.links)
    if segment.mass == 0.0:
        built.items[segment] = scene.add_link(name, position=pose.position, orientation=pose.quaternion)
        return
    inertia, repair = nearest_inertia(segment.mass, segment.inertia)
    if repair is not None:
        warnings.add(segment.element, f"the inertia of {segment.name!r} is impossible: {repair}")
    touching = [solid for solid in solids if solid.touches]
    shown = touching or solids
    body = scene.add_body(
        name, shape_of(shown, segment.center), mass=segment.mass, inertia=inertia, position=pose.point(segment.center),
        orientation=pose.quaternion, color=next((solid.color for solid in shown if solid.color), None),
        material=material_of(touching) if touching else None, group=group,
    )  # fmt: skip
    built.items[segment] = body
    built.solids[name], built.members[name] = touching, built.groups[segment]


def _connect(segment: Segment, built: Built, limits: bool, friction: bool) -> None:
    """The joints between a segment and what carries it, through links where they are several, and their forces."""
    scene, item, pose = built.scene, built.items[segment], built.poses[segment]
    if item is WORLD or segment.free:
        return
    carrier = WORLD if segment.parent is None else built.items[segment.parent]
    if not segment.axes:
        with told(segment.element):
            weld = scene.weld(
                free_name(segment.weld_name or f"{segment.name}/fixed", scene.joints), carrier, item, pose.position
            )
        built.joints[weld.name] = weld
        return
    for index, axis in enumerate(segment.axes):
        with told(axis.element):
            last = index == len(segment.axes) - 1
            name = free_name(axis.name, scene.joints)
            moved = item if last else scene.add_link(
                free_name(f"{segment.name}/{name}", scene.bodies, scene.links),
                position=pose.position, orientation=pose.quaternion,
            )  # fmt: skip
            at, direction = pose.point(axis.anchor), pose.rotation @ axis.direction
            if axis.kind == "ball":
                joint = scene.ball(name, carrier, moved, at)
            else:
                joint = (scene.hinge if axis.kind == "hinge" else scene.slider)(name, carrier, moved, at, direction)
                _resist(scene, axis, joint, limits, friction)
            built.joints[name], built.axes[name] = joint, axis
            axis.name, carrier = name, moved


def _resist(scene: Scene, axis: Axis, joint: Joint, limits: bool, friction: bool) -> None:
    """What a joint does by itself: spring, damper, rotor, stops and dry friction."""
    if axis.stiffness or axis.damping:
        scene.torsion_spring(
            f"{joint.name}/spring", joint, stiffness=axis.stiffness, damping=axis.damping, rest=axis.rest
        )
    if axis.armature:
        scene.armature(joint, axis.armature)
    if limits and np.isfinite([axis.lower, axis.upper]).any():
        lower, upper = (value if np.isfinite(value) else None for value in (axis.lower, axis.upper))
        scene.limit(f"{joint.name}/limit", joint, lower=lower, upper=upper)
    if friction and axis.friction:
        scene.joint_friction(f"{joint.name}/friction", joint, effort=axis.friction)
