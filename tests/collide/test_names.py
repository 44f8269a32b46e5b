"""Points of contact keep their names, and so their impulses, where bodies at rest move by rounding."""

import numpy as np
import pytest

from dalembert.collide.curved import WITNESS_FEATURE
from dalembert.collide.tables import EDGE_EDGE, FACE_A, FACE_B
from dalembert.scene.shapes import Box, Cone, ConvexHull, Cylinder

from .pairs import AXES, Two, about_z, rotation

LYING = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
ANGLES = 2.0 * np.pi * np.arange(7) / 7.0


def prism(radius, height):
    """A prism of seven sides."""
    ring = radius * np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
    return ConvexHull(np.vstack([np.column_stack([ring, np.full(7, z)]) for z in (-0.5 * height, 0.5 * height)]))


def named(met):
    """The places of the points by name; without that of the lowest point of a rim, which moves along it."""
    places = dict(zip(met.feature.tolist(), met.position, strict=True))
    places.pop(WITNESS_FEATURE, None)
    return places


class Names:
    """The places of all points seen so far, by name: each name has one place, and each place one name."""

    def __init__(self):
        self.known = {}

    def add(self, met):
        for name, place in named(met).items():
            assert np.linalg.norm(self.known.setdefault(name, place) - place) < 1e-3

    def check(self):
        places = np.array(list(self.known.values()))
        apart = np.linalg.norm(places[:, None] - places, axis=2) + np.eye(len(places))
        assert apart.min() > 1e-3


@pytest.mark.parametrize(
    "lower, upper",
    [(Box(1.0, 0.8, 0.2), Box(0.7, 0.9, 0.2)), (prism(0.6, 0.2), prism(0.5, 0.2))],
    ids=["boxes", "hulls"],
)
def test_the_names_of_points_do_not_depend_on_which_feature_defines_the_normal(lower, upper):
    """A face of either, or two edges: for bodies that lie on each other that changes with the rounding of their poses."""
    rng = np.random.default_rng(4)
    pair, seen, names = Two(lower, upper), set(), Names()
    for _ in range(300):
        pose = (0.2, 0.1, 0.2 - 1e-5), about_z(0.3) @ rotation(rng, 1e-4 * rng.random())
        met = pair.meet((np.zeros(3), AXES), pose, margin=0.05)
        seen.add(int(pair.tables.pairs[0].witness))
        names.add(met)
    assert seen == {FACE_A, FACE_B, EDGE_EDGE}
    names.check()


@pytest.mark.parametrize(
    "shape, turn, height",
    [(Cylinder(0.3, 0.4), AXES, 0.3), (Cylinder(0.1, 0.6), LYING, 0.2), (Cone(0.3, 0.4), AXES, 0.3)],
    ids=["standing cylinder", "lying cylinder", "cone"],
)
def test_the_names_of_points_on_a_box_do_not_change_under_noise(shape, turn, height):
    rng = np.random.default_rng(5)
    pair, names = Two(Box(0.45, 0.45, 0.2), shape), Names()
    for _ in range(100):
        pose = (0.02, 0.01, height - 1e-7), rotation(rng, 1e-6) @ about_z(0.3) @ turn
        met = pair.meet((np.zeros(3), rotation(rng, 1e-6)), pose, margin=0.01)
        assert met.points >= 2
        names.add(met)
    names.check()


@pytest.mark.parametrize(
    "lower, upper, height, noise",
    [
        (Box(1.0, 1.0, 0.2), Box(1.0, 1.0, 0.2), 0.2, 1e-6),
        (prism(0.6, 0.2), prism(0.6, 0.2), 0.2, 2e-6),
        (prism(0.6, 0.2), Cylinder(0.55, 0.2), 0.2, 1e-6),
        (Box(2.0, 2.0, 0.2), Cylinder(0.55, 0.2), 0.2, 1e-6),
    ],
    ids=["boxes", "hulls", "cylinder on a hull", "cylinder on a box"],
)
def test_the_corners_that_bore_force_stay_where_others_beside_them_are_hardly_deeper(lower, upper, height, noise):
    """The patch has more than four corners, and poses of bodies at rest are noisy. Bodies that lose a corner that bears them
    fall onto another one, and back. noise : rad."""
    rng = np.random.default_rng(6)
    pair = Two(lower, upper)
    bodies = (np.zeros(3), AXES), ((0.01, 0.02, height - 1e-6), about_z(0.35))
    first = pair.meet(*bodies, margin=0.05)
    assert first.points == 4
    before, without, lost = set(first.feature.tolist()), 0, 0
    for _ in range(50):
        tilted = bodies[1][0], about_z(0.35) @ rotation(rng, noise)
        without += len(before - set(pair.meet(bodies[0], tilted, margin=0.05).feature.tolist()))
        kept = pair.meet(bodies[0], tilted, margin=0.05, loaded=list(before))
        lost += len(before - set(kept.feature.tolist()))
        assert kept.points == 4
    assert without > 30
    assert lost < 0.5 * without
