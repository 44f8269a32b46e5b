"""Sensors on the page of the viewer: where rays end, which way arrows point, and what the panel says."""

import numpy as np
import pytest
from browser import Page, needs_browser, wait_until

import dalembert as dal
from dalembert import sensors
from dalembert.cli.viewer import scene_at_rest
from dalembert.view.drawing import parse_scene
from dalembert.view.live import LiveViewer
from dalembert.view.live_page import legend
from dalembert.view.live_scene import SENSORS
from dalembert.view.live_sensors import TOUCHED, UNTOUCHED, as_picture
from dalembert.view.sensor_drawing import (
    LONGEST,
    RAY,
    RecordedSamples,
    RecordedSensors,
    arrow_lines,
    frustum,
    scale_of,
    scale_text,
    value_text,
)
from dalembert.view.still import picture

QUARTER = (np.cos(np.pi / 4), np.sin(np.pi / 4), 0.0, 0.0)  # about x
AHEAD = (np.cos(np.pi / 4), 0.0, -np.sin(np.pi / 4), 0.0)  # a camera looks along −z, y is up: this one looks along x


def watched():
    """A box that lies on its side before a wall, and everything that can be measured of it."""
    scene = dal.Scene("watched", material=dal.Material(friction=0.8))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("wall", dal.Box(0.2, 2.0, 2.0), mass=50.0, position=(2.1, 0, 1.0))
    box = scene.add_body("box", dal.Box(0.4, 0.4, 0.4), mass=2.0, position=(0, 0, 0.2), orientation=QUARTER)
    arm = scene.add_body("arm", dal.Box(0.1, 0.1, 0.2), mass=0.5, position=(0, 0, 0.5))
    joint = scene.hinge("neck", box, arm, at=(0, 0, 0.4), axis=(0, 1, 0))
    scene.motor("hold", joint, stiffness=500.0, damping=50.0)
    # the frame of the box is turned by a quarter about x: its y is up, its −z is y
    scene.add_sensor(sensors.Imu("imu", box, position=(0.1, 0, 0)))
    scene.add_sensor(sensors.Range("lidar", box, directions=[(1, 0, 0), (-1, 0, 0)], position=(0.2, 0, 0)))
    scene.add_sensor(sensors.ForceTorque("neck", joint))
    scene.add_sensor(sensors.Touch("sole", box, region=dal.Box(0.5, 0.1, 0.5), position=(0, -0.2, 0)))
    scene.add_sensor(sensors.Touch("lid", box, region=dal.Box(0.5, 0.1, 0.5), position=(0, 0.2, 0)))
    scene.add_sensor(sensors.ContactForce("weight", box))
    scene.add_sensor(sensors.JointState("angle", joint))
    scene.add_sensor(sensors.Camera("eye", dal.WORLD, size=(8, 6), orientation=AHEAD, position=(0, 1, 1), rate=5))
    return scene


@pytest.fixture(scope="module")
def run():
    return dal.simulate(watched(), 0.5, dt=1 / 240).trajectory


@pytest.fixture
def viewer(run):
    with LiveViewer(scene_at_rest(watched()), port=0, open_page=False) as opened:
        opened.show(run)
        opened.go_to(0.5)
        yield opened


def drawn(handle):
    """What a handle of viser's draws, (n, 2, 3)."""
    assert handle.visible
    return np.asarray(handle.points, float)


def test_rays_end_where_they_meet_something(viewer):
    found = viewer._scene.sensors
    (met,) = drawn(found._lines["rays"])
    np.testing.assert_allclose(met, [(0.2, 0, 0.2), (2.0, 0, 0.2)], atol=1e-3)
    np.testing.assert_allclose(np.asarray(found._hits.points), [(2.0, 0, 0.2)], atol=1e-3)
    (free,) = drawn(found._lines["free rays"])
    np.testing.assert_allclose(free[0], (0.2, 0, 0.2), atol=1e-3)
    assert free[1, 0] < 0.0 and np.linalg.norm(free[1] - free[0]) < viewer._scene.extent.size


@pytest.mark.parametrize(("what", "count"), [("specific force", 1), ("force", 2)])
def test_arrows_stand_in_the_axes_of_the_world(viewer, what, count):
    arrows = drawn(viewer._scene.sensors._arrows[what])
    assert len(arrows) == count
    along = arrows[:, 1] - arrows[:, 0]
    assert (along[:, 2] > 0.98 * np.linalg.norm(along, axis=1)).all(), "gravity is felt, and carried, upward"


def test_a_region_is_red_where_it_is_touched(viewer):
    regions = viewer._scene.sensors._regions
    assert (regions["sole"].color, regions["lid"].color) == (TOUCHED, UNTOUCHED)
    np.testing.assert_allclose(regions["sole"].position, (0, 0, 0), atol=1e-3)


def test_the_check_box_hides_all_of_it(viewer):
    found = viewer._scene.sensors
    viewer.show_kind(SENSORS, False)
    handles = [found._axes, found._hits, *found._lines.values(), *found._arrows.values(), *found._regions.values()]
    assert not any(handle.visible for handle in handles)
    assert not found.scales() and not found.keys()
    viewer.show_kind(SENSORS)
    assert all(handle.visible for handle in (found._axes, found._hits, *found._regions.values()))


def test_the_panel_and_the_legend_tell_the_values(viewer):
    text = viewer._scene.sensors.table(0.5)
    assert "nearest 1.8 m, 1 of 2 rays meet something" in text and "24.5" in text and "8 × 6 pixels" in text
    words = legend(viewer._scene.sensors.scales(), None, 0.0, viewer._scene.sensors.keys())
    for part in ("measured specific force", "rays that meet nothing", "views of cameras", "regions that are touched"):
        assert part in words


def test_the_view_of_a_camera_opens_towards_what_it_sees():
    (camera,) = [sensor for sensor in parse_scene(scene_at_rest(watched())).sensors if sensor.view is not None]
    lines = frustum(camera, *camera.placed(np.zeros((0, 3)), np.zeros((0, 4))), 10.0)
    corners = lines[:4, 1] - (0, 1, 1)
    assert (corners[:, 0] > 0.0).all(), "it looks along x"
    slopes = np.abs(corners[:, [1, 2]] / corners[:, :1])  # up, and across
    np.testing.assert_allclose(slopes, np.tile(np.tan(0.5) * np.array([1.0, 8 / 6]), (4, 1)))
    assert lines[-3:, :, 1].min() > lines[:4, 1, 1].max(), "the triangle is above"


def test_a_scene_without_sensors_has_no_check_box_and_no_table():
    scene = dal.Scene("bare")
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
    with LiveViewer(scene_at_rest(scene), port=0, open_page=False) as viewer:
        assert not viewer._panel._kinds[SENSORS].visible and not viewer._panel.sensor_folder.visible


def test_samples_are_those_of_the_time_that_is_shown(run, tmp_path):
    live = dal.Simulation(watched(), dt=1 / 240)
    while live.time < 0.5:
        live.step()
    reading = live.sensors["imu"]
    saved = dal.Trajectory.load(run.save(tmp_path / "run.nc")).sensors["imu"]
    recorded = RecordedSamples(saved["time"].values, saved.values)
    for number in (0, 7, 40):
        time = reading.times[number] + 1e-9
        assert np.array_equal(reading.at(time), reading.values[number])
        assert np.array_equal(recorded.at(time), reading.at(time))
    assert np.isnan(reading.at(-1.0)).all() and np.isnan(recorded.at(-1.0)).all()


def test_a_run_that_goes_on_from_an_earlier_instant_shows_its_new_samples():
    opened = dal.show(watched(), port=0, open_page=False, wait=False, dt=1 / 240)
    try:
        for _ in range(20):
            opened.session.advance()
        opened._push()
        opened.viewer.go_to(0.1)
        opened._from_here()
        opened.session.set_gravity((0.0, 0.0, -2.0))
        for _ in range(20):
            opened.session.advance()
        opened._push()
        opened.viewer.go_to(opened.session.time)
        force = dict((s.name, v) for s, v in opened.viewer._scene.sensors.values(opened.viewer.time))["imu"][:3]
        np.testing.assert_allclose(force, (0, 2.0, 0), atol=0.05)
    finally:
        opened.close()


@pytest.mark.parametrize("damage", [{"body": "nobody"}, {"position": [0, 0]}, {"position": [0, 0, np.nan]}, {"units": "m"},
                                    {"directions": [[1, 0]]}, {"view": [1.0]}, {"orientation": "up"},
                                    {"region": {"vertices": [[0, 0, 0]], "faces": [[0, 1, 2]]}}])  # fmt: skip
def test_a_damaged_description_is_refused_by_name(damage):
    sensor = {"name": "odd", "kind": "range", "units": ["m"], "body": "box", "position": [0, 0, 0]}
    with pytest.raises(ValueError, match="sensor 'odd'"):
        parse_scene({"bodies": [{"name": "box"}], "sensors": [sensor | damage]})


def test_values_are_short_texts_with_units():
    by_name = {sensor.name: sensor for sensor in parse_scene(scene_at_rest(watched())).sensors}
    assert value_text(by_name["imu"], np.array([0, 9.81, 0, 1e-12, 0.25, -1])) == "0 9.81 0 m/s²; 0 0.25 -1 rad/s"
    assert value_text(by_name["imu"], np.full(6, np.nan)) == "no sample yet"
    assert value_text(by_name["lidar"], np.array([np.inf, np.inf])) == "nothing in reach"
    assert value_text(by_name["angle"], np.array([0.5])) == "0.5 rad"


def test_images_are_bright_where_they_are_near():
    depth = as_picture("depth", np.array([[1.0, 2.0, np.inf]], np.float32))
    assert depth[0, :, 0].tolist() == [255, 128, 0]
    number = as_picture("segmentation", np.array([[-1, 0, 1]], np.int32))
    assert len({tuple(color) for color in number[0].tolist()}) == 3


def test_still_pictures_draw_sensors_where_they_are_asked_for(run):
    options = dict(time=0.5, trail=False, size=(320, 240), fine=1, elevation=0.0, azimuth=-90.0)
    plain, drawn = (picture(run, sensors=on, **options).astype(int) for on in (False, True))
    changed = np.abs(drawn - plain).sum(axis=2) > 0
    ray = (np.abs(drawn - np.array(RAY)).max(axis=2) < 40) & changed
    rows, columns = np.nonzero(ray)
    assert len(rows) and np.ptp(columns) > 5 * np.ptp(rows), "the ray to the wall is level"
    assert changed[-40:, :150].any(), "a legend stands at the lower left"
    assert np.array_equal(picture(run, **options), plain)


def test_the_arrows_of_a_film_have_one_scale(run):
    parsed = parse_scene(run.scene_description).sensors
    found = RecordedSensors(parsed, {name: (a["time"].values, a.values) for name, a in run.sensors.items()})
    force = run.sensors["weight"].values
    assert found.largest["force"] >= np.linalg.norm(force, axis=1).max() > 0.0
    assert found.largest["specific force"] >= 9.0


def test_gravity_is_seen_after_an_impact_and_noise_is_no_long_arrow():
    places, vectors = np.zeros((2, 3)), np.array([(0, 0, 9.81), (0, 0, 500.0)])
    scale = scale_of("specific force", 500.0)
    rest, impact = np.linalg.norm(np.diff(arrow_lines(places, vectors, scale, 1.0), axis=1), axis=2).ravel()
    assert impact == pytest.approx(LONGEST) and rest > 0.3 * LONGEST
    assert scale_text("specific force", 500.0) == "30 m/s² and more" and scale_text("force", 500.0) == "500 N"
    assert scale_of("angular rate", 1e-6) == 0.5


@needs_browser
@pytest.mark.slow
def test_a_page_receives_pictures_and_shows_the_values_of_sensors(viewer, tmp_path):
    with Page(viewer.address, tmp_path, 900, 700, blind=True) as page:
        says = "document.body.innerText.includes('nearest 1.8 m, 1 of 2 rays meet something')"
        wait_until(lambda: page.evaluate(says), "the panel does not show what the range sensor reads")
        assert page.evaluate("document.title") == "dalembert"
        viewer.go_to(0.0)
        viewer.play()
        wait_until(lambda: viewer.time > 0.3, "the run is not played")
        wait_until(lambda: page.evaluate("document.querySelector('.dalembert-legend').innerText.includes('measured force')"),
                   "the legend does not tell what the arrows are")  # fmt: skip
