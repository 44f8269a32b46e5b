"""What is kept while next to nothing moves is what the whole detection finds: manifolds, pairs, islands."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.collide.build import Solid, make_collision
from dalembert.collide.detect import STILL, Detector
from dalembert.collide.tables import CONTACTS, LEFT, ORDERED, PAIRS
from dalembert.scene.shapes import HalfSpace

from .pairs import rotation

CUBE = 0.5 * np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])
SHAPES = {
    "box": dal.Box(1.0, 0.8, 0.6), "sphere": dal.Sphere(0.5), "capsule": dal.Capsule(0.3, 0.8),
    "hull": dal.ConvexHull(CUBE * (1.0, 0.9, 0.7)), "cylinder": dal.Cylinder(0.4, 0.8),
}  # fmt: skip
GROUNDS = {
    "half-space": HalfSpace(), "slab": dal.Box(4.0, 4.0, 1.0), "field": dal.HeightField(np.zeros((9, 9)), 0.5),
}  # fmt: skip
MARGIN = 0.02  # m


def quaternion_of(turn):
    """(w, x, y, z) of a rotation matrix with a positive trace."""
    w = 0.5 * np.sqrt(1.0 + np.trace(turn))
    return np.array(
        [w, *(np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]) / (4 * w))]
    )


def state_of(positions, turns):
    y = np.zeros((len(positions), 13))
    y[:, :3] = positions
    y[:, 3:7] = [quaternion_of(turn) for turn in turns]
    return y.ravel()


def contacts_of(detector, y):
    """(separations, positions, normals) of what is detected, in the order of positions."""
    assert detector(y, MARGIN) == 0
    rows = detector.collision.contacts[: detector.collision.counts[CONTACTS]]
    order = np.lexsort(np.round(rows.position, 4).T)
    return rows.separation[order].copy(), rows.position[order].copy(), rows.frame[order, :3].copy()


def two_detectors(solids):
    """One that keeps manifolds, and one that never does."""
    kept, whole = Detector(make_collision(solids)), Detector(make_collision(solids))
    kept.collision.still[0] = STILL
    return kept, whole


@pytest.mark.parametrize("tilt", [0.0, 0.02])
@pytest.mark.parametrize("ground", GROUNDS.values(), ids=GROUNDS.keys())
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_a_kept_manifold_is_the_one_that_the_whole_detection_finds(shape, ground, tilt):
    """A body creeps over a ground, in steps of a tenth of the bound in random directions: separations differ by the motion
    times the angle between the faces, and by the square of the motion; positions and normals by no more than the motion."""
    rng = np.random.default_rng(11)
    solids = [Solid(shape, 0), Solid(ground, 1, (0.013, 0.027, -0.5 if isinstance(ground, dal.Box) else 0.0))]
    kept, whole = two_detectors(solids)
    low = -shape.triangles(48)[0][:, 2].min()
    x, turn = np.array([0.1, 0.2, low + 1e-4]), rotation(rng, tilt) if tilt else np.eye(3)
    bound = STILL * shape.bounding_radius()
    reused = 0
    for _ in range(60):
        x = x + 0.1 * bound * rng.uniform(-0.5, 0.5, 3)
        turn = rotation(rng, 0.1 * STILL * rng.uniform()) @ turn
        y = state_of([x], [turn])
        near, all_of_it = contacts_of(kept, y), contacts_of(whole, y)
        reused += kept.collision.pairs.drift[0] > 0.0
        assert kept.collision.pairs.drift[: kept.collision.counts[PAIRS]].max() <= bound
        if len(near[0]) == len(all_of_it[0]):
            # Points of a rim lie anywhere on it
            exact = bound if isinstance(shape, dal.Cylinder) else 4.0 * bound * (tilt + STILL) + 1e-14
            np.testing.assert_allclose(near[0], all_of_it[0], rtol=0.0, atol=exact)
            np.testing.assert_allclose(near[2], all_of_it[2], rtol=0.0, atol=4.0 * STILL)
        else:  # a corner on an edge, or at the margin, within the bound
            assert abs(len(near[0]) - len(all_of_it[0])) <= 1
        for separation, position in zip(near[0], near[1], strict=True):
            away = np.abs(all_of_it[1] - position).max(axis=1)
            assert away.min() < 4.0 * bound or separation > MARGIN - 4.0 * bound or isinstance(shape, dal.Cylinder)
    if isinstance(shape, dal.Box | dal.ConvexHull):
        assert 20 < reused < 60  # and found anew in between
    else:
        assert reused == 0  # the contact rolls over the shape


def test_boxes_on_each_other_keep_their_manifolds_and_the_islands():
    """Only separations and positions are written while a tower creeps; a body that is put elsewhere is found at once."""
    solids = [*(Solid(dal.Box(1.0, 1.0, 1.0), i) for i in range(5)), Solid(HalfSpace(), 5)]
    kept, whole = two_detectors(solids)
    positions = np.array([(0.1 * (i % 2), 0.0, 0.5 + i) for i in range(5)])
    turns = [np.eye(3)] * 5
    contacts_of(kept, state_of(positions, turns))
    kept.collision.islands.end[:] = 77  # would be written again
    positions[:, 2] -= 1e-8 * np.arange(5)
    y = state_of(positions, turns)
    near, all_of_it = contacts_of(kept, y), contacts_of(whole, y)
    np.testing.assert_allclose(near[0], all_of_it[0], rtol=0.0, atol=1e-14)
    assert kept.collision.islands.end[0] == 77
    assert kept.collision.counts[LEFT] == 0
    assert kept.collision.counts[ORDERED] == 1
    positions[4] += (0.0, 0.0, 0.5)
    near, all_of_it = contacts_of(kept, state_of(positions, turns)), contacts_of(whole, state_of(positions, turns))
    np.testing.assert_array_equal(near[0], all_of_it[0])
    assert len(near[0]) == 16


def test_half_a_turn_is_a_motion():
    """A body that turns to where it was before is found anew: no rotation looks like none."""
    kept, whole = two_detectors([Solid(dal.Box(1.0, 0.5, 0.5), 0), Solid(HalfSpace(), 1)])
    for angle in (0.0, np.pi / 2, 0.0, 2.0 * np.pi / 3, 0.0):
        y = np.zeros(13)
        y[2], y[3], y[5] = 0.45, np.cos(angle / 2), np.sin(angle / 2)
        np.testing.assert_array_equal(contacts_of(kept, y)[0], contacts_of(whole, y)[0])
    for angle in (0.3, 0.3 + np.pi, 0.3):
        y[3], y[5] = np.cos(angle / 2), np.sin(angle / 2)
        np.testing.assert_array_equal(contacts_of(kept, y)[0], contacts_of(whole, y)[0])


def test_pairs_with_facets_and_planes_are_those_of_a_fresh_detection_while_all_moves():
    """Colliders among two meshes, one of which moves, and a half-space that tilts: the points are those of tables that have
    no past."""
    rng = np.random.default_rng(4)
    heights = 0.2 * rng.normal(size=(13, 13))
    shapes = [dal.Box(0.4, 0.3, 0.2), dal.Sphere(0.2), dal.Capsule(0.1, 0.3)]
    moving = dal.Mesh(*dal.Box(1.6, 1.2, 0.4).triangles())
    solids = [*(Solid(shapes[i % 3], i) for i in range(18)), Solid(moving, 18), Solid(HalfSpace(), 19),
              Solid(dal.HeightField(heights, 0.5), 20)]  # fmt: skip
    count = 20
    positions = np.column_stack([rng.uniform(-2, 2, (count, 2)), rng.uniform(0.0, 0.6, count)])
    turns = [rotation(rng) for _ in range(18)] + [np.eye(3), np.eye(3)]
    positions[18:] = (0.3, 0.2, 0.5), (0.0, 0.0, -0.1)
    turns = [turn if np.trace(turn) > -0.5 else np.eye(3) for turn in turns]
    old, total = Detector(make_collision(solids)), 0
    for step in range(12):
        size = 0.2 if step % 3 == 0 else 0.005
        positions = positions + size * rng.normal(size=(count, 3)) * (1, 1, 0.3)
        turns = [rotation(rng, 0.02) @ turn for turn in turns]
        turns = [turn if np.trace(turn) > -0.5 else np.eye(3) for turn in turns]
        y = state_of(positions, turns)
        fresh = Detector(make_collision(solids))
        mine, theirs = contacts_of(old, y), contacts_of(fresh, y)
        keys = old.collision.pairs[: old.collision.counts[PAIRS]]
        assert len({(int(p.a), int(p.b), int(p.facet)) for p in keys}) == len(keys)
        assert len(mine[0]) == len(theirs[0])
        total += len(mine[0])
    assert total > 150
