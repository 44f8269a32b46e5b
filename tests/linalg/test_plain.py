"""Runs the tests of inner functions in a process without compilation."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

TESTS = Path(__file__).parents[1]
FILES = [TESTS / "linalg" / "test_ldl.py", TESTS / "test_vec_quat.py"]


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="this is that process")
def test_inner_functions_without_compilation():
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *map(str, FILES)]
    path = os.pathsep.join([str(TESTS.parent / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=TESTS.parent, timeout=1800)
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
    assert "passed" in run.stdout and "skipped" not in run.stdout
