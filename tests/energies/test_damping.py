"""Damping rows: blind to rigid motions, along the gradient of what the energy measures, and never a source of energy."""

import numpy as np
import pytest

import dalembert as dal
from dalembert.energies.kinds import KINDS

from .samples import SHAPES, deformed, fields_of, flat, one, random_rotation
from .test_derivatives import differences

UNDAMPED = {"damping_u": 0.0, "damping_v": 0.0, "shear_damping": 0.0, "viscosity": 0.0, "damping": 0.0}


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
        c_u, c_v, c_s = np.sqrt(
            fields["area"] * np.array([fields[name] for name in ("damping_u", "damping_v", "shear_damping")])
        )
        return np.array([c_u * np.linalg.norm(u), c_v * np.linalg.norm(v), c_s * (u @ v)])

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


# The time of damping of a scene ------------------------------------------------------------------------------------------


def decay(scene, particle, axis, size):
    """(angular frequency ω, rad/s; rate of decay of the amplitude, 1/s) of one coordinate of one particle, from its peaks."""
    run = dal.simulate(scene, 2.0, method="rk4", dt=2e-4, frame_rate=500)
    z, t = run.trajectory.particle_position.values[:, particle, axis], run.trajectory.times
    z = (z - z[0]) / size
    peaks = np.flatnonzero((z[1:-1] > z[:-2]) & (z[1:-1] >= z[2:])) + 1
    first, last = peaks[0], peaks[-1]
    span = t[last] - t[first]
    return 2.0 * np.pi * (len(peaks) - 1) / span, np.log(z[first] / z[last]) / span


@pytest.mark.parametrize("length", [0.01, 0.1, 1.0, 10.0])
def test_the_damping_of_a_bent_thread_is_its_time_for_links_of_any_length(length):
    """Two of three particles are pinned, and the last one swings about the second by k = E I/l. With c = k τ the amplitude
    decays as exp(−½ τ ω² t)."""
    tau, w, mass = 2e-3, 20.0, 0.5
    scene = dal.Scene("thread", gravity=(0, 0, 0))
    velocity = np.zeros((3, 3))
    velocity[2, 2] = 0.01 * length * w
    scene.thread(
        "t", np.outer([0.0, length, 2 * length], [1.0, 0, 0]), density=2 * mass / length, stretch=1e6 * mass * length,
        bend=mass * w * w * length**3, damping=tau, pinned=[True, True, False], velocity=velocity,
    )  # fmt: skip
    found, rate = decay(scene, 2, 2, length)
    assert found == pytest.approx(w, rel=1e-3)
    assert rate == pytest.approx(0.5 * tau * w * w, rel=0.05)  # peaks are found to half a frame


@pytest.mark.parametrize("stretch", [(40.0, 400.0), (400.0, 40.0)])
def test_the_damping_of_a_cloth_is_its_time_along_u_and_along_v(stretch):
    """One vertex of a right triangle is free, and moves along v only. ω² = k_v a/m for sides of 1 m, a the area."""
    tau, density = 2e-3, 6.0
    scene = dal.Scene("cloth", gravity=(0, 0, 0))
    vertices = [[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]
    velocity = np.zeros((3, 3))
    velocity[2, 1] = 0.01
    scene.cloth(
        "c", vertices, [[0, 1, 2]], density=density, stretch=stretch, shear=50.0, damping=tau,
        coordinates=[[0, 0], [1, 0], [0, 1]], pinned=[True, True, False], velocity=velocity,
    )  # fmt: skip
    w = np.sqrt(stretch[1] * 0.5 / (density * 0.5 / 3))
    found, rate = decay(scene, 2, 1, 1.0)
    assert found == pytest.approx(w, rel=1e-2)
    assert rate == pytest.approx(0.5 * tau * w * w, rel=0.05)
