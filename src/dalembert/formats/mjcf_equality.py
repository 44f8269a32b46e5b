"""Equality constraints of MJCF files: points held together, welds, and joints that follow others."""

from __future__ import annotations

import numpy as np

from ..scene.body import WORLD
from .attributes import Attributes
from .built import Built, free_name, told
from .description import Axis, Pose, Segment
from .imported import Warnings
from .mjcf import MjcfReader
from .mjcf_settings import note_unasked
from .xml import Element


def add_equality(reader: MjcfReader, built: Built, element: Element, warnings: Warnings) -> None:
    """A ball joint, a weld or a gear; a warning for what is none."""
    given = reader.defaults.of(element, None)
    if not given.flag("active", True):
        warnings.add(element, "it is not active, and left out")
        return
    name = free_name(given.name() or f"{element.tag} {element.line}", built.scene.joints)
    with told(element):
        if element.tag == "joint":
            _couple(reader, built, given, name, warnings)
        elif element.tag in ("connect", "weld"):
            _tie(reader, built, given, name, warnings)
        else:
            warnings.add(element, f"an equality of {element.tag}s is left out", element.tag)
            return
    note_unasked(given, warnings)


def _couple(reader: MjcfReader, built: Built, given: Attributes, name: str, warnings: Warnings) -> None:
    """y = a0 + a1 x + … of the displacements y of joint1 and x of joint2, where only a1 is not zero."""
    axes = [reader.joints.get(given.text(key, "")) for key in ("joint1", "joint2")]
    terms = given.vector("polycoef", 1, 5, default=(0.0, 1.0))
    names = [axis.name for axis in axes if isinstance(axis, Axis) and axis.kind != "ball" and axis.name in built.axes]
    if len(names) < 2 or len(terms) < 2 or terms[1] == 0.0 or np.delete(terms, 1).any():
        warnings.add(given.element, "only a joint that follows another in proportion can be kept; this one is left out")
        return
    built.scene.gear(name, built.joints[names[1]], built.joints[names[0]], float(terms[1]))


def _tie(reader: MjcfReader, built: Built, given: Attributes, name: str, warnings: Warnings) -> None:
    """Two bodies held at a point (connect), or altogether (weld), as they stand."""
    kind = given.element.tag
    if "site1" in given:
        ends = []
        for key in ("site1", "site2"):
            site = given.text(key)
            if site not in reader.sites:
                raise given.element.error(f"there is no site {site!r:.60}; correct the name")
            ends.append(reader.sites[site])
        frames = [_world(built, segment) @ pose for segment, pose in ends]
        (a, _), (b, _) = ends
        at, at_b = frames[0].position, frames[1].position
        open_ = kind == "weld" and np.abs(frames[0].rotation - frames[1].rotation).max() > 1e-9
        if open_ or np.abs(at - at_b).max() > 1e-9:
            warnings.add(given.element, "its sites are apart at the start; it holds them as they stand")
        at_b = at
    else:
        a, b = reader.body(given, "body1"), reader.body(given, "body2", "world")
        carrier = a if kind == "connect" else b
        at = _world(built, carrier).point(given.vector("anchor", 3, default=(0.0, 0.0, 0.0)))
        pose = given.vector("relpose", 7, default=(0.0,) * 7)
        if kind == "weld" and pose[3:].any():
            warnings.add(given.element, "relpose is not used: the bodies are held as they stand")
    first, second = (WORLD if segment is None else built.items[segment] for segment in (a, b))
    if first is second:
        warnings.add(given.element, "both of its ends are fixed to each other already; it is left out")
        return
    built.scene.close_loop((built.scene.ball if kind == "connect" else built.scene.weld)(name, first, second, at))


def _world(built: Built, segment: Segment | None) -> Pose:
    return Pose() if segment is None else built.poses[segment]
