"""Contacts with a side that a body slides over: seams between flush faces.

Detection looks at one pair of colliders at a time. A box that slides over the seam of two floors of the same height is at
some distance, along its way, from the second one, whose side is all that separates the two: a contact there would stop
it. But it slides on the first floor, and along the normal of that contact the second one is no nearer: it passes over. So
a contact that closes within the step is left out if the normal of another contact of one of its bodies separates its
colliders now and at the end of the step, at the velocities before the impulses; by as much as that contact overlaps, and by
the overlap that is tolerated. A step that is higher than this stays a contact.

What supports a body is never left out: a contact that closes along the very normal that would show it open.
"""

from ..collide.gjk import core_radius, support
from ..collide.polyhedron import show
from ..collide.tables import ISLANDS, MOVED
from ..core.jit import inlined, njit
from ..core.math3 import add_scaled, dot, load3, matvec_t, norm, rotate_by, scale, store3, sub, to_matrix
from ..core.simd import load
from ..scene.shapes.base import HALF_SPACE, MESH
from .fast import BEYOND, is_either_pressed, normal_rate, way_of
from .shock_propagation import list_contacts
from .tables import ANGULAR, LINEAR, MOTION, three

CLOSES = 0.03  # of the overlap tolerated: contacts that approach by less in the step, as at rest, are let be
ASLANT = 0.7  # cosine of the angle between two normals up to which a contact does not bear what the other one bears
SHARE = 0.1  # beyond that angle: of the way along its own normal, how far the colliders may approach along the other
NEARBY = 2.0  # and of the way that the bodies move past each other in a step, how far off the other contact may be


@njit
def pass_seams(h, motion, tables):
    """Leave out the contacts of all islands that bodies slide over within h (s), with the velocities in `motion`."""
    islands = tables.collision.islands
    for i in range(tables.collision.counts[ISLANDS]):
        pass_seams_of(islands[i].first, islands[i], h, motion, tables)


@njit
def pass_seams_of(begin, island, h, motion, tables):
    """The same of the contacts of an island from `begin` on."""
    contacts, end, listed = tables.collision.contacts, island.end, False
    i = begin if moves(island, h, motion, tables) else end
    while i < end:
        after = i + 1
        while after < end and contacts[after].pair == contacts[i].pair:
            after += 1
        way = way_of_closing(i, after, h, motion, tables) if after - i < end - island.first else 0.0
        if way > 0.0:
            if not listed:
                list_contacts(island, tables)
                listed = True
            if passes(i, after, way, h, motion, tables):
                leave_out(i, after, BEYOND * way_of(contacts[i], motion, tables)[2], contacts)
        i = after


@njit
def moves(island, h, motion, tables):
    """Whether some body of an island moves so far within h (s) that a contact may be left out, or some may by command."""
    members, stepping = tables.collision.members, tables.stepping
    little = 0.5 * CLOSES * stepping.options[0].slop
    for m in range(island.first_member, island.end_member):
        at, swing = MOTION * members[m], load(stepping.swing, members[m])
        if not h * (norm(three(motion, at + LINEAR)) + swing * norm(three(motion, at + ANGULAR))) <= little:
            return True
    return tables.system.commands.shape[0] > 0


@njit
def way_of_closing(begin, end, h, motion, tables):
    """How far (m) the contacts begin … end of a pair approach within h (s): the one that then overlaps most. 0 if none
    closes, or they keep their rows: the normal of a half-space is the same everywhere."""
    contacts, collision = tables.collision.contacts, tables.collision
    if collision.colliders[collision.pairs[contacts[begin].pair].b].kind == HALF_SPACE:
        return 0.0
    little = CLOSES * tables.stepping.options[0].slop
    way, least = 0.0, 0.0
    for i in range(begin, end):
        moved = h * normal_rate(contacts[i], motion)
        if moved < -little and contacts[i].separation + moved < least:
            way, least = -moved, contacts[i].separation + moved
    return 0.0 if way > 0.0 and is_either_pressed(contacts[begin], tables.stepping.aims) else way


@inlined
def leave_out(begin, end, distance, contacts):
    """Set contacts apart by so much more (m)."""
    for i in range(begin, end):
        contacts[i].separation = max(contacts[i].separation, 0.0) + distance
        store3(contacts[i].impulse, (0.0, 0.0, 0.0))


@njit
def passes(begin, end, way, h, motion, tables):
    """Whether the colliders of the contacts begin … end of a pair, which approach by so much (m), pass each other along the
    normal of a contact that another pair of one of their bodies has."""
    contacts, stepping, moved = tables.collision.contacts, tables.stepping, tables.collision.counts[MOVED]
    one = contacts[begin]
    for side in range(2):
        body = one.a if side == 0 else one.b
        if body >= moved:
            continue
        last = one.pair
        for k in range(stepping.link_starts[body], stepping.link_ends[body]):
            other = contacts[stepping.links[k]]
            if other.pair in (last, one.pair):
                continue
            last = other.pair
            same = (other.a == body) == (side == 0)
            n = scale(1.0 if same else -1.0, load3(other.frame))
            if is_beside(begin, end, n, other, tables) and is_cleared(one, other, n, way, h, motion, tables):
                return True
    return False


@inlined
def is_beside(begin, end, n, other, tables):
    """Whether the contacts begin … end of a pair may all lie where the plane of another contact, of normal n, goes on: no
    deeper than the patch of two faces is widened. For what leans on a wall and stands on a floor it is not so."""
    contacts, pair = tables.collision.contacts, tables.collision.pairs[tables.collision.contacts[begin].pair]
    wide = tables.collision.places[pair.a].reach + tables.collision.places[pair.b].reach
    wide += abs(other.separation) + tables.stepping.options[0].slop
    for i in range(begin, end):
        deep = dot(n, sub(load3(contacts[i].position), load3(other.position)))
        if abs(deep) > wide + abs(contacts[i].separation):
            return False
    return True


@njit
def is_cleared(contact, other, n, way, h, motion, tables):
    """Whether planes of normal n, from a to b, have the colliders of a contact on their two sides, now and after h (s), but
    for what the other contact overlaps, or approaches until it stops them, and the tolerated overlap. way : m, how far they
    approach along the normal of the contact. Where the two normals are close to each other, as those of a ball that rolls
    over a seam, the other contact must bear in the place of this one: it does not approach, and is nearby."""
    collision, slop = tables.collision, tables.stepping.options[0].slop
    pair = collision.pairs[contact.pair]
    if collision.colliders[pair.b].kind == MESH:
        show(collision.colliders[pair.b], pair.facet, collision)
    far_a, later_a = extent_along(pair.a, n, h, motion, collision)
    far_b, later_b = extent_along(pair.b, scale(-1.0, n), h, motion, collision)
    now, later = -far_a - far_b, -later_a - later_b
    least = min(other.separation, 0.0) - slop
    if not now >= least:
        return False
    if abs(dot(n, load3(contact.frame))) <= ASLANT:
        return later >= min(least, other.separation + h * min(normal_rate(other, motion), 0.0) - slop)
    if not later >= least or now - later > SHARE * way:
        return False
    v = sub(three(motion, MOTION * contact.b + LINEAR), three(motion, MOTION * contact.a + LINEAR))
    return norm(sub(load3(contact.position), load3(other.position))) <= NEARBY * h * norm(v)


@njit
def extent_along(number, n, h, motion, collision):
    """How far a collider extends along n (m), and how far it will after h (s) at the velocity of its body in `motion`."""
    collider, place = collision.colliders[number], collision.places[number]
    far = dot(n, support(collider, place, collision.vertices, n)) + core_radius(collider)
    at, centre = MOTION * collider.body, load3(place.centre)
    ahead = add_scaled(centre, h, three(motion, at + LINEAR))
    back = matvec_t(to_matrix(rotate_by((1.0, 0.0, 0.0, 0.0), scale(h, three(motion, at + ANGULAR)))), n)
    p = support(collider, place, collision.vertices, back)
    return far, dot(n, ahead) + dot(back, sub(p, centre)) + core_radius(collider)
