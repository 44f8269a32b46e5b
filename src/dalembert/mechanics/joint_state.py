"""Values and rates of coordinates at a state of the bodies, and efforts of motors, asked for from Python."""

from ..kernel import array, kernel, out
from ..model.tables import BODY, COORDINATE, CUSTOM_MOTOR, FORCE, KINEMATICS, MOTOR
from .body_forces import effort_of
from .coordinates import coordinate_rate, coordinate_value
from .kinematics import update_kinematics


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
    has the bodies; what is no such motor is left alone. Returns a status."""
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
