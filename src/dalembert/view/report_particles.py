"""The particles of a run, and the ends of its joints and springs, as the report page's scripts read them."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.view.drawing import End, LinkDrawing, SceneDrawing
from dalembert.view.extent import recorded_particles
from dalembert.view.particles import ParticleDrawing, thinning_note

if TYPE_CHECKING:
    from dalembert.trajectory import Trajectory

__all__ = ["MAX_POINTS", "links", "pack", "particle_data"]

MAX_POINTS = 6000  # free particles on the page


def pack(values: np.ndarray, kind: str = "<f4") -> str:
    """Numbers as base64 text."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")


def particle_data(
    trajectory: Trajectory,
    drawing: SceneDrawing,
    drawn: SceneDrawing,
    rows: np.ndarray,
    frames: np.ndarray,
    size: float,
) -> dict[str, Any]:
    """The positions of the particles `rows` at `frames`, and the groups of `drawn`, which has only those.

    drawing: the whole scene; size: of the picture, m.
    """
    groups = zip(drawing.particles, drawn.particles, strict=True)
    return {
        "count": len(rows),
        **_packed_way(recorded_particles(trajectory)[np.ix_(frames, rows)]),
        "groups": [_group(whole, part, size) for whole, part in groups],
        "note": thinning_note(drawing.particles, drawn.particles),
    }


def _packed_way(x: np.ndarray) -> dict[str, str]:
    """Positions (time, p, 3) as whole numbers of 16 bits: each coordinate of each particle in steps of 1/65535 of its own
    way, which is half the size of single precision and looks the same."""
    low = x.min(axis=0)
    span = np.maximum(x.max(axis=0) - low, 1e-30)
    return {
        "low": pack(low),
        "span": pack(span / 65535.0),
        "position": pack(np.rint((x - low) * (65535.0 / span)), "<u2"),
    }


def _group(whole: ParticleDrawing, drawn: ParticleDrawing, size: float) -> dict[str, Any]:
    radius = f", radius {whole.radius:g} m" if whole.radius else ""
    if len(whole.faces):
        kind = f"surface, {len(whole.faces)} faces"
    else:
        kind = f"threads, {len(whole.segments)} segments{radius}" if len(whole.segments) else f"points{radius}"
    return {
        "name": whole.name,
        "number": whole.number,
        "kind": kind,
        "color": whole.color,
        "radius": whole.dot_radius(size),
        "first": drawn.first,
        "count": drawn.number,
        "colors": None if drawn.colors is None else pack(drawn.colors, "u1"),
        "dots": pack(drawn.dots, "<u4"),
        "segments": pack(drawn.segments, "<u4") if len(drawn.segments) and not len(drawn.faces) else None,
        "faces": pack(drawn.faces, "<u4") if len(drawn.faces) else None,
    }


def links(drawing: SceneDrawing, whole: Sequence[LinkDrawing], drawn: Sequence[LinkDrawing]) -> list[dict[str, Any]]:
    """Joints or springs: their names in the whole scene, their ends among the particles that are drawn."""
    return [
        {
            "name": link.name,
            "kind": link.kind,
            "between": " – ".join(_end_name(drawing, end) for end in (link.a, link.b)),
            "a": _end(shown.a),
            "b": _end(shown.b),
            "coils": link.coils,
            "axis": None if link.axis is None else link.axis.tolist(),
            "until": link.until if np.isfinite(link.until) else None,
        }
        for link, shown in zip(whole, drawn, strict=True)
    ]


def _end(end: End) -> dict[str, Any]:
    return {"body": end.body, "particle": end.particle, "anchor": end.anchor.tolist()}


def _end_name(drawing: SceneDrawing, end: End) -> str:
    if end.particle >= 0:
        held = (group for group in drawing.particles if group.span.start <= end.particle < group.span.stop)
        group = next(held, None)
        return f"particle {end.particle}" if group is None else f"{group.name} {end.particle - group.first}"
    return drawing.bodies[end.body].name if end.body >= 0 else "world"
