"""Keyframes of MJCF files."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..scene.articulate import Link
from ..scene.body import Body
from .attributes import Attributes
from .built import Built
from .description import Axis, Segment
from .mjcf import MjcfReader
from .mjcf_settings import note_unasked
from .xml import Element

Key = dict[str, dict[str, Any]]


def read_keyframes(reader: MjcfReader, built: Built, controls: list[str]) -> dict[str, Key]:
    """Positions, velocities and controls of each <key>, by the names of joints, free bodies and actuators."""
    found: dict[str, Key] = {}
    elements = [item for section in reader.root.all("keyframe") for item in section.all("key")]
    for number, element in enumerate(elements):
        given = Attributes(element)
        key: Key = {}
        for kind, attribute in (("positions", "qpos"), ("velocities", "qvel")):
            if attribute in given:
                key[kind] = _coordinates(reader, built, given.numbers(attribute), element, kind == "positions")
        if "ctrl" in given:
            values = given.numbers("ctrl")
            if len(values) != len(controls):
                raise element.error(f"ctrl has {len(values)} numbers for {len(controls)} controls; correct it")
            key["ctrl"] = dict(zip(controls, values.tolist(), strict=True))
        found[given.name() or f"key {number}"] = key
        note_unasked(given, reader.warnings, "time")
    return found


def _coordinates(reader: MjcfReader, built: Built, values: np.ndarray, element: Element, place: bool) -> dict[str, Any]:
    """qpos (`place`) or qvel, cut up by joints."""
    sizes = [_size(item, place) for item in reader.coordinates]
    if len(values) != sum(sizes):
        raise element.error(f"it has {len(values)} numbers for {sum(sizes)} coordinates; correct it")
    found: dict[str, Any] = {}
    parts = np.split(values, np.cumsum(sizes)[:-1]) if sizes else []
    for item, part in zip(reader.coordinates, parts, strict=True):
        if isinstance(item, Segment):
            body = built.items[item]
            if isinstance(body, Body | Link):
                found[body.name] = part.copy()
        elif item.name in built.axes:
            scalar = float(part[0]) - (item.zero if place else 0.0)
            found[item.name] = part.copy() if item.kind == "ball" else scalar
    return found


def _size(item: Axis | Segment, place: bool) -> int:
    """How many numbers of qpos (of qvel) are of a joint; a segment stands for its free joint."""
    if isinstance(item, Segment):
        return 7 if place else 6
    return (4 if place else 3) if item.kind == "ball" else 1
