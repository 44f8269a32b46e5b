"""Joints of MJCF bodies."""

from __future__ import annotations

import math

import numpy as np

from .attributes import Attributes
from .description import Axis, Pose, Segment
from .imported import Warnings
from .mjcf_settings import Settings, note_unasked
from .orientation import direction

KINDS = {"hinge": "hinge", "slide": "slider", "ball": "ball"}
RESISTING = ("stiffness", "damping", "armature", "frictionloss")


def add_joint(given: Attributes, segment: Segment, frame: Pose, settings: Settings, warnings: Warnings) -> str:
    """Adds a <joint> to its body; returns its name in the file ("" for none). Raises ValueError."""
    element = given.element
    kind = given.choice("type", ("hinge", "slide", "ball", "free"), "hinge")
    name = given.name() or ""
    if kind == "free":
        _free(given, segment, warnings)
        return name
    if segment.free:
        raise element.error(f"body {segment.name!r} is free already; remove this joint")
    axis = Axis(name or f"{segment.name}/{kind} {len(segment.axes) + 1}", KINDS[kind], element)
    axis.anchor = frame.point(given.vector("pos", 3, default=(0.0, 0.0, 0.0)))
    unit = math.pi / 180.0 if settings.degree and kind != "slide" else 1.0
    limits = _range(given, settings)
    if kind == "ball":
        given.asked.add("axis")
        if limits is not None:
            warnings.add(element, f"the range of ball {axis.name!r} is left out", "ball range")
        _nothing_resists(given, warnings, f"ball {axis.name!r}")
    else:
        own = direction(given, "axis", given.vector("axis", 3, default=(0.0, 0.0, 1.0)))
        axis.direction = frame.rotation @ own
        axis.zero = unit * given.number("ref", 0.0)
        axis.rest = unit * given.number("springref", 0.0) - axis.zero
        axis.armature = given.number("armature", 0.0, 0.0)
        axis.friction = 0.0 if "frictionloss" in settings.disabled else given.number("frictionloss", 0.0, 0.0)
        axis.stiffness, axis.damping = (_linear(given, key, warnings) for key in ("stiffness", "damping"))
        if limits is not None and "limit" not in settings.disabled:
            axis.lower, axis.upper = (unit * limits - axis.zero).tolist()
            if not axis.lower <= 0.0 <= axis.upper:
                warnings.add(element, f"joint {axis.name!r} starts beyond its stops; time steps push it back")
    axis.effort = _effort(given)
    given.asked.update(("ref", "springref", "frictionloss"))
    note_unasked(given, warnings)
    segment.axes.append(axis)
    return name


def _free(given: Attributes, segment: Segment, warnings: Warnings) -> None:
    if segment.parent is not None or segment.axes or segment.free:
        raise given.element.error("a free joint must be the only one of a body of the world; correct the tree")
    segment.free = True
    _nothing_resists(given, warnings, f"the free joint of {segment.name!r}")
    for key in ("pos", "axis", "range", "limited", "ref", "springref"):
        given.asked.add(key)
    note_unasked(given, warnings, "align")


def _nothing_resists(given: Attributes, warnings: Warnings, what: str) -> None:
    """Springs, dampers, rotors and friction are for hinges and sliders."""
    for key in RESISTING:
        if key in given and given.numbers(key).any():
            warnings.add(given.element, f"the {key} of {what} is left out", f"{key} of several coordinates")


def _range(given: Attributes, settings: Settings) -> np.ndarray | None:
    """Its range as written, where it is limited."""
    has = "range" in given
    limits = given.vector("range", 2, default=(0.0, 0.0))
    limited = given.choice("limited", ("true", "false", "auto"), "auto")
    if limited == "false" or (limited == "auto" and not (has and settings.autolimits)):
        return None
    if not limits[0] < limits[1]:
        if limited == "auto" and not limits.any():
            return None
        raise given.element.error(f"range {limits.tolist()} leaves no room; give a lower and a larger upper value")
    return limits


def _effort(given: Attributes) -> float:
    """What all actuators together may do, either way."""
    limits = given.vector("actuatorfrcrange", 2, default=(0.0, 0.0))
    limited = given.choice("actuatorfrclimited", ("true", "false", "auto"), "auto")
    if limited == "false" or (limited == "auto" and "actuatorfrcrange" not in given):
        return math.inf
    return float(np.abs(limits).max())


def _linear(given: Attributes, key: str, warnings: Warnings) -> float:
    """The first of three coefficients; the others are of higher powers."""
    values = given.vector(key, 1, 3, default=(0.0,))
    if values[1:].any():
        warnings.add(given.element, f"of {key} {values.tolist()} only the linear part is used")
    if values[0] < 0.0:
        raise given.element.error(f"{key} is {values[0]:g}; give 0 or more")
    return float(values[0])
