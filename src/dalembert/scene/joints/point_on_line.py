"""A point of b stays on a line of a: 2 constraints."""

from __future__ import annotations

from typing import Any

from ..joint import Joint
from ..resolve import Resolver
from .composition import Composition, plane, sides


class PointOnLine(Composition):
    """A point of b stays on a line of a; see `Scene.point_on_line`."""

    kind = "point_on_line"

    def __init__(self, a: Any, b: Any, at: Any, axis: Any, *, at_b: Any = None) -> None:
        self.a, self.b, self.at, self.axis, self.at_b = a, b, at, axis, at_b

    def compose(self, name: str, found: Resolver) -> Joint:
        a, b, pa, pb = found.ends(self.a, self.b, self.at, self.at_b, "b")
        n = found.unit("axis", self.axis)
        parts = [plane(side, pa, pb) for side in sides(n)]
        return Joint(name, self.kind, a, b, parts, pb, axis=n, displacement=True)
