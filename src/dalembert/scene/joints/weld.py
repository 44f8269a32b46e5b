"""b is fixed to a as it stands: 6 constraints."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..joint import Joint
from ..resolve import Resolver
from .composition import Composition, dot, point


class Weld(Composition):
    """b is fixed to a as it stands; see `Scene.weld`."""

    kind = "weld"

    def __init__(self, a: Any, b: Any, at: Any, *, at_b: Any = None) -> None:
        self.a, self.b, self.at, self.at_b = a, b, at, at_b

    def compose(self, name: str, found: Resolver) -> Joint:
        a, b, pa, pb = found.ends(self.a, self.b, self.at, self.at_b, "")
        x, y, z = np.eye(3)
        return Joint(name, self.kind, a, b, [point(pa, pb), dot(x, y), dot(y, z), dot(z, x)], pb, steps=())
