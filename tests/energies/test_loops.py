"""Sums over sets of elements against single ones: energy, forces, ledger and the blocks of the matrix."""

import numpy as np
import pytest

from dalembert.energies.kinds import KINDS

from .samples import SHAPES, Model, deformed, fields_of, flat, table

COPIES = 4


def mixture(seed=0):
    """Positions (n, 3) of all kinds in several states, and their tables; neighbours of a kind share a node."""
    rng = np.random.default_rng(seed)
    tables, x = {}, []
    for name, kind in KINDS.items():
        nodes = []
        for _ in range(COPIES):
            first = sum(map(len, x)) - (1 if nodes else 0)
            nodes.append(rng.permutation(np.arange(first, first + kind.nodes)))
            shape = deformed(name, rng, 0.3)
            x.append(shape[1:] if len(nodes) > 1 else shape)
        tables[name] = table(name, nodes, **fields_of(name))
    return np.vstack(x), tables


def slots_for(tables, rng):
    """Slots of the blocks that the elements touch, each kept as (a, b) or (b, a) at random; and where each block is."""
    places, slots = {}, {}
    for name, rows in tables.items():
        mine = []
        for nodes in rows["nodes"]:
            for i, a in enumerate(nodes):
                for b in nodes[i:]:
                    key = (int(a), int(b))
                    if key not in places and key[::-1] not in places:
                        places[key if rng.random() < 0.5 else key[::-1]] = len(places)
                    mine.append(2 * places[key] if key in places else 2 * places[key[::-1]] + 1)
        slots[name] = mine
    return slots, places


def test_energy_and_forces_are_sums_over_the_elements():
    x, tables = mixture()
    v = np.random.default_rng(1).normal(size=x.shape)
    model = Model(**tables)
    energy, f = 0.0, np.zeros_like(x)
    powers = []
    for name, rows in tables.items():
        powers.append(0.0)
        for i, nodes in enumerate(rows["nodes"]):
            w, gradient, _ = model.evaluate(name, x, 1, i)
            energy += w
            r = model.rows(name, x, i)
            rate = r @ flat(v[nodes])
            f[nodes] -= (gradient + r.T @ rate).reshape(-1, 3)
            powers[-1] -= rate @ rate
    found, forces, power = model.forces(x, v)
    assert found == pytest.approx(energy, rel=1e-13) and model.energy(x) == pytest.approx(energy, rel=1e-13)
    np.testing.assert_allclose(forces, f, atol=1e-12 * np.abs(f).max())
    np.testing.assert_allclose(power, powers, rtol=1e-12)


def test_forces_are_added_and_the_set_says_where_the_power_goes():
    x, tables = mixture()
    v = np.ones_like(x) * np.arange(len(x))[:, None]
    number = KINDS["springs"].number
    parts = [(number, 0, 1, 2, 1), (number, 1, 3, -1, 1), (number, 3, COPIES, 2, 0)]
    model = Model(parts, springs=tables["springs"])
    single = [Model([(number, i, i + 1, 0, 1)], springs=tables["springs"]).forces(x, v) for i in range(COPIES)]
    energy, f, power = model.forces(x, v)
    assert energy == pytest.approx(sum(s[0] for s in single[:3]), rel=1e-13)
    np.testing.assert_allclose(f, sum(s[1] for s in single[:3]), atol=1e-12)
    assert power[2] == single[0][2][0] < 0.0 and np.count_nonzero(power) == 1


@pytest.mark.parametrize(("stiffness_weight", "damping_weight"), [(1.0, 0.0), (0.0, 1.0), (0.3, 2.0)])
def test_the_matrix_is_the_sum_of_dense_ones(stiffness_weight, damping_weight):
    x, tables = mixture()
    slots, places = slots_for(tables, np.random.default_rng(2))
    assert any(s % 2 for s in slots["tetrahedra"]) and any(s % 2 == 0 for s in slots["tetrahedra"])
    model = Model(slots=slots, **tables)
    n = 3 * len(x)
    expected = np.zeros((n, n))
    for name, rows in tables.items():
        for i, nodes in enumerate(rows["nodes"]):
            at = (3 * nodes[:, None] + np.arange(3)).ravel()
            r = model.rows(name, x, i)
            hessian = model.evaluate(name, x, 3, i)[2]
            expected[np.ix_(at, at)] += stiffness_weight * hessian + damping_weight * r.T @ r
    found = np.zeros((n, n))
    values = model.matrix(x, len(places), stiffness_weight, damping_weight)
    for (a, b), place in places.items():
        found[3 * a : 3 * a + 3, 3 * b : 3 * b + 3] = values[place]
        found[3 * b : 3 * b + 3, 3 * a : 3 * a + 3] = values[place].T
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("name", KINDS)
def test_sets_take_part_of_a_table(name):
    x, tables = mixture(3)
    slots, places = slots_for({name: tables[name]}, np.random.default_rng(4))
    number = KINDS[name].number
    whole = Model(slots=slots, **{name: tables[name]})
    parts = Model([(number, 0, 1, 0, 1), (number, 1, COPIES, 0, 1)], slots, **{name: tables[name]})
    np.testing.assert_allclose(parts.forces(x, x)[1], whole.forces(x, x)[1], rtol=1e-13, atol=1e-14)
    blocks = len(places)
    np.testing.assert_allclose(parts.matrix(x, blocks, 1, 1), whole.matrix(x, blocks, 1, 1), rtol=1e-13, atol=1e-14)
    assert SHAPES[name].shape[0] == KINDS[name].nodes == tables[name]["nodes"].shape[1]


@pytest.mark.parametrize("name", KINDS)
def test_damping_may_be_looked_at_elsewhere(name):
    """Its rows are those of the other places; the same numbers in another array change nothing."""
    x, tables = mixture(5)
    rng = np.random.default_rng(6)
    v, other = rng.normal(size=x.shape), x + 0.1 * rng.normal(size=x.shape)
    slots, places = slots_for({name: tables[name]}, rng)
    blocks, model = len(places), Model(slots=slots, **{name: tables[name]})
    elastic, stiff = model.forces(x)[1], model.matrix(x, blocks)
    for about in (x.copy(), other):
        _, f, g, power = model.split_forces(x, about, v)
        both, lost = model.forces(about, v)[1:]
        drag = both - model.forces(about)[1]
        np.testing.assert_allclose(f, elastic, atol=1e-13 * np.abs(elastic).max())
        np.testing.assert_allclose(g, drag, atol=1e-12 * np.abs(both).max())
        np.testing.assert_allclose(power, lost, rtol=1e-13)
        viscous = model.matrix(about, blocks, 0.0, 1.0)
        expected = 0.3 * stiff + 2.0 * viscous
        found = model.matrix(x, blocks, 0.3, 2.0, about)
        np.testing.assert_allclose(found, expected, atol=1e-13 * np.abs(expected).max())
