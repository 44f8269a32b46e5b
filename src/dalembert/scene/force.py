"""Forces and events as the user describes them; points and axes in world coordinates at the initial pose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .joint import Frame, Joint


@dataclass(eq=False)
class Force:
    """A force of the scene; made by its methods. `kind` is spring, torsion_spring, drag, load, motor,
    limit, friction, or servo (a motor without a gain)."""

    name: str
    kind: str
    a: Frame | None = None
    b: Frame | None = None
    at_a: np.ndarray = field(default_factory=lambda: np.zeros(3))
    at_b: np.ndarray = field(default_factory=lambda: np.zeros(3))
    joint: Joint | None = None
    coordinate: str = "angle"
    bodies: Sequence[Frame] | None = None
    stiffness: float = 0.0
    damping: float = 0.0
    rest: float = 0.0
    position: float = 0.0
    target: float = 0.0
    limit: float = np.inf
    stops: tuple[float, float] = (-np.inf, np.inf)
    restitution: float = 0.0
    vector: np.ndarray = field(default_factory=lambda: np.zeros(3))
    torque: np.ndarray = field(default_factory=lambda: np.zeros(3))
    in_body: bool = False
    function: Callable[..., Any] | None = None


@dataclass(eq=False)
class Event:
    """Something that happens when a function of the state changes sign; made by `Scene.event`."""

    name: str
    function: Callable[..., float]
    direction: int
    release: list[str]
    stop: bool
    action: Callable[[Any], None] | None
    once: bool
