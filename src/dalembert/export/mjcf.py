"""`export_mjcf`: a scene as a model file of MuJoCo.

The bodies are nested as in the tree of joint coordinates (`model.tree`), at the pose of the scene, where all coordinates are
zero. A frame of MJCF is that of our body: at the centre of mass, with the body's axes. Joints of one MJCF body act one after
the other from the parent on, as if there were frames without mass between them: so a link without mass that carries one joint
becomes no body, and neither does what is between the axes of a universal or cylindrical joint.
"""

from __future__ import annotations

from os import PathLike
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ..model.tree import Layout, Place, build_tree
from ..model.tree_tables import BALL, FREE, HINGE, WELD
from ..scene.articulate import Link
from ..scene.body import WORLD, Body
from ..scene.scene import Scene
from .mjcf_document import Document, Joint, number, numbers
from .mjcf_forces import write_forces
from .mjcf_shapes import write_shapes
from .mjcf_velocities import write_velocities
from .shared import ExportWarning, target

MOST_NESTED = 490  # elements within each other that MuJoCo reads
NEARLY_NOTHING = 1e-12  # kg and kg m²; MuJoCo takes nothing below 1e-15


def export_mjcf(scene: Scene, path: str | PathLike[str]) -> list[ExportWarning]:
    """Write a scene as an MJCF file (.xml), with its meshes as OBJ files beside it; returns what MJCF cannot say.

    Joints make nested bodies; what closes loops becomes equality constraints, as do gears and rods. Springs are tendons,
    torsion springs, stops, dry friction and rotors belong to joints, motors are actuators whose control adds to the effort.
    Initial velocities stand in the key frame "start".

    Raises ValueError for a scene that joint coordinates cannot start, another suffix, or a chain of more than 490 bodies.
    """
    file = target(path, ".xml")
    out = Document(scene, file)
    layout = build_tree(scene)
    _write_tree(layout, out)
    write_forces(out, layout.loops)
    write_shapes(out)
    write_velocities(out, layout.loops)
    out.save()
    return out.warnings


def _write_tree(layout: Layout, out: Document) -> None:
    """The bodies and their joints. Nodes stand parents first."""
    rows, places = layout.rows, layout.places
    children: list[list[int]] = [[] for _ in rows]
    for i, row in enumerate(rows):
        if row[0] >= 0:
            children[row[0]].append(i)
    fixed_mass = [place.mass for place in places]  # of a node and of what is welded to it
    for i in range(len(rows) - 1, -1, -1):
        if rows[i][2] == WELD and rows[i][0] >= 0:
            fixed_mass[rows[i][0]] += fixed_mass[i]
    needed = _frames_in_use(out.scene, layout)
    world = Place(WORLD, -1, np.zeros(3), np.eye(3))
    hosts: list[Place] = []  # the nearest place up from each node, itself included, that is a body of the file
    waiting: list[list[Joint]] = []  # joints from that place to the node
    depth: list[int] = []
    for i, place in enumerate(places):
        parent = rows[i][0]
        host = hosts[parent] if parent >= 0 else world
        joints = (waiting[parent] if parent >= 0 else []) + _joint(i, layout, out)
        depth.append((depth[parent] if parent >= 0 else 2) + 1)
        if not isinstance(place.item, Body) and len(children[i]) == 1 and place.item not in needed:
            hosts.append(host)
            waiting.append(joints)
            continue
        if depth[i] > MOST_NESTED:
            raise ValueError(
                f"scene {out.scene.name!r}: {place.item.name!r} is more than {MOST_NESTED} bodies away from the start of its "
                "chain, more than MuJoCo reads; shorten the chain"
            )
        hosts.append(place)
        waiting.append([])
        light = bool(joints) and fixed_mass[i] == 0.0
        _write_body(place, host, joints, light, out)


def _frames_in_use(scene: Scene, layout: Layout) -> set[Link]:
    """Links that something besides the joints of the tree holds on to."""
    ends: list[Any] = [end for joint in layout.loops for end in joint.bodies]
    ends += [end for force in scene.forces.values() for end in (getattr(force, "a", None), getattr(force, "b", None))]
    return {end for end in ends if isinstance(end, Link)}


def _joint(i: int, layout: Layout, out: Document) -> list[Joint]:
    """The joint by which node i is carried, in world axes at the start; none for a weld."""
    row, place = layout.rows[i], layout.places[i]
    parent, kind, first = row[0], row[2], row[3]
    if kind == WELD:
        return []
    if kind == FREE:
        return [out.new_joint(FREE, place.item.name, place.position, np.zeros(3), 0.0)]
    before = layout.places[parent] if parent >= 0 else Place(WORLD, -1, np.zeros(3), np.eye(3))
    at, axis = before.position + before.rotation @ row[10], before.rotation @ row[12]
    name = layout.freedom_names[first]
    if kind == BALL:
        name = name.removesuffix(".x")
    return [out.new_joint(kind, name, at, axis, layout.freedoms[first][2])]


def _write_body(place: Place, host: Place, joints: list[Joint], light: bool, out: Document) -> None:
    item = place.item
    above = out.world if host.item is WORLD else out.bodies[host.item]
    turn = host.rotation.T
    element = ElementTree.SubElement(
        above, "body", name=item.name, pos=numbers(turn @ (place.position - host.position))
    )
    out.set_rotation(element, turn @ place.rotation)
    out.bodies[item] = element
    for joint in joints:
        joint.place = place
        if joint.kind == FREE:
            joint.element = ElementTree.SubElement(element, "freejoint", name=joint.name)
            continue
        kind = {HINGE: "hinge", BALL: "ball"}.get(joint.kind, "slide")
        joint.element = ElementTree.SubElement(
            element, "joint", name=joint.name, type=kind, pos=numbers(place.rotation.T @ (joint.at - place.position))
        )
        if joint.kind != BALL:
            joint.element.set("axis", numbers(place.rotation.T @ joint.axis))
        if joint.armature:
            joint.element.set("armature", number(joint.armature))
    out.places.append((place, host, joints))
    if isinstance(item, Body):
        out.write_inertia(element, item)
    elif light:
        out.warn(
            f"link {item.name!r}", f"MuJoCo moves nothing without mass; it is given {NEARLY_NOTHING:g} kg and kg m²"
        )
        small = numbers([NEARLY_NOTHING] * 3)
        ElementTree.SubElement(element, "inertial", pos="0 0 0", mass=number(NEARLY_NOTHING), diaginertia=small)
