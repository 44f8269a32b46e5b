"""What reading a model file gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..scene.articulate import Link
from ..scene.body import Body, World
from ..scene.force import Force
from ..scene.joint import Joint
from ..scene.scene import Scene
from .xml import Element


@dataclass(frozen=True)
class ModelWarning:
    """Something in a model file that the scene does not have as it is written there; `str()` is one line."""

    file: Path
    line: int
    element: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: <{self.element}>: {self.message}"


class FileFrame(NamedTuple):
    """Where a frame of the file is: the body or link that carries it, and its pose there. Of a body the axes are those of its
    frame in the file, and the origin is its centre of mass."""

    body: Body | Link | World
    position: np.ndarray  # (3,) m
    orientation: tuple[float, float, float, float]  # (w, x, y, z), frame → body


@dataclass(frozen=True, eq=False)
class Actuator:
    """An actuator of the file: the motor that stands for it, and what its control sets.

    The `sets` ("effort", "position" or "speed") of the motor is scale · control + offset, in units of the joint's coordinate,
    with the control kept within `control_range` first.
    """

    name: str
    joint: Joint = field(repr=False)
    motor: Force = field(repr=False)
    gear: float
    sets: str
    scale: float
    offset: float
    control_range: tuple[float, float]


@dataclass(eq=False)
class ImportedModel:
    """A scene read from a model file, and what connects it with the file.

    Attributes
    ----------
    scene : the `Scene`, at the zero pose of the file.
    path : the file. format : "URDF" or "MJCF".
    warnings : what could not be kept, with file and line.
    joints : names of the joints of the scene that the file has, in its order (free joints are none: the body is free).
    frames : name of a body or link of the file → its `FileFrame`. sites : the same for MJCF's sites.
    keyframes : name → {"positions": {joint or free body: value}, "velocities": the same, "ctrl": {actuator: control}}.
        Values are coordinates of the scene, which are zero at the file's zero pose; of a ball or a free body they are arrays
        as in the file: quaternion (w, x, y, z), position and quaternion of its frame.
    actuators : name → `Actuator`.
    timestep : s, of the file; None where it says nothing.
    """

    scene: Scene
    path: Path
    format: str
    warnings: list[ModelWarning] = field(default_factory=list)
    joints: list[str] = field(default_factory=list)
    frames: dict[str, FileFrame] = field(default_factory=dict)
    sites: dict[str, FileFrame] = field(default_factory=dict)
    keyframes: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    actuators: dict[str, Actuator] = field(default_factory=dict)
    timestep: float | None = None

    def __repr__(self) -> str:
        scene = self.scene
        return (
            f"ImportedModel({self.path.name}: {len(scene.bodies)} bodies, {len(scene.links)} links without mass, "
            f"{len(self.joints)} joints, {len(self.actuators)} actuators, {len(self.warnings)} warnings)"
        )


class Warnings:
    """Collects warnings; what several elements give rise to in the same words is said once, with their number."""

    def __init__(self) -> None:
        self._first: dict[str, tuple[Element, str]] = {}
        self._count: dict[str, int] = {}

    def add(self, element: Element, message: str, once: str | None = None) -> None:
        """once : what the warning is about, where one warning is enough for all elements."""
        key = f"{element.file}:{element.line}:{message}" if once is None else once
        self._first.setdefault(key, (element, message))
        self._count[key] = self._count.get(key, 0) + 1

    def list(self) -> list[ModelWarning]:
        """In the order of the file."""
        found = [
            ModelWarning(element.file, element.line, element.tag, message + _more(self._count[key] - 1))
            for key, (element, message) in self._first.items()
        ]
        return sorted(found, key=lambda warning: (str(warning.file), warning.line))


def _more(others: int) -> str:
    return f" (and so for {others} more)" if others else ""
