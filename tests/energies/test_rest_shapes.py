"""Inverses and determinants of rest shapes: right, and without LAPACK, whose last bits depend on the processor."""

import numpy as np
import pytest

from dalembert.energies.matrices import determinants, inverses


@pytest.mark.parametrize("size", [2, 3])
def test_inverses_and_determinants_are_those_of_numpy(size):
    m = np.random.default_rng(size).normal(size=(500, size, size))
    condition = np.linalg.cond(m)
    np.testing.assert_allclose(determinants(m), np.linalg.det(m), rtol=0, atol=1e-14)
    off = np.abs(inverses(m) @ m - np.eye(size)).max(axis=(1, 2))
    assert (off <= 1e-15 * condition**2 + 1e-14).all()


def test_inverses_of_powers_of_two_are_exact():
    m = np.array([[[2.0, 0, 0], [0, 0.5, 0], [0, 0.25, 4.0]], [[0, 1.0, 0], [0, 0, 8.0], [1.0, 0, 0]]])
    assert (inverses(m) @ m == np.eye(3)).all()
    assert determinants(m).tolist() == [4.0, 8.0]
