"""Events that begin and end within a step: two bodies that graze each other overlap for a moment only, and a contact that
sticks may slip, or let go, for a moment only.

Impacts. A step is searched from its start on, on the dense output, by conservative advancement (see `contact.continuous`):
from the distance of two colliders at a state, and the velocities and accelerations of their points, follows a time within
which they do not meet. The pairs are those that may meet at all before they are chosen again (`advancement`), without those
of which a contact bears force. So the corner of a body that stands on another one, and that dips into the other and out
again within a step, is not found.

Accelerations are those at both ends of the step, with a margin; angular ones those at its start.

Forces. The stages of a step have evaluated the forces of contact within it. Where the margin of one from its limit varied by
more than the least that was seen, it is in doubt: the event function is evaluated at `SAMPLES` places within the step, and
where a parabola through three of them puts the least margin. A moment that is shorter than these tell is not found.
"""

import math

import numpy as np

from ..contact.continuous import (
    gap_bound,
    nearest_of_balls,
    place_at,
    principal_axes,
    signed_distance,
    speeds_of,
    time_until,
    velocity_of,
)
from ..contact.tables import three
from ..core.c_function import C_SIGNATURE, EVENT, LOOK, LOOK_FROM, LOOK_TO, call_pointer, viewer
from ..core.jit import CFunction, inlined, njit
from ..core.math3 import cross, dot, load3, matvec, matvec_t, norm, scale, store3, sub, to_matrix
from ..core.tables import own_address, table_at
from ..dynamics.commands import MOTIONS, call_commands, write_pose
from ..model.tables import STATE_SIZE
from ..scene.shapes.base import HALF_SPACE
from .features import ImpactTables
from .resting_contact import force_margin

SPARE = 2.0  # factor by which accelerations may grow within a step
DEPTH = 1e3  # times the gap that counts as none: the overlap that is found
SLACK = 4.0  # times the slack of the event function, likewise


@njit
def place_kinematic(t, y, system):
    """Evaluate what moves by command at t (s), and write its poses into y. Returns a status."""
    commands = system.commands
    status = call_commands(MOTIONS, t, y, y, system) if commands.shape[0] > 0 else 0
    for i in range(commands.shape[0]):
        write_pose(commands[i], y)
    return status


# Forces -------------------------------------------------------------------------------------------------------------------

SAMPLES = 8  # looks into a step, where a force is in doubt
SOON = 0.05  # of their distance: a least margin that is nearer than this is not looked at


@njit
def in_doubt(touching):
    """Whether the margin of some force of contact varied so much within the step that it may have been below zero."""
    for k in range(touching.options[0].active):
        touch = touching.touches[k]
        if touch.most - touch.least > touch.least:
            return True
    return False


@njit
def look_at_forces(t, y, out, tables):
    """out[0] = the value of the event function at the state y at t (s). Returns (status, s until the next look)."""
    touching, own = tables.touching, tables.looking.options[0]
    status = call_pointer(own.system, own_address(tables), EVENT, t, y, out)
    each = (own.end - own.begin) / SAMPLES
    wait = each
    for k in range(touching.options[0].active):
        touch = touching.touches[k]
        low = time_of_least(touch, t, min(force_margin(touch, touching.options[0])), own.begin)
        if low > SOON * each:
            wait = min(wait, low)
    return status, wait


@inlined
def time_of_least(touch, t, margin, begin):
    """The time (s) from t on until the least margin, by a parabola through that at t (s) and those of the two last looks; −1
    if there are less, or it has no least."""
    span, rising, low = t - touch.seen_at, 0.0, -1.0
    if t > begin:
        rising = (margin - touch.seen) / span
        if touch.seen_at > begin:
            bend = 2.0 * (rising - touch.rising) / (span + touch.span)
            low = -rising / bend - 0.5 * span if bend > 0.0 else -1.0
    touch.seen_at, touch.seen, touch.rising, touch.span = t, margin, rising, span
    return low


# The ends of a step -------------------------------------------------------------------------------------------------------


@njit
def accelerations_of(i, y, dydt, system):
    """(a, α) of body i at the state y with derivative dydt; of one that moves by command those of its motion."""
    if i >= system.settings[0].rigid:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    at, body = STATE_SIZE * i, system.bodies[i]
    if body.inverse_mass == 0.0:
        for k in range(system.commands.shape[0]):
            if system.commands[k].body == i:
                return load3(system.commands[k].a), load3(system.commands[k].alpha)
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    q = principal_axes(i, y, system.bodies)
    axes, moments = to_matrix(q), load3(body.moments)
    _, omega = speeds_of(i, q, y, system)
    torque = matvec_t(axes, sub(three(dydt, at + 10), cross(omega, three(y, at + 10))))
    alpha = matvec(axes, (torque[0] / moments[0], torque[1] / moments[1], torque[2] / moments[2]))
    return scale(body.inverse_mass, three(dydt, at + 7)), alpha


@njit
def look_to(y, dydt, tables):
    """Note the end of a step: the state y with derivative dydt."""
    looking, body_of = tables.looking, tables.collision.body_of
    own, pairs = looking.options[0], looking.pairs
    for k in range(own.count):
        pair = pairs[k]
        a, _ = accelerations_of(body_of[pair.a], y, dydt, tables.system)
        b, _ = accelerations_of(body_of[pair.b], y, dydt, tables.system)
        pair.push = SPARE * norm(sub(a, b))


@njit
def look_from(y, dydt, tables):
    """Note the start of a step, as its end before; pairs that cannot meet within it are clear."""
    looking, body_of = tables.looking, tables.collision.body_of
    own, pairs, reach = looking.options[0], looking.pairs, looking.reach
    for k in range(own.count):
        pair = pairs[k]
        a, turn_a = accelerations_of(body_of[pair.a], y, dydt, tables.system)
        b, turn_b = accelerations_of(body_of[pair.b], y, dydt, tables.system)
        pair.push = max(pair.push, SPARE * norm(sub(a, b)))
        pair.whirl = SPARE * (norm(turn_a) * reach[pair.a] + norm(turn_b) * reach[pair.b])
        pair.clear = 1 if balls_part(pair, own.end - own.begin, y, tables) else 0


@njit
def balls_part(pair, h, y, tables):
    """Whether balls about two colliders do not meet within h (s), or one and the half-space."""
    colliders, bend = tables.collision.colliders, 0.5 * pair.push * h * h
    if colliders[pair.b].kind < HALF_SPACE:
        square, reach = nearest_of_balls(pair.a, pair.b, h, y, tables)
        return square > (reach + bend) ** 2
    one, plane = colliders[pair.a], colliders[pair.b]
    n, v = (plane.rotation[2], plane.rotation[5], plane.rotation[8]), velocity_of(one.body, y, tables.system)
    height = dot(n, sub(three(y, STATE_SIZE * one.body), load3(plane.position)))
    return height + min(0.0, h * dot(n, v)) > one.radius + norm(load3(one.position)) + bend


# Within it ----------------------------------------------------------------------------------------------------------------


@njit
def look(t, y, out, tables):
    """out[0] = the time (s) from t on within which there is no event in the step, 0 if there is one at the state y there.
    Pairs that overlap at its start are not looked at: the event function sees them. Returns a status."""
    own, pairs = tables.looking.options[0], tables.looking.pairs
    left, wait = own.end - t, math.inf
    if own.doubt != 0:
        status, wait = look_at_forces(t, y, out, tables)
        if status != 0 or (out[0] < 0.0 and t > own.begin):
            out[0] = 0.0
            return status
    for k in range(own.count):
        pair = pairs[k]
        if pair.clear != 0:
            continue
        safe = time_apart(pair, left, y, tables)
        if safe <= 0.0 and t > own.begin:
            out[0] = 0.0
            return 0
        if safe <= 0.0 or safe >= left:
            pair.clear = 1
        else:
            wait = min(wait, safe)
    out[0] = wait
    return 0


@njit
def time_apart(pair, left, y, tables):
    """The time (s) of `left` within which two colliders do not overlap from the state y on; infinite for all of it, 0 if they
    overlap there."""
    collision, reach, options = tables.collision, tables.looking.reach, tables.touching.options[0]
    depth = DEPTH * options.tiny_gap + SLACK * options.slack
    way_a = place_at(pair.a, 0.0, y, tables.system, collision)
    way_b = place_at(pair.b, 0.0, y, tables.system, collision)
    spin_a, spin_b = norm(way_a[2]), norm(way_b[2])
    turning = spin_a * reach[pair.a] + spin_b * reach[pair.b]
    swing = spin_a * spin_a * reach[pair.a] + spin_b * spin_b * reach[pair.b]
    bend = pair.push + pair.whirl + SPARE * swing
    most = norm(sub(way_b[1], way_a[1])) + turning + bend * left
    s, n, _ = signed_distance(pair.a, pair.b, load3(pair.normal), most * left, collision)
    store3(pair.normal, n)
    if s < -0.5 * depth:
        return 0.0
    if s >= most * left:
        return math.inf
    gap = gap_bound(pair, n, left, way_a, way_b, bend, tables)
    return max(time_until(-depth, gap, left), (s + depth) / most)


# The C function -----------------------------------------------------------------------------------------------------------


_floats = viewer(np.float64)


@njit
def look_task(task, t, y, out, tables):
    """Do one of the tasks of `core.c_function` that look into a step. Returns a status."""
    own = tables.looking.options[0]
    if task == LOOK_TO:
        own.end = t
    elif task == LOOK_FROM:
        own.begin, own.doubt = t, 1 if in_doubt(tables.touching) else 0
    elif own.count == 0 and own.doubt == 0:
        out[0] = math.inf
        return 0
    status = place_kinematic(t, y, tables.system) if own.count > 0 else 0
    if status != 0:
        return status
    if task == LOOK:
        return look(t, y, out, tables)
    if task == LOOK_TO:
        look_to(y, out, tables)
    else:
        look_from(y, out, tables)
    return 0


def look_entry(data, task, t, y, n, out, m):
    return look_task(task, t, _floats(y, n), _floats(out, m), table_at(ImpactTables, data))


LOOK_ENTRY = CFunction(look_entry, C_SIGNATURE)
