"""Forces on bodies but fields, one function a kind; each adds to the force and torque of its bodies. They are compiled where
a scene has such forces: see `special`.
"""

from ..jit import inlined, njit
from ..linalg.block_matrix import store_3
from ..model.tables import (
    BOUNDED,
    CONSTANT,
    CUSTOM_FORCE,
    CUSTOM_MOTOR,
    DRAG,
    EXERTED,
    FIELD,
    MOTOR,
    SPRING,
    STATE_SIZE,
    TORSION,
)
from ..pointer import DERIVATIVE, call_pointer
from ..vec import add, cross, dot, load3, matvec, norm, scale, sub
from .coordinates import coordinate_rate, coordinate_rows, coordinate_value
from .custom import pack_pose
from .forces import field, field_energy, is_applied, power_on
from .kinematics import load9
from .system import (
    bodies_of,
    coordinates_of,
    curves_of,
    exerted_of,
    forces_of,
    kinematics_of,
    power_of,
    scratch_of,
    settings_of,
)


@njit
def exert_all(t, y, system):
    """Add all applied forces, fields among them, in their order. Returns a status."""
    power, exerted = power_of(system), exerted_of(system)
    forces = forces_of(system)
    bodies = bodies_of(system)
    kinematics = kinematics_of(system)
    held = settings_of(system)[0].implicit
    for i in range(forces.shape[0]):
        force = forces[i]
        if not is_applied(force, held):
            continue
        if force.kind == FIELD:
            field(force, bodies, settings_of(system)[0].rigid, kinematics)
        elif force.kind == SPRING:
            spring(force, kinematics, EXERTED * i, exerted, power)
        elif force.kind == DRAG:
            drag(force, kinematics, EXERTED * i, exerted, power)
        elif force.kind == CONSTANT:
            constant(force, kinematics, EXERTED * i, exerted, power)
        elif force.kind == CUSTOM_FORCE:
            status = custom_force(t, y, force, EXERTED * i, system)
            if status != 0:
                return status
        else:
            status = on_coordinate(t, y, force, EXERTED * i, system)
            if status != 0:
                return status
    return 0


@njit
def add_powers(y, system):
    """Add the power of what each force has in `exerted`, at the velocities in the kinematics table."""
    power, exerted = power_of(system), exerted_of(system)
    forces, coordinates, kinematics = forces_of(system), coordinates_of(system), kinematics_of(system)
    held = settings_of(system)[0].implicit
    for i in range(forces.shape[0]):
        force = forces[i]
        if force.kind == FIELD or not is_applied(force, held):
            continue
        if force.kind == SPRING:
            r_a, r_b, d, length = spring_geometry(force, kinematics)
            if length > 0.0:
                u = scale(1.0 / length, d)
                power[force.ledger] += exerted[EXERTED * i] * spring_rate(force, r_a, r_b, u, kinematics)
        elif force.kind == DRAG or force.kind == CONSTANT or force.kind == CUSTOM_FORCE:  # noqa: PLR1714 - for the compiler
            power[force.ledger] += power_on(kinematics[force.a], EXERTED * i, exerted)
        else:
            rate = coordinate_rate(y, coordinates[force.coordinate], kinematics, curves_of(system))
            power[force.ledger] += exerted[EXERTED * i] * rate


@inlined
def push(kin, force, arm):
    """Add a force acting at x + arm."""
    torque = cross(arm, force)
    for k in range(3):
        kin.force[k] += force[k]
        kin.torque[k] += torque[k]


@njit
def spring_geometry(force, kinematics):
    kin_a = kinematics[force.a]
    kin_b = kinematics[force.b]
    r_a = matvec(load9(kin_a.rotation), load3(force.anchor_a))
    r_b = matvec(load9(kin_b.rotation), load3(force.anchor_b))
    d = sub(add(load3(kin_b.x), r_b), add(load3(kin_a.x), r_a))
    return r_a, r_b, d, norm(d)


# f_b = −(k (|d| − l) + c u·ḋ) u and f_a = −f_b, with d from a to b (the notes' damped spring). Where the ends meet u is
# not defined, and only a spring of no rest length has a limit, −k d.
@njit
def spring(force, kinematics, at, exerted, power):
    kin_a = kinematics[force.a]
    kin_b = kinematics[force.b]
    r_a, r_b, d, length = spring_geometry(force, kinematics)
    exerted[at] = 0.0
    if length == 0.0:
        return
    u = scale(1.0 / length, d)
    rate = spring_rate(force, r_a, r_b, u, kinematics)
    f = scale(-force.stiffness * (length - force.rest) - force.damping * rate, u)
    push(kin_b, f, r_b)
    push(kin_a, (-f[0], -f[1], -f[2]), r_a)
    exerted[at] = -force.damping * rate
    power[force.ledger] += exerted[at] * rate


@inlined
def spring_rate(force, r_a, r_b, u, kinematics):
    """u·ḋ, the rate of the distance."""
    kin_a, kin_b = kinematics[force.a], kinematics[force.b]
    end_a = add(load3(kin_a.v), cross(load3(kin_a.omega), r_a))
    end_b = add(load3(kin_b.v), cross(load3(kin_b.omega), r_b))
    return dot(u, sub(end_b, end_a))


# f = −(c₁ + c₂ |v|) v at the centre of mass, τ = −(c₃ + c₄ |ω|) ω. `vector` holds (c₁, c₂) and `torque` (c₃, c₄).
@njit
def drag(force, kinematics, at, exerted, power):
    kin = kinematics[force.a]
    v = load3(kin.v)
    w = load3(kin.omega)
    linear = force.vector[0] + force.vector[1] * norm(v)
    angular = force.torque[0] + force.torque[1] * norm(w)
    power[force.ledger] += wrench(kin, scale(-linear, v), scale(-angular, w), at, exerted)


@njit
def constant(force, kinematics, at, exerted, power):
    kin = kinematics[force.a]
    rotation = load9(kin.rotation)
    f = load3(force.vector)
    torque = load3(force.torque)
    if force.in_body != 0:
        f = matvec(rotation, f)
        torque = matvec(rotation, torque)
    moment = add(cross(matvec(rotation, load3(force.anchor_a)), f), torque)
    power[force.ledger] += wrench(kin, f, moment, at, exerted)


@njit
def wrench(kin, f, torque, at, exerted):
    """Add a force at the centre of mass and a torque, and keep them. Returns their power."""
    for k in range(3):
        kin.force[k] += f[k]
        kin.torque[k] += torque[k]
    store_3(exerted, at, f)
    store_3(exerted, at + 3, torque)
    return dot(f, load3(kin.v)) + dot(torque, load3(kin.omega))


@njit
def custom_force(t, y, force, at, system):
    """The user's function receives (x, q, v, ω) of the body and returns a force at the anchor, and a torque."""
    scratch = scratch_of(system)
    kinematics = kinematics_of(system)
    out = scratch[STATE_SIZE : STATE_SIZE + 6]
    pack_pose(y, force.a, settings_of(system)[0].rigid, kinematics, scratch[:STATE_SIZE])
    status = call_pointer(force.address, 0, DERIVATIVE, t, scratch[:STATE_SIZE], out)
    if status != 0:
        return status
    kin = kinematics[force.a]
    rotation = load9(kin.rotation)
    f = (out[0], out[1], out[2])
    torque = (out[3], out[4], out[5])
    if force.in_body != 0:
        f = matvec(rotation, f)
        torque = matvec(rotation, torque)
    moment = add(cross(matvec(rotation, load3(force.anchor_a)), f), torque)
    power_of(system)[force.ledger] += wrench(kin, f, moment, at, exerted_of(system))
    return 0


# A generalized force Q on the coordinate s acts on the bodies through its gradient, Q ∇s.
@njit
def on_coordinate(t, y, force, at, system):
    coordinates = coordinates_of(system)
    kinematics = kinematics_of(system)
    curves = curves_of(system)
    power, exerted = power_of(system), exerted_of(system)
    scratch = scratch_of(system)
    coordinate = coordinates[force.coordinate]
    rate = coordinate_rate(y, coordinate, kinematics, curves)
    effort = 0.0
    working = 0.0  # the part of it that no potential knows of
    if force.kind == TORSION:
        value = coordinate_value(y, coordinate, kinematics, curves)
        working = -force.damping * rate
        effort = working - force.stiffness * (value - force.rest)
    elif force.kind == MOTOR:
        effort = motor_effort(y, force, coordinate, rate, kinematics, curves)
        working = effort
    elif force.kind == CUSTOM_MOTOR:
        status, effort = custom_effort(t, y, force, coordinate, rate, kinematics, curves, scratch)
        if status != 0:
            return status
        working = effort
    lin_a, ang_a, lin_b, ang_b, _ = coordinate_rows(coordinate, kinematics)
    kin_a = kinematics[coordinate.a]
    kin_b = kinematics[coordinate.b]
    for k in range(3):
        kin_a.force[k] += effort * lin_a[k]
        kin_a.torque[k] += effort * ang_a[k]
        kin_b.force[k] += effort * lin_b[k]
        kin_b.torque[k] += effort * ang_b[k]
    exerted[at] = working
    power[force.ledger] += working * rate
    return 0


@njit
def motor_effort(y, force, coordinate, rate, kinematics, curves):
    """What a motor exerts at a rate of its coordinate (N m or N)."""
    effort = force.rest + force.damping * (force.target - rate)
    if force.stiffness != 0.0:
        effort += force.stiffness * (force.position - coordinate_value(y, coordinate, kinematics, curves))
    return min(max(effort, -force.limit), force.limit)


@njit
def custom_effort(t, y, force, coordinate, rate, kinematics, curves, scratch):
    """(status, effort) of a motor with a function of the user's; scratch: at least three numbers."""
    scratch[0] = coordinate_value(y, coordinate, kinematics, curves)
    scratch[1] = rate
    out = scratch[2:3]
    status = call_pointer(force.address, 0, DERIVATIVE, t, scratch[:2], out)
    return status, out[0]


@njit
def all_energy(y, system):
    """Energy of the conservative forces (J): fields −m g·x, springs ½ k (|d| − l)², torsion springs ½ k (s − s₀)²."""
    forces = forces_of(system)
    bodies = bodies_of(system)
    coordinates = coordinates_of(system)
    curves = curves_of(system)
    total = 0.0
    kinematics = kinematics_of(system)
    for i in range(forces.shape[0]):
        force = forces[i]
        if force.active == 0 or force.kind >= BOUNDED:
            continue
        if force.kind == FIELD:
            total = field_energy(total, force, bodies, settings_of(system)[0].rigid, kinematics)
        elif force.kind == SPRING:
            _, _, _, length = spring_geometry(force, kinematics)
            total += 0.5 * force.stiffness * (length - force.rest) ** 2
        elif force.kind == TORSION:
            coordinate = coordinates[force.coordinate]
            s = coordinate_value(y, coordinate, kinematics, curves)
            total += 0.5 * force.stiffness * (s - force.rest) ** 2
    return total
