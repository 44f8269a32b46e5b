"""What sensors read of one instant: motion, accelerations, wrenches of joints, efforts and contacts.

Accelerations and wrenches are those of the state at the instant, a = M⁻¹ (F + Jᵀλ + F_c). Forces F and multipliers λ are
evaluated there. F_c are forces that no state determines: those of contacts, stops, dry friction, ideal motors and implicit
springs in the last step, which are means over it. So the sum of a·h over the steps is the change of velocity to the order of
the method, and where nothing of this kind acts, a is exact.

The evaluation has tables of its own, so that a sample changes nothing in the run.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..collide.tables import AWAKE
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

SYMMETRIC = np.array([(0, 3, 4), (3, 1, 5), (4, 5, 2)])  # where (xx, yy, zz, xy, xz, yz) has its entries


class Motion(NamedTuple):
    """Of n bodies and, last, the world; world axes. x : (n + 1, 3) m, centres of mass. rotation : (n + 1, 3, 3), body → world.
    v, omega : (n + 1, 3) m/s, rad/s. momentum : (n + 1, 6) kg m/s, kg m²/s."""

    x: np.ndarray
    rotation: np.ndarray
    v: np.ndarray
    omega: np.ndarray
    momentum: np.ndarray


class Forces(NamedTuple):
    """a, alpha : (n + 1, 3) m/s², rad/s², accelerations of bodies and, last, the world. wrenches : (joints, 6) N and N m, of each
    joint on its second body, about the point of the joint, world axes. gravity : (3,) m/s². efforts : name → N m or N.
    on_coordinate : name of a coordinate → the sum of its efforts."""

    a: np.ndarray
    alpha: np.ndarray
    wrenches: np.ndarray
    gravity: np.ndarray
    efforts: dict[str, float]
    on_coordinate: dict[str, float]


class Evaluator:
    """Reads the instants of one run.

    mechanism : that of the run. system : tables of the same model, whose workspace is used. The run's are only read.
    """

    def __init__(self, model: Model, mechanism: Mechanism, system: System) -> None:
        self.model, self._run_system = model, mechanism.system
        self.owners = Owners(model.scene)
        self._bodies = len(model.body_names)
        own = Mechanism(system)
        self._system, self._plain = own.system, own
        self._mechanism: Mechanism = JointMechanism(model, own) if model.tree is not None else own
        self._scratch = np.empty(model.size)
        self.contacts: Contacts = NONE

    # Motion -----------------------------------------------------------------------------------------------------------

    def motion(self, y: np.ndarray) -> Motion:
        """The motion at a state. What moves by command has its velocities from the tables of the run."""
        n = self._bodies
        parts = y[: STATE_SIZE * n].reshape(n, STATE_SIZE)
        bodies = self.model.tables["bodies"][:n]
        rotation = _rotations(parts[:, 3:7])
        inverse = np.einsum("nij,njk,nlk->nil", rotation, bodies.inverse_inertia[:, SYMMETRIC], rotation)
        v, omega = parts[:, 7:10] * bodies.inverse_mass[:, None], np.einsum("nij,nj->ni", inverse, parts[:, 10:13])
        for row in self._commands():
            v[row["body"]], omega[row["body"]] = row["v"], row["omega"]
        world = np.zeros((1, 3))
        return Motion(
            *(np.concatenate(pair) for pair in ((parts[:, :3], world), (rotation, np.eye(3)[None]), (v, world), (omega, world))),
            np.concatenate([parts[:, 7:13], np.zeros((1, 6))]),
        )  # fmt: skip

    def _commands(self) -> Any:
        commands = self._run_system.commands
        return commands[commands["body"] >= 0] if len(commands) else ()

    # Contacts ---------------------------------------------------------------------------------------------------------

    def read_contacts(self, driver: Stepper, y: np.ndarray) -> None:
        """Take `contacts` from the last step of a driver."""
        x = y[: STATE_SIZE * self._bodies].reshape(-1, STATE_SIZE)[:, :3]
        self.contacts = read_contacts(driver, self.model, self.owners, x, self.contacts)

    # Forces -----------------------------------------------------------------------------------------------------------

    def forces(self, driver: Stepper, time: float, y: np.ndarray) -> Forces | None:
        """Accelerations, wrenches and efforts at a state, with the forces of the last step of `driver`; None where they cannot
        be computed."""
        self._copy_inputs(driver)
        system, n = self._system, self._bodies
        if self._mechanism(MEASURE, time, y, self._scratch) != OK:
            return None
        kin, bodies = system.kinematics[:n], system.bodies[:n]
        a = (kin.force + kin.linear) * bodies.inverse_mass[:, None]
        moment = kin.torque + kin.angular - np.cross(kin.omega, kin.momentum)
        alpha = np.einsum("nij,nj->ni", kin.inverse_inertia[:, SYMMETRIC], moment)
        for row in system.commands:
            if row["body"] >= 0:
                a[row["body"]], alpha[row["body"]] = row["a"], row["alpha"]
        if driver.bodies is not None:
            still = driver.bodies.collision.asleep[:n] > AWAKE
            a[still] = alpha[still] = 0.0
        efforts, on_coordinate = self._efforts(time, y)
        fields = system.forces[(system.forces.kind == FIELD) & (system.forces.active != 0)]
        world = np.zeros((1, 3))
        wrenches = system.wrenches.reshape(-1, 6).copy()
        return Forces(np.concatenate([a, world]), np.concatenate([alpha, world]), wrenches,
                      fields.vector.sum(axis=0), efforts, on_coordinate)  # fmt: skip

    def _copy_inputs(self, driver: Stepper) -> None:
        """Take over what a run may change: forces, released joints, commands, settings. Forces of the last step become
        constants."""
        own, run = self._system, self._run_system
        for name in ("forces", "joints", "commands", "particle_forces"):
            mine, theirs = getattr(own, name), getattr(run, name)
            if len(mine):
                mine[:] = theirs[: len(mine)]
        settings, given = own.settings, run.settings
        for name in ("hold", "stiffness", "damping", "contact_entry"):
            settings[name] = given[name]
        pushed = self.contacts.wrenches(self._bodies)
        if given[0].stepped != 0:
            pushed += run.pushes.reshape(-1, 6)[: self._bodies]
        elif pushed.any() and given[0].particles > 0:
            pushed[:] = 0.0  # explicit steps of particles have no forces of this kind
        settings.stepped = int(given[0].stepped != 0 or bool(pushed.any()))
        own.pushes[: pushed.size] = pushed.ravel()
        rows = own.forces
        springs = rows.kind == TORSION
        if springs.any():  # the same law as that of a motor, whose effort can be read
            rows.position[springs], rows.rest[springs], rows.target[springs] = rows.rest[springs], 0.0, 0.0
            rows.kind[springs], rows.limit[springs] = MOTOR, np.inf
        if isinstance(driver, FixedStepper) and driver.bodies is not None:
            self._hold_efforts(driver.bodies)
        self._plain._name_functions()

    def _hold_efforts(self, stepper: Any) -> None:
        """Make constant motors of what the last step solved with contacts: stops, dry friction, ideal motors, and implicit
        motors and springs."""
        rows, tables, dt = self._system.forces, stepper._tables, float(stepper.settings.dt)
        held = np.flatnonzero(rows.kind >= LIMITED)
        efforts = dict.fromkeys(held.tolist(), 0.0)
        for bound in tables.bounds[tables.bounds.soft < 0]:
            efforts[int(bound.force)] += float(rows.side[bound.force]) * float(bound.impulse) / dt
        for row in tables.soft:
            efforts[int(row.force)] = float(row.impulse) / dt
        for i, effort in efforts.items():
            row = rows[i]
            row.kind, row.rest, row.stiffness, row.damping, row.limit = MOTOR, effort, 0.0, 0.0, np.inf

    def _efforts(self, time: float, y: np.ndarray) -> tuple[dict[str, float], dict[str, float]]:
        """The efforts of forces on coordinates by name of the force, and their sums by name of the coordinate."""
        system, model = self._system, self.model
        rows, found = system.forces, np.zeros(len(system.forces))
        by_name: dict[str, float] = {}
        sums: dict[str, float] = {}
        if len(rows):
            read_efforts(time, y, rows, system.kinematics, system.coordinates, system.curves, np.zeros(3), found)
        for i in np.flatnonzero((rows.kind == MOTOR) | (rows.kind == CUSTOM_MOTOR)).tolist():
            row, effort = rows[i], float(found[i])
            if row.ledger >= 0:
                name = model.force_names[row.ledger]
                by_name[name] = by_name.get(name, 0.0) + effort
            name = model.coordinate_names[row.coordinate]
            sums[name] = sums.get(name, 0.0) + effort
        for row in system.commands:
            if row["row"] >= 0:
                name, effort = model.force_names[row["entry"]], float(system.multipliers[row["row"]])
                by_name[name] = effort
                drive = model.scene.joints[name].prescribed
                if drive is not None:
                    name = drive.joint.coordinate_name(drive.coordinate)
                    sums[name] = sums.get(name, 0.0) + effort
        return by_name, sums

    def body(self, item: Any) -> int:
        """The row of a body in the arrays; −1, the last, of the world."""
        return self.model.body_names.index(item.name) if isinstance(item, Body) else -1


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
