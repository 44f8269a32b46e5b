"""`dalembert view` refuses what it cannot show, with a message."""

import socket

import pytest

from dalembert.cli import app
from dalembert.cli.commands import REFUSED


@pytest.fixture
def view(monkeypatch):
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    return lambda *words: app(["view", *map(str, words)], result_action="return_value")


def test_a_scene_that_raises_is_named(view, tmp_path, capsys):
    file = tmp_path / "bad.py"
    file.write_text("def build():\n    raise RuntimeError('my own mistake')\n")
    assert view(file) == REFUSED
    words = capsys.readouterr().err
    assert "bad.py" in words and "my own mistake" in words and "Traceback" not in words


def test_unknown_scenes_damaged_runs_bad_settings_and_taken_ports_are_refused(view, tmp_path, capsys):
    assert view("nosuch") == REFUSED
    damaged = tmp_path / "run.nc"
    damaged.write_text("no run")
    assert view(damaged) == REFUSED
    assert "run.nc" in capsys.readouterr().err
    assert view("pendulum", "--port", 0, "--dt", -1) == REFUSED
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert view("pendulum", "--port", port) == REFUSED
    assert f"port {port} on 127.0.0.1 is in use" in capsys.readouterr().err
