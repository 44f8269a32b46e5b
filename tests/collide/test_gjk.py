"""Warm starts, and the manifolds of curved shapes."""

import math

import numpy as np
import pytest
from numba import config

from dalembert import Box, Capsule, Cone, ConvexHull, Cylinder, Ellipsoid, Sphere
from dalembert.collide.tables import CONVEX_PAIR, PAIR

from .oracle import KINDS, placed, random_pair, random_rotation, support_height
from .pairs import pair_by

EYE = np.eye(3)
GROUND = (Box(4, 4, 2), (0, 0, -1), EYE)


def meet(collision, margin=0.01, axis=(0, 0, 0)):
    """(normal, positions, separations, axis left in the pair) of colliders 0 and 1 by the general method."""
    pairs = np.zeros(1, PAIR).view(np.recarray)
    pairs[0].b = 1
    pairs[0]["axis"][:] = axis
    collision = collision._replace(pairs=pairs)
    found = pair_by(CONVEX_PAIR, collision, margin)
    return found.normal, found.position, found.separation, pairs[0]["axis"].copy()


def about_y(angle):
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


@pytest.mark.parametrize(
    ("shape", "turn", "height", "points"),
    [
        (Cylinder(0.5, 1), EYE, 0.5, 4),
        (Cylinder(0.5, 1), about_y(math.pi / 2), 0.5, 2),
        (Cylinder(0.5, 1), about_y(0.3), 0.5 * math.sin(0.3) + 0.5 * math.cos(0.3), 1),
        (Capsule(0.5, 1), about_y(math.pi / 2), 0.5, 2),
        (Cone(0.5, 1), EYE, 0.5, 4),
        (Ellipsoid(0.5, 0.4, 0.3), EYE, 0.3, 1),
        (Sphere(0.3), EYE, 0.3, 1),
        (Box(1, 1, 1), EYE, 0.5, 4),
        (ConvexHull([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]), EYE, 1, 4),
    ],
)
@pytest.mark.parametrize("gap", [1e-3, 0.0, -1e-3])
def test_a_shape_on_a_box_has_the_points_that_carry_it(shape, turn, height, points, gap):
    normal, position, separation, _ = meet(placed(GROUND, (shape, (0.1, 0.2, height + gap), turn)))
    assert normal == pytest.approx([0, 0, 1], abs=1e-10)
    assert len(position) == points
    assert separation == pytest.approx(gap, abs=1e-12)
    assert position[:, 2] == pytest.approx(gap / 2, abs=1e-12)
    if points == 4:
        assert np.ptp(position[:, :2], axis=0).min() > 0.6


def test_a_coin_on_its_rim_keeps_its_lowest_point_however_flat_it_lies():
    for tilt in (1e-6, 1e-4, 1e-2, 0.04, 0.06):
        turn = about_y(tilt) @ np.array([[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, 1]])
        height = 0.5 * math.sin(tilt) + 0.05 * math.cos(tilt)
        normal, _, separation, _ = meet(placed(GROUND, (Cylinder(0.5, 0.1), (0, 0, height), turn)))
        assert normal == pytest.approx([0, 0, 1], abs=1e-9)
        assert separation.min() == pytest.approx(0, abs=1e-9)


def test_a_cone_rolling_on_its_side_touches_along_it():
    turn = about_y(-(math.pi / 2 + math.atan2(0.5, 1.0)))
    low = (turn @ [[0.5, -0.5], [0, 0], [-0.5, -0.5]])[2].min()
    normal, position, separation, _ = meet(placed(GROUND, (Cone(0.5, 1), (0, 0, -low), turn)))
    assert normal == pytest.approx([0, 0, 1], abs=1e-10)
    assert len(position) == 2
    assert separation == pytest.approx(0, abs=1e-12)


def test_pairs_beyond_the_margin_have_no_points_but_leave_their_direction():
    collision = placed(GROUND, (Cylinder(0.5, 1), (0, 0, 2), EYE))
    _, position, _, axis = meet(collision)
    assert len(position) == 0
    assert axis[2] > 0.5


@pytest.mark.parametrize("kind_a", KINDS)
@pytest.mark.parametrize("kind_b", ["hull", "cylinder", "ellipsoid"])
def test_any_start_leads_to_the_same_distance_and_normal(kind_a, kind_b):
    rng = np.random.default_rng(9)
    for _ in range(2 if config.DISABLE_JIT else 40):
        collision = random_pair(kind_a, kind_b, rng)
        normal, _, separation, axis = meet(collision, margin=100)
        for start in (axis, -axis, random_rotation(rng)[0]):
            again = meet(collision, margin=100, axis=start)
            if separation.min() > 1e-6:
                assert again[2].min() == pytest.approx(separation.min(), abs=1e-9)
                assert again[0] == pytest.approx(normal, abs=1e-7)
            else:  # the depth does not depend on the start at all
                assert again[2].min() == pytest.approx(separation.min(), abs=1e-12)


@pytest.mark.parametrize("side", [40.0, 400.0, 4000.0])
@pytest.mark.parametrize(
    "shape", [Cylinder(0.3, 0.2), Capsule(0.3, 0.3), Cone(0.3, 0.4), Ellipsoid(0.3, 0.3, 0.2)], ids=repr
)
@pytest.mark.sampled(2)
def test_what_all_but_touches_a_large_box_has_the_normal_of_its_face(shape, side):
    """Above a diagonal of the face the simplex of GJK has two of its corners, and the vector between the shapes is as small
    as the rounding errors of these."""
    rng = np.random.default_rng(1)
    top = (Box(side, 0.1 * side, 1.0), (0.0, 0.0, -0.5), EYE)
    lying = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # the axis along y
    for _ in range(400):
        x, y = rng.uniform(-0.4, 0.4) * side, 1e-9 * rng.normal()
        gap = 10.0 ** rng.uniform(-14.0, -8.0) * rng.choice((-1.0, 1.0))
        turn = about_y(rng.uniform(0.0, 2.0 * math.pi)) @ lying
        collision = placed(top, (shape, (x, 0.1 * x * rng.choice((-1.0, 1.0)) + y, 0.0), turn))
        collision.places[1]["x"][2] = gap + support_height(collision, 1, np.array([0.0, 0.0, -1.0]))
        normal, _, separation, _ = meet(collision, axis=(1e-9 * rng.normal(), 0.0, 1.0))
        assert math.hypot(normal[0], normal[1]) < 1e-6
        assert min(separation) == pytest.approx(gap, abs=1e-9)
