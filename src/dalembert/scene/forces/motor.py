"""A motor on the coordinate s of a joint: effort + stiffness (position − s) + damping (speed − ṡ), clamped to ±limit;
an ideal motor, which keeps a speed; or an effort from a user function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.c_function import DERIVATIVE, call_pointer
from ...core.jit import njit
from ...core.renamed import renamed_keywords
from ..force import Force, Parameter, units
from ..joint import Joint
from ..resolve import Resolver
from .laws import IF_STIFF, law_on_coordinate


class Motor(Force):
    """A motor on the coordinate of a joint; see `Scene.motor`. Its `kind` is "servo" where it is ideal: a speed without
    damping. `rest` is its constant effort and `target` its speed."""

    kind = "motor"
    parameters_to_vary: tuple[str, ...] = ("stiffness", "damping", "rest", "target", "limit", "position")

    @renamed_keywords(gain="damping")
    def __init__(
        self, joint: str | Joint, *, effort: float = 0.0, speed: float | None = None, damping: float = 0.0,
        position: float = 0.0, stiffness: float = 0.0, limit: float = np.inf,
        function: Callable[..., Any] | None = None, coordinate: str | None = None,
    ) -> None:  # fmt: skip
        self.joint, self.coordinate, self.function = joint, coordinate, function
        self.rest, self.damping, self.position, self.stiffness, self.limit = effort, damping, position, stiffness, limit
        self._speed = speed

    def resolve(self, resolver: Resolver) -> None:
        self.joint, self.coordinate = resolver.coordinate(self.joint, self.coordinate)
        if not self.limit > 0.0:
            raise ValueError(f"{resolver.owner}: limit is {self.limit!r}; give an effort above zero")
        self.limit = float(self.limit)
        self.damping = resolver.number("damping", self.damping, 0.0)
        self.stiffness = resolver.number("stiffness", self.stiffness, 0.0)
        self.position = resolver.number("position", self.position)
        moves = self.rest != 0.0 or self.stiffness != 0.0
        if self._speed is not None and self.damping == 0.0:
            if self.function is not None or moves:
                raise ValueError(
                    f"{resolver.owner}: a speed without damping makes an ideal motor, which has no effort, stiffness or "
                    "function; leave them out, or give damping"
                )
            self.kind, self.limited, self.parameters_to_vary = "servo", True, ()
            self.target = resolver.number("speed", self._speed)
            self.position = 0.0
            return
        if self.function is not None and (moves or self.damping or self.position or self._speed is not None):
            raise ValueError(
                f"{resolver.owner}: give a function of the effort, or effort, speed, damping, position and stiffness"
            )
        if self.position != 0.0 and self.stiffness == 0.0:
            raise ValueError(
                f"{resolver.owner}: position is {self.position:g} and stiffness is 0, so position has no effect; give both"
            )
        self.rest = resolver.number("effort", self.rest)
        self.target = 0.0 if self._speed is None else resolver.number("speed", self._speed)

    def rows(self, compiler: Any) -> list[tuple[Any, ...]]:
        if self.kind == "servo":
            return [compiler.row("servo", self, target=self.target, limit=self.limit, side=1.0)]
        fields = {
            "rest": self.rest, "target": self.target, "damping": self.damping, "limit": self.limit,
            "position": self.position, "stiffness": self.stiffness,
        }  # fmt: skip
        if self.function is None:
            return [compiler.row("motor", self, **fields)]
        return [compiler.row("custom_motor", self, address=compiler.motor_function(self), **fields)]

    def parameters(self) -> list[Parameter]:
        length, effort, stiffness, damping = units(self.coordinate)
        limited: list[Parameter] = [("speed", self.target, f"{length}/s"), ("limit", self.limit, effort)]
        if self.kind == "servo":
            return limited
        return [("effort", self.rest, effort), ("stiffness", self.stiffness, stiffness),
                ("position", self.position, length), ("damping", self.damping, damping), *limited]  # fmt: skip

    def gains(self) -> tuple[float, float]:
        return self.stiffness, self.damping


@njit
def effort(t, force, s, rate, scratch):
    """effort + damping (speed − ṡ) + stiffness (position − s), within ± limit."""
    found = force.rest + force.damping * (force.target - rate)
    if force.stiffness != 0.0:
        found += force.stiffness * (force.position - s)
    found = min(max(found, -force.limit), force.limit)
    return 0, found, found


@njit
def by_function(t, force, s, rate, scratch):
    """What the user's function of t, s and ṡ returns; scratch: at least three numbers."""
    scratch[0] = s
    scratch[1] = rate
    out = scratch[2:3]
    status = call_pointer(force.address, 0, DERIVATIVE, t, scratch[:2], out)
    return status, out[0], out[0]


law_on_coordinate("motor", effort, reads_coordinate=IF_STIFF)
law_on_coordinate("custom_motor", by_function)
