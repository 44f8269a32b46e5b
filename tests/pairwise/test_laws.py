"""Laws of pairs: derivatives, what they are at the cut-off, and what happens at one place."""

import math

import numpy as np
import pytest

from dalembert.core.c_function import RAISED
from dalembert.core.user_function import Pointer
from dalembert.pairwise.forces import RadialLaw, curvature_at, make_interactions, spread_strides
from dalembert.pairwise.laws import (
    ALL_PAIRS,
    CELLS,
    COINCIDENT,
    COULOMB,
    CUSTOM,
    GRAVITATION,
    LENNARD_JONES,
    ONE,
    OTHER,
    REPULSION,
    THE_LAW,
    TREE,
)

from .particles import ENDING, LAWS, REACH, forces, tables_for

FORMULAS = [name for name in LAWS if name != "custom"]


@pytest.mark.parametrize("name", FORMULAS)
def test_derivatives_are_those_of_the_energy(name):
    laws = tables_for(2, **LAWS[name]).laws
    weight, h = 1.7, 2e-4
    difference = np.array([1.0, -8.0, 0.0, 8.0, -1.0]) / (12.0 * h)
    for r in (0.4, 0.5, 0.8, 1.1, 1.25):
        energy, slope, bend = np.array([curvature_at(laws, 0, r + k * h, weight) for k in (-2, -1, 0, 1, 2)]).T
        assert abs(energy[2]) > 1e-5 and abs(slope[2]) > 1e-5
        slope *= r + h * np.arange(-2, 3)  # dW/dr
        scale = abs(bend[2]) + abs(energy[2])
        assert slope[2] == pytest.approx(difference @ energy, rel=1e-8, abs=1e-9 * scale)
        assert bend[2] == pytest.approx(difference @ slope, rel=1e-8, abs=1e-9 * scale)


def test_formulas_at_known_points():
    charges = tables_for(2, **LAWS["coulomb"]).laws
    assert curvature_at(charges, 0, 0.5, 2.0) == pytest.approx((0.9 * 2 / 0.5, -0.9 * 2 / 0.5**3, 2 * 0.9 * 2 / 0.5**3))
    atoms = tables_for(2, **LAWS["lennard-jones"]).laws
    energy, slope, bend = curvature_at(atoms, 0, 2 ** (1 / 6) * 0.45, 1.0)
    assert energy == pytest.approx(-0.3) and abs(slope) < 1e-13
    assert bend == pytest.approx(72 / 2 ** (1 / 3) * 0.3 / 0.45**2)


@pytest.mark.parametrize("name", ENDING)
def test_energy_and_force_come_to_zero_at_the_cut_off(name):
    tables = tables_for(2, **LAWS[name])
    for gap in (1e-3, 1e-6):
        energy, f, _ = forces(tables, [[0, 0, 0], [REACH - gap, 0, 0]])
        assert 0.0 < abs(energy) < 10.0 * gap**2
        assert 0.0 < abs(f[0, 0]) < 20.0 * gap
    energy, f, _ = forces(tables, [[0, 0, 0], [REACH, 0, 0]])
    assert energy == 0.0 and (f == 0.0).all()


SINGULAR = [
    (GRAVITATION, ALL_PAIRS),
    (GRAVITATION, TREE),
    (COULOMB, TREE),
    (LENNARD_JONES, ALL_PAIRS),
    (LENNARD_JONES, CELLS),
]


@pytest.mark.parametrize(("kind", "method"), SINGULAR)
def test_particles_at_one_place_are_named(kind, method):
    members = np.array([7, 2, 5, 9, 4])
    x = np.random.default_rng(1).uniform(-1, 1, (10, 3))
    x[9] = x[2]
    law = RadialLaw(
        kind, members, None, method, strength=1.0, diameter=0.1, cutoff=1.0 if method == CELLS else math.inf
    )
    tables = make_interactions([RadialLaw(REPULSION, [0, 1], diameter=1e-9), law])
    assert forces(tables, x)[2] == COINCIDENT
    assert {tables.trouble[ONE], tables.trouble[OTHER]} == {2, 9} and tables.trouble[THE_LAW] == 1


@pytest.mark.parametrize("method", [ALL_PAIRS, TREE])
@pytest.mark.parametrize("copies", [2, 300])
def test_a_softened_law_has_a_limit_at_one_place(method, copies):
    x = np.vstack([np.tile([0.3, -0.2, 0.1], (copies, 1)), [[1.0, 0.5, 0.2]]])
    energy, f, status = forces(tables_for(copies + 1, method=method, **LAWS["gravitation, softened"]), x)
    r = np.linalg.norm(x[-1] - x[0])
    rho = math.hypot(r, 0.2)
    expected = -0.7 * (copies * (copies - 1) / 2 / 0.2 + copies / rho)
    assert status == 0 and energy == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(f[-1], copies * 0.7 * (x[0] - x[-1]) / rho**3, rtol=1e-13)


def test_repulsion_pushes_no_way_where_there_is_none():
    energy, f, status = forces(tables_for(2, **LAWS["repulsion"]), np.ones((2, 3)))
    assert status == 0 and energy == pytest.approx(0.5 * 8.0 * REACH**2) and (f == 0.0).all()


def test_a_damper_dissipates_the_power_in_its_ledger_entry():
    rng = np.random.default_rng(3)
    x, v = rng.uniform(-0.6, 0.6, (12, 3)), rng.normal(size=(12, 3))
    law = {**LAWS["repulsion"], "ledger": 2, "weights": np.linspace(1.0, 2.0, 12)}
    for method in (ALL_PAIRS, CELLS):
        power = np.zeros(4)
        damped = forces(tables_for(12, method=method, damping=0.4, **law), x, v, power=power)[1]
        elastic = forces(tables_for(12, method=method, **law), x, v)[1]
        assert power[2] < -1.0 and (power[[0, 1, 3]] == 0.0).all()
        assert ((damped - elastic) * v).sum() == pytest.approx(power[2], rel=1e-12)
        np.testing.assert_allclose((damped - elastic).sum(axis=0), 0.0, atol=1e-13)
        np.testing.assert_allclose(np.cross(x, damped - elastic).sum(axis=0), 0.0, atol=1e-13)
        shifted = forces(tables_for(12, method=method, damping=0.4, **law), x, v + [3.0, -1.0, 2.0])[1]
        np.testing.assert_allclose(shifted, damped, atol=1e-12)


def test_what_a_law_of_the_users_raises_ends_the_evaluation():
    def fails(t, r):
        raise ArithmeticError("no such distance")

    pointer = Pointer(fails)
    _, _, status = forces(tables_for(2, kind=CUSTOM, address=pointer.address), np.eye(3)[:2])
    assert status == RAISED and isinstance(pointer.error, ArithmeticError)


def test_a_law_of_the_users_that_is_infinite_at_one_place_says_so():
    pointer = Pointer(lambda t, r: (1.0 / r[0], -1.0 / r[0] ** 2) if r[0] > 0 else (np.inf, -np.inf))
    tables = tables_for(3, kind=CUSTOM, address=pointer.address)
    assert forces(tables, [[0, 0, 0], [1, 1, 1], [0, 0, 0]])[2] == COINCIDENT
    assert sorted(tables.trouble[[ONE, OTHER]]) == [0, 2]


def test_a_place_that_is_not_finite_makes_all_forces_of_its_law_so():
    x = np.random.default_rng(0).uniform(-1, 1, (300, 3))
    for bad in (np.nan, np.inf):
        x[17, 1] = bad
        for method, name in ((ALL_PAIRS, "coulomb"), (TREE, "coulomb"), (CELLS, "repulsion")):
            energy, f, _ = forces(tables_for(300, method=method, **LAWS[name]), x)
            assert np.isnan(energy) and np.isnan(f).all()


def test_laws_that_cannot_be_are_refused():
    for law, message in (
        (RadialLaw(LENNARD_JONES, [0, 1], method=CELLS), "finite cut-off"),
        (RadialLaw(REPULSION, [0, 1], method=TREE), "theta needs gravitation"),
        (RadialLaw(GRAVITATION, [0, 1], method=TREE, theta=1.5), "theta"),
        (RadialLaw(GRAVITATION, [0, 1, 0]), "twice"),
        (RadialLaw(GRAVITATION, [0, 1], [1.0]), "2 members and 1 weights"),
    ):
        with pytest.raises(ValueError, match=message):
            make_interactions([law])


def test_strides_tell_all_neighbours_apart():
    for cells in (64, 65, 100, 1000, 4096, 10**6, 2 * 10**6 + 7):
        p, q = spread_strides(cells)
        numbers = {(a + p * b + q * c) % cells for a in (-1, 0, 1) for b in (-1, 0, 1) for c in (-1, 0, 1)}
        assert len(numbers) == 27
