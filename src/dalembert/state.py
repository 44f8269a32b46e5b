"""The point in phase space: one flat vector, with named views."""

from __future__ import annotations

import numpy as np

from .model.compile import Model
from .model.tables import STATE_SIZE


class State:
    """Named views on the state vector of a model; writing to them changes it.

    position (n, 3) m; orientation (n, 4) (w, x, y, z); momentum (n, 3) kg m/s; angular_momentum (n, 3) kg m²/s about
    the centre of mass; world axes, bodies in the order of `model.body_names`.
    particle_position (m, 3) m; particle_momentum (m, 3) kg m/s; of all particles, group after group (`particles`).
    """

    def __init__(self, model: Model, y: np.ndarray, time: float) -> None:
        bodies = y[: STATE_SIZE * len(model.body_names)].reshape(-1, STATE_SIZE)
        self.model, self.y, self.time = model, y, time
        self.position = bodies[:, 0:3]
        self.orientation = bodies[:, 3:7]
        self.momentum = bodies[:, 7:10]
        self.angular_momentum = bodies[:, 10:13]
        self.particle_position, self.particle_momentum = y[model.particle_block].reshape(2, -1, 3)

    @property
    def velocity(self) -> np.ndarray:
        """(n, 3) m/s, a copy."""
        return self.momentum / self.model.tables["bodies"].mass[: len(self.momentum), None]

    @property
    def particle_velocity(self) -> np.ndarray:
        """(m, 3) m/s, a copy."""
        return self.particle_momentum * self.model.tables["particle_inverse_mass"][:, None]

    def particles(self, group: str) -> slice:
        """Rows of a group of particles in the views. Raises ValueError for a name that is no group's."""
        if group not in self.model.particle_slices:
            raise ValueError(f"there are no particles {group!r}; groups: {', '.join(self.model.particle_slices)}")
        return self.model.particle_slices[group]

    def index(self, body: str) -> int:
        """Row of a body in the views."""
        return self.model.body_names.index(body)
