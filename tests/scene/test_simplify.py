"""Hulls with fewer corners: inside the original, with an error that is the Hausdorff distance."""

import numpy as np
import pytest
from scipy.optimize import nnls

import dalembert as dal
from dalembert.scene.scene_warnings import simplification_message
from dalembert.scene.shapes.convex_hull import MOST_CORNERS, contact_hull, simplify_hull


def egg(count, sizes=(0.1, 0.06, 0.04), seed=0):
    points = np.random.default_rng(seed).normal(size=(count, 3))
    return dal.ConvexHull(points / np.linalg.norm(points, axis=1)[:, None] * sizes)


def disc(count):
    angle = np.linspace(0.0, 2.0 * np.pi, count, endpoint=False)
    rim = np.stack([0.05 * np.cos(angle), 0.05 * np.sin(angle), np.zeros(count)], axis=1)
    return dal.ConvexHull(np.concatenate([rim, rim + (0.0, 0.0, 0.1)]))


def distance(point, corners):
    """From a convex hull of corners: least squares over convex combinations (a heavy row holds their sum at 1)."""
    heavy = 1e3 * np.abs(corners).max()
    weights = nnls(np.vstack([corners.T, np.full(len(corners), heavy)]), np.append(point, heavy))[0]
    return float(np.linalg.norm(weights @ corners / weights.sum() - point))


@pytest.mark.parametrize(("hull", "corners"), [(egg(500), 40), (disc(150), 60), (egg(300, (0.1, 0.1, 1e-4)), 30)])
def test_it_lies_inside_and_its_error_is_the_hausdorff_distance(hull, corners):
    simple, error = simplify_hull(hull, corners)
    assert len(simple.vertices) <= corners
    assert all((hull.vertices == corner).all(axis=1).any() for corner in simple.vertices)
    worst = max(distance(point, simple.vertices) for point in hull.vertices)
    assert error == pytest.approx(worst, rel=1e-4, abs=1e-9)
    assert error > 1e-5 * np.ptp(hull.vertices, axis=0).max()


def test_corners_that_stand_out_are_kept():
    """A box with rounded edges keeps the corners of its faces, so that it stands as it did."""
    rounding = dal.Sphere(0.01).triangles(32)[0]
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * (0.2, 0.1, 0.05)
    hull = dal.ConvexHull((corners[:, None] + rounding).reshape(-1, 3))
    simple, error = simplify_hull(hull, 200)
    assert len(hull.vertices) > 400 and error < 1e-3
    assert np.allclose(np.ptp(simple.vertices, axis=0), np.ptp(hull.vertices, axis=0), atol=1e-12)


def test_few_corners_stay_as_they_are_and_more_of_them_come_nearer():
    hull = egg(400)
    assert contact_hull(egg(MOST_CORNERS)).error == 0.0
    assert contact_hull(hull) is contact_hull(hull)
    errors = [simplify_hull(hull, corners).error for corners in (20, 60, 200, 400)]
    assert errors == sorted(errors, reverse=True) and errors[-1] == 0.0


def test_corners_that_change_nothing_are_dropped_without_a_word():
    """The top of a plate carved into hundreds of coplanar points."""
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 20), np.linspace(0, 1, 20)), axis=-1).reshape(-1, 2)
    top = np.c_[grid, 1.0 + 1e-13 * np.random.default_rng(0).normal(size=len(grid))]
    scene = dal.Scene("plate")
    hull = dal.ConvexHull(np.concatenate([top, top - (0, 0, 1)]))
    scene.add_body("plate", hull, mass=1.0, material=dal.Material())
    assert simplification_message(scene) == ""


def resting(hull, **body):
    scene = dal.Scene("resting")
    scene.add_obstacle("ground", dal.HalfSpace(), material=dal.Material(0.5))
    scene.add_body("stone", hull, mass=1.0, position=(0, 0, 0.04), material=dal.Material(0.5), **body)
    return scene


def test_a_scene_with_a_hull_of_many_corners_runs_and_says_what_was_done():
    with pytest.warns(dal.SimulationWarning, match="1 convex hull has more than 200 corners") as caught:
        run = dal.Simulation(resting(egg(1000)), dt=1e-3)
    (message,) = run.report.warnings
    assert "'stone'" in message and "mm" in message and str(caught[0].message) == message
    assert float(message.split("at most ")[1].split(" mm")[0]) == pytest.approx(
        1e3 * contact_hull(run.model.scene.bodies["stone"].shape).error, rel=1e-2
    )
    run.advance(0.2)
    assert 0.038 < run.state.position[0, 2] < 0.0401


def test_a_hull_that_is_only_seen_is_not_simplified():
    scene = dal.Scene("seen")
    scene.add_body("stone", egg(1000), mass=1.0)
    assert simplification_message(scene) == ""
