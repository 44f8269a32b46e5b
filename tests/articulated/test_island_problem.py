"""An island as a problem in matrices is the one that Gauss–Seidel solves by rows, in both coordinates."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
SCENES = {
    "robot, joint": ("robot", "joint", (1, 1, 0)),  # blocks, bounds, equations
    "robot, maximal": ("robot", "maximal", (2, 1, 5)),
    "two robots and a box, joint": ("beside", "joint", (3, 2, 0)),
    "linkage, joint": ("linkage", "joint", (1, 0, 2)),
}
PROGRAM = """
import json, sys
import numpy as np
from tests.articulated.described import differences
print(json.dumps(differences(sys.argv[1], sys.argv[2])))
"""


@pytest.mark.parametrize("kind", SCENES)
def test_responses_and_velocities_follow_from_the_matrices(kind):
    """K of each contact and bound, and J w, from M, J, B and G of the problem and from the rows, in a step that sweeps leave
    unsolved; in a process without compilation, as the tables are read in the middle of a step."""
    scene, coordinates, counts = SCENES[kind]
    path = os.pathsep.join([str(TESTS.parent / "src"), str(TESTS.parent)])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, scene, coordinates],
        env=environment, capture_output=True, text=True, timeout=1800,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-3000:]
    found = json.loads(run.stdout.splitlines()[-1])
    assert found["looks"] > 0 and found["contacts"] > 0
    assert tuple(found["counts"]) == counts
    assert found["response"] < 1e-10 and found["velocity"] < 1e-12 and found["bound"] < 1e-10
