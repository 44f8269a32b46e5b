"""b turns about an axis of a: 5 constraints."""

from __future__ import annotations

from typing import Any

from ..joint import Joint, Step
from ..resolve import Resolver
from .composition import Composition, dot, point, sides


class Hinge(Composition):
    """b turns about an axis of a; see `Scene.hinge`."""

    kind = "hinge"

    def __init__(self, a: Any, b: Any, at: Any, axis: Any, *, at_b: Any = None, axis_b: Any = None) -> None:
        self.a, self.b, self.at, self.axis, self.at_b, self.axis_b = a, b, at, axis, at_b, axis_b

    def compose(self, name: str, found: Resolver) -> Joint:
        a, b, pa, pb = found.ends(self.a, self.b, self.at, self.at_b, "")
        n = found.unit("axis", self.axis)
        nb = n if self.axis_b is None else found.unit("axis_b", self.axis_b)
        parts = [point(pa, pb), *(dot(side, nb) for side in sides(n))]
        return Joint(name, self.kind, a, b, parts, pb, axis=n, angle=True, steps=(Step("hinge", n),))
