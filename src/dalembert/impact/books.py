"""The impulses of an instant on the momenta, and what the audit books of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.tables import (
    CONSTRAINT_WORK,
    LEDGER,
    REACTION_IMPULSE,
    REACTION_TORQUE,
    STATE_SIZE,
    System,
)


def give(y: np.ndarray, system: System, entry: int, wrench: np.ndarray, impulse: np.ndarray, mean: np.ndarray) -> None:
    """Add impulses to the momenta in y, at the velocities in the kinematics table.

    entry : where the ledger of contact stands. wrench : (m, 6) N s and N m s on each body or node, joints' answer included.
    impulse, mean : (n, 3) of each contact, and its mean velocity ½ (u + u⁺): their product is the work.
    """
    settings: Any = system.settings[0]
    rigid, block = int(settings.rigid), STATE_SIZE * int(settings.rigid)
    kinematics = system.kinematics[:-1]
    wrench[rigid:, 3:] = 0.0  # nodes do not turn
    y[:block].reshape(-1, STATE_SIZE)[:, 7:] += wrench[:rigid]
    momenta = y[block + 3 * settings.particles : block + 6 * settings.particles].reshape(-1, 3)
    momenta[system.nodes.particle] += wrench[rigid:, :3]
    inverse = kinematics.inverse_inertia[:, [0, 3, 4, 3, 1, 5, 4, 5, 2]].reshape(-1, 3, 3)
    v = kinematics.v + 0.5 * system.bodies.inverse_mass[:, None] * wrench[:, :3]
    omega = kinematics.omega + 0.5 * np.einsum("ijk,ik->ij", inverse, wrench[:, 3:])
    gained = float(np.sum(wrench[:, :3] * v) + np.sum(wrench[:, 3:] * omega))
    work = np.sum(impulse * mean, axis=0)
    common = y.size - len(LEDGER)
    y[entry] += work[0]
    y[entry + 1] += work[1] + work[2]
    y[common + CONSTRAINT_WORK] += gained - float(work.sum())
    y[common + REACTION_IMPULSE : common + REACTION_IMPULSE + 3] += wrench[:, :3].sum(axis=0)
    moment = np.cross(kinematics.x, wrench[:, :3]) + wrench[:, 3:]
    y[common + REACTION_TORQUE : common + REACTION_TORQUE + 3] += moment.sum(axis=0)
