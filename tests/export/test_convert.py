"""`dalembert convert`: which files it reads and writes, what it says, and what it returns."""

import pytest
import trimesh

import dalembert as dal
from dalembert.cli import app
from dalembert.cli.commands import REFUSED

SCENE = """
import dalembert as dal

SETTINGS = {"method": "rk4", "dt": 0.01}

def build():
    scene = dal.Scene("ball")
    scene.add_body("ball", dal.Sphere(0.1), mass=1.0)
    scene.drag("air", linear=0.1)
    return scene
"""


def convert(*words):
    return app(["convert", *map(str, words)], result_action="return_value")


@pytest.fixture
def scene(tmp_path):
    (tmp_path / "scene.py").write_text(SCENE)
    return tmp_path / "scene.py"


def test_a_gallery_scene_becomes_mjcf(tmp_path, capsys):
    assert convert("double-pendulum", tmp_path / "model.xml") == 0
    told = capsys.readouterr()
    assert str(tmp_path / "model.xml") in told.out and told.err == ""
    assert "elbow" in (tmp_path / "model.xml").read_text()


def test_warnings_are_printed(scene, tmp_path, capsys):
    assert convert(scene, tmp_path / "model.xml") == 0
    assert capsys.readouterr().err == "dalembert: warning: drag 'air': MJCF has no such force; it is left out\n"


def test_a_scene_is_run_where_a_duration_is_given(scene, tmp_path):
    assert convert(scene, tmp_path / "still.glb") == 0
    assert convert(scene, tmp_path / "moving.glb", "--duration", "0.1") == 0
    assert b'"animations"' in (tmp_path / "moving.glb").read_bytes()
    assert b'"animations"' not in (tmp_path / "still.glb").read_bytes()
    assert len(trimesh.load(tmp_path / "still.glb").geometry) == 1


def test_a_saved_run_becomes_an_animation_but_no_model(scene, tmp_path, capsys):
    assert (
        app(["run", str(scene), "--duration", "0.1", "--out", str(tmp_path / "run.nc")], result_action="return_value")
        == 0
    )
    assert convert(tmp_path / "run.nc", tmp_path / "run.glb") == 0
    assert b'"animations"' in (tmp_path / "run.glb").read_bytes()
    assert convert(tmp_path / "run.nc", tmp_path / "run.xml") == REFUSED
    assert "convert the scene itself" in capsys.readouterr().err
    assert convert(tmp_path / "run.nc", tmp_path / "run.glb", "--duration", "1") == REFUSED


def test_usd_goes_in_and_out(tmp_path, capsys):
    pytest.importorskip("pxr", reason="usd-core is not installed")
    assert convert("four-bar", tmp_path / "model.usdc") == 0
    assert convert(tmp_path / "model.usdc", tmp_path / "model.xml") == 0
    assert capsys.readouterr().err == ""
    assert "crank" in (tmp_path / "model.xml").read_text()


def test_a_model_file_is_read_where_there_is_a_reader(tmp_path, capsys, monkeypatch):
    class Model:
        scene, warnings = dal.Scene("robot"), ["something"]

    monkeypatch.setattr("dalembert.io.load.load_model", lambda path, floating: Model())
    assert convert(tmp_path / "robot.urdf", tmp_path / "robot.xml") == 0
    assert capsys.readouterr().err == "dalembert: warning: something\n"


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        ("double-pendulum", "model.obj", "unsupported format '.obj'"),
        ("no-such-scene", "model.xml", "no scene 'no-such-scene'"),
        ("missing.nc", "model.glb", "there is no trajectory file"),
    ],
)
def test_what_cannot_be_converted_is_refused(source, target, words, tmp_path, capsys):
    assert convert(source, tmp_path / target) == REFUSED
    assert words in capsys.readouterr().err


def test_a_run_becomes_pictures_a_film_and_a_page(scene, tmp_path, capsys):
    assert (
        app(["run", str(scene), "--duration", "0.1", "--out", str(tmp_path / "run.nc")], result_action="return_value")
        == 0
    )
    run, size = tmp_path / "run.nc", ("--size", "64", "48")
    assert convert(run, tmp_path / "run.png", "--time", "0.05", *size) == 0
    assert convert(run, tmp_path / "run.gif", "--speed", "0.5", *size) == 0
    assert convert(run, tmp_path / "run.html") == 0
    assert convert(scene, tmp_path / "start.png", *size) == 0
    assert (tmp_path / "run.png").read_bytes()[:4] == b"\x89PNG" and (tmp_path / "run.gif").read_bytes()[:3] == b"GIF"
    assert "scene.py" in (tmp_path / "run.html").read_text()  # where the scene is from
    capsys.readouterr()
    assert convert(run, tmp_path / "run.gif", "--time", "0.05") == REFUSED
    assert "time is not an option of .gif files" in capsys.readouterr().err
    assert convert(scene, tmp_path / "start.gif") == REFUSED
    assert "run it first" in capsys.readouterr().err
    assert convert(run, tmp_path / "run.glb", "--speed", "2") == REFUSED
    assert "speed is not an option of .glb files" in capsys.readouterr().err
