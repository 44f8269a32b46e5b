"""What can be asked of a run where it is: its contacts, what sleeps, rays and distances."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .constraint_system import ConstraintSystem, conditions, read_system
from .contact.time_stepping import Contact
from .impact.log import ContactEvent
from .model.compile import Model
from .queries import Gap, Queries, RayHit
from .recording import Recorder
from .simulation.stepper import Stepper
from .table_text import find_tables, list_tables, show_table

if TYPE_CHECKING:
    import xarray
    from scipy.sparse import csr_array


class Questions:
    """The part of `Simulation` that answers them; it changes nothing."""

    model: Model
    time: Any  # s, a property of `Simulation`
    recorder: Recorder
    released: dict[str, float]
    settings: dict[str, Any]
    _driver: Stepper
    _mechanism: Any
    _y: np.ndarray

    @property
    def contacts(self) -> list[Contact]:
        """The points of contact of the last time step, those that bear a force and those that nearly touch."""
        return self._driver.contacts(self.model)

    @property
    def asleep(self) -> list[str]:
        """The names of bodies that sleep: see `sleep_after`."""
        return self._driver.asleep(self.model)

    @property
    def contact_events(self) -> list[ContactEvent]:
        """What happened to the points of contact so far, where an integration method runs a scene whose bodies touch."""
        return self._driver.log

    def debug(self, table: str = "", rows: int = 20) -> str:
        """The tables that compiled code works on, as text to print: all of them with length, unit and meaning; or the first
        rows of one, such as "kinematics", "contacts" or "collision.contacts", with the names and units of its columns.

        Raises ValueError for an unknown name, or one that several tables have.

        >>> import dalembert as dal
        >>> scene = dal.Scene("fall", gravity=(0.0, 0.0, -10.0))
        >>> ball = scene.add_body("ball", dal.Sphere(0.1), mass=2.0, velocity=(1.5, 0.0, 0.0))
        >>> print(dal.Simulation(scene).debug("bodies").splitlines()[0])
        system.bodies: 1 of 1 rows, rigid bodies and then nodes
        """
        found = find_tables(self._mechanism, self._driver)
        return show_table(found, table, rows) if table else list_tables(found)

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

    def constraint_system(self) -> ConstraintSystem:
        """The linear system of the constraints at the state now, J W Jᵀ λ = b, by the forces that act without contact: the
        matrix for SciPy, b, λ, the joint of each row, and the order of elimination, with a picture of both (`plot`).

        Raises ValueError in joint or generalized coordinates, and for scenes without joints.

        >>> import dalembert as dal
        >>> scene = dal.Scene("pendulum")
        >>> bob = scene.add_body("bob", dal.Sphere(0.1), mass=2.0, position=(0.5, 0.0, 0.0))
        >>> pivot = scene.rod("string", dal.WORLD, bob, at_a=(0.0, 0.0, 0.0), at_b=(0.5, 0.0, 0.0))
        >>> dal.Simulation(scene).constraint_system().matrix.toarray().tolist()
        [[0.5]]
        """
        return read_system(self._require_system(), self._driver.time, self._y, self.released)

    def constraint_matrix(self) -> csr_array:
        """J W Jᵀ at the state now, (rows, rows), as scipy.sparse.csr_array: see `constraint_system`."""
        return self.constraint_system().matrix

    def conditions(self, equilibration: str | None = None) -> xarray.DataArray:
        """The condition number (1-norm, see `condition_number`) of the constraint system at each recorded frame.

        equilibration : None, or "mc64", "alg3" or "ruiz": that of the scaled matrix. Infinite where the matrix is
        singular; that of redundant constraints is, to rounding. Raises ValueError as `constraint_system` does.
        """
        model, frames = self._require_system(), self.recorder.frames
        return conditions(model, np.array(frames["time"]), np.array(frames["state"]), self.released, equilibration)

    def _require_system(self) -> Model:
        if self.settings["coordinates"] == "generalized":
            raise ValueError("generalized coordinates have no constraint system of joints; take coordinates='maximal'")
        return self.model

    @functools.cached_property
    def _queries(self) -> Queries:
        return Queries(self.model)
