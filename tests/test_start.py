"""What a process imports before its first step. Libraries that take long to load wait until they are needed."""

import os
import subprocess
import sys

import pytest

import dalembert

# Not in this list: NumPy, which every run needs, and llvmlite, which loads machine code. SciPy itself loads its parts when
# they are asked for, so that these are listed; Numba asks for its version.
LIBRARIES = {
    "scipy.linalg", "scipy.sparse", "scipy.spatial", "scipy.special", "scipy.optimize", "scipy.integrate", "sympy",
    "matplotlib", "xarray", "pandas", "dask", "distributed", "h5netcdf", "h5py", "trimesh", "viser", "websockets", "rich",
    "PIL", "gymnasium", "cloudpickle", "pxr", "coacd", "mujoco", "pytest", "IPython", "asyncio", "multiprocessing", "sqlite3",
    "http", "numba",
}  # fmt: skip
PENDULUM = """
import dalembert as dal

scene = dal.Scene("pendulum")
bob = scene.add_body("bob", dal.Sphere(0.1), mass=1.0, position=(1.0, 0.0, 0.0))
scene.hinge("pivot", dal.WORLD, bob, (0.0, 0.0, 0.0), (0.0, 1.0, 0.0))
run = dal.simulate(scene, 0.01, method="rk4", dt=0.001)
assert abs(run.state.position[0, 0]) < 1.0
"""
BOXES = """
import dalembert as dal

scene = dal.Scene("boxes", material=dal.Material(0.5))
scene.add_obstacle("ground", dal.HalfSpace())
for k in range(2):
    scene.add_body(f"box {k}", dal.Box(0.1, 0.1, 0.1), mass=1.0, position=(0.0, 0.0, 0.051 + 0.11 * k))
run = dal.simulate(scene, 0.05, dt=0.001)
assert 0.049 < run.state.position[0, 2] < 0.051
"""


def loaded_by(program, *words):
    """The libraries of LIBRARIES, NumPy and cyclopts, that a process has loaded at the end of a program."""
    end = "\nimport sys\nprint('LOADED', *sys.modules)\n"
    done = subprocess.run(
        [sys.executable, "-c", program + end, *words], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(dalembert.__file__))},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("LOADED")[2].split()) & (LIBRARIES | {"numpy", "cyclopts"})


def command(*words):
    """A program that runs the command line with these words."""
    return f"""
import sys
from dalembert.cli import main

sys.argv = {["dalembert", *words]!r}
try:
    main()
except SystemExit as end:
    assert not end.code, end
"""


def test_the_package_itself_loads_nothing():
    assert loaded_by("import dalembert as dal\ndir(dal)") == set()


def test_help_loads_what_prints_it():
    assert loaded_by(command("--help")) == {"cyclopts", "rich"}


def test_scenes_load_numpy_alone():
    assert loaded_by(PENDULUM.partition("run =")[0]) == {"numpy"}


@pytest.mark.parametrize("program", [PENDULUM, BOXES], ids=["pendulum", "boxes"])
def test_a_run_loads_no_more_than_numpy(program):
    assert loaded_by(program) <= {"numpy", "numba"}  # the first one may compile
    assert loaded_by(program) == {"numpy"}


def test_the_command_loads_no_more_than_its_words_and_the_run_need():
    program = command("run", "double-pendulum", "--duration", "0.1")
    assert loaded_by(program) <= {"numpy", "numba", "cyclopts"}
    assert loaded_by(program) == {"numpy", "cyclopts"}


def test_numba_without_scipy_still_multiplies_matrices():
    """Numba is told that SciPy is there, and imports it when BLAS is called."""
    program = """
import numba, numpy, sys
import dalembert.core.compiler
from numba.core.registry import cpu_target

cpu_target.target_context.refresh()  # as every compilation does
product = numba.njit(lambda a, b: (a @ b, numpy.linalg.solve(a, b)))
assert "scipy.linalg" not in sys.modules
found, solved = product(2.0 * numpy.eye(3), numpy.ones((3, 3)))
assert (found == 2.0).all() and (solved == 0.5).all()
"""
    assert "scipy.linalg" in loaded_by(program)


@pytest.mark.parametrize("call", ['load_usd("a.usda")', 'export_usd(dal.Scene(), "a.usda")'])
def test_usd_without_its_package_says_how_to_install_it(call):
    program = f"""
import sys
sys.modules["pxr"] = None  # as where it is not installed
import dalembert as dal

try:
    dal.{call}
except ImportError as error:
    assert "pip install 'dalembert[usd]'" in str(error), error
else:
    raise AssertionError("USD without usd-core")
"""
    loaded_by(program)
