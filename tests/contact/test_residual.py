"""The residuals of contact: nothing at a solution, and the size of what was disturbed elsewhere; the cones' projections."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.contact import cone
from dalembert.contact.interior_point import solve
from dalembert.jit import kernel

from .problems import stack


@kernel
def project(x, y, z, mu):
    return cone.project_coulomb((x, y, z), mu)


@kernel
def project_dual(x, y, z, mu):
    return cone.project_dual((x, y, z), mu)


number = st.floats(-10.0, 10.0)


@settings(deadline=None)
@given(number, number, number, st.floats(0.0, 2.0))
def test_projections_on_a_cone_and_its_polar_make_up_the_point(x, y, z, mu):
    """Moreau: x = P_K(x) − P_K*(−x), at right angles."""
    p, q = np.array(project(x, y, z, mu)), np.array(project_dual(-x, -y, -z, mu))
    np.testing.assert_allclose(p - q, [x, y, z], atol=1e-13)
    assert abs(p @ q) < 1e-12
    assert np.hypot(p[1], p[2]) <= mu * p[0] + 1e-13
    assert mu * np.hypot(q[1], q[2]) <= q[0] + 1e-12


@kernel
def scaled(s, z):
    s, z = (s[0], s[1], s[2]), (z[0], z[1], z[2])
    beta, w = cone.scaling_point(s, z)
    return cone.apply_scaling(beta, w, z), cone.apply_inverse_scaling(beta, w, s), cone.product(s, cone.divide(s, z))


def test_scaling_makes_slack_and_force_the_same_point():
    rng = np.random.default_rng(0)
    for _ in range(20):
        s, z = rng.normal(size=(2, 3)) * 10.0 ** rng.integers(-3, 4, (2, 1))
        s[0] = np.hypot(s[1], s[2]) * (1.0 + rng.uniform(0.01, 1.0))
        z[0] = np.hypot(z[1], z[2]) * (1.0 + rng.uniform(0.01, 1.0))
        a, b, c = scaled(s, z)
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13 * np.linalg.norm(a))
        np.testing.assert_allclose(c, z, rtol=1e-11, atol=1e-13 * np.linalg.norm(z))


@kernel
def boundary(x, d):
    return cone.step_to_boundary((x[0], x[1], x[2]), (d[0], d[1], d[2]))


@pytest.mark.parametrize("d", [(-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (-2.0, -0.6, 0.2), (-1.0, 0.3, 0.3)])
def test_step_ends_on_the_boundary(d):
    x, d = np.array([2.0, 0.6, -0.2]), np.array(d)
    end = x + boundary(x, d) * d
    assert np.hypot(end[1], end[2]) == pytest.approx(end[0], abs=1e-7)  # towards the apex the root is double
    assert boundary(x, x) == 1e30


def test_residuals_vanish_at_the_solution_of_a_box_at_rest():
    status, p = solve(stack([1.0]))
    step = p.step[0]
    assert status == 0
    for name in ("cone", "dual", "complementarity", "natural_map", "joints", "balance"):
        assert step[name] < 1e-14, name
