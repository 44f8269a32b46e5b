"""The diagonal that bounds the Hessian: against blocks put together from finite differences."""

import numpy as np
import pytest

from dalembert.pairwise.forces import evaluate_diagonal
from dalembert.pairwise.laws import ALL_PAIRS, CELLS, TREE

from .particles import ENDING, LAWS, cloud, forces, poisoned, tables_for

T, STEP = 0.3, 1e-5
CASES = [(ALL_PAIRS, name) for name in LAWS] + [(CELLS, name) for name in ENDING]


def diagonal(tables, x, weight=1.0, slots=None):
    n = len(x)
    values = np.zeros(9 * n)
    slots = np.arange(n) if slots is None else slots
    status = evaluate_diagonal(T, x.ravel(), weight, values, slots, poisoned(tables))
    return values.reshape(n, 3, 3), status


def hessian(tables, x):
    """(3 n, 3 n), by central differences of the forces."""
    columns = []
    for k in range(x.size):
        step = np.zeros(x.size)
        step[k] = STEP
        ahead, back = (forces(tables, x.ravel() + sign * step, t=T)[1].ravel() for sign in (1, -1))
        columns.append((back - ahead) / (2.0 * STEP))
    return np.array(columns)


def charges(n):
    return np.random.default_rng(5).choice([-1.0, 1.0], n) * np.linspace(0.5, 1.5, n)


@pytest.mark.parametrize(("method", "name"), CASES)
def test_blocks_are_twice_the_positive_parts_of_all_pairs(method, name):
    n = 14
    x, q = cloud(n, side=2.0), charges(n)
    found, status = diagonal(tables_for(n, q, method, **LAWS[name]), x, weight=0.7)
    assert status == 0
    expected = np.zeros((n, 3, 3))
    for i in range(n):
        for j in range(i):
            pair = tables_for(2, q[[i, j]], **LAWS[name])
            sizes, axes = np.linalg.eigh(hessian(pair, x[[i, j]])[:3, :3])
            part = (axes * np.maximum(sizes, 0.0)) @ axes.T
            expected[i] += 2 * 0.7 * part
            expected[j] += 2 * 0.7 * part
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize(("method", "name"), CASES)
def test_it_is_at_least_the_hessian(method, name):
    x, q = cloud(14, side=2.0), charges(14)
    tables = tables_for(14, q, method, **LAWS[name])
    blocks, _ = diagonal(tables, x)
    whole = np.zeros((14, 3, 14, 3))
    whole[np.arange(14), :, np.arange(14)] = blocks
    excess = whole.reshape(42, 42) - hessian(tables, x)
    assert np.linalg.eigvalsh(0.5 * (excess + excess.T)).min() > -1e-6 * np.abs(blocks).max()


@pytest.mark.parametrize("name", ["gravitation, softened", "coulomb"])
def test_the_tree_is_near_all_pairs(name):
    n = 1500
    x = np.random.default_rng(3).uniform(-1, 1, (n, 3))
    exact, _ = diagonal(tables_for(n, charges(n), **LAWS[name]), x)
    found, _ = diagonal(tables_for(n, charges(n), TREE, theta=0.5, **LAWS[name]), x)
    assert np.abs(found - exact).max() < 0.02 * np.abs(exact).max()
    assert not np.array_equal(found, exact)
    opened, _ = diagonal(tables_for(n, charges(n), TREE, theta=0.0, **LAWS[name]), x)
    np.testing.assert_allclose(opened, exact, rtol=0, atol=1e-12 * np.abs(exact).max())


def test_slots_say_where_blocks_go():
    x = cloud(20)
    tables = tables_for(20, **LAWS["coulomb"])
    slots = np.random.default_rng(1).permutation(20)
    np.testing.assert_array_equal(diagonal(tables, x, slots=slots)[0][slots], diagonal(tables, x)[0])
