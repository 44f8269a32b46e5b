"""The command line: what it prints, keeps and returns."""

import json

import pytest

from dalembert import Trajectory
from dalembert.cli import app
from dalembert.cli.commands import FAILED, REFUSED

SCENE = """
import dalembert as dal

SETTINGS = {"duration": 0.1, "method": "rk4", "dt": 0.01}

def build():
    scene = dal.Scene("ball")
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
    return scene
"""
WIND = """
def wind(t, x, q, v, w):
    if t > 0.045:
        raise ZeroDivisionError("no air")
    return [0.0, 0.0, 0.0]
"""
FAILING = WIND + SCENE.replace(
    "    return scene", '    scene.external_force("wind", "ball", function=wind)\n    return scene'
)


def run(*words):
    return app(list(words), result_action="return_value")


@pytest.fixture
def scene(tmp_path):
    path = tmp_path / "scene.py"
    path.write_text(SCENE)
    return str(path)


def test_list_names_every_scene_with_what_it_shows(capsys):
    assert run("list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("trebuchet") and len(line.split()) > 3 for line in lines)


def test_the_table_names_the_audit_and_the_stages(scene, capsys):
    assert run("run", scene) == 0
    out = capsys.readouterr().out
    for words in ("simulated time", "energy error", "momentum balance residual", "factorization"):
        assert words in out


def test_json_is_the_table_for_programs(scene, capsys):
    assert run("run", scene, "--json", "--duration", "0.2") == 0
    table = json.loads(capsys.readouterr().out)
    assert table["simulated_time"] == pytest.approx(0.2)
    assert table["steps"] == 20
    assert set(table["stages"]) >= {"factorization", "solve", "forces"}


def test_contact_is_solved_as_asked(capsys):
    assert run("run", "stack", "--duration", "0.05", "--solver", "gauss_seidel", "--threads", "2") == 0
    assert "gauss_seidel" in capsys.readouterr().out
    assert run("run", "stack", "--threads", "0") == REFUSED
    assert "threads is 0" in capsys.readouterr().err


def test_a_run_is_saved_and_resumed_where_it_stopped(scene, tmp_path, capsys):
    out = tmp_path / "run.nc"
    assert run("run", scene, "--out", str(out)) == 0
    first = Trajectory.load(out)
    assert run("run", scene, "--resume", str(out), "--out", str(tmp_path / "more.nc")) == 0
    second = Trajectory.load(tmp_path / "more.nc")
    assert second.times[0] == first.times[-1]
    assert second.times[-1] == pytest.approx(0.2)
    assert float(second.position[-1, 0, 2]) == pytest.approx(-0.5 * 9.81 * 0.2**2, abs=1e-12)


def test_the_report_page_is_written(scene, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert run("run", scene, "--report", str(page)) == 0
    assert "<canvas" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["run", "no-such-scene"], "no scene 'no-such-scene'"),
        (["run", "missing.py"], "no file"),
        (["run", "pendulum", "--method", "magic"], "unknown method 'magic'"),
        (["run", "pendulum", "--dt", "-1"], "dt is -1"),
    ],
)
def test_what_cannot_be_run_is_refused_with_the_reason(words, reason, capsys):
    assert run(*words) == REFUSED
    assert reason in capsys.readouterr().err


def test_a_run_that_fails_keeps_and_saves_what_was_recorded(tmp_path, capsys):
    path = tmp_path / "failing.py"
    path.write_text(FAILING)
    out = tmp_path / "failed.nc"
    assert run("run", str(path), "--out", str(out), "--frame-rate", "100") == FAILED
    error = capsys.readouterr().err
    assert "wind" in error and "ZeroDivisionError" in error and "t = 0.04" in error
    assert Trajectory.load(out).times[-1] == pytest.approx(0.04)
