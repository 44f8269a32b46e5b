"""Continuous collision detection in joint coordinates: obstacles in the path of fast links, and the time of impact.

Between two middles of steps the speeds w of trees are constant, so the pose of every link is known at any time: u(t) is
u displaced by t w. All trees advance together, by times in which no pair can go too deep (conservative advancement, see
`continuous`): points of a link move no faster than

    V = V_p + Ω_p |r_p| + |ḋ| + Ω (|r| + R),   Ω = Ω_p + |w|,

along the path from the root, with r_p, r from the centres of parent and link to the joint, w the relative angular velocity,
ḋ the rate of a slider, and R the distance of the farthest point of the link from its centre. As w and ḋ are constant, its
acceleration is no more than

    A = A_p + (Γ_p + Ω_p²) |r_p| + 2 Ω_p |ḋ| + (Γ + Ω²) (|r| + R),   Γ = Γ_p + Ω_p |w|,

with which planes between two links prove most pairs apart, as in coordinates of bodies. Kinematic bodies are where their
motions have them; for A of what moves with them there is no bound.

In order: bounds of speeds, one pair, the first impact.
"""

import math

import numpy as np

from ..collide.polyhedron import show
from ..collide.tables import AWAKE, PAIRS
from ..core.c_function import C_SIGNATURE, viewer
from ..core.jit import CFunction, inlined, njit
from ..core.math3 import add, cross, dot, load3, norm, scale, sub
from ..core.simd import load, store
from ..core.status import NON_FINITE, OK
from ..core.tables import table_at
from ..dynamics.joint_space.kinematics import ZERO, displace_coordinates
from ..dynamics.joint_space.tables import Reduced
from ..dynamics.joint_space.welded import show_links
from ..model.tree import COMMANDED, FREE, HINGE, SLIDER
from ..scene.shapes.base import HALF_SPACE, MESH
from .continuous import (
    TOUCH,
    allowed_depth,
    closes_soon,
    front_of,
    gap_bound,
    goes_too_deep,
    is_behind,
    meets_elsewhere,
    note_impact,
    place_at,
    planes_part,
    signed_distance,
    time_until,
)
from .fast import FAST, MEET, PAIR_ROW, TIME
from .joint_space import JointSpace, place_links, time_on_way
from .joint_space_commands import SHOW_ON_WAY, call_rides
from .tables import ContactTables

MOST_TIMES = 20_000  # at which all trees are placed, in half a step


# Bounds of speeds -------------------------------------------------------------------------------------------------------


@njit
def bound_speeds(h, z, reduced, js, tables):
    """Fill `speed_bounds` and `acceleration_bounds` with the greatest speed (m/s) and acceleration (m/s²) of a point of each
    body within h (s), and `moves` with how far it may go in a step, or −1 for what is not fast."""
    nodes, first, pace, bounds = js.tree.nodes, reduced.options[0].coordinates, js.pace, js.acceleration_bounds
    stepping, rigid = tables.stepping, reduced.system.settings[0].rigid
    for i in range(nodes.shape[0]):
        node = nodes[i]
        slow, turning, bend, twist = 0.0, 0.0, 0.0, 0.0  # of the parent
        if node.parent >= 0:
            slow, turning = load(pace, 2 * node.parent), load(pace, 2 * node.parent + 1)
            bend, twist = load(bounds, 2 * node.parent), load(bounds, 2 * node.parent + 1)
        at, reach, slide, spin = first + node.first, norm(load3(node.anchor_parent)), 0.0, 0.0
        if node.kind == HINGE:
            spin = abs(load(z, at))
        elif node.kind == SLIDER:
            slide = abs(load(z, at))
            reach += abs(load(z, node.at)) + h * slide
        elif node.last - node.first >= 3:
            back = first + node.last - 3
            spin = norm((load(z, back), load(z, back + 1), load(z, back + 2)))
        if node.kind == FREE:
            slow, reach, turning, bend, twist = (
                norm((load(z, at), load(z, at + 1), load(z, at + 2))),
                0.0,
                0.0,
                0.0,
                0.0,
            )
        if node.kind == COMMANDED:
            own = js.tree.motion[i]
            slow, reach = norm(load3(own.v)) + h * norm(load3(own.bias)), 0.0
            spin = norm(load3(own.omega)) + h * norm(load3(own.bias_turn))
            bend = math.inf if slow + spin > 0.0 else 0.0
        whole = turning + spin
        moved = slow + turning * reach + slide
        bend += (twist + turning * turning) * reach + 2.0 * turning * slide
        twist += turning * spin
        if node.kind != FREE and node.kind != COMMANDED:
            moved += whole * norm(load3(node.anchor))
            bend += (twist + whole * whole) * norm(load3(node.anchor))
        store(pace, 2 * i, moved)
        store(pace, 2 * i + 1, whole)
        store(bounds, 2 * i, bend)
        store(bounds, 2 * i + 1, twist)
    for i in range(js.links.shape[0]):
        row, node = js.links[i].row, js.links[i].node
        if row < rigid:
            reach = norm(load3(js.links[i].offset)) + stepping.swing[row]
            whole = load(pace, 2 * node + 1)
            most = load(pace, 2 * node) + whole * reach
            stepping.speed_bounds[row] = most
            bend = load(bounds, 2 * node) + (load(bounds, 2 * node + 1) + whole * whole) * reach
            stepping.acceleration_bounds[row] = bend
            far = stepping.options[0].dt * most
            stepping.moves[row] = far if far > FAST * stepping.thickness[row] else -1.0


# One pair ---------------------------------------------------------------------------------------------------------------


@inlined
def speed_of(body, stepping):
    """The bound of `bound_speeds`; zero for the world."""
    return stepping.speed_bounds[body] if body < stepping.speed_bounds.shape[0] else 0.0


@inlined
def bend_of(body, stepping):
    """The same of accelerations."""
    return stepping.acceleration_bounds[body] if body < stepping.acceleration_bounds.shape[0] else 0.0


@inlined
def way_of(body, system):
    """(x, v, ω) of a body, where its tree is; zero for the world."""
    if body >= system.settings[0].rigid:
        return ZERO, ZERO, ZERO
    kin = system.kinematics[body]
    return load3(kin.x), load3(kin.v), load3(kin.omega)


@inlined
def velocity_at(p, way):
    """The velocity of the point p of a body on its `way`."""
    return add(way[1], cross(way[2], sub(p, way[0])))


@njit
def time_in_safety(pair, k, h, y, tables):
    """A time (s) within which pair k does not go too deep from where the trees are; infinite if it does not within h;
    negative if it has met, and `impact` holds what is known of that."""
    collision, stepping, system = tables.collision, tables.stepping, tables.system
    a, b = pair.a, pair.b
    one, two = collision.colliders[a], collision.colliders[b]
    depth, allowed = allowed_depth(pair, tables)
    most = speed_of(one.body, stepping) + speed_of(two.body, stepping)
    way_a, way_b = way_of(one.body, system), way_of(two.body, system)
    bend = bend_of(one.body, stepping) + bend_of(two.body, stepping)
    place_at(a, 0.0, y, system, collision)
    place_at(b, 0.0, y, system, collision)
    facet = two.kind == MESH
    if facet:
        show(two, pair.facet, collision)
    elif two.kind != HALF_SPACE:
        apart = norm(sub(load3(collision.places[b].x), load3(collision.places[a].x))) - one.radius - two.radius
        if apart > most * h:
            return math.inf
    if facet and is_behind(a, b, front_of(b, pair.facet, collision), pair.facet, collision):
        return math.inf
    if planes_part(pair, k, h, way_a, way_b, bend, tables):
        return math.inf
    s, n, p = signed_distance(a, b, ZERO, most * h + depth, collision)
    if facet:
        front = front_of(b, pair.facet, collision)
        if s <= 0.0 or dot(n, front) > 0.0:
            n = scale(-1.0, front)
    u = dot(n, sub(velocity_at(p, way_b), velocity_at(p, way_a)))
    if s <= TOUCH * depth and goes_too_deep(s, u, h, depth, allowed):
        if closes_soon(s, u, h, most, depth):
            return -s / u
        note_impact(a, b, n, p, stepping.impact)
        return -1.0
    if s > TOUCH * depth and most * h <= s + allowed:
        return math.inf
    gap = gap_bound(pair, n, h, way_a, way_b, bend, tables)
    if time_until(-allowed, gap, h) > h:
        return math.inf
    touch = TOUCH * depth
    safe = time_until(0.5 * touch if s > touch else -0.5 * allowed, gap, h)
    return max(safe, max(s - 0.5 * touch if s > touch else 0.0, allowed, touch) / most)


# The first impact -------------------------------------------------------------------------------------------------------


@njit
def find_impact_of_trees(h, z, reduced, js, tables):
    """The first impact of a fast body within h (s) from the state z, whose speeds stay, into `impact`; z is as before.
    Returns a status."""
    collision, stepping = tables.collision, tables.stepping
    colliders, moves, bodies = collision.colliders, stepping.moves, reduced.system.settings[0].rigid
    coordinates, driven = reduced.options[0].coordinates, reduced.system.commands.shape[0] > 0
    begin = time_on_way(h, js, tables)
    if driven and call_rides(SHOW_ON_WAY, begin, z, z, tables, reduced, js) != OK:
        return NON_FINITE
    speeds = z[coordinates : coordinates + reduced.options[0].speeds]
    bound_speeds(h, z, reduced, js, tables)
    for k in range(coordinates):
        store(js.start, k, load(z, k))
    t, found = 0.0, False
    for _ in range(MOST_TIMES):
        if driven:
            call_rides(SHOW_ON_WAY, begin + t, z, z, tables, reduced, js)
        else:
            place_links(z, reduced, js)
            show_links(z, reduced, js.tree, js.links)
        safe = math.inf
        for k in range(collision.counts[PAIRS]):
            pair = collision.pairs[k]
            i, j = colliders[pair.a].body, colliders[pair.b].body
            fast = (i < bodies and moves[i] > 0.0) or (j < bodies and moves[j] > 0.0) or pair.left != 0
            if not fast or pair.late != 0 or (j < bodies and colliders[pair.b].kind == HALF_SPACE):
                continue
            if collision.asleep[i] != AWAKE and collision.asleep[j] != AWAKE:
                continue
            safe = min(safe, time_in_safety(pair, k, h - t, reduced.y, tables))
            if safe < 0.0:
                stepping.impact[PAIR_ROW] = k
                found = True
                break
        if found or t + safe >= h:
            break
        t += safe
        for k in range(coordinates):
            store(z, k, load(js.start, k))
        displace_coordinates(z, t, speeds, js.tree)
    for k in range(coordinates):
        store(z, k, load(js.start, k))
    stepping.impact[TIME] = t if found else math.inf
    return OK


_floats = viewer(np.float64)


@njit
def joint_space_continuous_task(task, h, z, out, reduced, js, tables):
    """FIND the first impact within h (s) from the state z, or MEET + i: see `continuous.meets_elsewhere`."""
    if task >= MEET:
        return 1 if meets_elsewhere(task - MEET, h, z, out, tables) else 0
    return find_impact_of_trees(h, z, reduced, js, tables)


def joint_space_continuous_entry(data, task, h, z, n, out, m):
    tables = table_at(ContactTables, data)
    reduced, js = table_at(Reduced, tables.callbacks[0].reduced), table_at(JointSpace, tables.callbacks[0].joint_space)
    return joint_space_continuous_task(task, h, _floats(z, n), _floats(out, m), reduced, js, tables)


JOINT_SPACE_CONTINUOUS_ENTRY = CFunction(joint_space_continuous_entry, C_SIGNATURE)
