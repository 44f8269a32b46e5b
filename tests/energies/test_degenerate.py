"""States in which a measure has no gradient: finite numbers, no force, and a positive semidefinite matrix."""

import numpy as np
import pytest

from .samples import SHAPES, one

FOLDED = [[0.0, 0, 0], [1, 0, 0], [0.5, 0, 0]]
CASES = {
    "spring, coincident ends": ("springs", np.zeros((2, 3))),
    "angle, straight": ("angles", [[-1.0, 0, 0], [0, 0, 0], [2, 0, 0]]),
    "angle, folded": ("angles", [[1.0, 0, 0], [0, 0, 0], [2, 0, 0]]),
    "angle, no arm": ("angles", [[0.0, 0, 0], [0, 0, 0], [2, 0, 0]]),
    "angle, a point": ("angles", np.zeros((3, 3))),
    "curvature, no edge": ("curvatures", [[0.0, 0, 0], [0, 0, 0], [2, 0, 0]]),
    "curvature, a point": ("curvatures", np.zeros((3, 3))),
    "curvature, folded": ("curvatures", FOLDED),
    "hinge, no area": ("hinges", [[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [0.5, -1, 0]]),
    "hinge, no edge": ("hinges", [[0.0, 0, 0], [0, 0, 0], [0, 1, 0], [0, -1, 0]]),
    "hinge, a point": ("hinges", np.zeros((4, 3))),
    "area, a line": ("areas", FOLDED),
    "area, a point": ("areas", np.zeros((3, 3))),
}
MORE = {
    "cloth, a line": ("cloths", FOLDED),
    "cloth, a point": ("cloths", np.zeros((3, 3))),
    "volume, flat": ("volumes", [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]),
    "volume, a line": ("volumes", [[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]]),
    "volume, a point": ("volumes", np.zeros((4, 3))),
    "tetrahedron, flat": ("tetrahedra", [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]),
    "tetrahedron, a line": ("tetrahedra", [[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]]),
    "tetrahedron, a point": ("tetrahedra", np.zeros((4, 3))),
}


@pytest.mark.parametrize("case", CASES | MORE)
def test_all_numbers_are_finite_and_the_matrix_is_positive(case):
    name, x = (CASES | MORE)[case]
    model = one(name)
    for order in (2, 3):
        energy, gradient, hessian = model.evaluate(name, x, order)
        assert np.isfinite(energy) and np.isfinite(gradient).all() and np.isfinite(hessian).all()
    sizes = np.linalg.eigvalsh(hessian)
    assert sizes[0] >= -1e-12 * sizes[-1]
    assert np.isfinite(model.rows(name, x)).all()
    assert np.isfinite(model.forces(x, np.ones_like(x))[1]).all()


@pytest.mark.parametrize("case", CASES)
def test_there_is_no_force_without_a_gradient(case):
    name, x = CASES[case]
    if case != "curvature, folded":
        assert not one(name).evaluate(name, x, 1)[1].any()


def test_a_spring_of_no_rest_length_is_linear_throughout():
    model = one("springs", rest=0.0)
    block = 2.5 * np.kron([[1, -1], [-1, 1]], np.eye(3))
    for d in (np.zeros(3), np.array([1e-150, 0, 0]), np.array([0.3, -0.2, 0.1])):
        energy, gradient, hessian = model.evaluate("springs", [np.zeros(3), d], 3)
        assert energy == pytest.approx(1.25 * d @ d, rel=1e-15)
        np.testing.assert_allclose(gradient[3:], 2.5 * d, rtol=1e-15)
        np.testing.assert_allclose(hessian, block, atol=1e-15)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
@pytest.mark.parametrize("name", SHAPES)
def test_sizes_far_from_one_do_no_harm(name, scale):
    """A shape of any size is handled; only the tetrahedra and cloth know a length, so that they are strained."""
    _, gradient, hessian = one(name).evaluate(name, scale * SHAPES[name], 3)
    assert np.isfinite(gradient).all() and np.isfinite(hessian).all()
    sizes = np.linalg.eigvalsh(hessian)
    assert sizes[0] >= -1e-12 * sizes[-1]
