"""The methods of `Scene` for articulated models: links without mass, and the inertia of rotors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .checks import finite, real_array, rotation_matrix, unit_quaternion


@dataclass(frozen=True, eq=False)
class Link:
    """A frame without mass, between joints; made by `Scene.add_link`."""

    name: str
    position: np.ndarray  # (3,) world, m
    orientation: tuple[float, float, float, float]

    @property
    def rotation(self) -> np.ndarray:
        """Rotation matrix, link → world."""
        return rotation_matrix(self.orientation)

    def to_body(self, point: np.ndarray) -> np.ndarray:
        """A world point in the frame of the link (m)."""
        return self.rotation.T @ (point - self.position)


class Articulations:
    """What only joint coordinates can run."""

    _new_name: Callable[..., None]
    _coordinate: Callable[..., tuple[Any, str]]
    _joint: Callable[..., Any]

    def __init__(self) -> None:
        super().__init__()
        self.links: dict[str, Link] = {}

    def add_link(
        self, name: str, *, position: ArrayLike = (0.0, 0.0, 0.0), orientation: ArrayLike = (1.0, 0.0, 0.0, 0.0)
    ) -> Link:
        """Add a frame without mass, which joints connect like a body: two hinges and a link between them make a universal
        joint whose axes may be at any angle, three a shoulder; a link at the end of an arm is its tool frame.

        position : (3,) m. orientation : (w, x, y, z), link → world.

        What it carries must have mass. A run with links takes joint coordinates, `coordinates="joint"`.
        """
        self._new_name(name, self.links, "link")
        self._new_name(name, self.bodies, "link")  # type: ignore[attr-defined]
        owner = f"link {name!r}"
        link = Link(
            name, real_array(owner, "position", position, (3,)), unit_quaternion(owner, "orientation", orientation)
        )
        self.links[name] = link
        return link

    def close_loop(self, joint: Any) -> None:
        """Take a joint as one that closes a loop in joint coordinates: a constraint on them, and not a part of the tree. Else
        the tree is made of the joints that are nearest to the world."""
        self._joint(f"loop of {getattr(joint, 'name', joint)!r}", joint).closes_loop = True

    def armature(self, joint: Any, inertia: float) -> None:
        """The inertia of a motor's rotor, as the joint's coordinate feels it: kg m² on a hinge, kg on a slider.

        It adds ½ inertia ṡ² to the kinetic energy. A run with one takes joint coordinates, `coordinates="joint"`.
        """
        owner = f"armature of {getattr(joint, 'name', joint)!r}"
        found, _ = self._coordinate(owner, joint, None)
        if found.angle and found.displacement:
            raise ValueError(f"{owner}: a {found.kind} joint has two coordinates; give a hinge or a slider")
        found.armature = finite(owner, "inertia", inertia, 0.0)
