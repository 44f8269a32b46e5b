"""Parts of joints: for each, the error C, its Jacobian J and the bias J̇ v, with the derivation above the code.

`fill_rows` writes them for all joints. Before it are coordinates of joints, which some parts use, and curves; after it
the common parts, then rare parts, which are in the C function of special parts.

A joint is a list of parts; each part fills its rows. The Jacobian maps the velocities (v, ω) of a body, in world axes,
to Ċ: a row holds three numbers for v and three for ω. The bias is C̈ at zero accelerations, that is with v and ω of
each body held constant in world axes.
"""

import math

from ..core.c_function import DERIVATIVE, call_pointer
from ..core.elementary import atan2
from ..core.jit import DISABLED, inlined, njit
from ..core.math3 import add, add_scaled, cross, dot, load3, matvec, matvec_t, perpendicular, scale, sub
from ..core.simd import store
from ..core.tables import own_address
from ..linalg.block_matrix import load_3
from ..model.tables import (
    ANGLE,
    CABLE,
    CABLE_BIAS,
    CABLE_FIRST,
    CABLE_GRADIENT_A,
    CABLE_GRADIENT_B,
    CABLE_NOW,
    CABLE_RATE,
    CABLE_SECOND,
    CABLE_WRAP,
    CABLE_WRAP_RATE,
    COUPLING,
    CURVE,
    CUSTOM,
    DISTANCE,
    DOT,
    LENGTH,
    PARAMETER,
    PLANE,
    POINT,
    PRESCRIBED,
    SOFT,
    STATE_SIZE,
)
from .cables import GRADIENT, PLACE, RATE, ROW, ROWS_ON_TWO, call_cable
from .kinematics import load9

# The C function of special parts: see `mechanism.special_task` ---------------------------------------------------------


# Tasks: rows of special parts; all forces; their powers; their energy; rates of parameters of curves; rows of hubs
ROWS, SPECIAL_FORCES, SPECIAL_POWERS, ENERGY, RATES, HUBS = range(6)

if DISABLED:

    def call_special(task, t, y, out, system):
        """Do one of the tasks. Returns a status."""
        from .mechanism import special_task

        return special_task(task, t, y, out, system)

else:

    @njit
    def call_special(task, t, y, out, system):
        """Do one of the tasks. Returns a status."""
        return call_pointer(system.settings[0].special, own_address(system), task, t, y, out)


# Curves in space, as tables of quintic pieces --------------------------------------------------------------------------
#
# Layout at an offset of the `curves` array: closed (0 or 1), first parameter, length of a piece in the parameter, number of
# pieces, then 18 coefficients a piece: c[k, axis], r(s) = Σ c_k u^k with u = s − (start of the piece).


HEADER = 4
PIECE = 18
PARAMETER_ROUNDING = 1e-15  # relative: a shorter Newton step is rounding
NEWTON_STEPS = 8


@njit
def curve_point(curves, at, s):
    """(r, r′, r″) at parameter s (m, m per unit, m per unit²); an open curve goes on straight past its ends."""
    closed, first, width, count = curves[at], curves[at + 1], curves[at + 2], int(curves[at + 3])
    u = (s - first) / width
    if closed > 0.0:
        u -= math.floor(u / count) * count
    piece = min(max(int(math.floor(u)), 0), count - 1)
    u = (u - piece) * width
    past = 0.0
    if closed == 0.0:
        inside = min(max(u, 0.0), width)
        past = u - inside
        u = inside
    c = at + HEADER + PIECE * piece
    r = (curves[c + 15], curves[c + 16], curves[c + 17])
    d1 = (0.0, 0.0, 0.0)
    d2 = (0.0, 0.0, 0.0)
    for k in range(4, -1, -1):  # Horner, with the derivatives carried along
        d2 = add_scaled((2.0 * d1[0], 2.0 * d1[1], 2.0 * d1[2]), u, d2)
        d1 = add_scaled(r, u, d1)
        r = add_scaled((curves[c + 3 * k], curves[c + 3 * k + 1], curves[c + 3 * k + 2]), u, r)
    if past != 0.0:
        return add_scaled(r, past, d1), d1, (0.0, 0.0, 0.0)
    return r, d1, d2


@njit
def nearest_parameter(curves, at, point, s):
    """The parameter of the point nearest to p: Newton's method on (p − r(s))·r′(s) = 0 from s."""
    for _ in range(NEWTON_STEPS):
        r, d1, d2 = curve_point(curves, at, s)
        gap = sub(point, r)
        slope = dot(d1, d1) - dot(gap, d2)
        if not slope > 0.0:
            slope = dot(d1, d1)
        step = dot(gap, d1) / slope
        s += step
        if abs(step) <= PARAMETER_ROUNDING * (abs(s) + 1.0):
            break
    return s


# Coordinates of joints: the angle of a hinge, the displacement of a slider, the parameter of a curve -------------------
#
# An angle is known from the two orientations up to full turns. Its rate n·(ω_b − ω_a) is integrated with the motion in one
# entry of the state vector, which only selects the turn; the value itself is exact.


@njit
def coordinate_value(y, coordinate, kinematics, curves):
    """Angle (rad), displacement (m), parameter of a curve, length of a cable (m), or wound angle of its drum (rad)."""
    if coordinate.kind >= LENGTH:
        return value_of_cable(y, coordinate, kinematics, curves)
    if coordinate.kind == PARAMETER:
        point = point_in_a(coordinate, kinematics)
        return nearest_parameter(curves, coordinate.curve, point, y[coordinate.at])
    kin_a = kinematics[coordinate.a]
    kin_b = kinematics[coordinate.b]
    rotation_a = load9(kin_a.rotation)
    rotation_b = load9(kin_b.rotation)
    axis = matvec(rotation_a, load3(coordinate.axis_a))
    if coordinate.kind == ANGLE:
        side = matvec(rotation_a, load3(coordinate.side_a))
        turned = matvec(rotation_b, load3(coordinate.side_b))
        angle = atan2(dot(turned, cross(axis, side)), dot(turned, side))
        turns = math.floor((y[coordinate.at] - angle) / (2.0 * math.pi) + 0.5)
        return angle + 2.0 * math.pi * turns
    arm_a = matvec(rotation_a, load3(coordinate.anchor_a))
    arm_b = matvec(rotation_b, load3(coordinate.anchor_b))
    return dot(axis, sub(add(load3(kin_b.x), arm_b), add(load3(kin_a.x), arm_a)))


@njit
def value_of_cable(y, coordinate, kinematics, curves):
    """The length of a cable (m), or the wound angle of one of its drums (rad)."""
    if coordinate.kind == LENGTH:
        call_cable(PLACE, coordinate.curve, y, kinematics, curves)
        return curves[coordinate.curve + CABLE_NOW]
    call_cable(PLACE, int(coordinate.axis_a[0]), y, kinematics, curves)
    return curves[coordinate.curve + CABLE_WRAP]


@njit
def rate_of_cable(y, coordinate, kinematics, curves):
    """The rate of the same (m/s, rad/s)."""
    if coordinate.kind == LENGTH:
        call_cable(RATE, coordinate.curve, y, kinematics, curves)
        return curves[coordinate.curve + CABLE_RATE]
    call_cable(PLACE, int(coordinate.axis_a[0]), y, kinematics, curves)
    return curves[coordinate.curve + CABLE_WRAP_RATE]


@njit
def coordinate_rows(coordinate, kinematics, curves):
    """The gradient and bias of a coordinate that is no parameter: (lin_a, ang_a, lin_b, ang_b, J̇ v)."""
    if coordinate.kind == LENGTH:
        return rows_of_cable(coordinate, kinematics, curves)
    return plain_rows(coordinate, kinematics)


@njit
def rows_of_cable(coordinate, kinematics, curves):
    """The same of the length of a cable on two bodies at most."""
    at = coordinate.curve
    curves[at + CABLE_FIRST], curves[at + CABLE_SECOND] = coordinate.a, coordinate.b
    call_cable(ROWS_ON_TWO, at, curves, kinematics, curves)
    a, b = at + CABLE_GRADIENT_A, at + CABLE_GRADIENT_B
    bias = curves[at + CABLE_BIAS]
    return load_3(curves, a), load_3(curves, a + 3), load_3(curves, b), load_3(curves, b + 3), bias


@njit
def plain_rows(coordinate, kinematics):
    """The same of an angle or a displacement.

    Angle: ṡ = n·(ω_b − ω_a) with n fixed in a; at constant ω, s̈ = (ω_a × n)·(ω_b − ω_a).
    Displacement: s = n·d with d = p_b − p_a. n turns with a, so ṡ = n·(v_pb − v_a) − (d_a × n)·ω_a with d_a = p_b − x_a;
    at constant v and ω, s̈ = n·(ω_b × (ω_b × r_b)) + 2 (ω_a × n)·(v_pb − v_a) + (ω_a × (ω_a × n))·d_a.
    """
    kin_a = kinematics[coordinate.a]
    kin_b = kinematics[coordinate.b]
    rotation_a = load9(kin_a.rotation)
    axis = matvec(rotation_a, load3(coordinate.axis_a))
    omega_a = load3(kin_a.omega)
    omega_b = load3(kin_b.omega)
    turning = cross(omega_a, axis)
    zero = (0.0, 0.0, 0.0)
    if coordinate.kind == ANGLE:
        return zero, (-axis[0], -axis[1], -axis[2]), zero, axis, dot(turning, sub(omega_b, omega_a))
    return plane_row(axis, kin_a, kin_b, matvec(load9(kin_b.rotation), load3(coordinate.anchor_b)))


@njit
def plane_row(axis, kin_a, kin_b, arm_b):
    """Gradient and bias of n·(p_b − x_a), n fixed in body a, p_b = x_b + arm_b fixed in body b; see `coordinate_rows`."""
    omega_a = load3(kin_a.omega)
    omega_b = load3(kin_b.omega)
    offset = sub(add(load3(kin_b.x), arm_b), load3(kin_a.x))
    spin = cross(omega_b, arm_b)
    velocity = sub(add(load3(kin_b.v), spin), load3(kin_a.v))
    turning = cross(omega_a, axis)
    bias = dot(axis, cross(omega_b, spin)) + 2.0 * dot(turning, velocity) + dot(cross(omega_a, turning), offset)
    back = (-axis[0], -axis[1], -axis[2])
    return back, cross(axis, offset), axis, cross(arm_b, axis), bias


@njit
def point_in_a(coordinate, kinematics):
    """anchor_b of body b in the frame of body a (m)."""
    kin_a = kinematics[coordinate.a]
    kin_b = kinematics[coordinate.b]
    arm_b = matvec(load9(kin_b.rotation), load3(coordinate.anchor_b))
    return matvec_t(load9(kin_a.rotation), sub(add(load3(kin_b.x), arm_b), load3(kin_a.x)))


@njit
def parameter_rate(s, coordinate, kinematics, curves):
    """ṡ = r′·w / (r′·r′ − (p − r)·r″), with w the velocity of the point in the frame of body a."""
    kin_a = kinematics[coordinate.a]
    kin_b = kinematics[coordinate.b]
    arm_b = matvec(load9(kin_b.rotation), load3(coordinate.anchor_b))
    offset = sub(add(load3(kin_b.x), arm_b), load3(kin_a.x))
    velocity = sub(add(load3(kin_b.v), cross(load3(kin_b.omega), arm_b)), load3(kin_a.v))
    velocity = sub(velocity, cross(load3(kin_a.omega), offset))
    rotation_a = load9(kin_a.rotation)
    r, d1, d2 = curve_point(curves, coordinate.curve, s)
    gap = sub(matvec_t(rotation_a, offset), r)
    return dot(d1, matvec_t(rotation_a, velocity)) / (dot(d1, d1) - dot(gap, d2))


@njit
def coordinate_rate(y, coordinate, kinematics, curves):
    """Rate of the coordinate (rad/s, m/s, or the parameter's unit a second)."""
    if coordinate.kind == PARAMETER:
        s = coordinate_value(y, coordinate, kinematics, curves)
        return parameter_rate(s, coordinate, kinematics, curves)
    if coordinate.kind >= LENGTH:
        return rate_of_cable(y, coordinate, kinematics, curves)
    return plain_rate(coordinate, kinematics)


@njit
def plain_rate(coordinate, kinematics):
    """The rate of an angle or of a displacement."""
    lin_a, ang_a, lin_b, ang_b, _ = plain_rows(coordinate, kinematics)
    kin_a = kinematics[coordinate.a]
    kin_b = kinematics[coordinate.b]
    return (
        dot(lin_a, load3(kin_a.v)) + dot(ang_a, load3(kin_a.omega))
        + dot(lin_b, load3(kin_b.v)) + dot(ang_b, load3(kin_b.omega))
    )  # fmt: skip


# The rows of all joints ------------------------------------------------------------------------------------------------


@inlined
def store_row(jacobian, at, linear, angular):
    """A row (linear, angular) of J from `at` on."""
    for k in range(3):
        store(jacobian, at + k, linear[k])
        store(jacobian, at + 3 + k, angular[k])


@inlined
def store_point(jacobian, at, sign, arm):
    """The three rows sign · (1, −[arm]×) of a point at `arm` from the centre of mass, as sign and arm."""
    store(jacobian, at, sign)
    for k in range(3):
        store(jacobian, at + 1 + k, arm[k])


@njit
def negative(a):
    """−a."""
    return (-a[0], -a[1], -a[2])


@inlined
def fill_rows(t, y, system):
    """Write `error` C, `jacobian` J and `bias` J̇ v of every active joint from the kinematics table. Returns 0, or the status
    of a function of the user's."""
    parts = system.parts
    kinematics = system.kinematics
    jacobian = system.jacobian
    error = system.error
    bias = system.bias
    joints = system.joints
    for i in range(parts.shape[0]):
        part = parts[i]
        if joints[part.joint].active == 0:
            continue
        if part.kind == POINT:
            point(part, kinematics, jacobian, error, bias)
        elif part.kind == DOT:
            dot_product(part, kinematics, jacobian, error, bias)
        elif part.kind == PLANE:
            plane(part, kinematics, jacobian, error, bias)
        elif part.kind == DISTANCE:
            distance(part, kinematics, jacobian, error, bias)
    if system.settings[0].special_rows != 0:
        return call_special(ROWS, t, y, y, system)
    return 0


# C = x_b + r_b − x_a − r_a, with r fixed in its body: Ċ = v_b + ω_b × r_b − v_a − ω_a × r_a, and with ω constant
# C̈ = ω_b × (ω_b × r_b) − ω_a × (ω_a × r_a). The matrix of ω ↦ ω × r is −[r]×; only the sign and r are stored.
@inlined
def point(part, kinematics, jacobian, error, bias):
    """Three rows: a point of a and a point of b coincide."""
    kin_a = kinematics[part.a]
    kin_b = kinematics[part.b]
    r_a = matvec(load9(kin_a.rotation), load3(part.anchor_a))
    r_b = matvec(load9(kin_b.rotation), load3(part.anchor_b))
    omega_a = load3(kin_a.omega)
    omega_b = load3(kin_b.omega)
    gap = sub(add(load3(kin_b.x), r_b), add(load3(kin_a.x), r_a))
    centripetal = sub(cross(omega_b, cross(omega_b, r_b)), cross(omega_a, cross(omega_a, r_a)))
    for k in range(3):
        store(error, part.row + k, gap[k])
        store(bias, part.row + k, centripetal[k])
    store_point(jacobian, part.block_a, -1.0, r_a)
    store_point(jacobian, part.block_b, 1.0, r_b)


# C = t·n − c, with t fixed in a and n in b: Ċ = (ω_a × t)·n + t·(ω_b × n) = (ω_b − ω_a)·(n × t), and with ω constant
# C̈ = (ω_b − ω_a)·((ω_b × n) × t + n × (ω_a × t)).
@inlined
def dot_product(part, kinematics, jacobian, error, bias):
    """One row: an axis of a and an axis of b at a fixed angle."""
    kin_a = kinematics[part.a]
    kin_b = kinematics[part.b]
    t = matvec(load9(kin_a.rotation), load3(part.axis_a))
    n = matvec(load9(kin_b.rotation), load3(part.axis_b))
    omega_a = load3(kin_a.omega)
    omega_b = load3(kin_b.omega)
    normal = cross(n, t)
    turning = add(cross(cross(omega_b, n), t), cross(n, cross(omega_a, t)))
    error[part.row] = dot(t, n) - part.value
    bias[part.row] = dot(sub(omega_b, omega_a), turning)
    store_row(jacobian, part.block_a, (0.0, 0.0, 0.0), negative(normal))
    store_row(jacobian, part.block_b, (0.0, 0.0, 0.0), normal)


# C = n·(p_b − p_a) − c, with n and p_a fixed in a: see `plane_row`; n·p_a is constant in a and drops out of Ċ.
@inlined
def plane(part, kinematics, jacobian, error, bias):
    """One row: a point of b in a plane of a."""
    kin_a = kinematics[part.a]
    kin_b = kinematics[part.b]
    rotation_a = load9(kin_a.rotation)
    axis = matvec(rotation_a, load3(part.axis_a))
    arm_b = matvec(load9(kin_b.rotation), load3(part.anchor_b))
    lin_a, ang_a, lin_b, ang_b, b = plane_row(axis, kin_a, kin_b, arm_b)
    p_a = add(load3(kin_a.x), matvec(rotation_a, load3(part.anchor_a)))
    error[part.row] = dot(axis, sub(add(load3(kin_b.x), arm_b), p_a)) - part.value
    bias[part.row] = b
    store_row(jacobian, part.block_a, lin_a, ang_a)
    store_row(jacobian, part.block_b, lin_b, ang_b)


# C = |d| − l with d = p_b − p_a, u = d/|d|: Ċ = u·ḋ and C̈ = u·d̈ + (|ḋ|² − (u·ḋ)²)/|d|.
@inlined
def distance(part, kinematics, jacobian, error, bias):
    """One row: two points at a fixed distance."""
    kin_a = kinematics[part.a]
    kin_b = kinematics[part.b]
    r_a = matvec(load9(kin_a.rotation), load3(part.anchor_a))
    r_b = matvec(load9(kin_b.rotation), load3(part.anchor_b))
    omega_a = load3(kin_a.omega)
    omega_b = load3(kin_b.omega)
    d = sub(add(load3(kin_b.x), r_b), add(load3(kin_a.x), r_a))
    length = math.sqrt(dot(d, d))
    u = scale(1.0 / length, d)
    spin_a = cross(omega_a, r_a)
    spin_b = cross(omega_b, r_b)
    rate = sub(add(load3(kin_b.v), spin_b), add(load3(kin_a.v), spin_a))
    along = dot(u, rate)
    error[part.row] = length - part.value
    bias[part.row] = (
        dot(u, sub(cross(omega_b, spin_b), cross(omega_a, spin_a))) + (dot(rate, rate) - along * along) / length
    )
    store_row(jacobian, part.block_a, negative(u), negative(cross(r_a, u)))
    store_row(jacobian, part.block_b, u, cross(r_b, u))


# Parts that few scenes have: curves, couplings, soft constraints, cables, functions of the user's ----------------------


@njit
def fill_special_rows(t, y, system):
    """The rest of `fill_rows`, in the C function of special parts. Returns 0, or the status of a function of the user's."""
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
        elif part.kind == PRESCRIBED:
            prescribed(y, part, system)
        elif part.kind == CABLE:
            cable(y, part, system)
        elif part.kind == CUSTOM:
            status = custom(t, y, part, system)
            if status != 0:
                return status
    return 0


# C = s − s(t): ∂C/∂t = −ṡ(t), and C̈ = J v̇ + J̇ v − s̈(t). In the step in which ṡ jumps it is a mean: `commands.begin_set_row`.
@njit
def prescribed(y, part, system):
    """One row: a coordinate is a function of time, which `commands` has evaluated."""
    coordinate, row = system.coordinates[part.first], system.commands[part.second]
    lin_a, ang_a, lin_b, ang_b, bias = plain_rows(coordinate, system.kinematics)
    value = coordinate_value(y, coordinate, system.kinematics, system.curves)
    system.error[part.row] = value - row.x[0]
    system.partial[part.row] = -row.v[0] - row.before_v[0]
    system.bias[part.row] = bias - row.a[0]
    store_row(system.jacobian, part.block_a, lin_a, ang_a)
    store_row(system.jacobian, part.block_b, lin_b, ang_b)


@njit
def fill_parameter_rates(y, dydt, system):
    """Write the rates of the coordinates that are parameters of curves, or of cables, to dydt."""
    coordinates, kinematics, curves = system.coordinates, system.kinematics, system.curves
    for i in range(coordinates.shape[0]):
        if coordinates[i].kind >= PARAMETER:
            dydt[coordinates[i].at] = coordinate_rate(y, coordinates[i], kinematics, curves)


@njit
def add_row(jacobian, at, factor, linear, angular):
    """Add factor · (linear, angular) to a row of J."""
    for k in range(3):
        jacobian[at + k] += factor * linear[k]
        jacobian[at + 3 + k] += factor * angular[k]


# C_i = n_i·(Rᵀ(p_b − x_a) − r(s)), i = 1, 2, in the frame of a, where s is the parameter of the nearest point and n_i
# span the plane normal to r′(s). On the curve the change of n_i with s does not enter Ċ, and enters C̈ only through
# r″: C̈_i = (bias of a plane with normal n_i) − n_i·r″ ṡ².
@njit
def on_curve(y, part, system):
    """Two rows: a point of body b on a curve fixed in body a."""
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
        store_row(jacobian, part.block_a + 6 * k, lin_a, ang_a)
        store_row(jacobian, part.block_b + 6 * k, lin_b, ang_b)
        normal = cross(tangent, normal)


# C = ratio·s_1 + ratio_2·s_2 − c of two coordinates: gears (two angles), rack and pinion, screw (angle and length).
# Bodies may coincide (a common carrier), so that the blocks are cleared first and added to.
@njit
def coupling(y, part, system):
    """One row: a linear relation of two coordinates."""
    jacobian = system.jacobian
    kinematics = system.kinematics
    zero = (0.0, 0.0, 0.0)
    store_row(jacobian, part.block_a, zero, zero)
    store_row(jacobian, part.block_b, zero, zero)
    store_row(jacobian, part.block_c, zero, zero)
    store_row(jacobian, part.block_d, zero, zero)
    first = system.coordinates[part.first]
    second = system.coordinates[part.second]
    lin_a, ang_a, lin_b, ang_b, bias_1 = plain_rows(first, kinematics)
    add_row(jacobian, part.block_a, part.ratio, lin_a, ang_a)
    add_row(jacobian, part.block_b, part.ratio, lin_b, ang_b)
    lin_c, ang_c, lin_d, ang_d, bias_2 = plain_rows(second, kinematics)
    add_row(jacobian, part.block_c, part.ratio_2, lin_c, ang_c)
    add_row(jacobian, part.block_d, part.ratio_2, lin_d, ang_d)
    value_1 = coordinate_value(y, first, kinematics, system.curves)
    value_2 = coordinate_value(y, second, kinematics, system.curves)
    system.error[part.row] = part.ratio * value_1 + part.ratio_2 * value_2 - part.value
    system.bias[part.row] = part.ratio * bias_1 + part.ratio_2 * bias_2


# The rate of a coordinate, ṡ = g·v, as a row; C is the coordinate itself and the bias c + k s + d ṡ (`value`, `ratio`,
# `ratio_2`), so that g·v̇ + compliance λ = −(c + k s + d ṡ) is a soft constraint.
@njit
def soft(y, part, system):
    """One row: an implicit spring and damper on a coordinate."""
    kinematics = system.kinematics
    coordinate = system.coordinates[part.first]
    lin_a, ang_a, lin_b, ang_b, _ = plain_rows(coordinate, kinematics)
    store_row(system.jacobian, part.block_a, lin_a, ang_a)
    store_row(system.jacobian, part.block_b, lin_b, ang_b)
    s = coordinate_value(y, coordinate, kinematics, system.curves)
    rate = coordinate_rate(y, coordinate, kinematics, system.curves)
    system.error[part.row] = s
    system.bias[part.row] = part.value + part.ratio * s + part.ratio_2 * rate


# C = ℓ − c: see `cables`.
@njit
def cable(y, part, system):
    """One row: the length of a cable, on all its bodies."""
    at, kinematics, curves = part.first, system.kinematics, system.curves
    incidences, joint = system.incidences, system.joints[part.joint]
    call_cable(ROW, at, y, kinematics, curves)
    system.error[part.row] = curves[at + CABLE_NOW] - part.value
    system.bias[part.row] = curves[at + CABLE_BIAS]
    for i in range(joint.first, joint.last):
        curves[at + CABLE_FIRST] = incidences[i].body
        call_cable(GRADIENT, at, y, kinematics, curves)
        gradient = at + CABLE_GRADIENT_A
        linear, angular = load_3(curves, gradient), load_3(curves, gradient + 3)
        store_row(system.jacobian, incidences[i].offset, linear, angular)


# The user's function receives (x, q, v, ω) of up to four bodies, 13 numbers each, and returns C (m), then J (m × 6 for
# each body), then the bias (m).
@njit
def custom(t, y, part, system):
    """The rows of a function of the user's. Returns its status."""
    kinematics = system.kinematics
    error = system.error
    bias = system.bias
    jacobian = system.jacobian
    rows = system.joints[part.joint].rows
    rigid = system.settings[0].rigid
    scratch = system.scratch
    bodies = (part.a, part.b, part.first, part.second)
    blocks = (part.block_a, part.block_b, part.block_c, part.block_d)
    for k in range(4):
        pack_pose(y, bodies[k], rigid, kinematics, scratch[STATE_SIZE * k : STATE_SIZE * (k + 1)])
    out = scratch[4 * STATE_SIZE :]
    status = call_pointer(part.address, 0, DERIVATIVE, t, scratch[: 4 * STATE_SIZE], out[: 26 * rows])
    if status != 0:
        return status
    for r in range(rows):
        error[part.row + r] = out[r]
        bias[part.row + r] = out[25 * rows + r]
        for k in range(4):
            for c in range(6):
                jacobian[blocks[k] + 6 * r + c] = out[rows + 6 * (rows * k + r) + c]
    return 0


@njit
def pack_pose(y, body, rigid, kinematics, out):
    """(x, q, v, ω) of a body, 13 numbers, into out. Particles do not rotate, and the world is at rest at the origin."""
    kin = kinematics[body]
    for k in range(3):
        out[k] = kin.x[k]
        out[7 + k] = kin.v[k]
        out[10 + k] = kin.omega[k]
    if body < rigid:
        for k in range(4):
            out[3 + k] = y[STATE_SIZE * body + 3 + k]
    else:
        out[3] = 1.0
        out[4] = 0.0
        out[5] = 0.0
        out[6] = 0.0
