"""Images against the distances of rays, and silhouettes against geometry."""

import numpy as np
import pytest

import dalembert as dal
from dalembert import sensors

from .scenes import largest


def room():
    scene = dal.Scene("room", material=dal.Material(friction=0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("box", dal.Box(0.4, 0.3, 0.2), mass=1.0, position=(0.2, 0.1, 0.1), color="#ff0000")
    scene.add_body("hull", dal.Box(0.2, 0.2, 0.6), mass=1.0, position=(-0.5, 0.2, 0.3), color="#0000ff")
    return scene


def looking(scene, image, **more):
    """A tilted camera 2 m above."""
    tilt = (np.cos(0.15), np.sin(0.15), 0.0, 0.0)
    options = {"position": (0.1, -0.5, 2.0), "orientation": tilt, "size": (40, 30), "rate": 10, **more}
    return scene.add_sensor(sensors.Camera(image, dal.WORLD, image, **options))


def rays_of(camera):
    """Directions (h, w, 3) through the middles of the pixels, with a component 1 along the view."""
    width, height = camera.size
    scale = 0.5 * height / np.tan(0.5 * camera.field_of_view)
    x, y = np.meshgrid(np.arange(width) + 0.5 - 0.5 * width, np.arange(height) + 0.5 - 0.5 * height)
    return np.stack([x / scale, -y / scale, -np.ones_like(x)], axis=-1)


@pytest.mark.parametrize("lens", [0.6, 1.3])
def test_depth_and_identity_are_those_of_rays(lens):
    """Each pixel of both images against a ray through its middle; at edges a pixel may see the one or the other."""
    scene = room()
    camera = looking(scene, "depth", field_of_view=lens)
    looking(scene, "segmentation", field_of_view=lens)
    run = dal.simulate(scene, 0.1, dt=1 / 100)
    depth, number = run.sensors["depth"].value, run.sensors["segmentation"].value
    assert depth.dtype == np.float32
    from dalembert.scene.checks import rotation_matrix

    turn, names = rotation_matrix(camera.orientation), [*scene.bodies, *scene.obstacles]
    wrong = 0
    for (j, i), found in np.ndenumerate(number):
        ray = rays_of(camera)[j, i]
        hit = run.ray_cast(camera.position, turn @ ray)
        assert (hit is None) == (found < 0)
        if hit is not None:
            same = names[found] == hit.name and abs(depth[j, i] - hit.distance / np.linalg.norm(ray)) < 1e-5
            wrong += not same
    assert set(np.unique(number)) >= {0, 2}
    assert wrong <= 6  # of 1200


def test_a_camera_on_a_body_moves_with_it_and_does_not_see_it():
    scene = dal.Scene("fall")
    scene.add_body("probe", dal.Box(0.2, 0.2, 0.2), mass=1.0, position=(0, 0, 5))
    scene.add_body("target", dal.Box(2, 2, 0.2), motion=lambda t: (0.0, 0.0, 0.0))
    scene.add_sensor(sensors.Camera("down", "probe", "depth", size=(9, 9), rate=10, field_of_view=0.2))
    run = dal.simulate(scene, 0.5, rtol=1e-9)
    t = run.sensors["down"].times
    expected = 5.0 - 0.5 * 9.81 * t**2 - 0.1
    assert largest(run.sensors["down"].values[:, 4, 4] - expected) < 1e-5


def test_colours_are_those_of_the_bodies_where_light_falls():
    scene = room()
    looking(scene, "rgb")
    looking(scene, "segmentation")
    run = dal.Simulation(scene, dt=1 / 100)
    picture, number = run.sensors["rgb"].value, run.sensors["segmentation"].value
    assert picture.shape == (30, 40, 3)
    red, blue = picture[number == 0], picture[number == 1]
    assert (red[:, 0] > 100).all()
    assert (red[:, 1:] == 0).all()
    assert (blue[:, 2] > 100).all()
    assert (blue[:, :2] == 0).all()


def test_a_body_that_is_cut_by_the_near_plane_stays_closed():
    """A long wall from behind the camera to far ahead: every pixel below the horizon sees it."""
    scene = dal.Scene("corridor")
    scene.add_body("floor", dal.Box(40, 400, 0.2), motion=lambda t: (0.0, 0.0, -0.1))
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0, position=(0, 50, 9))
    ahead = (np.cos(np.pi / 4), np.sin(np.pi / 4), 0.0, 0.0)  # looks along y
    scene.add_sensor(
        sensors.Camera("view", dal.WORLD, "segmentation", position=(0, -150, 0.5), orientation=ahead, size=(40, 40))
    )
    number = dal.Simulation(scene).sensors["view"].value
    assert list(scene.bodies) == ["ball", "floor"]  # kinematic bodies come last
    assert (number[21:] == 1).all()
    assert (number[:19] < 0).all()
