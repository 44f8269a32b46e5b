"""What is slow to load is loaded after the page is served, and public names are found where they are."""

import subprocess
import sys

import pytest

import dalembert as dal

SERVE = """
import sys
import dalembert.cli
from dalembert.cli.live_session import open_session

class Served(Exception):
    pass

class Guard:
    def find_spec(self, name, path=None, target=None):
        if name == "dalembert.simulation.session":
            raise Served

sys.meta_path.insert(0, Guard())
try:
    open_session("double-pendulum", "127.0.0.1", 0, False, {})
except Served:
    slow = ("numba", "scipy", "xarray", "pandas", "trimesh", "matplotlib", "sympy")
    print("loaded:", *(name for name in slow if name in sys.modules))
"""


def test_the_page_is_served_before_compiler_and_libraries_are_loaded():
    found = subprocess.run([sys.executable, "-c", SERVE], capture_output=True, text=True, timeout=1800, check=False)
    assert "viewer: http://127.0.0.1:" in found.stderr
    assert found.stdout.strip() == "loaded:"


def test_every_public_name_is_found_and_modules_of_the_same_name_do_not_hide_functions():

    assert all(getattr(dal, name) is not None for name in dal.__all__)
    assert set(dal._WHERE) == set(dal.__all__) - {"__version__", "gallery", "sensors"}  # modules
    assert callable(dal.simulate) and callable(dal.replay)
    assert set(dal.__all__) <= set(dir(dal))
    with pytest.raises(AttributeError, match="nonsense"):
        dal.nonsense  # noqa: B018
