"""The registry of the compiled laws of forces on bodies, and their common functions.

A law computes the effect of one row of the FORCE table. It acts on bodies, through

    exert(t, y, force, at, kinematics, exerted, power, scratch) → status
    power(force, at, kinematics, exerted) → W
    energy(force, kinematics) → J

or on the coordinate s of a joint, through

    effort(t, force, s, rate, scratch) → status, effort, working
    energy(force, s) → J

`force` is the row; `kinematics` has a row for each body. `exert` adds its force (N, at the centre of mass) and torque
(N m, about the centre of mass, world axes) to the rows of its bodies with `push` or `wrench`. It also writes the part
without a potential energy to exerted[at : at + 6], and adds the power of this part to power[force.ledger]. `power`
computes this power again from `exerted`, at later velocities of the table. Of the effort of a coordinate (N m or N),
`working` is the part without a potential energy. A status other than 0 ends the run; see `core.status`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...core.jit import inlined, njit
from ...core.math3 import cross, dot, load3

Kernel = Callable[..., Any]
ALWAYS, IF_STIFF = True, False  # when `effort` needs the coordinate: always, or only with a stiffness


class Law(NamedTuple):
    """The compiled functions of one law."""

    name: str
    on_coordinate: bool
    exert: Kernel  # `effort` of a law on a coordinate
    power: Kernel | None = None
    energy: Kernel | None = None
    reads_coordinate: bool = ALWAYS
    keeps_awake: bool = True  # whether its bodies never sleep


LAWS: dict[str, Law] = {}


def register(law: Law) -> Law:
    """Add a law to those that kernels dispatch on. Raises ValueError for a name that is taken, and for a function from
    outside the package, which no kernel is compiled with."""
    if law.name in LAWS:
        raise ValueError(f"law {law.name!r}: the name is already in use; choose another")
    if not law.exert.__module__.startswith(f"{__package__}."):
        raise ValueError(
            f"law {law.name!r}: it is defined in {law.exert.__module__!r}; put its file in dalembert/scene/forces, or use "
            "external_force(function=...) or motor(function=...), which take any function"
        )
    LAWS[law.name] = law
    return law


@njit
def power_of_wrench(force, at, kinematics, exerted):
    """Power (W) of the force and torque in exerted[at : at + 6] on body a."""
    kin = kinematics[force.a]
    f = (exerted[at], exerted[at + 1], exerted[at + 2])
    torque = (exerted[at + 3], exerted[at + 4], exerted[at + 5])
    return dot(f, load3(kin.v)) + dot(torque, load3(kin.omega))


def law_on_bodies(
    name: str, exert: Kernel, *, power: Kernel = power_of_wrench, energy: Kernel | None = None, keeps_awake: bool = True
) -> Law:
    """Register a law that acts on the bodies a and b of its row. `power_of_wrench` is for what uses `wrench`."""
    return register(Law(name, False, exert, power, energy, ALWAYS, keeps_awake))


def law_on_coordinate(
    name: str, effort: Kernel, *, energy: Kernel | None = None, reads_coordinate: bool = ALWAYS
) -> Law:
    """Register a law that acts on the coordinate of a joint."""
    return register(Law(name, True, effort, None, energy, reads_coordinate))


# What laws are written with ---------------------------------------------------------------------------------------------


@inlined
def turned(kin, a):
    """A vector of body axes in world axes: R a."""
    r = kin.rotation
    return (
        r[0] * a[0] + r[1] * a[1] + r[2] * a[2],
        r[3] * a[0] + r[4] * a[1] + r[5] * a[2],
        r[6] * a[0] + r[7] * a[1] + r[8] * a[2],
    )


@inlined
def push(kin, force, arm):
    """Add a force (N) that acts at x + arm to a row of the kinematics table."""
    torque = cross(arm, force)
    for k in range(3):
        kin.force[k] += force[k]
        kin.torque[k] += torque[k]


@njit
def wrench(kin, f, torque, at, exerted):
    """Add a force at the centre of mass (N) and a torque (N m) to a row of the kinematics table, and write both to
    exerted[at : at + 6]. Returns their power (W)."""
    for k in range(3):
        kin.force[k] += f[k]
        kin.torque[k] += torque[k]
        exerted[at + k] = f[k]
        exerted[at + 3 + k] = torque[k]
    return dot(f, load3(kin.v)) + dot(torque, load3(kin.omega))
