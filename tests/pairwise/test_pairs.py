"""Forces of pairs: they are minus the gradient of the energy, sum to zero, and cells find every pair once."""

import numpy as np
import pytest

from dalembert.pairwise.cells import MARGIN
from dalembert.pairwise.forces import RadialLaw, make_interactions
from dalembert.pairwise.laws import ALL_PAIRS, CELLS, REPULSION, TREE

from .particles import ENDING, LAWS, REACH, cloud, forces, tables_for

METHODS = [(ALL_PAIRS, name) for name in LAWS] + [(CELLS, name) for name in ENDING]
METHODS += [(TREE, name) for name in LAWS if name.startswith(("gravitation", "coulomb"))]


def charges(n):
    return np.random.default_rng(5).choice([-1.0, 1.0], n) * np.linspace(0.5, 1.5, n)


@pytest.mark.parametrize(("method", "name"), METHODS)
def test_forces_are_minus_the_gradient_of_the_energy(method, name):
    n, t, h = 200, 0.6, 1e-5
    x = cloud(n, side=5.0)
    tables = tables_for(n, charges(n), method, theta=0.0, **LAWS[name])
    _, f, status = forces(tables, x, t=t)
    assert status == 0
    for i in range(0, n, 37):
        for k in range(3):
            ahead, back = x.copy(), x.copy()
            ahead[i, k] += h
            back[i, k] -= h
            slope = (forces(tables, ahead, t=t)[0] - forces(tables, back, t=t)[0]) / (2.0 * h)
            assert f[i, k] == pytest.approx(-slope, abs=2e-7 * np.abs(f).max())


@pytest.mark.parametrize(("method", "name"), [pair for pair in METHODS if pair[0] != TREE])
def test_forces_and_torques_sum_to_zero(method, name):
    x = cloud(200, side=5.0)
    _, f, _ = forces(tables_for(200, charges(200), method, **LAWS[name]), x)
    size = np.abs(f).sum()
    assert size > 1.0
    np.testing.assert_allclose(f.sum(axis=0), 0.0, atol=1e-15 * size)
    np.testing.assert_allclose(np.cross(x, f).sum(axis=0), 0.0, atol=1e-14 * size)


def lattice():
    """Particles on the corners of the cells, at negative places too, and as many between them."""
    corners = REACH * (1.0 + MARGIN) * np.stack(np.meshgrid(*[np.arange(-3, 3)] * 3), -1).reshape(-1, 3)
    return np.vstack([corners, corners + [0.4, 0.3, 0.2]])


def nearly(x):
    return x * (1.0 + 1e-9 * np.sin(np.arange(x.size)).reshape(x.shape))


PLACES = {
    "box": cloud(300, side=6.0),
    "off the origin": cloud(300, side=6.0) + [1e4, -3e5, 7e3],
    "line": np.linspace(-40, 40, 400)[:, None] * [0.6, 0.64, 0.48],
    "along an axis": np.linspace(-400, 400, 2000)[:, None] * [0.0, 1.0, 0.0],
    "corners of cells": lattice(),
    "next to corners": nearly(lattice()),
    "half a lattice": lattice() * 0.5,
    "outliers": np.vstack([cloud(300, side=6.0), [[1e9, 0, 0], [1e9, 0.3, 0.2], [0, -1e15, 3.0], [1e300, 1e300, 0]]]),
    "sparse": cloud(300, side=60.0),
    "one cell": cloud(60, side=0.9, least=0.1),
    "a plane and one off it": np.vstack([cloud(300, side=12.0) * [1, 1, 0], [[0, 0, 500.0]]]),
    "three": cloud(3, side=1.0),
    "one": np.ones((1, 3)),
    "none": np.zeros((0, 3)),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["repulsion", "custom", "lennard-jones, cut off"])
def test_cells_find_what_all_pairs_do(place, name):
    x = PLACES[place]
    if name.startswith("lennard") and place == "one cell":
        x = 3.0 * x  # so near to each other, they would only show the rounding of one large force
    n = len(x)
    exact, f, _ = forces(tables_for(n, **LAWS[name]), x)
    energy, found, status = forces(tables_for(n, method=CELLS, **LAWS[name]), x)
    assert status == 0 and energy == pytest.approx(exact, rel=1e-12, abs=1e-300)
    np.testing.assert_allclose(found, f, rtol=0, atol=1e-12 * np.abs(f).max(initial=0.0))
    if place not in ("three", "one", "none", "sparse"):
        assert np.abs(f).max() > 1e-3


def test_a_pair_right_within_the_cut_off_is_found_wherever_it_lies():
    rng = np.random.default_rng(8)
    tables = tables_for(4, method=CELLS, **LAWS["repulsion"])
    for _ in range(300):
        start = rng.uniform(-1, 1, 3) * 10.0 ** rng.uniform(-1, 8)
        step = rng.normal(size=3)
        step *= REACH * (1.0 - 1e-7) / np.linalg.norm(step)
        x = np.vstack([start, start + step, rng.uniform(-1, 1, 3) * 10.0 ** rng.uniform(-1, 9, (2, 1))])
        if np.linalg.norm(x[1] - x[0]) < REACH:
            assert np.abs(forces(tables, x)[1][0]).max() > 0.0


@pytest.mark.parametrize(("method", "name"), [(ALL_PAIRS, "coulomb"), (CELLS, "repulsion"), (TREE, "coulomb")])
def test_members_are_a_subset(method, name):
    x, q = cloud(300, side=6.0), charges(300)
    members = np.random.default_rng(2).permutation(300)[:200]
    tables = make_interactions([RadialLaw(members=members, weights=q[members], method=method, theta=0.0, **LAWS[name])])
    energy, f, _ = forces(tables, x)
    exact, expected, _ = forces(tables_for(200, q[members], **LAWS[name]), x[members])
    assert energy == pytest.approx(exact, rel=1e-12)
    np.testing.assert_allclose(f[members], expected, atol=1e-12 * np.abs(expected).max())
    assert (f[np.setdiff1d(np.arange(300), members)] == 0.0).all() and np.abs(expected).max() > 0.1


def test_laws_add_up_and_can_be_turned_off():
    x, n = cloud(60), 60
    laws = [RadialLaw(members=np.arange(n), method=CELLS if name in ENDING else TREE, theta=0.0, **LAWS[name])
            for name in ("repulsion", "coulomb", "lennard-jones, cut off")]  # fmt: skip
    together = make_interactions(laws)
    alone = [forces(make_interactions([law]), x) for law in laws]
    energy, f, _ = forces(together, x)
    assert energy == pytest.approx(sum(part[0] for part in alone), rel=1e-13)
    np.testing.assert_allclose(f, sum(part[1] for part in alone), atol=1e-12 * np.abs(f).max())
    together.laws[1].active = 0
    np.testing.assert_allclose(forces(together, x)[1], alone[0][1] + alone[2][1], atol=1e-12 * np.abs(f).max())


@pytest.mark.parametrize(("method", "name"), [(ALL_PAIRS, "coulomb"), (CELLS, "repulsion"), (TREE, "coulomb")])
def test_the_same_places_give_the_same_bits(method, name):
    x = cloud(400, side=6.0)
    first = forces(tables_for(400, charges(400), method, **LAWS[name]), x)
    tables = tables_for(400, charges(400), method, **LAWS[name])
    forces(tables, x[::-1])
    again = forces(tables, x)
    assert first[0] == again[0] and first[1].tobytes() == again[1].tobytes()


def test_a_grid_does_not_grow_with_the_distance():
    small, large = (
        make_interactions([RadialLaw(REPULSION, np.arange(n), method=CELLS, diameter=1.0)]) for n in (50, 5000)
    )
    assert len(small.starts) <= 101 and len(large.starts) <= 10001
