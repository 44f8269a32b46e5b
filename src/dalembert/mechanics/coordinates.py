"""Coordinates of a joint: the angle a hinge has turned, the length a slider has slid.

An angle is known from the two orientations up to full turns. Its rate n·(ω_b − ω_a) is integrated with the motion in
one entry of the state vector, which only serves to choose the turn; the value itself is exact.
"""

import math

from ..elementary.arctangent import atan2
from ..jit import njit
from ..model.tables import ANGLE, PARAMETER
from ..vec import add, cross, dot, load3, matvec, matvec_t, sub
from .curve import curve_point, nearest_parameter
from .kinematics import load9


@njit
def coordinate_value(y, coordinate, kinematics, curves):
    """Angle (rad), displacement (m), or parameter of a curve."""
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
def coordinate_rows(coordinate, kinematics):
    """The coordinate's gradient and bias: ((lin_a, ang_a, lin_b, ang_b), J̇ v).

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
    return plain_rate(coordinate, kinematics)


@njit
def plain_rate(coordinate, kinematics):
    """The same of an angle or a displacement."""
    lin_a, ang_a, lin_b, ang_b, _ = coordinate_rows(coordinate, kinematics)
    kin_a = kinematics[coordinate.a]
    kin_b = kinematics[coordinate.b]
    return (
        dot(lin_a, load3(kin_a.v)) + dot(ang_a, load3(kin_a.omega))
        + dot(lin_b, load3(kin_b.v)) + dot(ang_b, load3(kin_b.omega))
    )  # fmt: skip
