"""Runs give the same bits on every x86-64 processor, old or new: those that are kept in hashes.json.

`python -m tests.same_bits.scenes --write` keeps new ones, after a change that is meant to change them.
"""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from dalembert.core.jit import DISABLED

from . import scenes

ROOT = Path(__file__).parents[2]
# As on a processor without AVX and fused multiplication, as far as it can be asked for: NumPy, BLAS and the C library choose
# their code by what the processor offers.
OLD = {
    "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3",
    "OPENBLAS_CORETYPE": "Prescott",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4,-AVX2_Usable,-FMA_Usable",
}

pytestmark = [
    pytest.mark.skipif(DISABLED, reason="plain Python takes too long"),
    pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the hashes are those of x86-64"),
]


def require_kept(found: dict[str, dict[str, str]]) -> None:
    kept = json.loads(scenes.KEPT.read_text("utf-8"))
    assert found.keys() == kept.keys()
    models = [name for name in kept if found[name]["model"] != kept[name]["model"]]
    states = [name for name in kept if found[name]["states"] != kept[name]["states"] and name not in models]
    assert not models, f"the set-up (NumPy, on the host) makes other numbers of {models}"
    assert not states, f"kernels give other bits in {states}, from the same set-up"


def test_the_bits_are_those_that_are_kept():
    require_kept(scenes.hashes())


def test_the_bits_are_those_that_are_kept_on_an_older_processor():
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.same_bits.scenes"], cwd=ROOT, capture_output=True, text=True,
        timeout=1800, env={**os.environ, **OLD, "PYTHONPATH": path},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    require_kept(json.loads(run.stdout))
