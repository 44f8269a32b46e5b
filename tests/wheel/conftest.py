"""The wheel, built and installed in a place without a compiler, a cache of kernels and Numba."""

import fcntl
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("scenes.py")
# What an installation without Numba does: any import of it fails.
BLOCK = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "numba":
            raise ImportError(f"{name} is not to be imported here")

sys.meta_path.insert(0, Block())
"""


@dataclass(frozen=True)
class Place:
    """An installation of the wheel: a virtual environment, and a folder for all that a process may write."""

    environment: Path
    folder: Path
    cache: Path

    @property
    def package(self) -> Path:
        return Path(sysconfig.get_path("purelib", vars={"base": os.fspath(self.environment)})) / "dalembert"

    @property
    def library(self) -> Path:
        return self.package / "library"

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        """Run a program of the environment, with nothing else to be found."""
        where = {"PATH": os.fspath(self.environment / "bin"), "HOME": os.fspath(self.folder),
                 "DALEMBERT_CACHE": os.fspath(self.cache), "TMPDIR": os.fspath(self.folder)}  # fmt: skip
        program = self.environment / "bin" / command[0]
        done = subprocess.run(
            [program, *command[1:]], env=where, cwd=self.folder, capture_output=True, text=True, timeout=1800
        )
        assert done.returncode == 0, done.stderr
        return done


@pytest.fixture(scope="session")
def library():
    """The folder that `make wheel` makes: made here if it is not there, or of other sources, by one process of the tests."""
    folder = ROOT / "out" / "library"
    folder.parent.mkdir(exist_ok=True)
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = [sys.executable, "-m", "dalembert.cli.build_library", folder]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def wheel(library, tmp_path_factory):
    """The file of the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([uv(), "build", "--quiet", "--wheel", "--out-dir", folder, ROOT], check=True)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory):
    """The wheel in a virtual environment of its own, with the packages that it needs, but for Numba."""
    place = make_place(wheel, tmp_path_factory.mktemp("installed"))
    (place.package.parent / "sitecustomize.py").write_text(BLOCK)
    return place


@pytest.fixture(scope="session")
def whole(wheel, tmp_path_factory):
    """The wheel in another environment, with Numba and the kernels that were compiled so far, and a copy of its package."""
    folder = tmp_path_factory.mktemp("whole")
    place = make_place(wheel, folder)
    cache = Path(os.environ.get("DALEMBERT_CACHE", "~/.cache/dalembert")).expanduser()
    return Place(place.environment, place.folder, cache), shutil.copytree(place.package, folder / "package")


@pytest.fixture
def damaged(whole):
    """An installation of the wheel whose package a test may damage."""
    place, package = whole
    yield place
    shutil.copytree(package, place.package, dirs_exist_ok=True)


def uv() -> str:
    found = shutil.which("uv", path=os.pathsep.join([os.fspath(Path(sys.executable).parent), os.environ["PATH"]]))
    assert found is not None, "uv is installed by make"
    return found


def make_place(wheel: Path, folder: Path) -> Place:
    environment = folder / "environment"
    venv.create(environment, symlinks=True)
    place = Place(environment, folder / "work", folder / "cache")
    place.folder.mkdir()
    subprocess.run(
        [
            uv(),
            "pip",
            "install",
            "--quiet",
            "--offline",
            "--no-deps",
            "--python",
            environment / "bin" / "python",
            wheel,
        ],
        check=True,
    )
    (place.package.parent / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return place
