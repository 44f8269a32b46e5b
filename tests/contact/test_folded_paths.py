"""The interior point where its path turns back: a recorded step of a pile of 45 boxes with masses 1:100.

With the whole derivative of De Saxcé's term it takes 197 factorizations. With less of it after short steps, as
`cone_interior_point` has it, it takes 26.
"""

from pathlib import Path

import numpy as np

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
