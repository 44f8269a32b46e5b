"""A house of cards stands by friction alone.

Two cards of weight W that lean on each other at an angle θ from upright push each other with ½ W tan θ at the top. Friction
at the foot must carry this force: the house stands for μ ≥ ½ tan θ, and slides down for less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..scene.contact import Material
from ..scene.scene import Scene
from ..scene.shapes import Box, HalfSpace
from ._common import require, require_energy, require_solved

if TYPE_CHECKING:
    from ..simulation.settings import RunSettings
    from ..simulation.simulation import Simulation

SETTINGS: RunSettings = {"duration": 1.0, "dt": 1 / 480, "solver": "interior_point", "frame_rate": 30.0}
LENGTH, WIDTH, THICKNESS = 0.088, 0.063, 0.001  # m
LEAN = 0.35  # rad from upright
MASS = 0.0018  # kg


def least_friction() -> float:
    """Below this a pair of cards slides down."""
    return 0.5 * float(np.tan(LEAN))


def build(friction: float = 0.5) -> Scene:
    """Two pairs of cards side by side, a card across their tops, and a pair upon it."""
    scene = Scene("card-house", material=Material(friction))
    scene.description = "a house of cards on friction alone"
    scene.add_obstacle("table", HalfSpace())
    c, s = np.cos(LEAN), np.sin(LEAN)
    # A leaning card touches below with its outer edge, and its partner with the inner edge of its top.
    reach, rise = LENGTH * s, LENGTH * c + THICKNESS * s
    span = reach + THICKNESS * c
    for i, middle in enumerate((-span, span)):
        add_pair(scene, f"pair {i + 1}", middle, 0.0, rise)
    scene.add_body("floor", Box(2.0 * span, WIDTH, THICKNESS), mass=MASS, position=(0.0, 0.0, rise + 0.5 * THICKNESS))
    add_pair(scene, "pair 3", 0.0, rise + THICKNESS, rise)
    return scene


def add_pair(scene: Scene, name: str, middle: float, bottom: float, rise: float) -> None:
    """Two cards that meet above x = middle."""
    half = 0.5 * LEAN
    across = 0.5 * (LENGTH * np.sin(LEAN) + THICKNESS * np.cos(LEAN))
    for side, word in ((-1.0, "left"), (1.0, "right")):
        scene.add_body(
            f"{name} {word}", Box(THICKNESS, WIDTH, LENGTH), mass=MASS,
            position=(middle + side * across, 0.0, bottom + 0.5 * rise),
            orientation=(np.cos(half), 0.0, -side * np.sin(half), 0.0),
        )  # fmt: skip


def check(run: Simulation) -> None:
    """With enough friction nothing moves; with too little it comes down."""
    scene = run.model.scene
    first = np.array([body.position for body in scene.bodies.values()])
    friction = scene.bodies["floor"].material.friction
    if friction < least_friction():
        top = [name.startswith("pair 3") for name in run.model.body_names]
        assert (run.state.position[top, 2] < 0.6 * first[top, 2]).all(), "it stands on too little friction"
        require_energy(run, error=0.03)
        return
    require("places", run.state.position, first, 1e-8)
    require_solved(run, penetration=1e-9)
