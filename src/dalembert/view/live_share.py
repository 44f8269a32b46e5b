"""A body's share of the energy: its potential energies, and the works of the forces that act on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.view.checks import checked_array, checked_items
from dalembert.view.drawing import LinkDrawing, SceneDrawing
from dalembert.view.frames import Frames

__all__ = ["Share"]

MOST = 6  # springs, and forces, that are listed of one body


class Share:
    """What the scene `scene` (the trajectory's ``scene_json``), drawn as `drawing`, says of the forces on each body.

    `forces` are the names of the works that frames have, in their order; `released` says when springs were let go, s.
    """

    def __init__(self, scene: Mapping[str, Any], drawing: SceneDrawing) -> None:
        self.drawing = drawing
        self.forces: Sequence[str] = ()
        self.released: Mapping[str, float] = {}
        self.gravity = checked_array(scene.get("gravity") or (0, 0, 0), (3,), "gravity")
        self._laws = {
            str(item.get("name")): (item["stiffness"], item["rest"])
            for item in checked_items(scene, "springs")
            if all(isinstance(item.get(key), int | float) for key in ("stiffness", "rest"))
        }
        self._moved = {
            str(item.get("name")): list(item["bodies"])
            for item in checked_items(scene, "forces")
            if isinstance(item.get("bodies"), list)
        }

    def of(self, number: int, frames: Frames, index: int) -> list[tuple[str, float]]:
        """What is known of the body `number` at the frame `index`: name with unit, and value.

        In gravity −m g·x, zero at the world's origin; of a spring ½ k (l − l₀)², whole, though it belongs to what is at its
        other end as well. Works are since the start, from the ledger, which has one entry a force: of a force on several
        bodies it is that on all of them. What contacts and joints do to one body is not recorded.
        """
        body, found = self.drawing.bodies[number], []
        if body.mass:
            gravity = frames.further["gravity"][index] if "gravity" in frames.further else self.gravity
            height = frames.positions[index, number] @ gravity.astype(float)
            found.append(("potential energy in gravity, J", -body.mass * float(height)))
        return found + _short(self._springs(number, frames, index)) + _short(self._works(number, frames, index))

    def _springs(self, number: int, frames: Frames, index: int) -> Iterable[tuple[str, float]]:
        there = frames.positions[index], frames.orientations[index], frames.particles[index]
        for spring in self.drawing.springs:
            held = frames.times[index] <= self.released.get(spring.name, spring.until)
            if number in (spring.a.body, spring.b.body) and held and spring.name in self._laws:
                stiffness, rest = self._laws[spring.name]
                length = float(np.linalg.norm(spring.b.at(*there) - spring.a.at(*there)))
                yield (
                    f"energy of spring {spring.name}{self._shared(spring, number)}, J",
                    0.5 * stiffness * (length - rest) ** 2,
                )

    def _shared(self, spring: LinkDrawing, number: int) -> str:
        other = spring.b if spring.a.body == number else spring.a
        if other.fixed:
            return ""
        return f" (shared with {'a particle' if other.body < 0 else self.drawing.bodies[other.body].name})"

    def _works(self, number: int, frames: Frames, index: int) -> Iterable[tuple[str, float]]:
        name, works = self.drawing.bodies[number].name, frames.further.get("work")
        for k, force in enumerate(self.forces):
            moved = self._moved.get(force, [])
            if works is not None and name in moved:
                others = len(moved) - 1
                what = f"damper of {force}" if force in self._laws else force
                yield f"work of {what}{f' (on {others} more, too)' if others else ''}, J", float(works[index, k])


def _short(found: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """The largest of many."""
    return sorted(found, key=lambda pair: -abs(pair[1]))[:MOST]
