"""From what a user gives a force to what a scene has, with errors that name the force."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .body import Body
from .checks import finite, real_array
from .connect import place
from .joint import Frame, Joint
from .particle_force import elements_of, per_element, require_apart
from .particles import Particles


class Resolver:
    """Finds and checks what a force of a scene is given. Every method raises ValueError, naming `owner` and the value."""

    def __init__(self, scene: Any, owner: str) -> None:
        self._scene, self.owner = scene, owner

    def frame(self, item: str | Frame) -> Frame:
        """A body, link or particle of the scene, or the world."""
        return self._scene._frame(self.owner, item)  # type: ignore[no-any-return]

    def frames(self, a: str | Frame, b: str | Frame) -> tuple[Frame, Frame]:
        """Two different ones."""
        return self._scene._frames(self.owner, a, b)  # type: ignore[no-any-return]

    def body(self, item: str | Frame, otherwise: str) -> Body:
        """A body. otherwise : what to say of anything else."""
        found = self.frame(item)
        if not isinstance(found, Body):
            raise ValueError(f"{self.owner}: {otherwise.format(name=found.name)}")
        return found

    def coordinate(self, joint: str | Joint, which: str | None) -> tuple[Joint, str]:
        """A joint, and the name of its coordinate: "angle" or "displacement", the one it has if none is given."""
        return self._scene._coordinate(self.owner, joint, which)  # type: ignore[no-any-return]

    def point(self, name: str, frame: Frame, point: ArrayLike | None) -> np.ndarray:
        """A point (m, world coordinates) that moves with a frame; a particle is its own point."""
        return place(self.owner, name, frame, point)

    def number(self, name: str, value: object, least: float = -np.inf) -> float:
        """A finite number, not below `least`."""
        return finite(self.owner, name, value, least)

    def vector(self, name: str, value: ArrayLike) -> np.ndarray:
        """(3,) finite numbers."""
        return real_array(self.owner, name, value, (3,))

    def bodies(self, items: Sequence[str | Frame], otherwise: str) -> list[Body]:
        """Bodies. otherwise : what to say of anything else."""
        return [self.body(item, otherwise) for item in items]

    def group(self, item: str | Particles) -> Particles:
        """A group of particles of the scene."""
        return self._scene._group(self.owner, item)  # type: ignore[no-any-return]

    def elements(self, group: Particles, rows: ArrayLike, nodes: int, *, apart: str = "") -> np.ndarray:
        """(m, nodes) indices within a group, each particle once in an element. apart : why neighbours must not be at the same
        place, where they must not."""
        found = elements_of(self.owner, group, rows, nodes)
        if apart:
            require_apart(self.owner, group.position, found, apart)
        return found

    def per_element(self, count: int, *, above_zero: bool = False, **numbers: ArrayLike) -> dict[str, np.ndarray]:
        """(count,) numbers each, not below zero (or above it), from one for all or one an element."""
        return {
            name: per_element(self.owner, name, value, count, above_zero=above_zero) for name, value in numbers.items()
        }
