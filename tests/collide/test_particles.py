"""Contacts of many particles with colliders: against all pairs, through walls at speed, and as bodies have them on meshes."""

import numpy as np
import pytest
from numba import config

import dalembert as dal
from dalembert.collide.build import Solid, make_collision
from dalembert.collide.particles import (
    CELLS_X,
    CONTACTS,
    NEED_CONTACTS,
    WIDE,
    detect_particles,
    make_particles,
    meet,
    with_contacts,
)
from dalembert.collide.query import closest_points, point_distances, ray_cast
from dalembert.collide.tables import NEED_ROOM
from dalembert.scene.shapes.base import HALF_SPACE

from .oracle import KINDS, random_rotation
from .test_mesh import OnMesh, terrain

EYE = np.eye(3)
MARGIN = 0.01
RUBBER = dal.Material(0.9, 0.8)


def world(*parts, margin=MARGIN, moves=0.0):
    """Tables of (shape, position, rotation), each on a body of its own, placed as `place_colliders` does; one that moves may
    do so by `moves` (m)."""
    collision = make_collision([Solid(shape, i) for i, (shape, _, _) in enumerate(parts)])
    for place, collider, (_, position, rotation) in zip(collision.places, collision.colliders, parts, strict=True):
        turn = np.asarray(rotation, float)
        place["x"][:] = position + turn @ collider["position"]
        place["rotation"][:] = turn.ravel()
        place["moves"], place["reach"] = moves, max(0.5 * margin, moves)
        place["lower"][:] = place["x"] - collider["radius"] - place["reach"]
        place["upper"][:] = place["x"] + collider["radius"] + place["reach"]
    return collision


def contacts(collision, x, v=0.0, radius=0.01, h=1 / 60, margin=MARGIN, particles=None):
    """The table of contacts of particles of rubber."""
    x = np.asarray(x, float)
    if particles is None:
        particles = make_particles(collision, np.broadcast_to(radius, len(x)), [RUBBER])
    v = np.array(np.broadcast_to(v, x.shape))
    found = detect_particles(particles, collision, x.ravel(), v.ravel(), h, margin)
    return found.contacts[: found.counts[CONTACTS]]


def crowd(rng, count, extent=3.0):
    """So many random solids."""
    kinds = list(KINDS.values())
    return [
        (kinds[i % len(kinds)](rng), rng.uniform(-extent, extent, 3), random_rotation(rng)) for i in range(count)
    ]  # fmt: skip


COUNT, SOLIDS = (60, 60) if config.DISABLE_JIT else (2000, 200)


def test_all_pairs_that_are_near_are_found_in_order():
    rng = np.random.default_rng(1)
    collision = world(*crowd(rng, SOLIDS), (dal.HalfSpace(), (0, 0, -2), EYE), (dal.Box(50, 50, 1), (0, 0, 3), EYE))
    x, radius = rng.uniform(-4, 4, (COUNT, 3)), rng.uniform(0.0, 0.05, COUNT)
    particles = make_particles(collision, radius, [RUBBER])
    found = contacts(collision, x, particles=particles)
    assert particles.counts[CELLS_X] > 1 and particles.counts[WIDE] == 2
    distance, normal = point_distances(collision, x)
    pairs = np.argwhere(distance - radius[:, None] <= MARGIN)
    assert len(pairs) > COUNT / 4
    assert np.array_equal(np.stack([found.particle, found.collider], axis=1), pairs)
    i, c = pairs.T
    assert np.abs(found.separation - (distance[i, c] - radius[i])).max() < 1e-14
    assert np.array_equal(found.normal, normal[i, c])
    assert np.abs(found.position - (x[i] - distance[i, c, None] * normal[i, c])).max() < 1e-14
    assert np.array_equal(found.body, collision.colliders.body[c])
    assert (found.impulse == 0.0).all() and (found.facet == 0).all()


def test_the_grid_finds_what_each_collider_alone_does_and_the_same_bits_each_time():
    """Of fast particles too, which pass through many cells."""
    rng = np.random.default_rng(2)
    parts = crowd(rng, SOLIDS)
    collision = world(*parts)
    x, v = rng.uniform(-4, 4, (COUNT, 3)), rng.normal(size=(COUNT, 3)) * rng.choice([0.0, 1.0, 100.0], (COUNT, 1))
    found = contacts(collision, x, v).copy()
    again = contacts(collision, x, v)
    assert found.tobytes() == again.tobytes()
    alone = []
    for i in range(len(parts)):
        others = [(0, k) for k in range(len(parts)) if k != i]
        particles = make_particles(collision, np.full(COUNT, 0.01), [RUBBER], excluded=others)
        alone.append(contacts(collision, x, v, particles=particles).copy())
    alone = np.concatenate(alone)
    alone = alone[np.lexsort((alone["collider"], alone["particle"]))]
    assert len(found) > COUNT / 10
    assert found.tobytes() == alone.tobytes()


def test_a_full_table_says_how_much_room_is_needed():
    if config.DISABLE_JIT:
        pytest.skip("the entry point takes addresses")
    from dalembert.core.tables import address_table

    collision = world((dal.HalfSpace(), (0, 0, 0), EYE))
    x = np.zeros((100, 3))
    particles = with_contacts(make_particles(collision, np.full(100, 0.1), [RUBBER]), 7)
    status = meet(x.ravel(), x.ravel(), 0.1, MARGIN, address_table(particles), address_table(collision))
    assert status == NEED_ROOM
    assert particles.counts[CONTACTS] == 7 and particles.counts[NEED_CONTACTS] == 100
    assert particles.contacts.particle.tolist() == list(range(7))
    assert len(contacts(collision, x, particles=particles)) == 100


def test_materials_and_rules_say_how_particles_touch():
    collision = world((dal.HalfSpace(), (0, 0, 0), EYE), (dal.Box(1, 1, 1), (0, 0, 0.6), EYE))
    x = np.zeros((3, 3))
    particles = make_particles(
        collision,
        np.full(3, 0.1),
        [RUBBER, dal.Material(0.0, 0.1)],
        [0, 1, 0],
        excluded=[(1, 1)],
        rules=[(0, 1, 0.3, 0.4)],
    )
    found = contacts(collision, x, particles=particles)
    assert found.particle.tolist() == [0, 0, 1, 2, 2] and found.collider.tolist() == [0, 1, 0, 0, 1]
    assert found.friction == pytest.approx([np.sqrt(0.45), 0.3, 0.0, np.sqrt(0.45), 0.3], abs=1e-15)
    assert found.restitution == pytest.approx([0.8, 0.4, 0.1, 0.8, 0.4], abs=1e-15)


WALL = dal.Box(0.01, 2, 2)
CALLBACKS = {
    "box": WALL,
    "hull": dal.ConvexHull(WALL.triangles()[0]),
    "cylinder": dal.Cylinder(1.0, 0.01),
    "ellipsoid": dal.Ellipsoid(1.0, 1.0, 0.005),
    "mesh": dal.Mesh(*WALL.triangles()),
    "sheet": dal.TriangleMesh([[0, -1, -1], [0, 1, -1], [0, 1, 1], [0, -1, 1]], [[0, 1, 2], [0, 2, 3]]),
}
LYING = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # turns z to x


@pytest.mark.parametrize("kind", CALLBACKS)
@pytest.mark.parametrize("speed", [0.5, 10.0, 100.0, 1e4])
@pytest.mark.parametrize("radius", [0.0, 0.004])
@pytest.mark.sampled(3)
def test_what_is_fast_is_held_by_a_wall_of_a_centimetre(kind, speed, radius):
    """Kept on its side of the planes of contact, a particle ends outside; one that passes beside the wall meets none."""
    rng = np.random.default_rng(3)
    wall = world((CALLBACKS[kind], (0, 0, 0), LYING if kind in ("cylinder", "ellipsoid") else EYE))
    h, tries = 1 / 60, 3 if config.DISABLE_JIT else 100
    for _ in range(tries):
        reach = speed * h
        to = np.array([0.0, *rng.uniform(-0.5, 0.5, 2)])
        way = np.array([-1.0, *rng.uniform(-1, 1, 2)])
        way *= reach / np.linalg.norm(way)
        start = to - rng.uniform(0.0, 1.0) * way
        start[0] = max(start[0], 0.0052 + radius)
        found = contacts(wall, [start], [way / h], radius)
        end = start + way
        crosses = end[0] - radius < 0.005 and abs(start + way * start[0] / -way[0])[1:].max() < 0.9
        if crosses:
            assert len(found) == 1
            n, gap = found.normal[0], found.separation[0]
            stopped = end - min(n @ way + gap, 0.0) * n
            assert (
                stopped[0] >= radius - 1e-9
                if kind == "sheet"
                else point_distances(wall, [stopped]).distance >= radius - 1e-6
            )
            assert n @ (start - found.position[0]) - radius == pytest.approx(gap, abs=1e-9)
        beside = start + [0.0, 5.0, 0.0]
        assert len(contacts(wall, [beside], [[*way[:1] / h, 0.0, 0.0]], radius)) == 0


def test_a_fast_ball_meets_a_ball_at_the_plane_between_them():
    rng = np.random.default_rng(5)
    ball = world((dal.Sphere(0.5), (0, 0, 0), EYE))
    for _ in range(5 if config.DISABLE_JIT else 100):
        way = rng.normal(size=3)
        way *= 4.0 / np.linalg.norm(way)
        across = np.cross(way, rng.normal(size=3))
        miss = rng.uniform(0.0, 0.8)
        start = -0.5 * way + miss * across / np.linalg.norm(across)
        found = contacts(ball, [start], [way * 60], radius=0.1)
        if miss > 0.6:
            assert len(found) == 0
            continue
        centre = start + way / 4.0 * (2.0 - np.sqrt(0.36 - miss**2))  # where the balls touch
        assert found.normal[0] == pytest.approx(centre / 0.6, abs=1e-4)
        assert found.separation[0] == pytest.approx((start - centre) @ centre / 0.6, abs=1e-3)


@pytest.mark.parametrize("kind", [*KINDS, "terrain"])
def test_a_fast_point_meets_what_a_ray_meets(kind):
    rng = np.random.default_rng(9)
    hits = 0
    for _ in range(4 if config.DISABLE_JIT else 100):
        shape = terrain(rng) if kind == "terrain" else KINDS[kind](rng)
        collision = world((shape, (0, 0, 0), random_rotation(rng)), margin=0.0)
        start = rng.normal(size=3)
        start *= 2.5 / np.linalg.norm(start)
        way = rng.normal(size=3) * 0.4 - start
        hit = ray_cast(collision, start, way, np.linalg.norm(way))
        found = contacts(collision, [start], [60 * way], radius=0.0, margin=0.0)
        assert len(found) == (hit is not None)
        if hit is not None:
            hits += 1
            assert found.normal[0] == pytest.approx(hit.normal, abs=1e-4)
            assert found.separation[0] == pytest.approx((start - hit.point) @ hit.normal, abs=1e-4)
            assert found.position[0] == pytest.approx(hit.point, abs=1e-4)
    assert hits > 30 or config.DISABLE_JIT


def test_a_body_that_moves_is_met_as_far_as_it_may_come():
    box = world((dal.Box(1, 1, 1), (0, 0, 0), EYE), moves=0.3)
    x = np.array([[0.5 + d, 0.0, 0.0] for d in (0.30, 0.31, 0.32)])
    assert contacts(box, x).particle.tolist() == [0, 1]  # radius and half the margin make 15 mm
    assert contacts(box, x, [[-1.0, 0.0, 0.0]]).particle.tolist() == [0, 1, 2]
    assert contacts(box, x, [[1.0, 0.0, 0.0]]).particle.tolist() == [0, 1]


@pytest.mark.parametrize("seed", range(2 if config.DISABLE_JIT else 6))
@pytest.mark.sampled(2)
def test_a_particle_on_a_terrain_has_the_contacts_of_a_sphere(seed):
    rng = np.random.default_rng(seed)
    surface, radius = terrain(rng), rng.uniform(0.05, 0.4)
    on_mesh = OnMesh(dal.Sphere(radius), surface)
    collision = world((surface, (0, 0, 0), EYE))
    points, _ = surface.triangles()
    met = 0
    for _ in range(2 if config.DISABLE_JIT else 25):
        x = points[rng.integers(len(points))] + rng.uniform(-0.25, 0.25, 3) + [0.0, 0.0, 0.7 * radius]
        bodies, found = on_mesh.meet(x, margin=MARGIN), contacts(collision, [x], radius=radius)
        if bodies is None:
            assert len(found) == 0
            continue
        met += 1
        planes = {(*np.round(n, 7) + 0.0, round(s, 9) + 0.0) for n, s in zip(-bodies[0], bodies[1], strict=True)}
        assert planes == {
            (*np.round(n, 7) + 0.0, round(s, 9) + 0.0) for n, s in zip(found.normal, found.separation, strict=True)
        }
        assert len(found) == len(planes)  # each plane once
    assert met > 8 or config.DISABLE_JIT


def test_flat_grids_are_planes_and_what_is_behind_is_left_alone():
    flat = world((dal.HeightField(np.zeros((7, 7)), 0.5), (0, 0, 0), EYE))
    rng = np.random.default_rng(6)
    x = np.array(
        [[0.0, 0.0, 0.01], [0.25, -0.25, 0.012], [0.5, 0.5, 0.0], *rng.uniform(-1.4, 1.4, (200, 3)) * [1, 1, 0.01]]
    )
    found = contacts(flat, x)
    over = np.flatnonzero(x[:, 2] >= 0.0)
    assert found.particle.tolist() == over.tolist()
    assert np.array_equal(found.normal, np.tile([0.0, 0.0, 1.0], (len(over), 1)))
    assert found.separation == pytest.approx(x[over, 2] - 0.01, abs=1e-15)
    distance, normal = point_distances(flat, x)
    assert np.isinf(distance[x[:, 2] < 0.0]).all() and (normal[x[:, 2] < 0.0] == 0.0).all()
    assert distance[over, 0] == pytest.approx(x[over, 2], abs=1e-15)


@pytest.mark.parametrize("kind", ["box", "hull", "cylinder", "cone"])
def test_a_mesh_of_a_solid_is_as_far_as_the_solid_from_what_is_outside(kind):
    rng = np.random.default_rng(7)
    shape, turn = dal.ConvexHull(KINDS[kind](rng).triangles()[0]), random_rotation(rng)
    both = world((shape, (0.3, 0.2, 0.1), turn), (dal.Mesh(*shape.triangles()), (0.3, 0.2, 0.1), turn))
    distance, normal = point_distances(both, rng.normal(size=(20 if config.DISABLE_JIT else 1000, 3)))
    outside = distance[:, 0] > 1e-9
    assert 0.1 < outside.mean() < 1.0
    assert distance[outside, 1] == pytest.approx(distance[outside, 0], abs=1e-13)
    assert np.abs(normal[outside, 1] - normal[outside, 0]).max() < 1e-5
    assert (distance[~outside, 1] > -1e-12).all()


def test_the_distance_from_a_terrain_is_that_of_its_nearest_facet_seen_from_its_front():
    rng = np.random.default_rng(11)
    surface, turn = terrain(rng), random_rotation(rng)
    both = world((surface, (0.3, 0.2, 0.1), turn), (dal.Sphere(1e-9), (0, 0, 0), EYE))
    corners = surface.triangles()[0][rng.integers(81, size=10 if config.DISABLE_JIT else 60)]
    for corner in corners:
        for height in (0.5, 0.02, -0.02):
            p = both.places[1]["x"][:] = (0.3, 0.2, 0.1) + turn @ (corner + [0.0, 0.0, height])
            distance, normal = (found[0, 0] for found in point_distances(both, [p]))
            if height < 0.0:
                assert distance == np.inf and (normal == 0.0).all()
            else:
                theirs = closest_points(both, 0, 1)
                assert distance == pytest.approx(theirs.distance + 1e-9, abs=1e-13)
                assert normal == pytest.approx(theirs.normal, abs=1e-6)


def test_a_valley_holds_from_both_sides_and_a_fast_particle_meets_what_comes_first():
    roof = np.array([[-1, -1, 1], [-1, 1, 1], [0, -1, 0], [0, 1, 0], [1, -1, 1], [1, 1, 1]], float)
    valley = world((dal.TriangleMesh(roof, [[0, 2, 1], [1, 2, 3], [2, 4, 3], [3, 4, 5]]), (0, 0, 0), EYE))
    found = contacts(valley, [[0.0, 0.3, 0.2 * np.sqrt(2)]], radius=0.2)
    assert sorted(np.sign(found.normal[:, 0])) == [-1, 1]
    assert np.abs(found.separation).max() < 1e-15
    found = contacts(valley, [[-0.1, 0.0, 0.9]], [[60.0, 0.0, -12.0]])
    assert len(found) == 1 and found.normal[0] == pytest.approx([-np.sqrt(0.5), 0.0, np.sqrt(0.5)], abs=1e-12)


def test_half_spaces_and_particles_that_are_not_finite():
    """What is not a number meets nothing, and does no harm to the others."""
    collision = world((dal.HalfSpace(), (0, 0, 0), EYE), (dal.Sphere(1), (0, 0, 0), EYE))
    assert collision.colliders.kind[0] == HALF_SPACE
    x = np.array([[np.nan, 0, 0], [5.0, 0, -1.0], [0, 0, np.inf], [5.0, 0.0, 1.0]])
    v = np.array([[0.0, 0, 0], [0, 0, 0], [np.nan, 0, 0], [0, 0, -1000]])
    found = contacts(collision, x, v)
    assert found.particle.tolist() == [1, 3] and found.separation == pytest.approx([-1.01, 0.99], abs=1e-12)
