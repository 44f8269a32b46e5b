"""What there is to draw in a run: checked meshes, colours, links and curves.

The scene description comes from a file that may be anybody's, so everything is checked here, once, for the report, the
live viewer and the pictures. A body's vertices are in the frame of its shape: x_world = position + R(q) (v − center).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["BodyDrawing", "CurveDrawing", "LinkDrawing", "SceneDrawing", "parse_scene"]

COLORS = ("#4e79a7", "#e1812c", "#59a14f", "#b07aa1", "#d35d60", "#76b7b2", "#c9a227", "#9c755f")
STRAIGHT_KINDS = ("distance", "rod", "rope", "tether", "cable")


@dataclass(frozen=True)
class BodyDrawing:
    """One body: its mesh in the shape's frame, vertices (n, 3) m and faces (m, 3), and its centre of mass there, m.

    `position` (3,) m and `orientation` (w, x, y, z) are where a body that was not recorded stands. `radius` (m) is the
    size of the ball drawn for a body without a mesh.
    """

    name: str
    mass: float | None
    color: str
    shape: str
    vertices: np.ndarray
    faces: np.ndarray
    center: np.ndarray
    radius: float | None
    position: np.ndarray
    orientation: np.ndarray

    @property
    def rgb(self) -> tuple[int, int, int]:
        """The colour as red, green and blue, 0 to 255."""
        return int(self.color[1:3], 16), int(self.color[3:5], 16), int(self.color[5:7], 16)

    @property
    def bound(self) -> float:
        """Radius of a ball around the centre of mass that holds the mesh, m."""
        if len(self.vertices):
            return float(np.linalg.norm(self.vertices - self.center, axis=1).max())
        return self.radius or 0.0

    @property
    def box(self) -> np.ndarray:
        """The lowest and the highest corner, (2, 3) m, of the mesh in axes of the body, from its centre of mass."""
        if len(self.vertices):
            return np.stack([self.vertices.min(axis=0), self.vertices.max(axis=0)]) - self.center
        return (self.radius or 0.0) * np.array([[-1.0] * 3, [1.0] * 3])


@dataclass(frozen=True)
class LinkDrawing:
    """A joint or spring between two bodies (indices, −1 for the world), anchors (3,) in m in each body's frame.

    `axis` (3,) is the unit vector of a hinge or slider in the first body's frame, None for joints without one.
    """

    name: str
    kind: str
    body_a: int
    body_b: int
    anchor_a: np.ndarray
    anchor_b: np.ndarray
    coils: int = 0
    until: float = np.inf  # when it was let go, s
    axis: np.ndarray | None = None


@dataclass(frozen=True)
class CurveDrawing:
    """A fixed polyline: points (n, 3) in m, world axes."""

    name: str
    points: np.ndarray


@dataclass(frozen=True)
class SceneDrawing:
    """Everything to draw; the recorded bodies come first, in the trajectory's order."""

    bodies: list[BodyDrawing]
    joints: list[LinkDrawing]
    springs: list[LinkDrawing]
    curves: list[CurveDrawing]

    @property
    def lines(self) -> list[LinkDrawing]:
        """The links drawn as lines: springs, and joints that keep a distance."""
        return self.springs + [joint for joint in self.joints if joint.kind in STRAIGHT_KINDS]


def parse_scene(description: Mapping[str, Any], recorded: Sequence[str] | None = None) -> SceneDrawing:
    """Check a scene description; bodies named in `recorded` come first, in that order.

    Raises:
        ValueError: a mesh, colour, anchor or name cannot be drawn; the message names the object.
    """
    described = {str(item.get("name")): item for item in _items(description, "bodies")}
    names = list(described) if recorded is None else [*recorded, *(n for n in described if n not in set(recorded))]
    bodies = [_body(name, described.get(name, {}), i) for i, name in enumerate(names)]
    index = {name: i for i, name in enumerate(names)}
    joints = [_link(item, index, "joint") for item in _items(description, "joints")]
    springs = [_link(item, index, "spring") for item in _items(description, "springs")]
    curves = []
    for item in _items(description, "curves"):
        name = str(item.get("name", "curve"))
        curves.append(CurveDrawing(name, _array(item.get("points", []), (-1, 3), f"curve {name!r}: points")))
    return SceneDrawing(bodies, joints, springs, curves)


def _items(description: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    items = description.get(key) or []
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise ValueError(f"the scene description's {key!r} must be a list of objects")
    return items


def _array(values: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    try:
        array = np.asarray(values, float).reshape(shape)
    except (ValueError, TypeError):
        raise ValueError(f"{what} must be numbers of shape {shape}") from None
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{what} must be finite")
    return array


def _body(name: str, item: Mapping[str, Any], index: int) -> BodyDrawing:
    what = f"body {name!r}"
    vertices = _array(item.get("vertices") or [], (-1, 3), f"{what}: vertices")
    faces = _array(item.get("faces") or [], (-1, 3), f"{what}: faces").astype(np.int64)
    if faces.size and (faces.min() < 0 or faces.max() >= len(vertices)):
        raise ValueError(f"{what}: a face names a vertex that is not there (there are {len(vertices)})")
    color = str(item.get("color") or COLORS[index % len(COLORS)])
    if not re.fullmatch(r"#[0-9a-fA-F]{6}", color):
        raise ValueError(f"{what}: colour {color[:40]!r} is not of the form #rrggbb")
    center = _array(item.get("center") or (0, 0, 0), (3,), f"{what}: center")
    found = item.get("shape")
    shape: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    radius = shape.get("radius")
    mass = item.get("mass")
    return BodyDrawing(
        name,
        float(mass) if isinstance(mass, int | float) and np.isfinite(mass) else None,
        color,
        _shape_text(shape),
        vertices,
        faces,
        center,
        float(radius) if isinstance(radius, int | float) and 0 < radius < np.inf else None,
        _array(item.get("position") or center, (3,), f"{what}: position") if "position" in item else center,
        _array(item.get("orientation") or (1, 0, 0, 0), (4,), f"{what}: orientation"),
    )


def _shape_text(shape: Mapping[str, Any]) -> str:
    kind = str(shape.get("kind", shape.get("type", "mesh" if shape else "point")))
    sizes = [f"{key.replace('_', ' ')} {_brief(v)}" for key, v in shape.items() if key not in ("kind", "type")]
    return ", ".join([kind, *(text for text in sizes if len(text) < 48)])


def _brief(value: Any) -> str:
    if isinstance(value, list):
        return " × ".join(_brief(v) for v in value)
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _link(item: Mapping[str, Any], index: Mapping[str, int], default: str) -> LinkDrawing:
    name = str(item.get("name", default))
    ends = []
    for key in ("body_a", "body_b"):
        body = item.get(key)
        if body not in (None, "", "world") and body not in index:
            raise ValueError(f"{default} {name!r}: there is no body {body!r}")
        ends.append(index.get(body, -1) if body else -1)
    anchors = [
        _array(item.get(key) or (0, 0, 0), (3,), f"{default} {name!r}: {key}") for key in ("anchor_a", "anchor_b")
    ]
    kind = str(item.get("kind", default))
    until, axis = item.get("until"), None
    if item.get("axis_a") is not None:
        axis = _array(item["axis_a"], (3,), f"{default} {name!r}: axis_a")
        axis = axis / (np.linalg.norm(axis) or 1.0)
    return LinkDrawing(
        name, kind, ends[0], ends[1], anchors[0], anchors[1], coils=10 if kind == "spring" else 0,
        until=float(until) if isinstance(until, int | float) else np.inf, axis=axis,
    )  # fmt: skip
