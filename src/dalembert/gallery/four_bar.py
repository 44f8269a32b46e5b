"""A crank and rocker: a planar four-bar linkage of bodies in space, on four hinges.

Four hinges remove 20 of the 18 degrees of freedom of three bodies, yet one is left: three constraints are redundant and are
resolved. With φ the angle of the crank, J(φ) = Σ m |∂x/∂φ|² + I (∂α/∂φ)² and V(φ) follow from closing the loop, and

    φ̇ = √(2 (E − V(φ))/J(φ)).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.body import WORLD
from ..scene.joint import Frame
from ..scene.scene import Scene
from ._common import integrate, mobility, require, require_ledger, thin_rod

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 3.0, "method": "dop853", "rtol": 1e-11, "frame_rate": 30.0}
GROUND, CRANK, COUPLER, ROCKER = 1.0, 0.4, 0.9, 0.8  # m
DENSITY = 2.0  # kg/m
ACROSS = (0.0, 1.0, 0.0)


def joints(phi: float) -> tuple[complex, complex]:
    """The two moving joints as x + i z (m), with the crank's direction at φ from x towards z."""
    near = CRANK * np.exp(1j * phi)
    gap = GROUND - near
    distance = abs(gap)
    along = (distance**2 + COUPLER**2 - ROCKER**2) / (2.0 * distance)
    return near, near + (along + 1j * np.sqrt(COUPLER**2 - along**2)) * gap / distance


def rates(phi: float) -> tuple[float, float]:
    """dα/dφ of the coupler and of the rocker."""
    near, far = joints(phi)
    coupler, rocker, turned = far - near, far - GROUND, 1j * near
    matrix = np.array([[-coupler.imag, rocker.imag], [coupler.real, -rocker.real]])
    first, second = np.linalg.solve(matrix, [-turned.real, -turned.imag])
    return float(first), float(second)


def inertia_and_height(phi: float) -> tuple[float, float]:
    """J (kg m²), and V over g (kg m)."""
    near, far = joints(phi)
    coupler_rate, rocker_rate = rates(phi)
    coupler = far - near
    middle = 1j * near + 0.5j * coupler * coupler_rate
    moment = DENSITY * (
        CRANK**3 / 3.0 + ROCKER**3 / 3.0 * rocker_rate**2 + COUPLER * abs(middle) ** 2
        + COUPLER**3 / 12.0 * coupler_rate**2
    )  # fmt: skip
    height = DENSITY * (CRANK * 0.5 * near + COUPLER * 0.5 * (near + far) + ROCKER * 0.5 * (GROUND + far)).imag
    return moment, height


def build(phi: float = 1.0, speed: float = 8.0) -> Scene:
    """The linkage with its crank at φ (rad), turning at `speed` (rad/s) from x towards z, enough to go round."""
    scene = Scene("four-bar")
    scene.description = "a crank and rocker on four hinges, with three redundant constraints"
    near, far = joints(phi)
    coupler_rate, rocker_rate = rates(phi)
    moving = 1j * speed * near, 1j * speed * rocker_rate * (far - GROUND)
    points = [np.array([p.real, 0.0, p.imag]) for p in (0.0 + 0.0j, near, far, GROUND + 0.0j)]
    middles = 0.5 * moving[0], 0.5 * sum(moving), 0.5 * moving[1]
    spins = speed, speed * coupler_rate, speed * rocker_rate
    names, lengths = ("crank", "coupler", "rocker"), (CRANK, COUPLER, ROCKER)
    bars = [
        thin_rod(scene, name, points[i], points[i + 1], DENSITY * length, color=color,
                 velocity=(middle.real, 0.0, middle.imag), angular_velocity=(0.0, -spin, 0.0))
        for i, (name, length, middle, spin, color) in enumerate(
            zip(names, lengths, middles, spins, ("#e45756", "#4c78a8", "#54a24b"), strict=True)
        )
    ]  # fmt: skip
    frames: list[Frame] = [WORLD, *bars, WORLD]
    for i, name in enumerate(("motor end", "crank pin", "rocker pin", "rocker end")):
        scene.hinge(name, frames[i], frames[i + 1], at=points[i], axis=ACROSS)
    return scene


def check(run: Simulation) -> None:
    """The three bars against one equation in φ at all frames; the count of redundant constraints; the energy."""
    scene, trajectory = run.model.scene, run.trajectory
    crank = scene.bodies["crank"]
    start = float(np.angle(complex(crank.position[0], crank.position[2])))
    moment, height = inertia_and_height(start)
    gravity = -float(scene.gravity[2])
    energy = 0.5 * moment * crank.angular_velocity[1] ** 2 + gravity * height

    def pace(t: float, y: np.ndarray) -> list[float]:
        inertia, level = inertia_and_height(y[0])
        return [float(np.sqrt(2.0 * (energy - gravity * level) / inertia))]

    angles = integrate(pace, [start], trajectory.times, rtol=1e-11, atol=1e-12).y[0]
    pins = np.array([joints(phi) for phi in angles])
    middles = 0.5 * np.stack([pins[:, 0], pins[:, 0] + pins[:, 1], pins[:, 1] + GROUND], axis=1)
    expected = np.stack([middles.real, 0.0 * middles.real, middles.imag], axis=2)
    require("centres of the bars", trajectory.position.values, expected, 2e-9)
    require("mobility by count", mobility(list(scene.joints.values()), 3), -2, 0.0)
    if not run.report.redundant:
        raise AssertionError("redundant constraints were not detected")
    require_ledger(run, energy=1e-10)
