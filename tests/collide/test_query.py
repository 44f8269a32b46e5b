"""Distances, depths and rays against coal, against support functions, and in degenerate positions."""

import itertools

import numpy as np
import pytest
from numba import config

from dalembert import Box, Capsule, Cone, ConvexHull, Cylinder, Ellipsoid, Sphere
from dalembert.collide.query import closest_points, overlap, ray_cast

from .oracle import KINDS, coal_distance, gap_along, placed, random_pair, random_rotation

PAIRS = list(itertools.combinations_with_replacement(KINDS, 2))
TRIALS = 3 if config.DISABLE_JIT else 60
EYE = np.eye(3)


@pytest.mark.parametrize(("kind_a", "kind_b"), PAIRS)
def test_closest_points_satisfy_the_optimality_conditions_and_agree_with_coal(kind_a, kind_b):
    coal = pytest.importorskip("coal")
    rng = np.random.default_rng(PAIRS.index((kind_a, kind_b)))
    apart = 0
    for _ in range(TRIALS):
        collision = random_pair(kind_a, kind_b, rng)
        distance, normal, p, q = closest_points(collision, 0, 1)
        assert np.linalg.norm(normal) == pytest.approx(1, abs=1e-14)
        # Nothing is nearer than the plane through p and that through q, and p and q are that far apart: for shapes that
        # are separated, this proves the distance and the normal; for overlap, that they can be separated that way.
        assert gap_along(collision, normal) == pytest.approx(distance, abs=1e-9)
        assert q - p == pytest.approx(distance * normal, abs=1e-9)
        theirs, their_normal = coal_distance(coal, collision)
        if distance > 1e-9:
            apart += 1
            assert distance == pytest.approx(theirs, abs=1e-7)
            assert normal == pytest.approx(their_normal, abs=1e-4)
        elif theirs > -10:  # coal sometimes fails, or ends deeper than need be; ours is never deeper by much
            assert distance >= theirs - 1e-5
    if not config.DISABLE_JIT:
        assert 10 < apart < TRIALS - 10


@pytest.mark.parametrize(("kind_a", "kind_b"), PAIRS)
def test_swapped_colliders_give_the_same_distance(kind_a, kind_b):
    rng = np.random.default_rng(77 + PAIRS.index((kind_a, kind_b)))
    for _ in range(TRIALS // 10 + 1):
        collision = random_pair(kind_a, kind_b, rng)
        there, back = closest_points(collision, 0, 1), closest_points(collision, 1, 0)
        assert back.distance == pytest.approx(there.distance, abs=1e-6)
        if there.distance > 1e-6:
            assert back.normal == pytest.approx(-there.normal, abs=1e-7)


@pytest.mark.parametrize("gap", [1.0, 1e-3, 1e-8, 1e-12, 0.0, -1e-10, -1e-6, -1e-3])
@pytest.mark.parametrize("shape", [Cylinder(0.3, 1.0), Cone(0.3, 1.0), Ellipsoid(0.2, 0.3, 0.5), Box(0.4, 0.6, 1)])
def test_the_gap_over_a_flat_box_and_its_normal_are_exact_near_touching(shape, gap):
    turn = random_rotation(np.random.default_rng(5))
    lowest = -closest_points(placed((Box(2, 2, 2), (0, 0, -1), EYE), (shape, (0, 0, 9), turn)), 0, 1).distance + 9
    found = closest_points(placed((Box(2, 2, 2), (0, 0, -1), EYE), (shape, (0, 0, lowest + gap), turn)), 0, 1)
    assert found.distance == pytest.approx(gap, abs=1e-14)
    assert found.normal == pytest.approx([0, 0, 1], abs=1e-10)


@pytest.mark.parametrize("gap", [0.1, 1e-5, -1e-4])
def test_a_sphere_over_an_ellipsoid_has_the_normal_of_the_ellipsoid(gap):
    axes = np.array([0.5, 0.8, 1.3])
    u = np.array([2.0, -1.0, 3.0]) / np.sqrt(14)
    point = axes**2 * u / np.linalg.norm(axes * u)
    found = closest_points(
        placed((Ellipsoid(*axes), (0, 0, 0), EYE), (Sphere(0.2), point + (0.2 + gap) * u, EYE)), 0, 1
    )
    assert found.distance == pytest.approx(gap, abs=1e-14)
    assert found.normal == pytest.approx(u, abs=1e-12)
    assert found.point_a == pytest.approx(point, abs=1e-12)


@pytest.mark.parametrize(
    ("a", "b", "depth"),
    [
        (Box(1, 2, 3), Box(1, 2, 3), 1.0),
        (Cylinder(0.5, 3), Cylinder(0.5, 3), 1.0),
        (Ellipsoid(0.5, 1, 2), Ellipsoid(0.5, 1, 2), 1.0),
        (Capsule(0.5, 1), Box(1, 2, 3), 1.0),
        (Sphere(1), Sphere(2), 3.0),
        (Capsule(1, 1), Capsule(1, 2), 2.0),
        (Box(1, 1, 1), Ellipsoid(1e-4, 2e-4, 3e-4), 0.5001),
        (Box(1, 1e-4, 1), Box(1e-4, 1, 1e-4), 0.50005),
    ],
)
def test_depth_of_concentric_shapes(a, b, depth):
    assert closest_points(placed((a, (0, 0, 0), EYE), (b, (0, 0, 0), EYE)), 0, 1).distance == pytest.approx(
        -depth, rel=1e-6
    )


def test_needles_and_size_ratios_keep_their_distance():
    needle = ConvexHull([[0, 0, 0], [1, 1e-4, 0], [1, -1e-4, 1e-4], [1, 0, -1e-4], [2, 0, 0]])
    found = closest_points(placed((needle, (0, 0, 0), EYE), (Box(1e4, 1e4, 2), (0, 0, -1.5), EYE)), 0, 1)
    assert found.distance == pytest.approx(0.5 - 1e-4, abs=1e-11)
    assert found.normal == pytest.approx([0, 0, -1], abs=1e-9)


def test_parallel_cylinders_side_by_side():
    found = closest_points(placed((Cylinder(1, 4), (0, 0, 0), EYE), (Cylinder(0.5, 2), (1.2, 1.6, 0.3), EYE)), 0, 1)
    assert found.distance == pytest.approx(0.5, abs=1e-14)
    assert found.normal == pytest.approx([0.6, 0.8, 0], abs=1e-12)


def test_overlap_tells_on_both_sides_of_touching():
    apart = placed((Box(1, 1, 1), (0, 0, 0), EYE), (Sphere(1), (1.5 + 1e-9, 0, 0), EYE))
    assert not overlap(apart, 0, 1)
    assert overlap(placed((Box(1, 1, 1), (0, 0, 0), EYE), (Sphere(1), (1.5 - 1e-9, 0, 0), EYE)), 0, 1)


def test_a_pose_that_is_not_finite_is_refused():
    collision = placed((Box(1, 1, 1), (0, 0, np.nan), EYE), (Sphere(1), (0, 0, 3), EYE))
    with pytest.raises(ValueError, match="collider 0"):
        closest_points(collision, 0, 1)
    with pytest.raises(ValueError, match="direction"):
        ray_cast(collision, (0, 0, 0), (0, 0, 0))


@pytest.mark.parametrize("kind", KINDS)
def test_a_ray_stops_where_a_thin_sphere_would_touch_and_misses_what_it_passes(kind):
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(TRIALS):
        shape, turn = KINDS[kind](rng), random_rotation(rng)
        origin = rng.normal(size=3) * 2
        aim = rng.normal(size=3) * 0.4 - origin
        collision = placed((shape, (0, 0, 0), turn), (Sphere(1e-12), origin, EYE))
        hit = ray_cast(collision, origin + 1e-11 * aim, aim, 100)
        if hit is None or hit.collider == 1:
            along = aim / np.linalg.norm(aim)
            for t in np.linspace(0, 5, 6):
                collision.places[1]["x"][:] = origin + t * along
                assert closest_points(collision, 0, 1).distance > -1e-9
            continue
        collision.places[1]["x"][:] = hit.point
        touching = closest_points(collision, 0, 1)
        if hit.distance > 0:
            hits += 1
            assert abs(touching.distance) < 1e-9
            assert gap_along(collision, hit.normal) == pytest.approx(0, abs=1e-9)
            assert hit.normal @ aim < 0
        else:
            assert touching.distance < 1e-9
    assert hits > TRIALS // 4
