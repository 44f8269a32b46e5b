"""Clipping and reduction on their own: points, edges and polygons in any order, and what four points keep of many."""

import numpy as np
import pytest

from dalembert.collide.manifold import LABEL_B, Polygon, clip_faces
from dalembert.collide.tables import MANIFOLD, NO_FEATURE, SCRATCH
from dalembert.core.kernel import kernel, out

from .pairs import Met

SQUARE = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])


@kernel
def clip(
    count_a: int, count_b: int, x: float, y: float, z: float, margin: float, scratch: out(), manifolds: out(1, MANIFOLD)
) -> int:
    a, b = Polygon(count_a, 0), Polygon(count_b, 300)
    return clip_faces(a, b, (x, y, z), margin, margin, 0.0, 0, scratch, manifolds[0])


def meet(a, b, normal=(0.0, 0.0, 1.0), margin=0.5, loaded=()):
    scratch = np.full(SCRATCH, np.nan)
    scratch[: np.size(a)] = np.ravel(a)
    scratch[300 : 300 + np.size(b)] = np.ravel(b)
    manifolds = np.zeros(1, MANIFOLD).view(np.recarray)
    manifolds[0].feature = [*loaded, *[NO_FEATURE] * (len(manifolds[0].feature) - len(loaded))]
    found = clip(len(a), len(b), *map(float, normal), margin, scratch, manifolds)
    met = Met(manifolds[0])
    assert found == met.points
    assert len(set(met.feature.tolist())) == met.points
    return met


def area(points):
    around = np.argsort(np.arctan2(*(points - points.mean(axis=0))[:, 1::-1].T))
    x, y = points[around, :2].T
    return 0.5 * abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))


@pytest.mark.parametrize("turned", [False, True])
def test_either_order_of_corners_gives_the_overlap(turned):
    b = SQUARE + [0.5, 0.25, 0.1]
    met = meet(SQUARE, b[::-1] if turned else b)
    assert met.points == 4
    assert {tuple(p) for p in np.round(met.position, 14)} == {(x, y, 0.05) for x in (-0.5, 1.0) for y in (-0.75, 1.0)}
    assert np.allclose(met.separation, 0.1, atol=1e-15)


def test_a_tilted_polygon_keeps_the_corners_within_the_margin():
    tilted = SQUARE * 0.5 + np.outer(SQUARE[:, 0] + 1.0, [0, 0, 0.2])
    met = meet(SQUARE, tilted, margin=0.3)
    assert met.points == 2
    assert np.allclose(met.separation, 0.0, atol=1e-15)
    assert np.allclose(met.position[:, 0], -0.5)
    assert meet(SQUARE, tilted, margin=0.5).points == 4


def test_an_edge_and_a_point_on_a_face():
    edge = np.array([[0.0, 0.0, 0.02], [3.0, 0.0, 0.32]])
    met = meet(SQUARE, edge)
    assert np.allclose(met.position, [[0, 0, 0.01], [1, 0, 0.06]])
    assert np.allclose(met.separation, [0.02, 0.12])
    under = meet(-edge, SQUARE)  # the same from below
    assert np.allclose(np.sort(under.separation), [0.02, 0.12])
    met = meet(SQUARE, [[0.3, 0.4, -0.2]])
    assert np.allclose(met.position, [[0.3, 0.4, -0.1]])
    assert np.allclose(met.separation, -0.2)


def test_parallel_edges_share_two_points_and_crossing_edges_one():
    a = np.array([[0.0, 0, 0], [2, 0, 0]])
    met = meet(a, np.array([[3.0, 0, 0.1], [1, 0, 0.1]]))
    assert np.allclose(np.sort(met.position[:, 0]), [1, 2])
    assert np.allclose(met.separation, 0.1)
    met = meet(a, np.array([[0.5, -1, 0.1], [0.5, 3, 0.1]]))
    assert np.allclose(met.position, [[0.5, 0, 0.05]])
    assert np.allclose(met.separation, 0.1)


def test_edges_that_pass_each_other_by_more_than_the_margin_have_no_point():
    a = np.array([[0.0, 0, 0], [2, 0, 0]])
    for away, points in ((0.4, 1), (0.6, 0)):
        assert meet(a, np.array([[0.5, away, 0.1], [0.5, 3, 0.1]])).points == points  # across
        assert meet(a, np.array([[2.0 + away, 0, 0.1], [4.0, 0, 0.1]])).points == points  # in one line
        assert meet(a, np.array([[0.5, away, 0.1], [1.5, away, 0.1]])).points == 2 * points  # side by side
    tilted = meet(a, np.array([[0.5, -1, 0.0], [0.5, 3, 0.4]]))  # the crossing as seen along the normal
    assert np.allclose(tilted.position, [[0.5, 0, 0.05]], atol=1e-15)
    assert np.allclose(tilted.separation, 0.1)


def test_polygons_beside_each_other_are_met_only_within_the_margin():
    met = meet(SQUARE, SQUARE + [2.001, 0, 0.001], margin=0.01)
    assert met.points == 4  # a strip as wide as the margin reaches
    assert np.allclose(met.separation, 0.001, atol=1e-15)
    assert met.position[:, 0].min() > 1.0 and met.position[:, 0].max() < 1.0101
    assert meet(SQUARE, SQUARE + [2.1, 0, 0.001], margin=0.01).points == 0


def test_four_points_keep_the_deepest_and_most_of_the_area():
    rng = np.random.default_rng(1)
    for _ in range(100):
        angles = np.sort(rng.uniform(0, 2 * np.pi, int(rng.integers(5, 30))))
        ring = np.column_stack([np.cos(angles) * rng.uniform(0.2, 1), np.sin(angles), np.zeros(len(angles))]) * 0.9
        slope = rng.normal(size=2) * 0.05
        tilted = ring + np.outer(ring[:, :2] @ slope, [0, 0, 1])
        met = meet(SQUARE, tilted)
        assert met.points == 4
        assert abs(met.separation.min() - tilted[:, 2].min()) < 2e-6
        assert area(met.position) > 0.5 * area(ring)
        if len(angles) > 4:
            again = meet(SQUARE, tilted + 1e-10 * rng.normal(size=3))
            assert np.array_equal(again.feature, met.feature)


@pytest.mark.parametrize("loaded", [(), (1,), (4,), (1, 3), (2, 6), (4, 5), (1, 2, 4), (3, 5, 6)])
def test_corners_that_bore_force_stay_beside_the_deepest(loaded):
    """Of seven corners, of which the first is the deepest. Without that rule a body that rests on a corner that is left out
    falls, and in the next step the other way."""
    angles = 2.0 * np.pi * (np.arange(7) + np.array([0.0, 0.3, 0.1, -0.2, 0.25, -0.1, 0.2])) / 7.0
    corners = np.stack([np.cos(angles), np.sin(angles), 1e-3 * (1.0 - np.cos(angles))], axis=1)
    sides = [sorted((LABEL_B + (i - 1) % 7, LABEL_B + i)) for i in range(7)]
    names = [256 * last + first for first, last in sides]
    met = meet(5.0 * SQUARE, corners, loaded=[names[i] for i in loaded])
    kept = {names.index(feature) for feature in met.feature}
    assert met.points == 4
    assert kept >= {0, *loaded}
    assert np.allclose(np.sort(met.separation), np.sort(corners[list(kept), 2]), atol=1e-14)
