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

from ..collide.tables import AWAKE
from ..contact.limits import size_of
from ..contact.points import Owners
from ..core.c_function import MEASURE
from ..core.status import OK
from ..dynamics.forces import read_efforts
from ..dynamics.joint_space.mechanism import JointMechanism
from ..dynamics.mechanism import Mechanism
from ..integrate.stepper import FixedStepper, Stepper
from ..model.compile import Model
from ..model.tables import CUSTOM_MOTOR, FIELD, LIMITED, MOTOR, STATE_SIZE, TORSION, System
from ..scene.body import Body
from .contacts import NONE, Contacts, read_contacts

INPUTS = ("forces", "joints", "commands", "particle_forces")  # tables that a run may change
YZX, ZXY = np.array([1, 2, 0]), np.array([2, 0, 1])
SYMMETRIC = np.array([(0, 3, 4), (3, 1, 5), (4, 5, 2)])  # where (xx, yy, zz, xy, xz, yz) has its entries


class Motion(NamedTuple):
    """Of n bodies and, last, the world; world axes. x : (n + 1, 3) m, centres of mass. rotation : (n + 1, 3, 3), body →
    world. v, omega : (n + 1, 3) m/s, rad/s. momentum : (n + 1, 6) kg m/s, kg m²/s. inverse_inertia : (n + 1, 3, 3)
    1/(kg m²)."""

    x: np.ndarray
    rotation: np.ndarray
    v: np.ndarray
    omega: np.ndarray
    momentum: np.ndarray
    inverse_inertia: np.ndarray


class Forces(NamedTuple):
    """a, alpha : (n + 1, 3) m/s², rad/s², accelerations of bodies and, last, the world. wrenches : (joints, 6) N and N m, of
    each joint on its second body, about the point of the joint, world axes. gravity : (3,) m/s². efforts : name → N m or N.
    on_coordinate : name of a coordinate → the sum of its efforts."""

    a: np.ndarray
    alpha: np.ndarray
    wrenches: np.ndarray
    gravity: np.ndarray
    efforts: dict[str, float]
    on_coordinate: dict[str, float]


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The vector product of vectors (..., 3), for few of them faster than NumPy's."""
    return a[..., YZX] * b[..., ZXY] - a[..., ZXY] * b[..., YZX]


class Evaluator:
    """Reads the instants of one run.

    mechanism : that of the run. system : tables of the same model, whose workspace is used. The run's are only read.
    """

    def __init__(self, model: Model, mechanism: Mechanism, system: System) -> None:
        self.model, self.owners = model, Owners(model.scene)
        self._bodies = len(model.body_names)
        self._plain = Mechanism(system)
        self._mechanism: Mechanism = JointMechanism(model, self._plain) if model.tree is not None else self._plain
        self._of_run = mechanism
        # Plain arrays: fields of records are slow to read.
        self._own, self._run = _plain_tables(system), _plain_tables(mechanism.system)
        self._system, self._copied = system, dict[str, bytes]()
        bodies = model.tables["bodies"].view(np.ndarray)[: self._bodies]
        self._inverse_mass = bodies["inverse_mass"][:, None].copy()
        self._inverse_inertia = bodies["inverse_inertia"][:, SYMMETRIC].copy()
        self._scratch = np.empty(model.size)
        self.contacts: Contacts = NONE

    # Motion -----------------------------------------------------------------------------------------------------------

    def motion(self, y: np.ndarray) -> Motion:
        """The motion at a state. What moves by command has its velocities from the tables of the run."""
        n = self._bodies
        parts = y[: STATE_SIZE * n].reshape(n, STATE_SIZE)
        found = Motion(*(np.zeros((n + 1, *shape)) for shape in ((3,), (3, 3), (3,), (3,), (6,), (3, 3))))
        found.x[:n], found.rotation[:n], found.rotation[n] = parts[:, :3], _rotations(parts[:, 3:7]), np.eye(3)
        turn = found.rotation[:n]
        found.inverse_inertia[:n] = turn @ self._inverse_inertia @ turn.transpose(0, 2, 1)
        found.v[:n] = parts[:, 7:10] * self._inverse_mass
        found.omega[:n] = (found.inverse_inertia[:n] @ parts[:, 10:13, None])[..., 0]
        found.momentum[:n] = parts[:, 7:13]
        for row in self._run["commands"]:
            if row["body"] >= 0:
                found.v[row["body"]], found.omega[row["body"]] = row["v"], row["omega"]
        return found

    # Contacts ---------------------------------------------------------------------------------------------------------

    def read_contacts(self, driver: Stepper, y: np.ndarray) -> None:
        """Take `contacts` from the last step of a driver."""
        x = y[: STATE_SIZE * self._bodies].reshape(-1, STATE_SIZE)[:, :3]
        self.contacts = read_contacts(driver, self.model, self.owners, x, self.contacts)

    # Forces -----------------------------------------------------------------------------------------------------------

    def forces(self, driver: Stepper, time: float, y: np.ndarray, motion: Motion) -> Forces | None:
        """Accelerations, wrenches and efforts at a state and its motion, with the forces of the last step of `driver`; None
        where they cannot be computed."""
        self._copy_inputs(driver)
        own, n = self._own, self._bodies
        take_coordinates(self._mechanism, self._of_run, y)
        if self._mechanism(MEASURE, time, y, self._scratch) != OK:
            return None
        kin, a, alpha = own["kinematics"][:n], np.zeros((n + 1, 3)), np.zeros((n + 1, 3))
        a[:n] = (kin["force"] + kin["linear"]) * self._inverse_mass
        moment = kin["torque"] + kin["angular"] - cross(motion.omega[:n], motion.momentum[:n, 3:])
        alpha[:n] = (motion.inverse_inertia[:n] @ moment[..., None])[..., 0]
        for row in own["commands"]:
            if row["body"] >= 0:
                a[row["body"]], alpha[row["body"]] = row["a"], row["alpha"]
        if driver.bodies is not None:
            still = np.flatnonzero(driver.bodies.collision.asleep[:n] > AWAKE)
            a[still] = alpha[still] = 0.0
        efforts, on_coordinate = self._efforts(time, y)
        rows = own["forces"]
        gravity = rows["vector"][(rows["kind"] == FIELD) & (rows["active"] != 0)].sum(axis=0)
        return Forces(a, alpha, self._system.wrenches.reshape(-1, 6).copy(), gravity, efforts, on_coordinate)

    def _copy_inputs(self, driver: Stepper) -> None:
        """Take over what a run may change: forces, released joints, commands, settings. Forces of the last step become
        constants."""
        own, run, changed = self._own, self._run, False
        for name in INPUTS:
            content = run[name][: len(own[name])].tobytes()
            if self._copied.get(name) != content:
                own[name][:] = run[name][: len(own[name])]
                self._copied[name], changed = content, True
                if name == "joints":
                    clear_released(self._system)
        settings, given = own["settings"], run["settings"]
        for name in ("hold", "stiffness", "damping", "contact_entry"):
            settings[name] = given[name]
        pushed, stepped = self.contacts.wrenches(self._bodies), bool(given["stepped"][0])
        if stepped:
            pushed += self._run["pushes"].reshape(-1, 6)[: self._bodies]
        elif given["particles"][0] > 0:
            pushed[:] = 0.0  # explicit steps of particles have no forces of this kind
        settings["stepped"] = stepped or bool(pushed.any())
        self._own["pushes"][: pushed.size] = pushed.ravel()
        if isinstance(driver, FixedStepper) and driver.bodies is not None:
            changed = self._hold_efforts(driver.bodies) or changed
        if changed:
            _as_motors(own["forces"])
            self._plain._name_functions()

    def _hold_efforts(self, stepper: Any) -> bool:
        """Make constant motors of what the last step solved with contacts: stops, dry friction, ideal motors, and implicit
        motors and springs. Returns whether there are any."""
        tables, given, dt = stepper._tables, self._run["forces"], float(stepper.settings.dt)
        efforts = dict.fromkeys(np.flatnonzero(given["kind"] >= LIMITED).tolist(), 0.0)
        for bound in tables.bounds.view(np.ndarray):
            if bound["soft"] < 0:
                efforts[int(bound["force"])] += float(given["side"][bound["force"]]) * float(bound["impulse"]) / dt
        for soft in tables.soft.view(np.ndarray):
            efforts[int(soft["force"])] = float(soft["impulse"]) / dt
        for i, effort in efforts.items():
            row = self._own["forces"][i]
            row["kind"], row["rest"], row["limit"] = MOTOR, effort, np.inf
            row["stiffness"] = row["damping"] = 0.0
        return bool(efforts)

    def _efforts(self, time: float, y: np.ndarray) -> tuple[dict[str, float], dict[str, float]]:
        """The efforts of forces on coordinates by name of the force, and their sums by name of the coordinate."""
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
        if isinstance(self._mechanism, JointMechanism):
            nodes = self._mechanism.tables.tree.nodes.view(np.ndarray)
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
    """Some tables of a system as plain arrays."""
    return {name: getattr(system, name).view(np.ndarray) for name in (*INPUTS, "settings", "pushes", "kinematics")}


def _as_motors(rows: np.ndarray) -> None:
    """Make springs of coordinates motors with the same law, whose efforts can be read."""
    springs = np.flatnonzero(rows["kind"] == TORSION)
    rows["position"][springs] = rows["rest"][springs]
    rows["rest"][springs] = rows["target"][springs] = 0.0
    rows["kind"][springs], rows["limit"][springs] = MOTOR, np.inf


def _rotations(q: np.ndarray) -> np.ndarray:
    """(n, 3, 3) rotation matrices of unit quaternions (n, 4)."""
    w, x, y, z = q.T
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    ).transpose(2, 0, 1)
