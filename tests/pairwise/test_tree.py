"""The tree of Barnes and Hut against all pairs."""

import numpy as np
import pytest

from dalembert.pairwise.forces import interactions_entry
from dalembert.pairwise.laws import ALL_PAIRS, LEAF, TREE

from .particles import LAWS, cloud, forces, plummer, relative, tables_for


def compared(x, weights, name, theta):
    """(relative error of the energy, of the forces, total force over the sum of sizes)."""
    exact, f, _ = forces(tables_for(len(x), weights, ALL_PAIRS, **LAWS[name]), x)
    energy, found, status = forces(tables_for(len(x), weights, TREE, theta=theta, **LAWS[name]), x)
    assert status == 0
    total = np.linalg.norm(found.sum(axis=0)) / np.linalg.norm(found, axis=1).sum()
    return abs(energy / exact - 1.0), relative(found, f), total


PLACES = {
    "sphere": plummer(3000),
    "box": cloud(400, side=6.0),
    "plane": plummer(1000) * [1.0, 1.0, 0.0],
    "line": plummer(1000) * [0.0, 1.0, 0.0],
    "far apart": np.vstack([plummer(500), 1e-4 * plummer(500, 1) + [1e4, 0, 0], [[1e7, 1e7, -1e7]]]),
    "far off the origin": plummer(500) + [1e5, -1e5, 3e4],
    "within a leaf": cloud(LEAF, side=2.0),
    "one more than a leaf": cloud(LEAF + 1, side=2.0),
    "two": cloud(2),
    "one": np.ones((1, 3)),
    "none": np.zeros((0, 3)),
}


@pytest.mark.parametrize("place", PLACES)
def test_at_an_opening_angle_of_zero_it_is_all_pairs(place):
    x = PLACES[place]
    weights = np.random.default_rng(4).uniform(0.5, 1.5, len(x))
    exact, f, _ = forces(tables_for(len(x), weights, **LAWS["gravitation"]), x)
    energy, found, _ = forces(tables_for(len(x), weights, TREE, theta=0.0, **LAWS["gravitation"]), x)
    assert energy == pytest.approx(exact, rel=1e-12)
    sizes = np.maximum(np.linalg.norm(f, axis=1, keepdims=True), 1e-300)
    np.testing.assert_allclose(found / sizes, f / sizes, rtol=0, atol=3e-12)


@pytest.mark.parametrize("name", ["gravitation", "gravitation, softened"])
@pytest.mark.parametrize("n", [2000, 5000])
def test_forces_of_masses_are_within_a_thousandth(name, n):
    energy, error, total = compared(plummer(n), np.random.default_rng(4).uniform(0.5, 1.5, n), name, 0.5)
    assert energy < 1e-4 and 1e-7 < error < 1e-3 and total < 1e-4


@pytest.mark.parametrize("place", ["sphere", "plane", "line", "far apart", "far off the origin"])
def test_masses_wherever_they_are(place):
    """Errors over the usual force: bodies of a line or a plane may have next to none."""
    x = PLACES[place]
    exact, f, _ = forces(tables_for(len(x), **LAWS["gravitation, softened"]), x)
    energy, found, _ = forces(tables_for(len(x), None, TREE, theta=0.5, **LAWS["gravitation, softened"]), x)
    assert energy == pytest.approx(exact, rel=1e-4)
    assert ((found - f) ** 2).sum() < 1e-6 * (f**2).sum()


@pytest.mark.parametrize(("name", "bound"), [("coulomb", 1e-3), ("coulomb, softened", 5e-3)])
def test_forces_of_charges_of_both_signs(name, bound):
    """In neutral matter all moments of a node matter alike, and where a softening is as wide as the charges are apart, the
    force of the nearest, which is exact, no longer outweighs those."""
    n = 3000
    x = np.random.default_rng(1).uniform(-1, 1, (n, 3))
    q = np.random.default_rng(4).choice([-1.0, 1.0], n)
    exact, f, _ = forces(tables_for(n, q, **LAWS[name]), x)
    energy, found, _ = forces(tables_for(n, q, TREE, theta=0.5, **LAWS[name]), x)
    size = np.sqrt((f**2).sum(axis=1).mean())
    errors = np.linalg.norm(found - f, axis=1)
    assert np.sqrt((errors**2).mean()) < bound * size
    assert energy == pytest.approx(exact, rel=1e-2)


@pytest.mark.parametrize("name", ["gravitation, softened", "coulomb"])
def test_the_error_falls_with_the_cube_of_the_opening_angle(name):
    """What is left out of an expansion to the quadrupole is of the order (size/distance)³ of the force and smaller."""
    x = plummer(3000)
    weights = np.where(np.arange(3000) % 3, 1.0, -1.0) if name == "coulomb" else None
    angles = np.array([0.2, 0.3, 0.45, 0.7])
    errors = [compared(x, weights, name, angle)[1] for angle in angles]
    order = np.polyfit(np.log(angles), np.log(errors), 1)[0]
    assert order > 3.0, errors


def test_a_far_cluster_of_charges_acts_by_its_moments():
    """A cluster without total charge or dipole, far off: its field is that of its quadrupole."""
    cluster = np.array([[1.0, 0, 0], [-1.0, 0, 0], [0, 0.3, 0], [0, -0.3, 0]]) * 1e-2
    x = np.vstack([cluster, plummer(60) * 0.1 + [0.7, 0.2, 0.4]])
    q = np.concatenate([[1.0, 1.0, -1.0, -1.0], np.full(60, 1e-9)])
    _, f, _ = forces(tables_for(64, q, **LAWS["coulomb"]), x)
    _, found, _ = forces(tables_for(64, q, TREE, theta=0.5, **LAWS["coulomb"]), x)
    assert relative(found[4:], f[4:]) < 1e-3


def test_no_cloud_needs_more_nodes_than_there_are():
    """Particles ever nearer to each other, as deep as the tree goes: most nodes for each of them."""
    scales = 0.5 ** np.arange(40)[:, None]
    x = np.vstack([scales * corner for corner in ([1.0, 0.9, 0.8], [1.0, 0.2, 0.1], [0.1, 1.0, 0.3], [-1, -1, -1])])
    energy, error, _ = compared(x, None, "gravitation, softened", 0.5)
    assert energy < 1e-3 and error < 1e-3
    tables = tables_for(len(x), None, TREE, **LAWS["gravitation, softened"])
    tables.nodes.first[:] = -1
    interactions_entry(0.0, x.ravel(), x.ravel(), np.zeros(x.size), np.zeros(1), tables)
    used = int((tables.nodes.first >= 0).sum())
    leaves = tables.nodes[:used][tables.nodes.leaf[:used] == 1]
    assert 10 < used < 2 * len(x)
    assert sorted(i for leaf in leaves for i in range(leaf.first, leaf.last)) == list(range(len(x)))
