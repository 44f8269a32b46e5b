"""Interactions in a process without compilation: the same forces."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from dalembert.pairwise.laws import ALL_PAIRS, CELLS, TREE

from .particles import LAWS, forces, plummer, tables_for

ROOT = Path(__file__).parents[2]
CASES = [(ALL_PAIRS, "coulomb"), (TREE, "gravitation"), (CELLS, "lennard-jones, cut off"), (CELLS, "repulsion")]


def results():
    x = plummer(160)
    return [forces(tables_for(160, method=method, theta=0.7, **LAWS[name]), x)[1] for method, name in CASES]


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="this is that process")
def test_forces_are_the_same_without_compilation(tmp_path):
    file = tmp_path / "forces.npy"
    code = f"import numpy; from tests.pairwise.test_plain import results; numpy.save({str(file)!r}, results())"
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, cwd=ROOT, timeout=1800)
    for plain, compiled in zip(np.load(file), results(), strict=True):
        np.testing.assert_allclose(plain, compiled, rtol=1e-12, atol=1e-12 * np.abs(compiled).max())
