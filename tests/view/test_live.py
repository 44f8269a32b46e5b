"""The live viewer serves its page on loopback, follows runs, is seen and steered in a browser, and closes."""

import socket
import time
import urllib.request

import numpy as np
import pytest
from browser import Page, needs_browser, wait_until

from dalembert.simulation.trajectory import Trajectory
from dalembert.view.live import LiveViewer


def frames_of(run, part):
    names = ("position", "orientation", "kinetic", "potential", "balance")
    return {"time": run.times[part], **{name: run[name].values[part] for name in names}}


@pytest.fixture
def viewer(run):
    with LiveViewer(run.scene_description, port=0, open_page=False) as opened:
        yield opened


def test_serves_replays_and_closes(run, viewer, capsys):
    assert viewer.address.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(viewer.address, timeout=60) as answer:
        assert answer.status == 200 and b"<html" in answer.read()
    port = int(viewer.address.rsplit(":", 1)[1])
    with pytest.raises(OSError, match=rf"port {port} on 127\.0\.0\.1 is in use"):
        LiveViewer(run.scene_description, port=port, open_page=False)
    viewer.show(run)
    assert viewer.time == run.times[0]
    viewer.play()
    wait_until(lambda: viewer.time >= 0.2, "it does not play")
    viewer.close()
    viewer.close()
    with socket.socket() as probe, pytest.raises(OSError, match="refused"):
        probe.connect(("127.0.0.1", port))


def test_a_run_in_progress_is_played_as_far_as_it_has_come(run, viewer):
    viewer.play()
    viewer.push(frames_of(run, slice(0, 10)))
    wait_until(lambda: viewer.time >= run.times[9], "it does not play what there is")
    time.sleep(0.2)
    assert viewer.time == run.times[9]
    np.testing.assert_allclose(viewer.placed[0][1], run.position.values[9, 1], atol=1e-6)
    viewer.push(frames_of(run, slice(10, 20)))
    wait_until(lambda: viewer.time >= run.times[19], "it does not go on")
    viewer.finish()
    with pytest.raises(ValueError, match="follow one another"):
        viewer.push(frames_of(run, slice(0, 1)))


def test_a_step_asked_for_while_a_run_goes_back_is_made_when_its_frame_comes(run, viewer):
    """A key that is pressed between the moment the run goes back and the moment its later frames are dropped."""
    viewer.push(frames_of(run, slice(0, 10)))
    viewer.go_to(0.0)
    viewer.step(1)
    assert viewer.time == run.times[1]
    viewer.drop_after(0.0)
    assert viewer.time == 0.0 and viewer.wants_more
    viewer.push(frames_of(run, slice(1, 2)))
    assert viewer.time == run.times[1] and not viewer.wants_more


def test_a_run_of_another_scene_is_refused(viewer):
    other = Trajectory.from_arrays(
        {
            "time": [0.0],
            "position": np.zeros((1, 1, 3)),
            "orientation": [[[1.0, 0, 0, 0]]],
            "kinetic": [0.0],
            "potential": [0.0],
        },
        bodies=["stranger"],
    )
    with pytest.raises(ValueError, match="stranger"):
        viewer.show(other)


@needs_browser
@pytest.mark.slow
def test_in_a_browser_the_run_is_seen_and_steered(run, viewer, tmp_path):
    viewer.push(frames_of(run, slice(0, 200)))
    viewer._panel.shadows.value = False  # they take the longest to draw without a graphics card
    with Page(viewer.address, tmp_path) as page:
        wait_until(lambda: viewer.time > 0.1, "opening the page does not start the show")
        page.click("Pause")
        wait_until(lambda: not viewer.playing, "the button does not pause")
        viewer.push(frames_of(run, slice(200, len(run))))
        viewer.finish()
        before = viewer.time
        page.click("+10")
        wait_until(lambda: viewer.time > before, "the button does not step")

        def bodies_are_seen():
            stage = page.picture()[:, :320]  # the panel is on the right
            orange = (stage[..., 0] - stage[..., 2] > 60).sum()
            blue = (stage[..., 2] - stage[..., 0] > 40).sum()
            return orange > 100 and blue > 50

        wait_until(bodies_are_seen, "the box and the bob are not in the picture")
        text = page.evaluate("document.body.innerText")
        for words in ("energy error", "follow", "trail"):
            assert words in text
        assert (
            page.evaluate("document.querySelectorAll('.uplot canvas').length") == 2
        )  # no quantity: nothing was recorded
