"""The residuals of contact: nothing at a solution, and the size of what was disturbed elsewhere; the cones' projections."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dalembert.contact import cone, cone_interior_point
from dalembert.contact.cone import natural_map
from dalembert.contact.cone_solver import solve
from dalembert.core.kernel import array, kernel, out

from .problems import stack


def returned(function, *given, size=3):
    """What a kernel writes to the array that is its last argument; the others are numbers, or made arrays."""
    found = np.zeros(size)
    function(*(value if np.isscalar(value) else np.array(value, float) for value in given), found)
    return found


@kernel
def project_coulomb(x: float, y: float, z: float, mu: float, found: out()) -> None:
    found[0], found[1], found[2] = cone.project_coulomb((x, y, z), mu)


@kernel
def project_dual(x: float, y: float, z: float, mu: float, found: out()) -> None:
    found[0], found[1], found[2] = cone.project_dual((x, y, z), mu)


number = st.floats(-10.0, 10.0)


@settings(deadline=None)
@given(number, number, number, st.floats(0.0, 2.0))
@example(-1.0, 0.0, 0.0, 0.0)
def test_projections_on_a_cone_and_its_polar_make_up_the_point(x, y, z, mu):
    """Moreau: x = P_K(x) − P_K*(−x), at right angles."""
    p, q = returned(project_coulomb, x, y, z, mu), returned(project_dual, -x, -y, -z, mu)
    np.testing.assert_allclose(p - q, [x, y, z], atol=1e-13)
    assert abs(p @ q) < 1e-12
    assert p[0] >= 0.0
    assert np.hypot(p[1], p[2]) <= mu * p[0] + 1e-13
    assert mu * np.hypot(q[1], q[2]) <= q[0] + 1e-12


@kernel
def scaled(s: array(), z: array(), found: out()) -> None:
    s, z = (s[0], s[1], s[2]), (z[0], z[1], z[2])
    beta, w = cone.scaling_point(s, z)
    found[0], found[1], found[2] = cone.apply_scaling(beta, w, z)
    found[3], found[4], found[5] = cone.apply_inverse_scaling(beta, w, s)
    found[6], found[7], found[8] = cone.product(s, cone.divide(s, z))


def test_scaling_makes_slack_and_force_the_same_point():
    rng = np.random.default_rng(0)
    for _ in range(20):
        s, z = rng.normal(size=(2, 3)) * 10.0 ** rng.integers(-3, 4, (2, 1))
        s[0] = np.hypot(s[1], s[2]) * (1.0 + rng.uniform(0.01, 1.0))
        z[0] = np.hypot(z[1], z[2]) * (1.0 + rng.uniform(0.01, 1.0))
        a, b, c = returned(scaled, s, z, size=9).reshape(3, 3)
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13 * np.linalg.norm(a))
        np.testing.assert_allclose(c, z, rtol=1e-11, atol=1e-13 * np.linalg.norm(z))


@kernel
def inverse_times(beta: float, w: array(), delta: float, x: array(), found: out()) -> None:
    """(W² + δ)⁻¹ (W² + δ) x."""
    w, x = (w[0], w[1], w[2]), (x[0], x[1], x[2])
    y = cone.apply_scaling(beta, w, cone.apply_scaling(beta, w, x))
    y = (y[0] + delta * x[0], y[1] + delta * x[1], y[2] + delta * x[2])
    found[0], found[1], found[2] = cone.apply_spectrum(cone.regularized_inverse(beta, w, delta), y)


@pytest.mark.parametrize("delta", [0.0, 1e-3, 10.0])
def test_the_spectrum_of_the_regularized_inverse_is_its_inverse(delta):
    rng = np.random.default_rng(1)
    for _ in range(20):
        t, x = rng.normal(size=2), rng.normal(size=3)
        w = np.array([np.sqrt(1.0 + t @ t), *t])
        np.testing.assert_allclose(returned(inverse_times, 0.7, w, delta, x), x, rtol=1e-11, atol=1e-11)


@kernel
def applied(spectrum: array(), x: array(), found: out()) -> None:
    spectrum = (spectrum[0], spectrum[1], spectrum[2], spectrum[3], spectrum[4])
    found[0], found[1], found[2] = cone.apply_spectrum(spectrum, (x[0], x[1], x[2]))


def test_a_large_eigenvalue_leaves_what_a_small_one_gives_alone():
    """Eigenvalues 1e16 apart, as where a contact slides: a matrix of six numbers would lose the small one."""
    plus, minus, across = 1e8, 1e-8, 1.0
    a, b = np.cos(0.3), np.sin(0.3)
    along, against = np.array([1.0, a, b]), np.array([1.0, -a, -b])
    got = returned(applied, (plus, minus, across, a, b), against)
    assert against @ got / 2.0 == pytest.approx(minus, rel=1e-6, abs=0.0)
    assert returned(applied, (plus, minus, across, a, b), along) @ along / 2.0 == pytest.approx(plus, rel=1e-14)
    np.testing.assert_allclose(
        returned(applied, (plus, minus, across, a, b), (0.0, -b, a)), (0.0, -b, a), rtol=1e-14, atol=1e-8
    )


@kernel
def boundary(x: array(), d: array()) -> float:
    return cone.step_to_boundary((x[0], x[1], x[2]), (d[0], d[1], d[2]))


@pytest.mark.parametrize("d", [(-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (-2.0, -0.6, 0.2), (-1.0, 0.3, 0.3)])
def test_step_ends_on_the_boundary(d):
    x, d = np.array([2.0, 0.6, -0.2]), np.array(d)
    end = x + boundary(x, d) * d
    assert np.hypot(end[1], end[2]) == pytest.approx(end[0], abs=1e-7)  # towards the apex the root is double
    assert boundary(x, x) == 1e30


@kernel
def natural(p: array(), u: array(), mu: float, compliance: float) -> float:
    return natural_map((p[0], p[1], p[2]), (u[0], u[1], u[2]), mu, compliance)


@pytest.mark.parametrize(("mu", "compliance"), [(0.0, 1.0), (0.4, 3.0), (1.3, 0.1)])
def test_natural_map_is_the_distance_to_the_projection(mu, compliance):
    rng = np.random.default_rng(2)
    for _ in range(50):
        p, u = rng.normal(size=(2, 3))
        moved = returned(project_coulomb, *(p - u / compliance), mu)
        assert natural(p, u, mu, compliance) == pytest.approx(
            compliance * np.linalg.norm(p - moved), rel=1e-12, abs=1e-14
        )


def test_natural_map_of_what_sticks_is_its_velocity_however_large_the_impulse():
    u = np.array([3e-12, 4e-12, 0.0])
    assert natural(np.array([1e6, 1e4, 0.0]), u, 0.5, 1.0) == pytest.approx(5e-12, rel=1e-12)


def test_natural_map_of_what_opens_is_zero_however_fast_it_does():
    rng = np.random.default_rng(3)
    for _ in range(50):
        t = rng.normal(size=2) * 10.0 ** rng.uniform(-3, 3)
        u_hat = (rng.uniform(0.7, 3.0) * np.hypot(*t), *t)  # in the dual cone of μ = 0.6, not at its boundary
        assert natural(np.zeros(3), np.array(u_hat), 0.6, rng.uniform(0.1, 10.0)) == 0.0


def test_residuals_vanish_at_the_solution_of_a_box_at_rest():
    status, p = solve(stack([1.0]))
    step = p.step[0]
    assert status == 0
    for name in ("cone", "dual", "complementarity", "natural_map", "joints", "balance"):
        assert step[name] < 1e-14, name


@kernel
def start_beside(c: float, mu: float, unit: float, given: array(), found: out()) -> None:
    """λ and z of a contact that starts near p and û, three numbers each."""
    p, u_hat = (given[0], given[1], given[2]), (given[3], given[4], given[5])
    force, slack = cone_interior_point.beside(c, mu, p, u_hat, unit)
    for k in range(3):
        found[k], found[3 + k] = force[k], slack[k]


@settings(deadline=None)
@given(st.lists(number, min_size=6, max_size=6), st.floats(0.1, 2.0), st.floats(0.01, 10.0), st.floats(1e-3, 1.0))
@example([1.0, 0.5, 0.0, 0.0, 0.0, 0.0], 0.5, 1.0, 1e-3)
def test_a_start_near_impulses_is_on_the_path_and_keeps_their_difference_to_the_velocity(values, mu, c, unit):
    """λ ∘ z = unit² e, both inside the cone, and c λ − z is as given."""
    found = returned(start_beside, c, mu, unit, values, size=6)
    force, slack = found[:3], found[3:]
    for side in (force, slack):
        assert side[0] >= np.hypot(side[1], side[2])
    scale = max(1.0, np.abs(c * force).max(), np.abs(slack).max())
    both = np.array([force @ slack, *(force[0] * slack[1:] + slack[0] * force[1:])])
    np.testing.assert_allclose(both, [unit**2, 0.0, 0.0], atol=1e-13 * scale**2 / c)
    p, u_hat = np.array(values[:3]), np.array(values[3:])
    lorentz = c * p / [1.0, mu, mu] - u_hat * [1.0, mu, mu]
    np.testing.assert_allclose(c * force - slack, lorentz, atol=1e-13 * max(scale, np.abs(lorentz).max()))
