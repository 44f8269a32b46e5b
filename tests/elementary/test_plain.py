"""Compiled or not, the elementary functions give the same bits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dalembert.core.jit import DISABLED

from .arguments import digest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(DISABLED, reason="nothing is compiled here")
def test_plain_python_gives_the_bits_of_compiled_code():
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, "-m", "tests.elementary.arguments"], cwd=ROOT, capture_output=True, text=True, timeout=1800,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    assert run.stdout.strip() == digest()
