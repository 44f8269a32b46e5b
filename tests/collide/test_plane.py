"""Every shape against a half-space: known contacts, and the lowest of many points of the surface."""

import numpy as np
import pytest

from dalembert.scene.shapes import Box, Capsule, Cone, ConvexHull, Cylinder, Ellipsoid, HalfSpace, Sphere

from .pairs import AXES, Two, rotation

GROUND = ((0.0, 0.0, 0.0), AXES)
ALONG_X = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
OVER = np.diag([1.0, -1.0, -1.0])
CUBE = ConvexHull(0.5 * np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], float))
PLATE = np.array([0.4, 0.3, 0.004])


def on_ground(shape, turn, height, margin=0.01):
    return Two(shape, HalfSpace()).meet(((0.3, -0.2, height), turn), GROUND, margin=margin)


@pytest.mark.parametrize(
    ("shape", "turn", "height", "points"),
    [
        (Sphere(0.5), AXES, 0.5, 1),
        (Capsule(0.5, 1.0), AXES, 1.0, 1),
        (Capsule(0.5, 1.0), ALONG_X, 0.5, 2),
        (Box(1.0, 2.0, 3.0), AXES, 1.5, 4),
        (Box(1.0, 2.0, 3.0), ALONG_X, 0.5, 4),
        (CUBE, AXES, 0.5, 4),
        (Cylinder(0.5, 2.0), AXES, 1.0, 4),
        (Cylinder(0.5, 2.0), OVER, 1.0, 4),
        (Cylinder(0.5, 2.0), ALONG_X, 0.5, 2),
        (Cone(0.5, 2.0), AXES, 1.0, 4),
        (Cone(0.5, 2.0), OVER, 1.0, 1),
        (Ellipsoid(0.5, 1.0, 2.0), ALONG_X, 0.5, 1),
    ],
)
@pytest.mark.parametrize("gap", [-0.004, 0.0, 0.004])
def test_a_shape_at_rest_touches_in_as_many_points_as_hold_it_up(shape, turn, height, points, gap):
    met = on_ground(shape, turn, height + gap)
    assert met.points == points
    assert np.array_equal(met.normal, [0, 0, -1])
    assert np.abs(met.separation - gap).max() < 1e-15
    assert np.abs(met.position[:, 2] - gap / 2).max() < 1e-15
    assert np.allclose(met.position[:, :2].mean(axis=0), [0.3, -0.2], atol=1e-15)
    assert len(set(met.feature.tolist())) == points


def test_a_cone_on_its_side_touches_at_apex_and_rim():
    tilt = np.arctan2(0.5, 2.0) + np.pi / 2  # the line from the rim to the apex level, below
    c, s = np.cos(tilt), np.sin(tilt)
    turn = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    apex, rim = turn @ [0, 0, 1], turn @ [0.5, 0, -1]
    assert abs(apex[2] - rim[2]) < 1e-15
    met = on_ground(Cone(0.5, 2.0), turn, -apex[2])
    assert met.points == 2
    assert np.allclose(met.separation, 0.0, atol=1e-15)
    assert np.allclose(np.ptp(met.position[:, 0]), np.hypot(0.5, 2.0))


def surface(shape, rng):
    """Many points that include the lowest of the shape in any direction, nearly."""
    phi = np.linspace(0, 2 * np.pi, 20001)
    ring = np.column_stack([np.cos(phi), np.sin(phi)])
    match shape:
        case Cylinder(r, length):
            return np.vstack([np.column_stack([r * ring, np.full(len(phi), z)]) for z in (-length / 2, length / 2)])
        case Cone(r, height):
            return np.vstack([np.column_stack([r * ring, np.full(len(phi), -height / 2)]), [[0, 0, height / 2]]])
        case Ellipsoid(a, b, c):
            points = rng.normal(size=(200000, 3))
            return points / np.linalg.norm(points, axis=1)[:, None] * [a, b, c]
        case Box(x, y, z):
            return np.array([[i * x, j * y, k * z] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]) / 2
        case _:
            return shape.vertices


@pytest.mark.parametrize("shape", [Cylinder(0.5, 1.0), Cone(0.5, 1.0), Ellipsoid(0.2, 0.5, 1.0), Box(1, 2, 3), CUBE])
def test_the_deepest_point_is_the_lowest_of_the_surface(shape):
    rng = np.random.default_rng(1)
    points = surface(shape, rng)
    pair = Two(shape, HalfSpace())
    tolerance = 2e-4 if isinstance(shape, Ellipsoid) else 1e-7
    for _ in range(20):
        ground, x = (rng.normal(size=3), rotation(rng)), rng.normal(size=3)
        pose = (x, rotation(rng))
        up = ground[1][:, 2]
        lowest = ((points @ pose[1].T + x - ground[0]) @ up).min()
        met = pair.meet(pose, ground, margin=lowest + 0.1)
        assert np.allclose(met.normal, -up, atol=1e-15)
        assert -1e-12 < lowest - met.separation.min() < tolerance
        heights = (met.position - ground[0]) @ up
        assert np.allclose(heights, met.separation / 2, atol=1e-14)
        assert pair.meet(pose, ground, margin=lowest - 1e-3).points == 0


def test_a_hull_of_many_corners_keeps_four_that_hold_it_up():
    ring = np.exp(2j * np.pi * np.arange(32) / 32)
    prism = np.vstack([np.column_stack([ring.real, ring.imag, np.full(32, z)]) for z in (-0.5, 0.5)])
    met = on_ground(ConvexHull(prism), AXES, 0.499)
    assert met.points == 4
    x, y = (
        met.position[np.argsort(np.arctan2(met.position[:, 1] + 0.2, met.position[:, 0] - 0.3))] - [0.3, -0.2, 0]
    ).T[:2]
    area = 0.5 * abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))
    assert area > 1.99


def test_not_a_number_meets_nothing():
    for shape in (Sphere(1.0), Box(1, 1, 1), CUBE, Cylinder(1.0, 1.0), Cone(1.0, 1.0), Ellipsoid(1, 1, 1)):
        assert on_ground(shape, AXES, np.nan).points == 0


@pytest.mark.parametrize(
    ("shape", "turn", "height", "points"),
    [
        (Cylinder(0.3, 0.02), AXES, 0.01, 4),
        (Cylinder(0.3, 0.2), ALONG_X, 0.3, 2),
        (Cone(0.3, 0.4), AXES, 0.2, 4),
        (Cone(0.3, 0.4), ALONG_X, 0.3, 2),
    ],
)
def test_a_large_margin_takes_no_point_of_an_end_that_stands_and_adds_none_to_a_rim_that_rolls(
    shape, turn, height, points
):
    """Other points of a wheel that rolls fast are within the margin, but never reach the plane. The other end of a coin that
    falls fast is too, but all four points of the end that lands are needed."""
    met = on_ground(shape, turn, height + 0.1, margin=1.0)
    assert met.points == points
    if points == 4:
        np.testing.assert_allclose(met.separation, 0.1, atol=1e-12)


@pytest.mark.parametrize("turned", [AXES, OVER, ALONG_X @ OVER @ ALONG_X.T], ids=["up", "over", "across"])
@pytest.mark.parametrize("shape", [Box(*PLATE), ConvexHull(CUBE.vertices * PLATE)], ids=["box", "hull"])
def test_a_thin_plate_touches_with_its_lower_side_however_far_detection_looks(shape, turned):
    """Where it slides fast, both of its sides are within the margin."""
    rng = np.random.default_rng(5)
    corners = (CUBE.vertices * PLATE) @ turned.T
    for margin in (0.01, 0.05, 0.3):
        for _ in range(20):
            turn = rotation(rng, rng.uniform(0.0, 0.05))
            z = -(corners @ turn.T)[:, 2].min()
            met = on_ground(shape, turn @ turned, z, margin)
            for height in (corners[corners[:, 2] < 0] @ turn.T)[:, 2] + z:
                assert height > margin or np.abs(met.separation - height).min() < 1e-15
