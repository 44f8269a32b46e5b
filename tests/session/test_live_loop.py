"""A session behind its page, without a browser: it goes on when asked, and what goes wrong is said and loses nothing."""

import socket

import numpy as np
import pytest
from stones import stones, wait_for

import dalembert as dal
from dalembert.cli.live_session import LiveSession
from dalembert.view.live import LiveViewer


@pytest.fixture
def live():
    opened = dal.show(stones(), port=0, open_page=False, wait=False, dt=1 / 240)
    said = []
    opened.viewer.tell = lambda words, trouble=False: said.append(words)
    opened.said = said
    yield opened
    opened.close()


def test_it_waits_until_it_is_played_steps_and_goes_at_the_pace_of_the_clock(live):
    assert live.session.time == 0.0 and not live.viewer.playing
    live.viewer.step(3)
    wait_for(lambda: live.viewer.time == pytest.approx(3 / 60))
    live.viewer.play()
    wait_for(lambda: live.viewer.time > 0.4)
    live.viewer.play(False)
    ahead = live.session.time - live.viewer.time
    assert -1e-9 <= ahead < 0.15  # it does not run away from what is shown


def test_what_is_recorded_stays_until_the_run_goes_on_from_the_past(live):
    live.viewer.step(10)
    wait_for(lambda: live.viewer.time == pytest.approx(10 / 60))
    live.viewer.go_to(4.2 / 60)
    assert live.viewer.frame_count == 11
    live.do(live._from_here)
    wait_for(lambda: live.viewer.frame_count == 5 and live.viewer.time == live.session.time)
    assert live.session.time == pytest.approx(4 / 60)
    live.viewer.step(1)
    wait_for(lambda: live.viewer.frame_count == 6)


def test_what_is_dragged_is_pulled(live):
    live.viewer.play()
    place = live.viewer.placed[0][1].copy()
    live._drag(1, "start", place, place + (0, 0, 0.2))
    wait_for(lambda: live.session.hand.body == "stone 1")
    live._drag(1, "update", place, place + (0, 0, 0.8))
    wait_for(lambda: live.viewer.placed[0][1][2] > place[2] + 0.3)
    live._drag(1, "end", place, place)
    wait_for(lambda: live.session.hand.body is None)
    live.viewer.play(False)


def test_a_scene_that_raises_leaves_the_one_that_is_shown(live):
    live.viewer.step(2)
    wait_for(lambda: live.viewer.frame_count == 3)
    load, live._load = live._load, lambda name: 1 / 0
    live.panel.scene.value = "wall"
    live.do(lambda: live._switch("wall"))
    wait_for(lambda: any("division by zero" in words for words in live.said))
    assert live.name == "stones" and live.viewer.frame_count == 3 and live.panel.scene.value == "stones"
    live._load = load
    live.do(lambda: live._switch("pendulum"))
    wait_for(lambda: live.name == "pendulum")
    assert len(live.viewer.drawing.bodies) == len(live.session.scene.bodies)
    live.do(lambda: live._switch("stones"))
    wait_for(lambda: live.name == "stones" and live.viewer.frame_count == 3)


def test_a_run_that_fails_keeps_its_frames_and_can_be_taken_back():
    scene = stones()
    scene.external_force("trouble", "stone 0", function=lambda t, x, q, v, w: (np.nan if t > 0.1 else 0.0, 0.0, 0.0))
    live = dal.show(scene, port=0, open_page=False, wait=False, dt=1 / 240)
    try:
        live.viewer.play()
        wait_for(lambda: live.trouble)
        assert "stone 0" in live.trouble or "not finite" in live.trouble
        assert not live.viewer.playing and live.viewer.frame_count >= 6
        live.viewer.go_to(0.03)
        live.do(live._from_here)
        wait_for(lambda: not live.trouble)
        assert live.session.time == pytest.approx(1 / 60)
    finally:
        live.close()


def test_parameters_are_changed_while_it_runs_and_bad_ones_are_refused(live):
    live.do(lambda: live._steer("gravity", (0.0, 0.0, -1.0)))
    live.do(lambda: live._steer("dt", -1.0))
    wait_for(lambda: any("dt is -1.0" in words for words in live.said))
    assert live.session.gravity.tolist() == [0.0, 0.0, -1.0]
    live.do(lambda: live._steer("dt", 1 / 480))
    wait_for(lambda: live.session.run.settings["dt"] == 1 / 480)


def test_a_saved_run_is_replayed_and_a_taken_port_is_named(tmp_path):
    run = dal.simulate(stones(), 0.2, dt=1 / 240)
    file = run.trajectory.save(tmp_path / "run.nc")
    viewer = dal.show(file, port=0, open_page=False, wait=False)
    try:
        assert isinstance(viewer, LiveViewer) and viewer.frame_count == len(run.trajectory)
        with pytest.raises(ValueError, match="leave out dt"):
            dal.show(file, port=0, open_page=False, wait=False, dt=0.1)
    finally:
        viewer.close()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="is in use"):
            dal.show(stones(), port=taken.getsockname()[1], open_page=False, wait=False, dt=1 / 240)


def test_other_hosts_are_served_only_when_asked_for_and_with_a_warning(capsys):
    live = dal.show(stones(), host="0.0.0.0", port=0, open_page=False, wait=False, dt=1 / 240)
    live.close()
    assert isinstance(live, LiveSession)
    words = capsys.readouterr().err
    assert "0.0.0.0" in words and "can steer the run" in words and "no password" in words
