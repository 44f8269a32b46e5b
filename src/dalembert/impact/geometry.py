"""Where two features touch, how fast they part, and what part of that acceleration is there without forces.

Seen from body j, whose features stand still, a point c of i has, with d = c − x_j and w = v_c − v_j − ω_j × d,

    velocity      w
    acceleration  a_r = a_c − a_j − α_j × d − ω_j × (ω_j × d) − 2 ω_j × w
    with          a_c = a_i + α_i × s + ω_i × (ω_i × s),   s = c − x_i.

The distance of c from a plane, a line or a point of j then changes, with n the unit normal from there to c, like

    ġ = n·w,   g̈ = n·a_r + |w⊥|² / distance,

where w⊥ is w across n, and across the line; for a plane the second term is not there. Of two lines, with e_i, e_j their
directions, n = ± e_i × e_j / |e_i × e_j| turns at ṅ = ± ((ω_i − ω_j) × e_i × e_j)⊥ / |e_i × e_j| as seen from j, and with c
the material point of i that is nearest,

    ġ = n·w,   g̈ = n·a_r + 2 ṅ·w − distance |ṅ|².

The terms without a and α are the bias; the others are J v̇. (At the point of contact P = c − (ρ_i + g/2) n they have the
arms of P, as n × n = 0.) The relative velocity of the material points at P changes, where it is zero, like

    u̇ = a_i + α_i × r_i − a_j − α_j × r_j + ω_i × (Ṗ − v_i) − ω_j × (Ṗ − v_j)

with Ṗ the velocity of the point of contact itself, which is no material point of a ball that rolls.
"""

import math

from ..jit import inlined, njit
from ..mechanics.kinematics import load9
from ..vec import add, add_scaled, cross, dot, load3, matvec, norm, perpendicular, scale, store3, sub
from .tables import EDGES, LINE, PLANE

BLIND = 1e4  # of the tiniest speed
PARALLEL = 1e-9  # sine of the angle of two edges below which their normal is not defined


@njit
def place_touches(count, system, touching):
    """Fill the first `count` touches from the kinematics table."""
    touches = touching.touches
    kinematics = system.kinematics
    for k in range(count):
        place(touches[k], kinematics)


@inlined
def turned(kin, a):
    """A vector of the body in world axes."""
    return matvec(load9(kin.rotation), a)


@njit
def place(touch, kinematics):
    """Everything about one contact that the state tells."""
    kin_i, kin_j = kinematics[touch.i], kinematics[touch.j]
    c = add(load3(kin_i.x), turned(kin_i, load3(touch.point_i)))
    q = add(load3(kin_j.x), turned(kin_j, load3(touch.point_j)))
    e_i, e_j = turned(kin_i, load3(touch.axis_i)), turned(kin_j, load3(touch.axis_j))
    if touch.kind == EDGES:
        n = edge_normal(e_i, e_j, touch.sign)
        k = cross(n, e_j)
        c = add_scaled(c, -dot(sub(c, q), k) / dot(e_i, k), e_i)
        distance = dot(n, sub(c, q))
    else:
        n, distance = normal(touch.kind, sub(c, q), e_j)
    omega_i, omega_j, v_i, v_j = load3(kin_i.omega), load3(kin_j.omega), load3(kin_i.v), load3(kin_j.v)
    s, d = sub(c, load3(kin_i.x)), sub(c, load3(kin_j.x))
    spin = cross(omega_i, s)
    w = sub(add(v_i, spin), add(v_j, cross(omega_j, d)))
    rate = normal_rate(touch, n, e_i, e_j, w, distance, sub(omega_i, omega_j))
    drift = sub(sub(cross(omega_i, spin), cross(omega_j, cross(omega_j, d))), scale(2.0, cross(omega_j, w)))
    bend = dot(w, rate)
    if touch.kind == EDGES:
        bend = 2.0 * bend - distance * dot(rate, rate)
    reach = touch.radius_i + 0.5 * (distance - touch.radius)
    p = add_scaled(c, -reach, n)
    touch.gap = distance - touch.radius
    store3(touch.position, p)
    r_i, r_j = sub(p, load3(kin_i.x)), sub(p, load3(kin_j.x))
    store3(touch.arm_i, r_i)
    store3(touch.arm_j, r_j)
    t = perpendicular(n)
    b = cross(n, t)
    u = sub(add(v_i, cross(omega_i, r_i)), add(v_j, cross(omega_j, r_j)))
    follow = add(v_i, spin)
    if touch.kind == EDGES:
        k = cross(n, e_j)
        slip = -(dot(w, k) + distance * dot(n, cross(rate, e_j))) / dot(e_i, k)
        follow = add_scaled(follow, slip, e_i)
    follow = add_scaled(follow, -reach, add(cross(omega_j, n), rate))
    shear = sub(cross(omega_i, sub(follow, v_i)), cross(omega_j, sub(follow, v_j)))
    store3(touch.velocity, (dot(n, u), dot(t, u), dot(b, u)))
    store3(touch.bias, (dot(n, drift) + bend, dot(t, shear), dot(b, shear)))
    for x in range(3):
        touch.frame[x], touch.frame[3 + x], touch.frame[6 + x] = n[x], t[x], b[x]


@inlined
def edge_normal(e_i, e_j, sign):
    n = cross(e_i, e_j)
    return scale(sign / max(norm(n), PARALLEL), n)


@inlined
def normal(kind, offset, e_j):
    """(n, distance) of a point at `offset` from the feature of j."""
    if kind == PLANE:
        return e_j, dot(e_j, offset)
    if kind == LINE:
        offset = add_scaled(offset, -dot(e_j, offset), e_j)
    distance = norm(offset)
    return scale(1.0 / distance if distance > 0.0 else 0.0, offset), distance


@inlined
def normal_rate(touch, n, e_i, e_j, w, distance, turning):
    """ṅ as seen from body j."""
    if touch.kind == PLANE:
        return (0.0, 0.0, 0.0)
    if touch.kind == EDGES:
        rate = scale(touch.sign / max(norm(cross(e_i, e_j)), PARALLEL), cross(cross(turning, e_i), e_j))
        return add_scaled(rate, -dot(n, rate), n)
    across = add_scaled(w, -dot(n, w), n)
    if touch.kind == LINE:
        across = add_scaled(across, -dot(e_j, w), e_j)
    return scale(1.0 / distance, across)


@njit
def along(touch, f_n, f_t, f_b):
    """A vector of the contact's frame in world axes."""
    f = touch.frame
    return (
        f[0] * f_n + f[3] * f_t + f[6] * f_b, f[1] * f_n + f[4] * f_t + f[7] * f_b, f[2] * f_n + f[5] * f_t + f[8] * f_b
    )  # fmt: skip


@njit
def sliding_direction(touch, tiny):
    """The way the contact slides, in its two tangents: along u where that agrees with the way it slid, else against it, so
    that the force of friction goes on smoothly over the moment where u vanishes, and that moment can be located. Where u is
    next to nothing its direction is rounding, and the way it slid before counts."""
    f, slide = touch.frame, load3(touch.slide)
    u, v = touch.velocity[1], touch.velocity[2]
    before_u = slide[0] * f[3] + slide[1] * f[4] + slide[2] * f[5]
    before_v = slide[0] * f[6] + slide[1] * f[7] + slide[2] * f[8]
    speed = math.sqrt(u * u + v * v)
    if speed <= BLIND * tiny:
        size = math.sqrt(before_u * before_u + before_v * before_v)
        return (before_u / size, before_v / size) if size > 0.0 else (1.0, 0.0)
    if u * before_u + v * before_v < 0.0:
        speed = -speed
    return (u / speed, v / speed)
