"""Vectors and quaternions, in plain Python: started by `linalg/test_plain.py`."""

import itertools
import math

import numba
import numpy as np
import pytest

if not numba.config.DISABLE_JIT:
    pytest.skip("inner functions are called from Python only without compilation", allow_module_level=True)

from dalembert.core import math3 as quat
from dalembert.core import math3 as vec

RNG = np.random.default_rng(12)
A, B = (tuple(row) for row in RNG.normal(size=(2, 3)))
M = tuple(RNG.normal(size=9))
S = tuple(RNG.normal(size=6))
DENSE = np.array(M).reshape(3, 3)
SYMMETRIC = np.array([[S[0], S[3], S[4]], [S[3], S[1], S[5]], [S[4], S[5], S[2]]])
QUATERNIONS = [tuple(q / np.linalg.norm(q)) for q in RNG.normal(size=(20, 4))] + [
    (1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0), (-1.0, 0.0, 0.0, 0.0),
    (math.sqrt(0.5), 0.0, -math.sqrt(0.5), 0.0),
]  # fmt: skip


def near(actual, expected, atol=2e-15):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=atol)


def matrix(q):
    return np.array(quat.to_matrix(q)).reshape(3, 3)


def test_vectors():
    a, b = np.array(A), np.array(B)
    near(vec.add(A, B), a + b)
    near(vec.sub(A, B), a - b)
    near(vec.scale(2.5, A), 2.5 * a)
    near(vec.add_scaled(A, 0.3, B), a + 0.3 * b)
    near(vec.dot(A, B), a @ b)
    near(vec.cross(A, B), np.cross(a, b))
    near(vec.norm(A), np.linalg.norm(a))
    out = np.zeros(3)
    vec.store3(out, A)
    assert vec.load3(out) == A and vec.load(np.array([B, A]), 1) == A


def test_matrices():
    near(vec.matvec(M, A), DENSE @ A)
    near(vec.matvec_t(M, A), DENSE.T @ A)
    near(vec.symvec(S, A), SYMMETRIC @ A)
    full = DENSE @ SYMMETRIC @ DENSE.T
    near(vec.congruence(M, S), [full[0, 0], full[1, 1], full[2, 2], full[0, 1], full[0, 2], full[1, 2]], 2e-14)


@pytest.mark.parametrize(
    "axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, 0.8, 0), (-0.6, 0, 0.8), (0.577, 0.577, 0.578)]
)
def test_perpendicular(axis):
    unit = tuple(np.array(axis, float) / np.linalg.norm(axis))
    p = vec.perpendicular(unit)
    near(np.linalg.norm(p), 1.0)
    near(vec.dot(p, unit), 0.0)


@pytest.mark.parametrize("q", QUATERNIONS)
def test_rotation_matrix_is_proper_and_comes_back(q):
    r = matrix(q)
    near(r @ r.T, np.eye(3))
    assert np.linalg.det(r) == pytest.approx(1.0, abs=2e-15)
    back = np.array(quat.from_matrix(tuple(r.ravel())))
    near(min((back - q, back + q), key=lambda d: np.abs(d).max()), np.zeros(4))
    near(matrix(tuple(3.7 * np.array(q))), r)


def test_product_is_the_composition():
    for p, q in itertools.pairwise(QUATERNIONS):
        near(matrix(quat.multiply(p, q)), matrix(p) @ matrix(q), 3e-15)
        near(quat.multiply(q, quat.conjugate(q)), (1, 0, 0, 0))


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-5, 1.99e-4, 2.01e-4, 1e-3, 0.5, 3.0, math.pi - 1e-9])
def test_rotation_vector_round_trip(angle):
    v = tuple(angle * np.array([2.0, -1.0, 2.0]) / 3.0)
    q = quat.from_rotation_vector(v)
    near(np.linalg.norm(q), 1.0)
    near(quat.rotation_vector(q), v, 1e-15)
    near(quat.rotation_vector(tuple(-np.array(q))), v, 1e-15)
    near(q[0], math.cos(0.5 * angle))


def test_rotation_vector_turns_by_the_right_hand():
    near(vec.matvec(quat.to_matrix(quat.from_rotation_vector((0, 0, math.pi / 2))), (1, 0, 0)), (0, 1, 0))


def test_series_meets_the_closed_form():
    """Both branches on either side of the change between them."""
    size = 2.0 * math.sqrt(1e-8)
    for s in (size * (1 - 1e-9), size * (1 + 1e-9)):
        q = quat.from_rotation_vector((s, 0.0, 0.0))
        near(q[:2], (math.cos(0.5 * s), math.sin(0.5 * s)), 1.2e-16)


def test_derivative_is_that_of_the_motion():
    q, w, h = QUATERNIONS[0], np.array([0.4, -1.1, 0.7]), 1e-3
    ends = {k: np.array(quat.rotate_by(q, tuple(k * h * w))) for k in (-2, -1, 1, 2)}
    numeric = (8 * (ends[1] - ends[-1]) - (ends[2] - ends[-2])) / (12 * h)
    near(quat.derivative(q, tuple(w)), numeric, 1e-12)


def test_normalize():
    near(quat.normalize((3.0, 0.0, 4.0, 0.0)), (0.6, 0.0, 0.8, 0.0))
