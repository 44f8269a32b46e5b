"""Triangle meshes and height fields: what they hold, their JSON form, and what is refused."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.scene.shapes import shape_from_dict, shape_to_dict

SQUARE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], float)
FACES = [[0, 1, 2], [0, 2, 3]]


def test_a_height_field_has_its_heights_and_looks_up():
    heights = np.arange(6.0).reshape(2, 3)
    vertices, faces = dal.HeightField(heights, (0.5, 2.0)).triangles()
    np.testing.assert_allclose(vertices[4], [0.25, 0.0, 4.0])
    c = vertices[faces]
    normal = np.cross(c[:, 1] - c[:, 0], c[:, 2] - c[:, 0])
    assert len(faces) == 4 and (normal[:, 2] > 0).all()
    np.testing.assert_allclose(normal[:, 2], 1.0)  # twice the area of half a cell, seen from above


def test_triangles_without_area_are_left_out():
    mesh = dal.TriangleMesh(SQUARE, [*FACES, [0, 0, 1], [1, 1, 1]])
    assert mesh.faces.tolist() == FACES
    assert dal.TriangleMesh([*SQUARE, [2, 0, 0]], [*FACES, [0, 1, 4]]).faces.tolist() == FACES


def test_surfaces_come_back_from_json_and_from_files(tmp_path):
    mesh = shape_from_dict(shape_to_dict(dal.TriangleMesh(SQUARE, FACES)))
    assert np.array_equal(mesh.vertices, SQUARE) and np.array_equal(mesh.faces, FACES)
    field = shape_from_dict(shape_to_dict(dal.HeightField([[0, 1], [2, 3.5]], (1, 2))))
    assert field.heights.tolist() == [[0, 1], [2, 3.5]] and field.spacing == (1.0, 2.0)
    file = tmp_path / "square.obj"
    file.write_text("".join(f"v {x} {y} {z}\n" for x, y, z in SQUARE) + "f 1 2 3\nf 1 3 4\n")
    loaded = dal.TriangleMesh.load(file, scale=0.001)
    assert len(loaded.faces) == 2 and loaded.vertices.max() == 0.001


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dal.TriangleMesh(SQUARE * np.nan, FACES), r"vertices\[0, 0\] is nan"),
        (lambda: dal.TriangleMesh(SQUARE, [[0, 1, 4]]), r"face 0 \[0, 1, 4\] names a vertex outside 0..3"),
        (lambda: dal.TriangleMesh(SQUARE, [[0, 1, -1]]), "outside 0..3"),
        (lambda: dal.TriangleMesh(SQUARE, [[0.0, 1.0, 2.0]]), "must be integers"),
        (lambda: dal.TriangleMesh(SQUARE, [[0, 0, 1]]), "no face has an area"),
        (lambda: dal.TriangleMesh(SQUARE, np.zeros((1_000_001, 3), int)), "1000001 faces are more than 1000000"),
        (lambda: dal.HeightField([[0, np.inf], [0, 0]], 1), r"heights\[0, 1\] is inf"),
        (lambda: dal.HeightField([[0, 1, 2]], 1), "have no cell"),
        (lambda: dal.HeightField(np.zeros((2, 2)), 0), "spacing must be a finite number above zero"),
        (lambda: dal.HeightField(np.zeros((2, 2)), (1, 1, 1)), "one number or two"),
        (lambda: dal.HeightField(np.zeros((801, 801)), 1), "split it"),
        (lambda: dal.TriangleMesh.load("nowhere.obj"), "there is no such file"),
    ],
)
def test_bad_surfaces_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize("shape", [dal.TriangleMesh(SQUARE, FACES), dal.HeightField(np.zeros((2, 2)), 1)])
def test_a_body_that_moves_cannot_be_a_surface(shape):
    for material in (None, dal.Material()):
        scene = dal.Scene("loose", material=material)
        with pytest.raises(ValueError, match=r"body 'sheet': a \w+ can be an obstacle only.*ConvexHull.*Compound"):
            scene.add_body("sheet", shape, mass=1, inertia=(1, 1, 1))
