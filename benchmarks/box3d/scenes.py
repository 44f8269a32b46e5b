"""Scenes of Box3D's shared benchmarks (shared/benchmarks.c there), with z up, and piles of ours, for both engines."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import dalembert as dal

PILE_POINTS, PILE_ROWS, PILE_LAYERS, PILE_RADIUS = 32, 8, 80, 2.0
BOX_SPACING, BOX_LAYER, BOX_LAYERS = 0.38, 0.42, 8  # m


class Timed(NamedTuple):
    """A scene and when it is timed: dt (s), the steps before the window, those in it."""

    make: Callable[[], dal.Scene]
    dt: float
    before: int
    window: int


def _ground(name: str, friction: float) -> dal.Scene:
    scene = dal.Scene(name, material=dal.Material(friction))
    scene.add_obstacle("ground", dal.Box(800, 800, 2), position=(0, 0, -1))
    return scene


def _pyramid(scene: dal.Scene, name: str, base: int, x: float, y: float) -> None:
    """Rows of unit boxes, one less in each, in a plane."""
    for row in range(base):
        for i in range(base - row):
            at = (x + 0.5 * (row + 1) + i - 0.5 * base, y, row + 0.5)
            scene.add_body(f"{name} {row} {i}", dal.Box(1, 1, 1), density=100.0, position=at)


def large_pyramid(base: int = 100) -> dal.Scene:
    """5050 boxes in a plane."""
    scene = _ground("large pyramid", 0.6)
    _pyramid(scene, "box", base, 0.0, 0.0)
    return scene


def many_pyramids(across: int = 14, base: int = 10) -> dal.Scene:
    """14 × 14 pyramids of 55 boxes."""
    scene = _ground("many pyramids", 0.6)
    for i in range(across):
        for j in range(across):
            _pyramid(scene, f"box {i} {j}", base, (base + 1.0) * (j - 0.5 * across), 11.0 * (i - 0.5 * across))
    return scene


def _pile_points() -> np.ndarray:
    """(32, 3) points on a sphere, by the generator of Box3D's pile."""
    state, found = 42, []

    def random() -> float:
        nonlocal state
        state = (state * 2147001325 + 715136305) & 0xFFFFFFFF
        return (state & 0xFFFF) / 65535.0 - 0.5

    while len(found) < PILE_POINTS:
        point = np.array([random(), random(), random()])
        if point @ point <= 0.25:
            found.append(PILE_RADIUS * point / np.linalg.norm(point))
    return np.array(found)


def convex_pile(layers: int = PILE_LAYERS) -> dal.Scene:
    """8 × 8 columns of 80 equal hulls of 32 corners, which collapse into a pile."""
    scene, points = _ground("convex pile", 0.6), _pile_points()
    shape = dal.ConvexHull(points)
    spread = 2.0 * PILE_RADIUS
    for layer in range(layers):
        for i in range(PILE_ROWS):
            for j in range(PILE_ROWS):
                at = ((i - 0.5 * PILE_ROWS) * spread, (j - 0.5 * PILE_ROWS) * spread, PILE_RADIUS + spread * layer)
                scene.add_body(f"hull {layer} {i} {j}", shape, density=1000.0, position=at)
    return scene


def boxes_poured(count: int = 8000, seed: int = 1) -> dal.Scene:
    """Boxes of 0.15 to 0.25 m over a bin, in eight layers."""
    rng = np.random.default_rng(seed)
    scene = _ground(f"{count} boxes poured", 0.5)
    across = max(3, round((count / BOX_LAYERS) ** 0.5))
    side = BOX_SPACING * across + 0.1
    for i, (x, y) in enumerate(((-1, 0), (1, 0), (0, -1), (0, 1))):
        size = (0.2, side + 0.4, 4.0) if x else (side + 0.4, 0.2, 4.0)
        at = (0.5 * (side + 0.2) * x, 0.5 * (side + 0.2) * y, 2.0)
        scene.add_obstacle(f"wall {i}", dal.Box(*size), position=at)
    for i in range(count):
        layer, place = divmod(i, across * across)
        column, row = divmod(place, across)
        middle = 0.5 * (across - 1)
        at = (BOX_SPACING * (column - middle), BOX_SPACING * (row - middle), 0.3 + BOX_LAYER * layer)
        q = rng.normal(size=4)
        scene.add_body(
            f"box {i}",
            dal.Box(*rng.uniform(0.15, 0.25, 3)),
            density=1000.0,
            orientation=q / np.linalg.norm(q),
            position=at,
        )
    return scene
