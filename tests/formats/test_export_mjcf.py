"""Exported MJCF files: MuJoCo reads from them the mechanics of the scene."""

import numpy as np
import pytest

import dalembert as dal

from .trees import random_tree

mujoco = pytest.importorskip("mujoco")
from .mujoco_oracle import Oracle  # noqa: E402

CLOSE = 1e-9


def exported(scene, path):
    """(oracle, warnings as texts)."""
    file = path / "model.xml"
    warnings = dal.export_mjcf(scene, file)
    return Oracle(scene, file), [str(warning) for warning in warnings]


def require_equal(oracle, seed=0, states=5):
    rng = np.random.default_rng(seed)
    for _ in range(states):
        for what, value in oracle.differences(rng).items():
            assert value < CLOSE, what


@pytest.mark.parametrize("seed", range(30))
def test_mujoco_finds_the_mass_matrix_and_bias_of_random_trees(seed, tmp_path):
    oracle, warnings = exported(random_tree(seed), tmp_path)
    assert not [line for line in warnings if "mass" not in line]
    for body in oracle.scene.bodies.values():
        assert oracle.model.body(body.name).mass[0] == body.mass
        assert np.abs(np.sort(oracle.model.body(body.name).inertia) - np.linalg.eigvalsh(body.inertia)).max() < 1e-14
    require_equal(oracle, seed)
