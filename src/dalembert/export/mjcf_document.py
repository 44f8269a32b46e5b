"""An MJCF file while it is written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ..model.tree import Place
from ..model.tree_tables import BALL, FREE, HINGE
from ..scene.articulate import Link
from ..scene.body import Body, World
from ..scene.checks import quaternion_of
from ..scene.scene import Scene
from .shared import ExportWarning, free_name, principal_inertia

Element = ElementTree.Element
SECTIONS = ("asset", "worldbody", "contact", "tendon", "equality", "actuator", "keyframe")
FLAT = 1e-9  # of the largest moment: by how much it may exceed the sum of the others unsaid


def number(value: float) -> str:
    """A number with all its digits."""
    return repr(float(value) + 0.0)


def numbers(values: Iterable[float]) -> str:
    return " ".join(number(value) for value in values)


@dataclass(eq=False)
class Joint:
    """One joint of the file, in world coordinates at the start."""

    kind: int  # of model.tree_tables
    name: str
    at: np.ndarray
    axis: np.ndarray
    armature: float
    place: Place | None = None  # what it carries
    element: Element | None = None

    def freedoms(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Velocity at its point and angular velocity that one unit of each of MuJoCo's speeds makes at the start; of a ball
        and of what is free the turns are in axes of the body."""
        assert self.place is not None
        zero, axes = np.zeros(3), list(self.place.rotation.T)
        if self.kind == FREE:
            return [(e, zero) for e in np.eye(3)] + [(zero, axis) for axis in axes]
        if self.kind == BALL:
            return [(zero, axis) for axis in axes]
        return [(zero, self.axis)] if self.kind == HINGE else [(self.axis, zero)]

    def start(self) -> list[float]:
        """Its numbers in qpos at the start."""
        assert self.place is not None
        if self.kind == FREE:
            return [*self.place.position.tolist(), *quaternion_of(self.place.rotation)]
        return [1.0, 0.0, 0.0, 0.0] if self.kind == BALL else [0.0]


class Document:
    """The elements of the file, what stands for what, and the warnings."""

    def __init__(self, scene: Scene, file: Path) -> None:
        self.scene, self.file = scene, file
        self.warnings: list[ExportWarning] = []
        self.meshes: dict[str, tuple[np.ndarray, np.ndarray]] = {}  # file name → vertices, faces
        self.mesh_names: set[str] = set()
        self.bodies: dict[Any, Element] = {}  # body or link → element
        self.places: list[tuple[Place, Place, list[Joint]]] = []  # place, its host and joints
        self.joints: dict[str, Joint] = {}  # by the name of the freedom
        self._names: dict[str, set[str]] = {}
        self.root = Element("mujoco", model=scene.name)
        ElementTree.SubElement(
            self.root, "compiler", angle="radian", autolimits="true", inertiafromgeom="false", balanceinertia="false"
        )
        self.option = ElementTree.SubElement(self.root, "option", gravity=numbers(scene.gravity), cone="elliptic")
        self._sections = {name: Element(name) for name in SECTIONS}
        self.world = self._sections["worldbody"]

    def section(self, name: str) -> Element:
        return self._sections[name]

    def warn(self, item: str, message: str) -> None:
        self.warnings.append(ExportWarning(item, message))

    def name(self, kind: str, wanted: str) -> str:
        """A name that no other element of that kind has."""
        return free_name(wanted, self._names.setdefault(kind, set()))

    def new_joint(self, kind: int, name: str, at: np.ndarray, axis: np.ndarray, armature: float) -> Joint:
        joint = Joint(kind, self.name("joint", name), at, axis, armature)
        if kind not in (FREE, BALL):
            self.joints[name] = joint
        return joint

    def coordinate(self, joint: Any, which: str | None = None) -> Joint | None:
        """The joint of the file that has a coordinate of a joint of the scene; None for one that is not in the tree."""
        name = joint.name
        if joint.angle and joint.displacement:
            name += f".{which or 'angle'}"
        return self.joints.get(name)

    def set_rotation(self, element: Element, rotation: np.ndarray) -> None:
        if not np.array_equal(rotation, np.eye(3)):
            element.set("quat", numbers(quaternion_of(rotation)))

    def site(self, frame: Any, point: np.ndarray, name: str, rotation: np.ndarray | None = None) -> str | None:
        """The name of a new site at a world point of a body, link or the world, its axes along those of `rotation`.

        None where the file does not have the frame.
        """
        placed = isinstance(frame, Body | Link)
        above = self.bodies.get(frame) if placed else self.world if isinstance(frame, World) else None
        if above is None:
            return None
        at, turn = (frame.to_body(point), frame.rotation) if placed else (point, np.eye(3))
        unique = self.name("site", name)
        element = ElementTree.SubElement(above, "site", name=unique, pos=numbers(at), group="4")
        if rotation is not None:
            self.set_rotation(element, turn.T @ rotation)
        return unique

    def write_inertia(self, element: Element, body: Body) -> None:
        """The inertia as principal moments; MuJoCo refuses any that exceeds the sum of the two others, if by rounding."""
        moments, axes = principal_inertia(body.inertia)
        k = int(np.argmax(moments))
        most = float(np.delete(moments, k).sum())
        if moments[k] > most:
            if moments[k] > most * (1.0 + FLAT):
                self.warn(
                    f"body {body.name!r}", f"its largest moment of inertia, {moments[k]:.9g}, becomes {most:.9g} kg m²"
                )
            moments[k] = most
        inertial = ElementTree.SubElement(element, "inertial", pos="0 0 0", mass=number(body.mass))
        self.set_rotation(inertial, axes)
        inertial.set("diaginertia", numbers(moments))

    def in_order(self) -> list[tuple[Place, Place, list[Joint]]]:
        """The places in the order of the file, which is that of MuJoCo's coordinates."""
        found = {id(self.bodies[place.item]): (place, host, joints) for place, host, joints in self.places}
        return [found[id(element)] for element in self.world.iter("body") if id(element) in found]

    def save(self) -> None:
        """Write the file, and its meshes beside it."""
        self.root.extend(section for section in self._sections.values() if len(section) or section is self.world)
        ElementTree.indent(self.root)
        for name, (vertices, faces) in self.meshes.items():
            lines = ["v " + " ".join(f"{x:.9g}" for x in row) for row in vertices.tolist()]
            lines += ["f " + " ".join(str(i + 1) for i in row) for row in faces.tolist()]
            (self.file.parent / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        text = ElementTree.tostring(self.root, encoding="unicode")
        self.file.write_text(text + "\n", encoding="utf-8")
