"""Damping rows: blind to rigid motions, along the gradient of what the energy measures, and never a source of energy."""

import numpy as np
import pytest

from dalembert.energies.kinds import KINDS

from .samples import SHAPES, deformed, fields_of, flat, one, random_rotation
from .test_derivatives import differences

UNDAMPED = {"stretch_damping": 0.0, "shear_damping": 0.0, "viscosity": 0.0, "damping": 0.0}


def undamped(name):
    return one(name, **{key: value for key, value in UNDAMPED.items() if key in fields_of(name)})


@pytest.mark.parametrize("size", [0.0, 1e-9, 0.02, 0.5])
@pytest.mark.parametrize("name", KINDS)
def test_rigid_motions_are_not_damped(name, size):
    rng = np.random.default_rng(1)
    model = one(name)
    for _ in range(10):
        x = deformed(name, rng, size)
        rows = model.rows(name, x)
        assert len(rows) > 0
        v = rng.normal(size=3) + np.cross(rng.normal(size=3), x)
        assert np.abs(rows @ flat(v)).max() <= 1e-11 * np.abs(rows).max() * np.abs(v).max()


@pytest.mark.parametrize("name", KINDS)
def test_power_is_minus_the_squares_of_the_rates(name):
    rng = np.random.default_rng(2)
    model, elastic = one(name), undamped(name)
    for _ in range(10):
        x, v = deformed(name, rng, 0.3), rng.normal(size=SHAPES[name].shape)
        rows = model.rows(name, x)
        assert len(elastic.rows(name, x)) == 0
        energy, f, power = model.forces(x, v)
        other, g, nothing = elastic.forces(x, v)
        assert energy == other and not nothing.any()
        np.testing.assert_allclose(flat(f - g), -rows.T @ (rows @ flat(v)), atol=1e-12 * np.abs(rows).max() ** 2)
        assert power[0] == pytest.approx(-((rows @ flat(v)) ** 2).sum(), rel=1e-12)
        assert power[0] == pytest.approx(((f - g) * v).sum(), rel=1e-9)
        assert power[0] < 0.0


MEASURES = {
    "springs": lambda x: np.linalg.norm(x[1] - x[0]),
    "angles": lambda x: np.arccos(cosine(x[0] - x[1], x[2] - x[1])),
    "curvatures": lambda x: 2 * np.tan(0.5 * np.arccos(cosine(x[1] - x[0], x[2] - x[1]))),
    "hinges": lambda x: dihedral(x),
    "areas": lambda x: 0.5 * np.linalg.norm(np.cross(x[1] - x[0], x[2] - x[0])),
    "volumes": lambda x: np.linalg.det(x[1:] - x[0]) / 6,
}


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def dihedral(x):
    e = x[1] - x[0]
    n, m = np.cross(e, x[2] - x[0]), np.cross(x[3] - x[0], e)
    return np.arctan2(np.cross(n, m) @ e / np.linalg.norm(e), n @ m)


@pytest.mark.parametrize("name", MEASURES)
def test_one_measure_is_damped_with_its_gradient(name):
    rng = np.random.default_rng(3)
    fields = fields_of(name)
    scale = fields["damping"] / fields.get("rest", 1.0) if name in ("areas", "volumes") else fields["damping"]
    for _ in range(5):
        x = deformed(name, rng, 0.1 if name != "curvatures" else 0.4)
        rows = one(name).rows(name, x)
        assert len(rows) == 1
        slope = np.sqrt(scale) * flat(differences(MEASURES[name], x, 1e-4))
        np.testing.assert_allclose(np.sign(slope @ rows[0]) * rows[0], slope, atol=1e-9)


def test_cloth_is_damped_in_its_three_measures():
    fields = fields_of("cloths")
    inverse = fields["inverse"].reshape(2, 2)

    def measures(x):
        u, v = ((x[1:] - x[0]).T @ inverse).T
        stretch, shear = np.sqrt(fields["area"] * np.array([fields["stretch_damping"], fields["shear_damping"]]))
        return np.array([stretch * np.linalg.norm(u), stretch * np.linalg.norm(v), shear * (u @ v)])

    x = deformed("cloths", np.random.default_rng(4), 0.2)
    np.testing.assert_allclose(one("cloths").rows("cloths", x), differences(measures, x, 1e-4), atol=1e-10)


def test_tetrahedra_lose_the_square_of_the_strain_rate():
    fields = fields_of("tetrahedra")
    inverse = fields["inverse"].reshape(3, 3)

    def strain(x):
        f = (x[1:] - x[0]).T @ inverse
        return 0.5 * (f.T @ f - np.eye(3))

    rng = np.random.default_rng(5)
    x, v = deformed("tetrahedra", rng, 0.2), rng.normal(size=(4, 3))
    rate = (strain(x + 1e-5 * v) - strain(x - 1e-5 * v)) / 2e-5
    power = one("tetrahedra").forces(x, v)[2][0]
    assert power == pytest.approx(-fields["viscosity"] * fields["volume"] * (rate**2).sum(), rel=1e-8)


@pytest.mark.parametrize("direction", [(0, 1, 0), (0, 0, 1), (0, 0.6, 0.8)])
def test_bending_of_a_straight_thread_is_damped(direction):
    turn = random_rotation(np.random.default_rng(6))
    x = SHAPES["curvatures"] @ turn.T
    v = np.zeros((3, 3))
    v[1] = turn @ direction
    rate = 1.0 + 1.0 / 1.2  # of the turning angle
    assert one("curvatures").forces(x, v)[2][0] == pytest.approx(-0.7 * rate**2, rel=1e-12)
