"""Distances of points from solids: against the nearest points of a tiny ball, by what a distance must satisfy, and in
degenerate places."""

import numpy as np
import pytest
from numba import config

import dalembert as dal
from dalembert.collide.query import closest_points, point_distances

from .oracle import KINDS, placed, random_rotation

EYE = np.eye(3)
SHAPES = 3 if config.DISABLE_JIT else 30
POINTS = 10 if config.DISABLE_JIT else 40
TINY = 1e-9
CURVED = ("cylinder", "cone", "ellipsoid")
CUBE = dal.ConvexHull(0.5 * np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]))


def solids(kind):
    """Random solids of a kind, each with points about it: (shape, position, rotation, points)."""
    rng = np.random.default_rng(list(KINDS).index(kind))
    for _ in range(SHAPES):
        shape, turn, x = KINDS[kind](rng), random_rotation(rng), rng.normal(size=3)
        yield shape, x, turn, x + rng.normal(size=(POINTS, 3)) * rng.uniform(0.1, 1.2)


def measure(shape, points, x=(0, 0, 0), turn=EYE):
    """(n,) distances and (n, 3) normals."""
    found = point_distances(placed((shape, x, turn)), points)
    return found.distance[:, 0], found.normal[:, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_distances_are_those_of_a_tiny_ball(kind):
    outside = inside = 0
    for shape, x, turn, points in solids(kind):
        distances, normals = measure(shape, points, x, turn)
        both = placed((shape, x, turn), (dal.Sphere(TINY), x, EYE))
        for p, distance, normal in zip(points, distances, normals, strict=True):
            both.places[1]["x"][:] = p
            theirs = closest_points(both, 0, 1)
            if distance > 0.0:
                outside += 1
                assert distance == pytest.approx(theirs.distance + TINY, abs=1e-14)
                assert normal == pytest.approx(theirs.normal, abs=1e-14 / min(distance, 1.0))
            else:
                inside += 1
                assert distance == pytest.approx(theirs.distance + TINY, abs=1e-6 if kind in CURVED else 1e-13)
    assert min(outside, inside) > SHAPES


@pytest.mark.parametrize("kind", KINDS)
def test_the_normal_leads_to_the_surface_and_the_distance_grows_along_it(kind):
    compared = 0
    for shape, x, turn, points in solids(kind):
        distances, normals = measure(shape, points, x, turn)
        assert np.abs(np.linalg.norm(normals, axis=1) - 1.0).max() < 1e-14  # as far as the pose is a rotation
        feet = points - distances[:, None] * normals
        assert np.abs(measure(shape, feet, x, turn)[0]).max() < 1e-14
        step = 1e-5
        gradient = np.empty_like(normals)
        smooth = np.ones(len(points), bool)
        for k in range(3):
            ahead, behind = (measure(shape, points + s * EYE[k], x, turn) for s in (step, -step))
            gradient[:, k] = (ahead[0] - behind[0]) / (2 * step)
            smooth &= np.abs(ahead[1] - behind[1]).max(axis=1) < 0.01
        compared += smooth.sum()
        assert np.abs(gradient - normals)[smooth].max() < 1e-6
    assert compared > 0.8 * SHAPES * POINTS


@pytest.mark.parametrize("kind", KINDS)
def test_the_distance_changes_no_faster_than_the_point(kind):
    rng = np.random.default_rng(8)
    for shape, x, turn, points in solids(kind):
        for size in (1e-12, 1e-6, 1e-2, 1.0):
            others = points + size * rng.normal(size=points.shape)
            change = np.abs(measure(shape, points, x, turn)[0] - measure(shape, others, x, turn)[0])
            assert (change <= np.linalg.norm(others - points, axis=1) + 1e-14).all()


R2 = np.sqrt(0.5)
# The cone's side falls 1.6 over 0.6 across: its normal, and the depth of the centre below it.
SIDE = np.array([1.6, 0.0, 0.6]) / np.hypot(1.6, 0.6)
PLACES = [
    (dal.Sphere(0.5), (0, 0, 0), -0.5), (dal.Sphere(0.5), (0, 0.5, 0), 0.0),
    (dal.Capsule(0.5, 1), (0, 0, 0), -0.5), (dal.Capsule(0.5, 1), (0, 0, 0.5), -0.5), (dal.Capsule(0.5, 1), (0, 0, 1), 0.0),
    (dal.Capsule(0.5, 1), (0, 0, -3), 2.0),
    (dal.Box(1, 2, 3), (0, 0, 0), -0.5), (dal.Box(1, 2, 3), (0.5, 1, 1.5), 0.0), (dal.Box(1, 2, 3), (0.5, 0, 0), 0.0),
    (dal.Box(1, 2, 3), (0.5, 1, 0), 0.0), (dal.Box(1, 2, 3), (0.8, 1.4, 0), 0.5),
    (dal.Cylinder(0.5, 2), (0, 0, 0), -0.5), (dal.Cylinder(0.5, 0.2), (0, 0, 0), -0.1),
    (dal.Cylinder(0.5, 2), (0, 0, 1), 0.0), (dal.Cylinder(0.5, 2), (0.5, 0, -1), 0.0), (dal.Cylinder(0.5, 2), (0, 0, 3), 2.0),
    (dal.Cylinder(0.5, 2), (0.8, 0, 1.4), 0.5), (dal.Cylinder(0.5, 2), (0, -0.5, 0.3), 0.0),
    (dal.Cone(0.6, 1.6), (0, 0, 0.8), 0.0), (dal.Cone(0.6, 1.6), (0, 0, 1.8), 1.0), (dal.Cone(0.6, 1.6), (0, 0, -0.8), 0.0),
    (dal.Cone(0.6, 1.6), (0, 0, -1.8), 1.0), (dal.Cone(0.6, 1.6), (0, 0.6, -0.8), 0.0),
    (dal.Cone(0.6, 1.6), (0, -0.9, -1.2), 0.5), (dal.Cone(0.6, 1.6), (0, 0, 0), -0.8 * SIDE[2]),
    (dal.Cone(0.6, 1.6), (0, 0, -0.7), -0.1), (dal.Cone(0.6, 1.6), (0.3 + SIDE[0], 0, SIDE[2]), 1.0),
    (dal.Ellipsoid(0.2, 0.3, 0.5), (0, 0, 0), -0.2), (dal.Ellipsoid(0.5, 0.3, 0.2), (0, 0, 0), -0.2),
    (dal.Ellipsoid(0.5, 0.2, 0.3), (0, 0, 0), -0.2), (dal.Ellipsoid(0.2, 0.2, 0.5), (0, 0, 0), -0.2),
    (dal.Ellipsoid(0.4, 0.4, 0.4), (0, 0, 0), -0.4), (dal.Ellipsoid(0.2, 0.3, 0.5), (0, 0, 0.5), 0.0),
    (dal.Ellipsoid(0.2, 0.3, 0.5), (0, 0, 0.499), -0.001), (dal.Ellipsoid(0.2, 0.3, 0.5), (0, 2.3, 0), 2.0),
    (dal.Ellipsoid(0.2, 0.3, 0.5), (-0.2, 0, 0), 0.0), (dal.Ellipsoid(1e-3, 1, 1), (0, 0, 0), -1e-3),
    (dal.Ellipsoid(1e-3, 1, 1e-3), (0, 3, 0), 2.0),
    (CUBE, (0, 0, 0), -0.5), (CUBE, (0.5, 0.5, 0.5), 0.0), (CUBE, (0.5, 0, 0), 0.0), (CUBE, (0.5, 0.5, 0), 0.0),
    (CUBE, (0.8, 0.9, 0), 0.5), (CUBE, (1.5, 0.2, 0), 1.0), (CUBE, (0.5, 0.5, 2.5), 2.0),
    (dal.HalfSpace(), (3, 4, 0), 0.0), (dal.HalfSpace(), (3, 4, -2), -2.0), (dal.HalfSpace(), (0, 0, 0.1), 0.1),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "point", "distance"), PLACES, ids=lambda value: str(value)[:24])
def test_on_axes_edges_and_corners(shape, point, distance):
    found, normal = measure(shape, [point])
    assert found[0] == pytest.approx(distance, abs=1e-15)
    assert np.linalg.norm(normal[0]) == pytest.approx(1.0, abs=1e-15)
    beyond = np.array(point) + (1.0 - distance) * normal[0]  # one metre out of the surface along the normal
    assert measure(shape, [beyond])[0][0] == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("axes", [(1e-3, 1, 0.5), (0.02, 0.02, 1), (1, 1, 1e-3), (0.3, 0.3, 0.3), (1, 1 + 1e-9, 2)])
def test_the_nearest_point_of_a_thin_ellipsoid_satisfies_its_equation(axes):
    rng = np.random.default_rng(4)
    axes = np.array(axes)
    points = rng.normal(size=(400, 3)) * axes * np.repeat([1e-9, 0.3, 1.0, 10.0], 100)[:, None]
    points[::7, 0], points[1::7, 1], points[2::7, 2] = 0.0, 0.0, 0.0
    distance, normal = measure(dal.Ellipsoid(*axes), points)
    feet = points - distance[:, None] * normal
    assert np.abs(((feet / axes) ** 2).sum(axis=1) - 1.0).max() < 1e-12 / axes.min()
    gradient = feet / axes**2
    gradient /= np.linalg.norm(gradient, axis=1)[:, None]
    assert np.abs(gradient - normal).max() < 1e-12 / axes.min() ** 2
    inside = ((points / axes) ** 2).sum(axis=1) < 1.0
    assert (inside == (distance < 0.0)).all() and 100 < inside.sum() < 300
    surface = rng.normal(size=(2000, 3))
    surface *= axes / np.linalg.norm(surface, axis=1)[:, None]
    for p, d in zip(points, distance, strict=True):  # no point of the surface is nearer
        assert np.linalg.norm(surface - p, axis=1).min() >= abs(d) - 1e-15


@pytest.mark.parametrize("bound", [0.0, 0.05, 0.4])
def test_beyond_the_bound_it_is_only_said_to_be_further(bound):
    rng = np.random.default_rng(6)
    collision = placed(*((KINDS[kind](rng), rng.normal(size=3), random_rotation(rng)) for kind in KINDS))
    points = 2.0 * rng.normal(size=(200, 3))
    full, less = point_distances(collision, points), point_distances(collision, points, bound)
    near = full.distance <= bound
    assert near.any() and not near.all()
    assert np.array_equal(full.distance[near], less.distance[near])
    assert np.array_equal(full.normal[near], less.normal[near])
    assert (less.distance[~near] > bound).all()


def test_points_and_poses_that_are_not_finite_are_refused():
    collision = placed((dal.Sphere(1), (0, 0, 0), EYE))
    for points in ([[0, 0, np.nan]], [0, 0, 0], [[0, 0]]):
        with pytest.raises(ValueError, match="points must be"):
            point_distances(collision, points)
    with pytest.raises(ValueError, match="collider 0"):
        point_distances(placed((dal.Sphere(1), (np.inf, 0, 0), EYE)), [[0, 0, 0]])
