"""Forces and events as the user describes them; points and axes in world coordinates at the initial pose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .joint import Frame
from .resolve import Resolver

NOWHERE = np.zeros(3)
NOWHERE.setflags(write=False)
Parameter = tuple[str, Any, str]  # name, value, unit


class Force:
    """A force on bodies, the base class of all of them; see `forces`. `Scene.add_force` adds one to a scene.

    A subclass sets `kind` and those of the attributes below that it has, and defines `resolve` and `rows`. The other methods
    have defaults for a force that is not drawn, not exported, and never too stiff for an explicit step.
    """

    kind = ""
    parameters_to_vary: tuple[str, ...] = ()  # fields of its row that a batch may vary
    drawn = False  # whether it is drawn as a spring between its ends
    bounded = False  # whether only time steps can run it

    name = ""
    a: Any = None  # its ends, frames of the scene
    b: Any = None
    at_a: Any = NOWHERE  # (3,) m
    at_b: Any = NOWHERE
    joint: Any = None  # the joint on whose coordinate it acts
    coordinate: Any = "angle"
    bodies: Any = None  # those it acts on; None: see `acts_on`
    stiffness = 0.0
    damping = 0.0
    rest = 0.0
    position = 0.0
    target = 0.0
    limit = np.inf
    stops = (-np.inf, np.inf)
    restitution = 0.0
    vector: Any = NOWHERE
    torque: Any = NOWHERE
    in_body = False
    function: Callable[..., Any] | None = None

    @property
    def owner(self) -> str:
        """What messages call it."""
        return f"{self.kind.replace('_', ' ')} {self.name!r}"

    def resolve(self, found: Resolver) -> None:
        """Replace names by what they name, and check every value. Raises ValueError."""
        raise NotImplementedError(f"{type(self).__name__} does not define resolve(found)")

    def rows(self, compiler: Any) -> list[tuple[Any, ...]]:
        """Its rows of the FORCE table, made by `compiler`: a `model.elements.ForceCompiler`."""
        raise NotImplementedError(f"{type(self).__name__} does not define rows(compiler)")

    def parameters(self) -> list[Parameter]:
        """What tables show of it."""
        return []

    def acts_on(self, scene: Any) -> Sequence[Frame]:
        """The frames that it acts on."""
        ends = (self.a, self.b) if self.joint is None else self.joint.bodies
        return [end for end in ends if end is not None]

    def on(self) -> str:
        """What it acts on, in words."""
        return self.joint.name if self.joint is not None else " – ".join(end.name for end in self.acts_on(None))

    def gains(self) -> tuple[float, float]:
        """Stiffness and damping along the line between its ends, or of its coordinate, at the start (SI units): what limits
        explicit steps."""
        return 0.0, 0.0

    def tendon(self) -> dict[str, float] | None:
        """Attributes of an MJCF tendon between its ends that is the same force; None where there is none."""
        return None


def units(coordinate: str) -> tuple[str, str, str, str]:
    """Units of a coordinate, an effort on it, a stiffness and a damping."""
    return ("rad", "N m", "N m/rad", "N m s/rad") if coordinate == "angle" else ("m", "N", "N/m", "N s/m")


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
