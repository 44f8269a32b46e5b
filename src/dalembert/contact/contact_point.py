"""A contact point: the public class, and the recorded form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Contact:
    """One point of contact; vectors (3,) in world axes.

    a, b : names of bodies or obstacles. position : m. normal : unit, from a to b. separation : m, negative where they
    overlap. force : N, on b, the mean over the step; torque : N m, likewise, of friction against rolling and spinning.
    If an impact follows in the same step, the points of a pair are reported as one of them, and torque includes the moment
    of their forces about it.
    """

    a: str
    b: str
    position: np.ndarray
    normal: np.ndarray
    separation: float
    force: np.ndarray
    torque: np.ndarray = field(default_factory=lambda: np.zeros(3))


# A contact point as it is recorded. a, b : which body (its number) or obstacle (the number of bodies and its number among the
# obstacles). manifold : points of one frame with the same number belong to the same two colliders. position : m, world.
# normal : unit, from a to b. separation : m, negative where they overlap. force : N, on b, the mean over the step.
POINT = np.dtype(
    [("a", "i4"), ("b", "i4"), ("manifold", "i4"), ("position", "f8", 3), ("normal", "f4", 3), ("separation", "f4"),
     ("force", "f8", 3)]
)  # fmt: skip
NO_POINTS = np.zeros(0, POINT).view(np.recarray)


def as_seen(points: Any, bodies: int) -> np.ndarray:
    """(n, 10) float32, what views draw of points (n,) `POINT`: position, force on b and normal into b (on a and into a,
    where b is an obstacle), and the number of the manifold. bodies : how many there are."""
    points = points.view(np.ndarray)
    onto = np.where(points["b"] < bodies, 1.0, -1.0)[:, None]
    parts = (points["position"], onto * points["force"], onto * points["normal"], points["manifold"][:, None])
    return np.concatenate(parts, axis=1, dtype=np.float32)
