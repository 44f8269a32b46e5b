"""Continuous collision detection: obstacles in the path of fast bodies, and the time of impact.

Contacts of a step are detected at the positions at its midpoint. They are valid while bodies move little compared with
their thickness. Between two midpoints all bodies move freely. A body is *fast* if it can move by more than a part of
its thickness in a step. Then `step.advance` stops the free motion at the first time at which a pair with a fast body
would go deeper than a small part of its thickness, and resolves the impact there, with the normal and the points at
this time.

The time of impact of a pair is found by conservative advancement (B. V. Mirtich, PhD thesis, 1996): surfaces at a
distance s along the normal n, whose points approach along it at a speed of at most c, do not touch before s/c.
Distances are signed (GJK, EPA), and where surfaces touch, time advances by steps in which no point can move by more
than the depth allowed.

In order: poses during free motion, one pair, the first impact of all pairs, and an impulse on one pair.
"""

import math

import numpy as np

from ..collide.broad_phase import nine
from ..collide.curved import NORMAL, POINT_A, POINT_B, SEPARATION
from ..collide.gjk import FAR, core_radius, load_point, support
from ..collide.polyhedron import show
from ..collide.round import above_plane
from ..collide.tables import AWAKE, DISTANCE, NEED_ROOM, PAIRS
from ..core.c_function import C_SIGNATURE, call_pointer, viewer
from ..core.jit import CFunction, inlined, njit
from ..core.math3 import (
    add,
    add_scaled,
    cross,
    dot,
    load3,
    matmul,
    matvec,
    matvec_t,
    multiply,
    norm,
    rotate_by,
    scale,
    store3,
    sub,
    to_matrix,
)
from ..core.simd import load
from ..core.status import OK
from ..core.tables import own_address, table_at
from ..dynamics.kinematics import rotate_roughly
from ..model.tables import STATE_SIZE
from ..scene.shapes.base import HALF_SPACE, MESH
from .fast import (
    BOUNCES,
    FIND,
    FIND_NEXT,
    IMPACT_NORMAL,
    IMPACT_POINT,
    LITTLE,
    MEET,
    PAIR_ROW,
    SIDE_A,
    SIDE_B,
    TIME,
    UNMET,
    doublings,
    fast_from,
    is_pressed,
    note_strike,
    rebound,
    soon,
    way_of,
)
from .joints import add_impulse, book_reaction
from .tables import ANGULAR, IMPACT, LINEAR, MOTION, ContactTables, three

SAME_NORMAL = 0.9998  # cosine of the angle between two normals that count as one
DEPTH = 0.05  # of the thickness of the thinner of two: how deep they may go in free motion
DEPTH_IN_PILE = 0.2  # likewise, of two that are pressed in a large pile in motion
DEEPEST = 0.3  # likewise, at most, of those with many impacts in half a step
LEFT = 0.1  # of that depth: how deep two may go whose contacts were left to this detection
TOUCH = 0.1  # of that depth: nearer than this they touch
CLOSED = 1e-3  # of that depth: over a gap that is smaller, an impact happens at once
STEEP = 8.0  # times the speed at which two meet, at most: that of any of their points, for the gap to be closed at once
FARTHER = 0.02  # of that depth: pairs that approach each other by less in the rest of a half step do not meet
ROUNDING = 1e-9  # of the thickness of the thinner of two: by how much they may overlap and pass each other
CHORDS, CLOSER = 4, 1.1  # of the bound of a gap: so many at most, while the tangent shows so many times the time
MOST_ADVANCES = 2000  # of one pair
GAINS_SPIN = 3.0**-0.5  # |ω̇| over |ω|², at most
_floats = viewer(np.float64)


# Free motion ------------------------------------------------------------------------------------------------------------


@njit
def speeds_of(i, q, y, system):
    """(v, ω) of body i with the momenta in y, where its principal axes have the orientation q; of a kinematic body those of
    its motion."""
    at, body = STATE_SIZE * i, system.bodies[i]
    if body.inverse_mass == 0.0:
        return load3(system.kinematics[i].v), load3(system.kinematics[i].omega)
    axes = to_matrix(q)
    spin = matvec_t(axes, three(y, at + 10))
    moments = load3(body.moments)
    omega = matvec(axes, (spin[0] / moments[0], spin[1] / moments[1], spin[2] / moments[2]))
    return scale(body.inverse_mass, three(y, at + 7)), omega


@njit
def velocity_of(i, y, system):
    """v of body i with the momenta in y."""
    if system.bodies[i].inverse_mass == 0.0:
        return load3(system.kinematics[i].v)
    return scale(system.bodies[i].inverse_mass, three(y, STATE_SIZE * i + 7))


@njit
def principal_axes(i, y, bodies):
    """The orientation of the principal axes of body i."""
    at, p = STATE_SIZE * i, bodies[i].principal
    return multiply((y[at + 3], y[at + 4], y[at + 5], y[at + 6]), (p[0], p[1], p[2], p[3]))


@njit
def place_at(number, t, y, system, collision):
    """Write the pose of a collider after free motion over t (s) into `places`, which the next detection takes for unknown.
    Returns (x, v, ω) of its body there."""
    collider, place, bodies = collision.colliders[number], collision.places[number], system.bodies
    i = collider.body
    if i >= system.settings[0].rigid:
        store3(place.x, load3(collider.position))
        for k in range(9):
            place.rotation[k] = collider.rotation[k]
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    at, p = STATE_SIZE * i, bodies[i].principal
    q = principal_axes(i, y, bodies)
    if t > 0.0 and bodies[i].inverse_mass == 0.0:
        q = rotate_by(q, scale(t, load3(system.kinematics[i].omega)))
    elif t > 0.0:
        q = rotate_roughly(q, matvec_t(to_matrix(q), three(y, at + 10)), load3(bodies[i].moments), t)
    v, omega = speeds_of(i, q, y, system)
    x = add_scaled(three(y, at), t, v)
    turn = to_matrix(multiply(q, (p[0], -p[1], -p[2], -p[3])))
    rotation = matmul(turn, nine(collider.rotation))
    store3(place.x, add(x, matvec(turn, load3(collider.position))))
    for k in range(9):
        place.rotation[k] = rotation[k]
    place.known = 0
    return x, v, omega


@njit
def mark_fast(first, y, tables):
    """Fill `moves` with the greatest displacement in a step of the points of each body, or −1 for those that are not fast; if
    this is not the `first` impact, only for the bodies that the last one concerned."""
    system, stepping, marks = tables.system, tables.stepping, tables.collision.marks
    moves, swing = stepping.moves, stepping.swing
    h = stepping.options[0].dt
    for i in range(system.bodies.shape[0]):
        if not first and marks[i] == 0:
            continue
        v, omega = speeds_of(i, principal_axes(i, y, system.bodies), y, system)
        moved = h * (norm(v) + swing[i] * norm(omega))
        moves[i] = moved if moved > fast_from(i, stepping) else -1.0


# One pair ---------------------------------------------------------------------------------------------------------------


@inlined
def allowed_depth(pair, tables):
    """(the depth that a pair may reach in free motion, so that contacts that a step has solved to its residual are no
    impacts; how deep this pair may go), m. Where contacts were left to this detection, no row keeps the two apart until they
    meet, and a bounce happens where they touch. Two that are pressed in a large pile in motion may go deeper: its contacts
    separate them in the next step. So may a body that has had many impacts in this half of a step."""
    walls, aims, body_of = tables.stepping.walls, tables.stepping.aims, tables.collision.body_of
    a, b = body_of[pair.a], body_of[pair.b]
    thin = min(walls[pair.a], walls[pair.b])
    pressed = pair.left == 0 and is_pressed(a, aims) and is_pressed(b, aims)
    depth = DEPTH_IN_PILE if pressed else DEPTH
    often = 1 << max(doublings(a, tables.stepping), doublings(b, tables.stepping))
    depth = min(often * depth, DEEPEST) * thin
    if pair.left == BOUNCES:
        return LEFT * depth, 0.0
    return depth, min(often * LEFT, 1.0) * depth if pair.left == UNMET else depth


@njit
def signed_distance(a, b, n, bound, collision):
    """(separation, normal from a to b, point midway) of two colliders at their `places`; n : tried first."""
    if collision.colliders[b].kind == HALF_SPACE:
        separation, up, p = above_plane(
            collision.colliders[a], collision.places[a], collision.places[b], collision.vertices
        )
        return separation, scale(-1.0, up), add_scaled(p, -0.5 * separation, up)
    scratch = collision.scratch
    for k in range(3):
        scratch[k] = n[k]
    number = a * collision.colliders.shape[0] + b
    status = call_pointer(collision.functions[DISTANCE], own_address(collision), number, bound, scratch, scratch)
    middle = scale(0.5, add(load_point(scratch, POINT_A), load_point(scratch, POINT_B)))
    separation = load(scratch, SEPARATION)
    if status == FAR:
        separation = max(separation, bound)
    return separation, load_point(scratch, NORMAL), middle


# The gap of a pair along n, which is fixed, is the least of n · (x_b − x_a) over the points of both. Each point moves
# straight ahead at its velocity of now, and leaves that way by no more than ½ c t², where c bounds its acceleration:
#
#     gap(t) ≥ min n · (x_b + t ẋ_b − x_a − t ẋ_a) − ½ (c_a + c_b) t².
#
# The least of linear functions of t is concave: it is above its chord from 0 to h, whose ends are sums of support functions,
# as n · (t ω × r) = (t n × ω) · r. So four support points bound the gap over all of h. As the bound takes each
# point with its own velocity, it also proves bodies apart that roll on each other or turn together.


@njit
def gap_bound(pair, n, h, way_a, way_b, bend, tables):
    """(g, s, c) with which the gap (m) of a pair along n, from a to b, is at least g + s t − c t² for 0 ≤ t ≤ h, from their
    `places` on. way_a, way_b : (x, v, ω) of their bodies there; bend : the largest accelerations of points of both, added."""
    return bound_and_rate(pair, n, h, way_a, way_b, bend, tables)[0]


@inlined
def bound_and_rate(pair, n, h, way_a, way_b, bend, tables):
    """(that bound, the rate of the least of the linear functions at h)."""
    collision = tables.collision
    one, two = collision.colliders[pair.a], collision.colliders[pair.b]
    far_a, later_a, rate_a = extent_along(one, collision.places[pair.a], n, h, way_a, collision.vertices)
    far_b, later_b, rate_b = extent_along(two, collision.places[pair.b], scale(-1.0, n), h, way_b, collision.vertices)
    return (-far_a - far_b, (far_a + far_b - later_a - later_b) / h, 0.5 * bend), -rate_a - rate_b


@inlined
def extent_along(collider, place, n, h, way, vertices):
    """(how far a collider extends along n; how far it will after h (s), if each of its points keeps its velocity; the
    velocity along n of the point that is farthest then). A half-space stays where it is, and n is its normal."""
    if collider.kind == HALF_SPACE:
        return dot(n, load3(place.x)), dot(n, load3(place.x)), 0.0
    x, v, omega = way
    turned = scale(h, cross(n, omega))
    ahead = add(n, turned)
    far = dot(n, support(collider, place, vertices, n)) + core_radius(collider)
    last = support(collider, place, vertices, ahead)
    later = dot(ahead, last) + core_radius(collider)
    return far, later + h * dot(n, v) - dot(turned, x), dot(n, v) + dot(cross(n, omega), sub(last, x))


@inlined
def bend_of(body, omega, y, tables):
    """The largest acceleration (m/s²) that a point of a body may have within a step. By Euler's equations |ω̇| ≤ |ω|²/√3, as
    no moment exceeds the sum of the others; and |ω| ≤ |L| over the least moment."""
    if body >= tables.system.bodies.shape[0]:
        return 0.0
    return bend_at(tables.stepping.swing[body], most_spin(body, omega, y, tables))


@inlined
def bend_at(reach, spin):
    """The largest acceleration (m/s²) that a point has by rotation at a distance (m) from the centre, with |ω| ≤ spin."""
    return reach * spin * spin * (1.0 + GAINS_SPIN)


@inlined
def most_spin(body, omega, y, tables):
    """The largest angular velocity (rad/s) that a body may have within a step."""
    bodies, spin = tables.system.bodies, norm(omega)
    if bodies[body].inverse_mass == 0.0:
        return spin
    moments = load3(bodies[body].moments)
    most = norm(three(y, STATE_SIZE * body + 10)) / min(moments[0], moments[1], moments[2])
    slower = 1.0 - GAINS_SPIN * spin * tables.stepping.options[0].dt
    return min(most, spin / slower) if slower > 0.0 else most


@inlined
def bends_of(pair, way_a, way_b, y, tables):
    """The same of the bodies of a pair, added."""
    colliders = tables.collision.colliders
    return bend_of(colliders[pair.a].body, way_a[2], y, tables) + bend_of(colliders[pair.b].body, way_b[2], y, tables)


# A plane may also turn. Where one body lies on another and both tumble, a plane of constant normal soon cuts them, and one
# that turns with either body does not. In axes that turn with a body at ω, with the origin at its centre, which moves at
# constant velocity v, its own points rest. Those of the other, at r from the origin, have
#
#     the velocity u = ẋ − v − ω × r,   the acceleration ẍ − ω̇ × r − ω × (ω × r) − 2 ω × u.


@inlined
def seen_from(way, frame):
    """(x, v, ω) of a body in axes that turn with another, whose own (x, v, ω) is `frame`."""
    x, v, omega = way
    return x, sub(sub(v, frame[1]), cross(frame[2], sub(x, frame[0]))), sub(omega, frame[2])


@inlined
def bend_seen(body, way, frame_body, frame, h, y, tables):
    """The largest acceleration (m/s²) within h (s) that points of a body have in axes that turn with another, `frame_body`:
    infinite if that turns too fast."""
    swing, spin = tables.stepping.swing[body], most_spin(frame_body, frame[2], y, tables)
    slower = 1.0 - 2.0 * spin * h  # as u grows by no more than h times its acceleration
    if slower < 0.5:
        return math.inf
    _, v, omega = seen_from(way, frame)
    reach = norm(sub(way[0], frame[0])) + h * norm(sub(way[1], frame[1])) + swing
    turning = bend_at(reach, spin) + 2.0 * spin * (norm(v) + norm(omega) * swing)
    return (bend_of(body, way[2], y, tables) + turning) / slower


@njit
def time_apart(pair, n, level, allowed, h, way_a, way_b, y, tables):
    """The time (s) until which planes prove that the gap of a pair exceeds `level` (m): one of constant normal n, from a to
    b, and two that turn with either body. Infinite if the gap stays above −allowed (m) for all of h (s). way_a, way_b : see
    `gap_bound`."""
    bodies, a, b = tables.system.bodies.shape[0], tables.collision.body_of[pair.a], tables.collision.body_of[pair.b]
    bend = bends_of(pair, way_a, way_b, y, tables)
    longest = time_of_plane(pair, n, level, allowed, h, way_a, way_b, bend, tables)
    if a >= bodies or b >= bodies or tables.collision.colliders[pair.b].kind == HALF_SPACE:
        return longest
    for turns_with_a in (True, False):
        if turns_with_a:
            frame, bend = way_a, bend_seen(b, way_b, a, way_a, h, y, tables)
        else:
            frame, bend = way_b, bend_seen(a, way_a, b, way_b, h, y, tables)
        if longest < h and bend < math.inf:
            seen_a, seen_b = seen_from(way_a, frame), seen_from(way_b, frame)
            longest = max(longest, time_of_plane(pair, n, level, allowed, h, seen_a, seen_b, bend, tables))
    return longest


@njit
def time_of_plane(pair, n, level, allowed, h, way_a, way_b, bend, tables):
    """The time (s) until which a plane of normal n proves that the gap of a pair exceeds `level` (m); infinite if it stays
    above −allowed (m) for all of h (s). way_a, way_b, bend : see `gap_bound`.

    The chord from 0 to h may be far below the linear part of the bound, and the tangent at h is above it. Where the tangent
    is level, the next chord ends."""
    longest, end = 0.0, h
    for _ in range(CHORDS):
        gap, rate = bound_and_rate(pair, n, end, way_a, way_b, bend, tables)
        if end == h and time_until(-allowed, gap, h) > h:
            return math.inf
        longest = max(longest, min(time_until(level, gap, end), end))
        above = gap[0] + gap[1] * end - level
        if above >= 0.0 or rate >= 0.0:
            break
        end -= above / rate
        if end <= CLOSER * longest:
            break
    return longest


@inlined
def time_until(level, gap, h):
    """The time (s) until which a gap that `gap_bound` describes exceeds `level` (m); infinite if it does all of h."""
    g, s, c = gap
    left = g - level
    if left <= 0.0:
        return 0.0
    if left + (s - c * h) * h >= 0.0:
        return math.inf
    return 2.0 * left / (math.sqrt(s * s + 4.0 * c * left) - s)


@njit
def are_apart(pair, n, h, way_a, way_b, bend, tables):
    """Whether planes of normal n, from a to b, prove that a pair does not go too deep within h (s), from their `places` on.
    way_a, way_b, bend : see `gap_bound`."""
    if not dot(n, n) > 0.0:
        return False
    if tables.collision.colliders[pair.b].kind == MESH:
        show(tables.collision.colliders[pair.b], pair.facet, tables.collision)
    _, allowed = allowed_depth(pair, tables)
    return time_until(-allowed, gap_bound(pair, n, h, way_a, way_b, bend, tables), h) > h


@njit
def may_meet(a, b, h, y, tables):
    """Whether the balls about two colliders meet within h (s)."""
    if tables.collision.colliders[b].kind >= HALF_SPACE:
        return True
    square, reach = nearest_of_balls(a, b, h, y, tables)
    return square <= reach * reach


@njit
def nearest_of_balls(a, b, h, y, tables):
    """(the square of the least distance within h (s) of the centres of balls about two bounded colliders, if these keep their
    velocities; the sum of the radii): m², m."""
    collision, rigid = tables.collision, tables.system.settings[0].rigid
    one, two = collision.colliders[a], collision.colliders[b]
    reach, x_a, v_a = one.radius + two.radius, load3(one.position), (0.0, 0.0, 0.0)
    if one.body < rigid:
        reach += norm(x_a)
        x_a, v_a = three(y, STATE_SIZE * one.body), velocity_of(one.body, y, tables.system)
    x_b, v_b = load3(two.position), (0.0, 0.0, 0.0)
    if two.body < rigid:
        reach += norm(x_b)
        x_b, v_b = three(y, STATE_SIZE * two.body), velocity_of(two.body, y, tables.system)
    d, v = sub(x_b, x_a), sub(v_b, v_a)
    vv = dot(v, v)
    t = min(h, max(0.0, -dot(d, v) / vv)) if vv > 0.0 else 0.0
    nearest = add_scaled(d, t, v)
    return dot(nearest, nearest), reach


@njit
def front_of(b, number, collision):
    """The outward normal of facet `number` of the mesh b, in world axes."""
    face = collision.faces[collision.facets[number].face]
    return matvec(nine(collision.places[b].rotation), load3(face.normal))


@njit
def is_behind(a, b, front, number, collision):
    """Whether the middle of the collider a, along the normal of facet `number` of the mesh b, is behind it: as
    `mesh.mesh_contact` asks."""
    collider, place = collision.colliders[a], collision.places[a]
    face = collision.faces[collision.facets[number].face]
    high = dot(front, support(collider, place, collision.vertices, front))
    low = dot(front, support(collider, place, collision.vertices, scale(-1.0, front)))
    return 0.5 * (high + low) <= dot(front, load3(collision.places[b].x)) + face.offset


@njit
def time_of_impact(pair, n, h, enough, y, tables):
    """The time within h (s) at which a pair would go too deep, looked for until a time that is `enough` (s): infinite if it
    does not. Then `impact` holds what else is known of the impact, but for the time. Notes when the pair is `due`, and begins
    there. n : a normal to begin with, or 0."""
    collision, stepping, system = tables.collision, tables.stepping, tables.system
    a, b = pair.a, pair.b
    one, two = collision.colliders[a], collision.colliders[b]
    depth, allowed = allowed_depth(pair, tables)
    facet = two.kind == MESH
    if facet:
        show(two, pair.facet, collision)
    t = max(0.0, h - pair.due)
    pair.due = 0.0
    for _ in range(MOST_ADVANCES):
        way_a, way_b = place_at(a, t, y, system, collision), place_at(b, t, y, system, collision)
        (x_a, v_a, omega_a), (x_b, v_b, omega_b) = way_a, way_b
        along = sub(v_b, v_a)
        turning = reach_of(one, stepping) * norm(omega_a) + reach_of(two, stepping) * norm(omega_b)
        most = norm(along) + turning
        if most <= 0.0:
            return math.inf
        front = front_of(b, pair.facet, collision) if facet else n
        if facet and t == 0.0 and is_behind(a, b, front, pair.facet, collision):
            return math.inf  # what is behind a surface stays there
        s, n, p = signed_distance(a, b, n, most * (h - t) + depth, collision)
        for c in range(3):
            pair.apart[c] = n[c]
        if facet:
            if s <= 0.0 or dot(n, front) > 0.0:
                n = scale(-1.0, front)
        u_a = add(v_a, cross(omega_a, sub(p, x_a)))
        u_b = add(v_b, cross(omega_b, sub(p, x_b)))
        u = dot(n, sub(u_b, u_a))
        if s <= TOUCH * depth and goes_too_deep(s, u, h - t, depth, allowed):
            if closes_soon(s, u, h - t, most, depth):
                t -= s / u
                continue
            note_impact(a, b, n, p, stepping.impact)
            break
        approach = max(0.0, -dot(n, along)) + turning
        if s > TOUCH * depth and approach * (h - t) <= s + allowed:
            return math.inf
        level = 0.5 * TOUCH * depth if s > TOUCH * depth else -0.5 * allowed
        advance = time_apart(pair, n, level, allowed, h - t, way_a, way_b, y, tables)
        t += max(advance, max(allowed, TOUCH * depth) / most)
        if t >= h:
            return math.inf
        if t > enough:
            pair.due = h - t
            return math.inf
    pair.due = h - t
    return t


@inlined
def goes_too_deep(s, u, h, depth, allowed):
    """Whether a pair at the separation s (m) with the normal velocity u (m/s) goes deeper than `allowed` (m) within h (s),
    and, if it may be deep, approaches by more than FARTHER of `depth` (m) in that time. Impulses end an approach only to
    their residual, so a pair that is as deep already would meet again at once."""
    return s + u * h < -allowed and (allowed == 0.0 or u * h < -FARTHER * depth)


# An impact over a gap takes its arms to the middle of the gap, and turns bodies by friction with arms that are too long.
# Steps of s/|u|, where u is the velocity of the nearest points, close the gap quadratically. They are not safe, as others
# of their points may be faster; but while none is faster than STEEP |u|, none goes deeper than STEEP s.


@inlined
def closes_soon(s, u, h, most, depth):
    """Whether a pair at the separation s (m), whose nearest points approach at the velocity u (m/s), closes that gap within
    h (s). most : the largest velocity (m/s) at which points of the two may approach each other."""
    return s > CLOSED * depth and -u * STEEP >= most and s < -u * h


@inlined
def reach_of(collider, stepping):
    """How far from the centre of its body a collider has points that its rotation moves (m)."""
    return stepping.swing[collider.body] if collider.body < stepping.swing.shape[0] else 0.0


@njit
def note_impact(a, b, n, p, impact):
    """Write a pair, its normal and its point."""
    impact[SIDE_A], impact[SIDE_B] = a, b
    for k in range(3):
        impact[IMPACT_NORMAL + k], impact[IMPACT_POINT + k] = n[k], p[k]


# Impacts follow each other in half a step, and each changes the motion of few bodies. A pair is searched until the first
# impact of all, and what follows soon. It does not meet before it is `due`, and the search goes on from there, unless an
# impact has concerned one of its bodies (`marks`).


@njit
def find_impact(first, h, y, tables):
    """The first impact of a fast body within h (s) from the state y, into `impact`; whether this is the `first` search in
    half a step. Notes in `hit` when each body meets another."""
    collision, stepping = tables.collision, tables.stepping
    impact, first_impact, hit = stepping.impact, stepping.first_impact, stepping.hit
    mark_fast(first, y, tables)
    for body in range(hit.shape[0]):
        hit[body] = math.inf
    body_of, marks, bodies = collision.body_of, collision.marks, tables.system.bodies.shape[0]
    best = math.inf
    for k in range(collision.counts[PAIRS]):
        pair = collision.pairs[k]
        i, j = body_of[pair.a], body_of[pair.b]
        if first:
            for c in range(3):
                pair.apart[c] = collision.manifolds[k].normal[c]
        if first or marks[i] != 0 or marks[j] != 0:
            pair.due = h
            if not is_watched(pair, i, j, tables) or is_clear(pair, k, h, y, tables):
                pair.due = 0.0
        enough = min(h, best + max(soon(i, stepping), soon(j, stepping)))
        if pair.due <= 0.0 or h - pair.due > enough:
            continue
        t = time_of_impact(pair, load3(pair.apart), h, enough, y, tables)
        if t >= h:
            continue
        for body in (i, j):
            if body < bodies:
                hit[body] = min(hit[body], t)
        if t < best:
            best = t
            impact[PAIR_ROW] = k
            for c in range(IMPACT):
                first_impact[c] = impact[c]
    for c in range(IMPACT):
        impact[c] = first_impact[c]
    impact[TIME] = best


@njit
def is_watched(pair, i, j, tables):
    """Whether impacts of a pair of colliders of bodies i and j are looked for: one of them is fast, or contacts of the pair
    were left to this detection, and one is awake. Not those with a half-space that moves, nor those with contacts that were
    left to another part of a step."""
    moves, asleep, bodies = tables.stepping.moves, tables.collision.asleep, tables.system.bodies.shape[0]
    fast = (i < bodies and moves[i] > 0.0) or (j < bodies and moves[j] > 0.0) or pair.left != 0
    moving_plane = j < bodies and tables.collision.colliders[pair.b].kind == HALF_SPACE
    return fast and not moving_plane and pair.late == 0 and (asleep[i] == AWAKE or asleep[j] == AWAKE)


@njit
def is_clear(pair, k, h, y, tables):
    """Whether balls about the colliders of pair k, or a plane between them, prove that they do not meet within h (s): that of
    their contact, or of the facet of a mesh."""
    collision = tables.collision
    if not may_meet(pair.a, pair.b, h, y, tables):
        return True
    way_a = place_at(pair.a, 0.0, y, tables.system, collision)
    way_b = place_at(pair.b, 0.0, y, tables.system, collision)
    if planes_part(pair, k, h, way_a, way_b, bends_of(pair, way_a, way_b, y, tables), tables):
        return True
    n = load3(pair.apart)
    if collision.colliders[pair.b].kind == MESH or not dot(n, n) > 0.0:
        return False
    _, allowed = allowed_depth(pair, tables)
    return time_apart(pair, n, 0.0, allowed, h, way_a, way_b, y, tables) > h


@njit
def planes_part(pair, k, h, way_a, way_b, bend, tables):
    """Whether a plane between the colliders of pair k proves that they do not meet within h (s): that of their contact, or of
    the facet of a mesh. way_a, way_b, bend : see `gap_bound`."""
    collision = tables.collision
    if are_apart(pair, load3(collision.manifolds[k].normal), h, way_a, way_b, bend, tables):
        return True
    if collision.colliders[pair.b].kind != MESH:
        return False
    return are_apart(pair, scale(-1.0, front_of(pair.b, pair.facet, collision)), h, way_a, way_b, bend, tables)


# Before rows are made ---------------------------------------------------------------------------------------------------


@njit
def meets_elsewhere(number, h, motion, y, tables):
    """Whether the bodies of an open contact pass each other within h (s), or meet with another normal than the contact has,
    on their way with the velocities in `motion` from the state y. Nothing stays changed."""
    collision = tables.collision
    contact = collision.contacts[number]
    pair = collision.pairs[contact.pair]
    one, two = collision.places[pair.a], collision.places[pair.b]
    saved = load3(one.x), nine(one.rotation), one.known, load3(two.x), nine(two.rotation), two.known
    normal = load3(contact.frame)
    elsewhere = passes_along(pair, normal, h, motion, y, tables)
    if not elsewhere and way_of(contact, motion, tables)[1] > LITTLE:
        elsewhere = dot(normal_of_meeting(pair, normal, h, motion, y, tables), normal) < SAME_NORMAL
    put_back(one, saved[0], saved[1], saved[2])
    put_back(two, saved[3], saved[4], saved[5])
    return elsewhere


@njit
def normal_of_meeting(pair, n, h, motion, y, tables):
    """The normal with which a pair meets first within h (s) by the velocities in `motion`; that of now, n, if it touches;
    zero if it does not meet."""
    collision, stepping = tables.collision, tables.stepping
    a, b = pair.a, pair.b
    one, two = collision.colliders[a], collision.colliders[b]
    touch = TOUCH * DEPTH * min(stepping.walls[a], stepping.walls[b])
    facet = two.kind == MESH
    if facet:
        show(two, pair.facet, collision)
    t, known = 0.0, n
    for _ in range(MOST_ADVANCES):
        v_a, turn_a = place_by(a, t, motion, y, collision)
        v_b, turn_b = place_by(b, t, motion, y, collision)
        along = sub(v_b, v_a)
        turning = reach_of(one, stepping) * turn_a + reach_of(two, stepping) * turn_b
        s, n, _ = signed_distance(a, b, n, (norm(along) + turning) * (h - t) + touch, collision)
        if facet:
            front = front_of(b, pair.facet, collision)
            if s <= 0.0 or dot(n, front) > 0.0:
                n = scale(-1.0, front)
        if s <= touch:
            return n if t > 0.0 else known
        approach = max(0.0, -dot(n, along)) + turning
        if approach * (h - t) <= s:
            break
        t += (s - 0.5 * touch) / approach
    return 0.0, 0.0, 0.0


@njit
def passes_along(pair, n, h, motion, y, tables):
    """Whether a plane of another normal than n separates a pair now, and after h (s) at the velocities in `motion`: then the
    two pass each other, however near. What comes behind a facet of a mesh has gone through it."""
    collision, a, b = tables.collision, pair.a, pair.b
    one, two = collision.colliders[a], collision.colliders[b]
    touch = ROUNDING * min(tables.stepping.walls[a], tables.stepping.walls[b])
    if two.kind == MESH:
        show(two, pair.facet, collision)
    place_by(a, h, motion, y, collision)
    place_by(b, h, motion, y, collision)
    s, beside, _ = signed_distance(a, b, n, math.inf, collision)
    place_by(a, 0.0, motion, y, collision)
    place_by(b, 0.0, motion, y, collision)
    if (
        s < -touch
        or dot(beside, n) >= SAME_NORMAL
        or (two.kind == MESH and dot(beside, front_of(b, pair.facet, collision)) > 0.0)
    ):
        return False
    far = dot(beside, support(one, collision.places[a], collision.vertices, beside)) + core_radius(one)
    back = scale(-1.0, beside)
    far += dot(back, support(two, collision.places[b], collision.vertices, back)) + core_radius(two)
    return far <= touch


@njit
def place_by(number, t, motion, y, collision):
    """Write the pose of a collider after t (s) with the velocity in `motion` into its place. Returns (v, |ω|) of its body."""
    collider, place = collision.colliders[number], collision.places[number]
    i = collider.body
    if i >= collision.marks.shape[0] - 1:
        return (0.0, 0.0, 0.0), 0.0
    at, to = STATE_SIZE * i, MOTION * i
    v, omega = three(motion, to + LINEAR), three(motion, to + ANGULAR)
    turn = to_matrix(rotate_by((y[at + 3], y[at + 4], y[at + 5], y[at + 6]), scale(t, omega)))
    rotation = matmul(turn, nine(collider.rotation))
    store3(place.x, add(add_scaled(three(y, at), t, v), matvec(turn, load3(collider.position))))
    for k in range(9):
        place.rotation[k] = rotation[k]
    return v, norm(omega)


@njit
def put_back(place, x, rotation, known):
    """Write a pose as it was."""
    store3(place.x, x)
    for k in range(9):
        place.rotation[k] = rotation[k]
    place.known = known


# An impulse on one pair -------------------------------------------------------------------------------------------------


@njit
def response_of(i, r, n, y, bodies):
    """n · W n of body i at the arm r, and ω ← of a unit impulse along n."""
    axes = to_matrix(principal_axes(i, y, bodies))
    turn = matvec_t(axes, cross(r, n))
    moments = load3(bodies[i].moments)
    omega = matvec(axes, (turn[0] / moments[0], turn[1] / moments[1], turn[2] / moments[2]))
    return bodies[i].inverse_mass + dot(n, cross(omega, r))


@njit
def strike(y, tables):
    """End the approach of the pair in `impact`, or let it bounce, by an impulse along its normal: what is done where the
    contacts of the step do not see the impact. Books its work. Returns a status."""
    system, collision, stepping = tables.system, tables.collision, tables.stepping
    impact, bodies = stepping.impact, system.bodies
    n, p = three(impact, IMPACT_NORMAL), three(impact, IMPACT_POINT)
    i, j = collision.colliders[int(impact[SIDE_A])].body, collision.colliders[int(impact[SIDE_B])].body
    u, k = 0.0, 0.0
    for side in range(2):
        body, sign = (i, -1.0) if side == 0 else (j, 1.0)
        if body < bodies.shape[0]:
            r = sub(p, three(y, STATE_SIZE * body))
            v, omega = speeds_of(body, principal_axes(body, y, bodies), y, system)
            u += sign * dot(n, add(v, cross(omega, r)))
            if bodies[body].inverse_mass > 0.0:
                k += response_of(body, r, n, y, bodies)
    if u >= 0.0 or k <= 0.0:
        return OK
    after = rebound(u, tables)
    size = (after - u) / k
    if not note_strike(int(impact[SIDE_A]), int(impact[SIDE_B]), p, n, size, tables):
        return NEED_ROOM
    y[stepping.options[0].ledger] += 0.5 * size * (u + after)
    for side in range(2):
        body, impulse = (i, scale(-size, n)) if side == 0 else (j, scale(size, n))
        if body < bodies.shape[0]:
            add_impulse(y, body, impulse, cross(sub(p, three(y, STATE_SIZE * body)), impulse))
        else:
            book_reaction(y, scale(-1.0, impulse), cross(p, scale(-1.0, impulse)))
    return OK


@njit
def continuous_task(task, h, y, out, tables):
    """FIND the first impact within h (s) from the state y, or FIND_NEXT one after an impact of marked bodies, or STRIKE the
    pair that was found; or MEET + i, see `meets_elsewhere`, with velocities in y and the state in `out`. Returns a status."""
    if task >= MEET:
        return 1 if meets_elsewhere(task - MEET, h, y, out, tables) else 0
    if task == FIND or task == FIND_NEXT:  # noqa: SIM109 - compiled
        find_impact(task == FIND, h, y, tables)
        return OK
    return strike(y, tables)


def continuous_entry(data, task, h, y, n, out, m):
    return continuous_task(task, h, _floats(y, n), _floats(out, m), table_at(ContactTables, data))


CONTINUOUS_ENTRY = CFunction(continuous_entry, C_SIGNATURE)
