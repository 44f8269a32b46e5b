"""Meshes: against half-spaces, boxes, coal and brute force; inner edges are not felt, outer ones are."""

import numpy as np
import pytest
from numba import config

import dalembert as dal
from dalembert.collide import manifold as merge
from dalembert.collide.build import Solid, make_collision
from dalembert.collide.mesh import mesh_tables
from dalembert.collide.query import closest_points, overlap, ray_cast
from dalembert.collide.tables import MESH_PAIR, PAIR

from .oracle import KINDS, placed
from .pairs import AXES, Two, pair_by, rotation

CUBE = dal.ConvexHull(0.5 * np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]))
ALONG_X = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
RESTING = [
    (dal.Sphere(0.5), AXES, 0.5), (dal.Capsule(0.5, 1.0), ALONG_X, 0.5), (dal.Box(1.0, 0.8, 0.6), AXES, 0.3),
    (CUBE, AXES, 0.5), (dal.Cylinder(0.5, 0.6), AXES, 0.3), (dal.Cylinder(0.3, 0.6), ALONG_X, 0.3),
    (dal.Cone(0.5, 1.0), AXES, 0.5), (dal.Ellipsoid(0.5, 0.3, 0.4), AXES, 0.4),
]  # fmt: skip
TRIALS = 4 if config.DISABLE_JIT else 40


class OnMesh:
    """A shape, and a surface at the origin."""

    def __init__(self, shape, surface):
        pairs = np.zeros(1, PAIR).view(np.recarray)
        self.tables = make_collision([Solid(shape, 0), Solid(surface, 1)])._replace(pairs=pairs)
        place = self.tables.places[1]
        place.x, place.rotation = self.tables.colliders[1].position, AXES.ravel()

    def meet(self, x, turn=AXES, margin=0.01):
        """(normals, separations, positions, facets) of all points."""
        place = self.tables.places[0]
        place.x, place.rotation = x, np.asarray(turn).ravel()
        found = []
        for facet in range(len(self.tables.facets)):
            self.tables.pairs[:] = 0
            self.tables.pairs[0].b, self.tables.pairs[0].facet = 1, facet
            met = pair_by(MESH_PAIR, self.tables, margin)
            found += [(met.normal, s, p, facet) for s, p in zip(met.separation, met.position, strict=True)]
        return tuple(np.array(column) for column in zip(*found, strict=True)) if found else None


@pytest.fixture(params=[True, False], ids=["joined", "triangles"])
def joined(request, monkeypatch):
    """Whether triangles in one plane are joined."""
    if not request.param:
        monkeypatch.setattr(merge, "MOST_EDGES", 0)
    return request.param


@pytest.mark.parametrize(("shape", "turn", "height"), RESTING)
@pytest.mark.parametrize("gap", [-0.004, 0.0, 0.004])
def test_a_flat_grid_is_a_half_space(shape, turn, height, gap, joined):
    on_mesh = OnMesh(shape, dal.HeightField(np.zeros((7, 7)), 0.5))
    for x, y in [(0.0, 0.0), (0.25, -0.25), (0.31, -0.17)]:  # over a corner, a diagonal, and neither
        normal, separation, position, _ = on_mesh.meet((x, y, height + gap), turn)
        reference = Two(shape, dal.HalfSpace()).meet(((x, y, height + gap), turn), ((0, 0, 0), AXES), margin=0.01)
        assert np.array_equal(normal, np.tile([0.0, 0.0, -1.0], (len(normal), 1)))
        assert separation.min() == pytest.approx(reference.separation.min(), abs=1e-14)
        for point in reference.position:
            assert np.linalg.norm(position - point, axis=1).min() < (
                0.15 if isinstance(shape, dal.Cylinder | dal.Cone) else 1e-6
            )
        if joined:
            assert len(normal) == reference.points


def test_a_box_that_slides_over_inner_edges_feels_the_plane_only(joined):
    rng = np.random.default_rng(1)
    on_mesh = OnMesh(dal.Box(0.6, 0.4, 0.2), dal.HeightField(np.zeros((5, 5)), 0.5))
    for _ in range(TRIALS):
        tilt = rotation(rng, rng.uniform(0.0, 0.3))
        low = -abs(tilt[2] * [0.3, 0.2, 0.1]).sum()
        x = (*rng.uniform(-0.5, 0.5, 2), -low + rng.uniform(-0.005, 0.005))
        found = on_mesh.meet(x, tilt)
        assert np.abs(found[0] - [0.0, 0.0, -1.0]).max() < 1e-9
        assert found[1].min() == pytest.approx(x[2] + low, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.sampled(2)
def test_a_mesh_of_a_box_pushes_as_the_box_does(kind, joined):
    """The least separation and its normal are those of the nearest points of the solids, where these do not overlap."""
    rng = np.random.default_rng(list(KINDS).index(kind))
    box, x = dal.Box(1.0, 1.4, 0.8), np.zeros(3)
    tested = 0
    for _ in range(TRIALS):
        shape, turn, away = KINDS[kind](rng), rotation(rng), rng.normal(size=3)
        solids = placed((shape, x, turn), (box, (0, 0, 0), AXES))
        solids.places[0]["x"][:] = 5.0 * away / np.linalg.norm(away)
        for _ in range(4):  # up to a gap of 2 mm
            near = closest_points(solids, 0, 1)
            solids.places[0]["x"][:] += (near.distance - 0.002) * near.normal
        near = closest_points(solids, 0, 1)
        if not 1e-4 < near.distance < 0.005:
            continue
        tested += 1
        found = OnMesh(shape, dal.Mesh(*box.triangles())).meet(solids.places[0]["x"], turn)
        deepest = found[1].argmin()
        assert found[1][deepest] == pytest.approx(near.distance, abs=1e-8)
        assert found[0][deepest] == pytest.approx(near.normal, abs=1e-4)
    assert tested > TRIALS // 2


def divided(box, times):
    """The triangles of a box, each of which is divided into four, so many times."""
    vertices, faces = (np.array(part) for part in box.triangles())
    for _ in range(times):
        a, b, c = (vertices[faces[:, k]] for k in range(3))
        d, e, f = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
        corners = np.stack([a, d, f, d, b, e, f, e, c, d, e, f], 1).reshape(-1, 3)
        vertices, faces = np.unique(corners, axis=0, return_inverse=True)
        faces = faces.reshape(-1, 3)
    return vertices, faces


@pytest.mark.parametrize("times", [0, 1, 2])
@pytest.mark.parametrize("shape", [dal.Capsule(0.1, 0.4), dal.Cylinder(0.1, 0.6)])
def test_what_lies_across_an_edge_touches_it_where_it_crosses_however_finely_the_edge_is_divided(times, shape, joined):
    on_mesh = OnMesh(shape, dal.Mesh(*divided(dal.Box(0.6, 0.7, 1.2), times)))
    out, edge = np.array((0.0, -np.sin(0.35), np.cos(0.35))), np.array((1.0, 0.0, 0.0))
    for yaw in (0.3, 0.7, 1.2):
        axis = np.cos(yaw) * edge + np.sin(yaw) * np.cross(out, edge)
        turn = np.stack([out, np.cross(axis, out), axis], 1)
        for x, along in ((0.03, 0.0), (0.03, 0.12), (-0.2, -0.15), (0.1, 0.12)):
            at = np.array((x, -0.35, 0.6))
            normal, separation, position, _ = on_mesh.meet(at + 0.1001 * out + along * axis, turn, margin=3e-4)
            for n, s, p in zip(normal, separation, position, strict=True):
                assert n == pytest.approx(-out, abs=1e-9)
                assert s == pytest.approx(1e-4, abs=1e-9)
                assert p == pytest.approx(at + 0.5e-4 * out, abs=1e-7)


@pytest.mark.parametrize("times", [0, 1, 2])
@pytest.mark.parametrize("shape", [dal.Capsule(0.1, 0.4), dal.Cylinder(0.1, 0.4)])
def test_what_lies_along_an_edge_touches_it_over_its_whole_length(times, shape):
    on_mesh = OnMesh(shape, dal.Mesh(*divided(dal.Box(0.6, 0.7, 1.2), times)))
    out = np.array((0.0, -np.sin(0.35), np.cos(0.35)))
    along = np.array((1.0, 0.0, 0.0))
    turn = np.stack([out, np.cross(along, out), along], 1)
    _, separation, position, _ = on_mesh.meet(np.array((0.03, -0.35, 0.6)) + 0.1001 * out, turn, margin=3e-4)
    assert separation == pytest.approx(1e-4, abs=1e-9)
    assert (position[:, 0].min(), position[:, 0].max()) == pytest.approx((-0.17, 0.23), abs=1e-6)


def test_ridges_push_between_their_normals_and_valleys_along_them(joined):
    roof = np.array([[-1, -1, 0], [-1, 1, 0], [0, -1, 1], [0, 1, 1], [1, -1, 0], [1, 1, 0]], float)
    faces = np.array([[0, 2, 1], [1, 2, 3], [2, 4, 3], [3, 4, 5]])
    ridge = OnMesh(dal.Sphere(0.5), dal.TriangleMesh(roof, faces))
    normal, separation, _, _ = ridge.meet((0.1, 0.3, 1.0 + np.sqrt(0.24) - 0.001))
    centre = np.array([0.1, 0.0, np.sqrt(0.24) - 0.001])
    assert np.abs(normal + centre / np.linalg.norm(centre)).max() < 1e-12
    assert separation.min() == pytest.approx(np.linalg.norm(centre) - 0.5, abs=1e-14)
    valley = OnMesh(dal.Sphere(0.2), dal.TriangleMesh(roof * [1, 1, -1], faces))
    normal, separation, _, _ = valley.meet((0.0, 0.3, -1.0 + 0.2 * np.sqrt(2)))
    assert sorted(set(np.sign(normal[:, 0]))) == [-1, 1]
    assert np.abs(np.abs(normal) - [np.sqrt(0.5), 0, np.sqrt(0.5)]).max() < 1e-12
    assert np.abs(separation).max() < 1e-15


def test_a_surface_has_one_side_and_a_rim():
    sheet = OnMesh(
        dal.Box(0.2, 0.2, 0.2),
        dal.TriangleMesh([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], [[0, 1, 2], [0, 2, 3]]),
    )
    assert sheet.meet((0, 0, 0.09)) is not None
    assert sheet.meet((0, 0, -0.001)) is None  # more than half is behind it
    assert sheet.meet((0, 0, -0.105)) is None
    normal, separation, _, _ = sheet.meet((1.099, 0, 0.02))
    assert np.abs(normal - [-1, 0, 0]).max() < 1e-9 and separation.min() == pytest.approx(-0.001, abs=1e-12)
    assert sheet.meet((1.12, 0, 0.0)) is None


def test_facets_keep_their_names_while_a_box_moves_a_little():
    on_mesh = OnMesh(dal.Box(0.4, 0.3, 0.2), dal.HeightField(0.2 * np.random.default_rng(3).normal(size=(4, 4)), 0.5))
    place = on_mesh.tables.places[0]
    names = []
    for k in range(3):
        place.x, place.rotation = (0.1 + 1e-7 * k, 0.05, 0.2), AXES.ravel()
        met = []
        for facet in range(len(on_mesh.tables.facets)):
            on_mesh.tables.pairs[0].b, on_mesh.tables.pairs[0].facet = 1, facet
            met.append((facet, *pair_by(MESH_PAIR, on_mesh.tables, 0.05).feature.tolist()))
        names.append(met)
    assert any(len(row) > 1 for row in names[0])
    assert names[0] == names[1] == names[2]


def terrain(rng, n=9):
    return dal.HeightField(0.3 * rng.normal(size=(n, n)), (0.5, 0.4))


def test_distances_agree_with_coal():
    coal = pytest.importorskip("coal")
    rng = np.random.default_rng(5)
    surface = terrain(rng)
    points, faces = surface.triangles()
    model = coal.BVHModelOBBRSS()
    model.beginModel(len(faces), len(points))
    vertices, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    for point in points:
        vertices.append(point)
    for face in faces:
        triangles.append(coal.Triangle(*(int(i) for i in face)))
    model.addSubModel(vertices, triangles)
    model.endModel()
    for shape, theirs in [(dal.Sphere(0.3), coal.Sphere(0.3)), (dal.Box(0.3, 0.4, 0.5), coal.Box(0.3, 0.4, 0.5)),
                          (dal.Capsule(0.2, 0.5), coal.Capsule(0.2, 0.5))]:  # fmt: skip
        for _ in range(TRIALS):
            x, turn = np.array([*rng.uniform(-2, 2, 2), rng.uniform(1.2, 3.0)]), rotation(rng)
            collision = placed((shape, x, turn), (surface, (0, 0, 0), AXES))
            collision.places[1]["x"][:] = collision.colliders[1]["position"]
            found = closest_points(collision, 0, 1)
            request, result = coal.DistanceRequest(), coal.DistanceResult()
            expected = coal.distance(theirs, coal.Transform3s(turn, x), model, coal.Transform3s(), request, result)
            if expected > 1e-3:
                assert found.distance == pytest.approx(expected, abs=1e-6)
                assert found.normal == pytest.approx((found.point_b - found.point_a) / found.distance, abs=1e-9)
                assert not overlap(collision, 0, 1)


def test_rays_meet_what_brute_force_meets():
    rng = np.random.default_rng(7)
    surface, turn, x = terrain(rng), rotation(rng), np.array([1.0, -2.0, 0.5])
    collision = make_collision([Solid(surface, 0)])
    centre = collision.colliders[0]["position"]
    collision.places[0]["x"][:], collision.places[0]["rotation"][:] = x + turn @ centre, turn.ravel()
    collision.places[0]["lower"][:], collision.places[0]["upper"][:] = -9, 9
    points, faces = surface.triangles()
    corners = (points @ turn.T + x)[faces]
    hits = 0
    for _ in range(10 * TRIALS):
        origin = x + turn @ [*rng.uniform(-2, 2, 2), rng.uniform(-2, 3)]
        aim = turn @ [*rng.uniform(-1, 1, 2), rng.uniform(-2, 1)]
        aim /= np.linalg.norm(aim)
        hit, expected = ray_cast(collision, origin, aim), first_hit(corners, origin, aim)
        assert (hit is None) == (expected is None)
        if hit is not None:
            hits += 1
            assert hit.distance == pytest.approx(expected, abs=1e-12)
            assert hit.normal @ aim < 0
    assert hits > TRIALS


def first_hit(corners, origin, aim):
    """Möller and Trumbore, from the front only."""
    e, f = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    p, s = np.cross(aim, f), origin - corners[:, 0]
    d = np.einsum("ij,ij->i", e, p)
    q = np.cross(s, e)
    u, v, t = (np.einsum("ij,ij->i", s, p) / d, q @ aim / d, np.einsum("ij,ij->i", f, q) / d)
    met = (d > 0) & (u >= 0) & (v >= 0) & (u + v <= 1) & (t >= 0)
    return t[met].min() if met.any() else None


def test_tables_cover_the_surface(joined):
    rng = np.random.default_rng(2)
    heights = np.zeros((12, 9))
    heights[4:7, 3:6] = rng.normal(size=(3, 3))
    points, faces = dal.HeightField(heights, 0.3).triangles()
    table = mesh_tables(points, faces)
    area = 0.0
    for facet, face in zip(table.facets, table.faces, strict=True):
        corners = table.vertices[facet["first_vertex"] : facet["first_vertex"] + facet["vertices"]]
        along = np.roll(corners, -1, axis=0) - corners
        turns = np.cross(along, np.roll(along, -1, axis=0)) @ face["normal"]
        assert turns.min() > -1e-12  # convex, and anticlockwise
        assert np.abs(corners @ face["normal"] - face["offset"]).max() < 1e-12
        area += 0.5 * np.cross(corners, np.roll(corners, -1, axis=0)).sum(axis=0) @ face["normal"]
    c = points[faces]
    assert area == pytest.approx(
        0.5 * np.linalg.norm(np.cross(c[:, 1] - c[:, 0], c[:, 2] - c[:, 0]), axis=1).sum(), rel=1e-12
    )
    assert len(table.facets) < (100 if joined else 177)
    assert sorted(table.nodes["facet"]) == [-1] * (len(table.facets) - 1) + list(range(len(table.facets)))
    for k, node in enumerate(table.nodes):
        inside = table.nodes[k : node["skip"]]
        assert (inside["lower"] >= node["lower"]).all() and (inside["upper"] <= node["upper"]).all()


def test_a_half_space_and_a_mesh_have_no_distance():
    collision = placed((dal.HalfSpace(), (0, 0, 0), AXES), (dal.Mesh(*dal.Box(1, 1, 1).triangles()), (0, 0, 2), AXES))
    with pytest.raises(ValueError, match="half-spaces or meshes"):
        closest_points(collision, 0, 1)


def long_facets():
    """A flat surface whose facets are far larger than what lies on it, and have many corners in line."""
    return dal.HeightField(np.zeros((41, 41)), 20.0)


THIN = [
    (dal.Box(0.4, 0.3, 0.004), (0.2, 0.15), 0.002), (dal.ConvexHull(0.2 * CUBE.vertices), (0.1, 0.1), 0.1),
    (dal.Cylinder(0.2, 0.001), 0.2, 0.0005), (dal.Cone(0.2, 0.1), 0.2, 0.05),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "size", "half"), THIN)
def test_what_lies_over_sides_of_large_facets_touches_the_plane_only(shape, size, half):
    """To the rounding of the pose, not that of the facets, however exactly it touches. size : of its lower side, half sides
    or a radius."""
    rng = np.random.default_rng(3)
    on_mesh = OnMesh(shape, long_facets())
    for trial in range(TRIALS):
        turn = rotation(rng, rng.choice([0.0, 1e-9, 1.1e-6, 1e-5]))
        place = np.where(rng.random(2) < 0.3, 0.0, rng.uniform(-0.3, 0.3, 2)) if trial else np.zeros(2)
        up = turn[2]
        low = half * up[2] + (size * np.hypot(up[0], up[1]) if np.isscalar(size) else np.abs(up[:2]) @ size)
        gap = rng.choice([0.0, -1e-9, 1e-10, -1e-6])
        normal, separation, *_ = on_mesh.meet((*place, low + gap), turn)
        assert np.linalg.norm(normal, axis=1) == pytest.approx(1.0, abs=1e-12)
        assert np.abs(normal - [0.0, 0.0, -1.0]).max() < 3e-5
        assert separation.min() >= gap - 1e-15
        assert separation.min() <= gap + (1e-15 if not np.isscalar(size) else 1e-9)
