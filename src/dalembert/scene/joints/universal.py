"""A cross: an axis of a and an axis of b meet at a point at right angles: 4 constraints."""

from __future__ import annotations

from typing import Any

from ..joint import Joint, Step
from ..resolve import Resolver
from .composition import Composition, dot, point


class Universal(Composition):
    """A cross of two axes; see `Scene.universal`."""

    kind = "universal"

    def __init__(self, a: Any, b: Any, at: Any, axis_a: Any, axis_b: Any, *, at_b: Any = None) -> None:
        self.a, self.b, self.at, self.axis_a, self.axis_b, self.at_b = a, b, at, axis_a, axis_b, at_b

    def compose(self, name: str, found: Resolver) -> Joint:
        a, b, pa, pb = found.ends(self.a, self.b, self.at, self.at_b, "")
        one, other = found.unit("axis_a", self.axis_a), found.unit("axis_b", self.axis_b)
        steps = (Step("hinge", one, ".a"), Step("hinge", other, ".b"))
        return Joint(name, self.kind, a, b, [point(pa, pb), dot(one, other)], pb, steps=steps)
