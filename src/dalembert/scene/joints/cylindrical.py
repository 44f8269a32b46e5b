"""b slides along and turns about an axis of a: 4 constraints."""

from __future__ import annotations

from typing import Any

from ..joint import Joint, Step
from ..resolve import Resolver
from .composition import Composition, dot, plane, sides


class Cylindrical(Composition):
    """b slides along and turns about an axis of a; see `Scene.cylindrical`."""

    kind = "cylindrical"

    def __init__(self, a: Any, b: Any, at: Any, axis: Any, *, at_b: Any = None) -> None:
        self.a, self.b, self.at, self.axis, self.at_b = a, b, at, axis, at_b

    def compose(self, name: str, found: Resolver) -> Joint:
        a, b, pa, pb = found.ends(self.a, self.b, self.at, self.at_b, "")
        n = found.unit("axis", self.axis)
        s, t = sides(n)
        parts = [plane(s, pa, pb), plane(t, pa, pb), dot(s, n), dot(t, n)]
        steps = (Step("slider", n, ".displacement"), Step("hinge", n, ".angle"))
        return Joint(name, self.kind, a, b, parts, pb, axis=n, angle=True, displacement=True, steps=steps)
