"""The broad phase finds the pairs that the comparison of all with all finds, and remembers what was known of them."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.collide.broad_phase import find_pairs, place_colliders
from dalembert.collide.build import Solid, make_collision, with_room
from dalembert.collide.tables import NEED_PAIRS, NEED_ROOM, NEED_STRIPS, PAIRS, Collision
from dalembert.core.kernel import array, kernel
from dalembert.scene.shapes import HalfSpace


@kernel
def place_and_find(y: array(), bodies: int, margin: float, collision: Collision) -> int:
    bad = place_colliders(y, bodies, margin, collision)
    if bad >= 0:
        return -1 - bad
    return find_pairs(bodies, collision)


def state_of(positions, orientations=None):
    y = np.zeros((len(positions), 13))
    y[:, :3] = positions
    y[:, 3:7] = (1.0, 0.0, 0.0, 0.0) if orientations is None else orientations
    return y.ravel()


def found(collision, y, margin=0.0):
    """The collision tables (grown where they had to be), and the set of pairs."""
    while True:
        status = place_and_find(y, y.size // 13, margin, collision)
        if status != NEED_ROOM:
            break
        collision = with_room(collision, int(collision.counts[NEED_PAIRS]), 0, int(collision.counts[NEED_STRIPS]))
    assert status == 0
    count = collision.counts[PAIRS]
    pairs = collision.pairs[:count]
    keys = {frozenset((int(p.a), int(p.b))) for p in pairs}
    assert len(keys) == count  # none twice
    return collision, keys


def all_with_all(collision, boxes=None):
    """The oracle: every pair of bounded colliders of different bodies whose boxes, or fat boxes, overlap."""
    order, places = np.sort(collision.order), collision.places if boxes is None else boxes
    lower, upper, body = places.lower[order], places.upper[order], collision.colliders.body[order]
    meet = ((lower[:, None] <= upper) & (lower <= upper[:, None])).all(axis=-1) & (body[:, None] != body)
    return {frozenset((int(i), int(j))) for i, j in order[np.argwhere(np.triu(meet, 1))]}


def random_cloud(rng, count, box):
    shapes = [dal.Box(0.6, 0.3, 0.4), dal.Sphere(0.3), dal.Capsule(0.1, 0.7), dal.Ellipsoid(0.4, 0.2, 0.3),
              dal.Cone(0.3, 0.6), dal.Cylinder(0.2, 0.5), dal.ConvexHull(rng.normal(size=(12, 3)) * 0.2)]  # fmt: skip
    solids = [Solid(shapes[i % len(shapes)], i) for i in range(count)]
    quaternions = rng.normal(size=(count, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1)[:, None]
    return solids, rng.uniform(size=(count, 3)) * box, quaternions


@pytest.mark.parametrize("box", [(4.0, 4.0, 4.0), (30.0, 1.0, 1.0), (0.1, 0.1, 20.0), (8.0, 8.0, 0.0)])
def test_pairs_are_those_of_all_with_all_while_things_move(box):
    rng = np.random.default_rng(3)
    solids, positions, quaternions = random_cloud(rng, 120, box)
    collision = make_collision(solids)
    total = 0
    for _ in range(12):
        collision, keys = found(collision, state_of(positions, quaternions))
        assert keys == all_with_all(collision, collision.fat_boxes)
        assert keys >= all_with_all(collision)
        total += len(keys)
        positions = positions + rng.normal(size=positions.shape) * 0.2
    assert total > 100


def test_bodies_that_fly_through_each_other_within_the_step_are_pairs():
    """Each meets whatever its path crosses: boxes grow by how far a body may move."""
    rng = np.random.default_rng(5)
    solids, positions, quaternions = random_cloud(rng, 80, (40.0, 40.0, 40.0))
    collision = make_collision(solids)
    y = state_of(positions, quaternions)
    collision, still = found(collision, y)
    travel = rng.uniform(size=80) * 20.0 * (rng.uniform(size=80) < 0.3)  # m, of bullets among bodies at rest
    collision.travel[0:160:2] = travel
    collision, fast = found(collision, y)
    assert fast == all_with_all(collision, collision.fat_boxes) >= all_with_all(collision)
    assert len(fast) > len(still) + 50
    reach = [shape.shape.bounding_radius() for shape in solids]
    for i in range(80):
        for j in range(i):
            near = np.linalg.norm(positions[i] - positions[j]) < travel[i] + travel[j] - reach[i] - reach[j]
            if near and max(travel[i], travel[j]) > 0.0:
                assert frozenset((i, j)) in fast


@pytest.mark.parametrize("step", [0.0, 0.02, 0.5])
def test_what_a_pair_knew_is_found_again_in_whatever_order(step):
    """What is known stays with a pair while others begin and end."""
    rng = np.random.default_rng(8)
    solids, positions, quaternions = random_cloud(rng, 150, (5.0, 5.0, 3.0))
    collision = make_collision([*solids, Solid(HalfSpace(), 150, (0.0, 0.0, 1.0))])
    before, known = {}, 0
    for _ in range(8):
        collision, _ = found(collision, state_of(positions, quaternions))
        now = {}
        for pair in collision.pairs[: collision.counts[PAIRS]]:
            key = (int(pair.a), int(pair.b))
            assert pair.feature_a == before.get(key, 0)
            known += key in before
            now[key] = pair.feature_a = int(rng.integers(1, 10**9))
        before = now
        positions = positions + rng.normal(size=positions.shape) * step
    assert known > 500


def test_the_box_of_each_kind_holds_its_surface():
    rng = np.random.default_rng(5)
    solids, positions, quaternions = random_cloud(rng, 70, (3.0, 3.0, 3.0))
    collision, _ = found(make_collision(solids), state_of(positions, quaternions))
    for i, solid in enumerate(solids):
        corners = solid.shape.triangles(64)[0] @ collision.places.rotation[i].reshape(3, 3).T + positions[i]
        reach = corners.max(axis=0) - corners.min(axis=0)
        assert (corners.min(axis=0) >= collision.places.lower[i] - 1e-12).all()
        assert (corners.max(axis=0) <= collision.places.upper[i] + 1e-12).all()
        slack = collision.places.upper[i] - collision.places.lower[i] - reach
        assert slack.max() <= (1e-12 if isinstance(solid.shape, dal.Box | dal.ConvexHull) else 0.03)


def test_what_is_known_of_a_pair_is_carried_over():
    positions = np.stack([0.9 * np.arange(30), np.zeros(30), np.zeros(30)], axis=1)
    collision = make_collision([Solid(dal.Box(1.0, 1.0, 1.0), i) for i in range(30)])
    collision, keys = found(collision, state_of(positions))
    assert len(keys) == 29
    for p in range(29):
        collision.pairs.feature_a[p] = 100 + collision.pairs.a[p]
    positions[7:] += (5.0, 0.0, 0.0)  # parts the chain in two
    collision, keys = found(collision, state_of(positions))
    assert len(keys) == 28
    positions[7:] -= (5.0, 0.0, 0.0)
    collision, keys = found(collision, state_of(positions))
    kept = {int(p.a): int(p.feature_a) for p in collision.pairs[:29]}
    assert kept == {a: (0 if a == 6 else 100 + a) for a in range(29)}


def test_a_pair_that_moves_to_another_row_takes_all_of_it_along():
    positions = np.stack([0.9 * np.arange(30), np.zeros(30), np.zeros(30)], axis=1)
    collision = make_collision([Solid(dal.Box(1.0, 1.0, 1.0), i) for i in range(30)])
    collision, _ = found(collision, state_of(positions))
    rng, known = np.random.default_rng(0), {}
    for p in range(29):
        for table in (collision.pairs, collision.manifolds):
            for name in set(table.dtype.names) - {"a", "b", "facet", "clear", "left"}:
                table[name][p] = rng.integers(1, 1000, np.shape(table[name][p]))
        known[int(collision.pairs.a[p])] = collision.pairs[p].copy(), collision.manifolds[p].copy()
    positions[7:] += (5.0, 0.0, 0.0)  # one pair ends, and the last takes its row
    collision, _ = found(collision, state_of(positions))
    rows = [int(p.a) for p in collision.pairs[:28]]
    assert sorted(rows) == [a for a in range(29) if a != 6] and rows != sorted(rows)
    for p, a in enumerate(rows):
        assert collision.pairs[p] == known[a][0] and collision.manifolds[p] == known[a][1]


def test_excluded_pairs_one_body_and_two_of_the_world_are_left_out():
    box = dal.Box(1.0, 1.0, 1.0)
    pair = dal.Compound([(box, (0, 0, 0), (1, 0, 0, 0)), (box, (0.1, 0, 0), (1, 0, 0, 0))])
    solids = [Solid(pair, 0), Solid(box, 1), Solid(box, 2), Solid(box, 2)]  # body 2 is the world
    _, keys = found(make_collision(solids, excluded=[(0, 1)]), state_of(np.zeros((2, 3))))
    assert keys == {frozenset(k) for k in ((0, 3), (1, 3), (0, 4), (1, 4), (2, 3), (2, 4))}


def test_half_spaces_meet_what_reaches_them_only():
    solids = [Solid(dal.Sphere(0.5), 0), Solid(dal.Cone(0.5, 1.0), 1), Solid(HalfSpace(), 2)]
    collision = make_collision(solids)
    for height, expected in ((0.4, 2), (0.505, 2), (0.6, 0)):
        positions = [(0.0, 0.0, height), (3.0, 0.0, height)]
        assert len(found(collision, state_of(positions), margin=0.01)[1]) == expected


def test_room_is_asked_for_and_nothing_is_lost():
    rng = np.random.default_rng(1)
    solids = [Solid(dal.Sphere(1.0), i) for i in range(60)]
    _, keys = found(make_collision(solids), state_of(rng.uniform(size=(60, 3))))
    assert len(keys) == 60 * 59 // 2


def test_no_pair_is_lost_if_bodies_are_elsewhere_once_there_is_room():
    """A step that finds no room for its pairs is made again from its start, where other fat boxes overlap."""
    rng = np.random.default_rng(4)
    solids, before, quaternions = random_cloud(rng, 120, (4.0, 4.0, 4.0))
    collision, keys = found(make_collision(solids), state_of(before, quaternions))
    away = np.where(np.arange(120)[:, None] < 90, 0.1 * before, 100.0 * before)  # most in a heap, the others far apart
    assert place_and_find(state_of(away, quaternions), 120, 0.0, collision) == NEED_ROOM
    collision = with_room(collision, int(collision.counts[NEED_PAIRS]), 0, int(collision.counts[NEED_STRIPS]))
    collision, again = found(collision, state_of(before, quaternions))
    assert again == all_with_all(collision, collision.fat_boxes)
    assert len(again) >= 0.9 * len(keys) > 100


def test_no_facet_is_lost_if_bodies_are_elsewhere_once_there_is_room():
    """The same over a mesh, whose pairs are those of its facets: as in tables that were made there."""
    rng = np.random.default_rng(6)
    solids = [Solid(dal.Sphere(0.3), i) for i in range(40)] + [Solid(dal.HeightField(np.zeros((21, 21)), 0.5), 40)]
    before = rng.uniform(-4.0, 4.0, size=(40, 3)) * (1, 1, 0.02)
    heap = 0.02 * before
    heap[30:] += (0, 0, 100.0)
    facets = {}
    for name in ("fresh", "again"):
        collision, _ = facets_of(make_collision(solids), before)
        if name == "again":
            assert place_and_find(state_of(heap), 40, 0.0, collision) == NEED_ROOM
            collision = with_room(collision, int(collision.counts[NEED_PAIRS]), 0, int(collision.counts[NEED_STRIPS]))
            collision, _ = facets_of(collision, before)
        facets[name] = facets_of(collision, before)[1]
    assert facets["again"] == facets["fresh"] and len(facets["fresh"]) > 50


def facets_of(collision, positions):
    """The collision tables, and the set of pairs with the numbers of facets."""
    while (status := place_and_find(state_of(positions), len(positions), 0.0, collision)) == NEED_ROOM:
        collision = with_room(collision, int(collision.counts[NEED_PAIRS]), 0, int(collision.counts[NEED_STRIPS]))
    assert status == 0
    found = [(int(p.a), int(p.b), int(p.facet)) for p in collision.pairs[: collision.counts[PAIRS]]]
    assert len(set(found)) == len(found)  # none twice
    return collision, set(found)


def test_a_pose_that_is_not_a_number_is_reported():
    collision = make_collision([Solid(dal.Sphere(1.0), i) for i in range(3)])
    positions = np.zeros((3, 3))
    positions[1, 2] = np.nan
    assert place_and_find(state_of(positions), 3, 0.0, collision) == -2
