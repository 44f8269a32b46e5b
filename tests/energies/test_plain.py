"""Runs tests of the elements in a process without compilation."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

HERE = Path(__file__).parent
FILES = [HERE / name for name in ("test_loops.py", "test_degenerate.py", "test_physics.py")]


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="this is that process")
def test_elements_without_compilation():
    root = HERE.parents[1]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *map(str, FILES)]
    path = os.pathsep.join([str(root / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=root, timeout=1800)
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
    assert "passed" in run.stdout and "skipped" not in run.stdout
