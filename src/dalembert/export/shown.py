"""Common parts of the exports: warnings about omitted parts, and writing of files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from os import PathLike
from pathlib import Path

import numpy as np

from ..core.file_format import require_suffix
from ..scene.checks import numbered
from ..scene.contact import Obstacle, Touching, rule_for, rule_table
from ..scene.force import Force
from ..scene.joint import Joint
from ..scene.particles import Particle
from ..scene.scene import Scene
from ..scene.shapes import HalfSpace
from ..simulation.simulation import Simulation
from ..simulation.summary import scene_description
from ..simulation.trajectory import Trajectory
from ..view.drawing import SceneDrawing, motion_extent, parse_scene, recorded_particles

GRAY = (0.53, 0.6, 0.67)


@dataclass(frozen=True)
class ExportWarning:
    """A part of a scene or run that the file lacks or approximates; `str()` is one line."""

    item: str  # the affected object, such as "gear 'rack'"
    message: str

    def __str__(self) -> str:
        return f"{self.item}: {self.message}"


def target(path: str | PathLike[str], *suffixes: str) -> Path:
    """The path of the file to write, its folder made. Raises ValueError for another suffix."""
    file = require_suffix(path, *suffixes)
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def rgb(color: str) -> tuple[float, float, float]:
    """The parts of "#rrggbb", 0 to 1; gray for anything else."""
    if not re.fullmatch(r"#[0-9a-fA-F]{6}", color):
        return GRAY
    red, green, blue = (int(color[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
    return red, green, blue


def linear_rgb(color: str) -> list[float]:
    """The same as linear RGB (IEC 61966-2-1), as glTF and USD have them."""
    return [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in rgb(color)]


def principal_inertia(inertia: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Moments (3,) kg m² and their axes, the columns of a rotation (3, 3); no turn where the tensor is diagonal."""
    if not np.any(inertia - np.diag(np.diag(inertia))):
        return np.diag(inertia).copy(), np.eye(3)
    moments, axes = np.linalg.eigh(inertia)
    axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
    return moments, axes


def free_name(name: str, taken: set[str]) -> str:
    """The name itself, or with a number where something has it already; it is taken from now on."""
    found = numbered(name, taken)
    taken.add(found)
    return found


def holds_particle(thing: Joint | Force) -> bool:
    """Whether an end of it is a particle: the warning about particles covers it."""
    return isinstance(thing.a, Particle) or isinstance(thing.b, Particle)


def passing_pairs(scene: Scene) -> list[tuple[str, str]]:
    """Pairs that pass through each other: what a joint connects, and what a rule excludes, unless a later rule enables it."""
    items = {item.name: item for item in scene.touching()}
    members: dict[str, list[Touching]] = {}
    for item in items.values():
        for name in {item.name, item.group} - {""}:
            members.setdefault(name, []).append(item)
    found: dict[tuple[str, str], None] = {}

    def consider(a: Touching, b: Touching, joined: bool) -> None:
        rule = rule_for(rule_table(scene.contact_rules), a, b)
        still = isinstance(a, Obstacle) and isinstance(b, Obstacle)
        if a is not b and not still and (joined if rule is None else not rule.enabled):
            first, second = sorted((a.name, b.name))
            found[first, second] = None

    for joint in scene.joints.values():
        names = sorted({body.name for body in joint.bodies} & items.keys())
        if len({body.name for body in joint.bodies}) == 2 == len(names):
            consider(items[names[0]], items[names[1]], True)
    for rule in scene.contact_rules:
        if not rule.enabled:
            for a, b in product(members.get(rule.a, ()), members.get(rule.b, ())):
                consider(a, b, False)
    return list(found)


# What there is to see of a scene, a run or a saved run, in one form for all exports -----------------------------------


@dataclass(frozen=True)
class Shown:
    """n instants of b bodies, which come first in the drawing, and p particles.

    `grounds` are the obstacles that are half-spaces, and `scene` is the scene; a saved run knows neither.
    """

    name: str
    drawing: SceneDrawing
    times: np.ndarray  # (n,) s, ascending
    positions: np.ndarray  # (n, b, 3) m, of centres of mass
    orientations: np.ndarray  # (n, b, 4), w first, each on the side of the one before
    particles: np.ndarray  # (n, p, 3) m
    grounds: list[Obstacle]
    scene: Scene | None

    @property
    def size(self) -> float:
        """Of the box that all stays in, m."""
        return motion_extent(self.drawing, self.positions, self.orientations, self.particles).size


def shown(source: Simulation | Trajectory | Scene) -> Shown:
    """What a scene, a run or a saved run shows; a scene at the one instant 0.

    Raises ValueError for a run of no instants and for anything else.
    """
    if isinstance(source, Scene):
        return _of_scene(source)
    scene = source.model.scene if isinstance(source, Simulation) else None
    run = source.trajectory if isinstance(source, Simulation) else source
    if not isinstance(run, Trajectory):
        raise ValueError(f"{source!r:.80} cannot be exported; give a Scene, a Simulation or a Trajectory")
    if not len(run):
        raise ValueError("the trajectory has no frames: there is nothing to export")
    drawing = parse_scene(run.scene_description, run.bodies, run.particle_number)
    return Shown(
        run.scene_name, drawing, run.times, run.position.values, continuous(run.orientation.values),
        recorded_particles(run), _grounds(scene), scene,
    )  # fmt: skip


def _of_scene(scene: Scene) -> Shown:
    bodies = scene.bodies.values()
    drawing = parse_scene(scene_description(scene, {}), list(scene.bodies))
    groups = sorted(scene.particles.values(), key=lambda group: group.first)
    particles = np.concatenate([np.zeros((0, 3)), *(group.position for group in groups)])
    return Shown(
        scene.name, drawing, np.zeros(1), np.array([body.position for body in bodies]).reshape(1, -1, 3),
        np.array([body.orientation for body in bodies]).reshape(1, -1, 4), particles[None], _grounds(scene), scene,
    )  # fmt: skip


def _grounds(scene: Scene | None) -> list[Obstacle]:
    obstacles = [] if scene is None else scene.obstacles.values()
    return [obstacle for obstacle in obstacles if isinstance(obstacle.shape, HalfSpace)]


def continuous(q: np.ndarray) -> np.ndarray:
    """Quaternions (n, ..., 4) with the sign that is nearest to the one before, so that what is between them can be
    interpolated: q and −q are the same rotation."""
    turned = np.sum(q[1:] * q[:-1], axis=-1, keepdims=True) < 0.0
    signs = np.concatenate([np.ones_like(q[:1, ..., :1]), np.cumprod(np.where(turned, -1.0, 1.0), axis=0)])
    return q * signs
