"""`dalembert sweep` and `dalembert replay`: what they print, keep and return."""

import json

import pytest
import xarray

from dalembert.cli import app
from dalembert.cli.commands import FAILED, REFUSED
from dalembert.cli.commands.sweep import values_of

SCENE = """
import dalembert as dal

SETTINGS = {"duration": 0.2, "method": "rk4", "dt": 0.01}

def build(height: float = 1.0, balls: int = 1):
    if height < 0.0:
        raise RuntimeError("it is under the ground")
    scene = dal.Scene("balls")
    for i in range(balls):
        scene.add_body(f"ball {i}", dal.Sphere(0.1), mass=1.0, position=(i, 0, height))
    return scene

def lowest(run):
    return run.state.position[:, 2].min()
"""


def run(*words):
    return app([str(word) for word in words], result_action="return_value")


@pytest.fixture
def scene(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "scene.py"
    path.write_text(SCENE)
    return path


def test_a_sweep_in_batches_gives_the_same_dataset(scene, tmp_path, capsys):
    words = ("sweep", scene, "--vary", "height=1:3:5", "--vary", "balls=1,2")
    found = []
    for how in ("batch", "auto", "serial"):
        assert run(*words, "--how", how, "--out", tmp_path / how) == 0
        found.append(xarray.load_dataset(tmp_path / how / "sweep.nc").drop_vars("wall_time"))
    assert found[0].identical(found[2]) and found[1].identical(found[2])
    assert run(*words, "--how", "batch", "--keep", "lowest", "--out", tmp_path / "s") == REFUSED
    assert "cannot keep the function 'lowest'" in capsys.readouterr().err


def test_a_sweep_saves_its_dataset_and_the_same_command_goes_on(scene, tmp_path, capsys):
    words = (
        "sweep",
        scene,
        "--vary",
        "height=1:3:3",
        "--vary",
        "balls=1,2",
        "--keep",
        "position,lowest",
        "--how",
        "serial",
    )
    assert run(*words) == 0
    out = capsys.readouterr().out
    assert "6 members (height 3 × balls 2): 6 done" in out
    (saved,) = tmp_path.glob("out/scene-*/sweep.nc")
    assert str(saved) in out
    with xarray.open_dataset(saved) as found:
        assert found.position.dims == ("height", "balls", "time", "body", "xyz")
        assert float(found.lowest.sel(height=3, balls=2)) == pytest.approx(3.0 - 0.5 * 9.81 * 0.04)
    before = {path: path.stat().st_mtime_ns for path in saved.parent.glob("members/*.nc")}
    assert len(before) == 6 and run(*words) == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert run(*words, "--seed", "1") == 0  # another sweep has another folder
    assert len(list(tmp_path.glob("out/scene-*"))) == 2


def test_failed_members_are_listed_with_parameters_line_and_reason(scene, tmp_path, capsys):
    words = ("sweep", scene, "--vary", "height=-1,1", "--how", "serial", "--out", tmp_path / "s")
    assert run(*words) == FAILED
    out = capsys.readouterr().out
    assert "1 done, 1 failed" in out
    assert f"height=-1: {scene}: build() failed: line 8: RuntimeError: it is under the ground" in out
    assert run(*words, "--json") == FAILED
    table = json.loads(capsys.readouterr().out)
    assert table["done"] == table["failed"] == 1 and table["failures"][0]["parameters"] == "height=-1"


def test_samples_come_from_a_table(scene, tmp_path, capsys):
    (tmp_path / "table.csv").write_text("height, balls\n1.0, 1\n2.5, 2\n")
    assert run("sweep", scene, "--samples", "table.csv", "--out", "s", "--how", "serial", "--method", "euler") == 0
    with xarray.open_dataset(tmp_path / "s" / "sweep.nc") as found:
        assert found.height.values.tolist() == [1.0, 2.5] and found.height.dims == ("member",)
    (tmp_path / "table.csv").write_text("height, balls\n1.0\n")
    assert run("sweep", scene, "--samples", "table.csv", "--out", "t") == REFUSED
    assert "table.csv" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1:3:3", [1, 2, 3]),
        ("1:2:3", [1.0, 1.5, 2.0]),
        ("1.0:3:3", [1.0, 2.0, 3.0]),
        ("1e-4:1e-2:3:log", pytest.approx([1e-4, 1e-3, 1e-2])),
        ("rk4,dop853", ["rk4", "dop853"]),
        ("true,none,2", [True, None, 2]),
        ("0.5", 0.5),
    ],
)
def test_values_to_vary_are_read(text, values):
    found = values_of(text, text)
    assert found == values
    if isinstance(values, list):
        assert [type(value) for value in found] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((), "give exactly one of --vary"),
        (("--vary", "height"), "give name=start:stop:count"),
        (("--vary", "height=1:2"), "give name=start:stop:count"),
        (("--vary", "height=1:2:3:4"), "give name=start:stop:count"),
        (("--vary", "height=a:2:3"), "must be numbers"),
        (("--vary", "height=0:2:3:log"), "above zero"),
        (("--vary", "height=1,2", "--vary", "height=3"), "varied twice"),
        (("--vary", "width=1,2"), "no parameter 'width'"),
        (("--vary", "height=1", "--keep", "colour"), "'colour' cannot be kept"),
        (("--samples", "missing.csv"), "missing.csv"),
    ],
)
def test_what_cannot_be_swept_is_refused(scene, words, reason, capsys):
    assert run("sweep", scene, *words) == REFUSED
    assert reason in capsys.readouterr().err


def test_a_file_that_fails_or_changes_names_its_line(scene, tmp_path, capsys):
    words = ("sweep", scene, "--vary", "height=1,2", "--how", "serial", "--out", "s")
    assert run(*words) == 0
    scene.write_text(SCENE + "\n# changed\n")
    assert run(*words) == REFUSED
    assert "scene_sha256 was" in capsys.readouterr().err
    scene.write_text(SCENE + "\n1 / 0\n")
    for command in (("sweep", scene, "--vary", "height=1"), ("run", scene)):
        assert run(*command) == REFUSED
        assert "the file failed: line 17: ZeroDivisionError" in capsys.readouterr().err
    scene.write_text(SCENE.replace('if height < 0.0:\n        raise RuntimeError("it is under the ground")', "1 / 0"))
    assert run("run", scene) == REFUSED
    assert "build() failed: line 7: ZeroDivisionError" in capsys.readouterr().err


def test_a_saved_run_is_replayed(scene, tmp_path, capsys):
    assert run("run", scene, "--out", "run.nc") == 0
    assert run("replay", "run.nc") == REFUSED
    assert "--scene FILE" in capsys.readouterr().err
    assert run("replay", "run.nc", "--scene", scene) == 0
    assert "the same bits in all of 13 frames" in capsys.readouterr().out
    scene.write_text(SCENE.replace("position=(i,", "position=(i + 1e-9,"))
    assert run("replay", "run.nc", "--scene", scene) == 1
    out = capsys.readouterr().out
    assert "the bits differ, first in frame 0, t = 0 s: position x of 'ball 0'" in out
    assert "is not the one that was run" in out
    assert run("replay", scene) == REFUSED and "not a readable NetCDF-4 file" in capsys.readouterr().err
    assert run("replay", "missing.nc") == REFUSED


def test_a_run_that_cannot_be_saved_is_saved_elsewhere(scene, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert run("run", scene, "--out", tmp_path / "file" / "run.nc") == REFUSED
    said = capsys.readouterr().err
    saved = said.split("the run is saved in ")[1].split(" instead")[0]
    with xarray.open_dataset(saved) as found:
        assert found.sizes["time"] == 13


def test_one_member_is_run_with_its_parameters_and_replayed(tmp_path, capsys):
    out = tmp_path / "run.nc"
    assert run("run", "pendulum", "--set", "length=2", "--set", "mass=0.5", "--duration", "0.1", "--out", out) == 0
    assert run("replay", out) == 0 and "the same bits" in capsys.readouterr().out
    for words, reason in ((("--set", "width=2"), "no parameter 'width'"), (("--set", "length"), "give name=value")):
        assert run("run", "pendulum", *words) == REFUSED
        assert reason in capsys.readouterr().err


def test_a_model_file_is_swept_over_settings_and_replayed(tmp_path, capsys):
    robot = tmp_path / "arm.urdf"
    robot.write_text(
        '<robot name="arm"><link name="base"/><link name="rod"><inertial><origin xyz="0 0 -0.5"/><mass value="1"/>'
        '<inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="pivot" '
        'type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint></robot>'
    )
    words = ("--vary", "rtol=1e-6,1e-9", "--duration", "0.1", "--how", "serial", "--out", tmp_path / "s")
    assert run("sweep", robot, *words) == 0
    assert run("run", robot, "--floating", "--duration", "0.1", "--out", tmp_path / "run.nc") == 0
    assert run("replay", tmp_path / "run.nc", "--scene", robot) == 0
    capsys.readouterr()
