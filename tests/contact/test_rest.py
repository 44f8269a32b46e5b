"""Piles come to rest: nothing jitters, and what lies still is solved in a sweep."""

from pathlib import Path

import numpy as np

import dalembert as dal

DT = 1 / 120
PILE = Path(__file__).parent / "four_boxes_of_a_pile.npz"


def wedged():
    """Four boxes of a pile of 500 that has settled, and the sixteen around them as obstacles."""
    scene = dal.Scene("wedged", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    box = dal.Box(0.15, 0.15, 0.15)
    with np.load(PILE) as places:
        for i, (x, q) in enumerate(zip(places["fixed_position"], places["fixed_orientation"], strict=True)):
            scene.add_obstacle(f"fixed {i}", box, position=x, orientation=q)
        for i, (x, q) in enumerate(zip(places["moving_position"], places["moving_orientation"], strict=True)):
            scene.add_body(f"box {i}", box, density=1000.0, position=x, orientation=q)
    return scene


def test_boxes_that_touch_in_many_corners_do_not_fall_from_one_onto_another():
    """Two of them touch in a polygon of more than four corners, two of which are near each other and equally deep. If these
    take each other's place in every step, boxes move at 0.2 mm/s for ever."""
    run = dal.Simulation(wedged(), dt=DT)
    run.advance(0.5)
    for _ in range(30):
        run.advance(DT)
        assert np.abs(run.state.velocity).max() < 1e-7
    assert run.report.contact.unsolved == 0


def dropped(boxes, seed, ratio):
    """Boxes, balls and hulls with masses up to 1:`ratio`, dropped into a bin in layers of nine."""
    rng = np.random.default_rng(seed)
    scene = dal.Scene("dropped", material=dal.Material(0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    for i, (x, y) in enumerate(((-1, 0), (1, 0), (0, -1), (0, 1))):
        size = (0.2, 1.3, 3.0) if x else (1.3, 0.2, 3.0)
        scene.add_obstacle(f"wall {i}", dal.Box(*size), position=(0.5 * x, 0.5 * y, 1.5))
    for i in range(boxes):
        layer, place = divmod(i, 9)
        column, row = divmod(place, 3)
        points = rng.normal(size=(12, 3))
        points *= rng.uniform(0.07, 0.1) / np.linalg.norm(points, axis=1)[:, None]
        shape = (dal.Box(0.15, 0.1, 0.12), dal.ConvexHull(points), dal.Capsule(0.05, 0.1))[i % 3]
        scene.add_body(
            f"body {i}", shape, density=1000.0 * ratio ** rng.random(), orientation=rng.normal(size=4),
            position=(0.25 * (column - 1), 0.25 * (row - 1), 0.15 + 0.22 * layer),
        )  # fmt: skip
    return scene


def test_a_pile_of_all_shapes_and_masses_comes_to_rest_and_then_sleeps():
    run = dal.Simulation(dropped(27, 5, 100.0), dt=DT, sleep_after=0.5)
    run.advance(2.0)
    speeds = np.linalg.norm(run.state.velocity, axis=1)
    assert np.median(speeds) < 1e-4
    run.advance(1.25)
    assert len(run.asleep) == 27
