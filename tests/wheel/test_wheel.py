"""The wheel: what is in it, and what it does where there is no compiler, no cache of kernels and no Numba."""

import json
import shutil
import subprocess
import zipfile

import pytest

from dalembert.cli import build_library
from dalembert.core import shipped
from dalembert.simulation import precompile as ahead

from .conftest import PROGRAM, ROOT, uv

pytestmark = pytest.mark.skipif(
    shipped.machine() not in shipped.BASELINES, reason="no library is made for this machine"
)
SCENES = ("pendulum", "boxes", "cloth", "quadruped", "batch")
# Runs a program as on another processor.
AS_ON = """
import runpy, sys
from dalembert.core import shipped
shipped.cpu_flags = lambda: {flags!r}
sys.argv = [{program!r}, *{scenes!r}]
runpy.run_path({program!r}, run_name="__main__")
"""


def run(place, scenes, flags=None):
    """(what the program of scenes found, our lines on stderr), on this processor or one with other flags."""
    if flags is None:
        done = place.run("python", PROGRAM, *scenes)
    else:
        program = AS_ON.format(flags=flags, program=str(PROGRAM), scenes=tuple(scenes))
        done = place.run("python", "-c", program)
    lines = [line for line in done.stderr.splitlines() if line.startswith(("dalembert: ", "compiling "))]
    return json.loads(done.stdout.splitlines()[-1]), lines


@pytest.fixture(scope="module")
def found(installed):
    return run(installed, SCENES)


def test_scenes_run_without_a_compiler_a_cache_and_numba(installed, found):
    said, lines = found
    assert said["package"].startswith(str(installed.package))
    assert said["kernels"].startswith("shipped library ") and set(said["states"]) == set(SCENES)
    assert not said["numba"] and lines == [] and not installed.cache.exists()


def test_the_command_line_runs_a_scene_saves_it_and_runs_it_again(installed):
    installed.run("dalembert", "run", "double-pendulum", "--duration", "0.5", "--out", "run.nc")
    again = installed.run("dalembert", "replay", "run.nc")
    assert "the same bits" in again.stdout and "kernels: shipped library " in again.stdout
    assert not installed.cache.exists()


@pytest.mark.skipif(shipped.machine() != "x86_64", reason="there is one library")
def test_the_libraries_for_both_levels_give_the_same_bits(installed, found):
    older = shipped.BASELINES["x86_64"][1]
    said, lines = run(installed, SCENES, older.flags)
    assert said["kernels"].startswith(f"shipped library {older.name},") and lines == []
    if found[0]["kernels"] == said["kernels"]:
        pytest.skip("this processor has the lower level only")
    assert said["states"] == found[0]["states"]


def test_the_wheel_is_for_this_machine_and_any_python(wheel):
    assert wheel.name.split("-")[2:4] == ["py3", "none"] and wheel.stem.endswith(shipped.machine())
    with zipfile.ZipFile(wheel) as content:
        names = [name for name in content.namelist() if name.startswith("dalembert/library/")]
        (about,) = (name for name in content.namelist() if name.endswith(".dist-info/WHEEL"))
        assert b"Root-Is-Purelib: false" in content.read(about)
    libraries = [shipped.file_name(baseline.name) for baseline in shipped.BASELINES[shipped.machine()]]
    assert sorted(names) == sorted(f"dalembert/library/{name}" for name in (*libraries, shipped.RECORD))


@pytest.mark.parametrize("stale", [False, True], ids=["no library", "library of other sources"])
def test_a_wheel_of_sources_alone_is_for_every_machine(library, tmp_path, stale):
    for name in ("pyproject.toml", "README.md", "LICENSE", "hatch_build.py"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    if stale:
        shutil.copytree(library, tmp_path / "out" / "library")
        with (tmp_path / "src" / "dalembert" / "dynamics" / "kinematics.py").open("a") as file:
            file.write("\n")
    subprocess.run([uv(), "build", "--quiet", "--wheel", "--out-dir", tmp_path / "dist", tmp_path], check=True)
    (found,) = (tmp_path / "dist").glob("*.whl")
    assert found.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(found) as content:
        assert not [name for name in content.namelist() if "library/" in name]


def test_every_c_function_is_in_the_libraries_and_nothing_is_left_open(library):
    wanted = {function.symbol for function in ahead.everything()}
    for baseline in shipped.BASELINES[shipped.machine()]:
        build_library.check(library / shipped.file_name(baseline.name), {*wanted, shipped.IDENTITY})


def test_a_library_that_needs_more_than_memory_is_refused(tmp_path):
    source = tmp_path / "sine.c"
    source.write_text("double sin(double); double wanted(double x) { return sin(x); }")
    subprocess.run(["cc", "-O1", "-fPIC", "-c", "-o", tmp_path / "sine.o", source], check=True)
    build_library.link([tmp_path / "sine.o"], tmp_path / "sine.so")
    with pytest.raises(build_library.BuildError, match="sin"):
        build_library.check(tmp_path / "sine.so", {"wanted"})
    with pytest.raises(build_library.BuildError, match="exports unexpected or lacks expected symbols: more"):
        build_library.check(tmp_path / "sine.so", {"wanted", "more"}, allowed={"sin"})
