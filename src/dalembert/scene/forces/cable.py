"""Cables as forces: elastic ones, and ones that can go slack, whose length is an upper limit. See `Scene.cable`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..cable import CablePath
from ..force import Force, Parameter
from ..joint import Frame
from ..particles import Particle
from ..resolve import Resolver


class ElasticCable(Force):
    """One piece of a cable that stretches: a force with the stiffness E A / length, which never pushes."""

    kind = "cable"
    parameters_to_vary = ("stiffness", "damping", "rest")

    def __init__(self, path: CablePath, *, stretch: float, damping: float = 0.0) -> None:
        self.cable: CablePath = path
        self.stretch: float = stretch
        self.damping: float = damping

    def resolve(self, resolver: Resolver) -> None:
        self.rest = self.cable.length
        self.stiffness = resolver.positive("stretch", self.stretch, " N") / self.rest
        self.damping = resolver.number("damping", self.damping, 0.0)

    def rows(self, compiler: Any) -> list[tuple[Any, ...]]:
        address = compiler.cable(self.name, self.cable)
        return [
            compiler.row("cable", self, address=address, stiffness=self.stiffness, damping=self.damping, rest=self.rest)
        ]

    def parameters(self) -> list[Parameter]:
        return [("stiffness", self.stiffness, "N/m"), ("damping", self.damping, "N s/m"), ("rest", self.rest, "m")]

    def acts_on(self, scene: Any) -> Sequence[Frame]:
        return self.cable.bodies

    def gains(self) -> tuple[float, float]:
        return self.stiffness, self.damping


class SlackCable(Force):
    """One piece of a cable that may go slack: its length is a limit, as the stops of a joint are."""

    kind = "cable"
    limited = True

    def __init__(self, path: CablePath) -> None:
        self.cable = path

    def resolve(self, resolver: Resolver) -> None:
        moving = self.cable.moving
        if len(moving) > 2:
            raise ValueError(
                f"{resolver.owner}: it acts on {len(moving)} bodies ({', '.join(frame.name for frame in moving)}), and a "
                "cable with slack=True acts on at most two; leave slack out for a taut cable, or give stretch=E A, "
                "with which it can also go slack"
            )
        for frame in moving:
            if isinstance(frame, Particle):
                raise ValueError(
                    f"{resolver.owner}: {frame.name} is a particle, and cables with slack=True act on bodies; give "
                    "stretch=E A, with which it can also go slack, or use a body"
                )
        self.rest = self.cable.length

    def rows(self, compiler: Any) -> list[tuple[Any, ...]]:
        coordinate = compiler.length_of_cable(self.name, self.cable)
        return [
            compiler.row("stop", ledger=compiler.entry(self.name), coordinate=coordinate, side=-1.0, rest=self.rest)
        ]

    def parameters(self) -> list[Parameter]:
        return [("length", self.rest, "m")]

    def acts_on(self, scene: Any) -> Sequence[Frame]:
        return self.cable.bodies
