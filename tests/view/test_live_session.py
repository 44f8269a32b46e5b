"""A session in a real browser, end to end: open, play, pull a body, go back, go on, switch the scene, leave."""

import numpy as np
import pytest
from browser import Page, needs_browser, wait_until

import dalembert as dal

TOP = 20  # pixels from the top of the page: how far the body is pulled, as high as any camera shows


def stone():
    """A box on the ground."""
    scene = dal.Scene("stone", material=dal.Material(friction=0.5))
    scene.add_obstacle("ground", dal.HalfSpace())
    scene.add_body("stone", dal.Box(0.5, 0.5, 0.5), mass=2.0, position=(0, 0, 0.25))
    return scene


@pytest.fixture
def live():
    session = dal.show(stone(), port=0, open_page=False, wait=False, dt=1 / 240)
    yield session
    session.close()


def on_page(page, viewer, point):
    """Pixels of a point (m) as the first page sees it."""
    camera = next(iter(viewer.server.get_clients().values())).camera
    forward = camera.look_at - camera.position
    forward = forward / np.linalg.norm(forward)
    right = np.cross(forward, camera.up_direction)
    right = right / np.linalg.norm(right)
    down = np.cross(forward, right)
    away = np.asarray(point) - camera.position
    scale = camera.image_height / (2.0 * np.tan(0.5 * camera.fov)) / (away @ forward)
    left, top, width, height = page.evaluate(
        "((r) => [r.left, r.top, r.width, r.height])(document.querySelector('canvas').getBoundingClientRect())"
    )
    return left + 0.5 * width + scale * (away @ right), top + 0.5 * height + scale * (away @ down)


@needs_browser
@pytest.mark.slow
def test_a_person_takes_part_in_a_run(live, tmp_path):
    viewer = live.viewer
    with Page(viewer.address, tmp_path, 1280, 800, blind=True) as page:
        wait_until(lambda: viewer.time > 0.3, "opening the page does not start the run")

        height = lambda: viewer.placed[0][0, 2]  # noqa: E731
        x, y = on_page(page, viewer, (0.0, 0.0, 0.3))
        page.mouse("mouseMoved", x, y, held=False)
        page.mouse("mousePressed", x, y)
        for k in range(15):
            page.mouse("mouseMoved", x, y + (TOP - y) * k / 14)
        wait_until(lambda: live.session.hand.body == "stone", "dragging the body does not take hold of it")

        def lifted():
            page.mouse("mouseMoved", x, TOP)  # a hand never rests; of moves all at once the last may be left out
            return height() > 0.4

        wait_until(lifted, "the hand does not lift the body")
        page.mouse("mouseReleased", x, TOP)
        wait_until(lambda: live.session.hand.body is None, "letting go does not")
        wait_until(lambda: height() < 0.3, "it does not fall down again")
        run = live.session.run
        works = dict(zip(run.model.force_names, run.recorder.ledger()["work"][-1], strict=True))
        assert works["grab"] > 2.0 * 9.81 * 0.12  # J, what it takes to lift it so far

        page.click("Pause")
        wait_until(lambda: not viewer.playing, "the button does not pause")
        end = live.session.time
        page.key("Home", "Home", 36)
        wait_until(lambda: viewer.time == 0.0, "the key does not go back to the start")
        assert live.session.time == end  # what was recorded stays until the run goes on from there
        page.key("g", "KeyG", 71)
        wait_until(lambda: live.session.time == 0.0 and viewer.frame_count == 1, "the run does not go back")
        page.key("n", "KeyN", 78)
        wait_until(lambda: viewer.time == pytest.approx(live.session.frame_time), "the key does not step")
        page.key("p", "KeyP", 80)
        wait_until(lambda: viewer.playing and viewer.time > 0.1, "the key does not play")

        page.pick("scene", "double-pendulum")
        wait_until(lambda: live.name == "double-pendulum" and viewer.time > 0.1, "the scene does not change")
        assert [body.name for body in viewer.drawing.bodies] == list(live.session.scene.bodies)
        page.pick("scene", "stone")
        wait_until(lambda: live.name == "stone" and live.session.run is run, "the run before is not found again")
        assert page.errors == []
    wait_until(lambda: not viewer.server.get_clients(), "the server does not notice that the browser left")
    before = live.session.time
    live.viewer.play()
    wait_until(lambda: live.session.time > before + 0.1, "the run stops where the browser leaves")
