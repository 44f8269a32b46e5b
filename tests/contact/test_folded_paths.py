"""The interior point where its path turns back: recorded steps of piles of 45 boxes with masses 1:100.

Without the mend of `cone_interior_point` (less of the derivative of De Saxcé's term after short steps) neither of them was
solved in 200 factorizations.
"""

from pathlib import Path

import numpy as np
import pytest

from dalembert.contact.cone_problem import SOLVED
from dalembert.contact.cone_solver import solve

from .problems import Contact, make
from .test_cone_solver_random import residuals

RECORDS = Path(__file__).parent / "piles_with_folded_paths.npz"
TOLERANCE = 1e-6  # m/s


def recorded(number):
    """(problem, free velocities) of a record."""
    with np.load(RECORDS, allow_pickle=False) as data:
        masses, free, pairs, jacobians, friction, bias, offset = (
            data[f"{name}_{number}"] for name in ("masses", "free", "pairs", "jacobians", "friction", "bias", "offset")
        )
    contacts = [
        Contact({int(b): j for b, j in zip(pair, both, strict=True) if b >= 0}, float(mu), float(c), tuple(r))
        for pair, both, mu, c, r in zip(pairs, jacobians, friction, bias, offset, strict=True)
    ]
    return make(list(masses), list(free), contacts, tolerance=TOLERANCE, max_iterations=200), free.ravel()


@pytest.mark.parametrize("number", [0, 1])
def test_a_pile_whose_path_turns_back_is_solved(number):
    problem, free = recorded(number)
    status, problem = solve(problem)
    assert status == SOLVED
    natural, balance = residuals(problem, free)  # NumPy, over the typical speed
    assert natural * problem.step[0].speed < 2.0 * TOLERANCE
    assert balance < 1e-9
