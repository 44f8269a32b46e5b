"""Spheres and capsules: known contacts, distances to points sampled by brute force, symmetries, coincident centres."""

import numpy as np
import pytest

from dalembert.scene.shapes import Box, Capsule, Cylinder, Sphere

from .pairs import AXES, Two, rotation

STILL = ((0.0, 0.0, 0.0), AXES)
ALONG_X = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])


@pytest.mark.parametrize("gap", [-0.3, 0.0, 0.01])
def test_spheres_touch_on_the_line_of_centres(gap):
    n = np.array([2.0, -1.0, 2.0]) / 3.0
    met = Two(Sphere(0.5), Sphere(0.2)).meet(STILL, ((0.7 + gap) * n, AXES), margin=0.02)
    assert met.points == 1
    assert np.allclose(met.normal, n, atol=1e-15)
    assert np.allclose(met.separation, gap, atol=1e-15)
    assert np.allclose(met.position, (0.5 + gap / 2) * n, atol=1e-15)


def test_spheres_beyond_the_margin_do_not_meet():
    assert Two(Sphere(0.5), Sphere(0.2)).meet(STILL, ((0.73, 0, 0), AXES), margin=0.02).points == 0


def test_coincident_centres_part_along_a_fixed_normal():
    met = Two(Sphere(0.5), Sphere(0.2)).meet(STILL, STILL)
    assert np.array_equal(met.normal, [0, 0, 1]) and np.allclose(met.separation, -0.7)
    met = Two(Sphere(0.5), Capsule(0.2, 1.0)).meet(STILL, STILL)
    assert np.array_equal(met.normal, [1, 0, 0]) and np.allclose(met.separation, -0.7)
    met = Two(Capsule(0.5, 1.0), Capsule(0.2, 1.0)).meet(STILL, STILL)
    assert np.array_equal(met.normal, [1, 0, 0]) and np.allclose(met.separation, -0.7)
    met = Two(Capsule(0.5, 1.0), Capsule(0.2, 1.0)).meet(STILL, ((0, 0, 0), ALONG_X))
    assert abs(met.normal[1]) == 1.0 and np.allclose(met.separation, -0.7)


def test_parallel_capsules_touch_at_the_ends_of_what_they_share():
    pair = Two(Capsule(0.5, 2.0), Capsule(0.25, 2.0))
    met = pair.meet(STILL, ((0.0, 0.74, 0.5), AXES))
    assert met.points == 2
    assert np.allclose(met.normal, [0, 1, 0])
    assert np.allclose(met.separation, -0.01)
    assert np.allclose(met.position, [[0, 0.495, -0.5], [0, 0.495, 1.0]])
    turned = pair.meet(STILL, ((0.0, 0.74, 0.5), np.diag([1.0, -1.0, -1.0])))
    assert np.allclose(np.sort(turned.position[:, 2]), [-0.5, 1.0])
    assert pair.meet(STILL, ((0.0, 0.0, 2.7), AXES)).points == 1  # one on the other


def brute_axis(capsule, pose, count=4001):
    x, turn = pose
    s = np.linspace(-0.5, 0.5, count) * capsule.length
    return np.asarray(x) + s[:, None] * np.asarray(turn)[:, 2]


def test_capsules_agree_with_the_nearest_of_many_points():
    rng = np.random.default_rng(1)
    for _ in range(40):
        a, b = (Capsule(*rng.uniform(0.1, 1.0, 2)) for _ in range(2))
        poses = (rng.normal(size=3), rotation(rng)), (rng.normal(size=3), rotation(rng))
        p, q = brute_axis(a, poses[0], 501), brute_axis(b, poses[1], 501)
        distance = np.linalg.norm(p[:, None] - q[None], axis=2).min()
        met = Two(a, b).meet(*poses, margin=100.0)
        nearest = np.argmin(met.separation)
        assert -1e-12 < distance - (met.separation[nearest] + a.radius + b.radius) < 3e-3 * distance + 1e-5
        swapped = Two(b, a).meet(poses[1], poses[0], margin=100.0)
        assert np.allclose(swapped.normal, -met.normal, atol=1e-12)
        assert np.allclose(swapped.position[np.argmin(swapped.separation)], met.position[nearest], atol=1e-12)


def turned(yaw, pitch):
    """The orientation of a body whose axis is along x, turned by small angles about z and then y (rad)."""
    c, s = np.cos([yaw, pitch]), np.sin([yaw, pitch])
    return (
        np.array([[c[0], -s[0], 0], [s[0], c[0], 0], [0, 0, 1]])
        @ np.array([[c[1], 0, s[1]], [0, 1, 0], [-s[1], 0, c[1]]])
        @ ALONG_X
    )


@pytest.mark.parametrize("shapes", [
    (Capsule(0.15, 2.0), Capsule(0.1, 1.5)), (Cylinder(0.15, 2.0), Cylinder(0.1, 1.5)),
    (Capsule(0.15, 2.0), Cylinder(0.1, 1.5)),
])  # fmt: skip
@pytest.mark.parametrize("yaw", [0.002, 0.01, 0.05, 0.2])
@pytest.mark.parametrize("pitch", [0.0, 0.0005])
def test_round_sides_that_are_nearly_parallel_have_contacts_beside_the_nearest_points(shapes, yaw, pitch):
    """With one, which a small turn moves from end to end, piles of logs sank into each other and never came to rest."""
    a, b = shapes
    lower, upper = ((0, 0, 0), ALONG_X), ((0.1, 0, 0.2501), turned(yaw, pitch))
    met = Two(a, b).meet(lower, upper, margin=0.01)
    assert met.points >= 2
    p, q = brute_axis(a, lower), brute_axis(b, upper)
    between = np.linalg.norm(p[:, None] - q[None, ::20], axis=2)
    assert met.separation.min() + 0.25 < between.min() + 1e-6
    at = met.position[:, 0]
    for position, separation in zip(met.position, met.separation, strict=True):
        place = np.argmin(np.abs(p[:, 0] - position[0]))
        gap = np.linalg.norm(p[place] - q, axis=1).min() - 0.25
        assert abs(separation - gap) < 0.05 * abs(gap) + 2e-6, (position, separation, gap)
    # What they have in common, or as far as the normals are within 0.1 rad
    assert at.max() - at.min() > 0.9 * min(1.5, 0.1 * 0.25 / yaw)


def test_a_sphere_agrees_with_the_nearest_of_many_points_of_a_capsule():
    rng = np.random.default_rng(2)
    for _ in range(40):
        a, b = Sphere(rng.uniform(0.1, 1.0)), Capsule(*rng.uniform(0.1, 1.0, 2))
        poses = (rng.normal(size=3), AXES), (rng.normal(size=3), rotation(rng))
        distance = np.linalg.norm(brute_axis(b, poses[1]) - poses[0][0], axis=1).min()
        met = Two(a, b).meet(*poses, margin=100.0)
        assert -1e-12 < distance - (met.separation[0] + a.radius + b.radius) < 1e-6


def test_a_sphere_on_a_box_touches_the_nearest_point_of_face_edge_or_corner():
    rng = np.random.default_rng(3)
    for _ in range(60):
        sides, turn, x = rng.uniform(0.3, 2.0, 3), rotation(rng), rng.normal(size=3)
        local = rng.uniform(-1.5, 1.5, 3)
        nearest = np.clip(local, -sides / 2, sides / 2)
        met = Two(Sphere(0.4), Box(*sides)).meet((x + turn @ local, AXES), (x, turn), margin=10.0)
        distance = np.linalg.norm(local - nearest)
        if distance > 0.0:
            assert np.allclose(met.normal, turn @ (nearest - local) / distance, atol=1e-12)
            assert abs(met.separation[0] - (distance - 0.4)) < 1e-13
            middle = local + (nearest - local) / distance * (0.4 + met.separation[0] / 2)
            assert np.allclose(met.position, x + turn @ middle, atol=1e-13)


def test_a_centre_inside_the_box_leaves_by_the_nearest_face():
    pair = Two(Sphere(0.1), Box(2.0, 2.0, 2.0))
    met = pair.meet(((0.2, -0.7, 0.5), AXES), STILL)
    assert np.array_equal(met.normal, [0, 1, 0])  # from the sphere to the box: it leaves to −y
    assert np.allclose(met.separation, -0.4)
    assert np.allclose(met.position, [[0.2, -0.8, 0.5]])
    assert np.allclose(pair.meet(STILL, STILL).separation, -1.1)


def test_not_a_number_meets_nothing():
    for a, b in [(Sphere(1.0), Sphere(1.0)), (Sphere(1.0), Box(1, 1, 1)), (Capsule(1.0, 1.0), Capsule(1.0, 1.0))]:
        assert Two(a, b).meet(STILL, ((np.nan, 0, 0), AXES)).points == 0
