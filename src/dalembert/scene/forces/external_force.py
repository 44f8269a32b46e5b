"""A force at a point of a body and a torque: constant, or computed by a user function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.arrays import VectorLike
from ...core.c_function import DERIVATIVE, call_pointer
from ...core.jit import njit
from ...core.math3 import add, cross, load3
from ..force import Force, Parameter
from ..joint import Frame
from ..resolve import Resolver
from .laws import law_on_bodies, turned, wrench

NUMBERS = 13  # that a body has in the state vector (x, q, P, L), and that the function gets (x, q, v, ω)


class ExternalForce(Force):
    """A force (N) at a point of a body and a torque (N m); see `Scene.external_force`."""

    kind = "external_force"

    def __init__(
        self, body: str | Frame, *, force: VectorLike = (0, 0, 0), torque: VectorLike = (0, 0, 0),
        at: VectorLike | None = None, frame: str = "world", function: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        self.a, self.at_a, self.vector, self.torque, self.frame = body, at, force, torque, frame
        self.function = function

    def resolve(self, resolver: Resolver) -> None:
        self.a = resolver.body(
            self.a, "it acts on {name!r}, which is not a body; name a body, or use field() for particles"
        )  # fmt: skip
        if self.frame not in ("world", "body"):
            raise ValueError(f"{resolver.owner}: frame is {self.frame!r}; give 'world' or 'body'")
        self.in_body = self.frame == "body"
        self.vector, self.torque = resolver.vector("force", self.vector), resolver.vector("torque", self.torque)
        if self.function is not None and (self.vector.any() or self.torque.any()):
            raise ValueError(f"{resolver.owner}: give a function, or a force and a torque, not both")
        self.at_a = self.a.position if self.at_a is None else resolver.vector("at", self.at_a)

    def rows(self, compiler: Any) -> list[tuple[Any, ...]]:
        fields = {
            "a": compiler.index[self.a], "in_body": int(self.in_body), "anchor_a": compiler.anchor(self.a, self.at_a),
            "vector": self.vector, "torque": self.torque,
        }  # fmt: skip
        if self.function is None:
            return [compiler.row("constant", self, **fields)]
        return [compiler.row("custom_force", self, address=compiler.load_function(self), **fields)]

    def parameters(self) -> list[Parameter]:
        axes = "of the body" if self.in_body else "of the world"
        return [("force", self.vector, "N"), ("torque", self.torque, "N m"), ("axes", axes, "")]


@njit
def constant(t, y, force, at, kinematics, exerted, power, scratch):
    """Add a constant force at the anchor, and a constant torque."""
    power[force.ledger] += at_anchor(force, load3(force.vector), load3(force.torque), at, kinematics, exerted)
    return 0


@njit
def at_anchor(force, f, torque, at, kinematics, exerted):
    """Add a force at the anchor and a torque, in world or body axes. Returns their power."""
    kin = kinematics[force.a]
    if force.in_body != 0:
        f = turned(kin, f)
        torque = turned(kin, torque)
    return wrench(kin, f, add(cross(turned(kin, force.anchor_a), f), torque), at, exerted)


@njit
def by_function(t, y, force, at, kinematics, exerted, power, scratch):
    """Add what the user's function of (x, q, v, ω) of the body returns: a force at the anchor, and a torque."""
    kin = kinematics[force.a]
    for k in range(3):
        scratch[k] = kin.x[k]
        scratch[7 + k] = kin.v[k]
        scratch[10 + k] = kin.omega[k]
    for k in range(4):
        scratch[3 + k] = y[NUMBERS * force.a + 3 + k]
    out = scratch[NUMBERS : NUMBERS + 6]
    status = call_pointer(force.address, 0, DERIVATIVE, t, scratch[:NUMBERS], out)
    if status != 0:
        return status
    power[force.ledger] += at_anchor(force, (out[0], out[1], out[2]), (out[3], out[4], out[5]), at, kinematics, exerted)
    return 0


law_on_bodies("constant", constant)
law_on_bodies("custom_force", by_function)
