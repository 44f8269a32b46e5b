"""A hundred thousand particles of a fountain fall back and bounce, on the ground, a ball and a box.

The fountain is turned off at the start: the air contains the particles that left its nozzle within the last rise. Until a
particle touches something it follows its parabola, which leapfrog steps conserve to rounding. After that its energy only
falls, by bounces and friction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..collide.detect import combine
from ..scene.contact import Material
from ..scene.scene import Scene
from ..scene.shapes import Box, HalfSpace, Sphere
from ._common import require, require_energy

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 2.4, "method": "time_stepping", "dt": 1 / 240, "frame_rate": 20.0}
RADIUS = 0.005  # m, of a particle
BALL, SIDES = 0.45, np.array([0.9, 0.9, 0.5])  # m: radius of the ball; edges of the box


def build(count: int = 100_000, speed: float = 6.0, spread: float = 0.3, seed: int = 1) -> Scene:
    """So many particles that left the nozzle, at 0.3 m, at some speed (m/s) within `spread` (rad) of the vertical."""
    scene = Scene("fountain")
    scene.description = "water of a fountain falls on the ground, a ball and a box"
    scene.add_obstacle("ground", HalfSpace(), material=Material(0.05, 0.4))
    scene.add_obstacle("ball", Sphere(BALL), position=(1.2, 0.0, BALL), material=Material(0.1, 0.7), color="#e45756")
    scene.add_obstacle("box", Box(*SIDES), position=(-1.1, 0.4, 0.5 * SIDES[2]), material=Material(0.5, 0.5))
    rng = np.random.default_rng(seed)
    tilt, around = spread * np.sqrt(rng.random(count)), 2.0 * np.pi * rng.random(count)
    along = np.stack([np.sin(tilt) * np.cos(around), np.sin(tilt) * np.sin(around), np.cos(tilt)], axis=1)
    velocity = speed * rng.uniform(0.9, 1.0, (count, 1)) * along
    age = rng.random((count, 1)) * velocity[:, 2:] / -scene.gravity[2]
    position = (0.0, 0.0, 0.3) + age * velocity + 0.5 * age**2 * scene.gravity
    scene.add_particles(
        "drops", position, velocity=velocity + age * scene.gravity, mass=1e-3, radius=RADIUS, color="#3f8fd2",
        material=Material(0.1, 0.5),
    )  # fmt: skip
    return scene


def clearance(scene: Scene, places: np.ndarray) -> np.ndarray:
    """(..., 3) m → (...): how far particles there are from what they could touch next; below zero inside it."""
    return np.minimum(places[..., 2] - RADIUS, clearance_of_solids(scene, places))


def clearance_of_solids(scene: Scene, places: np.ndarray) -> np.ndarray:
    """The same from the ball and the box alone."""
    ball = np.linalg.norm(places - scene.obstacles["ball"].position, axis=-1) - BALL
    beside = np.abs(places - scene.obstacles["box"].position) - 0.5 * SIDES
    box = np.linalg.norm(np.maximum(beside, 0.0), axis=-1) + np.minimum(beside.max(axis=-1), 0.0)
    return np.asarray(np.minimum(ball, box) - RADIUS)


def untouched(run: Simulation) -> tuple[np.ndarray, np.ndarray]:
    """Parabolas (frames, n, 3), m, and which particles (frames, n) cannot have touched anything on them so far."""
    scene = run.model.scene
    group = scene.particles["drops"]
    times = run.trajectory.times
    places, free = np.empty((len(times), len(group), 3)), np.empty((len(times), len(group)), bool)
    clear = np.ones(len(group), bool)
    for i, t in enumerate(times):
        for between in np.linspace(times[i - 1], t, 6)[1:] if i else (t,):
            places[i] = group.position + between * group.velocity + 0.5 * between**2 * scene.gravity
            clear &= clearance(scene, places[i]) > 0.1  # m, more than what moves between two looks
        free[i] = clear
    return places, free


def check_bounces(run: Simulation) -> None:
    """First bounces on the ground, far from all else: they leave with e times the speed u_n at which they come, and lose
    μ (1 + e) u_n along the ground, or all they have; each to what gravity does in two steps."""
    scene, times = run.model.scene, run.trajectory.times
    group, gravity = scene.particles["drops"], float(np.linalg.norm(scene.gravity))
    friction, restitution = combine(scene.obstacles["ground"].material, group.material)
    closing = np.sqrt(group.velocity[:, 2] ** 2 + 2.0 * gravity * (group.position[:, 2] - RADIUS))
    landing = (group.velocity[:, 2] + closing) / gravity
    slack = 2.0 * gravity * float(run.settings["dt"] or 0.0)
    frames = np.minimum(np.searchsorted(times, landing + slack / gravity), len(times) - 1)
    each = np.arange(len(group))
    place = run.trajectory.particle_position.values[frames, each]
    velocity = run.trajectory.particle_momentum.values[frames, each] / group.mass[:, None]
    lands = (group.position + landing[:, None] * group.velocity) * (1.0, 1.0, 0.0)
    seen = clearance_of_solids(scene, lands) > 0.6
    seen &= times[frames] < landing + restitution * closing / gravity  # and still rises
    assert seen.sum() > 10, "too few bounces to look at"
    rise = np.sqrt(velocity[:, 2] ** 2 + 2.0 * gravity * np.maximum(place[:, 2] - RADIUS, 0.0))
    require("speed after a bounce", rise[seen], (restitution * closing)[seen], slack)
    along = np.linalg.norm(group.velocity[:, :2], axis=1)
    rubbed = np.minimum(along, friction * (1.0 + restitution) * closing)
    require("speed lost to friction", (along - np.linalg.norm(velocity[:, :2], axis=1))[seen], rubbed[seen], slack)


def check(run: Simulation) -> None:
    """What has touched nothing on its parabola; nothing inside anything; no particle's energy rises; the energy balance."""
    scene, trajectory = run.model.scene, run.trajectory
    places, momenta = trajectory.particle_position.values, trajectory.particle_momentum.values
    parabolas, free = untouched(run)
    assert free[len(free) // 4].mean() > 0.1 and not free[-1].any(), "too few flights to look at, or too short a run"
    require("free flight", places[free], parabolas[free], 1e-11)
    depth = -clearance(scene, places)
    fall = 0.5 * float(np.linalg.norm(scene.gravity)) * float(run.settings["dt"] or 0.0) ** 2  # within a step
    require("deepest inside something", max(0.0, float(depth.max())), 0.0, fall)
    mass = scene.particles["drops"].mass
    energy = 0.5 * np.sum(momenta**2, axis=2) / mass - mass * (places @ scene.gravity)
    # What ends a step inside something is put outside.
    rise = np.diff(energy, axis=0) / (mass * np.linalg.norm(scene.gravity))
    require("rise of a particle's energy, as a height", max(0.0, float(rise.max())), 0.0, fall)
    check_bounces(run)
    assert energy[-1].sum() < 0.2 * energy[0].sum(), "most of the energy is lost in bounces"
    require_energy(run, error=1.5e-3)
