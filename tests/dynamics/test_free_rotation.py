"""Free rotation on the way of a fast body, by one splitting for each quarter of a radian."""

import numpy as np

from dalembert.core.kernel import array, kernel, out
from dalembert.dynamics import kinematics


@kernel
def turned(spin: array(), moments: array(), h: float, parts: int, found: out()) -> None:
    """The orientation after h by so many splittings; 0: as `rotate_roughly` has it."""
    q, s, m = (1.0, 0.0, 0.0, 0.0), (spin[0], spin[1], spin[2]), (moments[0], moments[1], moments[2])
    if parts == 0:
        q = kinematics.rotate_roughly(q, s, m, h)
    for _ in range(parts):
        q, s = kinematics.split(q, s, m, h / parts)
    found[0], found[1], found[2], found[3] = q


def test_rough_rotation_is_within_four_thousandths_of_a_radian():
    """Of bodies whose sides differ by up to 1:20, over turns of up to one radian."""
    rng = np.random.default_rng(2)
    worst = 0.0
    for _ in range(300):
        squares = rng.uniform(0.05, 1.0, 3) ** 2
        moments = squares.sum() - squares
        axis = rng.normal(size=3)
        spin, turn = moments * axis / np.linalg.norm(axis), rng.uniform(0.01, 1.0)
        one, other = np.zeros(4), np.zeros(4)
        turned(spin, moments, turn, 0, one)
        turned(spin, moments, turn, 2000, other)
        worst = max(worst, 2.0 * min(np.linalg.norm(one - other), np.linalg.norm(one + other)))
    assert 1e-4 < worst < 4e-3
