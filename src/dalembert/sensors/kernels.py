"""What an instant costs: the compiled part of `instant`. Motion and accelerations of all bodies, and what each frame of a
sensor sees of them.

The tables of a run are read; those of the evaluation (`own`), which has a workspace of its own, are written.
"""

from typing import Any, NamedTuple

import numpy as np

from ..collide.tables import AWAKE, CONTACTS
from ..contact.tables import ContactTables
from ..core.jit import njit
from ..core.kernel import array, kernel
from ..core.math3 import add, add_scaled, cross, load3, matmul, matvec, matvec_t, scale, store3, sub, symvec
from ..core.tables import column
from ..dynamics.kinematics import load6, load9, update_kinematics
from ..linalg.block_matrix import load_3, store_3
from ..model.tables import FIELD, KINEMATICS, LIMITED, MOTOR, System

# The frame of a sensor: its body, its place and its axes (columns) in the frame of this body; and what it sees. In world axes
# its position and the arm to it from the centre of mass, its axes, velocity of its point and angular velocity, and their
# rates; in its own axes specific force and angular rate, and its velocity.
MOUNT = np.dtype(
    [("body", "i8"), ("place", "f8", 3), ("turn", "f8", 9), ("x", "f8", 3), ("arm", "f8", 3), ("axes", "f8", 9),
     ("v", "f8", 3), ("omega", "f8", 3), ("a", "f8", 3), ("alpha", "f8", 3), ("inertial", "f8", 6), ("local_v", "f8", 3)],
    align=True,
)  # fmt: skip


class Sensed(NamedTuple):
    """Of n bodies and, last, the world; world axes."""

    bodies: Any = column("bodies + 1", KINEMATICS, doc="as in a mechanism")
    x: Any = column("3 * (bodies + 1)", unit="m")
    rotation: Any = column("9 * (bodies + 1)", doc="body → world")
    v: Any = column("3 * (bodies + 1)", unit="m/s")
    omega: Any = column("3 * (bodies + 1)", unit="rad/s")
    momentum: Any = column("6 * (bodies + 1)", unit="kg m/s, kg m²/s")
    a: Any = column("3 * (bodies + 1)", unit="m/s²")
    alpha: Any = column("3 * (bodies + 1)", unit="rad/s²")
    gravity: Any = column("3", unit="m/s²")
    pushed: Any = column("6 * (bodies + 1)", unit="N, N m", doc="wrenches of contacts, about the centres of mass")
    still: Any = column("bodies", np.int64, doc="whether it sleeps")
    owners: Any = column("colliders", np.int64, doc="of each collider: a body, or a number beyond")
    mounts: Any = column("mounts", MOUNT, unit="place m, x m, arm m, v m/s, omega rad/s, a m/s², alpha rad/s²")


@kernel
def read_motion(y: array(), run: System, own: System, sensed: Sensed) -> None:
    """Poses and velocities of all bodies at a state, and of the frames of sensors. What moves by command has its velocity
    from the tables of the run."""
    bodies, n = sensed.bodies, sensed.bodies.shape[0] - 1
    update_kinematics(y, own.bodies, n, bodies)
    commands = run.commands
    for i in range(commands.shape[0]):
        row = commands[i]
        if row.body >= 0:
            store3(bodies[row.body].v, load3(row.v))
            store3(bodies[row.body].omega, load3(row.omega))
    for i in range(n):
        body = bodies[i]
        store_3(sensed.x, 3 * i, load3(body.x))
        store_3(sensed.v, 3 * i, load3(body.v))
        store_3(sensed.omega, 3 * i, load3(body.omega))
        for k in range(9):
            sensed.rotation[9 * i + k] = body.rotation[k]
        for k in range(6):
            sensed.momentum[6 * i + k] = y[13 * i + 7 + k]
    for i in range(sensed.mounts.shape[0]):
        place_mount(sensed.mounts[i], bodies)


@njit
def place_mount(mount, bodies):
    """Pose and velocity of the frame of a sensor."""
    body = bodies[mount.body]
    rotation, omega = load9(body.rotation), load3(body.omega)
    arm = matvec(rotation, load3(mount.place))
    axes = matmul(rotation, load9(mount.turn))
    v = add(load3(body.v), cross(omega, arm))
    store3(mount.arm, arm)
    store3(mount.x, add(load3(body.x), arm))
    store3(mount.v, v)
    store3(mount.omega, omega)
    store3(mount.local_v, matvec_t(axes, v))
    rate = matvec_t(axes, omega)
    for k in range(3):
        mount.inertial[3 + k] = rate[k]
    for k in range(9):
        mount.axes[k] = axes[k]


@kernel
def take_step(adds: int, torques: array(2), contacts: ContactTables, run: System, own: System, sensed: Sensed) -> int:
    """Take over settings of the run, and the forces of its last step, means over it, which `contacts` has. adds : whether the
    contacts are added up here; else `pushed` has them. torques : (n, 3) N m s on the second body of each contact, or (0, 3).
    Returns how many forces became motors with a constant effort now."""
    stepping, asleep = contacts.stepping, contacts.collision.asleep
    h = stepping.options[0].dt
    for i in range(sensed.still.shape[0]):
        sensed.still[i] = 1 if asleep[i] > AWAKE else 0
    if adds != 0:
        for k in range(sensed.pushed.shape[0]):
            sensed.pushed[k] = 0.0
        add_contacts(h, torques, contacts.collision, sensed)
        add_impacts(h, stepping, sensed)
    take_settings(run, own, sensed)
    return hold_efforts(h, stepping.bounds, stepping.soft, run.forces, own.forces)


@kernel
def take_state(run: System, own: System, sensed: Sensed) -> None:
    """The same where no step has made such forces, and `pushed` has those of contacts."""
    for i in range(sensed.still.shape[0]):
        sensed.still[i] = 0
    take_settings(run, own, sensed)


@njit
def add_contacts(h, torques, collision, sensed):
    """Add the wrenches of the contacts of a step over h (s) to `pushed`."""
    pushed, n = sensed.pushed, sensed.still.shape[0]
    for i in range(collision.counts[CONTACTS]):
        row = collision.contacts[i]
        force = scale(1.0 / h, matvec_t(load9(row.frame), load3(row.impulse)))
        torque = (0.0, 0.0, 0.0)
        if torques.shape[0] > 0:
            torque = scale(1.0 / h, (torques[i, 0], torques[i, 1], torques[i, 2]))
        if row.a < n:
            push(6 * row.a, force, add(cross(load3(row.arm_a), force), torque), -1.0, pushed)
        if row.b < n:
            push(6 * row.b, force, add(cross(load3(row.arm_b), force), torque), 1.0, pushed)


@njit
def add_impacts(h, stepping, sensed):
    """The same of impacts on the way, which are between colliders."""
    pushed, n = sensed.pushed, sensed.still.shape[0]
    for i in range(stepping.report[0].struck):
        row = stepping.struck[i]
        force = scale(1.0 / h, matvec_t(load9(row.frame), load3(row.impulse)))
        a, b = sensed.owners[row.a], sensed.owners[row.b]
        moment = scale(1.0 / h, load3(row.moment))
        for body, sign in ((a, -1.0), (b, 1.0)):
            if body < n:
                arm = sub(load3(row.position), load_3(sensed.x, 3 * body))
                push(6 * body, force, add(cross(arm, force), moment), sign, pushed)


@njit
def push(at, force, torque, sign, pushed):
    """Add a wrench."""
    for k in range(3):
        pushed[at + k] += sign * force[k]
        pushed[at + 3 + k] += sign * torque[k]


@njit
def take_settings(run, own, sensed):
    """Settings of the run, and what pushes its bodies beside forces of the scene."""
    settings, given = own.settings[0], run.settings[0]
    settings.hold, settings.stiffness, settings.damping = given.hold, given.stiffness, given.damping
    settings.contact_entry, settings.stepped = given.contact_entry, given.stepped
    for k in range(own.pushes.shape[0]):
        pushed = sensed.pushed[k]
        if given.stepped != 0:
            pushed += run.pushes[k]
        elif given.particles > 0:
            pushed = 0.0  # explicit steps of particles have no forces of this kind
        own.pushes[k] = pushed
        if pushed != 0.0:
            settings.stepped = 1


@njit
def hold_efforts(h, bounds, soft, given, forces):
    """Make constant motors of what the last step solved with contacts: stops, dry friction and ideal motors in `bounds`,
    implicit motors and springs in `soft`. Returns how many were none before."""
    changed = 0
    for i in range(forces.shape[0]):
        if given[i].kind >= LIMITED:
            changed += make_constant(forces[i])
    for i in range(bounds.shape[0]):
        bound = bounds[i]
        if bound.soft < 0:
            forces[bound.force].rest += given[bound.force].side * (bound.impulse + bound.earlier) / h
    for i in range(soft.shape[0]):
        force = forces[soft[i].force]
        changed += make_constant(force)
        force.rest = (soft[i].impulse + soft[i].earlier) / h
    return changed


@njit
def make_constant(force):
    """Make a force a motor without effort. Returns 1 if it was none."""
    changed = 1 if force.kind != MOTOR or force.stiffness != 0.0 or force.damping != 0.0 else 0
    force.kind, force.limit = MOTOR, np.inf
    force.rest, force.stiffness, force.damping = 0.0, 0.0, 0.0
    return changed


@kernel
def read_forces(own: System, sensed: Sensed) -> None:
    """Accelerations of all bodies and of the frames of sensors, after `own` was evaluated."""
    n = sensed.bodies.shape[0] - 1
    store_3(sensed.gravity, 0, (0.0, 0.0, 0.0))
    for i in range(own.forces.shape[0]):
        if own.forces[i].kind == FIELD and own.forces[i].active != 0:
            store_3(sensed.gravity, 0, add(load_3(sensed.gravity, 0), load3(own.forces[i].vector)))
    for i in range(n):
        kin, body = own.kinematics[i], sensed.bodies[i]
        force = add(load3(kin.force), load3(kin.linear))
        moment = sub(add(load3(kin.torque), load3(kin.angular)), cross(load3(body.omega), load3(body.momentum)))
        store_3(sensed.a, 3 * i, scale(own.bodies[i].inverse_mass, force))
        store_3(sensed.alpha, 3 * i, symvec(load6(body.inverse_inertia), moment))
    for i in range(own.commands.shape[0]):
        row = own.commands[i]
        if row.body >= 0:
            store_3(sensed.a, 3 * row.body, load3(row.a))
            store_3(sensed.alpha, 3 * row.body, load3(row.alpha))
    for i in range(n):
        if sensed.still[i] != 0:
            store_3(sensed.a, 3 * i, (0.0, 0.0, 0.0))
            store_3(sensed.alpha, 3 * i, (0.0, 0.0, 0.0))
    for i in range(sensed.mounts.shape[0]):
        accelerate_mount(sensed.mounts[i], sensed)


@njit
def accelerate_mount(mount, sensed):
    """Accelerations of the frame of a sensor: a + α × r + ω × (ω × r)."""
    omega, alpha, arm = load3(mount.omega), load_3(sensed.alpha, 3 * mount.body), load3(mount.arm)
    a = add(load_3(sensed.a, 3 * mount.body), add(cross(alpha, arm), cross(omega, cross(omega, arm))))
    store3(mount.a, a)
    store3(mount.alpha, alpha)
    specific = matvec_t(load9(mount.axes), add_scaled(a, -1.0, load_3(sensed.gravity, 0)))
    for k in range(3):
        mount.inertial[k] = specific[k]


KERNELS = (read_motion, take_step, take_state, read_forces)
