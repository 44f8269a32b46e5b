"""Which works of forces are drawn: the largest, and the sum of all others."""

from __future__ import annotations

from typing import Any

import numpy as np

MOST = 8


def drawn_works(trajectory: Any) -> list[tuple[str, np.ndarray]]:
    """(label, (frames,) J) of the forces that did most, in the order of the scene, and of all others together."""
    if "work" not in trajectory:
        return []
    names, works = list(trajectory.forces), np.asarray(trajectory["work"].values)
    if len(names) <= MOST + 1:
        return [(f"work: {name}", works[:, i]) for i, name in enumerate(names)]
    order = np.argsort(-np.abs(works).max(axis=0), kind="stable")
    largest, others = np.sort(order[:MOST]), np.sort(order[MOST:])
    return [
        *((f"work: {names[i]}", works[:, i]) for i in largest),
        (f"work of {len(others)} others", works[:, others].sum(axis=1)),
    ]
