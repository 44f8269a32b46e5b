"""A taut cable: its length is constant. See `Scene.cable`."""

from __future__ import annotations

from ..cable import CablePath
from ..joint import Joint
from ..resolve import Resolver
from .composition import Composition


class TautCable(Composition):
    """One piece of a cable whose length is a constraint; see `Scene.cable`."""

    kind = "cable"

    def __init__(self, path: CablePath) -> None:
        self.path = path

    def compose(self, name: str, resolver: Resolver) -> Joint:
        elements = self.path.elements
        return Joint(name, self.kind, elements[0].frame, elements[-1].frame, [], elements[-1].point, cable=self.path)
