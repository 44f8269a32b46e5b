"""Boxes against boxes: known contacts, the optimum over all axes, symmetries, memory, and degenerate cases."""

import numpy as np
import pytest

from dalembert.scene.shapes import Box

from .pairs import AXES, Two, about_z, best_gap, box, by_place, check_points, rotation

STILL = ((0.0, 0.0, 0.0), AXES)


def two(a=(1.0, 1.0, 1.0), b=(1.0, 1.0, 1.0)):
    return Two(Box(*a), Box(*b))


@pytest.mark.parametrize("gap", [-0.1, -1e-9, 0.0, 0.01])
@pytest.mark.parametrize("shift", [(0.0, 0.0), (0.3, 0.0), (0.25, -0.7), (-0.5, 0.5)])
def test_a_box_on_a_box_touches_at_the_corners_of_the_overlap(gap, shift):
    met = two().meet(STILL, ((*shift, 1.0 + gap), AXES), margin=0.02)
    assert met.points == 4
    assert np.array_equal(met.normal, [0.0, 0.0, 1.0])
    assert np.abs(met.separation - gap).max() < 1e-15
    span = [sorted((max(-0.5, s - 0.5), min(0.5, s + 0.5))) for s in shift]
    corners = {(x, y) for x in span[0] for y in span[1]}
    assert {tuple(p) for p in np.round(met.position[:, :2], 14)} == {tuple(np.round(c, 14)) for c in corners}
    assert np.abs(met.position[:, 2] - (0.5 + 0.5 * gap)).max() < 1e-15


def test_a_box_turned_by_45_degrees_keeps_four_corners_of_the_octagon():
    met = two().meet(STILL, ((0.0, 0.0, 0.99), about_z(np.pi / 4)))
    assert met.points == 4
    side = np.tan(np.pi / 8)
    assert np.allclose(np.sort(np.abs(met.position[:, :2]), axis=1), [0.5 * side, 0.5], atol=1e-14)
    x, y = met.position[np.argsort(np.arctan2(met.position[:, 1], met.position[:, 0])), :2].T
    area = 0.5 * abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))
    octagon = 2 * side  # of a square of side 1: 2 (√2 − 1)
    assert area > 0.7 * octagon


def test_crossed_edges_touch_at_one_point():
    turn_a = np.array([[1, 0, 0], [0, 0.5**0.5, -(0.5**0.5)], [0, 0.5**0.5, 0.5**0.5]])
    turn_b = about_z(np.pi / 2) @ turn_a
    height = 2**0.5 - 0.01
    met = two().meet((np.zeros(3), turn_a), ((0.1, 0.2, height), turn_b))
    assert met.points == 1
    assert np.allclose(met.normal, [0, 0, 1], atol=1e-15)
    assert np.allclose(met.separation, -0.01, atol=1e-14)
    assert np.allclose(met.position, [[0.1, 0.0, 0.5 * height]], atol=1e-14)


def test_a_corner_on_a_face_touches_at_the_corner():
    z = np.ones(3) / 3**0.5
    x = np.cross(z, [1.0, 0.0, 0.0])
    x /= np.linalg.norm(x)
    turn = np.array([x, np.cross(z, x), z])  # takes the diagonal to z
    met = two().meet(STILL, ((0.1, 0.2, 0.5 + 0.5 * 3**0.5 - 0.02), turn))
    assert met.points == 1
    assert np.allclose(met.normal, [0, 0, 1])
    assert np.allclose(met.separation, -0.02, atol=1e-14)
    assert np.allclose(met.position, [[0.1, 0.2, 0.49]], atol=1e-14)


def test_boxes_that_touch_along_edges_only_meet_when_they_move():
    pair, beside = two(), ((1.0, 0.0, 1.0), AXES)
    assert pair.meet(STILL, beside, margin=0.02).points == 0
    pair.tables.places.moves = 0.01
    assert pair.meet(STILL, beside, margin=0.02).points > 0
    pair.tables.places.moves = 0.0
    assert pair.meet(STILL, ((1.0 - 2e-5, 0.0, 1.0 - 2e-5), AXES), margin=0.02).points > 0


def test_the_face_that_touched_last_stays_the_one_until_another_is_clearly_better():
    pair = two()

    def normal(x, z, forget=False):
        return tuple(np.abs(pair.meet(STILL, ((1.0 - x, 0.0, 1.0 - z), AXES), forget=forget).normal))

    assert normal(2e-5, 3e-5, forget=True) == (1.0, 0.0, 0.0)
    assert normal(2.3e-5, 2.1e-5) == (1.0, 0.0, 0.0)
    assert normal(2.3e-5, 2.1e-5, forget=True) == (0.0, 0.0, 1.0)
    assert normal(4e-5, 2e-5) == (0.0, 0.0, 1.0)


def random_poses(rng, sides_a, sides_b):
    """Two boxes near enough to touch, more or less."""
    reach = 0.5 * (np.linalg.norm(sides_a) + np.linalg.norm(sides_b))
    direction = rng.normal(size=3)
    x = rng.normal(size=3)
    d = direction / np.linalg.norm(direction) * reach * rng.uniform(0.2, 0.9)
    return (x, rotation(rng)), (x + d, rotation(rng))


def test_random_boxes_agree_with_the_optimum_over_all_axes():
    rng = np.random.default_rng(1)
    worst, touching, kinds = 0.0, 0, set()
    for _ in range(1500):
        sides_a, sides_b = rng.uniform(0.2, 2.0, (2, 3))
        pair = two(sides_a, sides_b)
        poses = random_poses(rng, sides_a, sides_b)
        a, b = box(sides_a, poses[0]), box(sides_b, poses[1])
        gap, _ = best_gap(a, b)
        margin = 0.05
        met = pair.meet(*poses, margin=margin)
        if gap > margin + 1e-9:
            assert met.points == 0
            continue
        assert met.points > 0
        touching += 1
        kinds.add(int(pair.tables.pairs[0].witness))
        along = (b.corners @ met.normal).min() - (a.corners @ met.normal).max()
        worst = max(worst, gap - along)
        assert met.separation.min() > along - 1e-12
        if gap < 0.0:
            check_points(met, a, b, 2e-6)
            assert met.separation.min() < along + 1e-6
    assert touching > 500 and kinds == {1, 2, 3}
    assert worst < 1e-6  # the bias towards faces


def test_swapping_the_boxes_turns_the_normal_and_keeps_the_points():
    rng = np.random.default_rng(2)
    compared = 0
    for _ in range(300):
        sides_a, sides_b = rng.uniform(0.2, 2.0, (2, 3))
        a, b = random_poses(rng, sides_a, sides_b)
        one, other = two(sides_a, sides_b).meet(a, b), two(sides_b, sides_a).meet(b, a)
        assert one.points == other.points
        if one.points:
            compared += 1
            assert np.allclose(one.normal, -other.normal, atol=1e-13)
            for mine, theirs in zip(by_place(one), by_place(other), strict=True):
                assert np.allclose(mine, theirs, atol=1e-11)
    assert compared > 50


def test_a_common_motion_moves_the_manifold_with_it():
    rng = np.random.default_rng(3)
    compared = 0
    for _ in range(300):
        sides_a, sides_b = rng.uniform(0.2, 2.0, (2, 3))
        a, b = random_poses(rng, sides_a, sides_b)
        turn, shift = rotation(rng), rng.normal(size=3)
        pair = two(sides_a, sides_b)
        one = pair.meet(a, b)
        moved = pair.meet(*((turn @ x + shift, turn @ r) for x, r in (a, b)))
        assert one.points == moved.points
        if one.points:
            compared += 1
            assert np.allclose(turn @ one.normal, moved.normal, atol=1e-12)
            assert np.array_equal(one.feature, moved.feature)
            assert np.allclose(one.position @ turn.T + shift, moved.position, atol=1e-10)
            assert np.allclose(one.separation, moved.separation, atol=1e-12)
    assert compared > 50


def test_the_witness_changes_nothing_but_the_work():
    rng = np.random.default_rng(4)
    met = apart = 0
    for _ in range(10):
        sides_a, sides_b = rng.uniform(0.4, 1.5, (2, 3))
        with_memory, without = two(sides_a, sides_b), two(sides_a, sides_b)
        (xa, ra), (xb, rb) = random_poses(rng, sides_a, sides_b)
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
    assert met > 300 and apart > 300


def test_resting_boxes_keep_their_features_under_noise():
    rng = np.random.default_rng(5)
    pair = two((2.0, 1.0, 0.5), (2.0, 1.0, 0.5))
    seen = set()
    for _ in range(200):
        turn = rotation(rng, 1e-9)
        met = pair.meet(STILL, (np.array([1.0, 0.0, 0.5]) + 1e-9 * rng.normal(size=3), turn), margin=1e-3)
        seen.add(tuple(met.feature))
        assert met.points == 4
        assert np.abs(met.normal - [0, 0, 1]).max() < 1e-8
    assert len(seen) == 1


def test_a_box_that_rocks_a_little_keeps_more_than_one_point():
    """Where the boxes are turned about the normal and tilted, the deepest corner of the overlap is two edges crossing."""
    turn = about_z(0.6) @ rotation(np.random.default_rng(8), 1e-4)
    pair = two()
    met = pair.meet(STILL, ((0.0, 0.0, 0.9999), turn), margin=1e-3)
    assert met.points == 4
    assert abs(met.normal[2] - 1.0) < 1e-7


@pytest.mark.parametrize("x", [0.0, 1e-17])
def test_identical_boxes_at_one_place_part_along_the_first_axis(x):
    met = two((1.0, 2.0, 3.0), (1.0, 2.0, 3.0)).meet(STILL, ((x, 0.0, 0.0), AXES))
    assert met.points == 4
    assert np.array_equal(met.normal, [1.0, 0.0, 0.0])
    assert np.allclose(met.separation, -1.0)


def test_needles_and_very_different_sizes_agree_with_the_optimum():
    rng = np.random.default_rng(6)
    touching = 0
    for _ in range(400):
        sides_a = np.array([1.0, 1e-4, 1e-4]) if rng.random() < 0.5 else np.full(3, 1e-4) * rng.uniform(1, 2, 3)
        sides_b = rng.uniform(0.5, 1.0, 3)
        turn_a, turn_b = rotation(rng), rotation(rng)
        # A point of the surface of b, with the first box somewhere on it.
        spot = rng.uniform(-0.5, 0.5, 3) * sides_b
        k = rng.integers(3)
        spot[k] = 0.5 * sides_b[k] * rng.choice([-1.0, 1.0])
        a, b = (turn_b @ spot + rng.normal(size=3) * 2e-5, turn_a), (np.zeros(3), turn_b)
        met = two(sides_a, sides_b).meet(a, b)
        solid_a, solid_b = box(sides_a, a), box(sides_b, b)
        gap, _ = best_gap(solid_a, solid_b)
        if abs(gap) < 1e-9:
            continue
        assert (met.points > 0) == (gap < 0.0)
        if gap < 0.0:
            touching += 1
            along = (solid_b.corners @ met.normal).min() - (solid_a.corners @ met.normal).max()
            assert along > gap - 1e-9
            check_points(met, solid_a, solid_b, 1e-8)
    assert touching > 100


def test_corners_that_pass_each_other_within_the_margin_are_met_early():
    """The gap of the best axis is less than the distance, and what is returned is no more than that."""
    for shift in [(1.004, 1.003, 0.0), (1.004, 1.003, 1.002), (1.004, 0.0, 0.999)]:
        met = two().meet(STILL, (shift, AXES), margin=0.005)
        distance = np.linalg.norm(np.maximum(np.array(shift) - 1.0, 0.0))
        assert met.points >= 1
        assert 0.0 < met.separation.min() <= distance
        assert np.array_equal(met.normal, [1.0, 0.0, 0.0])
    assert two().meet(STILL, ((1.006, 1.003, 0.0), AXES), margin=0.005).points == 0


def test_not_a_number_meets_nothing():
    assert two().meet(STILL, ((np.nan, 0.0, 0.0), AXES)).points == 0
    assert two().meet(STILL, ((0.0, 0.0, 0.0), AXES * np.nan)).points == 0
