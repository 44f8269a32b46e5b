"""b slides along an axis of a without turning: 5 constraints."""

from __future__ import annotations

from typing import Any

from ..joint import Joint, Step
from ..resolve import Resolver
from .composition import Composition, dot, plane, sides


class Slider(Composition):
    """b slides along an axis of a without turning; see `Scene.slider`."""

    kind = "slider"

    def __init__(self, a: Any, b: Any, at: Any, axis: Any, *, at_b: Any = None) -> None:
        self.a, self.b, self.at, self.axis, self.at_b = a, b, at, axis, at_b

    def compose(self, name: str, found: Resolver) -> Joint:
        a, b, pa, pb = found.ends(self.a, self.b, self.at, self.at_b, "")
        n = found.unit("axis", self.axis)
        s, t = sides(n)
        parts = [plane(s, pa, pb), plane(t, pa, pb), dot(s, n), dot(t, n), dot(s, t)]
        return Joint(name, self.kind, a, b, parts, pb, axis=n, displacement=True, steps=(Step("slider", n),))
