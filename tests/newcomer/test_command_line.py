"""The command line: lists for programs, suggestions, and a sentence in place of a traceback for bad options."""

import json
import subprocess
import sys

import pytest

import dalembert as dal
from dalembert.cli import app
from dalembert.cli.commands import REFUSED

MESH = """v 0 0 0
v 1 0 0
v 0 1 0
v 0 0 1
f 1 3 2
f 1 2 4
f 1 4 3
f 2 3 4
"""
URDF = """<robot name="arm"><link name="base"/><link name="hand">
<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><mesh filename="../meshes/hand.obj"/></geometry></visual></link>
<joint name="wrist" type="continuous"><parent link="base"/><child link="hand"/><axis xyz="0 1 0"/></joint></robot>
"""


def run(*words):
    return app(list(words), result_action="return_value")


def test_the_list_for_programs_has_all_scenes_with_parameters_and_settings(capsys):
    assert run("list", "--json") == 0
    found = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert set(found) == set(dal.gallery.names())
    pendulum = found["pendulum"]
    assert pendulum["parameters"]["length"] == 1.0 and pendulum["settings"]["method"] == "dop853"
    assert all(len(each["description"]) > 20 for each in found.values())


@pytest.mark.parametrize(("words", "says"), [
    (["run", "pendulm"], "no scene 'pendulm'. Did you mean 'pendulum'"),
    (["view", "doubel-pendulum"], "Did you mean 'double-pendulum'"),
    (["convert", "Bouncing_Ball", "x.glb"], "Did you mean 'bouncing-ball'"),
    (["run", "pendulum", "--duration", "-1"], "duration is -1.0"),
    (["run", "pendulum", "--duration", "nan"], "duration is nan"),
    (["run", "pendulum", "--frame-rate", "0"], "frame_rate is 0.0"),
    (["run", "pendulum", "--method", "rk5"], "did you mean 'rk4'"),
    (["run", "pendulum", "--method", "rk4"], "give its step, dt"),
    (["run", "pendulum", "--set", "lenght=2"], "no parameter 'lenght'"),
    (["run", "pendulum", "--set", "length=long"], "build() failed"),
    (["run", "stack", "--solver", "gauss-seidel"], "did you mean 'gauss_seidel'"),
    (["run", "no.urdf"], "there is no such file"),
    (["inspect", "no.urdf", "--root", "nowhere"], "there is no such file"),
    (["sweep", "pendulum", "--vary", "length=1:2"], "give name=start:stop:count"),
    (["replay", "no.nc"], "no.nc"),
])  # fmt: skip
def test_bad_options_are_refused_in_a_sentence(words, says, capsys):
    assert run(*words) == REFUSED
    error = capsys.readouterr().err
    assert says in error and "Traceback" not in error
    assert error.startswith("dalembert: ") and len(error.strip().splitlines()) == 1


def test_settings_of_a_file_that_do_not_exist_are_refused_in_a_sentence(tmp_path, capsys):
    file = tmp_path / "scene.py"
    text = "import dalembert as dal\nSETTINGS = {'timestep': 0.01}\n"
    text += "def build():\n    s = dal.Scene()\n    s.add_body('b', dal.Sphere(1), mass=1)\n    return s\n"
    file.write_text(text)
    assert run("run", str(file)) == REFUSED
    error = capsys.readouterr().err
    assert "'timestep'; did you mean dt (s)?" in error and "Traceback" not in error


def test_what_the_parser_refuses_has_no_traceback_either():
    for words in (["run", "pendulum", "--metod", "rk4"], ["run"], ["runn"], ["run", "pendulum", "--dt", "small"]):
        done = subprocess.run([sys.executable, "-m", "dalembert.cli", *words], capture_output=True, text=True)
        assert done.returncode == REFUSED and "Traceback" not in done.stderr + done.stdout
        assert "rror" in done.stderr + done.stdout


def test_a_model_reads_from_the_folder_that_is_named(tmp_path, capsys):
    (tmp_path / "urdf").mkdir()
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "hand.obj").write_text(MESH)
    file = tmp_path / "urdf" / "arm.urdf"
    file.write_text(URDF)
    settings = ["--duration", "0.1", "--json"]
    assert run("run", str(file), "--root", str(tmp_path), *settings) == 0
    out = capsys.readouterr()
    assert "outside" not in out.err and json.loads(out.out)["warnings"] == []
    assert run("run", str(file), *settings) == 0
    assert "lies outside of" in capsys.readouterr().err
    assert run("run", str(file), "--root", str(tmp_path / "meshes")) == REFUSED
    assert "does not lie in it" in capsys.readouterr().err


def test_a_run_that_fails_says_where_and_what_to_try(tmp_path, capsys):
    file = tmp_path / "scene.py"
    text = "import dalembert as dal\nSETTINGS = {'duration': 20.0, 'method': 'rk4', 'dt': 0.01}\n"
    text += "def build():\n    s = dal.Scene()\n    s.add_body('bob', dal.Sphere(0.1), mass=1, position=(0, 0, -1.1))\n"
    text += "    s.spring('coil', dal.WORLD, 'bob', (0, 0, 0), (0, 0, -1.1), stiffness=1e7, rest=1.0)\n    return s\n"
    file.write_text(text)
    assert run("run", str(file)) == 1
    error = capsys.readouterr().err
    assert "stiffest force: 'coil'" in error and "try: dt below" in error
