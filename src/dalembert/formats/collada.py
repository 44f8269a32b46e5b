"""The points of a COLLADA file (.dae), placed as its scene says: all that a convex hull needs.

Lengths are in the file's unit, brought to metres; its "up axis" is not looked at, as in RViz.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .attributes import Attributes, parse_numbers
from .orientation import about
from .xml import Element

MOST_NODES, MOST_POINTS = 20_000, 10_000_000


def collada_points(root: Element) -> np.ndarray:
    """(n, 3) m. Raises ValueError naming the line of what is malformed."""
    if root.tag != "COLLADA":
        raise root.error("this is no COLLADA file; export the mesh again, or convert it to STL")
    named = {item.attributes["id"]: item for item in root.everything() if "id" in item.attributes}
    clouds: dict[str, np.ndarray] = {}
    placed, count = [], 0
    for geometry, transform in _instances(root, named):
        if geometry.attributes["id"] not in clouds:
            clouds[geometry.attributes["id"]] = _positions(geometry, named)
        count += len(clouds[geometry.attributes["id"]])
        if count > MOST_POINTS:
            raise geometry.error(f"its scene shows more than {MOST_POINTS} points; simplify it")
        placed.append(clouds[geometry.attributes["id"]] @ transform[:3, :3].T + transform[:3, 3])
    if not placed:
        raise root.error("there is no geometry in it; export the mesh again")
    unit = next((item for item in root.everything() if item.tag == "unit"), None)
    return np.concatenate(placed) * (1.0 if unit is None else Attributes(unit).number("meter", 1.0, 0.0))


def _instances(root: Element, named: dict[str, Element]) -> Iterator[tuple[Element, np.ndarray]]:
    """Each geometry that the scene shows, and its transform (4, 4); all as they are where there is no scene."""
    scenes = [item for item in root.everything() if item.tag == "visual_scene"]
    if not scenes:
        yield from (
            (item, np.eye(4)) for item in root.everything() if item.tag == "geometry" and "id" in item.attributes
        )
        return
    waiting = [(node, np.eye(4)) for scene in scenes for node in scene.all("node")]
    seen = 0
    while waiting:
        node, outer = waiting.pop()
        seen += 1
        if seen > MOST_NODES:
            raise node.error(f"its scene has more than {MOST_NODES} nodes, or shows itself; simplify it")
        transform = outer @ _transform(node)
        for item in node.children:
            target = named.get(item.attributes.get("url", "").removeprefix("#"))
            if item.tag == "node":
                waiting.append((item, transform))
            elif item.tag == "instance_node" and target is not None:
                waiting.append((target, transform))
            elif item.tag == "instance_geometry" and target is not None:
                yield target, transform


def _transform(node: Element) -> np.ndarray:
    """Of one node: its elements from first to last, each acting before those above it."""
    whole = np.eye(4)
    for item in node.children:
        step, counts = np.eye(4), {"matrix": 16, "translate": 3, "rotate": 4, "scale": 3}
        if item.tag not in counts:
            continue
        values = parse_numbers(item, item.tag, item.text)
        if len(values) != counts[item.tag]:
            raise item.error(f"it has {len(values)} numbers; it needs {counts[item.tag]}")
        if item.tag == "matrix":
            step = values.reshape(4, 4)
        elif item.tag == "translate":
            step[:3, 3] = values
        elif item.tag == "scale":
            step[:3, :3] = np.diag(values)
        elif np.linalg.norm(values[:3]) > 0.0:
            step[:3, :3] = about(values[:3] / np.linalg.norm(values[:3]), np.radians(values[3]))
        whole = whole @ step
    return whole


def _positions(geometry: Element, named: dict[str, Element]) -> np.ndarray:
    """The points of one geometry, (n, 3)."""
    found = []
    for item in geometry.everything():
        if item.tag != "input" or item.attributes.get("semantic") != "POSITION":
            continue
        source = named.get(item.attributes.get("source", "").removeprefix("#"))
        array = source.first("float_array") if source is not None else None
        if source is None or array is None:
            raise item.error("its source is not in the file; export the mesh again")
        accessor = next((each for each in source.everything() if each.tag == "accessor"), None)
        stride = 3 if accessor is None else Attributes(accessor).integer("stride", 3)
        values = parse_numbers(array, "float_array", array.text)
        if stride < 3 or len(values) % stride:
            raise array.error(f"its {len(values)} numbers are no points of {stride}; export the mesh again")
        found.append(values.reshape(-1, stride)[:, :3])
    return np.concatenate(found) if found else np.zeros((0, 3))
