"""Parts of joints: for each, the error C, its Jacobian J and the bias J̇ v, with the derivation above the code.

A joint is a list of parts; each part fills its rows. The Jacobian maps the velocities (v, ω) of a body, in world axes,
to Ċ: a row holds three numbers for v and three for ω. The bias is C̈ at zero accelerations, that is with v and ω of each
body held constant in world axes.
"""

import math

from ..jit import inlined, njit
from ..model.tables import (
    DISTANCE,
    DOT,
    PLANE,
    POINT,
)
from ..unchecked import poke
from ..vec import add, cross, dot, load3, matvec, scale, sub
from .ask_special import ROWS, ask
from .coordinates import plane_row
from .kinematics import load9


@inlined
def put(jacobian, at, linear, angular):
    for k in range(3):
        poke(jacobian, at + k, linear[k])
        poke(jacobian, at + 3 + k, angular[k])


@inlined
def put_point(jacobian, at, sign, arm):
    """The three rows sign · (1, −[arm]×) of a body whose point at `arm` from its centre is held."""
    poke(jacobian, at, sign)
    for k in range(3):
        poke(jacobian, at + 1 + k, arm[k])


@njit
def negative(a):
    return (-a[0], -a[1], -a[2])


@inlined
def fill_rows(t, y, system):
    """Fill `error`, `jacobian` and `bias` of every active joint from the kinematics table; 0, or a user's status."""
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
        return ask(ROWS, t, y, y, system)
    return 0


# C = x_b + r_b − x_a − r_a, with r fixed in its body: Ċ = v_b + ω_b × r_b − v_a − ω_a × r_a, and with ω constant
# C̈ = ω_b × (ω_b × r_b) − ω_a × (ω_a × r_a). The matrix of ω ↦ ω × r is −[r]×; only the sign and r are kept.
@inlined
def point(part, kinematics, jacobian, error, bias):
    kin_a = kinematics[part.a]
    kin_b = kinematics[part.b]
    r_a = matvec(load9(kin_a.rotation), load3(part.anchor_a))
    r_b = matvec(load9(kin_b.rotation), load3(part.anchor_b))
    omega_a = load3(kin_a.omega)
    omega_b = load3(kin_b.omega)
    gap = sub(add(load3(kin_b.x), r_b), add(load3(kin_a.x), r_a))
    centripetal = sub(cross(omega_b, cross(omega_b, r_b)), cross(omega_a, cross(omega_a, r_a)))
    for k in range(3):
        poke(error, part.row + k, gap[k])
        poke(bias, part.row + k, centripetal[k])
    put_point(jacobian, part.block_a, -1.0, r_a)
    put_point(jacobian, part.block_b, 1.0, r_b)


# C = t·n − c, with t fixed in a and n in b: Ċ = (ω_a × t)·n + t·(ω_b × n) = (ω_b − ω_a)·(n × t), and with ω constant
# C̈ = (ω_b − ω_a)·((ω_b × n) × t + n × (ω_a × t)).
@inlined
def dot_product(part, kinematics, jacobian, error, bias):
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
    put(jacobian, part.block_a, (0.0, 0.0, 0.0), negative(normal))
    put(jacobian, part.block_b, (0.0, 0.0, 0.0), normal)


# C = n·(p_b − p_a) − c, with n and p_a fixed in a: see `plane_row`; n·p_a is constant in a and drops out of Ċ.
@inlined
def plane(part, kinematics, jacobian, error, bias):
    kin_a = kinematics[part.a]
    kin_b = kinematics[part.b]
    rotation_a = load9(kin_a.rotation)
    axis = matvec(rotation_a, load3(part.axis_a))
    arm_b = matvec(load9(kin_b.rotation), load3(part.anchor_b))
    lin_a, ang_a, lin_b, ang_b, b = plane_row(axis, kin_a, kin_b, arm_b)
    p_a = add(load3(kin_a.x), matvec(rotation_a, load3(part.anchor_a)))
    error[part.row] = dot(axis, sub(add(load3(kin_b.x), arm_b), p_a)) - part.value
    bias[part.row] = b
    put(jacobian, part.block_a, lin_a, ang_a)
    put(jacobian, part.block_b, lin_b, ang_b)


# C = |d| − l with d = p_b − p_a, u = d/|d|: Ċ = u·ḋ and C̈ = u·d̈ + (|ḋ|² − (u·ḋ)²)/|d|.
@inlined
def distance(part, kinematics, jacobian, error, bias):
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
    put(jacobian, part.block_a, negative(u), negative(cross(r_a, u)))
    put(jacobian, part.block_b, u, cross(r_b, u))
