"""Forces on bodies but fields. What each law does is in its file in `scene.forces`; here are the loops over the rows of the
FORCE table, and the choice of the law of a row, which is made of the registry. They are compiled where a scene has such
forces: see `special`.
"""

from collections.abc import Callable
from typing import Any

from ..dispatch import by_kind
from ..jit import inlined, njit
from ..model.force_kinds import NUMBERS, ON_COORDINATE
from ..model.tables import BOUNDED, EXERTED, FIELD
from ..scene.forces.laws import LAWS, Law
from .coordinates import coordinate_rate, coordinate_rows, coordinate_value
from .forces import field, field_energy, is_applied

STORING = tuple(NUMBERS[law.name] for law in LAWS.values() if law.on_coordinate and law.energy is not None)


@njit
def exert_all(t, y, system):
    """Add all applied forces, fields among them, in their order, to force and torque of the kinematics table; write `exerted`
    and add to `power`. Returns a status."""
    forces, bodies, kinematics = system.forces, system.bodies, system.kinematics
    power, exerted, scratch = system.power, system.exerted, system.scratch
    held = system.settings[0].implicit
    for i in range(forces.shape[0]):
        force = forces[i]
        if not is_applied(force, held):
            continue
        if force.kind == FIELD:
            field(force, bodies, system.settings[0].rigid, kinematics)
            continue
        if one_of(force.kind, ON_COORDINATE):
            status = exert_on_coordinate(t, y, force, EXERTED * i, system)
        else:
            status = exert_on_bodies(force.kind, t, y, force, EXERTED * i, kinematics, exerted, power, scratch)
        if status != 0:
            return status
    return 0


@njit
def add_powers(y, system):
    """Add to `power` that of what each force has in `exerted`, at the velocities in the kinematics table."""
    power, exerted = system.power, system.exerted
    forces, coordinates, kinematics = system.forces, system.coordinates, system.kinematics
    held = system.settings[0].implicit
    for i in range(forces.shape[0]):
        force = forces[i]
        if force.kind == FIELD or not is_applied(force, held):
            continue
        if one_of(force.kind, ON_COORDINATE):
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
        if force.active == 0 or force.kind >= BOUNDED:
            continue
        if force.kind == FIELD:
            total = field_energy(total, force, bodies, system.settings[0].rigid, kinematics)
        elif one_of(force.kind, STORING):
            s = coordinate_value(y, coordinates[force.coordinate], kinematics, system.curves)
            total += energy_on_coordinate(force.kind, force, s)
        else:
            total += energy_on_bodies(force.kind, force, kinematics)
    return total


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
    lin_a, ang_a, lin_b, ang_b, _ = coordinate_rows(coordinate, kinematics)
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
    """The effort of a law, with the coordinate found where it is needed."""
    find_effort, always = law.exert, law.reads_coordinate

    @inlined
    def effort(t, y, force, coordinate, rate, kinematics, curves, scratch):
        s = 0.0
        if always or force.stiffness != 0.0:
            s = coordinate_value(y, coordinate, kinematics, curves)
        return find_effort(t, force, s, rate, scratch)

    return effort


def _of(find: Callable[[Law], Any], on_coordinate: bool) -> dict[int, Any]:
    """Functions by the numbers of their laws, of those laws that have one."""
    laws = [law for law in LAWS.values() if law.on_coordinate is on_coordinate]
    return {NUMBERS[law.name]: find(law) for law in laws if find(law) is not None}


exert_on_bodies = by_kind(
    __name__, "t, y, force, at, kinematics, exerted, power, scratch", _of(lambda law: law.exert, False), "0"
)
power_on_bodies = by_kind(__name__, "force, at, kinematics, exerted", _of(lambda law: law.power, False), "0.0")
energy_on_bodies = by_kind(__name__, "force, kinematics", _of(lambda law: law.energy, False), "0.0")
effort_of = by_kind(
    __name__, "t, y, force, coordinate, rate, kinematics, curves, scratch", _of(_effort, True), "(0, 0.0, 0.0)"
)
energy_on_coordinate = by_kind(__name__, "force, s", _of(lambda law: law.energy, True), "0.0")
