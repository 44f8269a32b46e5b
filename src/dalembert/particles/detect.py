"""What particles touch, behind a C pointer, so that the step is compiled once for all shapes."""

import ctypes
from typing import Any

import numpy as np

from ..collide.bounds import place_colliders
from ..collide.particle_detect import with_contacts
from ..collide.particle_tables import CONTACTS, NEED_CONTACTS, Particles
from ..collide.particles import meet_particles
from ..collide.tables import Collision
from ..jit import DISABLED, CFunction, njit
from ..pointer import C_SIGNATURE, C_TYPE, part_of, view, viewer
from ..status import NON_FINITE
from ..tables import address_table, table_at

_floats = viewer(np.float64)
_addresses = viewer(np.int64)


@njit
def find(bodies, h, margin, y, place, particles, collision):
    """Contacts of the particles at x with the velocities v, both in `place`, over h, bodies being as in y. A status."""
    if place_colliders(y, bodies, 0.5 * margin, collision) >= 0:
        return NON_FINITE
    n = place.shape[0] // 4
    return meet_particles(part_of(place, 0, n), part_of(place, 2 * n, n), h, margin, particles, collision)


# `data`: the addresses of the tables of particles and of the collision, the number of bodies, and the address of the margin.
def evaluate(data, task, h, y, n, place, m):
    at = _addresses(data, 4)
    return find(
        at[2],
        h,
        _floats(at[3], 1)[0],
        _floats(y, n),
        _floats(place, m),
        table_at(Particles, at[0]),
        table_at(Collision, at[1]),
    )


COMPILED = CFunction(evaluate, C_SIGNATURE)


class ParticleDetector:
    """The tables of particles that touch, and the C function that fills them: `address` and `data` to hand it."""

    def __init__(self, particles: Particles, collision: Collision, bodies: int, margin: float) -> None:
        self.particles, self.collision = particles, collision
        self._bodies, self._margin = bodies, np.array([margin])
        self._fit()

    def _fit(self) -> None:
        self._tables = address_table(self.particles), address_table(self.collision)
        numbers = [*(int(table.ctypes.data) for table in self._tables), self._bodies, int(self._margin.ctypes.data)]
        self._data = np.array(numbers, np.int64)
        self.data = int(self._data.ctypes.data)
        if DISABLED:
            self._callback = C_TYPE(self._call)
            self.address = int(ctypes.cast(self._callback, ctypes.c_void_p).value or 0)
        else:
            self.address = COMPILED.address

    def _call(self, data: int, task: int, h: float, y: int, n: int, place: int, m: int) -> int:
        return int(
            find(self._bodies, h, float(self._margin[0]), view(y, n), view(place, m), self.particles, self.collision)
        )

    def find(self, y: np.ndarray, place: np.ndarray, h: float) -> int:
        """Fill the contacts as the C function does; returns a status."""
        function = C_TYPE(self.address)
        return int(function(self.data, 0, h, y.ctypes.data, y.size, place.ctypes.data, place.size))

    @property
    def contacts(self) -> Any:
        """The contacts that were found last."""
        return self.particles.contacts[: int(self.particles.counts[CONTACTS])]

    def make_room(self) -> None:
        """As many contacts as the last call asked for, and half as many more."""
        self.particles = with_contacts(self.particles, int(1.5 * self.particles.counts[NEED_CONTACTS]))
        self._fit()
