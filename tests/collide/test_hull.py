"""The tables of a hull: polygons of coplanar triangles, edges with the faces beside them."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.collide.build import Solid, make_collision
from dalembert.collide.gjk import hull_tables
from dalembert.scene.shapes.convex_hull import MOST_CORNERS


def test_a_box_has_six_rectangles_and_twelve_edges():
    hull = hull_tables(*dal.Box(1.0, 2.0, 3.0).triangles())
    assert len(hull.faces) == 6 and len(hull.edges) == 12
    assert hull.faces["count"].tolist() == [4] * 6
    np.testing.assert_allclose(np.sort(hull.faces["offset"]), [0.5, 0.5, 1.0, 1.0, 1.5, 1.5], rtol=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_faces_bound_the_corners_and_edges_lie_between_their_faces(seed):
    shape = dal.ConvexHull(np.random.default_rng(seed).normal(size=(40, 3)))
    hull = hull_tables(*shape.triangles())
    assert len(hull.vertices) - len(hull.edges) + len(hull.faces) == 2  # Euler
    heights = hull.vertices @ hull.faces["normal"].T - hull.faces["offset"]
    assert heights.max() <= 1e-12
    for face in hull.faces:
        corners = hull.vertices[hull.loops[face["first"] : face["first"] + face["count"]]]
        np.testing.assert_allclose(corners @ face["normal"], face["offset"], atol=1e-9)
        turns = np.cross(np.roll(corners, -1, 0) - corners, np.roll(corners, -2, 0) - np.roll(corners, -1, 0))
        assert (turns @ face["normal"] > 0.0).all()  # anticlockwise, seen from outside
    for edge in hull.edges:
        tail, head = hull.vertices[edge["tail"]], hull.vertices[edge["head"]]
        for side, sign in (("left", 1.0), ("right", -1.0)):
            face = hull.faces[edge[side]]
            assert abs(tail @ face["normal"] - face["offset"]) < 1e-9 > abs(head @ face["normal"] - face["offset"])
            loop = hull.loops[face["first"] : face["first"] + face["count"]]
            middle = hull.vertices[loop].mean(axis=0)
            assert sign * np.cross(head - tail, middle - tail) @ face["normal"] > 0.0


def test_triangles_of_a_prism_with_many_sides_become_its_polygons():
    angle = np.linspace(0.0, 2.0 * np.pi, 17)[:-1]
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points = np.concatenate([np.c_[ring, np.full(16, z)] for z in (0.0, 1.0)])
    hull = hull_tables(*dal.ConvexHull(points).triangles())
    assert sorted(hull.faces["count"].tolist()) == [4] * 16 + [16, 16]


def test_a_hull_of_too_many_corners_is_simplified():
    points = np.random.default_rng(0).normal(size=(3 * MOST_CORNERS, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    collision = make_collision([Solid(dal.ConvexHull(points), 0)])
    assert collision.colliders.vertices.tolist() == [MOST_CORNERS]
