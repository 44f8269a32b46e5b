"""Drag on bodies: f = −(c₁ + c₂ |v|) v at the centre of mass, τ = −(c₃ + c₄ |ω|) ω."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.jit import njit
from ...core.math3 import load3, norm, scale
from ..force import Force, Parameter
from ..joint import Frame
from ..resolve import Resolver
from .laws import law_on_bodies, wrench


class Drag(Force):
    """Drag on bodies; see `Scene.drag`. `vector` holds (c₁, c₂, 0) and `torque` (c₃, c₄, 0)."""

    kind = "drag"

    def __init__(
        self, bodies: Sequence[str | Frame] | None = None, *, linear: float = 0.0, quadratic: float = 0.0,
        angular: float = 0.0, angular_quadratic: float = 0.0,
    ) -> None:  # fmt: skip
        self.bodies = bodies
        self._given = {"linear": linear, "quadratic": quadratic, "angular": angular,
                       "angular_quadratic": angular_quadratic}  # fmt: skip

    def resolve(self, resolver: Resolver) -> None:
        values = [resolver.number(name, value, 0.0) for name, value in self._given.items()]
        self.vector, self.torque = np.array([*values[:2], 0.0]), np.array([*values[2:], 0.0])
        if self.bodies is not None:
            self.bodies = resolver.bodies(
                self.bodies, "{name!r} is not a body; name bodies, or use medium() for particles"
            )  # fmt: skip

    def rows(self, compiler: Any) -> list[tuple[Any, ...]]:
        entry = compiler.entry(self.name)
        bodies = compiler.bodies if self.bodies is None else self.bodies
        return [
            compiler.row("drag", a=compiler.index[body], ledger=entry, vector=self.vector, torque=self.torque)
            for body in bodies
        ]

    def parameters(self) -> list[Parameter]:
        return [("linear", self.vector[0], "N s/m"), ("quadratic", self.vector[1], "N s²/m²"),
                ("angular", self.torque[0], "N m s"), ("angular quadratic", self.torque[1], "N m s²")]  # fmt: skip

    def acts_on(self, scene: Any) -> Sequence[Frame]:
        return list(scene.bodies.values()) if self.bodies is None else self.bodies  # type: ignore[no-any-return]

    def on(self) -> str:
        return "all bodies" if self.bodies is None else ", ".join(body.name for body in self.bodies[:8])


@njit
def exert(t, y, force, at, kinematics, exerted, power, scratch):
    """Add drag on the velocity and on the spin of body a."""
    kin = kinematics[force.a]
    v = load3(kin.v)
    w = load3(kin.omega)
    linear = force.vector[0] + force.vector[1] * norm(v)
    angular = force.torque[0] + force.torque[1] * norm(w)
    power[force.ledger] += wrench(kin, scale(-linear, v), scale(-angular, w), at, exerted)
    return 0


law_on_bodies("drag", exert, keeps_awake=False)
