"""The data that sensors read at one instant: motion, accelerations, wrenches of joints, efforts and contacts.

Accelerations and wrenches are those of the state at the instant, a = M⁻¹ (F + Jᵀλ + F_c). Forces F and multipliers λ
are evaluated there. F_c are forces that the state does not determine: those of contacts, stops, dry friction, ideal
motors and implicit springs in the last step, which are means over it. So the sum of a·h over the steps is the change of
velocity to the order of the method, and without such forces a is exact.

The evaluation has its own tables, so a sample does not change the run.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..contact.limits import size_of
from ..contact.points import Owners
from ..contact.surface_tables import torques_of
from ..core.c_function import MEASURE
from ..core.status import OK
from ..core.tables import allocate, handed
from ..dynamics.forces import read_efforts
from ..dynamics.joint_space.mechanism import JointMechanism
from ..dynamics.mechanism import Mechanism
from ..integrate.stepper import Stepper
from ..model.compile import Model
from ..model.tables import CUSTOM_MOTOR, MOTOR, STATE_SIZE, TORSION, System
from ..scene.body import Body
from ..scene.checks import rotation_matrix
from ..scene.sensor import ContactForce, ForceTorque, Mounted, Sensor, Touch
from .contacts import NONE, Contacts, read_contacts
from .kernels import Sensed, read_forces, read_motion, take_state, take_step

INPUTS = ("forces", "joints", "commands", "particle_forces")  # tables that a run may change
ON_CONTACTS = (Touch, ContactForce)
NO_TORQUES = np.zeros((0, 3))


class Motion(NamedTuple):
    """Of n bodies and, last, the world; world axes; overwritten by the next instant. x : (n + 1, 3) m, centres of mass.
    rotation : (n + 1, 3, 3), body → world. v, omega : (n + 1, 3) m/s, rad/s. momentum : (n + 1, 6) kg m/s, kg m²/s."""

    x: np.ndarray
    rotation: np.ndarray
    v: np.ndarray
    omega: np.ndarray
    momentum: np.ndarray


class Mount(NamedTuple):
    """What the frame of a sensor sees at an instant; overwritten by the next. body : its row in the arrays of `Motion`.

    x, arm : (3,) m, its position, and from the centre of mass to it. axes : (3, 3), columns. v, omega, a, alpha : (3,), of
    its point; all these in world axes. inertial : (6,), specific force (m/s²) and angular rate (rad/s), in its own axes.
    local_v : (3,) m/s, likewise."""

    body: int
    x: np.ndarray
    arm: np.ndarray
    axes: np.ndarray
    v: np.ndarray
    omega: np.ndarray
    a: np.ndarray
    alpha: np.ndarray
    inertial: np.ndarray
    local_v: np.ndarray


class Evaluator:
    """Reads the instants of one run.

    mechanism : that of the run. system : tables of the same model, whose workspace is used. The run's are only read.

    `mechanism` is on the tables given, `mass` (bodies,) kg.
    """

    def __init__(self, model: Model, mechanism: Mechanism, system: System) -> None:
        self.model, self.owners = model, Owners(model.scene)
        self._bodies = len(model.body_names)
        self._plain = Mechanism(system)
        self.mechanism: Mechanism = JointMechanism(model, self._plain) if model.tree is not None else self._plain
        self._of_run, self._system = mechanism, system
        # Plain arrays: fields of records are slow to read. What has no rows cannot change.
        self._own, given = _plain_tables(system), _plain_tables(mechanism.system)
        self._inputs = [(name, given[name][: len(own)], own) for name, own in self._own.items() if len(own)]
        self._copied: dict[str, bytes] = {}
        self._scratch = np.empty(model.size)
        sensors = list(model.scene.sensors.values())
        self._on_contacts = any(isinstance(sensor, ON_CONTACTS) for sensor in sensors)
        self._sensed, self._mounts = self._allocate([one for one in sensors if isinstance(one, Mounted | ForceTorque)])
        self._motion = Motion(
            self._sensed.x.reshape(-1, 3), self._sensed.rotation.reshape(-1, 3, 3), self._sensed.v.reshape(-1, 3),
            self._sensed.omega.reshape(-1, 3), self._sensed.momentum.reshape(-1, 6),
        )  # fmt: skip
        self.wrenches, self.mass = system.wrenches.reshape(-1, 6), system.bodies.view(np.ndarray)["mass"]
        self._tables = [handed(table) for table in (mechanism.system, system, self._sensed)]
        self.contacts: Contacts = NONE

    def _allocate(self, mounted: list[Any]) -> tuple[Sensed, dict[str, Mount]]:
        """The tables of the kernels, and the frames of sensors by name."""
        sensed = allocate(Sensed, {"bodies": self._bodies, "mounts": len(mounted)}, owners=self.owners.of_collider)
        sensed.rotation[-9:] = sensed.bodies.rotation[-1] = np.eye(3).ravel()
        rows, frames = sensed.mounts.view(np.ndarray), dict[str, Mount]()
        for row, sensor in zip(rows, mounted, strict=True):
            body = self.body(sensor.body) % (self._bodies + 1)
            row["body"], row["place"] = body, sensor.position
            row["turn"] = rotation_matrix(sensor.orientation).ravel()
        for i, sensor in enumerate(mounted):
            views = {name: rows[name][i] for name in Mount._fields if name != "body"}
            views["axes"] = views["axes"].reshape(3, 3)
            frames[sensor.name] = Mount(int(rows["body"][i]), **views)
        return sensed, frames

    def begin(self) -> None:
        """Begin with tables that were changed."""
        self._copied.clear()
        self.contacts = NONE

    # Motion -----------------------------------------------------------------------------------------------------------

    def motion(self, y: np.ndarray) -> Motion:
        """The motion at a state, and of the frames of sensors. What moves by command has its velocities from the tables of
        the run."""
        read_motion(y, *self._tables)
        return self._motion

    def mount(self, sensor: Sensor) -> Mount:
        """The frame of a sensor, at the motion that was read last."""
        return self._mounts[sensor.name]

    # Contacts ---------------------------------------------------------------------------------------------------------

    def read_contacts(self, driver: Stepper, y: np.ndarray) -> None:
        """Take `contacts` from the last step of a driver, where a sensor is for them or bodies may sleep."""
        if not self._adds_contacts(driver):
            x = y[: STATE_SIZE * self._bodies].reshape(-1, STATE_SIZE)[:, :3]
            self.contacts = read_contacts(driver, self.model, self.owners, x, self.contacts)

    def _adds_contacts(self, driver: Stepper) -> bool:
        """Whether the wrenches of contacts are enough, which the kernel computes. Contacts of sleeping bodies are those that
        were read before they fell asleep."""
        return not self._on_contacts and driver.bodies is not None and not driver.bodies.settings.sleep_after

    # Forces -----------------------------------------------------------------------------------------------------------

    def evaluate(self, driver: Stepper, time: float, y: np.ndarray) -> bool:
        """Find accelerations of bodies and of the frames of sensors, and the wrenches of joints, at the motion that was read
        last, with the forces of the last step of `driver`. Returns whether they can be computed.

        `wrenches` (joints, 6), N and N m, are of each joint on its second body, about the point of the joint, world axes.
        """
        self._copy_inputs(driver)
        take_coordinates(self.mechanism, self._of_run, y)
        if self.mechanism(MEASURE, time, y, self._scratch) != OK:
            return False
        read_forces(*self._tables[1:])
        return True

    def _copy_inputs(self, driver: Stepper) -> None:
        """Take over what a run may change: forces, released joints, commands, settings. Forces of the last step become
        constants."""
        changed = False
        for name, given, own in self._inputs:
            content = given.tobytes()
            if self._copied.get(name) != content:
                own[:] = given
                self._copied[name], changed = content, True
                if name == "joints":
                    clear_released(self._system)
        if self._take_forces(driver) or changed:
            _as_motors(self._own["forces"])
            self._plain._name_functions()

    def _take_forces(self, driver: Stepper) -> int:
        """Take over settings and the forces of the last step. Returns how many of them are new as motors."""
        stepper, adds = driver.bodies, self._adds_contacts(driver)
        if not adds:
            self._sensed.pushed.fill(0.0)
            if len(self.contacts.a):
                self._sensed.pushed[: 6 * self._bodies] = self.contacts.wrenches(self._bodies).ravel()
        if stepper is None:
            take_state(*self._tables)
            return 0
        torques = NO_TORQUES
        if adds and stepper._surfaces is not None:
            torques = torques_of(stepper._contacts(), stepper._surfaces)
        return int(take_step(adds, torques, stepper.handed_tables, *self._tables))

    def efforts(self, time: float, y: np.ndarray) -> tuple[dict[str, float], dict[str, float]]:
        """The efforts of forces on coordinates by name of the force, and their sums by name of the coordinate (N or N m), at
        the instant that was evaluated last."""
        system, model, rows = self._system, self.model, self._own["forces"]
        motors = np.flatnonzero((rows["kind"] == MOTOR) | (rows["kind"] == CUSTOM_MOTOR))
        found = np.zeros(len(rows))
        by_name: dict[str, float] = {}
        sums: dict[str, float] = {}
        if len(motors):
            read_efforts(
                time, y, system.forces, system.kinematics, system.coordinates, system.curves, np.zeros(3), found
            )
        for i in motors.tolist():
            entry, coordinate, effort = int(rows["ledger"][i]), int(rows["coordinate"][i]), float(found[i])
            if entry >= 0:
                name = model.force_names[entry]
                by_name[name] = by_name.get(name, 0.0) + effort
            name = model.coordinate_names[coordinate]
            sums[name] = sums.get(name, 0.0) + effort
        for row in self._own["commands"]:
            if row["row"] >= 0:
                name, effort = model.force_names[row["entry"]], float(system.multipliers[row["row"]])
                by_name[name] = effort
                drive = model.scene.joints[name].prescribed
                if drive is not None:
                    name = drive.joint.coordinate_name(drive.coordinate)
                    sums[name] = sums.get(name, 0.0) + effort
        return by_name, sums

    def carrier(self, joint: Any) -> Any:
        """The end of a joint whose point the torque in `Forces.wrenches` is about, and which is a body: the second one; in
        the tree of joint coordinates, the outer one."""
        ends = [joint.b, joint.a]
        if isinstance(self.mechanism, JointMechanism):
            nodes = self.mechanism.tables.tree.nodes.view(np.ndarray)
            own = nodes[nodes["joint"] == self.model.joint_names.index(joint.name)]
            if len(own) and own["sign"][0] < 0.0:
                ends.reverse()
        return next((end for end in ends if isinstance(end, Body)), None)

    def body(self, item: Any) -> int:
        """The row of a body in the arrays; −1, the last, of the world."""
        return self.model.body_names.index(item.name) if isinstance(item, Body) else -1


def take_coordinates(mechanism: Mechanism, of_run: Mechanism, y: np.ndarray) -> None:
    """Give a mechanism in joint coordinates those that the run has at its state y."""
    if isinstance(mechanism, JointMechanism) and isinstance(of_run, JointMechanism):
        of_run.take(y)
        mechanism.z[:] = of_run.z
        mechanism._known[:] = mechanism.tables.y[:] = y


def clear_released(system: System) -> None:
    """Clear what the tables have of joints that were released."""
    for joint in system.joints[system.joints.active == 0]:
        for incidence in system.incidences[joint.first : joint.last]:
            system.jacobian[incidence.offset : incidence.offset + size_of(incidence)] = 0.0
        rows = slice(joint.row, joint.row + joint.rows)
        for values in (system.error, system.bias, system.partial, system.multipliers):
            values[rows] = 0.0


def _plain_tables(system: System) -> dict[str, np.ndarray]:
    """The tables that a run may change, as plain arrays."""
    return {name: getattr(system, name).view(np.ndarray) for name in INPUTS}


def _as_motors(rows: np.ndarray) -> None:
    """Make springs of coordinates motors with the same law, whose efforts can be read."""
    springs = np.flatnonzero(rows["kind"] == TORSION)
    rows["position"][springs] = rows["rest"][springs]
    rows["rest"][springs] = rows["target"][springs] = 0.0
    rows["kind"][springs], rows["limit"][springs] = MOTOR, np.inf
