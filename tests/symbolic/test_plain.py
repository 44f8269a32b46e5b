"""Runs Lagrangians and generalized coordinates in a process without compilation."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

TESTS = Path(__file__).parents[1]
CHOSEN = "differences or parallelogram or moving_support or derivatives_of_functions or push_them or stops_and_keeps"


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="this is that process")
def test_runs_without_compilation():
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-k", CHOSEN, str(TESTS / "symbolic")]
    path = os.pathsep.join([str(TESTS.parent / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=TESTS.parent, timeout=1800)
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
    assert "passed" in run.stdout and "skipped" not in run.stdout
