"""A model in generalized coordinates as a C function, and the conversion of states of its bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.c_function import MEASURE
from ..core.checkpoint_fields import Field
from ..core.status import OK
from ..dynamics.joint_space.mechanism import FORWARD_KINEMATICS, JointMechanism
from ..dynamics.mechanism import Mechanism
from ..integrate.tableaus import METHODS
from ..model.compile import Model
from ..model.tables import STATE_SIZE
from ..scene.checks import rotation_matrix
from ..scene.particles import Particle
from ..scene.scene import source_of
from .constrained import failure, make_equations
from .generalized import OPTIONS, PLACED_ENTRY, GeneralizedCoordinates, Placed, parts, placed_task, turn_of

FITS = 1e-6  # of the size of the model: bodies that the coordinates miss by more are rejected
EXPLAINED = 1e-6  # of the reactions: the largest share that is not from joints


class PlacedMechanism(JointMechanism):
    """A model in generalized coordinates. Its joints are not constraints: their errors and wrenches are recorded.

    mechanism : that of the model, which computes its forces. `system` is its tables. assemble : whether bodies that the
    coordinates cannot reach are moved to the nearest poses instead of rejected.
    """

    def __init__(self, model: Model, mechanism: Mechanism, coordinates: GeneralizedCoordinates, assemble: bool) -> None:
        self.model, self.mechanism, self.system, self.coordinates = model, mechanism, mechanism.system, coordinates
        self.moving = coordinates.moving
        n, rows = len(coordinates.coordinates), coordinates.rows
        equations = make_equations(0, n, rows.holonomic, rows.rows, coordinates.parameters)
        options: Any = np.zeros(1, OPTIONS).view(np.recarray)
        options.address, options.mechanism, options.handle = (
            coordinates.generated.address,
            mechanism.address,
            mechanism.data,
        )
        self._options, self._plan = options[0], equations.plan[0]
        placed = Placed(
            options, equations, mechanism.system, np.zeros(coordinates.generated.size), model.initial.copy(),
            np.zeros(model.size),
        )  # fmt: skip
        tail = STATE_SIZE * len(model.body_names)
        self.size, self.carried = 2 * n + model.size - tail, 0
        self.weights = np.concatenate([np.ones(2 * n), model.weights[tail:]])
        self._bind(PLACED_ENTRY, placed_task, placed)
        self._plan.address, self._plan.handle = self.address, self.data
        self.z, self.dzdt = np.zeros(self.size), np.full(self.size, np.nan)
        self.z[:n] = coordinates.start
        self._known = np.full(model.size, np.nan)
        if not assemble:
            self._require_fit()

    def __call__(self, task: int, t: float, y: np.ndarray, dydt: np.ndarray) -> int:
        """Measure or complete the bodies' state y, in place; returns a status."""
        self._options.time = t
        self.take(y)
        status = self.call(task, t, self.z, self.dzdt)
        if task != MEASURE:
            self.put(y)
        elif status == OK:
            self._measure(t, dydt)
        return status

    def fields(self) -> list[Field]:
        """What is known of the state beside that of the bodies; see `JointMechanism.fields`."""
        equations = self.tables.equations
        return [*super().fields(), Field("of time", self.tables.options.time), Field("largest", equations.largest)]

    def _measure(self, t: float, dydt: np.ndarray) -> None:
        """Energies, and the wrenches of the joints: NaN where these are not all of the constraint forces."""
        rigid, kinematics = len(self.model.body_names), self.system.kinematics
        own = np.hstack([kinematics.linear[:rigid], kinematics.angular[:rigid]])
        timer = self.system.timer.copy()  # of the stages of a step, which this is not
        self.mechanism(MEASURE, t, self.tables.y.copy(), dydt)
        self.system.timer[:] = timer
        held = np.hstack([kinematics.linear[:rigid], kinematics.angular[:rigid]])
        if not np.abs(held - own).max() <= EXPLAINED * np.abs(own).max():
            self.system.wrenches[:] = np.nan

    def put(self, y: np.ndarray) -> None:
        """The state of the bodies, y, from z."""
        self.call(FORWARD_KINEMATICS, float(self._options.time), self.z, self.dzdt)
        self._known[:] = y[:] = self.tables.y

    def take(self, y: np.ndarray) -> int:
        """z from the state of the bodies, nearest to its last value, unless y is what `put` wrote last. Returns a
        status."""
        if np.array_equal(y, self._known):
            return OK
        n = len(self.coordinates.coordinates)
        self.z[:n], self.z[n : 2 * n] = self.coordinates.nearest(y, float(self._options.time), self.z[:n])
        self.z[2 * n :] = y[STATE_SIZE * len(self.model.body_names) :]
        self._known[:] = y
        return OK

    def _require_fit(self) -> None:
        """Raises ValueError for a body whose pose or velocity at the start the coordinates cannot reach."""
        y, length = self.model.initial.copy(), self.model.length
        self.take(y)
        self.put(y)
        count = len(self.coordinates.bodies)
        now, wanted = parts(y, count), parts(self.model.initial, count)
        for body, own, given in zip(self.coordinates.bodies, now, wanted, strict=True):
            turn = turn_of(rotation_matrix(given[3:7]) @ rotation_matrix(own[3:7]).T)
            errors = {
                "place": np.abs(own[:3] - given[:3]).max() / length,
                "orientation": np.abs(turn).max(),
                "velocity": np.abs(own[7:10] - given[7:10]).max() / body.mass / max(length, np.abs(body.velocity).max()),
                "angular velocity": np.abs(own[10:13] - given[10:13]).max()
                / np.trace(body.inertia) / max(1.0, np.abs(body.angular_velocity).max()),
            }  # fmt: skip
            what = max(errors, key=lambda name: errors[name])
            if not errors[what] <= FITS:
                u = ", ".join(
                    f"{name} = {value:.6g}" for name, value in zip(self.coordinates.coordinates, self.z, strict=False)
                )
                raise ValueError(
                    f"the coordinates cannot represent the {what} of body {body.name!r} at the start: nearest is {u}; "
                    "correct `place` or the scene, give `start` near the desired coordinates, or pass assemble=True"
                )

    def explain(self, status: int) -> str:
        """What a status means."""
        return failure(self.tables.equations, self.coordinates.coordinates, status)

    def require_force(self, name: str) -> None:
        """Raises ValueError for the name of a joint, which cannot be let go."""
        if name in self.model.joint_names:
            raise ValueError(
                f"joint {name!r} is enforced by the coordinates and cannot be released; "
                "run the scene with coordinates='maximal'"
            )


def require_supported(model: Model, coordinates: GeneralizedCoordinates, method: str, hold: str) -> None:
    """Raises ValueError for a scene that these coordinates cannot run."""
    if source_of(coordinates.scene) is not source_of(model.scene):
        raise ValueError(f"the coordinates are those of scene {coordinates.scene.name!r}, not of {model.name!r}")
    if tuple(body.name for body in coordinates.bodies) != model.body_names:
        raise ValueError("bodies were added to the scene after its coordinates were made; create the coordinates last")
    if method not in METHODS or hold != "projection":
        raise ValueError(
            f"generalized coordinates need an integration method and hold='projection', not method={method!r} and "
            f"hold={hold!r}"
        )
    held = [joint.name for joint in model.scene.joints.values() if any(isinstance(b, Particle) for b in joint.bodies)]
    if held:
        raise ValueError(f"joint {held[0]!r} is on a particle; in generalized coordinates joints need bodies")
