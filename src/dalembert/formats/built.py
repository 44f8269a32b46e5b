"""A scene while it is made of a description: what became of what."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..scene.articulate import Link
from ..scene.body import WORLD, Body, World
from ..scene.joint import Joint
from ..scene.scene import Scene
from .description import Axis, Pose, Segment, Solid
from .imported import FileFrame
from .xml import Element


@contextmanager
def told(element: Element) -> Iterator[None]:
    """Says of a refusal by the scene where in the file its reason is."""
    try:
        yield
    except ValueError as error:
        message = str(error)
        raise (error if message.startswith(f"{element.file}:") else element.error(message)) from None


@dataclass(eq=False)
class Built:
    """The scene, and what became of what."""

    scene: Scene
    items: dict[Segment, Body | Link | World] = field(default_factory=dict)
    poses: dict[Segment, Pose] = field(default_factory=dict)  # of the segments' frames, in the world
    groups: dict[Segment, Segment | None] = field(default_factory=dict)  # what is welded together; None: to the world
    joints: dict[str, Joint] = field(default_factory=dict)  # of the file, in its order
    axes: dict[str, Axis] = field(default_factory=dict)  # those of them that move
    solids: dict[str, list[Solid]] = field(default_factory=dict)  # that touch, of each body and obstacle
    members: dict[str, Segment | None] = field(default_factory=dict)  # body or obstacle → its group

    def frame(self, segment: Segment | None, pose: Pose) -> FileFrame:
        """Where a frame of a segment is."""
        item = WORLD if segment is None else self.items[segment]
        if isinstance(item, World):
            placed = pose if segment is None else self.poses[segment] @ pose
            return FileFrame(WORLD, placed.position, placed.quaternion)
        center = segment.center if segment is not None and isinstance(item, Body) else np.zeros(3)
        return FileFrame(item, pose.position - center, pose.quaternion)


def free_name(name: str, *taken: Any) -> str:
    """The name itself, or with a number where something has it already."""
    number, found = 2, name
    while any(found in names for names in taken):
        number, found = number + 1, f"{name} ({number})"
    return found
