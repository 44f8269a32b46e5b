"""Every public class and function is annotated: `pyright --verifytypes` finds nothing to guess."""

import json
import os
import subprocess
import sys

import pytest

from .checkers import SOURCE, pyright
from .interface import interface

pytestmark = pytest.mark.slow
# What public classes name in annotations and no user makes: tables, steppers, records. Their files have compiled functions.
INTERNAL = (
    "collide", "contact.solvers", "contact.time_stepping", "core", "dynamics.mechanism", "energies", "ensemble.batch.Record",
    "ensemble.batch.Members", "ensemble.batch_kernel", "integrate.stepper", "linalg.block_matrix", "linalg.ordering", "model",
    "pairwise", "simulation.recording", "cli.live_session.SessionPanel", "view.live", "view.drawing",
)  # fmt: skip
COMPILED = (
    "symbolic.generalized.GeneralizedCoordinates",
    "scene.forces.external_force.ExternalForce.frame",
)  # in files of compiled functions


def owner_of(name: str, known: set[str]) -> str:
    """The function or class of the interface that a symbol belongs to; empty without one."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name


@pytest.mark.skipif(pyright is None, reason="basedpyright, of the extra 'test', is not installed")
def test_every_public_symbol_has_a_known_type():
    done = subprocess.run(
        [str(pyright), "--verifytypes", "dalembert", "--ignoreexternal", "--outputjson", "--pythonpath", sys.executable],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )  # fmt: skip
    known, wrong, seen = interface(), [], 0
    for symbol in json.loads(done.stdout)["typeCompleteness"]["symbols"]:
        name = symbol["name"].removeprefix("dalembert.")
        owner = owner_of(symbol["name"], known)
        private = any(part[:1] == "_" and part[:2] != "__" for part in symbol["name"].removeprefix(owner).split("."))
        if not owner or private or name.startswith((*INTERNAL, *COMPILED)):
            continue
        seen += 1
        # Names of types that are themselves not complete are reported there; overrides have the type of the base class.
        causes = ("Type is missing", "Type annotation is missing", "parameter annotation", "return type annotation")
        messages = [each["message"].splitlines()[0] for each in symbol["diagnostics"]]
        wrong += [f"{name}: {text}" for text in messages if any(cause.lower() in text.lower() for cause in causes)]
    assert seen > 1000
    assert not wrong, "\n".join(wrong)
