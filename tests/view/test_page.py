"""The look of the live page, and runs that wait while no page is visible."""

import numpy as np
import pytest
from browser import Page, needs_browser, wait_until
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as dal
from dalembert.cli.viewer import scene_at_rest
from dalembert.view.live import LiveViewer
from dalembert.view.live_page import _draw, legend, limits
from dalembert.view.live_server import Audience
from dalembert.view.plots import FLAT

RED = "#c8321e"


def box(end=None):
    """A red box at rest on the ground, and an event that ends the run at `end` s."""
    scene = dal.Scene("box", material=dal.Material(friction=0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("box", dal.Box(0.5, 0.5, 0.5), mass=2.0, position=(0, 0, 0.25), color=RED)
    if end is not None:
        scene.event("over", lambda t, s: t - end, stop=True)
    return scene


# Axes of plots --------------------------------------------------------------------------------------------------------


class Drawn:
    """What a plot of viser's is told."""

    title = ""
    visible = False


@settings(deadline=None, max_examples=100)
@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=20), st.sampled_from([0.0, 1e-6, 1.0, 1e3]))
def test_axes_hold_all_values_and_zero_and_little_else(values, least):
    values = np.array(values)
    low, high = limits([values], least)
    span = max(np.ptp(np.append(values, 0.0)), least) or 1.0
    assert low <= min(values.min(), 0.0) and high >= max(values.max(), 0.0)
    assert high - low <= 1.101 * span


def test_rounding_errors_of_a_scene_at_rest_are_drawn_flat():
    times, noise = np.linspace(0.0, 5.0, 50), 1e-17 * np.sin(np.arange(50.0))
    plot = Drawn()
    _draw(plot, "energy", FLAT * 0.05, times, noise)
    assert plot.title == "energy, µJ"
    low, high = plot.scales["y"]["range"] if isinstance(plot.scales["y"], dict) else plot.scales["y"].range
    assert np.abs(plot.data[1]).max() < 1e-6 * (high - low)


def test_the_axis_of_time_is_the_time_of_the_data():
    plot = Drawn()
    _draw(plot, "energy", 0.0, np.linspace(2.0, 7.5, 9), np.linspace(0.0, 3.0, 9))
    found = plot.scales["x"]
    assert tuple(found["range"] if isinstance(found, dict) else found.range) == (2.0, 7.5)


def test_the_legend_says_what_the_colours_of_trails_mean():
    assert "3.2 m/s" in legend((), None, 3.2)
    assert legend((), None, 0.0) == ""


# Who looks ------------------------------------------------------------------------------------------------------------


def test_the_audience_counts_pages_that_are_on_a_screen():
    audience = Audience()
    assert not audience.looks(0)
    assert audience.looks(1), "a page that has told nothing counts"
    assert audience.heard("/looking?abc=1") and audience.looks(1)
    assert audience.heard("/looking?abc=0") and not audience.looks(1)
    assert audience.looks(2), "of two pages one has told nothing"
    assert audience.heard("/looking?abc=1") and not audience.looks(0), "a page that is gone does not look"
    for path in ("/", "/looking", "/looking?abc=2", "/looking?<b>=1", f"/looking?{'a' * 50}=1"):
        assert not audience.heard(path)


HIDE = """(hidden => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
  document.dispatchEvent(new Event('visibilitychange')); })"""


@needs_browser
@pytest.mark.slow
def test_a_run_waits_while_its_page_is_hidden_or_closed(tmp_path):
    session = dal.show(box(), port=0, open_page=False, wait=False, dt=1 / 240)
    viewer = session.viewer
    try:
        with Page(viewer.address, tmp_path, blind=True) as page:
            wait_until(lambda: viewer.time > 0.2, "it does not run where somebody looks")
            page.evaluate(f"{HIDE}(true)")
            wait_until(lambda: not viewer.watched, "the page does not tell that it is hidden")
            wait_until(lambda: stands_still(session), "it runs where nobody looks")
            page.evaluate(f"{HIDE}(false)")
            before = viewer.time
            wait_until(lambda: viewer.time > before + 0.1, "it does not go on")
        wait_until(lambda: not viewer.watched, "the page is closed, and yet looked at")
        wait_until(lambda: stands_still(session), "it runs without a page")
    finally:
        session.close()


def stands_still(session):
    import time

    before = session.viewer.time, session.session.time
    time.sleep(0.5)
    return (session.viewer.time, session.session.time) == before


# Pictures of the page -------------------------------------------------------------------------------------------------


def saturation(rgb):
    """Of colours (n, 3), 0 to 1."""
    high, low = rgb.max(axis=-1), rgb.min(axis=-1)
    return np.where(high > 0, (high - low) / np.maximum(high, 1), 0.0)


@needs_browser
@pytest.mark.slow
def test_a_body_of_full_colour_stands_on_a_ground_under_a_sky(tmp_path):
    session = dal.show(box(0.3), port=0, open_page=False, wait=False, dt=1 / 240)
    try:
        with Page(session.viewer.address, tmp_path, 900, 560) as page:
            wait_until(lambda: session.trouble, "the run does not end")
            ended = (
                "[...document.querySelectorAll('*')].find((e) => !e.children.length && /has ended/.test(e.innerText))"
            )
            wait_until(lambda: page.evaluate(f"Boolean({ended})"), "nothing tells that the run has ended")
            red = f"getComputedStyle({ended}.closest('[class*=Notification-root]'), '::before').backgroundColor"
            r, g, b = (int(part) for part in page.evaluate(red).strip("rgba()").split(",")[:3])
            assert r < max(g, b), "a normal end is told in red"
            stage = lambda: page.picture()[:, :560]  # noqa: E731
            is_red = lambda p: (p[..., 0] > 1.6 * p[..., 1]) & (p[..., 0] > 60)  # noqa: E731
            wait_until(lambda: is_red(stage()).sum() > 2000, "no red box is seen")
            picture = stage()
            body = picture[is_red(picture)]
            assert saturation(body).mean() > 0.55, "the colour of the box is washed out"
            sky, ground = picture[10:50, 430:], picture[-60:, :].reshape(-1, 3)
            assert (sky[..., 2] - sky[..., 0]).mean() > 15, "the sky is not blue"
            assert saturation(ground).mean() < 0.12 and 120 < ground.mean() < 235, (
                "no grey ground covers the lower part"
            )
    finally:
        session.close()


@needs_browser
@pytest.mark.slow
def test_on_a_phone_the_panel_leaves_more_than_half_to_the_scene(tmp_path):
    session = dal.show(box(), port=0, open_page=False, wait=False, dt=1 / 240)
    try:
        with Page(session.viewer.address, tmp_path, 390, 844, blind=True) as page:
            wait_until(lambda: session.viewer.time > 0.1, "it does not run")
            panels = "[...document.querySelectorAll('.mantine-Paper-root')]"
            find = f"{panels}.find((e) => getComputedStyle(e).position === 'fixed')"
            wait_until(lambda: page.evaluate(f"Boolean({find})"), "there is no panel")
            size = f"(r => [r.left, r.top, r.width, r.height])({find}.getBoundingClientRect())"
            wait_until(lambda: page.evaluate(size)[2] == 390, "the panel is not as wide as the page")
            left, top, _, height = page.evaluate(size)
            assert left == 0 and height <= 0.45 * 844 and top >= 0.55 * 844
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
    finally:
        session.close()


def test_a_body_that_is_clicked_is_named_beside_it():
    session = dal.show(box(), port=0, open_page=False, wait=False, dt=1 / 240)
    viewer = session.viewer
    try:
        viewer.play()
        wait_until(lambda: viewer.frame_count > 10, "it does not run")
        viewer.play(False)
        viewer.choose("box")
        wait_until(lambda: viewer._scene._label.visible, "nothing is said of the body")
        text, place = viewer._scene._label.text, viewer._scene._label.position
        assert text.startswith("box\n") and "m/s" in text and "z 0.25 m" in text
        np.testing.assert_allclose(place[:2], viewer.placed[0][0, :2], atol=1e-6)
        assert 0.25 < place[2] < 1.0
        viewer.choose(None)
        assert not viewer._scene._label.visible
    finally:
        session.close()


@needs_browser
@pytest.mark.slow
def test_the_picture_of_a_report_never_covers_its_tables(run, tmp_path):
    from dalembert.view.report import write_report

    page_file = write_report(run, tmp_path / "report.html")
    box_of = "(r => [r.left, r.top, r.right, r.bottom])(document.querySelector('{}').getBoundingClientRect())"
    with Page(page_file.as_uri(), tmp_path / "b", 1280, 800) as page:
        wait_until(lambda: page.evaluate("Boolean(document.querySelector('#tables section'))"), "there are no tables")
        length = page.evaluate("document.documentElement.scrollHeight")
        for y in np.linspace(0, length, 12):
            page.evaluate(f"window.scrollTo(0, {y})")
            picture, tables = page.evaluate(box_of.format(".player")), page.evaluate(box_of.format("#tables"))
            assert picture[3] <= tables[1], f"the picture covers the tables at {y:g}"
        page.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
        wait_until(lambda: page.evaluate("document.documentElement.scrollWidth") <= 390, "it is wider than a phone")


def test_colours_come_out_of_the_film_curve_of_the_page_as_they_are():
    from dalembert.view.live_stage import EXPOSURE, INTO, LIGHT, OUT_OF, as_sent, intensities

    def shown(rgb):  # the shader of three.js, on a surface in full light
        part = rgb / 255.0
        linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
        v = INTO @ (EXPOSURE * LIGHT * linear)
        v = (v * (v + 0.0245786) - 0.000090537) / (v * (0.983729 * v + 0.4329510) + 0.238081)
        linear = np.clip(OUT_OF @ v, 0.0, 1.0)
        return 255.0 * np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)

    for color in ([78, 121, 167], [89, 161, 79], [118, 183, 178], [156, 117, 95], [40, 40, 40], [128, 128, 128]):
        np.testing.assert_allclose(shown(as_sent(np.array(color, float))), color, atol=0.5)
        part = as_sent(np.array(color, float)) / 255.0
        linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
        np.testing.assert_allclose(intensities(np.array(color, float)), 255.0 * linear, rtol=1e-6)
    for color in ([255, 0, 0], [255, 255, 255], [0, 0, 0]):  # out of reach: as near as there is
        sent = as_sent(np.array(color, float))
        assert np.all((sent >= 0.0) & (sent <= 255.0))


def test_arrows_of_reactions_stand_at_their_own_joints():
    """A run may have its joints in another order than the scene, and more of them than are drawn."""
    scene = dal.Scene("two hang")
    for name, x in (("left", 0.0), ("right", 3.0)):
        scene.add_body(name, dal.Box(0.2, 0.2, 0.2), mass=1.0, position=(x, 0, 0))
        scene.hinge(name, dal.WORLD, name, at=(x, 0, 1), axis=(0, 1, 0))
    frames = {
        "time": [0.0], "position": [[(0, 0, 0), (3, 0, 0)]], "orientation": [[(1, 0, 0, 0)] * 2],
        "reaction_force": [[(9, 0, 0), (0, 0, 5), (0, 0, 1)]],
    }  # fmt: skip
    with LiveViewer(scene_at_rest(scene), port=0, open_page=False) as viewer:
        viewer.name_joints(["not drawn", "right", "left"])
        viewer.show_kind("reaction forces")
        viewer.push(frames)
        handle = viewer._scene.overlays._arrows["reaction forces"]
        assert handle.visible
        up = {round(float(start[0])): end - start for start, end in np.asarray(handle.points)}
        assert up[3][2] == pytest.approx(5.0 * up[0][2]) and abs(up[0][0]) < 1e-6
        assert all(0.0 < batch.opacity < 1.0 for _, batch in viewer._scene.bodies.batches), "joints lie within bodies"
        viewer.show_kind("reaction forces", False)
        assert all(batch.opacity is None for _, batch in viewer._scene.bodies.batches)
