"""Resting contact at one instant: which contacts bear force, and which of them slide, by the accelerations they would have.

Normal forces are those of the linear complementarity problem A f + b ≥ 0 ⊥ f ≥ 0 (Baraff 1994): by Dantzig's algorithm
without friction, by Lemke's where some slide (A is then not symmetric), by sweeps over the exact cone where some may stick.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..linalg.lcp import OK, boxed, lcp
from ..no_solution import NoSolution
from .cone_sweeps import CONE, FREE, GIVEN, solve
from .tables import FRICTIONLESS, OPEN, SLIDING, STICKING

ZERO = 1e-9  # accelerations below this part of the largest are zero


class Rest(NamedTuple):
    """How each contact goes on: mode (n,) of `tables`, the way it slides (n, 2) in its tangents, forces (n, 3) in N."""

    mode: np.ndarray
    slide: np.ndarray
    force: np.ndarray


def classify(matrix: np.ndarray, free: np.ndarray, velocity: np.ndarray, friction: np.ndarray, still: float) -> Rest:
    """Forces and modes of contacts that neither close nor part.

    matrix : (3 n, 3 n). free : (n, 3) m/s², relative accelerations without these forces. velocity : (n, 3) m/s; tangential
    speeds up to `still` are none. Raises NoSolution.
    """
    speed = np.hypot(velocity[:, 1], velocity[:, 2])
    slides = (speed > still) & (friction > 0.0)
    slide = np.where(slides[:, None], velocity[:, 1:] / np.where(slides, speed, 1.0)[:, None], 0.0)
    kinds = np.where(friction > 0.0, np.where(slides, GIVEN, CONE), FREE)
    force = resting_forces(matrix, free, kinds, friction, slide)
    acceleration = free + (matrix @ force.ravel()).reshape(-1, 3)
    small = ZERO * float(np.abs(free).max(initial=0.0))
    bears = acceleration[:, 0] <= small
    shear = np.hypot(acceleration[:, 1], acceleration[:, 2])
    starts = (kinds == CONE) & (shear > small)
    slide = np.where(starts[:, None], acceleration[:, 1:] / np.where(starts, shear, 1.0)[:, None], slide)
    mode = np.where(kinds == FREE, FRICTIONLESS, np.where(slides | starts, SLIDING, STICKING))
    return Rest(np.where(bears, mode, OPEN), slide, force)


def resting_forces(
    matrix: np.ndarray, free: np.ndarray, kinds: np.ndarray, friction: np.ndarray, slide: np.ndarray
) -> np.ndarray:
    """(n, 3) forces, N; kinds as in `cone_sweeps`, slide (n, 2) of those GIVEN. Raises NoSolution."""
    n = len(free)
    if not (kinds == CONE).any():
        sliding = np.where(kinds == GIVEN, friction, 0.0)
        reduced = (
            matrix[::3, ::3] - matrix[::3, 1::3] * (sliding * slide[:, 0]) - matrix[::3, 2::3] * (sliding * slide[:, 1])
        )
        if sliding.any():
            normal, status = lcp(reduced, free[:, 0], "lemke")
        else:
            status, normal = boxed(np.ascontiguousarray(reduced), free[:, 0].copy(), np.zeros(n), np.full(n, np.inf))
        if status == OK:
            return np.column_stack([normal, -(sliding * normal)[:, None] * slide])
    force, change = solve(matrix, free, kinds, friction, slide, np.zeros(n))
    if not change <= 1e-9:
        raise NoSolution(
            f"the forces of {n} resting contacts were not found (last change {change:.3g}); with much friction there may be "
            "none (Painlevé): give less friction, or use method='time_stepping'"
        )
    return force
