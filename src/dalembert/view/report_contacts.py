"""Contact points of a run for the report page: the forces in the picture, and those between pairs over time."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..simulation.trajectory import Trajectory

MOST_NUMBERS = 600_000  # about 3.2 MB of page
MOST_PAIRS = 12  # whose forces are plotted
MOST_NAME = 60  # characters


def pack(values: np.ndarray, kind: str = "<f4") -> str:
    """Numbers as base64 text."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")


def contact_data(trajectory: Trajectory, frames: np.ndarray) -> dict[str, Any] | None:
    """The contact points at the frames (k,) of the page, and the forces of pairs with the largest; None for a run without.

    Of each frame as many points are kept as the page has room for, those with the largest forces.
    """
    if "contact_point_count" not in trajectory:
        return None
    points = trajectory.recorded_points
    most, left_out = MOST_NUMBERS // (6 * max(1, len(frames))), False
    kept = []
    for index in frames:
        rows = points.of_frame(index)
        rows = rows[np.linalg.norm(rows.force, axis=1) > 0.0]
        if len(rows) > most:
            left_out = True
            rows = rows[np.sort(np.argsort(-np.linalg.norm(rows.force, axis=1), kind="stable")[:most])]
        kept.append(rows)
    drawn: Any = np.concatenate([points.rows[:0], *kept]).view(np.recarray)
    onto = np.where(drawn.b < len(trajectory.bodies), 1.0, -1.0)[:, None]  # on the body, where b is an obstacle
    return {
        "starts": pack(np.concatenate([[0], np.cumsum([len(part) for part in kept])]), "<u4"),
        "known": pack(points.kept[frames], "u1"),
        "position": pack(drawn.position),
        "force": pack(onto * drawn.force),
        "note": f"the {most} largest contact forces of each frame are drawn" if left_out else "",
        "pairs": [
            {"name": f"{a[:MOST_NAME]} on {b[:MOST_NAME]}", "force": pack(points.force_between(a, b)[frames])}
            for a, b in list(points.pairs())[:MOST_PAIRS]
        ],
    }
