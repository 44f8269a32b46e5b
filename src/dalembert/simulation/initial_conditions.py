"""Initial conditions: joints are checked or assembled, and redundant constraints reported. Also the release of joints
and forces."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core.c_function import COMPLETE, MEASURE, NOT_A_NUMBER
from ..core.status import NON_FINITE, OK
from ..dynamics.joint_space.mechanism import JointMechanism, rows_of
from ..dynamics.mechanism import NOT_CLOSED, Mechanism
from ..model.compile import Model
from ..model.graph import POINT_SIZE
from ..model.tables import FEEDBACK, LEDGER, PENALTY, PROJECTION, System
from ..scene.body import WORLD, Body
from ..scene.checks import rotation_matrix
from ..scene.joint import Joint
from .errors import event_values
from .recording import Recorder
from .registry import Method, not_negative
from .state import State

HOLD = {"projection": PROJECTION, "feedback": FEEDBACK, "penalty": PENALTY}
CLOSED = 1e-6  # of the size of the model: joints that are open by more are rejected
FITS = 1e-3  # of that: bodies that are no further from where joint coordinates put them fit their joints
ASSEMBLE = "or pass assemble=True to close it by the smallest change"
NEARLY_DEPENDENT = 1e-9  # pivot ratio of J W Jᵀ: below, rows are dependent to rounding


def redundant(model: Model) -> bool:
    """Whether the constraints depend on each other at the start."""
    mechanism = Mechanism(model.system())
    mechanism(MEASURE, 0.0, model.initial.copy(), np.empty(model.size))
    return bool(mechanism.system.settings[0].condition < NEARLY_DEPENDENT)


def check_hold(hold: str, stiffness: float, damping: float, method: Method) -> None:
    """Raises ValueError for an unknown `hold`, one that the method does not support, and bad stiffness or damping."""
    if hold not in HOLD:
        raise ValueError(f"hold is {hold!r}; give one of {', '.join(HOLD)}")
    if hold not in method.holds:
        raise ValueError(
            f"hold is {hold!r}, and method {method.name!r} supports {', '.join(map(repr, method.holds))} only"
        )
    not_negative("stiffness", stiffness)
    not_negative("damping", damping)
    if hold == "penalty" and not stiffness > 0.0:
        raise ValueError("hold='penalty' needs a stiffness; give stiffness in N/m, and damping in N s/m")


def set_out(model: Model, mechanism: Mechanism, y: np.ndarray, dydt: np.ndarray, assemble: bool) -> int:
    """Check joints, their rates and their independence at the start, and project y onto the constraints.

    assemble : whether open joints are closed. Returns a status. Raises ValueError for joints that are open, or move apart, or
    cannot be closed.
    """
    length = model.length
    found = _residuals(model, mechanism, y)
    if found is None:
        status = int(mechanism(MEASURE, 0.0, y, dydt)) or NON_FINITE
        found = Residuals(model, mechanism)
        if found.worst.size and np.isfinite(found.worst).all() and found.worst.max() > CLOSED * length:
            raise ValueError(_open(model, found, assemble, ""))  # axes at right angles to where they belong
        return status
    settings = mechanism.system.settings[0]
    if not assemble:
        if model.tree is not None and isinstance(mechanism, JointMechanism):
            found.add_tree(*tree_residuals(mechanism, y))
        if found.worst.size and found.worst.max() > CLOSED * length:
            raise ValueError(_open(model, found))
        speed = float(np.abs(State(model, y, 0.0).velocity).max(initial=0.0))
        if found.worst_rates.size and found.worst_rates.max() > CLOSED * max(speed, length):
            raise ValueError(_apart(model, found))
    if settings.hold == PROJECTION:
        status = mechanism(COMPLETE, 0.0, y, dydt)
        if status not in (OK, NOT_CLOSED):
            return int(status)
        found = _residuals(model, mechanism, y)
        if found is None:
            return NON_FINITE
        if status != OK or (found.worst.size and found.worst.max() > CLOSED * length):
            raise ValueError(_open(model, found, True))
        y[-ledger_size(model) :] = 0.0
    settings.deficient = int(_dependent(mechanism, y, dydt))
    return OK


def _dependent(mechanism: Mechanism, y: np.ndarray, dydt: np.ndarray) -> bool:
    """Whether the constraints depend on each other at y, where they are closed."""
    settings = mechanism.system.settings[0]
    hold = settings.hold
    if hold == PENALTY:  # which has no factorization
        settings.hold = FEEDBACK
        mechanism(MEASURE, 0.0, y.copy(), dydt)
        settings.hold = hold
    return bool(settings.condition < NEARLY_DEPENDENT)


def ledger_size(model: Model) -> int:
    """The number of entries of the energy ledger, at the end of the state."""
    return len(LEDGER) + len(model.force_names)


def look_at_events(model: Model, y: np.ndarray) -> int:
    """Evaluate the functions of all events at the start. Returns a status."""
    return NOT_A_NUMBER if np.isnan(event_values(model, 0.0, y)).any() else OK


# Errors of joints ------------------------------------------------------------------------------------------------------


class Residuals:
    """Errors of the joints and of their rates at the state that `mechanism` measured last. worst, worst_rates : (joints,),
    the largest of each joint. Joints of a tree have none, unless they are given: `tree_residuals`."""

    def __init__(self, model: Model, mechanism: Mechanism) -> None:
        system, count = mechanism.system, len(model.joint_names)
        self._joints = model.graph.joints
        self._rows = [np.array(system.error), np.array(system.rates)]
        self._tree: list[list[np.ndarray]] = [[], []]
        self.worst, self.worst_rates = np.zeros(count), np.zeros(count)
        if len(self._joints):
            firsts, active = np.array(self._joints["row"], np.int64).reshape(-1), system.joints.active
            for worst, rows in zip((self.worst, self.worst_rates), self._rows, strict=True):
                worst[: len(firsts)] = np.maximum.reduceat(np.abs(rows), firsts) * active

    def add_tree(self, errors: list[np.ndarray], rates: list[np.ndarray]) -> None:
        """Put in the errors of the joints of a tree, which come last, by joint and row; none if these are empty."""
        self._tree = [errors, rates]
        for worst, values in zip((self.worst, self.worst_rates), self._tree, strict=True):
            if values:
                worst[len(self._joints) :] = [np.abs(rows).max(initial=0.0) for rows in values]

    def rows(self, joint: int, rate: bool = False) -> np.ndarray:
        """The errors of a joint by its rows, or their rates."""
        if joint >= len(self._joints):
            return self._tree[rate][joint - len(self._joints)]
        first, count = int(self._joints["row"][joint]), int(self._joints["rows"][joint])
        return self._rows[rate][first : first + count]


def _residuals(model: Model, mechanism: Mechanism, y: np.ndarray) -> Residuals | None:
    """Errors of the joints and of their rates; None where the state cannot be measured."""
    return Residuals(model, mechanism) if Recorder(model, mechanism).record(0.0, y) else None


class _Motion(NamedTuple):
    """Where what was at x0 (3,) m with the rotation R0 (3, 3) is now, and its velocities (3,) in m/s and rad/s."""

    x: np.ndarray
    turn: np.ndarray  # (3, 3), R R0ᵀ
    x0: np.ndarray
    v: np.ndarray
    omega: np.ndarray

    def point(self, initial: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where a point of it is now, and its velocity."""
        arm = self.turn @ (initial - self.x0)
        return self.x + arm, self.v + np.cross(self.omega, arm)

    def axis(self, initial: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same of a vector that is fixed in it."""
        now = self.turn @ initial
        return now, np.cross(self.omega, now)


def tree_residuals(mechanism: JointMechanism, y: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Errors of the joints of the tree and of their rates, by joint and row, at the state y of the bodies, as in maximal
    coordinates. `mechanism` has measured y, and so found the joint coordinates nearest to it: links without mass, and
    bodies that move by command, are where these say. Empty where the bodies are there as well."""
    model, layout = mechanism.model, mechanism.layout
    given, near = State(model, y, 0.0), State(model, mechanism.tables.y, 0.0)
    moved = [body.motion is not None for body in model.scene.bodies.values()]
    turn = np.minimum(
        np.abs(given.orientation - near.orientation).max(axis=1, initial=0.0),
        np.abs(given.orientation + near.orientation).max(axis=1, initial=0.0),
    )
    differences = [
        np.abs(given.position - near.position).max(axis=1, initial=0.0), model.length * turn,
        np.abs(given.velocity - near.velocity).max(axis=1, initial=0.0),
        model.length * np.abs(given.angular_velocity - near.angular_velocity).max(axis=1, initial=0.0),
    ]  # fmt: skip
    if np.where(moved, 0.0, differences).max(initial=0.0) <= FITS * CLOSED * model.length:
        return [], []
    return _errors_of_parts(layout.joints, _motions(mechanism, given))


def _motions(mechanism: JointMechanism, given: State) -> dict[Any, _Motion]:
    """The motions of bodies and links, and of the world."""
    kinematics, rows = mechanism.system.kinematics, rows_of(mechanism.model, mechanism.layout)
    v, omega = np.array(given.velocity), np.array(given.angular_velocity)
    motions = {WORLD: _Motion(np.zeros(3), np.eye(3), *np.zeros((3, 3)))}
    for item, row in rows.items():
        if isinstance(item, Body) and item.motion is None:
            x, rotation = given.position[row], rotation_matrix(given.orientation[row])
            motions[item] = _Motion(x, rotation @ item.rotation.T, np.asarray(item.position), v[row], omega[row])
        else:
            kin = kinematics[row]
            turn = np.array(kin.rotation).reshape(3, 3) @ item.rotation.T
            motions[item] = _Motion(
                np.array(kin.x), turn, np.asarray(item.position), np.array(kin.v), np.array(kin.omega)
            )
    return motions


def _errors_of_parts(joints: list[Joint], motions: dict[Any, _Motion]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Errors of joints and their rates, by joint and row."""
    errors, rates = [], []
    for joint in joints:
        a, b = motions[joint.a], motions[joint.b]
        error: list[float] = []
        rate: list[float] = []
        for part in joint.parts:
            (at_a, v_a), (at_b, v_b) = a.point(part.point_a), b.point(part.point_b)
            (axis_a, turn_a), (axis_b, turn_b) = a.axis(part.axis_a), b.axis(part.axis_b)
            gap, opening = at_b - at_a, v_b - v_a
            if part.kind == "point":
                error += gap.tolist()
                rate += opening.tolist()
            elif part.kind == "plane":
                error.append(float(axis_a @ gap) - part.value)
                rate.append(float(axis_a @ opening + turn_a @ gap))
            else:
                error.append(float(axis_a @ axis_b) - part.value)
                rate.append(float(turn_a @ axis_b + axis_a @ turn_b))
        errors.append(np.array(error))
        rates.append(np.array(rate))
    return errors, rates


def _open(model: Model, found: Residuals, assembled: bool = False, or_else: str = f", {ASSEMBLE}") -> str:
    """What to say of the joint that is most open. assembled : whether it was to be closed. or_else : the other way out."""
    worst = _largest(found.worst)
    joint = model.scene.joints[model.joint_names[worst]]
    size = joint.error_text(found.rows(worst))
    what = "the poses or the joint's axes" if size.endswith("degrees") else "the poses or the joint's points"
    if assembled:
        return f"joint {joint.name!r} cannot be closed at the start by {size}; correct {what}, which are too far from closing"
    return f"joint {joint.name!r} is open at the start by {size}; correct {what}{or_else}"


def _apart(model: Model, found: Residuals) -> str:
    """What to say of the joint that moves apart fastest."""
    worst = _largest(found.worst_rates)
    joint = model.scene.joints[model.joint_names[worst]]
    speed = joint.error_text(found.rows(worst, True), rate=True)
    return f"joint {joint.name!r} moves apart at the start by {speed}; correct the velocities, {ASSEMBLE}"


def _largest(errors: np.ndarray) -> int:
    return int(np.nanargmax(np.where(np.isfinite(errors), errors, np.inf)))


# Release of a joint or a force ----------------------------------------------------------------------------------------


def release(model: Model, system: System, name: str) -> None:
    """Take a joint or a force out of the equations of motion. Raises ValueError for an unknown name."""
    if name in model.joint_names:
        index = model.joint_names.index(name)
        if index >= len(system.joints):
            raise ValueError(
                f"joint {name!r} is part of the coordinates and cannot be released; use coordinates='maximal'"
            )
        joint = system.joints[index]
        joint.active = 0
        for incidence in system.incidences[joint.first : joint.last]:
            size = POINT_SIZE if incidence.is_point else 6 * incidence.rows
            system.jacobian[incidence.offset : incidence.offset + size] = 0.0
        rows = slice(joint.row, joint.row + joint.rows)
        for values in (system.error, system.bias, system.partial, system.multipliers):
            values[rows] = 0.0
    elif name in model.force_names:
        entry = model.force_names.index(name)
        forces = system.forces
        forces.active[(forces.ledger == entry) & (forces.kind != 0)] = 0
        for table in (system.particle_forces, system.elements.sets, system.interactions.laws):
            table.active[table.ledger == entry] = 0
    else:
        raise ValueError(f"there is no joint or force {name!r} to release")
