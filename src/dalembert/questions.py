"""What can be asked of a run where it is: its contacts, what sleeps, rays and distances."""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import ArrayLike

from .contact.time_stepping import Contact, TimeStepping
from .drivers import Stepper
from .impact.driver import EventDriver
from .impact.log import ContactEvent
from .model.compile import Model
from .queries import Gap, Queries, RayHit


class Questions:
    """The part of `Simulation` that answers them; it changes nothing."""

    model: Model
    _driver: Stepper
    _y: np.ndarray

    @property
    def contacts(self) -> list[Contact]:
        """The points of contact of the last time step, those that bear a force and those that nearly touch."""
        return self._driver.contacts(self.model) if isinstance(self._driver, (TimeStepping, EventDriver)) else []

    @property
    def asleep(self) -> list[str]:
        """The names of bodies that sleep: see `sleep_after`."""
        return self._driver.asleep(self.model) if isinstance(self._driver, TimeStepping) else []

    @property
    def contact_events(self) -> list[ContactEvent]:
        """What happened to the points of contact so far, where an integration method runs a scene whose bodies touch."""
        return self._driver.log if isinstance(self._driver, EventDriver) else []

    def ray_cast(self, origin: ArrayLike, direction: ArrayLike, reach: float = math.inf) -> RayHit | None:
        """What a ray from `origin` (m) along `direction` first meets within `reach` (m), of all that has a material.

        Raises ValueError for a ray that is not finite or has no direction.
        """
        return self._queries.place(self._y).ray_cast(origin, direction, reach)

    def gap(self, a: str, b: str) -> Gap:
        """The nearest points of two bodies or obstacles with a material, and their distance; negative where they overlap.

        Raises ValueError for a name that is nobody's.
        """
        return self._queries.place(self._y).gap(a, b)

    def overlapping(self) -> list[tuple[str, str]]:
        """The pairs, by name, that have a point in common; those that pass through each other are left out."""
        return self._queries.place(self._y).overlapping()

    @functools.cached_property
    def _queries(self) -> Queries:
        return Queries(self.model)
