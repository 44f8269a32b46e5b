"""Dry friction in a joint: a row of the contact solver; see `contact.bounded`."""

from __future__ import annotations

from typing import Any

from ..force import Force, Parameter, units
from ..joint import Joint
from ..resolve import Resolver


class JointFriction(Force):
    """Dry friction in a joint, as much as `limit`; see `Scene.joint_friction`."""

    kind = "friction"
    bounded = True

    def __init__(self, joint: str | Joint, *, effort: float, coordinate: str | None = None) -> None:
        self.joint, self.coordinate, self.limit = joint, coordinate, effort

    def resolve(self, found: Resolver) -> None:
        self.joint, self.coordinate = found.coordinate(self.joint, self.coordinate)
        self.limit = found.number("effort", self.limit, 0.0)

    def rows(self, compiler: Any) -> list[tuple[Any, ...]]:
        return [compiler.row("dry_friction", self, target=self.target, limit=self.limit, side=1.0)]

    def parameters(self) -> list[Parameter]:
        return [("effort", self.limit, units(self.coordinate)[1])]
