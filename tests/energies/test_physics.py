"""Elements together are the material that they stand for: moduli, bending of threads and plates, independence of the mesh."""

import numpy as np
import pytest

from .samples import Model, cloth_fields, one, random_rotation, table, tetrahedron_fields


@pytest.mark.parametrize(("mu", "lame"), [(3.0, 5.0), (2.0, 0.0), (1.0, 200.0), (1.0, -0.5)])
def test_neo_hookean_moduli_are_those_of_lame(mu, lame):
    rng = np.random.default_rng(0)
    rest = np.array([[0.0, 0, 0], [1, 0.1, 0], [0.3, 0.9, 0], [0.2, 0.3, 0.8]])
    fields = tetrahedron_fields(rest)
    model = one("tetrahedra", mu=mu, lame=lame)
    turn = random_rotation(rng)
    for _ in range(10):
        strain = rng.normal(size=(3, 3))
        strain += strain.T
        expected = fields["volume"] * (mu * (strain**2).sum() + 0.5 * lame * np.trace(strain) ** 2)
        found = []
        for size in (1e-3, -1e-3):
            x = rest @ (np.eye(3) + size * strain).T @ turn.T
            found.append(model.evaluate("tetrahedra", x, 0)[0] / size**2)
        assert np.mean(found) == pytest.approx(expected, rel=3e-4 * (1 + lame))


def test_a_block_under_tension_has_youngs_modulus_and_poissons_ratio():
    """The linear answer of one tetrahedron to a uniaxial stress, by its Hessian at rest."""
    mu, lame = 3.0, 5.0
    young, poisson = mu * (3 * lame + 2 * mu) / (lame + mu), 0.5 * lame / (lame + mu)
    rest = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    model = one("tetrahedra", **tetrahedron_fields(rest), mu=mu, lame=lame)
    hessian = model.evaluate("tetrahedra", rest, 3)[2]
    u = (rest * [1.0, -poisson, -poisson]).ravel()
    force = (hessian @ u).reshape(4, 3)
    # A stress σ pulls at each node with V σ ∇φ.
    expected = np.array([[-1.0, 0, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0]]) * young / 6.0
    np.testing.assert_allclose(force, expected, atol=1e-13)


def test_energy_grows_without_bound_where_volume_vanishes_or_grows():
    model = one("tetrahedra")
    rest = np.array([[0.0, 0, 0], [1, 0.1, 0], [0.3, 0.9, 0], [0.2, 0.3, 0.8]])
    energies = [model.evaluate("tetrahedra", rest * [1, 1, s], 0)[0] for s in (1.0, 0.5, 0.0, -0.5, -1.0)]
    assert (np.diff(energies) > 0.0).all()


@pytest.mark.parametrize("count", [20, 40])
def test_a_thread_bent_to_a_circle_has_the_energy_of_an_elastica(count):
    """EI L/(2 R²), but for the square of 2 tan(φ/2) in place of that of φ, which is larger by φ²/6 of itself."""
    radius, stiffness = 0.7, 0.03
    phi = 2 * np.pi / count
    angles = phi * np.arange(count)
    x = radius * np.array([np.cos(angles), np.sin(angles), 0 * angles]).T
    x = x @ random_rotation(np.random.default_rng(1)).T
    nodes = np.array([[i - 1, i, (i + 1) % count] for i in range(count)]) % count
    length = 2 * np.pi * radius / count
    energy = Model(curvatures=table("curvatures", nodes, stiffness=stiffness / length)).energy(x)
    expected = stiffness * 2 * np.pi / (2 * radius)
    assert energy == pytest.approx(expected * (1 + phi**2 / 6), rel=0.1 * phi**2)


def strip(rows, columns, size):
    """Vertices in the plane (m, 2) and triangles of a strip, diagonals in turn."""
    material = size * np.array([[i, j] for i in range(rows) for j in range(columns)], float)
    triangles = []
    for i in range(rows - 1):
        for j in range(columns - 1):
            a, b, c, d = i * columns + j, (i + 1) * columns + j, i * columns + j + 1, (i + 1) * columns + j + 1
            triangles += [(a, b, d), (a, d, c)] if (i + j) % 2 else [(a, b, c), (b, d, c)]
    return material, np.array(triangles)


def hinges_of(triangles):
    found = {}
    for p, q, r in triangles:
        for a, b, corner in ((p, q, r), (q, r, p), (r, p, q)):
            found.setdefault((min(a, b), max(a, b)), []).append(((a, b), corner))
    pairs = [sides for sides in found.values() if len(sides) == 2]
    return np.array([[*one_side[0], one_side[1], other[1]] for one_side, other in pairs])


def test_a_plate_rolled_to_a_cylinder_has_the_energy_of_its_curvature():
    """½ D A/R² with k = D on a grid of squares: it folds along the axis only, by h/R in every strip of width h."""
    size, radius, stiffness = 0.02, 0.5, 0.01
    material, triangles = strip(21, 16, size)
    angle = size / radius * np.arange(21).repeat(16)
    x = np.column_stack([radius * np.sin(angle), material[:, 1], radius * np.cos(angle)])
    energy = Model(hinges=table("hinges", hinges_of(triangles), stiffness=stiffness)).energy(x)
    area = 19 * 15 * size**2  # without the outer half of the first and the last strip, which nothing bends
    assert energy == pytest.approx(0.5 * stiffness * area / radius**2, rel=1e-10)


def test_cloth_is_the_same_on_any_mesh():
    """A homogeneous stretch and shear has the energy density of the continuum, whatever the triangles."""
    f = np.array([[1.1, 0.2], [0.05, 0.93], [0.3, -0.1]])
    u, v = f.T
    k = {"stretch_u": 30.0, "stretch_v": 20.0, "shear": 7.0}
    stretch = 30.0 * (np.linalg.norm(u) - 1) ** 2 + 20.0 * (np.linalg.norm(v) - 1) ** 2
    density = 0.5 * (stretch + 7.0 * (u @ v) ** 2)
    for rows, columns, size in ((2, 2, 0.3), (5, 9, 0.11)):
        material, triangles = strip(rows, columns, size)
        cloth = table("cloths", triangles, **k)
        for row, nodes in zip(cloth, triangles, strict=True):
            for field, value in cloth_fields(material[nodes]).items():
                row[field] = value
        area = (rows - 1) * (columns - 1) * size**2
        assert Model(cloths=cloth).energy(material @ f.T) == pytest.approx(area * density, rel=1e-12)


def test_the_period_of_a_spring_is_that_of_its_stiffness():
    """ω² = k/m (1/m₁ + 1/m₂ for both ends) along it, and 0 across an unstretched one."""
    hessian = one("springs", stiffness=8.0).evaluate("springs", [[0.0, 0, 0], [1, 0, 0]], 2)[2]
    np.testing.assert_allclose(np.linalg.eigvalsh(hessian), [0, 0, 0, 0, 0, 16.0], atol=1e-14)
