"""`Resolver`: the arguments of a force, joint or energy, with names replaced by objects, and checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.arrays import NumbersLike, VectorLike
from .body import Body
from .checks import finite, positive, real_array
from .joint import End, Frame, Joint
from .particles import Particle, Particles, elements_of, per_element, require_apart

SAME_PLACE = 1e-9  # m: points that differ by less are one, by as much again for each metre from the origin


def point_of(owner: str, name: str, frame: Frame, point: VectorLike | None) -> np.ndarray:
    """A point of a body or the world, from the argument `name`; a particle needs no point; leave it out. Raises "
    "ValueError."""
    if isinstance(frame, Particle):
        given = frame.position if point is None else real_array(owner, name, point, (3,))
        if np.linalg.norm(given - frame.position) > SAME_PLACE * max(1.0, float(np.linalg.norm(given))):
            raise ValueError(
                f"{owner}: {name} is {given.tolist()}, and {frame.name} is at {frame.position.tolist()}; a particle is its "
                "own only point"
            )
        return frame.position
    if point is None:
        raise ValueError(f"{owner}: {name} is missing; give the point of {frame.name!r}, in world coordinates")
    return real_array(owner, name, point, (3,))


class Resolver:
    """Looks up and checks the arguments of a force, joint or energy. Every method raises ValueError, naming `owner` and the
    value."""

    def __init__(self, scene: Any, owner: str) -> None:
        self._scene = scene
        self.owner: str = owner

    def frame(self, item: End) -> Frame:
        """A body, link or particle of the scene, or the world."""
        return self._scene._frame(self.owner, item)  # type: ignore[no-any-return]

    def frames(self, a: End, b: End) -> tuple[Frame, Frame]:
        """Two different ones."""
        return self._scene._frames(self.owner, a, b)  # type: ignore[no-any-return]

    def body(self, item: str | Frame, otherwise: str) -> Body:
        """A body. otherwise : what to say of anything else."""
        found = self.frame(item)
        if not isinstance(found, Body):
            raise ValueError(f"{self.owner}: {otherwise.format(name=found.name)}")
        return found

    def joint(self, item: str | Joint) -> Joint:
        """A joint of the scene."""
        return self._scene._joint(self.owner, item)  # type: ignore[no-any-return]

    def joints(self) -> list[Joint]:
        """All joints of the scene so far."""
        return list(self._scene.joints.values())

    def ends(
        self, a: End, b: End, at: VectorLike | None, at_b: VectorLike | None, particles: str
    ) -> tuple[Frame, Frame, np.ndarray, np.ndarray]:
        """Two different frames, and the same point of each: `at`, or `at_b` for b. particles : which ends may be particles,
        "", "b" or "ab"."""
        first, second = self.frames(a, b)
        self._check_particles(first, second, particles)
        pa = real_array(self.owner, "at", () if at is None else at, (3,))
        pb = pa if at_b is None else real_array(self.owner, "at_b", at_b, (3,))
        return first, second, point_of(self.owner, "at", first, pa), point_of(self.owner, "at", second, pb)

    def two_points(
        self, a: End, b: End, at_a: VectorLike | None, at_b: VectorLike | None
    ) -> tuple[Frame, Frame, np.ndarray, np.ndarray]:
        """Two different frames, and a point of each; a particle is its own."""
        first, second = self.frames(a, b)
        return first, second, self.point("at_a", first, at_a), self.point("at_b", second, at_b)

    def _check_particles(self, first: Frame, second: Frame, allowed: str) -> None:
        turning = [end.name for end in (first, second) if isinstance(end, Particle)]
        if turning and not allowed:
            raise ValueError(
                f"{self.owner}: {turning[0]} is a particle, which has no axes; use ball, rod, point_on_line, "
                "point_on_plane or point_on_curve"
            )
        if isinstance(first, Particle) and allowed != "ab":
            raise ValueError(f"{self.owner}: {first.name} is a particle; make it b, and the body a")

    def unit(self, name: str, value: NumbersLike) -> np.ndarray:
        """(3,) of length 1, along a vector that has some length."""
        v = self.vector(name, value)
        size = float(np.linalg.norm(v))
        if size < 1e-12:
            raise ValueError(f"{self.owner}: {name} {v.tolist()} has no direction; give a vector of some length")
        return v / size

    def coordinate(self, joint: str | Joint, which: str | None) -> tuple[Joint, str]:
        """A joint, and the name of its coordinate: "angle" or "displacement", the one it has if none is given."""
        return self._scene._coordinate(self.owner, joint, which)  # type: ignore[no-any-return]

    def point(self, name: str, frame: Frame, point: VectorLike | None) -> np.ndarray:
        """A point (m, world coordinates) that moves with a frame; a particle is its own point."""
        return point_of(self.owner, name, frame, point)

    def number(self, name: str, value: object, least: float = -np.inf) -> float:
        """A finite number, not below `least`."""
        return finite(self.owner, name, value, least)

    def positive(self, name: str, value: object, unit: str = "") -> float:
        """A finite number above zero."""
        return positive(self.owner, name, value, unit)

    def array(self, name: str, value: NumbersLike, shape: tuple[int, ...]) -> np.ndarray:
        """Finite numbers of this shape."""
        return real_array(self.owner, name, value, shape)

    def vector(self, name: str, value: NumbersLike) -> np.ndarray:
        """(3,) finite numbers."""
        return real_array(self.owner, name, value, (3,))

    def bodies(self, items: Sequence[str | Frame], otherwise: str) -> list[Body]:
        """Bodies. otherwise : what to say of anything else."""
        return [self.body(item, otherwise) for item in items]

    def group(self, item: str | Particles) -> Particles:
        """A group of particles of the scene."""
        return self._scene._group(self.owner, item)  # type: ignore[no-any-return]

    def elements(self, group: Particles, rows: NumbersLike, nodes: int, *, apart: str = "") -> np.ndarray:
        """(m, nodes) indices within a group, each particle once in an element. apart : why neighbours must not be at the same
        place, where they must not."""
        found = elements_of(self.owner, group, rows, nodes)
        if apart:
            require_apart(self.owner, group.position, found, apart)
        return found

    def per_element(self, count: int, *, above_zero: bool = False, **numbers: NumbersLike) -> dict[str, np.ndarray]:
        """(count,) numbers each, not below zero (or above it), from one for all or one an element."""
        return {
            name: per_element(self.owner, name, value, count, above_zero=above_zero) for name, value in numbers.items()
        }
