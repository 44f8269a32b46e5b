"""A point of b stays at a point of a: 3 constraints."""

from __future__ import annotations

from typing import Any

from ..joint import Joint, Step
from ..resolve import Resolver
from .composition import ZERO, Composition, point


class Ball(Composition):
    """A point of b stays at a point of a; see `Scene.ball`."""

    kind = "ball"

    def __init__(self, a: Any, b: Any, at: Any, *, at_b: Any = None) -> None:
        self.a, self.b, self.at, self.at_b = a, b, at, at_b

    def compose(self, name: str, found: Resolver) -> Joint:
        a, b, pa, pb = found.ends(self.a, self.b, self.at, self.at_b, "ab")
        return Joint(name, self.kind, a, b, [point(pa, pb)], pb, steps=(Step("ball", ZERO),))
