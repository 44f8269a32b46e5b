"""What a session shows of its frames beside what is recorded: where bodies touch, and how they turn."""

from __future__ import annotations

import numpy as np

from ..model.compile import Model
from ..simulate import Simulation
from ..state import SYMMETRIC


def touching(run: Simulation) -> np.ndarray:
    """The contacts of a run where it is, after a measurement: (k, 9), place (m), force on the second (N), normal."""
    bodies = run._driver.bodies
    if bodies is not None:
        rows = bodies._found()
        parts = (rows.position, bodies._impulses(rows) / bodies.settings.dt, rows.frame[:, :3])
        found = np.concatenate(parts, axis=1)
    else:
        found = np.array([(*c.position, *c.force, *c.normal) for c in run.contacts]).reshape(-1, 9)
    return found.astype(np.float32)


def spins(model: Model, orientation: np.ndarray, momentum: np.ndarray) -> np.ndarray:
    """Angular velocities ω = R I⁻¹ Rᵀ L (k, n, 3) rad/s of the model's bodies, from (k, n, 4) and (k, n, 3)."""
    w, v = orientation[..., :1], orientation[..., 1:]

    def turned(vector: np.ndarray, sign: float) -> np.ndarray:
        t = 2.0 * sign * np.cross(v, vector)
        return vector + w * t + sign * np.cross(v, t)

    inverse = model.tables["bodies"].inverse_inertia[: orientation.shape[1], SYMMETRIC]
    return turned(np.einsum("nij,knj->kni", inverse, turned(momentum, -1.0)), 1.0)
