"""Cables through eyes, around pulleys and onto drums: path, length, rate, rows of J and J̇ v, and the tensions with friction.

The path is the shortest one that keeps its order: straight between the elements, a geodesic on each cylinder. Where a
straight part meets a cylinder it is tangent to it. So a small move of a point of contact along the cylinder does not change
the length ℓ, and with e the direction of a straight part from A on body i to B on body j

    ℓ̇ = Σ e·(v_B − v_A),   v_A = v_i + ω_i × (A − x_i), the velocity of the body there.

The points of contact move along their bodies, so that ℓ̈ at constant v and ω of the bodies has their velocities Ȧ, Ḃ in it:

    J̇ v = Σ [e·(ω_j × (Ḃ − v_j) − ω_i × (Ȧ − v_i)) + ė·(v_B − v_A)],   ė = (ḋ − e (e·ḋ))/|d|,   d = B − A.

**A point of contact.** In the plane across the axis let p be the other end of the straight part from the centre, D = |p|, and
n the outward normal at the contact. n·p = r and |p − r n|² = l² = D² − r² give n = (r p ± l p⊥)/D², with + where the cable
comes to a cylinder around which it turns counter-clockwise. Ȧ follows by differentiation. Along the axis a geodesic rises in
proportion to its way in that plane. Cylinders that follow each other are solved in turn, again and again: a contact that
moves along the line that is sought turns that line in second order only, so that few rounds reach rounding.

A pulley that has no full turn is left by the cable where the straight way is free. A *drum* holds the end of its cable: the
wound angle θ is counted by an entry of the state (a coordinate of kind WRAP), which only selects the turn. A pulley that the
cable turns is a drum, without end, of the pieces on both sides. There the cable is free to move along the axis; in a piece
between two such pulleys it runs in the plane of the first one's centre, which is exact where all of the piece is in this
plane.

All of this is a C function of its own, so that scenes without cables do not compile it. It works on the table of one cable,
whose header has what it takes and returns (`model.tables`).
"""

import math
from typing import Any

import numpy as np

from ..core.c_function import C_SIGNATURE, call_pointer, viewer
from ..core.elementary import atan2, exp, tanh
from ..core.jit import DISABLED, CFunction, njit
from ..core.math3 import add, add_scaled, cross, dot, load3, matvec, matvec_t, norm, scale, sub
from ..linalg.block_matrix import load_3, store_3
from ..model.tables import (
    CABLE,
    CABLE_ANCHOR,
    CABLE_ARC,
    CABLE_ARRIVES,
    CABLE_ARRIVES_RATE,
    CABLE_AXIS,
    CABLE_BIAS,
    CABLE_BLOCK,
    CABLE_BODY,
    CABLE_CREEP,
    CABLE_DAMPING,
    CABLE_DRUM,
    CABLE_ELASTIC,
    CABLE_ELEMENT,
    CABLE_ENDLESS,
    CABLE_ENERGY,
    CABLE_ENTRY,
    CABLE_FIRST,
    CABLE_FRICTION,
    CABLE_GRADIENT_A,
    CABLE_GRADIENT_B,
    CABLE_HEADER,
    CABLE_KIND,
    CABLE_LEAVES,
    CABLE_LEAVES_RATE,
    CABLE_NOW,
    CABLE_OFF,
    CABLE_POINT,
    CABLE_POWER,
    CABLE_PULL,
    CABLE_RADIUS,
    CABLE_RATE,
    CABLE_REST,
    CABLE_ROUNDS,
    CABLE_SECOND,
    CABLE_SENSE,
    CABLE_SIDE,
    CABLE_SLOT,
    CABLE_STIFFNESS,
    CABLE_TAUT,
    CABLE_TENSION,
    CABLE_WINDOW,
    CABLE_WRAP,
    CABLE_WRAP_RATE,
    KINEMATICS,
    LENGTH,
    WRAP,
)
from .kinematics import load9

ROUNDS = 400  # most rounds over cylinders that follow each other
ROUNDING = 1e-15  # of the length: a smaller move of a contact is rounding
RATE_ROUNDING = 1e-13  # of the largest rate of a contact
ALONG = 1e-12  # sine of an angle that is none
BACKWARD = 1e-9  # rad: a smaller turn the other way is rounding, and not a full turn
TWO_PI = 2.0 * math.pi
ZERO = (0.0, 0.0, 0.0)


@njit
def element_at(at, i):
    """Where element i of the cable at `at` begins."""
    return at + CABLE_HEADER + CABLE_ELEMENT * i


@njit
def kind_of(e, curves):
    """The kind of an element."""
    return int(curves[e + CABLE_KIND])


@njit
def is_on(e, curves):
    """Whether the cable touches this element."""
    return curves[e + CABLE_OFF] == 0.0


@njit
def next_on(at, i, step, curves):
    """The next element on the way that the cable touches; step : 1 or −1. The ends are always such."""
    i += step
    while not is_on(element_at(at, i), curves):
        i += step
    return i


@njit
def velocity_at(point, kin):
    """The velocity of the body's own point there."""
    return add(load3(kin.v), cross(load3(kin.omega), sub(point, load3(kin.x))))


# The path ---------------------------------------------------------------------------------------------------------------


@njit
def place_cable(at, y, counted, kinematics, curves):
    """Find the path: points of contact, their velocities, wound angles and arcs, into `curves`. counted : whether turns of
    drums are those nearest to y; else to the last ones. Returns the length (m)."""
    count = int(curves[at])
    for i in range(count):
        e = element_at(at, i)
        kin = kinematics[int(curves[e + CABLE_BODY])]
        point = add(load3(kin.x), matvec(load9(kin.rotation), load_3(curves, e + CABLE_ANCHOR)))
        rate = velocity_at(point, kin)
        put_contact(e, point, rate, curves)
        curves[e + CABLE_ARC], curves[e + CABLE_OFF] = 0.0, 0.0
    length = length_of(at, curves) if curves[at + CABLE_ROUNDS] == 0.0 else 0.0
    for _ in range(0 if curves[at + CABLE_ROUNDS] == 0.0 else ROUNDS):
        moved, changed, fastest = 0.0, 0.0, 0.0
        for i in range(count):
            one, other, speed = place_element(at, i, y, counted, kinematics, curves)
            moved, changed, fastest = max(moved, one), max(changed, other), max(fastest, speed)
        length = length_of(at, curves)
        if curves[at + CABLE_ROUNDS] == 1.0 or (moved <= ROUNDING * length and changed <= RATE_ROUNDING * fastest):
            break
    curves[at + CABLE_NOW] = length
    return length


@njit
def put_contact(e, point, rate, curves):
    """The same point where the cable arrives and leaves."""
    store_3(curves, e + CABLE_ARRIVES, point)
    store_3(curves, e + CABLE_LEAVES, point)
    store_3(curves, e + CABLE_ARRIVES_RATE, rate)
    store_3(curves, e + CABLE_LEAVES_RATE, rate)


@njit
def length_of(at, curves):
    """Straight parts and arcs (m)."""
    last, i, total = int(curves[at]) - 1, 0, 0.0
    total += curves[element_at(at, 0) + CABLE_ARC]
    while i < last:
        j = next_on(at, i, 1, curves)
        a, b = element_at(at, i), element_at(at, j)
        total += norm(sub(load_3(curves, b + CABLE_ARRIVES), load_3(curves, a + CABLE_LEAVES)))
        total += curves[b + CABLE_ARC]
        i = j
    return total


@njit
def place_element(at, i, y, counted, kinematics, curves):
    """Find the contacts of a pulley or a drum, from those of its neighbours. Returns how far they moved (m), by how much
    their velocities changed, and the larger of these velocities (m/s)."""
    e = element_at(at, i)
    kind = kind_of(e, curves)
    if kind == CABLE_POINT:
        return 0.0, 0.0, 0.0
    before, after = load_3(curves, e + CABLE_ARRIVES), load_3(curves, e + CABLE_LEAVES)
    rate_before, rate_after = load_3(curves, e + CABLE_ARRIVES_RATE), load_3(curves, e + CABLE_LEAVES_RATE)
    kin = kinematics[int(curves[e + CABLE_BODY])]
    if kind == CABLE_DRUM:
        j = next_on(at, i, 1 if i == 0 else -1, curves)
        place_drum(e, element_at(at, j), i > 0, y, counted, kin, curves)
    else:
        last, following = element_at(at, next_on(at, i, -1, curves)), element_at(at, next_on(at, i, 1, curves))
        if kind == CABLE_BLOCK:
            place_block(e, last, following, kin, curves)
        else:
            place_pulley(e, last, following, kin, curves)
    arriving, leaving = load_3(curves, e + CABLE_ARRIVES_RATE), load_3(curves, e + CABLE_LEAVES_RATE)
    return (
        max(norm(sub(load_3(curves, e + CABLE_ARRIVES), before)), norm(sub(load_3(curves, e + CABLE_LEAVES), after))),
        max(norm(sub(arriving, rate_before)), norm(sub(leaving, rate_after))),
        max(norm(arriving), norm(leaving)),
    )


@njit
def in_cylinder(e, point, rate, kin, curves):
    """A point and its velocity in the axes of a cylinder (side, axis × side, axis), from its centre, as the cylinder
    sees them."""
    rotation = load9(kin.rotation)
    k, x = load_3(curves, e + CABLE_AXIS), load_3(curves, e + CABLE_SIDE)
    z = cross(k, x)
    p = sub(matvec_t(rotation, sub(point, load3(kin.x))), load_3(curves, e + CABLE_ANCHOR))
    d = matvec_t(rotation, sub(rate, velocity_at(point, kin)))
    return (dot(x, p), dot(z, p), dot(k, p)), (dot(x, d), dot(z, d), dot(k, d))


@njit
def from_cylinder(e, p, d, kin, curves):
    """The inverse: a point and its velocity in the world."""
    rotation = load9(kin.rotation)
    k, x = load_3(curves, e + CABLE_AXIS), load_3(curves, e + CABLE_SIDE)
    z = cross(k, x)
    local = add_scaled(add_scaled(add_scaled(load_3(curves, e + CABLE_ANCHOR), p[0], x), p[1], z), p[2], k)
    point = add(load3(kin.x), matvec(rotation, local))
    slides = matvec(rotation, add_scaled(add_scaled(scale(d[0], x), d[1], z), d[2], k))
    return point, add(velocity_at(point, kin), slides)


@njit
def tangent(p, d, radius, sense):
    """Of a point p with velocity d: (n, ṅ, l, l̇), the normal at the contact and the length of the straight part, in the
    plane. sense : of the turn, where the cable comes from p; its negative where it goes to p."""
    square = p[0] * p[0] + p[1] * p[1]
    r = min(radius, math.sqrt(square))  # a point inside: only in the course of a failed step
    straight = math.sqrt(max(square - r * r, 0.0))
    along = p[0] * d[0] + p[1] * d[1]
    straight_rate = along / straight if straight > 0.0 else 0.0
    s = sense * straight
    n = ((r * p[0] - s * p[1]) / square, (r * p[1] + s * p[0]) / square)
    s_rate, more = sense * straight_rate, 2.0 * along / square
    rate = (
        (r * d[0] - s * d[1] - s_rate * p[1]) / square - more * n[0],
        (r * d[1] + s * d[0] + s_rate * p[0]) / square - more * n[1],
    )  # fmt: skip
    return n, rate, straight, straight_rate


@njit
def turn_rate(n, rate):
    """The angular velocity of a unit vector in the plane."""
    return n[0] * rate[1] - n[1] * rate[0]


@njit
def angle_from(n, m):
    """The angle from n to m, both in the plane, in (−π, π]."""
    return atan2(n[0] * m[1] - n[1] * m[0], n[0] * m[0] + n[1] * m[1])


@njit
def is_free(p, q, radius, sense):
    """Whether the straight way from p to q does not touch the cylinder, on the side on which the cable passes it."""
    dx, dy = q[0] - p[0], q[1] - p[1]
    square = dx * dx + dy * dy
    foot = -(p[0] * dx + p[1] * dy)
    aside = sense * (dy * p[0] - dx * p[1])  # of the centre, times the length: positive on the inner side
    return foot > 0.0 and foot < square and aside > 0.0 and aside * aside >= radius * radius * square


@njit
def place_pulley(e, before, after, kin, curves):
    """The contacts of a pulley between two elements."""
    radius, sense, window = curves[e + CABLE_RADIUS], curves[e + CABLE_SENSE], curves[e + CABLE_WINDOW]
    p, p_rate = in_cylinder(
        e, load_3(curves, before + CABLE_LEAVES), load_3(curves, before + CABLE_LEAVES_RATE), kin, curves
    )
    q, q_rate = in_cylinder(
        e, load_3(curves, after + CABLE_ARRIVES), load_3(curves, after + CABLE_ARRIVES_RATE), kin, curves
    )
    curves[e + CABLE_OFF] = 1.0 if window < 0.0 and is_free(p, q, radius, sense) else 0.0
    if curves[e + CABLE_OFF] != 0.0:
        curves[e + CABLE_ARC] = curves[e + CABLE_WRAP] = curves[e + CABLE_WRAP_RATE] = 0.0
        return
    n, n_rate, first, first_rate = tangent(p, p_rate, radius, sense)
    m, m_rate, second, second_rate = tangent(q, q_rate, radius, -sense)
    wrap = sense * angle_from(n, m)
    if window >= 0.0:
        wrap += TWO_PI * math.floor((window - wrap) / TWO_PI + 0.5)
    elif wrap < -BACKWARD:
        wrap += TWO_PI
    wrap_rate = sense * (turn_rate(m, m_rate) - turn_rate(n, n_rate))
    way, rise = first + radius * wrap + second, q[2] - p[2]
    way_rate, rise_rate = first_rate + radius * wrap_rate + second_rate, q_rate[2] - p_rate[2]
    slope = rise / way
    slope_rate = (rise_rate - slope * way_rate) / way
    curves[e + CABLE_WRAP], curves[e + CABLE_WRAP_RATE] = wrap, wrap_rate
    curves[e + CABLE_ARC] = radius * wrap * math.sqrt(1.0 + slope * slope)
    point, rate = from_cylinder(
        e, (radius * n[0], radius * n[1], p[2] + slope * first),
        (radius * n_rate[0], radius * n_rate[1], p_rate[2] + slope_rate * first + slope * first_rate), kin, curves,
    )  # fmt: skip
    store_3(curves, e + CABLE_ARRIVES, point)
    store_3(curves, e + CABLE_ARRIVES_RATE, rate)
    point, rate = from_cylinder(
        e, (radius * m[0], radius * m[1], q[2] - slope * second),
        (radius * m_rate[0], radius * m_rate[1], q_rate[2] - slope_rate * second - slope * second_rate), kin, curves,
    )  # fmt: skip
    store_3(curves, e + CABLE_LEAVES, point)
    store_3(curves, e + CABLE_LEAVES_RATE, rate)


# A pulley that swivels turns its plane to the cable: the plane through its centre c and the two points from which the cable
# comes and to which it goes, p and q from c. This is the geodesic on a sphere, so that all of the above holds for it. k is
# the normal of the plane on the side of the given axis, and n = (r p ± l k × p)/|p|² as in the plane.
@njit
def place_block(e, before, after, kin, curves):
    """The contacts of a pulley that swivels, between two elements."""
    radius, sense, window = curves[e + CABLE_RADIUS], curves[e + CABLE_SENSE], curves[e + CABLE_WINDOW]
    rotation = load9(kin.rotation)
    centre = add(load3(kin.x), matvec(rotation, load_3(curves, e + CABLE_ANCHOR)))
    rate = velocity_at(centre, kin)
    p, p_rate = (
        sub(load_3(curves, before + CABLE_LEAVES), centre),
        sub(load_3(curves, before + CABLE_LEAVES_RATE), rate),
    )
    q, q_rate = (
        sub(load_3(curves, after + CABLE_ARRIVES), centre),
        sub(load_3(curves, after + CABLE_ARRIVES_RATE), rate),
    )
    normal, normal_rate = cross(p, q), add(cross(p_rate, q), cross(p, q_rate))
    size = norm(normal)
    axis = matvec(rotation, load_3(curves, e + CABLE_AXIS))
    if size <= ALONG * norm(p) * norm(q):  # the centre is on the line through both: no plane
        normal, normal_rate, size = axis, cross(load3(kin.omega), axis), 1.0
    side = 1.0 / size if dot(normal, axis) >= 0.0 else -1.0 / size
    k = scale(side, normal)
    turning = scale(side, normal_rate)
    k_rate = add_scaled(turning, -dot(k, turning), k)
    x = scale(1.0 / norm(p), p)
    z = cross(k, x)
    flat = (dot(x, q), dot(z, q))
    off = window < 0.0 and is_free((norm(p), 0.0), flat, radius, sense)
    curves[e + CABLE_OFF] = 1.0 if off else 0.0
    if off:
        curves[e + CABLE_ARC] = curves[e + CABLE_WRAP] = curves[e + CABLE_WRAP_RATE] = 0.0
        return
    n, n_rate = tangent_on_sphere(p, p_rate, k, k_rate, radius, sense)
    m, m_rate = tangent_on_sphere(q, q_rate, k, k_rate, radius, -sense)
    wrap = sense * atan2(dot(k, cross(n, m)), dot(n, m))
    if window >= 0.0:
        wrap += TWO_PI * math.floor((window - wrap) / TWO_PI + 0.5)
    elif wrap < -BACKWARD:
        wrap += TWO_PI
    curves[e + CABLE_WRAP], curves[e + CABLE_ARC] = wrap, radius * wrap
    store_3(curves, e + CABLE_ARRIVES, add_scaled(centre, radius, n))
    store_3(curves, e + CABLE_LEAVES, add_scaled(centre, radius, m))
    store_3(curves, e + CABLE_ARRIVES_RATE, add_scaled(rate, radius, n_rate))
    store_3(curves, e + CABLE_LEAVES_RATE, add_scaled(rate, radius, m_rate))


@njit
def tangent_on_sphere(p, d, k, k_rate, radius, sense):
    """(n, ṅ) of a point p with velocity d in the plane with the normal k; see `tangent`."""
    square = dot(p, p)
    r = min(radius, math.sqrt(square))
    straight = math.sqrt(max(square - r * r, 0.0))
    along = dot(p, d)
    straight_rate = along / straight if straight > 0.0 else 0.0
    aside = cross(k, p)
    n = scale(1.0 / square, add_scaled(scale(r, p), sense * straight, aside))
    rate = add_scaled(scale(r, d), sense * straight_rate, aside)
    rate = add_scaled(rate, sense * straight, add(cross(k_rate, p), cross(k, d)))
    return n, add_scaled(scale(1.0 / square, rate), -2.0 * along / square, n)


@njit
def place_drum(e, other, ends, y, counted, kin, curves):
    """The contact of a drum, whose cable is fixed to it at its side. ends : whether the cable ends here, rather than begins.
    `sense` is that of the turn on the way onto the drum. Off its end, the cable is straight to where it is fixed."""
    radius, sense = curves[e + CABLE_RADIUS], curves[e + CABLE_SENSE]
    where, speed = (CABLE_LEAVES, CABLE_LEAVES_RATE) if ends else (CABLE_ARRIVES, CABLE_ARRIVES_RATE)
    p, p_rate = in_cylinder(e, load_3(curves, other + where), load_3(curves, other + speed), kin, curves)
    n, n_rate, first, first_rate = tangent(p, p_rate, radius, sense)
    wrap = sense * angle_from(n, (1.0, 0.0))
    slot = int(curves[e + CABLE_SLOT])
    near = y[slot] if counted and slot >= 0 else curves[e + CABLE_WRAP]
    wrap += TWO_PI * math.floor((near - wrap) / TWO_PI + 0.5)
    curves[e + CABLE_WRAP], curves[e + CABLE_WRAP_RATE] = wrap, -sense * turn_rate(n, n_rate)
    endless = curves[e + CABLE_ENDLESS]
    curves[e + CABLE_ARC] = radius * wrap
    z, z_rate = (p[2], p_rate[2]) if endless == 1.0 else (0.0, 0.0)
    if endless == 0.0 and wrap < 0.0:
        n, n_rate = (1.0, 0.0), (0.0, 0.0)
        curves[e + CABLE_ARC] = 0.0
    elif endless == 0.0:
        way = first + radius * wrap
        slope = p[2] / way
        slope_rate = (p_rate[2] - slope * (first_rate + radius * curves[e + CABLE_WRAP_RATE])) / way
        z, z_rate = p[2] - slope * first, p_rate[2] - slope_rate * first - slope * first_rate
        curves[e + CABLE_ARC] = radius * wrap * math.sqrt(1.0 + slope * slope)
    point, rate = from_cylinder(
        e, (radius * n[0], radius * n[1], z), (radius * n_rate[0], radius * n_rate[1], z_rate), kin, curves
    )
    put_contact(e, point, rate, curves)


# Rates and rows ---------------------------------------------------------------------------------------------------------


@njit
def straight_part(a, b, curves):
    """(A, B, e, |d|) of the straight part from the element at a to that at b."""
    start, end = load_3(curves, a + CABLE_LEAVES), load_3(curves, b + CABLE_ARRIVES)
    d = sub(end, start)
    length = norm(d)
    return start, end, scale(1.0 / length if length > 0.0 else 0.0, d), length


@njit
def rate_of_part(a, b, kinematics, curves):
    """e·(v_B − v_A): how fast the straight part takes up cable (m/s)."""
    start, end, e, _ = straight_part(a, b, curves)
    kin_a, kin_b = kinematics[int(curves[a + CABLE_BODY])], kinematics[int(curves[b + CABLE_BODY])]
    return dot(e, sub(velocity_at(end, kin_b), velocity_at(start, kin_a)))


@njit
def cable_rate(at, kinematics, curves):
    """ℓ̇ (m/s), where the path was found."""
    last, i, total = int(curves[at]) - 1, 0, 0.0
    while i < last:
        j = next_on(at, i, 1, curves)
        total += rate_of_part(element_at(at, i), element_at(at, j), kinematics, curves)
        i = j
    return total


@njit
def bias_of_part(a, b, kinematics, curves):
    """The part's share of J̇ v."""
    start, end, e, length = straight_part(a, b, curves)
    kin_a, kin_b = kinematics[int(curves[a + CABLE_BODY])], kinematics[int(curves[b + CABLE_BODY])]
    start_rate, end_rate = load_3(curves, a + CABLE_LEAVES_RATE), load_3(curves, b + CABLE_ARRIVES_RATE)
    d, w = sub(end_rate, start_rate), sub(velocity_at(end, kin_b), velocity_at(start, kin_a))
    turning = dot(d, w) - dot(e, d) * dot(e, w)
    total = dot(e, cross(load3(kin_b.omega), sub(end_rate, load3(kin_b.v))))
    total -= dot(e, cross(load3(kin_a.omega), sub(start_rate, load3(kin_a.v))))
    return total + (turning / length if length > 0.0 else 0.0)


@njit
def cable_bias(at, kinematics, curves):
    """J̇ v (m/s²), where the path was found."""
    last, i, total = int(curves[at]) - 1, 0, 0.0
    while i < last:
        j = next_on(at, i, 1, curves)
        total += bias_of_part(element_at(at, i), element_at(at, j), kinematics, curves)
        i = j
    return total


@njit
def gradient_on(at, body, kinematics, curves):
    """∂ℓ/∂(x, θ) of one body: (linear, angular), where the path was found."""
    linear, angular = ZERO, ZERO
    last, i = int(curves[at]) - 1, 0
    x = load3(kinematics[body].x)
    while i < last:
        j = next_on(at, i, 1, curves)
        a, b = element_at(at, i), element_at(at, j)
        start, end, e, _ = straight_part(a, b, curves)
        if int(curves[a + CABLE_BODY]) == body:
            linear, angular = sub(linear, e), sub(angular, cross(sub(start, x), e))
        if int(curves[b + CABLE_BODY]) == body:
            linear, angular = add(linear, e), add(angular, cross(sub(end, x), e))
        i = j
    return linear, angular


@njit
def put_gradient(at, body, to, kinematics, curves):
    """The gradient on a body into the header, at `to`."""
    linear, angular = gradient_on(at, body, kinematics, curves)
    store_3(curves, at + to, linear)
    store_3(curves, at + to + 3, angular)


@njit
def put_gradients(at, kinematics, curves):
    """The gradients on the two bodies in the header. That of a body that is both counts once."""
    a, b = int(curves[at + CABLE_FIRST]), int(curves[at + CABLE_SECOND])
    put_gradient(at, a, CABLE_GRADIENT_A, kinematics, curves)
    if b != a:
        put_gradient(at, b, CABLE_GRADIENT_B, kinematics, curves)
        return
    store_3(curves, at + CABLE_GRADIENT_B, ZERO)
    store_3(curves, at + CABLE_GRADIENT_B + 3, ZERO)


# A cable that stretches -------------------------------------------------------------------------------------------------
#
# Its tension is T = k (ℓ − ℓ₀) + d ℓ̇, never below zero, with the energy ½ k (ℓ − ℓ₀)². Friction on an eye or a pulley with
# the angle of contact θ lets the tensions on its two sides differ by e^{μ θ} at most, as Euler's equation for a rope on a
# capstan says. With ρ_i the rate at which straight part i takes up cable, and a_i its share of the length, cable passes the
# element after it at the rate f_i = Σ_{j ≤ i} (ρ_j − a_j ℓ̇), toward the first end where it is positive. Then
#
#     T_i/T_{i+1} = e^{μ θ s},   s = tanh(f_i/creep),   Σ a_i T_i = T.
#
# The power of the tensions is Σ T_i ρ_i = T ℓ̇ + Σ (T_i − T_{i+1}) f_i, so that friction only takes energy. At rest the cable
# creeps instead of sticking.


@njit
def contact_angle(a, b, c, curves):
    """The angle by which friction acts at element b, between elements a and c: θ of a pulley, the bend at an eye."""
    if kind_of(b, curves) != CABLE_POINT:
        return curves[b + CABLE_WRAP]
    _, _, e, _ = straight_part(a, b, curves)
    _, _, f, _ = straight_part(b, c, curves)
    return atan2(norm(cross(e, f)), dot(e, f))


@njit
def share_of_part(a, b, length, curves):
    """The share of a straight part, and of half the arcs at its ends, of the length."""
    _, _, _, straight = straight_part(a, b, curves)
    whole_a, whole_b = kind_of(a, curves) == CABLE_DRUM, kind_of(b, curves) == CABLE_DRUM
    arcs = (1.0 if whole_a else 0.5) * curves[a + CABLE_ARC] + (1.0 if whole_b else 0.5) * curves[b + CABLE_ARC]
    return (straight + arcs) / length


@njit
def share_tension(at, tension, length, rate, kinematics, curves):
    """The tension of each straight part (N), at the element where it begins, from their mean over the length."""
    last, i, weight, total, passed = int(curves[at]) - 1, 0, 1.0, 0.0, 0.0
    creep = curves[at + CABLE_CREEP]
    while i < last:
        j = next_on(at, i, 1, curves)
        a, b = element_at(at, i), element_at(at, j)
        share = share_of_part(a, b, length, curves)
        curves[a + CABLE_TENSION] = weight
        total += share * weight
        passed += rate_of_part(a, b, kinematics, curves) - share * rate
        friction = curves[b + CABLE_FRICTION]
        if j < last and friction > 0.0:
            angle = contact_angle(a, b, element_at(at, next_on(at, j, 1, curves)), curves)
            weight *= exp(-friction * angle * tanh(passed / creep))
        i = j
    i = 0
    while i < last:
        a = element_at(at, i)
        curves[a + CABLE_TENSION] *= tension / total
        i = next_on(at, i, 1, curves)


@njit
def pull_bodies(at, kinematics, curves):
    """Add the tensions of the straight parts to force and torque of the bodies."""
    last, i = int(curves[at]) - 1, 0
    while i < last:
        j = next_on(at, i, 1, curves)
        a, b = element_at(at, i), element_at(at, j)
        start, end, e, _ = straight_part(a, b, curves)
        f = scale(curves[a + CABLE_TENSION], e)
        pull(kinematics[int(curves[a + CABLE_BODY])], start, f)
        pull(kinematics[int(curves[b + CABLE_BODY])], end, scale(-1.0, f))
        i = j


@njit
def pull(kin, point, force):
    """Add a force (N) at a point of the world to a row of the kinematics table."""
    torque = cross(sub(point, load3(kin.x)), force)
    for k in range(3):
        kin.force[k] += force[k]
        kin.torque[k] += torque[k]


@njit
def stretch_of(at, y, kinematics, curves):
    """ℓ − ℓ₀ (m), after the path is found."""
    return place_cable(at, y, True, kinematics, curves) - curves[at + CABLE_REST]


@njit
def exert_cable(at, y, kinematics, curves):
    """Exert the tension of a cable that stretches on the bodies. Writes its elastic part and the power of the rest."""
    stretch = stretch_of(at, y, kinematics, curves)
    curves[at + CABLE_ELASTIC], curves[at + CABLE_TAUT], curves[at + CABLE_POWER] = 0.0, 0.0, 0.0
    if not stretch > 0.0:
        return
    rate = cable_rate(at, kinematics, curves)
    elastic = curves[at + CABLE_STIFFNESS] * stretch
    tension = max(elastic + curves[at + CABLE_DAMPING] * rate, 0.0)
    share_tension(at, tension, curves[at + CABLE_NOW], rate, kinematics, curves)
    pull_bodies(at, kinematics, curves)
    curves[at + CABLE_ELASTIC], curves[at + CABLE_TAUT] = elastic, 1.0
    put_power(at, kinematics, curves)


@njit
def put_power(at, kinematics, curves):
    """Write the power of damping and friction at the velocities in the kinematics table, with the tensions exerted last."""
    total, i = 0.0, 0
    last = int(curves[at]) - 1
    while curves[at + CABLE_TAUT] != 0.0 and i < last:
        j = next_on(at, i, 1, curves)
        a = element_at(at, i)
        rate = rate_of_part(a, element_at(at, j), kinematics, curves)
        total -= (curves[a + CABLE_TENSION] - curves[at + CABLE_ELASTIC]) * rate
        i = j
    curves[at + CABLE_POWER] = total


# The C function ---------------------------------------------------------------------------------------------------------


# Tasks: the length, with wound angles; the same and ℓ̇; the same and J̇ v; the gradient on one body where the path was found;
# J̇ v and gradients on two bodies, with turns nearest to the last ones; the pull of a cable that stretches, its power at other
# velocities, its energy
PLACE, RATE, ROW, GRADIENT, ROWS_ON_TWO, PULL, PULL_POWER, PULL_ENERGY = range(8)


@njit
def cable_task(task, at, y, kinematics, curves):
    """Do one of the tasks for the cable at `at`, into its table; those with gradients and tension take the header too."""
    if task == PLACE:
        place_cable(at, y, True, kinematics, curves)
    elif task == RATE:
        place_cable(at, y, True, kinematics, curves)
        curves[at + CABLE_RATE] = cable_rate(at, kinematics, curves)
    elif task == ROW:
        place_cable(at, y, True, kinematics, curves)
        curves[at + CABLE_BIAS] = cable_bias(at, kinematics, curves)
    elif task == GRADIENT:
        put_gradient(at, int(curves[at + CABLE_FIRST]), CABLE_GRADIENT_A, kinematics, curves)
    elif task == ROWS_ON_TWO:
        place_cable(at, y, False, kinematics, curves)
        curves[at + CABLE_BIAS] = cable_bias(at, kinematics, curves)
        put_gradients(at, kinematics, curves)
    elif task == PULL:
        exert_cable(at, y, kinematics, curves)
    elif task == PULL_POWER:
        put_power(at, kinematics, curves)
    else:
        stretch = max(stretch_of(at, y, kinematics, curves), 0.0)
        curves[at + CABLE_ENERGY] = 0.5 * curves[at + CABLE_STIFFNESS] * stretch * stretch


_floats, _kinematics = viewer(np.float64), viewer(KINEMATICS)


def cables_entry(data, task, at, y, n, curves, m):
    cable_task(task, int(at), _floats(y, n), _kinematics(data, 1), _floats(curves, m))
    return 0


CABLES_ENTRY = CFunction(cables_entry, C_SIGNATURE)

if DISABLED:
    call_cable = cable_task

else:

    @njit
    def call_cable(task, at, y, kinematics, curves):
        """`cable_task` through the C pointer in the header."""
        call_pointer(int(curves[at + CABLE_ENTRY]), kinematics.ctypes.data, task, float(at), y, curves)


def tables_of_cables(tables: Any) -> list[int]:
    """Where each cable of a system, or of a model, begins in its curves. tables : these arrays by name."""
    if len(tables["curves"]) <= CABLE_HEADER:
        return []
    parts, coordinates, forces = tables["parts"], tables["coordinates"], tables["forces"]
    found = [
        parts["first"][parts["kind"] == CABLE], coordinates["curve"][coordinates["kind"] == LENGTH],
        coordinates["axis_a"][coordinates["kind"] == WRAP, 0], forces["address"][forces["kind"] == CABLE_PULL],
    ]  # fmt: skip
    return np.unique(np.concatenate(found)).astype(int).tolist()  # type: ignore[no-any-return]
