"""A point of b stays on a curve of a: 2 constraints."""

from __future__ import annotations

from typing import Any

from ..joint import Curve, Joint
from ..resolve import Resolver
from .composition import Composition, curve


class PointOnCurve(Composition):
    """A point of b stays on a curve of a; see `Scene.point_on_curve`."""

    kind = "point_on_curve"

    def __init__(self, a: Any, b: Any, at: Any, curve: Curve) -> None:
        self.a, self.b, self.at, self.curve = a, b, at, curve

    def compose(self, name: str, found: Resolver) -> Joint:
        a, b, pa, pb = found.ends(self.a, self.b, self.at, None, "b")
        return Joint(name, self.kind, a, b, [curve(pa, pb)], pb, curve=self.curve)
