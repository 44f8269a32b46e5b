"""The live viewer serves its page on loopback, follows runs, refuses a taken port and closes."""

import socket
import time
import urllib.request

import numpy as np
import pytest

from dalembert.trajectory import Trajectory
from dalembert.view.live import LiveViewer


def frame_of(run, i):
    names = ("position", "orientation", "kinetic", "potential", "balance")
    return {"time": run.times[i], **{name: run[name].values[i] for name in names}}


def test_serves_replays_and_closes(run, capsys):
    viewer = LiveViewer(run.scene_description, port=0, open_page=False)
    try:
        assert viewer.address.startswith("http://127.0.0.1:")
        assert viewer.address in capsys.readouterr().out
        with urllib.request.urlopen(viewer.address, timeout=60) as answer:
            assert answer.status == 200 and b"<html" in answer.read()
        with pytest.raises(OSError, match=r"port \d+ on 127\.0\.0\.1 is in use"):
            LiveViewer(run.scene_description, port=int(viewer.address.rsplit(":", 1)[1]), open_page=False)
        for i in range(0, 60, 20):
            viewer.push(frame_of(run, i))
            time.sleep(0.05)
        np.testing.assert_allclose(viewer.body_frames[1].position, run.position.values[40, 1], atol=1e-6)
        viewer.show(run)
        deadline = time.monotonic() + 10
        while viewer.time < run.times[0] + 0.2 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert viewer.time >= 0.2, "the replay plays by itself"
    finally:
        viewer.close()
        viewer.close()
    with socket.socket() as probe, pytest.raises(OSError, match="refused"):
        probe.connect(("127.0.0.1", int(viewer.address.rsplit(":", 1)[1])))


def test_a_run_of_another_scene_is_refused(run):
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
    viewer = LiveViewer(run.scene_description, port=0, open_page=False)
    with viewer, pytest.raises(ValueError, match="stranger"):
        viewer.show(other)
