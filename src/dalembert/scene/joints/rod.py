"""Two points keep their distance: 1 constraint."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..joint import Joint
from ..resolve import Resolver
from .composition import Composition, distance


class Rod(Composition):
    """Two points keep their distance; see `Scene.rod`."""

    kind = "rod"

    def __init__(self, a: Any, b: Any, at_a: Any = None, at_b: Any = None, *, length: float | None = None) -> None:
        self.a, self.b, self.at_a, self.at_b, self.length = a, b, at_a, at_b, length

    def compose(self, name: str, found: Resolver) -> Joint:
        a, b, pa, pb = found.two_points(self.a, self.b, self.at_a, self.at_b)
        value = float(np.linalg.norm(pb - pa)) if self.length is None else found.number("length", self.length)
        if value <= 0.0:
            raise ValueError(
                f"{found.owner}: its length is {value:g} m; a rod needs one above zero (use ball for none)"
            )
        return Joint(name, self.kind, a, b, [distance(pa, pb, value)], pb)
