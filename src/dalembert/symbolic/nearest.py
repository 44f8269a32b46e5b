"""From states of bodies to generalized coordinates: the places nearest to theirs, and the rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..model.tables import STATE_SIZE
from ..scene.body import Body
from ..scene.checks import rotation_matrix

SEARCHES = 50
Evaluate = Callable[[np.ndarray], np.ndarray]  # u → what `GeneralizedCoordinates.evaluate` gives


def parts(y: np.ndarray, bodies: int) -> np.ndarray:
    """(bodies, 13): (x, q, P, L) of each body, from a state vector."""
    return y[: STATE_SIZE * bodies].reshape(-1, STATE_SIZE)


def nearest(
    evaluate: Evaluate, bodies: Sequence[Body], states: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(u, u̇): the places nearest to those of the bodies in the metric of the masses, by Newton's method from u, and the rates
    whose momenta are nearest. states : see `parts`."""
    u, previous = u.copy(), np.inf
    for _ in range(SEARCHES):
        jacobian, metric, missing, _ = _misfit(evaluate(u), bodies, states)
        square = float(np.einsum("bi,bij,bj", missing, metric, missing))
        if not square < previous:
            break
        previous = square
        u += _least_squares(jacobian, metric, missing)
    jacobian, metric, _, missing = _misfit(evaluate(u), bodies, states)
    return u, _least_squares(jacobian, metric, missing)


def _misfit(found: np.ndarray, bodies: Sequence[Body], states: np.ndarray) -> tuple[np.ndarray, ...]:
    """J, the metric of the masses, how far each body is from where u has it, and its velocity less the drift."""
    metric = np.zeros((len(bodies), 6, 6))
    missing, rates = np.zeros((len(bodies), 6)), np.zeros((len(bodies), 6))
    for b, body in enumerate(bodies):
        own, target = found[b, 3:12].reshape(3, 3), rotation_matrix(states[b, 3:7])
        metric[b, :3, :3] = body.mass * np.eye(3)
        metric[b, 3:, 3:] = own @ body.inertia @ own.T
        missing[b] = *(states[b, :3] - found[b, :3]), *turn_of(target @ own.T)
        spin = np.linalg.solve(target @ body.inertia @ target.T, states[b, 10:13])
        rates[b] = np.concatenate([states[b, 7:10] / body.mass, spin]) - found[b, 12:18]
    return found[:, 24:].reshape(len(bodies), 6, -1), metric, missing, rates


def turn_of(rotation: np.ndarray) -> np.ndarray:
    """The rotation vector of a rotation matrix, rad."""
    axial = 0.5 * np.array(
        [rotation[2, 1] - rotation[1, 2], rotation[0, 2] - rotation[2, 0], rotation[1, 0] - rotation[0, 1]]
    )
    sine = float(np.linalg.norm(axial))
    angle = np.arctan2(sine, 0.5 * (np.trace(rotation) - 1.0))
    return np.asarray(axial * (angle / sine if sine > 0.0 else 1.0))


def _least_squares(jacobian: np.ndarray, metric: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """The x for which J x is nearest to `missing`; the smallest where there are several."""
    weighted = np.einsum("bij,bjn->bin", metric, jacobian)
    mass = np.einsum("bim,bin->mn", jacobian, weighted)
    return np.asarray(np.linalg.lstsq(mass, np.einsum("bin,bi->n", weighted, missing), rcond=1e-13)[0])
