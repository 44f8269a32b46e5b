"""Forces on bodies: fields, the laws of `scene.forces` (in the C function of special parts), and their energies and
powers.

Conservative forces also have their potential energy here. Each force also writes its non-conservative part (the damper
of a spring, but not its elastic part) to `exerted`: force and torque on its body or, between two bodies, first the
force along the distance or the effort on the coordinate. Its power goes to its entry of the ledger. A time step
computes the powers of `exerted` again (`find_powers`), at mean velocities that are known only after its contacts are
solved.
"""

from collections.abc import Callable
from typing import Any

from ..core.jit import inlined, njit
from ..core.kernel import array, kernel, out
from ..core.math3 import dot, load3
from ..core.registry import by_kind
from ..linalg.block_matrix import load_3
from ..model.force_kinds import NUMBERS, ON_COORDINATE
from ..model.tables import (
    BODY,
    CABLE_DAMPING,
    CABLE_ENERGY,
    CABLE_POWER,
    CABLE_PULL,
    CABLE_REST,
    CABLE_STIFFNESS,
    COORDINATE,
    CUSTOM_MOTOR,
    EXERTED,
    FIELD,
    FORCE,
    KINEMATICS,
    LIMITED,
    MOTOR,
)
from ..scene.forces.laws import LAWS, Law
from .cables import PULL, PULL_ENERGY, PULL_POWER, call_cable
from .jacobian import (
    ENERGY,
    SPECIAL_FORCES,
    SPECIAL_POWERS,
    call_special,
    coordinate_rate,
    coordinate_rows,
    coordinate_value,
)
from .kinematics import update_kinematics


@inlined
def apply_forces(t, y, system):
    """Write `force` and `torque` of every body (world axes, about the centre of mass) and the powers of the ledger. Returns a
    status."""
    power, forces = system.power, system.forces
    bodies, kinematics = system.bodies, system.kinematics
    settings = system.settings[0]
    for i in range(kinematics.shape[0]):
        kin = kinematics[i]
        for k in range(3):
            kin.force[k] = 0.0
            kin.torque[k] = 0.0
    for i in range(power.shape[0]):
        power[i] = 0.0
    if settings.stepped != 0:
        add_particle_forces(system)
    if settings.special_forces != 0:
        return call_special(SPECIAL_FORCES, t, y, y, system)
    for i in range(forces.shape[0]):
        if is_applied(forces[i], settings.implicit):
            field(forces[i], bodies, settings.rigid, kinematics)
    return 0


@inlined
def is_applied(force, implicit):
    """Whether a force acts explicitly: not as a row of a contact solver nor, in a run with `implicit` forces, as a soft
    constraint."""
    return force.active != 0 and force.kind < LIMITED and (implicit == 0 or force.implicit == 0)


@njit
def find_powers(y, system):
    """`power` = the power of `exerted` for each entry of the ledger, at the velocities in the kinematics table and the
    positions of the last evaluation."""
    power, kinematics, settings = system.power, system.kinematics, system.settings[0]
    for i in range(power.shape[0]):
        power[i] = 0.0
    if settings.special_forces != 0:
        call_special(SPECIAL_POWERS, 0.0, y, y, system)
    if settings.stepped != 0:
        pushes = system.pushes
        for i in range(settings.rigid):
            power[settings.contact_entry] += power_on(kinematics[i], 6 * i, pushes)


@inlined
def power_on(kin, at, wrenches):
    """Power of a force and a torque on a body, six numbers at `at`."""
    return dot(load_3(wrenches, at), load3(kin.v)) + dot(load_3(wrenches, at + 3), load3(kin.omega))


@njit
def add_particle_forces(system):
    """Add the forces of particles that have a time step of their own to the bodies; their power to the entry of contact."""
    pushes, kinematics, power = system.pushes, system.kinematics, system.power
    settings = system.settings[0]
    for i in range(settings.rigid):
        kin = kinematics[i]
        power[settings.contact_entry] += power_on(kin, 6 * i, pushes)
        for k in range(3):
            kin.force[k] += pushes[6 * i + k]
            kin.torque[k] += pushes[6 * i + 3 + k]


@inlined
def field(force, bodies, rigid, kinematics):
    """Add m g of a uniform field to the force on every body."""
    g = load3(force.vector)
    for i in range(rigid):
        m = bodies[i].mass
        kin = kinematics[i]
        for k in range(3):
            kin.force[k] += m * g[k]


@njit
def potential_energy(y, system):
    """Energy of the conservative forces (J): fields −m g·x, springs ½ k (|d| − l)², torsion springs ½ k (s − s₀)². Also
    written to `energies[1]`."""
    bodies, kinematics, energies = system.bodies, system.kinematics, system.energies
    forces, settings = system.forces, system.settings[0]
    energies[1] = 0.0
    if settings.special_forces != 0:
        call_special(ENERGY, 0.0, y, y, system)
        return energies[1]
    for i in range(forces.shape[0]):
        if forces[i].active != 0 and forces[i].kind < LIMITED:
            energies[1] = field_energy(energies[1], forces[i], bodies, settings.rigid, kinematics)
    return energies[1]


@inlined
def field_energy(total, force, bodies, rigid, kinematics):
    """`total`, with that of one field."""
    g = load3(force.vector)
    for b in range(rigid):
        total -= bodies[b].mass * dot(g, load3(kinematics[b].x))
    return total


# The laws of `scene.forces` --------------------------------------------------------------------------------------------
#
# Each law is in its own file; here are the loops over the rows of the FORCE table, and the dispatch by law, generated from
# the registry. They are compiled for scenes with other forces than fields: see `mechanism.special_task`.


STORING = tuple(NUMBERS[law.name] for law in LAWS.values() if law.on_coordinate and law.energy is not None)


@njit
def exert_all(t, y, system):
    """Add all applied forces, fields among them, in their order, to force and torque of the kinematics table; write `exerted`
    and add to `power`. Returns a status."""
    forces, bodies, kinematics = system.forces, system.bodies, system.kinematics
    power, exerted, scratch = system.power, system.exerted, system.scratch
    implicit = system.settings[0].implicit
    for i in range(forces.shape[0]):
        force = forces[i]
        if not is_applied(force, implicit):
            continue
        if force.kind == FIELD:
            field(force, bodies, system.settings[0].rigid, kinematics)
            continue
        status = 0
        if force.kind == CABLE_PULL:
            power[force.ledger] += ask_cable(PULL, y, force, kinematics, system.curves)
        elif one_of(force.kind, ON_COORDINATE):
            status = exert_on_coordinate(t, y, force, EXERTED * i, system)
        else:
            status = exert_on_bodies(force.kind, t, y, force, EXERTED * i, kinematics, exerted, power, scratch)
        if status != 0:
            return status
    return 0


@njit
def add_powers(y, system):
    """Add the power of `exerted` of each force to `power`, at the velocities in the kinematics table."""
    power, exerted = system.power, system.exerted
    forces, coordinates, kinematics = system.forces, system.coordinates, system.kinematics
    implicit = system.settings[0].implicit
    for i in range(forces.shape[0]):
        force = forces[i]
        if force.kind == FIELD or not is_applied(force, implicit):
            continue
        if force.kind == CABLE_PULL:
            power[force.ledger] += ask_cable(PULL_POWER, y, force, kinematics, system.curves)
        elif one_of(force.kind, ON_COORDINATE):
            rate = coordinate_rate(y, coordinates[force.coordinate], kinematics, system.curves)
            power[force.ledger] += exerted[EXERTED * i] * rate
        else:
            power[force.ledger] += power_on_bodies(force.kind, force, EXERTED * i, kinematics, exerted)


@njit
def all_energy(y, system):
    """Potential energy of the conservative forces (J): fields −m g·x, and of each law that has one."""
    forces, bodies, kinematics = system.forces, system.bodies, system.kinematics
    coordinates = system.coordinates
    total = 0.0
    for i in range(forces.shape[0]):
        force = forces[i]
        if force.active == 0 or force.kind >= LIMITED:
            continue
        if force.kind == FIELD:
            total = field_energy(total, force, bodies, system.settings[0].rigid, kinematics)
        elif force.kind == CABLE_PULL:
            total += ask_cable(PULL_ENERGY, y, force, kinematics, system.curves)
        elif one_of(force.kind, STORING):
            s = coordinate_value(y, coordinates[force.coordinate], kinematics, system.curves)
            total += energy_on_coordinate(force.kind, force, s)
        else:
            total += energy_on_bodies(force.kind, force, kinematics)
    return total


@njit
def ask_cable(task, y, force, kinematics, curves):
    """Do a task of `cables` for a cable that stretches. Returns its energy (J), or its power (W)."""
    at = force.address
    curves[at + CABLE_STIFFNESS], curves[at + CABLE_DAMPING] = force.stiffness, force.damping
    curves[at + CABLE_REST] = force.rest
    call_cable(task, at, y, kinematics, curves)
    return curves[at + CABLE_ENERGY] if task == PULL_ENERGY else curves[at + CABLE_POWER]


# A generalized force Q on the coordinate s acts on the bodies through its gradient, Q ∇s.
@njit
def exert_on_coordinate(t, y, force, at, system):
    """Add the effort of a force on a coordinate to its two bodies; exerted[at] is the part that works. Returns a status."""
    kinematics = system.kinematics
    coordinate = system.coordinates[force.coordinate]
    rate = coordinate_rate(y, coordinate, kinematics, system.curves)
    status, effort, working = effort_of(
        force.kind, t, y, force, coordinate, rate, kinematics, system.curves, system.scratch
    )
    if status != 0:
        return status
    lin_a, ang_a, lin_b, ang_b, _ = coordinate_rows(coordinate, kinematics, system.curves)
    kin_a = kinematics[coordinate.a]
    kin_b = kinematics[coordinate.b]
    for k in range(3):
        kin_a.force[k] += effort * lin_a[k]
        kin_a.torque[k] += effort * ang_a[k]
        kin_b.force[k] += effort * lin_b[k]
        kin_b.torque[k] += effort * ang_b[k]
    system.exerted[at] = working
    system.power[force.ledger] += working * rate
    return 0


# The law of a row ----------------------------------------------------------------------------------------------------


@njit
def one_of(kind, numbers):
    """Whether a kind is one of a tuple of numbers."""
    for number in numbers:
        if kind == number:
            return True
    return False


def _effort(law: Law) -> Any:
    """The effort of a law; the value of the coordinate is computed only where the law needs it."""
    compute, always = law.exert, law.reads_coordinate

    @inlined
    def effort(t, y, force, coordinate, rate, kinematics, curves, scratch):
        s = 0.0
        if always or force.stiffness != 0.0:
            s = coordinate_value(y, coordinate, kinematics, curves)
        return compute(t, force, s, rate, scratch)

    return effort


def _of(part: Callable[[Law], Any], on_coordinate: bool) -> dict[int, Any]:
    """One function of each law that has it, by the number of the law."""
    laws = [law for law in LAWS.values() if law.on_coordinate is on_coordinate]
    return {NUMBERS[law.name]: part(law) for law in laws if part(law) is not None}


exert_on_bodies = by_kind(
    __name__, "exert_on_bodies", "t, y, force, at, kinematics, exerted, power, scratch",
    _of(lambda law: law.exert, False), "0",
)  # fmt: skip
power_on_bodies = by_kind(
    __name__, "power_on_bodies", "force, at, kinematics, exerted", _of(lambda law: law.power, False), "0.0"
)
energy_on_bodies = by_kind(__name__, "energy_on_bodies", "force, kinematics", _of(lambda law: law.energy, False), "0.0")
effort_of = by_kind(
    __name__, "effort_of", "t, y, force, coordinate, rate, kinematics, curves, scratch", _of(_effort, True),
    "(0, 0.0, 0.0)",
)  # fmt: skip
energy_on_coordinate = by_kind(__name__, "energy_on_coordinate", "force, s", _of(lambda law: law.energy, True), "0.0")


# From Python: values and rates of coordinates, and efforts of motors ---------------------------------------------------


@kernel
def read_coordinates(
    y: array(), near: array(), bodies: array(1, BODY), kinematics: out(1, KINEMATICS), coordinates: array(1, COORDINATE),
    curves: array(), values: out(), rates: out(),
) -> None:  # fmt: skip
    """values and rates (coordinates,) at the state y of the rigid bodies; of angles those nearest to `near`, (coordinates,).

    The rows of the kinematics table are set; its last is the world.
    """
    update_kinematics(y, bodies, kinematics.shape[0] - 1, kinematics)
    for i in range(coordinates.shape[0]):
        rates[i] = coordinate_rate(y, coordinates[i], kinematics, curves)
        values[i] = coordinate_value(near, coordinates[i], kinematics, curves)


@kernel
def read_efforts(
    t: float, y: array(), forces: array(1, FORCE), kinematics: array(1, KINEMATICS), coordinates: array(1, COORDINATE),
    curves: array(), scratch: out(), efforts: out(),
) -> int:  # fmt: skip
    """efforts (forces,) of the motors with a gain, stiffness, effort or function among the forces, where the kinematics table
    has the bodies; entries of other forces stay unchanged. Returns a status."""
    for i in range(forces.shape[0]):
        force = forces[i]
        if force.active == 0 or not (force.kind == MOTOR or force.kind == CUSTOM_MOTOR):
            continue
        coordinate = coordinates[force.coordinate]
        rate = coordinate_rate(y, coordinate, kinematics, curves)
        status, efforts[i], _ = effort_of(force.kind, t, y, force, coordinate, rate, kinematics, curves, scratch)
        if status != 0:
            return status
    return 0
