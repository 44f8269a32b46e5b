"""Stops of a joint, lower ≤ s ≤ upper, and dry friction in it: rows of the contact solver; see `contact.limits`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..force import Force, Parameter, units
from ..joint import Joint
from ..resolve import Resolver


class Limit(Force):
    """Stops of a joint; see `Scene.limit`."""

    kind = "limit"
    limited = True

    def __init__(
        self, joint: str | Joint, *, lower: float | None = None, upper: float | None = None, restitution: float = 0.0,
        coordinate: str | None = None,
    ) -> None:  # fmt: skip
        self.joint, self.coordinate, self.restitution = joint, coordinate, restitution
        self._lower, self._upper = lower, upper

    def resolve(self, resolver: Resolver) -> None:
        self.joint, self.coordinate = resolver.coordinate(self.joint, self.coordinate)
        lower = -np.inf if self._lower is None else resolver.number("lower", self._lower)
        upper = np.inf if self._upper is None else resolver.number("upper", self._upper)
        if not (lower < upper and np.isfinite([lower, upper]).any()):
            raise ValueError(
                f"{resolver.owner}: lower {self._lower!r} and upper {self._upper!r} are an empty range; give lower < "
                "upper, or only one of them"
            )
        self.stops = (lower, upper)
        self.restitution = resolver.number("restitution", self.restitution, 0.0)
        if self.restitution > 1.0:
            raise ValueError(f"{resolver.owner}: restitution is {self.restitution:g}; give 0 to 1")

    def rows(self, compiler: Any) -> list[tuple[Any, ...]]:
        fields = {"ledger": compiler.entry(self.name), "coordinate": compiler.coordinate(self.joint, self.coordinate)}
        return [
            compiler.row("stop", side=side, rest=stop, restitution=self.restitution, **fields)
            for side, stop in zip((1.0, -1.0), self.stops, strict=True)
            if np.isfinite(stop)
        ]

    def parameters(self) -> list[Parameter]:
        length = units(self.coordinate)[0]
        return [("lower", self.stops[0], length), ("upper", self.stops[1], length),
                ("restitution", self.restitution, "")]  # fmt: skip


class JointFriction(Force):
    """Dry friction in a joint, as much as `limit`; see `Scene.joint_friction`."""

    kind = "friction"
    limited = True

    def __init__(self, joint: str | Joint, *, effort: float, coordinate: str | None = None) -> None:
        self.joint, self.coordinate, self.limit = joint, coordinate, effort

    def resolve(self, resolver: Resolver) -> None:
        self.joint, self.coordinate = resolver.coordinate(self.joint, self.coordinate)
        self.limit = resolver.number("effort", self.limit, 0.0)

    def rows(self, compiler: Any) -> list[tuple[Any, ...]]:
        return [compiler.row("dry_friction", self, target=self.target, limit=self.limit, side=1.0)]

    def parameters(self) -> list[Parameter]:
        return [("effort", self.limit, units(self.coordinate)[1])]
