"""Where pictures are looked at from: over the rim of terrain, and at what moves in scenes whose parts are far apart."""

import numpy as np
import pytest
from synthetic_run import ball_mesh, box_mesh

from dalembert.view.drawing import motion_extent, parse_scene
from dalembert.view.viewpoint import CLOSE, ELEVATIONS, Aim, Focus, direction, elevation_of, hidden, is_scattered


def body(name, mesh, **more):
    vertices, faces = mesh
    return {"name": name, "mass": 1.0, "vertices": vertices, "faces": faces, **more}


def at_rest(drawing):
    places = np.array([item.position for item in drawing.bodies])
    return places[None], np.array([item.orientation for item in drawing.bodies])[None]


def bowl(rim):
    """A ball that rolls in a square pit with walls of some height, m."""
    walls = [
        body(f"wall {k}", box_mesh(*half), position=place, orientation=[1, 0, 0, 0])
        for k, (half, place) in enumerate([
            ((2.0, 0.05, 0.5 * rim), (0, 2, 0.5 * rim)), ((2.0, 0.05, 0.5 * rim), (0, -2, 0.5 * rim)),
            ((0.05, 2.0, 0.5 * rim), (2, 0, 0.5 * rim)), ((0.05, 2.0, 0.5 * rim), (-2, 0, 0.5 * rim)),
        ])
    ]  # fmt: skip
    drawing = parse_scene({"bodies": [body("ball", ball_mesh(0.1)), *walls]}, ["ball"])
    positions = np.array([[[-0.5, 0.0, 0.1]], [[0.5, 0.0, 0.1]]])
    orientations = np.tile([1.0, 0.0, 0.0, 0.0], (2, 1, 1))
    return drawing, motion_extent(drawing, positions, orientations), positions, orientations


def test_a_ray_meets_a_triangle_in_front_of_it_alone():
    triangle = np.array([[[1.0, -1, -1], [1, 1, -1], [1, 0, 1]]])
    points = np.array([[0.0, 0, 0], [2.0, 0, 0], [0.0, 0, 2]])
    np.testing.assert_array_equal(hidden(points, np.array([1.0, 0, 0]), triangle), [True, False, False])


@pytest.mark.parametrize("rim", [0.02, 1.0, 3.0, 6.0])
def test_the_eye_is_as_low_as_walls_let_it_see_the_ball(rim):
    drawing, extent, positions, orientations = bowl(rim)
    found = elevation_of(drawing, extent, positions, orientations)
    # By hand: the ball is at least 1.5 m from each wall, along a line of sight that crosses the plane of one at 2 m + 0.5 m
    # at most; it is seen for sure from above the angle of the rim at 1.4 m, and for sure hidden below that at 4 m.
    lower = [e for e in ELEVATIONS if e < found]
    assert all(np.tan(np.radians(e)) * 1.4 < rim for e in lower), "it looks from higher than it needs to"
    if found < ELEVATIONS[-1]:
        assert np.tan(np.radians(found)) * 4.0 > rim - 0.2, "the rim hides the ball"


def test_directions_are_unit_vectors_at_their_elevation():
    towards = direction(30.0, 0.7)
    assert np.linalg.norm(towards) == pytest.approx(1.0)
    assert np.degrees(np.arcsin(towards[2])) == pytest.approx(30.0)


@pytest.mark.parametrize(("distance", "expected"), [(3.0, False), (200.0, True)])
def test_two_groups_are_scattered_only_if_the_gap_between_them_dwarfs_both(distance, expected):
    items = [body(f"{group} {k}", box_mesh(0.5, 0.5, 0.5), position=[group * distance + k, 0, 0.5])
             for group in (0, 1) for k in range(4)]  # fmt: skip
    drawing = parse_scene({"bodies": items})
    poses = at_rest(drawing)
    assert is_scattered(drawing, motion_extent(drawing, *poses), poses[0][0]) is expected


def test_the_focus_comes_to_the_body_that_moves_and_frames_it():
    items = [body(name, box_mesh(0.5, 0.5, 0.5), position=[x, 0, 0.5]) for name, x in (("still", 0), ("fast", 100))]
    drawing = parse_scene({"bodies": items})
    poses = at_rest(drawing)
    extent = motion_extent(drawing, *poses)
    focus, places = Focus(drawing, extent), poses[0][0]
    assert not focus.follow(places, np.zeros((2, 3)), 0.02), "nothing moves, and yet there is something to look at"
    focus.follow(places, np.array([[5.0, 0, 0], [0, 0, 0]]), 0.02)
    for _ in range(200):
        focus.follow(places, np.array([[0.1, 0, 0], [0, 0, 20.0]]), 0.02)
    np.testing.assert_allclose(focus.center, places[1], atol=0.05)
    assert focus.size == pytest.approx(max(6.0 * np.sqrt(0.75), CLOSE * extent.size), rel=0.01)


def test_a_page_that_tells_late_where_its_camera_is_does_not_turn_it():
    aim, middle = Aim(np.array([0.0, -10.0, 3.0])), np.zeros(3)
    told = []
    for k in range(
        200
    ):  # what it looks at moves on; the page tells of a place and a target that are not of one instant
        middle = middle + (0.3, 0.0, 0.1)
        if k > 5:
            aim.hear(told[k - 5][0], told[k - 6][1])
        aim.put(middle + aim.offset)
        told.append((middle + aim.offset, middle.copy()))
    np.testing.assert_allclose(aim.offset, (0.0, -10.0, 3.0))


def test_a_person_who_turns_the_camera_is_heard():
    aim = Aim(np.array([0.0, -10.0, 3.0]))
    aim.hear(np.array([0.0, -10.0, 3.0]), np.zeros(3))
    for k in range(10):
        aim.put(np.array([k, -10.0, 3.0]))
    aim.hear(np.array([16.0, -3.0, 4.0]), np.array([9.0, 0.0, 0.0]))
    np.testing.assert_allclose(aim.offset, (7.0, -3.0, 4.0))
