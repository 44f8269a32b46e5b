"""Eigenvectors of small symmetric matrices."""

import numpy as np
import pytest

from dalembert.scene.checks import eigenvectors


def require_eigenvectors(matrix):
    values, vectors = eigenvectors(matrix)
    size = np.abs(matrix).max()
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(matrix)), atol=2e-15)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=4e-15 * size)
    assert (np.diff(values) >= 0.0).all()
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), atol=4e-15 * size)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_random_matrices_of_all_sizes_of_numbers(n):
    rng = np.random.default_rng(n)
    for exponent in rng.uniform(-100, 100, 200):
        half = rng.normal(size=(n, n))
        require_eigenvectors((half + half.T) * 10.0**exponent)


def test_equal_and_nearly_equal_eigenvalues():
    rng = np.random.default_rng(0)
    for gap in (0.0, 1e-16, 1e-12, 1e-6):
        q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        matrix = q @ np.diag([1.0, 1.0 + gap, 3.0]) @ q.T
        require_eigenvectors(0.5 * (matrix + matrix.T))


def test_diagonal_matrices_keep_their_bits():
    values, vectors = eigenvectors(np.diag([0.3, 0.1, 0.2]))
    assert values.tolist() == [0.1, 0.2, 0.3]
    assert vectors.tolist() == [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


def test_a_matrix_of_zeros():
    assert eigenvectors(np.zeros((3, 3)))[0].tolist() == [0.0, 0.0, 0.0]
