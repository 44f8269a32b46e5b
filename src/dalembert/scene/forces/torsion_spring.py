"""A damped spring on the coordinate s of a joint: the effort −k (s − s₀) − c ṡ."""

from __future__ import annotations

from typing import Any

from ...core.jit import njit
from ..force import Force, Parameter, units
from ..joint import Joint
from ..resolve import Resolver
from .laws import law_on_coordinate


class TorsionSpring(Force):
    """A damped spring on the coordinate of a joint; see `Scene.torsion_spring`."""

    kind = "torsion_spring"
    parameters_to_vary = ("stiffness", "damping", "rest")

    def __init__(
        self, joint: str | Joint, *, stiffness: float, damping: float = 0.0, rest: float = 0.0,
        coordinate: str | None = None,
    ) -> None:  # fmt: skip
        self.joint, self.coordinate = joint, coordinate
        self.stiffness, self.damping, self.rest = stiffness, damping, rest

    def resolve(self, resolver: Resolver) -> None:
        self.stiffness = resolver.number("stiffness", self.stiffness, 0.0)
        self.damping = resolver.number("damping", self.damping, 0.0)
        self.joint, self.coordinate = resolver.coordinate(self.joint, self.coordinate)
        self.rest = resolver.number("rest", self.rest)

    def rows(self, compiler: Any) -> list[tuple[Any, ...]]:
        return [compiler.row("torsion", self, rest=self.rest, stiffness=self.stiffness, damping=self.damping)]

    def parameters(self) -> list[Parameter]:
        length, _, stiffness, damping = units(self.coordinate)
        return [("stiffness", self.stiffness, stiffness), ("damping", self.damping, damping),
                ("rest", self.rest, length)]  # fmt: skip

    def gains(self) -> tuple[float, float]:
        return self.stiffness, self.damping


@njit
def effort(t, force, s, rate, scratch):
    """−k (s − s₀) − c ṡ, of which the damper works."""
    working = -force.damping * rate
    return 0, working - force.stiffness * (s - force.rest), working


@njit
def energy(force, s):
    """½ k (s − s₀)²."""
    return 0.5 * force.stiffness * (s - force.rest) ** 2


law_on_coordinate("torsion", effort, energy=energy)
