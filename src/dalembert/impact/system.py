"""The tables of a mechanism with contact, and the C functions that read them; see `evaluate`."""

import ctypes
from typing import Any

import numpy as np

from ..collide.detect import Detector
from ..collide.tables import CONTACTS, Collision
from ..jit import DISABLED
from ..mechanics.mechanism import Mechanism
from ..model.tables import STATE_SIZE
from ..pointer import C_TYPE, EVENT, view
from ..tables import address_table, allocate
from .evaluate import COMPILED, perform
from .tables import OPTIONS, Touching


class ContactSystem:
    """A mechanism and what touches in it: a C function at `address`, to be handed `data`; keeps the arrays alive.

    ledger : where the entries of contact stand in the state. margin : m, features nearer than this are looked at.
    """

    def __init__(self, mechanism: Mechanism, collision: Collision, size: int, ledger: int, margin: float) -> None:
        self.mechanism, self.detector = mechanism, Detector(collision)
        self.options = np.zeros(1, OPTIONS).view(np.recarray)
        options: Any = self.options[0]
        options.ledger, options.margin = ledger, margin
        options.mechanism, options.mechanism_data = mechanism.address, mechanism.data
        options.detector = self.detector.address
        self._size = size
        self._data = np.zeros(3, np.int64)
        self.data = int(self._data.ctypes.data)
        if DISABLED:
            self._callback = C_TYPE(self._call)
            self.address = int(ctypes.cast(self._callback, ctypes.c_void_p).value or 0)
        else:
            self.address = COMPILED.address
        self._function = C_TYPE(self.address)
        self.tables = self._workspace(0)
        self.place_tables()

    def _workspace(self, touches: int) -> Touching:
        """Tables for so many touches."""
        sizes = {"n": touches, "m": len(self.mechanism.system.bodies), "sides": 0, "state": self._size}
        return allocate(Touching, sizes, options=self.options)

    def place_tables(self) -> None:
        """Write the addresses of all tables where the C functions look for them; after any of them moved."""
        self.options.detector_data = self.detector.data
        tables = (self.mechanism.system, self.tables, self.detector.collision)
        self._addresses = [address_table(table) for table in tables]
        self._data[:] = [table.ctypes.data for table in self._addresses]

    def set_touches(self, touches: np.ndarray, sides: np.ndarray, active: int) -> None:
        """What touches from now on; the first `active` bear force. sides: (m, 4), see `tables`."""
        self.tables = self._workspace(len(touches))._replace(sides=np.ascontiguousarray(sides, float).reshape(-1))
        self.tables.touches[:] = touches
        self.options.touches, self.options.active = len(touches), active
        self.place_tables()

    def make_room(self) -> None:
        """After NEED_ROOM of the watch."""
        self.detector.make_room()
        self.place_tables()

    def detect(self, y: np.ndarray, margin: float) -> Any:
        """The contacts (`collide.tables.CONTACT`) of features nearer than `margin` (m). Raises FloatingPointError."""
        if self.detector(y[: STATE_SIZE * int(self.mechanism.system.settings.rigid[0])], margin) != 0:
            raise FloatingPointError("a pose is not finite")
        self.place_tables()
        collision = self.detector.collision
        return collision.contacts[: int(collision.counts[CONTACTS])]

    def _call(self, data: int, task: int, t: float, y: int, n: int, dydt: int, m: int) -> int:
        tables = (self.mechanism.system, self.tables, self.detector.collision)
        return int(perform(task, t, view(y, n), view(dydt, m), *tables))

    def __call__(self, task: int, t: float, y: np.ndarray, dydt: np.ndarray) -> int:
        """Do a task on two contiguous float64 arrays; returns a status."""
        return int(self._function(self.data, task, t, y.ctypes.data, y.size, dydt.ctypes.data, dydt.size))

    def look(self, t: float, y: np.ndarray) -> float:
        """The number that is watched, at a state."""
        values = np.zeros(1)
        self(EVENT, t, y, values)
        return float(values[0])
