"""The interior point where its path turns back: a recorded step of a pile of 45 boxes with masses 1:100.

With the whole derivative of De Saxcé's term it takes 197 factorizations. With less of it after short steps, as
`cone_interior_point` has it, it takes 26.
"""

from pathlib import Path

import numpy as np
import pytest

from dalembert.contact.cone_problem import SOLVED
from dalembert.contact.cone_solver import solve

from .problems import Contact, make
from .test_cone_solver_random import residuals

RECORD = Path(__file__).parent / "pile_with_a_folded_path.npz"
TOLERANCE = 1e-6  # m/s


def recorded():
    """(problem, free velocities) of the record."""
    with np.load(RECORD, allow_pickle=False) as data:
        masses, free, pairs, jacobians, friction, bias, offset = (
            data[name] for name in ("masses", "free", "pairs", "jacobians", "friction", "bias", "offset")
        )
    contacts = [
        Contact({int(b): j for b, j in zip(pair, both, strict=True) if b >= 0}, float(mu), float(c), tuple(r))
        for pair, both, mu, c, r in zip(pairs, jacobians, friction, bias, offset, strict=True)
    ]
    return make(list(masses), list(free), contacts, tolerance=TOLERANCE, max_iterations=100), free.ravel()


def test_a_pile_whose_path_turns_back_is_solved():
    problem, free = recorded()
    status, problem = solve(problem)
    assert status == SOLVED
    natural, balance = residuals(problem, free)  # NumPy, over the typical speed
    assert natural * problem.step[0].speed < 2.0 * TOLERANCE
    assert balance < 1e-9


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_a_warm_start_that_is_far_off_takes_no_factorization(scale):
    """Of the impulses of such a pile in motion those of the last step say little: the interior point begins at once."""
    cold = solve(recorded()[0])[1]
    warm = recorded()[0]
    size = scale * np.abs(cold.cones.impulse).mean()
    warm.cones.impulse[:] = size * np.random.default_rng(0).normal(size=warm.cones.impulse.shape)
    warm.step["warm"] = 1
    status, warm = solve(warm)
    assert status == SOLVED
    assert warm.step[0].iterations == cold.step[0].iterations
