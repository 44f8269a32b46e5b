"""Coordinate of `second` = ratio × coordinate of `first`: 1 constraint."""

from __future__ import annotations

from typing import Any

from ..joint import Coupling, Joint
from ..resolve import Resolver
from .composition import Composition


class Gear(Composition):
    """A ratio of two coordinates; see `Scene.gear`."""

    kind = "gear"

    def __init__(self, first: Any, second: Any, ratio: float) -> None:
        self.first, self.second, self.ratio = first, second, ratio

    def compose(self, name: str, found: Resolver) -> Joint:
        j1, j2 = found.joint(self.first), found.joint(self.second)
        for joint in (j1, j2):
            if not (joint.angle or joint.displacement):
                raise ValueError(
                    f"{found.owner}: {joint.kind} {joint.name!r} has no coordinate; couple hinges or sliders"
                )
        coupling = Coupling((j1, j2), found.number("ratio", self.ratio))
        return Joint(name, self.kind, j1.b, j2.b, [], j2.at, coupling=coupling)
