"""Pictures and films: what is in front hides what is behind, shadows fall where they must, files hold what was drawn."""

import subprocess
import sys

import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image
from synthetic_run import synthetic

import dalembert as dal
from dalembert.simulation.trajectory import Trajectory
from dalembert.view.camera import Camera
from dalembert.view.canvas import fill, new_buffers
from dalembert.view.drawing import smooth_normals
from dalembert.view.still import Pictures, picture

SMALL = {"size": (320, 240), "fine": 1}


def box(place):
    """A run of one instant of a red cube."""
    scene = dal.Scene("box", gravity=(0, 0, 0))
    scene.add_body("box", dal.Box(1, 1, 1), mass=1.0, position=place, color="#cc3b3b")
    return dal.Simulation(scene).trajectory


def hue(image, channel):
    """Where one channel stands out from the others by far."""
    others = [k for k in range(3) if k != channel]
    return image[..., channel].astype(int) - image[..., others].max(axis=2) > 25


def test_a_triangle_fills_the_samples_whose_middles_it_holds():
    rng = np.random.default_rng(3)
    yy, xx = np.mgrid[:40, :60] + 0.5
    for corners in rng.uniform(-20.0, 80.0, (200, 3, 2)):
        depth, owner = new_buffers(40, 60)
        fill(np.concatenate([corners, np.ones((3, 1))], axis=1)[None], np.array([7]), depth, owner)
        sides = [
            (b[0] - a[0]) * (yy - a[1]) - (b[1] - a[1]) * (xx - a[0])
            for a, b in zip(corners, np.roll(corners, -1, 0), strict=True)
        ]
        inside = np.all(np.array(sides) > 1e-6, axis=0) | np.all(np.array(sides) < -1e-6, axis=0)
        edge = np.any(np.abs(sides) <= 1e-6, axis=0)
        assert np.all((owner == 7)[~edge] == inside[~edge])


def test_where_two_boxes_cross_each_is_seen_where_it_is_in_front():
    """Two slabs that go through each other: painting them one after the other cannot be right."""
    scene = dal.Scene("crossed", gravity=(0, 0, 0))
    turned = (np.cos(0.6), 0.0, 0.0, np.sin(0.6)), (np.cos(0.6), 0.0, 0.0, -np.sin(0.6))
    for name, color, q in (("red", "#cc3b3b", turned[0]), ("green", "#2f9e57", turned[1])):
        scene.add_body(name, dal.Box(2.0, 0.1, 1.0), mass=1.0, orientation=q, color=color)
    image = picture(dal.Simulation(scene).trajectory, azimuth=-90.0, elevation=0.0, **SMALL)
    red, green = hue(image, 0), hue(image, 1)
    left, right = slice(100, 150), slice(170, 220)
    assert red[120, left].sum() + green[120, left].sum() == 50 and red[120, right].sum() + green[120, right].sum() == 50
    assert {int(red[120, left].sum()), int(red[120, right].sum())} == {0, 50}, "each side shows one slab only"


def test_the_shadow_of_a_box_lies_where_the_light_puts_it():
    pictures = Pictures(box((0.0, 0.0, 2.0)), ground=0.0)
    light = np.array([0.35, -0.5, 1.0])
    fallen, beside = np.array([0.0, 0.0, 2.0]) - 2.0 * light, np.array([1.5, -1.5, 0.0])
    camera = Camera.around(np.array([[-3.0, -3, 0], [3, 3, 0], [0, 0, 2]]), 50.0, 60.0, (400, 300))
    image = pictures.draw(camera, pictures.instant(0.0), [], [], np.zeros((0, 2, 3)))
    (x, y), (far_x, far_y) = np.rint(camera.project(np.array([fallen, beside]))[:, :2]).astype(int)
    assert image[y, x].mean() < image[far_y, far_x].mean() - 30
    assert hue(image, 0).sum() > 1000 and not hue(image, 0)[y, x]


def test_what_comes_nearer_than_the_eye_is_cut_off():
    """A floor much larger than the motion goes on behind the eye, and still fills the ground of the picture."""
    scene = dal.Scene("floor", gravity=(0, 0, 0), material=dal.Material())
    scene.add_obstacle("floor", dal.Box(400, 400, 1), position=(0, 0, -0.5), color="#2f9e57")
    scene.add_body("ball", dal.Sphere(0.2), mass=1.0, position=(0, 0, 1), velocity=(1, 0, 0), color="#cc3b3b")
    run = dal.simulate(scene, 0.2, dt=0.02).trajectory
    image = picture(run, trail=False, **SMALL)
    ball, floor = hue(image, 0), hue(image, 1)
    assert ball.sum() > 500 and (ball | floor)[200:].mean() > 0.99


def test_normals_are_smooth_on_a_ball_and_sharp_on_a_box():
    vertices, faces = dal.Sphere(1.0).triangles()
    normals = smooth_normals(vertices, faces)
    np.testing.assert_allclose(normals, vertices[faces], atol=0.05)
    vertices, faces = dal.Box(1, 2, 3).triangles()
    normals = smooth_normals(vertices, faces)
    np.testing.assert_allclose(np.sort(np.abs(normals), axis=2), np.broadcast_to([0, 0, 1], normals.shape), atol=1e-12)


def test_ghosts_are_pale_and_times_between_frames_are_drawn(run):
    one = picture(run, time=2.2, trail=False, **SMALL)
    assert one.shape == (240, 320, 3) and one.dtype == np.uint8
    between = picture(run, time=2.2 + 0.5 * (run.times[1] - run.times[0]), trail=False, **SMALL)
    assert np.any(one != between)
    np.testing.assert_array_equal(one, picture(run, time=2.2, trail=False, **SMALL))  # the same bits again
    assert np.any(picture(run, time=2.2, trail=False, ghosts=(1.0,), **SMALL) != one)


def test_films_hold_the_run_and_slow_motion_is_longer(tmp_path):
    run = synthetic(count=40, duration=1.0)
    path = run.save_movie(tmp_path / "sub" / "run.mp4", size=(160, 120), rate=10)
    frames = imageio_ffmpeg.read_frames(str(path))
    about = next(frames)
    images = [np.frombuffer(frame, np.uint8).reshape(120, 160, 3) for frame in frames]
    assert about["size"] == (160, 120) and about["codec"] == "h264" and len(images) == 11
    assert np.abs(images[0].astype(int) - images[-1]).max() > 60, "it moves"
    with Image.open(run.save_movie(tmp_path / "run.gif", size=(160, 120), rate=10, speed=0.5)) as film:
        assert film.n_frames == 21 and film.info["duration"] == 100
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.gif", "sub"]  # nothing half-written stays


def test_what_cannot_be_filmed_is_said(run, tmp_path):
    with pytest.raises(ValueError, match=r"unsupported format '.avi'; the name must end in .mp4 or .gif"):
        run.save_movie(tmp_path / "run.avi")
    with pytest.raises(ValueError, match="single frame"):
        box((0, 0, 0)).save_movie(tmp_path / "run.gif")
    with pytest.raises(ValueError, match="even numbers"):
        run.save_movie(tmp_path / "run.gif", size=(33, 32))
    with pytest.raises(ValueError, match=r"speed is 0.0"):
        run.save_movie(tmp_path / "run.gif", speed=0.0)
    with pytest.raises(ValueError, match=r"unsupported format '\.xyz'; the name must end in one of \.png"):
        run.save_picture(tmp_path / "run.xyz", **SMALL)
    empty = {"position": np.zeros((0, 1, 3)), "orientation": np.zeros((0, 1, 4)), "kinetic": [], "potential": []}
    with pytest.raises(ValueError, match="no frames"):
        Trajectory.from_arrays({"time": [], **empty}, bodies=["lone"]).save_picture(tmp_path / "run.png", **SMALL)


def test_without_the_library_mp4_says_what_to_install(tmp_path):
    code = (
        "import sys; sys.modules['imageio_ffmpeg'] = None; sys.path.insert(0, sys.argv[2])\n"
        "from synthetic_run import synthetic\n"
        "try: synthetic(3, 0.1).save_movie(sys.argv[1], size=(32, 32))\n"
        "except ImportError as error: assert 'dalembert[movie]' in str(error), error\n"
        "else: raise SystemExit('no error')"
    )
    here = str(__file__).rsplit("/", 1)[0]
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "run.mp4"), here], check=True)
    assert not list(tmp_path.iterdir())
