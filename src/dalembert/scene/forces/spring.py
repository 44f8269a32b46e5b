"""A damped spring between two points: f_b = −(k (|d| − l) + c u·ḋ) u and f_a = −f_b, with d = |d| u from a to b (the
notes' damped spring). If the ends meet, u is undefined, and only a spring of zero rest length has a limit, −k d."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.arrays import VectorLike
from ...core.jit import inlined, njit
from ...core.math3 import add, cross, dot, load3, norm, scale, sub
from ..force import Force, Parameter
from ..joint import End
from ..resolve import Resolver
from .laws import law_on_bodies, push, turned


class Spring(Force):
    """A damped spring between two points; see `Scene.spring`."""

    kind = "spring"
    drawn = True
    parameters_to_vary = ("stiffness", "damping", "rest")

    def __init__(
        self, a: End, b: End, at_a: VectorLike | None = None, at_b: VectorLike | None = None, *,
        stiffness: float, damping: float = 0.0, rest: float | None = None,
    ) -> None:  # fmt: skip
        self.a, self.b, self.at_a, self.at_b = a, b, at_a, at_b
        self.stiffness, self.damping = stiffness, damping
        self.rest: Any = rest

    def resolve(self, resolver: Resolver) -> None:
        self.a, self.b = resolver.frames(self.a, self.b)
        self.at_a, self.at_b = resolver.point("at_a", self.a, self.at_a), resolver.point("at_b", self.b, self.at_b)
        self.stiffness = resolver.number("stiffness", self.stiffness, 0.0)
        self.damping = resolver.number("damping", self.damping, 0.0)
        length = float(np.linalg.norm(self.at_b - self.at_a))
        self.rest = length if self.rest is None else resolver.number("rest", self.rest, 0.0)

    def rows(self, compiler: Any) -> list[tuple[Any, ...]]:
        return [compiler.row("spring", self, **compiler.ends(self), stiffness=self.stiffness, damping=self.damping,
                             rest=self.rest)]  # fmt: skip

    def parameters(self) -> list[Parameter]:
        return [("stiffness", self.stiffness, "N/m"), ("damping", self.damping, "N s/m"), ("rest", self.rest, "m")]

    def gains(self) -> tuple[float, float]:
        return self.stiffness, self.damping

    def tendon(self) -> dict[str, float]:
        return {"stiffness": self.stiffness, "damping": self.damping, "springlength": self.rest}


@njit
def geometry(force, kinematics):
    """Arms to the two points, d and |d|."""
    kin_a = kinematics[force.a]
    kin_b = kinematics[force.b]
    r_a = turned(kin_a, force.anchor_a)
    r_b = turned(kin_b, force.anchor_b)
    d = sub(add(load3(kin_b.x), r_b), add(load3(kin_a.x), r_a))
    return r_a, r_b, d, norm(d)


@inlined
def rate_of(force, r_a, r_b, u, kinematics):
    """u·ḋ, the rate of the distance."""
    kin_a, kin_b = kinematics[force.a], kinematics[force.b]
    end_a = add(load3(kin_a.v), cross(load3(kin_a.omega), r_a))
    end_b = add(load3(kin_b.v), cross(load3(kin_b.omega), r_b))
    return dot(u, sub(end_b, end_a))


@njit
def exert(t, y, force, at, kinematics, exerted, power, scratch):
    """Push the ends apart or together; exerted[at] is the force of the damper along u."""
    r_a, r_b, d, length = geometry(force, kinematics)
    exerted[at] = 0.0
    if length == 0.0:
        return 0
    u = scale(1.0 / length, d)
    rate = rate_of(force, r_a, r_b, u, kinematics)
    f = scale(-force.stiffness * (length - force.rest) - force.damping * rate, u)
    push(kinematics[force.b], f, r_b)
    push(kinematics[force.a], (-f[0], -f[1], -f[2]), r_a)
    exerted[at] = -force.damping * rate
    power[force.ledger] += exerted[at] * rate
    return 0


@njit
def power(force, at, kinematics, exerted):
    """Power of the damper."""
    r_a, r_b, d, length = geometry(force, kinematics)
    if length == 0.0:
        return 0.0
    return exerted[at] * rate_of(force, r_a, r_b, scale(1.0 / length, d), kinematics)


@njit
def energy(force, kinematics):
    """½ k (|d| − l)²."""
    _, _, _, length = geometry(force, kinematics)
    return 0.5 * force.stiffness * (length - force.rest) ** 2


law_on_bodies("spring", exert, power=power, energy=energy)
