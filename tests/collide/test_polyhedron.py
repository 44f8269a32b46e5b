"""Hulls against hulls: the optimum over all axes, known contacts, symmetries, memory, and degenerate cases."""

import numpy as np
import pytest

from dalembert.scene.shapes import Box, ConvexHull

from .pairs import AXES, Solid3, Two, about_z, best_gap, by_place, check_points, rotation

STILL = ((0.0, 0.0, 0.0), AXES)
CUBE = 0.5 * np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], float)


def two(a, b):
    return Two(ConvexHull(a), ConvexHull(b))


def solid(pair, which, pose):
    """A collider in the world, from its tables."""
    t = pair.tables
    row = t.colliders[which]
    corners = t.vertices.reshape(-1, 3)[row.first_vertex : row.first_vertex + row.vertices]
    faces = t.faces[row.first_face : row.first_face + row.faces]
    edges = t.edges[row.first_edge : row.first_edge + row.edges]
    directions = corners[edges["head"]] - corners[edges["tail"]]
    return Solid3(corners, faces["normal"], directions / np.linalg.norm(directions, axis=1)[:, None], pose)


def cloud(rng, count=None):
    """Points of a random hull: on an ellipsoid, a prism, or anywhere in a box."""
    count = count or int(rng.integers(4, 24))
    points = rng.normal(size=(count, 3))
    kind = rng.integers(3)
    if kind == 0:
        points /= np.linalg.norm(points, axis=1)[:, None]
    elif kind == 1:
        ring = np.exp(2j * np.pi * np.arange(max(3, count // 2)) / max(3, count // 2))
        points = np.vstack([np.column_stack([ring.real, ring.imag, np.full(len(ring), z)]) for z in (-0.5, 0.5)])
    else:
        points = rng.uniform(-1, 1, (count, 3))
    return points * rng.uniform(0.3, 1.0, 3)


def near_poses(rng, a, b, closest=0.1):
    reach = np.linalg.norm(a, axis=1).max() + np.linalg.norm(b, axis=1).max()
    direction = rng.normal(size=3)
    x = rng.normal(size=3)
    return (x, rotation(rng)), (
        x + direction / np.linalg.norm(direction) * reach * rng.uniform(closest, 0.8),
        rotation(rng),
    )


def test_a_box_meets_hulls_as_the_hull_of_its_corners_does():
    rng = np.random.default_rng(11)
    touching = 0
    for _ in range(60):
        size, b = rng.uniform(0.3, 1.5, 3), cloud(rng)
        box, hull = Two(Box(*size), ConvexHull(b)), two(CUBE * size, b)
        for _ in range(3):
            poses = near_poses(rng, CUBE * size, b)
            one, other = box.meet(*poses, 0.05), hull.meet(*poses, 0.05)
            assert (one.points > 0) == (other.points > 0)
            if one.points:
                touching += 1
                np.testing.assert_allclose(one.normal, other.normal, atol=1e-9)
                assert one.separation.min() == pytest.approx(other.separation.min(), abs=1e-12)
    assert touching > 50


def test_random_hulls_agree_with_the_optimum_over_all_axes():
    rng = np.random.default_rng(1)
    worst, touching, kinds = 0.0, 0, set()
    for _ in range(120):
        a, b = cloud(rng), cloud(rng)
        pair = two(a, b)
        for _ in range(3):
            poses = near_poses(rng, a, b)
            one, other = solid(pair, 0, poses[0]), solid(pair, 1, poses[1])
            gap, _ = best_gap(one, other)
            margin = 0.02
            met = pair.meet(*poses, margin=margin)
            if gap > margin + 1e-9:
                assert met.points == 0
                continue
            assert met.points > 0
            touching += 1
            kinds.add(int(pair.tables.pairs[0].witness))
            along = (other.corners @ met.normal).min() - (one.corners @ met.normal).max()
            worst = max(worst, gap - along)
            assert met.separation.min() > along - 1e-11
            if gap < 0.0:
                check_points(met, one, other, 5e-6)
                assert met.separation.min() < along + 5e-6
    assert touching > 100 and kinds == {1, 2, 3}
    assert worst < 2e-6  # the bias towards faces


@pytest.mark.parametrize("shift", [(0.0, 0.0), (0.3, 0.0), (0.25, -0.7)])
def test_a_cube_on_a_cube_touches_at_the_corners_of_the_overlap(shift):
    met = two(CUBE, CUBE).meet(STILL, ((*shift, 0.95), AXES))
    assert met.points == 4
    assert np.array_equal(met.normal, [0.0, 0.0, 1.0])
    assert np.abs(met.separation + 0.05).max() < 1e-15
    span = [sorted((max(-0.5, s - 0.5), min(0.5, s + 0.5))) for s in shift]
    corners = {(x, y) for x in span[0] for y in span[1]}
    assert {tuple(p) for p in np.round(met.position[:, :2], 14)} == {tuple(np.round(c, 14)) for c in corners}


def test_a_prism_of_many_sides_on_a_cube_keeps_what_carries_it():
    ring = 0.4 * np.exp(2j * np.pi * np.arange(40) / 40)
    prism = np.vstack([np.column_stack([ring.real, ring.imag, np.full(40, z)]) for z in (-0.5, 0.5)])
    met = two(CUBE, prism).meet(STILL, ((0.0, 0.0, 0.999), AXES))
    assert met.points == 4
    x, y = met.position[np.argsort(np.arctan2(met.position[:, 1], met.position[:, 0])), :2].T
    area = 0.5 * abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))
    assert area > 0.99 * 2 * 0.4**2  # the square in the circle


def test_a_corner_on_a_face_and_crossed_edges_touch_at_one_point():
    z = np.ones(3) / 3**0.5
    x = np.cross(z, [1.0, 0.0, 0.0])
    x /= np.linalg.norm(x)
    met = two(CUBE, CUBE).meet(STILL, ((0.1, 0.2, 0.5 + 0.5 * 3**0.5 - 0.02), np.array([x, np.cross(z, x), z])))
    assert np.allclose(met.position, [[0.1, 0.2, 0.49]], atol=1e-14)
    lean = np.array([[1, 0, 0], [0, 0.5**0.5, -(0.5**0.5)], [0, 0.5**0.5, 0.5**0.5]])
    met = two(CUBE, CUBE).meet((np.zeros(3), lean), ((0.1, 0.2, 2**0.5 - 0.01), about_z(np.pi / 2) @ lean))
    assert met.points == 1
    assert np.allclose(met.normal, [0, 0, 1], atol=1e-15)
    assert np.allclose(met.separation, -0.01, atol=1e-14)


def test_swapping_and_moving_the_hulls_changes_only_the_point_of_view():
    rng = np.random.default_rng(2)
    compared = 0
    for _ in range(150):
        a, b = cloud(rng), cloud(rng)
        pose_a, pose_b = near_poses(rng, a, b)
        pair = two(a, b)
        one = pair.meet(pose_a, pose_b)
        other = two(b, a).meet(pose_b, pose_a)
        turn, shift = rotation(rng), rng.normal(size=3)
        moved = pair.meet(*((turn @ x + shift, turn @ r) for x, r in (pose_a, pose_b)))
        assert one.points == other.points == moved.points
        if not one.points:
            continue
        compared += 1
        assert np.allclose(one.normal, -other.normal, atol=1e-12)
        assert np.allclose(turn @ one.normal, moved.normal, atol=1e-12)
        assert np.array_equal(one.feature, moved.feature)
        assert np.allclose(one.position @ turn.T + shift, moved.position, atol=1e-10)
        assert np.allclose(one.separation, moved.separation, atol=1e-11)
        for mine, theirs in zip(by_place(one), by_place(other), strict=True):
            assert np.allclose(mine, theirs, atol=1e-10)
    assert compared > 50


def test_the_witness_changes_nothing_but_the_work():
    rng = np.random.default_rng(4)
    met = apart = 0
    kinds = set()
    for _ in range(8):
        a, b = cloud(rng, 16), cloud(rng, 16)
        with_memory, without = two(a, b), two(a, b)
        (xa, ra), (xb, rb) = near_poses(rng, a, b, 0.5)
        v, w = rng.normal(size=3) * 0.01, rotation(rng, 0.01)
        for step in range(200):
            xb = xb + v * np.cos(0.03 * step)
            rb = w @ rb
            one = with_memory.meet((xa, ra), (xb, rb), margin=0.01, forget=False)
            other = without.meet((xa, ra), (xb, rb), margin=0.01)
            assert one.points == other.points
            assert np.array_equal(one.separation, other.separation)
            assert np.array_equal(one.position, other.position)
            if one.points:
                met += 1
                assert np.array_equal(one.normal, other.normal)
            else:
                apart += 1
                kinds.add(int(with_memory.tables.pairs[0].witness))
    assert met > 200 and apart > 200 and len(kinds) > 1


def test_identical_hulls_at_one_place_part_by_their_least_width():
    slab = CUBE * [1.0, 1.0, 0.3]
    met = two(slab, slab).meet(STILL, STILL)
    assert met.points == 4
    assert abs(met.normal[2]) == 1.0
    assert np.allclose(met.separation, -0.3)


def test_a_small_hull_on_a_large_one_and_needles_agree_with_the_optimum():
    rng = np.random.default_rng(6)
    touching = 0
    for _ in range(200):
        needle = rng.random() < 0.5
        a = cloud(rng, 12) * ([1.0, 1e-4, 1e-4] if needle else 1e-4)
        b = cloud(rng, 12)
        pair = two(a, b)
        turn_a, turn_b = rotation(rng), rotation(rng)
        corner = b[rng.integers(len(b))] * 0.9
        poses = (turn_b @ corner + rng.normal(size=3) * 2e-5, turn_a), (np.zeros(3), turn_b)
        one, other = solid(pair, 0, poses[0]), solid(pair, 1, poses[1])
        gap, _ = best_gap(one, other)
        met = pair.meet(*poses)
        if abs(gap) < 1e-9:
            continue
        assert (met.points > 0) == (gap < 0.0)
        if gap < 0.0:
            touching += 1
            along = (other.corners @ met.normal).min() - (one.corners @ met.normal).max()
            assert along > gap - 1e-6 * (1.0 if needle else 1e-4)
    assert touching > 50


def test_hulls_of_200_corners_agree_with_the_optimum_over_all_axes():
    rng = np.random.default_rng(7)
    ball = rng.normal(size=(200, 3))
    ball /= np.linalg.norm(ball, axis=1)[:, None]
    pair = two(ball, ball)
    poses = STILL, ((1.5, 0.5, 0.0), rotation(rng))
    met = pair.meet(*poses)
    one, other = solid(pair, 0, poses[0]), solid(pair, 1, poses[1])
    along = (other.corners @ met.normal).min() - (one.corners @ met.normal).max()
    gap, _ = best_gap(one, other)
    assert met.points > 0
    assert gap - 1e-6 <= along < gap + 1e-12
    check_points(met, one, other, 1e-9)


def test_faces_of_100_corners_carry_as_far_out_as_they_reach():
    ring = np.exp(2j * np.pi * np.arange(100) / 100)
    prism = np.vstack([np.column_stack([ring.real, ring.imag, np.full(100, z)]) for z in (-0.5, 0.5)])
    met = two(prism, prism).meet(STILL, ((0.0, 0.0, 0.999), AXES))
    assert met.points == 4
    assert np.allclose(np.hypot(met.position[:, 0], met.position[:, 1]), 1.0, atol=3e-3)


def test_not_a_number_meets_nothing():
    assert two(CUBE, CUBE).meet(STILL, ((np.nan, 0.0, 0.0), AXES)).points == 0
    assert two(CUBE, CUBE).meet(STILL, ((0.0, 0.0, 0.0), AXES * np.nan)).points == 0


def test_the_depth_agrees_with_coal():
    coal = pytest.importorskip("coal")
    rng = np.random.default_rng(9)
    compared = 0
    for _ in range(60):
        a, b = cloud(rng, 16), cloud(rng, 16)
        pair = two(a, b)
        poses = near_poses(rng, a, b, 0.5)
        met = pair.meet(*poses)
        shapes = []
        for points in (a, b):
            corners = coal.StdVec_Vec3s()
            for p in points:
                corners.append(p)
            shapes.append(coal.Convex.convexHull(corners, False, ""))
        moves = [coal.Transform3s(np.asarray(r), np.asarray(x, float)) for x, r in poses]
        result = coal.CollisionResult()
        coal.collide(shapes[0], moves[0], shapes[1], moves[1], coal.CollisionRequest(), result)
        assert (met.points > 0) == result.isCollision()
        if met.points:
            contact = result.getContact(0)
            compared += 1
            assert abs(contact.penetration_depth - met.separation.min()) < 1e-5
    assert compared > 10
