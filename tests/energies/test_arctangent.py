"""The angle of a point against `math.atan2`."""

import math

import numpy as np
import pytest

from dalembert.core.kernel import array, kernel, out
from dalembert.energies.hinge import angle_of


@kernel
def angles_of(x: array(), y: array(), found: out()) -> None:
    for i in range(x.shape[0]):
        found[i] = angle_of(x[i], y[i])


def found(x, y):
    out = np.full(len(x), np.nan)
    angles_of(np.array(x, float), np.array(y, float), out)
    return out


def test_it_is_rounded_nearly_as_well_as_atan2():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=20000), rng.normal(size=20000) * 10.0 ** rng.uniform(-12, 12, 20000)
    expected = np.arctan2(y, x)
    assert (np.abs(found(x, y) - expected) <= 2.0 * np.spacing(np.abs(expected))).all()


def test_where_its_parts_meet_it_has_no_steps():
    turns = np.add.outer(np.arange(-8, 9) * np.pi / 8, [-1e-15, 0.0, 1e-15]).ravel()
    turns = turns[np.abs(turns) < math.pi]
    np.testing.assert_allclose(found(np.cos(turns), np.sin(turns)), turns, rtol=0.0, atol=1e-15)


@pytest.mark.parametrize(("x", "y"), [(0.0, 0.0), (1.0, 0.0), (-1.0, 0.0), (0.0, 2.0), (0.0, -2.0), (1e-300, 1e-300)])
def test_axes_and_the_origin(x, y):
    assert found([x], [y])[0] == math.atan2(y, x)
