"""A contact point: as users see it, and as it is recorded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Contact:
    """One point of contact; vectors (3,) in world axes.

    a, b : names of bodies or obstacles. position : m. normal : unit, from a to b. separation : m, negative where they
    overlap. force : N, on b, the mean over the step.
    """

    a: str
    b: str
    position: np.ndarray
    normal: np.ndarray
    separation: float
    force: np.ndarray


# A contact point as it is recorded. a, b : which body (its number) or obstacle (the number of bodies and its number among the
# obstacles). manifold : points of one frame with the same number belong to the same two colliders. position : m, world.
# normal : unit, from a to b. separation : m, negative where they overlap. force : N, on b, the mean over the step.
POINT = np.dtype(
    [("a", "i4"), ("b", "i4"), ("manifold", "i4"), ("position", "f8", 3), ("normal", "f4", 3), ("separation", "f4"),
     ("force", "f8", 3)]
)  # fmt: skip
NO_POINTS = np.zeros(0, POINT).view(np.recarray)
