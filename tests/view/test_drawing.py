"""Scene descriptions are checked before they are drawn."""

import numpy as np
import pytest

from dalembert.view.camera import coil_points, rotate
from dalembert.view.drawing import motion_extent, parse_scene


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ({"bodies": 3}, "'bodies' must be a list"),
        ({"bodies": [{"name": "a", "color": "red;x"}]}, "body 'a': colour 'red;x'"),
        ({"bodies": [{"name": "a", "vertices": [[0, 0]]}]}, "body 'a': vertices"),
        ({"bodies": [{"name": "a", "vertices": [[0, 0, 0]], "faces": [[0, 0, 1]]}]}, "an index beyond the 1 vertices"),
        ({"bodies": [{"name": "a", "center": [0, 0, float("nan")]}]}, "center must be finite"),
        ({"joints": [{"name": "j", "body_a": "b"}]}, "joint 'j': there is no body 'b'"),
    ],
)
def test_what_cannot_be_drawn_is_named(description, message):
    with pytest.raises(ValueError, match=message):
        parse_scene(description)


def test_recorded_bodies_come_first():
    drawing = parse_scene({"bodies": [{"name": "floor"}, {"name": "bob"}]}, ["bob"])
    assert [body.name for body in drawing.bodies] == ["bob", "floor"]


def test_a_large_floor_does_not_set_the_view():
    slab = [[x, y, z] for x in (-50, 50) for y in (-50, 50) for z in (-1, 0)]
    drawing = parse_scene({"bodies": [{"name": "ball", "shape": {"radius": 0.1}}, {"name": "floor", "vertices": slab}]})
    positions = np.zeros((10, 2, 3))
    positions[:, 0, 2] = np.linspace(1, 0.1, 10)
    turns = np.tile([1.0, 0.0, 0.0, 0.0], (10, 2, 1))
    assert motion_extent(drawing, positions, turns).size < 2


def test_rotation_and_coil():
    quarter = np.array([np.sqrt(0.5), 0, 0, np.sqrt(0.5)])
    np.testing.assert_allclose(rotate(quarter, np.array([1.0, 0, 0])), [0, 1, 0], atol=1e-15)
    a, b = np.zeros(3), np.array([0, 0, 2.0])
    points = coil_points(a, b, 5, 0.1)
    np.testing.assert_array_equal(points[[0, -1]], [a, b])
    np.testing.assert_allclose(np.hypot(*points[1:-1, :2].T), 0.1)
    assert coil_points(a, b, 0, 0.1).shape == (2, 3)
