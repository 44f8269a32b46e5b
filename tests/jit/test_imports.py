"""Numba is imported where something is compiled, and nowhere else."""

import subprocess
import sys

import pytest

import dalembert as dal
from dalembert import gallery
from dalembert.core import jit

COMPILER = ("numba", "llvmlite")
URDF = """<robot name="arm"><link name="base"/><link name="upper"><inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="10" velocity="5"/></joint></robot>"""
IMPORT_ALL = """
import pkgutil, importlib, dalembert
for module in pkgutil.walk_packages(dalembert.__path__, "dalembert."):
    if module.name.rpartition(".")[2] not in (
        "compiler", "table_type", "object_cache", "user_cache", "numba_import", "build_library", "environment", "__main__",
    ):
        importlib.import_module(module.name)
"""
BUILD = """
import sys
import dalembert as dal, dalembert.cli
from dalembert import gallery
from dalembert.model.compile import compile_scene
for name in ("double-pendulum", "wall", "cloth-on-sphere", "soft-body", "four-bar", "top"):
    compile_scene(gallery.load(name).build())
dal.load_model(sys.argv[1])
"""
RUN = """
from dalembert import gallery
import dalembert as dal
run = dal.simulate(gallery.load("double-pendulum").build(), 0.01)
assert run.report.steps > 0
run.trajectory.provenance
"""


def loaded(program, *arguments):
    """Which parts of the compiler a program imports, in a process of its own."""
    program += f"\nimport sys\nprint('loaded:', *(name for name in {COMPILER} if name in sys.modules))"
    found = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=1800, check=False
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.splitlines()[-1].split()[1:]


def test_no_module_imports_the_compiler():
    assert loaded(IMPORT_ALL) == []


def test_scenes_are_built_and_models_loaded_without_the_compiler(tmp_path):
    (tmp_path / "arm.urdf").write_text(URDF)
    assert loaded(BUILD, str(tmp_path / "arm.urdf")) == []


def test_a_saved_run_is_loaded_without_the_compiler(tmp_path):
    run = dal.simulate(gallery.load("pendulum").build(), 0.01)
    run.trajectory.save(tmp_path / "run.nc")
    program = "import dalembert as dal, sys\nprint(len(dal.Trajectory.load(sys.argv[1]).times))"
    assert loaded(program, str(tmp_path / "run.nc")) == []


@pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled")
def test_a_run_whose_kernels_are_on_disk_goes_without_numba():
    loaded(RUN)  # which leaves them there
    assert "numba" not in loaded(RUN)


SHIPPED = """
import ctypes
from dalembert.core import jit

kind = ctypes.CFUNCTYPE(ctypes.c_int64)
nothing = kind(lambda: 0)

class Library:
    asked = []
    def address(self, symbol):
        self.asked.append(symbol)
        return ctypes.cast(nothing, ctypes.c_void_p).value

from dalembert.core import shipped
shipped.address = Library().address
from dalembert.linalg.lcp import lcp
assert lcp([[1.0]], [1.0])[1] == 0
from dalembert.simulation import precompile
precompile.precompile(precompile.everything())
assert set(Library.asked) == set(jit.C_FUNCTIONS)
"""


@pytest.mark.skipif(jit.DISABLED, reason="nothing is compiled")
def test_what_the_library_of_the_package_has_is_taken_from_there():
    assert loaded(SHIPPED) == []


def test_plain_python_needs_no_compiler():
    assert loaded("import os\nos.environ['NUMBA_DISABLE_JIT'] = '1'" + RUN) == []
