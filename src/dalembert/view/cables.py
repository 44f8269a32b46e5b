"""Drawing of cables: lines through the points of contact, and arcs around pulleys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..scene.body import WORLD
from ..scene.cable import DRUM, POINT, Element, drawn_points
from .camera import rotate

ARC = 13  # points of each pulley in a file of a motion


@dataclass
class CableElement:
    """One element: on a body (its index, −1 for the world) or a particle (its index, −1 for none), in the body's axes."""

    body: int
    particle: int
    given: Element


@dataclass(frozen=True)
class CableDrawing:
    """A piece of a cable. until : when it was let go, s."""

    name: str
    elements: list[CableElement] = field(default_factory=list)
    until: float = np.inf

    @property
    def count(self) -> int:
        """How many points `track` has at an instant."""
        return sum(1 if element.given.kind in (POINT, DRUM) else ARC for element in self.elements)

    def track(self, times: Any, positions: Any, orientations: Any, particles: Any) -> NDArray[np.float64]:
        """(k, `count`, 3) m, its path at k instants: times (k,) s, positions (k, b, 3), orientations (k, b, 4), particles
        (k, p, 3). Once it is let go it is a point."""
        instants = zip(positions, orientations, particles, strict=True)
        found = np.array([self.points(*instant, each=ARC) for instant in instants])
        gone = np.asarray(times) > self.until
        found[gone] = found[gone][:, :1]
        return found

    def points(self, position: Any, orientation: Any, particles: Any, each: int | None = None) -> NDArray[np.float64]:
        """(n, 3) points of its path, m, with the bodies at position (b, 3) and orientation (b, 4), particles at (p, 3).
        each : see `drawn_points`."""
        placed = []
        for element in self.elements:
            e, b = element.given, element.body
            if element.particle >= 0:
                placed.append(Element(e.kind, WORLD, np.asarray(particles[element.particle], float)))
            elif b < 0:
                placed.append(e)
            else:
                q = orientation[b]
                placed.append(
                    Element(
                        e.kind, WORLD, position[b] + rotate(q, e.point), rotate(q, e.axis), rotate(q, e.side), e.radius,
                        e.sense, e.turns, 0.0, True, e.endless, e.wrap,
                    )
                )  # fmt: skip
        return drawn_points(placed, each=each)


def parse_cables(items: Sequence[Mapping[str, Any]], index: Mapping[str, int]) -> list[CableDrawing]:
    """The cables of a scene's description. index : of the bodies, by name."""
    found = []
    for item in items:
        elements = [
            CableElement(
                index.get(str(e["body"]), -1), int(e.get("particle", -1)),
                Element(
                    int(e["kind"]), WORLD, np.array(e["at"], float), np.array(e["axis"], float), np.array(e["side"], float),
                    float(e["radius"]), float(e["sense"]), float(e["turns"]), 0.0, True, int(e["endless"]), float(e["wrap"]),
                ),
            )
            for e in item["elements"]
        ]  # fmt: skip
        found.append(CableDrawing(str(item["name"]), elements, float(item.get("until", np.inf))))
    return found
