"""Mass properties against independent references: refined surfaces, trimesh, cut solids, rotations."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.scene.checks import rotation_matrix, unit_quaternion
from dalembert.scene.mass import MassProperties, combine, mass_properties, validate_inertia
from dalembert.scene.polyhedron import polyhedron_moments
from dalembert.scene.shapes import Box, Capsule, Compound, ConvexHull, Cylinder, Ellipsoid, Mesh, Sphere

NO_TURN = (1, 0, 0, 0)
ROUND = [Sphere(0.7), Cylinder(0.3, 1.1), Capsule(0.25, 0.8), Ellipsoid(0.3, 0.5, 0.9)]
few = settings(max_examples=20, deadline=None, derandomize=True)
rotations = st.integers(0, 2**32 - 1).map(
    lambda seed: rotation_matrix(unit_quaternion("test", "q", np.random.default_rng(seed).normal(size=4)))
)


def assert_close(a: MassProperties, b: MassProperties, rtol: float) -> None:
    size = np.abs(b.inertia).max()
    assert a.mass == pytest.approx(b.mass, rel=rtol)
    np.testing.assert_allclose(a.center, b.center, rtol=0, atol=rtol * (1 + np.abs(b.center).max()))
    np.testing.assert_allclose(a.inertia, b.inertia, rtol=0, atol=rtol * size)


@pytest.mark.parametrize("shape", ROUND, ids=repr)
def test_closed_forms_are_the_limit_of_refined_surfaces(shape):
    """An inscribed surface errs by O(h²): the error falls fourfold, and extrapolation removes it."""
    exact = mass_properties(shape, density=900.0)
    exact = np.append(exact.inertia.diagonal(), exact.mass)
    solids = [polyhedron_moments(*shape.triangles(n)) for n in (64, 128, 256)]
    coarse, medium, fine = (900.0 * m.volume * np.append(m.gyration.diagonal(), 1.0) for m in solids)
    order = np.log2((exact - medium) / (exact - fine))
    np.testing.assert_allclose(order, 2.0, atol=0.01)
    # Two steps of Richardson extrapolation, for the h² and h⁴ terms.
    first, second = (4 * medium - coarse) / 3, (4 * fine - medium) / 3
    np.testing.assert_allclose((16 * second - first) / 15, exact, rtol=2e-9)


def test_textbook_values():
    assert mass_properties(Box(1, 2, 3), mass=12.0).inertia.diagonal() == pytest.approx([13, 10, 5])
    assert mass_properties(Sphere(2), density=3.0).mass == pytest.approx(32 * math.pi)
    assert mass_properties(Cylinder(1, 2), mass=12.0).inertia.diagonal() == pytest.approx([7, 7, 6])
    assert_close(mass_properties(Ellipsoid(2, 2, 2), mass=3.0), mass_properties(Sphere(2), mass=3.0), 1e-15)
    assert_close(mass_properties(Capsule(2, 1e-14), mass=3.0), mass_properties(Sphere(2), mass=3.0), 1e-13)
    assert_close(mass_properties(Capsule(1e-6, 2), mass=3.0), mass_properties(Cylinder(1e-6, 2), mass=3.0), 1e-5)


def test_the_hull_of_a_box_is_the_box():
    corners, faces = Box(0.3, 1.7, 2.9).triangles()
    box = mass_properties(Box(0.3, 1.7, 2.9), density=7800.0)
    for solid in (ConvexHull(corners), ConvexHull([*corners, *0.3 * corners]), Mesh(corners, faces)):
        assert_close(mass_properties(solid, density=7800.0), box, 1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_polyhedra_agree_with_trimesh(seed):
    trimesh = pytest.importorskip("trimesh")
    hull = ConvexHull(np.random.default_rng(seed).normal(size=(50, 3)) * [1, 2, 0.3] + [3, -2, 1])
    theirs = trimesh.Trimesh(hull.vertices, hull.faces, process=False)
    theirs.density = 2.5
    mine = mass_properties(hull, density=2.5)
    assert_close(mine, MassProperties(theirs.mass, theirs.center_mass, theirs.moment_inertia), 1e-11)


def test_a_solid_far_from_its_origin_keeps_its_digits():
    corners, faces = Box(1, 2, 3).triangles()
    near = mass_properties(Box(1, 2, 3), density=1.0).moved((1024.0, 0, -4096.0))
    assert_close(mass_properties(Mesh(corners + [1024, 0, -4096], faces), density=1.0), near, 1e-14)


def test_a_hollow_box_is_the_difference_of_two():
    outer, faces = Box(2, 2, 2).triangles()
    hollow = Mesh(np.concatenate([outer, outer / 2]), np.concatenate([faces, faces[:, ::-1] + 8]))
    expected = 8 * 8 / 12 * 1.0 - 1 * 2 / 12
    assert mass_properties(hollow, density=1.0).inertia.diagonal() == pytest.approx([expected] * 3, rel=1e-14)


def test_a_box_cut_in_two_is_the_box():
    whole = mass_properties(Box(3, 1, 2), density=500.0)
    parts = Compound([(Box(1, 1, 2), (-1, 0, 0), NO_TURN), (Box(2, 1, 2), (0.5, 0, 0), NO_TURN)])
    assert_close(mass_properties(parts, density=500.0), whole, 1e-14)
    assert_close(mass_properties(parts, mass=whole.mass), whole, 1e-14)
    halves = [mass_properties(part.shape, density=500.0).moved(part.position) for part in parts.parts]
    assert_close(halves[0] + halves[1], whole, 1e-14)


def test_density_ratios_share_out_the_mass():
    pair = Compound([(Sphere(1), (-1, 0, 0), NO_TURN), (Sphere(1), (1, 0, 0), NO_TURN, 3)])
    solid = mass_properties(pair, mass=4.0)
    np.testing.assert_allclose(solid.center, [0.5, 0, 0], atol=1e-15)
    np.testing.assert_allclose(solid.inertia.diagonal(), [1.6, 4.6, 4.6], rtol=1e-14)
    light = mass_properties(pair, density=10.0)
    assert light.mass == pytest.approx(4 * 10 * 4 / 3 * math.pi)


def test_a_turned_part_turns_its_inertia():
    quarter = (math.sqrt(0.5), math.sqrt(0.5), 0, 0)  # about x: y → z
    turned = Compound([(Box(1, 2, 3), (0, 0, 0), quarter)])
    assert_close(mass_properties(turned, mass=2.0), mass_properties(Box(1, 3, 2), mass=2.0), 1e-15)
    placed = Compound([(Capsule(0.2, 1), (3, 1, 2), (1, 2, 3, 4))])
    surface = Mesh(*placed.triangles(8))
    mine = mass_properties(ConvexHull(Capsule(0.2, 1).triangles(8)[0]), density=1.0)
    mine = mine.rotated(rotation_matrix(unit_quaternion("q", "q", (1, 2, 3, 4)))).moved((3, 1, 2))
    assert_close(mass_properties(surface, density=1.0), mine, 1e-13)


def test_parallel_axes():
    rod = mass_properties(Box(2, 1e-3, 1e-3), mass=3.0)
    about_end = rod.inertia_about((1, 0, 0))[2, 2]
    assert about_end == pytest.approx(3 * 2**2 / 3, rel=1e-6)
    np.testing.assert_array_equal(rod.inertia_about(rod.center), rod.inertia)


@few
@given(rotations, st.lists(st.floats(0.1, 10), min_size=3, max_size=3))
def test_principal_axes_rebuild_the_tensor(rotation, sides):
    solid = mass_properties(Box(*sides), mass=2.0).rotated(rotation)
    moments, axes = solid.principal()
    assert (np.diff(moments) >= 0).all()
    assert np.linalg.det(axes) == pytest.approx(1.0, abs=1e-14)
    np.testing.assert_allclose(axes @ np.diag(moments) @ axes.T, solid.inertia, atol=1e-14 * moments[2])


def test_principal_axes_of_an_upright_solid_are_the_frame():
    moments, axes = mass_properties(Box(3, 2, 1), mass=12.0).principal()
    np.testing.assert_allclose(moments, [5, 10, 13])
    np.testing.assert_array_equal(axes, np.eye(3))


@few
@given(rotations)
def test_turning_the_points_turns_the_tensor(rotation):
    points = np.random.default_rng(5).normal(size=(12, 3))
    solid = mass_properties(ConvexHull(points), mass=1.5)
    turned = mass_properties(ConvexHull(points @ rotation.T), mass=1.5)
    assert_close(turned, solid.rotated(rotation), 1e-12)
    np.testing.assert_allclose(turned.principal()[0], solid.principal()[0], rtol=1e-12)


@few
@given(st.lists(st.floats(-5, 5), min_size=9, max_size=9))
def test_combining_does_not_depend_on_the_grouping(offsets):
    box, ball, rod = (mass_properties(shape, density=1.0) for shape in (Box(1, 2, 3), Sphere(1), Cylinder(0.2, 4)))
    a, b, c = (s.moved(offsets[3 * i : 3 * i + 3]) for i, s in enumerate((box, ball, rod)))
    assert_close((a + b) + c, combine([a, b, c]), 1e-13)


def test_an_almost_flat_solid_is_still_a_solid():
    plate = mass_properties(Box(1, 1, 1e-6), mass=1.0)
    assert plate.rotated(rotation_matrix(unit_quaternion("q", "q", (1, 2, 3, 4)))).mass == 1.0
    printed = np.array([[1.234567, 0, 0], [0, 2.345678, 0], [0, 0, 3.580246]])  # rounded up in the last digit
    assert validate_inertia("plate", printed).flags.writeable is False


def inertia(xx, yy, zz, xy=0.0, yx=0.0):
    return [[xx, xy, 0], [yx, yy, 0], [0, 0, zz]]


REFUSED = {
    "neither": (lambda: mass_properties(Box(1, 1, 1)), r"Box: give exactly one of mass .* got neither"),
    "both": (lambda: mass_properties(Sphere(1), mass=1, density=2), r"Sphere: .* got mass=1 and density=2"),
    "zero mass": (lambda: mass_properties(Sphere(1), mass=0), r"Sphere: mass must be .* in kg; got 0"),
    "bad density": (lambda: mass_properties(Sphere(1), density=-2.0), r"Sphere: density must be .* kg/m³; got -2.0"),
    "nan compound": (lambda: mass_properties(Compound([(Sphere(1),)]), mass=math.nan), r"Compound: mass .* got nan"),
    "compound density": (lambda: mass_properties(Compound([(Sphere(1),)]), density="x"), r"Compound: density .*'x'"),
    "too large": (
        lambda: mass_properties(Sphere(1e150), density=1.0),
        r"Sphere: mass from density × volume .* got inf",
    ),
    "too small": (lambda: mass_properties(Sphere(1e-150), density=1.0), r"Sphere: mass from density × volume .* 0.0"),
    "small compound": (lambda: mass_properties(Compound([(Sphere(1e-150),)]), mass=1), r"Compound: volume .* got 0.0"),
    "small capsule": (lambda: mass_properties(Capsule(1e-170, 1e-170), mass=1), r"Capsule: inertia is not positive"),
    "not a shape": (lambda: mass_properties("ball", mass=1), r"'ball' is not a shape"),
    "skew": (lambda: validate_inertia("arm", inertia(1, 1, 1, 0.1, 0.2)), r"arm: .*symmetric.*\[0,1\] is 0.1 .*equal"),
    "indefinite": (lambda: validate_inertia("arm", inertia(1, 1, -1)), r"arm: .*not positive definite.*-1, 1, 1 kg m²"),
    "rod": (lambda: validate_inertia("arm", inertia(0, 1, 1)), r"arm: .*not positive definite.*add_particles"),
    "triangle": (
        lambda: validate_inertia("arm", inertia(1, 1, 3)),
        r"arm: no solid has this inertia.* 1, 1, 3 kg.*by 1;",
    ),
    "nan": (lambda: validate_inertia("arm", inertia(1, math.nan, 3)), r"arm: inertia\[1, 1\] is nan"),
    "shape": (lambda: validate_inertia("arm", [1, 2, 3]), r"arm: inertia must be numbers of shape \(3, 3\)"),
    "bare mass": (lambda: MassProperties(-1.0, np.zeros(3), np.eye(3)), r"MassProperties: mass .* got -1.0"),
    "mirror": (
        lambda: mass_properties(Sphere(1), mass=1).rotated(np.diag([1, 1, -1])),
        r"is not a rotation; give orthonormal",
    ),
}


@pytest.mark.parametrize(("build", "message"), REFUSED.values(), ids=REFUSED)
def test_bad_input_is_refused_by_name(build, message):
    with pytest.raises(ValueError, match=message):
        build()
