"""Parts of joints that few scenes have: curves, couplings, soft constraints, and what users write (`custom`); as `jacobian`,
but compiled apart: see `special`.
"""

import math

from ..jit import njit
from ..model.tables import COUPLING, CURVE, CUSTOM, PARAMETER, SOFT
from ..vec import add, cross, dot, load3, matvec, perpendicular, scale, sub
from .coordinates import coordinate_rate, coordinate_rows, coordinate_value, parameter_rate, plane_row
from .curve import curve_point
from .custom import custom
from .jacobian import put
from .kinematics import load9


@njit
def fill_special_rows(t, y, system):
    """The rest of `jacobian.fill_rows`; 0, or a user's status."""
    parts, joints = system.parts, system.joints
    for i in range(parts.shape[0]):
        part = parts[i]
        if joints[part.joint].active == 0:
            continue
        if part.kind == CURVE:
            on_curve(y, part, system)
        elif part.kind == COUPLING:
            coupling(y, part, system)
        elif part.kind == SOFT:
            soft(y, part, system)
        elif part.kind == CUSTOM:
            status = custom(t, y, part, system)
            if status != 0:
                return status
    return 0


@njit
def fill_parameter_rates(y, dydt, system):
    """The rates of the coordinates that are parameters of curves."""
    coordinates, kinematics, curves = system.coordinates, system.kinematics, system.curves
    for i in range(coordinates.shape[0]):
        if coordinates[i].kind == PARAMETER:
            dydt[coordinates[i].at] = coordinate_rate(y, coordinates[i], kinematics, curves)


@njit
def accumulate(jacobian, at, factor, linear, angular):
    for k in range(3):
        jacobian[at + k] += factor * linear[k]
        jacobian[at + 3 + k] += factor * angular[k]


# C_i = n_i·(Rᵀ(p_b − x_a) − r(s)), i = 1, 2, in the frame of a, where s is the parameter of the nearest point and n_i
# span the plane normal to r′(s). On the curve the change of n_i with s does not enter Ċ, and enters C̈ only through
# r″: C̈_i = (bias of a plane with normal n_i) − n_i·r″ ṡ².
@njit
def on_curve(y, part, system):
    kinematics = system.kinematics
    curves = system.curves
    error = system.error
    bias = system.bias
    jacobian = system.jacobian
    coordinate = system.coordinates[part.first]
    kin_a = kinematics[part.a]
    kin_b = kinematics[part.b]
    rotation_a = load9(kin_a.rotation)
    arm_b = matvec(load9(kin_b.rotation), load3(part.anchor_b))
    s = coordinate_value(y, coordinate, kinematics, curves)
    rate = parameter_rate(s, coordinate, kinematics, curves)
    r, d1, d2 = curve_point(curves, coordinate.curve, s)
    tangent = scale(1.0 / math.sqrt(dot(d1, d1)), d1)
    normal = perpendicular(tangent)
    offset = sub(add(load3(kin_b.x), arm_b), load3(kin_a.x))
    gap = sub(offset, matvec(rotation_a, r))
    for k in range(2):
        n = matvec(rotation_a, normal)
        lin_a, ang_a, lin_b, ang_b, b = plane_row(n, kin_a, kin_b, arm_b)
        error[part.row + k] = dot(n, gap)
        bias[part.row + k] = b - dot(normal, d2) * rate * rate
        put(jacobian, part.block_a + 6 * k, lin_a, ang_a)
        put(jacobian, part.block_b + 6 * k, lin_b, ang_b)
        normal = cross(tangent, normal)


# C = ratio·s_1 + ratio_2·s_2 − c of two coordinates: gears (two angles), rack and pinion, screw (angle and length).
# Bodies may coincide (a common carrier), so that the blocks are cleared first and added to.
@njit
def coupling(y, part, system):
    jacobian = system.jacobian
    kinematics = system.kinematics
    zero = (0.0, 0.0, 0.0)
    put(jacobian, part.block_a, zero, zero)
    put(jacobian, part.block_b, zero, zero)
    put(jacobian, part.block_c, zero, zero)
    put(jacobian, part.block_d, zero, zero)
    first = system.coordinates[part.first]
    second = system.coordinates[part.second]
    lin_a, ang_a, lin_b, ang_b, bias_1 = coordinate_rows(first, kinematics)
    accumulate(jacobian, part.block_a, part.ratio, lin_a, ang_a)
    accumulate(jacobian, part.block_b, part.ratio, lin_b, ang_b)
    lin_c, ang_c, lin_d, ang_d, bias_2 = coordinate_rows(second, kinematics)
    accumulate(jacobian, part.block_c, part.ratio_2, lin_c, ang_c)
    accumulate(jacobian, part.block_d, part.ratio_2, lin_d, ang_d)
    value_1 = coordinate_value(y, first, kinematics, system.curves)
    value_2 = coordinate_value(y, second, kinematics, system.curves)
    system.error[part.row] = part.ratio * value_1 + part.ratio_2 * value_2 - part.value
    system.bias[part.row] = part.ratio * bias_1 + part.ratio_2 * bias_2


# The rate of a coordinate, ṡ = g·v, as a row; C is the coordinate itself and the bias c + k s + d ṡ (`value`, `ratio`,
# `ratio_2`), so that g·v̇ + compliance λ = −(c + k s + d ṡ) is a soft constraint.
@njit
def soft(y, part, system):
    kinematics = system.kinematics
    coordinate = system.coordinates[part.first]
    lin_a, ang_a, lin_b, ang_b, _ = coordinate_rows(coordinate, kinematics)
    put(system.jacobian, part.block_a, lin_a, ang_a)
    put(system.jacobian, part.block_b, lin_b, ang_b)
    s = coordinate_value(y, coordinate, kinematics, system.curves)
    rate = coordinate_rate(y, coordinate, kinematics, system.curves)
    system.error[part.row] = s
    system.bias[part.row] = part.value + part.ratio * s + part.ratio_2 * rate
