"""Runs of closed chains in joint coordinates in a process without compilation."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import dalembert as dal

from . import linkages

TESTS = Path(__file__).parents[1]
RUN = {"coordinates": "joint", "method": "rk4", "dt": 1e-3}
PROGRAM = f"""
import dalembert as dal
from tests.articulated import linkages
run = dal.Simulation(linkages.closed_chain(4), **{RUN})
run.advance(0.003)
print(run.state.position.tolist())
"""


def test_a_closed_chain_runs_without_compilation():
    """Fields of records that plain Python shadows by attributes of its own, such as `size`, stopped it."""
    path = os.pathsep.join([str(TESTS.parent / "src"), str(TESTS.parent)])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    plain = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=1800
    )
    assert plain.returncode == 0, plain.stderr[-2000:]
    run = dal.Simulation(linkages.closed_chain(4), **RUN)
    run.advance(0.003)
    np.testing.assert_allclose(np.array(json.loads(plain.stdout)), run.state.position, rtol=0.0, atol=1e-12)
