"""Forces that the user, or a controller, applies to the bodies of a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.tables import CONSTANT, FIELD

BY_USER, BY_CONTROLLER = 0, 1
APPLIED = "applied"  # the field of a checkpoint


class Wrenches:
    """The forces that a user applies to the bodies of a run, and the rows of the table of forces that exert them.

    held : (2, bodies, 6) N, N m: force and torque about the centre of mass, world axes; of the user, and of a controller.
    """

    def __init__(self, run: Any) -> None:
        count = len(run.model.body_names)
        self.held = np.zeros((2, count, 6))
        self._rows: Any = run._system.forces[len(run._system.forces) - count :] if count else run._system.forces[:0]
        bodies = run._driver.bodies
        self._options: Any = None if bodies is None else bodies._tables.options
        self._predict = 0 if bodies is None else int(bodies._tables.options.predict[0])
        self._acting = False

    def add(self, who: int, body: int, wrench: np.ndarray) -> None:
        """Add a force and a torque on a body."""
        self.held[who, body] += wrench
        self._write(body)
        self._set_acting(True)

    def clear(self, who: int) -> bool:
        """Remove what one of them applied. Returns whether there was anything."""
        if not self._acting:
            return False
        bodies = np.flatnonzero(self.held[who].any(axis=1))
        self.held[who] = 0.0
        for body in bodies:
            self._write(int(body))
        self._set_acting(bool(self.held.any()))
        return len(bodies) > 0

    def show(self) -> None:
        """Write all rows, after `held` was set."""
        for body in range(self.held.shape[1]):
            self._write(body)
        self._set_acting(bool(self.held.any()))

    def _write(self, body: int) -> None:
        """The row of a body: a constant force at its centre, or an idle one."""
        row, wrench = self._rows[body], self.held[0, body] + self.held[1, body]
        acts = bool(wrench.any())
        row.kind, row.active = (CONSTANT, 1) if acts else (FIELD, 0)
        row.vector[:], row.torque[:] = (wrench[:3], wrench[3:]) if acts else (0.0, 0.0)

    def _set_acting(self, acting: bool) -> None:
        """Have time steps book the work of forces while there are any."""
        self._acting = acting
        if self._options is not None:
            self._options.predict = int(acting or self._predict)
