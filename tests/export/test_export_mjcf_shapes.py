"""Shapes and contacts in exported MJCF files, as MuJoCo sees them."""

import numpy as np
import pytest

import dalembert as dal

from .trees import unit

mujoco = pytest.importorskip("mujoco")
from .mujoco_oracle import exported  # noqa: E402


def hits(vertices, faces, start, direction):
    """Distances at which a ray meets triangles (Möller & Trumbore)."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    p = np.cross(direction, c - a)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 1.0 / np.einsum("ij,ij->i", b - a, p)
        u = np.einsum("ij,ij->i", start - a, p) * scale
        q = np.cross(start - a, b - a)
        v, t = q @ direction * scale, np.einsum("ij,ij->i", c - a, q) * scale
        return t[(u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (t > 0.0)]


def shapes():
    rng = np.random.default_rng(0)
    hull = dal.ConvexHull(rng.normal(size=(12, 3)))
    return {
        "compound": dal.Compound([(dal.Box(0.5, 1, 1.5), (0, 0, 1)), (hull, (3, 0, 0), (0.6, 0.8, 0, 0), 2.0)]),
        "hull": dal.ConvexHull(rng.normal(size=(20, 3)) + 2.0),
        "surface": dal.TriangleMesh(hull.vertices, hull.faces),
    }


def ray(oracle, start, direction):
    return mujoco.mj_ray(oracle.model, oracle.data, start, direction, None, 1, -1, np.zeros(1, np.int32), None)


@pytest.mark.parametrize("name", shapes())
def test_geoms_are_where_the_shapes_are(name, tmp_path):
    rng, shape = np.random.default_rng(1), shapes()[name]
    scene = dal.Scene("shapes", material=dal.Material())
    tilted = {"orientation": (0.8, 0.0, 0.6, 0.0), "position": (0.2, 0.1, 0.3)}
    item = (
        scene.add_obstacle(name, shape, **tilted)
        if name == "surface"
        else scene.add_body(name, shape, mass=1, **tilted)
    )
    oracle, _ = exported(scene, tmp_path)
    mujoco.mj_forward(oracle.model, oracle.data)
    vertices, faces = shape.triangles()
    vertices, met = (vertices - getattr(item, "center", 0.0)) @ item.rotation.T + item.position, 0
    for _ in range(60):
        direction = unit(rng)
        start = vertices[rng.integers(len(vertices))] + rng.normal(size=3) - 10.0 * direction
        expected, found = hits(vertices, faces, start, direction), ray(oracle, start, direction)
        assert (found >= 0.0) == bool(len(expected))
        if len(expected):
            met += 1
            assert abs(found - expected.min()) < 1e-5
    assert met > 10


def test_a_height_field_has_its_heights_where_they_were(tmp_path):
    rng = np.random.default_rng(0)
    heights = rng.uniform(-0.3, 0.5, size=(5, 4))
    scene = dal.Scene("hills")
    tilted = {"orientation": (0.8, 0.0, 0.6, 0.0), "position": (0.2, 0.1, 0.3)}
    hills = scene.add_obstacle("hills", dal.HeightField(heights, (0.5, 0.7)), **tilted)
    oracle, warnings = exported(scene, tmp_path)
    assert warnings == []
    mujoco.mj_forward(oracle.model, oracle.data)
    for i in range(5):
        for j in range(4):
            corner = np.array([0.5 * (i - 2.0), 0.7 * (j - 1.5), 5.0]) * [1 - 1e-6, 1 - 1e-6, 1.0]
            found = ray(oracle, hills.rotation @ corner + hills.position, -hills.rotation[:, 2])
            assert abs(5.0 - found - heights[i, j]) < 1e-5


def test_only_what_the_scene_lets_touch_touches(tmp_path):
    scene = dal.Scene("touching", material=dal.Material(0.7))
    for name in "abcd":
        scene.add_body(
            name, dal.Sphere(1.0), mass=1.0, position=(0.1 * ord(name), 0.0, 0.5), group="pair" * (name in "cd")
        )
    scene.add_body("ghost", dal.Sphere(1.0), mass=1.0, inertia=(1, 1, 1), position=(10, 0, 0.5), material=None)
    scene.add_obstacle("floor", dal.HalfSpace())
    scene.hinge("joint", "a", "b", (10, 0, 0), (0, 1, 0))
    scene.set_contact("pair", "pair", enabled=False)
    scene.set_contact("floor", "d", enabled=False)
    oracle, warnings = exported(scene, tmp_path)
    assert warnings == []
    mujoco.mj_forward(oracle.model, oracle.data)
    names = [oracle.model.body(oracle.model.geom_bodyid[k]).name for k in range(oracle.model.ngeom)]
    touching = {"".join(sorted(n[0] for n in (names[c.geom[0]], names[c.geom[1]]))) for c in oracle.data.contact}
    assert touching == {"ac", "ad", "bc", "bd", "af", "bf", "cf"}
    assert all(contact.friction[0] == 0.7 for contact in oracle.data.contact)


@pytest.mark.parametrize("together", [False, True])
def test_neighbours_touch_where_the_scene_says_so(together, tmp_path):
    """Through a link without mass two bodies are no neighbours in a scene, but they are in MJCF."""
    scene = dal.Scene("neighbours", material=dal.Material())
    a = scene.add_body("a", dal.Sphere(1.0), mass=1.0)
    b = scene.add_body("b", dal.Sphere(1.0), mass=1.0, position=(1, 0, 0))
    link = scene.add_link("link")
    scene.hinge("one", a, link, (0, 0, 0), (0, 1, 0))
    scene.hinge("two", link, b, (0, 0, 0), (0, 0, 1))
    if not together:
        scene.set_contact(a, b, enabled=False)
    oracle, warnings = exported(scene, tmp_path)
    assert warnings == []
    mujoco.mj_forward(oracle.model, oracle.data)
    assert oracle.data.ncon == together
