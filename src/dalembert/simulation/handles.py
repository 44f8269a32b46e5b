"""Handles: one body, joint, obstacle or group of particles of a run, read and changed by attributes.

Handles read the current state each time. They return copies, so a stored value does not change when the run continues.
Assignments to a returned array, whole or in part, change the run as long as it is at the same time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..contact.contact_point import Contact
from ..core.arrays import NumbersLike
from ..core.calls import ExplainsNames, unknown_attribute
from ..model.tables import FIELD, STATE_SIZE
from ..scene.body import Body
from ..scene.checks import finite, real_array, rotation_matrix, unit_quaternion
from ..scene.contact import Obstacle
from ..scene.joint import Joint
from ..scene.particles import Particle, Particles
from .applied import WRITTEN
from .control import INPUTS, inputs_of, motor_row
from .state import SYMMETRIC, DerivedArray, Named

if TYPE_CHECKING:
    from .live import Live

Vector = NDArray[np.float64]
NOTHING = np.zeros(3)


class Handle(ExplainsNames):
    """One object of a run, by its name. `scene_item` is the object that `Scene.add_body` or another method returned."""

    _hints: ClassVar[dict[str, str]] = {
        "pos": "use position",
        "rotation": "use orientation, a quaternion (w, x, y, z)",
        "speed": "use velocity",
        "angle": "use position, in rad",
        "force": "use contact_force() to read a force, apply_force(...) to apply one",
        "torque": "use effort to read an effort, apply_torque(...) to apply a torque",
        "mass": "use scene_item.mass",
    }

    kind = "thing"

    def __init__(self, run: Live, item: Any) -> None:
        self._run: Any = run
        self.scene_item = item
        self.name: str = item.name

    if not TYPE_CHECKING:  # checkers know the attributes

        def __setattr__(self, name: str, value: Any) -> None:
            if not (name.startswith("_") or name in ("scene_item", "name") or hasattr(type(self), name)):
                raise AttributeError(unknown_attribute(self, name))
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name!r} at t = {self._run.time:.6g} s>"

    def _alive(self, what: str, values: np.ndarray) -> Vector:
        """A copy of values (k,) or (n, k), which hands on what is assigned to it."""
        run, time = self._run, self._run.time

        def write(rows: np.ndarray, changed: np.ndarray) -> None:
            if run.time != time:
                raise ValueError(
                    f"{self.kind} {self.name!r}: this {what} is that of t = {time:.9g} s, and the run is at "
                    f"{run.time:.9g} s; assign to the attribute, as in handle.{what} = ..."
                )
            setattr(self, what, owned if values.ndim == 2 else owned[0])

        owned = np.array(np.atleast_2d(values))
        shown = DerivedArray.of(owned, write)
        return shown if values.ndim == 2 else shown[0]  # type: ignore[no-any-return]


class Touching(Handle):
    """What may touch other things."""

    @property
    def contacts(self) -> list[Contact]:
        """The contact points of this object in the last step, see `Simulation.contacts`."""
        return [each for each in self._run.contacts if self.name in (each.a, each.b)]

    def contact_force(self, by: str | Named | None = None) -> Vector:
        """(3,) N, world axes: the contact force on this object from another body or obstacle, or from all of them. See
        `Simulation.contact_force`."""
        return self._run.contact_force(self, by)  # type: ignore[no-any-return]


class ObstacleHandle(Touching):
    """An obstacle of a run: `sim["floor"]`. It does not move."""

    kind = "obstacle"
    scene_item: Obstacle

    @property
    def position(self) -> Vector:
        """(3,) m, world axes, of the frame of its shape."""
        return np.array(self.scene_item.position, float)

    @property
    def orientation(self) -> Vector:
        """(4,) unit quaternion (w, x, y, z), shape → world."""
        return np.array(self.scene_item.orientation, float)


class BodyHandle(Touching):
    """A body of a run: `sim["box"]`, or `sim[box]` with what `Scene.add_body` returned.

    Positions are those of the centre of mass; all vectors are in world axes. Assigning to an attribute changes the run
    at once. If the body has joints, the other bodies change too, by the smallest change in the mass metric, as after an
    impulse. The energy that a change adds is the entry "changes of the state" of the ledger.

    >>> import dalembert as dal
    >>> scene = dal.Scene("thrown")
    >>> ball = scene.add_body("ball", dal.Sphere(0.1), mass=2.0)
    >>> sim = dal.Simulation(scene, method="rk4", dt=0.01)
    >>> sim[ball].velocity = (3.0, 0.0, 0.0)
    >>> sim[ball].velocity[2] += 1.0
    >>> sim[ball].momentum.tolist()
    [6.0, 0.0, 2.0]
    """

    kind = "body"
    scene_item: Body

    def __init__(self, run: Live, item: Body) -> None:
        super().__init__(run, item)
        self._index: int = self._run.model.body_names.index(item.name)
        self._at = STATE_SIZE * self._index

    def _part(self, first: int, last: int) -> np.ndarray:
        found: np.ndarray = self._run._y[self._at + first : self._at + last]
        return found

    def _command(self) -> Any:
        """The row of its prescribed motion; None without one."""
        if self.scene_item.motion is None:
            return None
        commands = self._run._system.commands
        return commands[commands["body"] == self._index][0]

    def _require_free(self, what: str) -> None:
        """Raises ValueError for a kinematic body."""
        if self.scene_item.motion is not None:
            raise ValueError(f"body {self.name!r}: its {what} is prescribed; change it with sim.set_motion")

    # Pose -------------------------------------------------------------------------------------------------------------

    @property
    def position(self) -> Vector:
        """(3,) m, of the centre of mass. You can set it for bodies without joints."""
        return self._alive("position", self._part(0, 3))

    @position.setter
    def position(self, value: NumbersLike) -> None:
        self._require_no_joint("position")
        new = real_array(self._owner, "position", value, (3,))
        with self._run._booked(WRITTEN, f"position of {self.name!r}"):
            self._part(0, 3)[:] = new

    @property
    def orientation(self) -> Vector:
        """(4,) unit quaternion (w, x, y, z), body → world. You can set it for bodies without joints; the angular
        velocity does not change."""
        return self._alive("orientation", self._part(3, 7))

    @orientation.setter
    def orientation(self, value: NumbersLike) -> None:
        self._require_no_joint("orientation")
        new = unit_quaternion(self._owner, "orientation", value)
        with self._run._booked(WRITTEN, f"orientation of {self.name!r}"):
            spin = self._spin(True) @ self._part(10, 13)
            self._part(3, 7)[:] = new
            self._part(10, 13)[:] = self._spin(False) @ spin

    def _require_no_joint(self, what: str) -> None:
        self._require_free(what)
        model = self._run.model
        joints = [joint.name for joint in model.scene.joints.values() if self.scene_item in joint.bodies]
        held = [name for name in joints if name not in self._run.released]
        if held:
            tree = model.tree is not None
            way = "set sim.joint(name).position" if tree else "use coordinates='joint' and set the joint"
            raise ValueError(f"body {self.name!r}: joint {held[0]!r} holds it, so its {what} cannot be set; {way}")

    @property
    def _owner(self) -> str:
        return f"body {self.name!r}"

    # Velocity ---------------------------------------------------------------------------------------------------------

    @property
    def velocity(self) -> Vector:
        """(3,) m/s, of the centre of mass."""
        command = self._command()
        if command is not None:
            return np.array(command["v"])
        return self._alive("velocity", self._part(7, 10) / self.scene_item.mass)

    @velocity.setter
    def velocity(self, value: NumbersLike) -> None:
        self._require_free("velocity")
        new = real_array(self._owner, "velocity", value, (3,))
        with self._run._booked(WRITTEN, f"velocity of {self.name!r}"):
            self._part(7, 10)[:] = self.scene_item.mass * new

    @property
    def angular_velocity(self) -> Vector:
        """(3,) rad/s."""
        command = self._command()
        if command is not None:
            return np.array(command["omega"])
        return self._alive("angular_velocity", self._spin(True) @ self._part(10, 13))

    @angular_velocity.setter
    def angular_velocity(self, value: NumbersLike) -> None:
        self._require_free("angular_velocity")
        new = real_array(self._owner, "angular_velocity", value, (3,))
        with self._run._booked(WRITTEN, f"angular velocity of {self.name!r}"):
            self._part(10, 13)[:] = self._spin(False) @ new

    def _spin(self, inverse: bool) -> np.ndarray:
        """(3, 3) the inertia about the centre of mass, kg m², world axes, or its inverse."""
        bodies = self._run.model.tables["bodies"]
        six = (bodies.inverse_inertia if inverse else bodies.inertia)[self._index]
        turn = rotation_matrix(self._part(3, 7))
        return np.asarray(turn @ six[SYMMETRIC] @ turn.T)

    @property
    def momentum(self) -> Vector:
        """(3,) kg m/s."""
        return np.array(self._part(7, 10))

    @property
    def angular_momentum(self) -> Vector:
        """(3,) kg m²/s, about the centre of mass."""
        return np.array(self._part(10, 13))

    @property
    def kinetic_energy(self) -> float:
        """J, ½ m v² + ½ ω·L."""
        p, spin = self._part(7, 10), self._part(10, 13)
        if self.scene_item.motion is not None:
            return 0.0
        return float(0.5 * (p @ p) / self.scene_item.mass + 0.5 * spin @ (self._spin(True) @ spin))

    @property
    def energy(self) -> float:
        """J: kinetic energy plus potential energy in gravity, −m g·x, which is zero at the origin. Energies of springs
        are not included."""
        forces = self._run._system.forces
        gravity = forces.vector[(forces.kind == FIELD) & (forces.active != 0)].sum(axis=0)
        return self.kinetic_energy - float(self.scene_item.mass * (gravity @ self._part(0, 3)))

    @property
    def asleep(self) -> bool:
        """Whether the body sleeps: see `sleep_after`."""
        bodies = self._run._driver.bodies
        return bodies is not None and bool(bodies.collision.asleep[self._index] > 0)

    # Forces -----------------------------------------------------------------------------------------------------------

    def apply_force(self, force: NumbersLike, at: NumbersLike | None = None) -> None:
        """Apply a force, (3,) N, at a point (m, world axes; the centre of mass if not given). Forces that are applied
        add up.

        The force and its torque about the centre of mass are constant in world axes and act until the end of the next
        call of `step` or `advance`. If a controller applies them, they act until the controller is called again. Their
        work is the entry "applied forces" of the ledger. Raises ValueError for non-finite values and kinematic bodies.
        """
        self._require_free("velocity")
        new = real_array(self._owner, "force", force, (3,))
        self._run._apply(self._index, new, self._moment(new, at))

    def apply_torque(self, torque: NumbersLike) -> None:
        """Apply a torque, (3,) N m, world axes. It acts as long as a force does: see `apply_force`."""
        self._require_free("angular_velocity")
        self._run._apply(self._index, NOTHING, real_array(self._owner, "torque", torque, (3,)))

    def apply_impulse(self, impulse: NumbersLike, at: NumbersLike | None = None) -> None:
        """Apply an impulse (3,) N s at a point (m, world axes; the centre of mass if not given).
        It changes the momentum at once; joints transmit it. Its work is the entry "applied forces" of the ledger.
        Raises the same errors as `apply_force`."""
        self._require_free("velocity")
        new = real_array(self._owner, "impulse", impulse, (3,))
        self._run._push(self._index, new, self._moment(new, at))

    def _moment(self, force: np.ndarray, at: NumbersLike | None) -> np.ndarray:
        if at is None:
            return NOTHING
        return np.cross(real_array(self._owner, "at", at, (3,)) - self._part(0, 3), force)


class JointHandle(Handle):
    """A joint of a run: `sim["elbow"]`, or `sim[elbow]`.

    Values are in rad, rad/s and N m for a hinge, in m, m/s and N for a slider. Joints with several coordinates, or
    none, raise ValueError; use `Simulation.joint_state` for them.
    """

    kind = "joint"
    scene_item: Joint

    @property
    def position(self) -> float:
        """Its coordinate, rad or m; zero at the initial pose. You can set it in joint coordinates."""
        return self._value(0)

    @position.setter
    def position(self, value: float) -> None:
        self._set(finite(f"joint {self.name!r}", "position", value), self.velocity)

    @property
    def velocity(self) -> float:
        """The rate of its coordinate, rad/s or m/s. You can set it in joint coordinates."""
        return self._value(1)

    @velocity.setter
    def velocity(self, value: float) -> None:
        self._set(self.position, finite(f"joint {self.name!r}", "velocity", value))

    def _value(self, which: int) -> float:
        found: float | None = self._run._joint_value(self.name, which)
        if found is None:
            raise ValueError(
                f"joint {self.name!r} ({self.scene_item.kind}) has no single coordinate; use sim.joint_state()"
            )
        return found

    def _set(self, position: float, velocity: float) -> None:
        self._run._tree()  # refuses maximal coordinates
        with self._run._booked(WRITTEN, f"state of joint {self.name!r}"):
            self._run.set_joint_state({self.name: (position, velocity)})

    @property
    def effort(self) -> float:
        """N m or N along its coordinate: the sum of its motors, stops and dry friction, see `Simulation.efforts`. Zero
        if there are none."""
        efforts = self._run.efforts
        forces = self._run.model.scene.forces
        own = [name for name in efforts if name in forces and forces[name].joint is self.scene_item]
        return float(sum(efforts[name] for name in own))

    @property
    def motors(self) -> list[str]:
        """The names of its motors."""
        forces = self._run.model.scene.forces.values()
        return [force.name for force in forces if force.kind in ("motor", "servo") and force.joint is self.scene_item]

    @property
    def target(self) -> float:
        """The target of its motor: the position (rad or m) of a motor with stiffness, the speed (rad/s or m/s) of a
        motor with damping alone or an ideal motor, else the effort (N m or N). Raises ValueError if the joint has no
        motor, or several: then use `Simulation.set_motor`."""
        row, key = self._motor()[1:]
        return float(row[INPUTS[key]])

    @target.setter
    def target(self, value: float) -> None:
        name, _, key = self._motor()
        self._run.set_motor(name, **{key: value})

    def _motor(self) -> tuple[str, Any, str]:
        """Its motor: name, row of the table of forces, and the input that is its target."""
        names = self.motors
        if len(names) != 1:
            several = f"{len(names)} motors, {', '.join(names)}; use sim.set_motor"
            raise ValueError(f"joint {self.name!r} has {several if names else 'no motor; add one with motor()'}")
        row = motor_row(self._run.model, self._run._system, names[0])
        taken = inputs_of(row)
        if not taken:
            raise ValueError(
                f"motor {names[0]!r} of joint {self.name!r} has no target, because a function computes its effort"
            )
        return names[0], row, next(key for key in ("position", "speed", "effort") if key in taken)

    def release(self) -> None:
        """Release the joint; see `Simulation.release`."""
        self._run.release(self.name)


class ParticlesHandle(Handle):
    """A group of particles of a run: `sim["cloth"]`. Arrays are in the order of the group."""

    kind = "particles"
    scene_item: Particles

    @property
    def _rows(self) -> slice:
        found: slice = self._run.model.particle_slices[self.name]
        return found

    def _block(self, which: int) -> np.ndarray:
        """(n, 3), a view: positions or momenta."""
        run = self._run
        return np.asarray(run._y[run.model.particle_block].reshape(2, -1, 3)[which, self._rows])

    @property
    def position(self) -> Vector:
        """(n, 3) m."""
        return self._alive("position", self._block(0))

    @position.setter
    def position(self, value: NumbersLike) -> None:
        own = self._block(0)
        new = real_array(f"particles {self.name!r}", "position", value, own.shape)
        joints = self._run.model.scene.joints.values()
        held = {end.number for joint in joints for end in joint.bodies if isinstance(end, Particle)}
        moved = held & set((np.flatnonzero((new != own).any(axis=1)) + self._rows.start).tolist())
        if moved:
            raise ValueError(
                f"particles {self.name!r}: a joint holds particle {min(moved) - self._rows.start}; its position cannot be set"
            )
        with self._run._booked(WRITTEN, f"positions of {self.name!r}"):
            own[:] = new

    @property
    def velocity(self) -> Vector:
        """(n, 3) m/s; zero for pinned particles."""
        inverse = self._run.model.tables["particle_inverse_mass"][self._rows]
        return self._alive("velocity", self._block(1) * inverse[:, None])

    @velocity.setter
    def velocity(self, value: NumbersLike) -> None:
        own, pinned = self._block(1), self.scene_item.pinned
        new = real_array(f"particles {self.name!r}", "velocity", value, own.shape)
        if new[pinned].any():
            raise ValueError(f"particles {self.name!r}: pinned particles cannot move; give zeros for them")
        with self._run._booked(WRITTEN, f"velocities of {self.name!r}"):
            own[:] = self.scene_item.mass[:, None] * new

    @property
    def momentum(self) -> Vector:
        """(n, 3) kg m/s."""
        return np.array(self._block(1))

    def apply_impulse(self, impulse: NumbersLike) -> None:
        """Apply impulses (n, 3) N s, or one (3,) for every particle, which change the momenta at once. Pinned particles
        ignore them. Their work is the entry "applied forces" of the ledger."""
        own = self._block(1)
        array = np.asarray(impulse, float)
        given = real_array(f"particles {self.name!r}", "impulse", array, (3,) if array.ndim == 1 else own.shape)
        with self._run._booked(0, f"impulse on {self.name!r}"):
            own += np.where(self.scene_item.pinned[:, None], 0.0, given)
