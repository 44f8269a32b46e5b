"""Fast bodies: bodies that can move by more than a part of their thickness in a step, and bodies that outrun detection.

Collision detection covers the distance that a body moves at its velocity before the step. If an impulse makes it
faster, the step detects again with the new velocities (`outruns`). Bodies that are fast compared with their thickness
also get continuous detection (`continuous`).

In order: sizes of bodies, for Python; tests for fast bodies; tests for bodies that outrun detection; effects of impacts
in free motion.
"""

import math
from typing import Any

import numpy as np

from ..collide.detect import coefficients
from ..collide.near import begin_near, mark_near
from ..collide.tables import AWAKE, CONTACTS, NEED_ROOM, PAIRS
from ..collide.tables import FREE as UNLINKED
from ..core.c_function import call_pointer
from ..core.jit import inlined, njit
from ..core.math3 import add, cross, dot, load3, norm, perpendicular, scale, store3, sub
from ..core.simd import clear, load, store
from ..core.status import OK
from ..core.tables import own_address
from ..scene.shapes.base import BOX, CAPSULE, HALF_SPACE, HULL, MESH, SPHERE
from .gauss_seidel import axes_of, world_impulse
from .tables import (
    ANGULAR,
    BODY_SPEEDS,
    INVERSE_MASS,
    LINEAR,
    MOTION,
    MOVES_LITTLE,
    NOTE_TORQUES,
    call_coordinates,
    call_surfaces,
    in_joint_space,
    put_three,
    relative_velocity,
    three,
)

FAST = 0.25  # of half its thickness: a body that may move farther in a step is fast
FAST_IN_PILE = 0.75  # likewise, if it is pressed in a large pile in motion
LITTLE = 0.1  # of half its thickness: a body that moves no farther in a step passes, or meets with the normal of now
RESTS = 0.03  # of the overlap tolerated: contacts that approach by no more in a step, as at rest, keep their normals
TOUCHES = (
    0.1  # of half the thickness of the thinner of two that meet in free motion: contacts no farther open are closed
)
FAR_AHEAD = 2.0  # times half its thickness: what is farther ahead of a fast body has no contact yet
SOON = 0.1  # of a step: impacts that follow the first within it are solved with it
SOON_IN_CROWD = 1e-3  # likewise, of elastic bodies that were caught between others
EACH, DOUBLINGS = 2, 3  # impacts of a body in half a step, for each of which `doublings` grows, up to so much
OUTRUN = 0.25  # of half its thickness: how much farther than collision detection assumed a body may move
MOST_BOUNCES = 16  # contacts of bodies in flight that are left to continuous detection in a step because they bounce
TURNING = 0.02  # of the speed at which it meets another: how fast points of a body may move by its rotation for that
ELASTIC = 0.99  # a larger coefficient of restitution counts as elastic
BEYOND = 4.0  # times what both bodies move in a step: added to the gap of a contact left to continuous detection
# Numbers of `impact`: the time (s from now; infinite: none), the pair of colliders, the unit normal from a to b, the point
# midway between the surfaces, and the row of the pair.
TIME, SIDE_A, SIDE_B, IMPACT_NORMAL, IMPACT_POINT, PAIR_ROW = 0, 1, 2, 3, 6, 9
# `left` of a pair whose contacts were left to continuous detection: has it met, has it not; will it bounce, has it; else 0
MET, UNMET, BOUNCES, BOUNCED = 1, 2, 3, 4
FIND, STRIKE, FIND_NEXT, MEET = 0, 1, 2, 3  # tasks of `continuous`; MEET + i: of contact i


# Sizes ------------------------------------------------------------------------------------------------------------------


def half_thickness(collision: Any) -> np.ndarray:
    """(colliders,) m: half the least thickness of each collider, or less; infinite for half-spaces and meshes."""
    found = np.full(len(collision.colliders), np.inf)
    for i, collider in enumerate(collision.colliders):
        kind, size = int(collider["kind"]), np.asarray(collider["size"])
        if kind in (HALF_SPACE, MESH):
            continue
        if kind == HULL:
            first, number = int(collider["first_vertex"]), int(collider["vertices"])
            corners = np.reshape(collision.vertices, (-1, 3))[first : first + number]
            faces = collision.faces[int(collider["first_face"]) : int(collider["first_face"]) + int(collider["faces"])]
            found[i] = float((faces["offset"] - faces["normal"] @ corners.mean(axis=0)).min())
        elif kind in (SPHERE, CAPSULE):
            found[i] = size[0]
        elif kind == BOX:
            found[i] = size.min()
        else:
            found[i] = 0.3 * size[size > 0.0].min()
    return found


def sizes_of_bodies(collision: Any, bodies: int) -> tuple[np.ndarray, np.ndarray]:
    """(bodies,) half the least thickness of each (m), infinite without a collider; and how far from its centre it has points
    that its rotation moves out of where it was (m)."""
    thin, turning = np.full(bodies, np.inf), np.zeros(bodies)
    for collider, thickness in zip(collision.colliders, half_thickness(collision), strict=True):
        body = int(collider["body"])
        if body >= bodies:
            continue
        ball = int(collider["kind"]) == SPHERE
        outer = float(np.linalg.norm(collider["position"])) + (0.0 if ball else float(collider["radius"]))
        thin[body], turning[body] = min(thin[body], float(thickness)), max(turning[body], outer)
    return thin, turning


# During a step ----------------------------------------------------------------------------------------------------------


@njit
def show_velocities(tables):
    """In joint coordinates, write the velocities of all bodies for `is_fast` and others: those that `motion` brings if there
    are contacts, else those before the impulses."""
    show_start(tables)
    if tables.collision.counts[CONTACTS] > 0:
        call_coordinates(BODY_SPEEDS, 0.0, tables.stepping.motion, tables.stepping.search_motion, tables)


@njit
def moves_little(tables):
    """In joint coordinates: whether after the impulses all bodies are so slow that none is fast, and none outruns detection.
    It takes a bound for each link with all that is welded to it, and nothing for each body."""
    stepping = tables.stepping
    if not in_joint_space(tables) or tables.collision.counts[CONTACTS] == 0:
        return False
    return call_coordinates(MOVES_LITTLE, stepping.options[0].dt, stepping.motion, stepping.answer, tables) != 0


@njit
def show_start(tables):
    """The same of the velocities in the kinematics table; the world does not move."""
    out, bodies, world = tables.stepping.search_motion, tables.system.bodies, tables.stepping.thickness.shape[0]
    put_three(out, MOTION * world + LINEAR, (0.0, 0.0, 0.0))
    put_three(out, MOTION * world + ANGULAR, (0.0, 0.0, 0.0))
    for i in range(world):
        kin = tables.system.kinematics[i]
        put_three(out, MOTION * i + LINEAR, load3(kin.v))
        put_three(out, MOTION * i + ANGULAR, load3(kin.omega))
        store(out, MOTION * i + INVERSE_MASS, bodies[i].inverse_mass)


@njit
def is_fast(h, motion, tables):
    """Whether some body may move by more than a part of its thickness within h (s) at the velocities in `motion`, or in its
    motion. In joint coordinates `motion` is what `show_velocities` wrote, here and below."""
    swing = tables.stepping.swing
    for i in range(swing.shape[0]):
        at = MOTION * i
        moved = norm(three(motion, at + LINEAR)) + load(swing, i) * norm(three(motion, at + ANGULAR))
        if h * moved > fast_from(i, tables.stepping) and (
            load(motion, at + INVERSE_MASS) > 0.0 or is_driven_fast(i, h, tables)
        ):
            return True
    return False


@inlined
def fast_from(body, stepping):
    """How far a body may move in a step without being fast (m)."""
    return load(stepping.thickness, body) * (FAST_IN_PILE if is_pressed(body, stepping.aims) else FAST)


@njit
def is_driven_fast(body, h, tables):
    """Whether a kinematic body moves so far, without what its surface does."""
    return driven_distance(body, h, tables) > FAST * tables.stepping.thickness[body]


@njit
def driven_distance(body, h, tables):
    """How far points of a kinematic body may move within h (s)."""
    commands = tables.system.commands
    for i in range(commands.shape[0]):
        row = commands[i]
        if row.body == body:
            return h * (norm(load3(row.after_v)) + tables.stepping.swing[body] * norm(load3(row.after_omega)))
    return 0.0


@njit
def outruns(h, bounced, motion, tables):
    """Whether some body is so much faster after the impulses that it may meet what detection did not look for within h (s);
    if elastic bodies `bounced`, any that is faster. Extends the `travel` of these bodies, and marks them (`collide.near`)."""
    found = False
    for i in range(tables.stepping.thickness.shape[0]):
        if body_outruns(i, h, bounced, motion, tables):
            if not found:
                begin_near(tables.collision)
            mark_near(i, tables.collision)
            found = True
    return found


@njit
def body_outruns(i, h, bounced, motion, tables):
    """The same of body i."""
    stepping, travel, at = tables.stepping, tables.collision.travel, MOTION * i
    thickness = load(stepping.thickness, i)
    if thickness == math.inf:
        return False  # also rows of the tree that are no bodies, which have no `travel`
    moved, turned = h * norm(three(motion, at + LINEAR)), h * norm(three(motion, at + ANGULAR))
    beyond = moved - load(travel, 2 * i) + load(stepping.swing, i) * max(0.0, turned - load(travel, 2 * i + 1))
    beyond -= 0.5 * stepping.options[0].margin
    if beyond <= 0.0 or load(motion, at + INVERSE_MASS) == 0.0:
        return False
    if beyond <= (0.0 if bounced else OUTRUN * thickness):
        return False
    store(travel, 2 * i, max(moved, load(travel, 2 * i)))
    store(travel, 2 * i + 1, max(turned, load(travel, 2 * i + 1)))
    return True


@njit
def forget_left(tables):
    """No contact is left to continuous detection, at the middle of a step, and nothing meets in free motion."""
    collision = tables.collision
    tables.stepping.report[0].left = 0
    tables.stepping.impact[TIME] = math.inf
    if tables.stepping.options[0].fast != 0:
        for k in range(collision.counts[PAIRS]):
            collision.pairs[k].left = 0


@njit
def leave_to_detection(begin, end, h, motion, y, tables):
    """Leave open contacts begin … end to continuous detection where the normal of another place would deflect a body: those
    that close within h (s) by their normal, while the bodies pass each other or meet with another normal; and those that are
    far ahead of a fast body. The normal of a half-space is the same everywhere, and where a body in a large pile goes depends
    on what presses it. y : the state of the bodies, where they are. Returns a status: NEED_ROOM where continuous detection is
    not at hand yet."""
    contacts, colliders, pairs = tables.collision.contacts, tables.collision.colliders, tables.collision.pairs
    stepping, last, elsewhere = tables.stepping, -1, False
    for i in range(begin, end):
        contact = contacts[i]
        gap = contact.separation
        if gap <= 0.0 or colliders[pairs[contact.pair].b].kind == HALF_SPACE or meets_now(contact, tables):
            continue
        way_along = -h * normal_rate(contact, motion)
        closing = way_along > gap
        if not closing and stepping.options[0].fast == 0:
            continue
        least, part, way = way_of(contact, motion, tables)
        if part <= FAST or gap <= FAR_AHEAD * least:
            if (
                not closing
                or way_along <= RESTS * stepping.options[0].slop
                or is_either_pressed(contact, stepping.aims)
            ):
                continue
            if lacks_detection(tables):
                return NEED_ROOM
            if contact.pair != last:
                last, elsewhere = contact.pair, meets_elsewhere(i, h, motion, y, tables)
            if not elsewhere:
                continue
        leave(contact, UNMET, way, tables)
    return OK


@inlined
def meets_now(contact, tables):
    """Whether a contact is at an impact in free motion, and where its pair touches."""
    impact, walls, pair = tables.stepping.impact, tables.stepping.walls, tables.collision.pairs[contact.pair]
    if not impact[TIME] < math.inf or pair.a != int(impact[SIDE_A]) or pair.b != int(impact[SIDE_B]):
        return False
    return contact.separation <= TOUCHES * min(walls[pair.a], walls[pair.b])


@inlined
def leave(contact, state, way, tables):
    """Leave a contact of bodies that move so far (m) in the step to continuous detection."""
    contact.separation += BEYOND * way
    store3(contact.impulse, (0.0, 0.0, 0.0))
    tables.collision.pairs[contact.pair].left = state
    tables.stepping.report[0].left += 1


@inlined
def lacks_detection(tables):
    """Whether continuous detection is not at hand yet; if so, asks for it."""
    if tables.callbacks[0].continuous != 0:
        return False
    tables.stepping.report[0].wants_continuous = 1
    return True


# At the start no contact has acted before, so what closes in the first half of a step meets on the way, at its own time, and
# the velocities at the start stay as they were given. Pairs that touch are solved at once. So is everything if many pairs
# are about to close, as in a dense gas, where each impact on the way would take a solution of its own.


@njit
def leave_start(h, motion, tables):
    """Leave the contacts that close within h (s) from the start to continuous detection, where their pairs do not touch yet.
    Returns a status as `leave_to_detection`."""
    contacts, count, closing = tables.collision.contacts, tables.collision.counts[CONTACTS], 0
    for i in range(count):
        if meets_on_way(contacts[i], h, motion, tables):
            closing += 1
    if closing == 0 or closing > MOST_BOUNCES:
        return OK
    if lacks_detection(tables):
        return NEED_ROOM
    for i in range(count):
        contact = contacts[i]
        if meets_on_way(contact, h, motion, tables):
            state = BOUNCES if contact.restitution > 0.0 else UNMET
            leave(contact, state, way_of(contact, motion, tables)[2], tables)
    return OK


@njit
def leave_caught(h, tables):
    """Leave all open contacts of elastic bodies to continuous detection, but for those of the pair that meets now: where
    elastic bodies are caught between others, rounds of impacts would not end. Forgets the impulses of elastic contacts.
    Returns (whether some of the contacts it leaves close within h (s), a status as `leave_to_detection`)."""
    contacts, motion, closes = tables.collision.contacts, tables.stepping.search_motion, False
    if lacks_detection(tables):
        return False, NEED_ROOM
    show_start(tables)
    for i in range(tables.collision.counts[CONTACTS]):
        contact = contacts[i]
        if contact.restitution > ELASTIC:
            store3(contact.impulse, (0.0, 0.0, 0.0))
            if is_apart(contact, tables) and not meets_now(contact, tables):
                closes = closes or contact.separation + h * normal_rate(contact, motion) < 0.0
                leave(contact, BOUNCES, way_of(contact, motion, tables)[2], tables)
    return closes, OK


@njit
def meets_on_way(contact, h, motion, tables):
    """Whether an open contact closes within h (s), of a pair that does not touch, and whose impacts can be looked for."""
    return contact.separation + h * normal_rate(contact, motion) < 0.0 and is_apart(contact, tables)


@njit
def is_apart(contact, tables):
    """Whether a contact is open, of a pair that does not touch, and whose impacts can be looked for."""
    collision, kept = tables.collision, tables.stepping.options[0].kept
    if contact.separation <= kept:
        return False
    other = collision.colliders[collision.pairs[contact.pair].b]
    if other.kind == HALF_SPACE and other.body < tables.system.bodies.shape[0]:
        return False
    manifold = collision.manifolds[contact.pair]
    for k in range(manifold.points):
        if manifold.separation[k] <= kept:
            return False
    return True


# A bounce in the middle of a step happens at the wrong place, up to h |u_n| above the ground, and at the wrong velocity: in
# flight the velocity between two middles is right where the steps meet, and weight changes it on the way to the impact. A
# ball with e = 0.8 has 3 % too much energy after each bounce at 60 Hz. So impacts of bodies in flight are left to continuous
# detection, which finds when they happen (see `nearby` for the velocity). What bears force, is joined to others, moves by
# command, is so slow that weight ends its bounce within a step, or turns so fast that another point may meet soon after the
# first, bounces in the middle, where all contacts are solved together.


@njit
def leave_bounces(h, motion, tables):
    """Leave contacts that bounce to continuous detection, if their bodies are in flight. h (s) : the step, in the middle of
    which the bodies are, with the velocities in `motion`. Returns a status as `leave_to_detection`."""
    contacts, count = tables.collision.contacts, tables.collision.counts[CONTACTS]
    first = 0
    while first < count and not is_bounce(contacts[first], h, motion, tables):
        first += 1
    if first == count:
        return OK
    if lacks_detection(tables):
        return NEED_ROOM
    note_bearing(h, motion, tables)
    left = 0
    for i in range(first, count):
        contact = contacts[i]
        if is_bounce(contact, h, motion, tables) and flies(contact.a, tables) and flies(contact.b, tables):
            if left < MOST_BOUNCES or (bounces(contact.a, True, tables) and bounces(contact.b, True, tables)):
                leave(contact, BOUNCES, way_of(contact, motion, tables)[2], tables)
                note_bounce(contact, BOUNCING, tables)
                left += 1
    for i in range(count):
        contact = contacts[i]
        if contact.restitution <= 0.0 and (bounces(contact.a, False, tables) or bounces(contact.b, False, tables)):
            if hits(contact, 1.0, h, motion, tables) and flies(contact.a, tables) and flies(contact.b, tables):
                leave(contact, BOUNCES, way_of(contact, motion, tables)[2], tables)
    for i in range(first, count):
        note_bounce(contacts[i], 0.0, tables)
    return OK


# While contacts are left, `bears` of their bodies is BOUNCING: all contacts of one body bounce together, those without
# restitution too.
BOUNCING = -1.0


@inlined
def note_bounce(contact, value, tables):
    """Note for the bodies of a contact that they bounce, or clear that."""
    bears = tables.stepping.bears
    for body in (contact.a, contact.b):
        if body < bears.shape[0] and load(bears, body) <= 0.0:
            bears[body] = value


@inlined
def bounces(body, fixed, tables):
    """Whether a body bounces; `fixed` for one that contacts do not move."""
    bears = tables.stepping.bears
    if body >= bears.shape[0] or tables.system.bodies[body].inverse_mass == 0.0:
        return fixed
    return load(bears, body) == BOUNCING


@inlined
def is_bounce(contact, h, motion, tables):
    """Whether an open contact may close within h (s) at a speed at which it bounces: it separates faster than weight closes
    it in as long a time, and points of its bodies hardly move by rotation."""
    return contact.restitution > 0.0 and hits(contact, contact.restitution, h, motion, tables)


@inlined
def hits(contact, share, h, motion, tables):
    """The same, if `share` of its speed is to be more than what weight adds."""
    if contact.separation <= 0.0:
        return False
    u, weight = normal_rate(contact, motion), weight_in(contact.a, h, tables) + weight_in(contact.b, h, tables)
    if contact.separation + h * (u - weight) >= 0.0 or -u * share <= weight:
        return False
    return turning(contact.a, motion, tables) + turning(contact.b, motion, tables) <= -TURNING * u


@inlined
def turning(body, motion, tables):
    """How fast points of a body move by its rotation, m/s."""
    swing = tables.stepping.swing
    return load(swing, body) * norm(three(motion, MOTION * body + ANGULAR)) if body < swing.shape[0] else 0.0


@inlined
def weight_in(body, h, tables):
    """The velocity that forces add to a body within h (s), m/s."""
    system = tables.system
    if body >= system.bodies.shape[0]:
        return 0.0
    return h * system.bodies[body].inverse_mass * norm(load3(system.kinematics[body].force))


@njit
def have_restitution(tables):
    """Whether some contact has restitution."""
    for i in range(tables.collision.counts[CONTACTS]):
        if tables.collision.contacts[i].restitution > 0.0:
            return True
    return False


@njit
def note_bearing(h, motion, tables):
    """Note which bodies bear force, by the impulses of their contacts in a step over h (s); `motion` : the velocities since.
    Contacts that separate faster than weight closes them have bounced, and bear nothing. Where no contact has restitution,
    all bodies count as bearing, as none bounces."""
    contacts, bears = tables.collision.contacts, tables.stepping.bears
    if not have_restitution(tables):
        for body in range(bears.shape[0]):
            bears[body] = 1.0
        return
    clear(bears)
    for i in range(tables.collision.counts[CONTACTS]):
        contact = contacts[i]
        if contact.impulse[0] <= 0.0:
            continue
        if normal_rate(contact, motion) > weight_in(contact.a, h, tables) + weight_in(contact.b, h, tables):
            continue
        for body in (contact.a, contact.b):
            if body < bears.shape[0]:
                bears[body] = 1.0


@inlined
def flies(body, tables):
    """Whether a body is in flight, or forces do not move it."""
    if body >= tables.stepping.bears.shape[0] or tables.system.bodies[body].inverse_mass == 0.0:
        return True
    return is_free(body, tables)


@inlined
def is_free(body, tables):
    """Whether no contact of a body that is awake bore force at the last middle, and no joint holds it."""
    if load(tables.stepping.bears, body) > 0.0 or tables.collision.linked[body] != UNLINKED:
        return False
    return tables.collision.asleep[body] == AWAKE


@njit
def way_of(contact, motion, tables):
    """(half the thickness of the thinner body of a contact, the most that one of them moves in a step as a part of half its
    thickness, how far both move)."""
    stepping = tables.stepping
    thickness, h = stepping.thickness, stepping.options[0].dt
    least, part, way = math.inf, 0.0, 0.0
    for body in (contact.a, contact.b):
        if body < thickness.shape[0]:
            moved = h * norm(three(motion, MOTION * body + LINEAR))
            moved += h * stepping.swing[body] * norm(three(motion, MOTION * body + ANGULAR))
            if load(motion, MOTION * body + INVERSE_MASS) == 0.0:
                moved = driven_distance(body, h, tables)
            part = max(part, moved / thickness[body])
            least, way = min(least, thickness[body]), way + moved
    return least, part, way


@inlined
def is_either_pressed(contact, aims):
    """Whether a body of a contact is pressed in a large pile."""
    return is_pressed(contact.a, aims) or is_pressed(contact.b, aims)


@inlined
def is_pressed(body, aims):
    """Whether a body bears force in a large pile in motion."""
    return body < aims.shape[0] and load(aims, body) > 0.0


@inlined
def normal_rate(contact, motion):
    """The normal velocity of a contact (m/s)."""
    u = relative_velocity(motion, contact, load3(contact.arm_a), load3(contact.arm_b))
    return dot(load3(contact.frame), u)


@njit
def meets_elsewhere(number, h, motion, y, tables):
    """Asks continuous detection, see `continuous.meets_elsewhere`."""
    return call_pointer(tables.callbacks[0].continuous, own_address(tables), MEET + number, h, motion, y) != 0


# Thin bodies that tumble in a pile meet again and again in half a step, and each impact would take a solution of its own. So
# after some impacts, for each few more a body may go twice as deep (`continuous.allowed_depth`), and impacts that follow in
# twice the time are solved together.


@inlined
def doublings(body, stepping):
    """How often what is allowed to a body is doubled, after its impacts in this half of a step."""
    return min(stepping.met[body] // EACH, DOUBLINGS) if body < stepping.met.shape[0] else 0


@inlined
def soon(body, stepping):
    """The time (s) after an impact in which others of a body are solved with it."""
    if stepping.report[0].crowded != 0:
        return soon_in_crowd(stepping)
    return SOON * stepping.options[0].dt * (1 << doublings(body, stepping))


@inlined
def soon_in_crowd(stepping):
    """The same among crowded elastic bodies."""
    return SOON_IN_CROWD * stepping.options[0].dt


@njit
def note_meeting(tables):
    """The pair of the impact in free motion has met."""
    collision = tables.collision
    pair = collision.pairs[int(tables.stepping.impact[PAIR_ROW])]
    bounces = pair.left >= BOUNCES
    if bounces:
        watch_pairs(collision.colliders[pair.a].body, collision.colliders[pair.b].body, tables)
    if pair.left != 0:
        pair.left = BOUNCED if bounces else MET


@njit
def bounces_on_way(h, tables):
    """Whether the pair of the impact in free motion bounces; then the pairs of its bodies are watched."""
    if not impact_bounces(h, tables):
        return False
    collision = tables.collision
    pair = collision.pairs[int(tables.stepping.impact[PAIR_ROW])]
    watch_pairs(collision.colliders[pair.a].body, collision.colliders[pair.b].body, tables)
    return True


@njit
def impact_bounces(h, tables):
    """Whether the pair of the impact in free motion, where its bodies are, is in flight, and separates faster than weight
    closes it in h (s)."""
    collision, impact, kinematics = tables.collision, tables.stepping.impact, tables.system.kinematics
    pair, n, p = collision.pairs[int(impact[PAIR_ROW])], three(impact, IMPACT_NORMAL), three(impact, IMPACT_POINT)
    if pair.left == BOUNCED:
        return True
    one, two = collision.colliders[pair.a], collision.colliders[pair.b]
    u, weight = 0.0, weight_in(one.body, h, tables) + weight_in(two.body, h, tables)
    for body, sign in ((one.body, -1.0), (two.body, 1.0)):
        if body < tables.stepping.bears.shape[0]:
            kin = kinematics[body]
            u += sign * dot(n, add(load3(kin.v), cross(load3(kin.omega), sub(p, load3(kin.x)))))
    _, restitution = coefficients(pair, one, two, collision.colliders.shape[0], collision)
    return -u * restitution > weight and flies(one.body, tables) and flies(two.body, tables)


@njit
def rebound(u, tables):
    """The normal velocity (m/s) with which the pair of the impact in free motion separates, if nothing else acts on it and it
    closes at u (m/s). It rests where weight would end the bounce within a step."""
    collision, dt = tables.collision, tables.stepping.options[0].dt
    pair = collision.pairs[int(tables.stepping.impact[PAIR_ROW])]
    one, two = collision.colliders[pair.a], collision.colliders[pair.b]
    _, restitution = coefficients(pair, one, two, collision.colliders.shape[0], collision)
    bounces = -u * restitution > weight_in(one.body, dt, tables) + weight_in(two.body, dt, tables)
    return -u * restitution if bounces else 0.0


@njit
def watch_pairs(a, b, tables):
    """Watch the pairs of two bodies that bounce until the next middle: the contacts of the last one did not expect where they
    go now. What moves by command goes where it did. In a crowd also the pairs that have bounced, but for the one that meets
    now: others send them back."""
    collision, bodies, crowded = tables.collision, tables.system.bodies, tables.stepping.report[0].crowded != 0
    for k in range(collision.counts[PAIRS]):
        pair = collision.pairs[k]
        again = crowded and pair.left == BOUNCED and k != int(tables.stepping.impact[PAIR_ROW])
        if pair.left == 0 or again:
            for body in (collision.colliders[pair.a].body, collision.colliders[pair.b].body):
                if body < bodies.shape[0] and body in (a, b) and bodies[body].inverse_mass > 0.0:
                    pair.left = BOUNCES


# What impacts in free motion did ----------------------------------------------------------------------------------------


@njit
def forget_struck(stepping):
    """Empty the table of impacts in free motion, at the start of a step."""
    if stepping.report[0].struck > 0:
        for i in range(stepping.struck_slots.shape[0]):
            stepping.struck_slots[i] = 0
    stepping.report[0].struck = 0


@njit
def slot_of(a, b, struck, slots):
    """The slot of a pair of colliders in a hash table with open addressing: the one with its row of `struck`, plus 1, or the
    empty one where it belongs. Half of the slots or more are empty; their number is a power of two."""
    mask, mixed = slots.shape[0] - 1, a * 73856093 + b * 19349663
    at = (mixed ^ (mixed >> 16)) & mask
    while slots[at] != 0 and (struck[slots[at] - 1].a != a or struck[slots[at] - 1].b != b):
        at = (at + 1) & mask
    return at


@njit
def note_impulse(a, b, position, axes, impulse, tables):
    """Add an impulse (world axes) on collider b, and its opposite on a, to `struck`. Returns whether there was room."""
    struck, slots, report = tables.stepping.struck, tables.stepping.struck_slots, tables.stepping.report[0]
    at = slot_of(a, b, struck, slots) if struck.shape[0] > 0 else -1
    number = slots[at] - 1 if at >= 0 and slots[at] > 0 else report.struck
    if number >= struck.shape[0]:
        report.room = max(2 * number, 1)
        return False
    row = struck[number]
    if number == report.struck:
        slots[at] = number + 1
        report.struck += 1
        row.a, row.b = a, b
        store3(row.position, position)
        store3(row.impulse, (0.0, 0.0, 0.0))
        store3(row.moment, (0.0, 0.0, 0.0))
        for k in range(3):
            row.frame[k], row.frame[3 + k], row.frame[6 + k] = axes[0][k], axes[1][k], axes[2][k]
    n, t, s = axes_of(row)
    store3(row.impulse, add(load3(row.impulse), (dot(n, impulse), dot(t, impulse), dot(s, impulse))))
    store3(row.moment, add(load3(row.moment), cross(sub(position, load3(row.position)), impulse)))
    return True


@njit
def note_contacts(begin, end, tables):
    """Add the impulses of contacts begin … end, and the torques of all where surfaces resist turning. Returns whether there
    was room."""
    contacts, pairs = tables.collision.contacts, tables.collision.pairs
    for i in range(begin, end):
        contact = contacts[i]
        p, axes = load3(contact.impulse), axes_of(contact)
        if p[0] != 0.0:
            pair, push = pairs[contact.pair], world_impulse(axes[0], axes[1], axes[2], p[0], p[1], p[2])
            if not note_impulse(pair.a, pair.b, load3(contact.position), axes, push, tables):
                return False
    call_surfaces(NOTE_TORQUES, 0.0, tables.stepping.motion, tables)
    return True


@njit
def note_torque(a, b, torque, stepping):
    """Add an angular impulse (N m s, world axes) on collider b, and its opposite on a, to what impulses did to the two."""
    number = stepping.struck_slots[slot_of(a, b, stepping.struck, stepping.struck_slots)] - 1
    if number >= 0:
        row = stepping.struck[number]
        store3(row.moment, add(load3(row.moment), torque))


@njit
def note_strike(a, b, position, n, size, tables):
    """Add an impulse along n. Returns whether there was room."""
    t = perpendicular(n)
    return note_impulse(a, b, position, (n, t, cross(n, t)), scale(size, n), tables)
