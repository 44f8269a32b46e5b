"""A point of b stays in a plane of a: 1 constraint."""

from __future__ import annotations

from typing import Any

from ..joint import Joint
from ..resolve import Resolver
from .composition import Composition, plane


class PointOnPlane(Composition):
    """A point of b stays in a plane of a; see `Scene.point_on_plane`."""

    kind = "point_on_plane"

    def __init__(self, a: Any, b: Any, at: Any, normal: Any, *, at_b: Any = None) -> None:
        self.a, self.b, self.at, self.normal, self.at_b = a, b, at, normal, at_b

    def compose(self, name: str, found: Resolver) -> Joint:
        a, b, pa, pb = found.ends(self.a, self.b, self.at, self.at_b, "b")
        return Joint(name, self.kind, a, b, [plane(found.unit("normal", self.normal), pa, pb)], pb)
