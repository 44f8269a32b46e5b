"""Collision detection for selected bodies: the contacts that an impact of fast bodies affects, in rounds.

`detect` processes all bodies. If one of thousands hits another, most contacts do not change. Here a caller marks bodies
and gets all their contacts; then it marks those of their neighbours that the impulses have moved, and gets their
contacts. Contacts are appended to the table of contacts, and their bodies to the second half of `members`, so that the
results of the last full detection stay unchanged.

Marks: zero for an unaffected body, BESIDE for a neighbour, else the round in which the body was marked.
"""

from ..core.jit import inlined, njit
from ..core.math3 import load3, matvec, matvec_t, store3
from ..core.thread_pool import COLLIDE_JOBS, run_parallel
from ..scene.shapes.base import HALF_SPACE
from .broad_phase import find_pairs, place_collider
from .tables import (
    AWAKE,
    CONTACTS,
    FAR_AWAY,
    FREE,
    MOVED,
    NEAR,
    NEAR_MEMBERS,
    NEED_CONTACTS,
    NEED_ROOM,
    PAIRS,
    ROUND,
    copy_row,
)

BESIDE = -1
LOOK_NEAR = -100  # the task of collision detection that this is
MEET, WRITE_PAIR = -1, -4  # kinds of its jobs
NOT_FINITE = 2  # status: a pose is not a number
ELSEWHERE = 50  # status: more is concerned than bodies that move by contacts and forces alone


@njit
def detect_near(y, margin, collision):
    """Append the contacts of the bodies marked in this round (`counts[ROUND]`) at the poses in y, with what may touch them
    within their `travel` or nearer than `margin` (m), but those of earlier rounds. Marks their neighbours. Returns 0,
    NEED_ROOM, NOT_FINITE, or ELSEWHERE, where something sleeps, is moved by joints or by command, or is a mesh that moves."""
    colliders, marks, counts = collision.colliders, collision.marks, collision.counts
    bodies, turn = marks.shape[0] - 1, counts[ROUND]
    for i in range(colliders.shape[0]):
        body = colliders[i].body
        if body < bodies and marks[body] == turn:
            if not moves_by_contacts(i, collision):
                return ELSEWHERE
            if not place_near(i, y, bodies, margin, collision):
                return NOT_FINITE
    if find_pairs(bodies, collision) != 0:
        return NEED_ROOM
    for k in range(counts[PAIRS]):
        pair = collision.pairs[k]
        one, two = marks[colliders[pair.a].body], marks[colliders[pair.b].body]
        if (one == turn and (two <= 0 or two == turn)) or (two == turn and one <= 0):
            status = meet_near(k, pair.a if one != turn else pair.b, y, margin, collision)
            if status != 0:
                return status
    return 0


@inlined
def moves_by_contacts(i, collision):
    """Whether collider i belongs to a body that contacts and forces alone move, and that is awake."""
    body, kind = collision.colliders[i].body, collision.colliders[i].kind
    free = body < collision.counts[MOVED] and collision.linked[body] == FREE
    return free and collision.asleep[body] == AWAKE and kind < HALF_SPACE


@njit
def place_near(i, y, bodies, margin, collision):
    """Place a collider; returns whether its pose is finite. Its fat box only grows, so that no pair ends: contacts name their
    pairs by numbers. Its manifolds are found anew."""
    fat = collision.fat_boxes[i]
    lower, upper = load3(fat.lower), load3(fat.upper)
    finite = place_collider(i, y, bodies, margin, collision)
    for k in range(3):
        fat.lower[k], fat.upper[k] = min(fat.lower[k], lower[k]), max(fat.upper[k], upper[k])
    collision.places[i].moved = FAR_AWAY
    return finite


@njit
def meet_near(k, other, y, margin, collision):
    """The narrow phase of pair k, whose collider `other` may not be placed yet, and its contacts. The manifold stays as the
    last detection found it, to which the contacts of the step belong. Returns a status."""
    colliders, marks, manifold = collision.colliders, collision.marks, collision.manifolds[k]
    bodies, body = marks.shape[0] - 1, colliders[other].body
    if body < bodies and colliders[other].kind >= HALF_SPACE:
        return ELSEWHERE
    if body < bodies and marks[body] <= 0 and not place_near(other, y, bodies, margin, collision):
        return NOT_FINITE
    copy_row(collision.spare, 0, collision.manifolds, k)
    run_parallel(collision.job_queue, COLLIDE_JOBS, MEET, k, k + 1, 1)
    status = write_near(k, other, collision) if manifold.points > 0 else 0
    copy_row(collision.manifolds, k, collision.spare, 0)
    return status


@njit
def write_near(k, other, collision):
    """Append the contacts of pair k, and the body of its collider `other` to the neighbours. Returns a status."""
    colliders, marks, counts, manifold = collision.colliders, collision.marks, collision.counts, collision.manifolds[k]
    bodies, body = marks.shape[0] - 1, colliders[other].body
    if body < bodies and not moves_by_contacts(other, collision):
        return ELSEWHERE
    if body < bodies and marks[body] == 0:
        marks[body] = BESIDE
        collision.members[bodies + counts[NEAR_MEMBERS]] = body
        counts[NEAR_MEMBERS] += 1
    first = counts[CONTACTS] + counts[NEAR]
    if first + manifold.points > collision.contacts.shape[0]:
        counts[NEED_CONTACTS] = first + counts[NEAR] + manifold.points
        return NEED_ROOM
    manifold.first = first
    run_parallel(collision.job_queue, COLLIDE_JOBS, WRITE_PAIR, k, k + 1, 1)
    recall_bends(collision.spare[0], manifold, collision.contacts)
    counts[NEAR] += manifold.points
    return 0


@njit
def recall_bends(before, manifold, contacts):
    """Give the contacts of a manifold the bends that those of the same features have from the manifold `before`."""
    for k in range(manifold.points):
        for j in range(before.points):
            if before.feature[j] == manifold.feature[k]:
                to, old = contacts[manifold.first + k], contacts[before.first + j]
                store3(to.bend, matvec(to.frame, matvec_t(old.frame, load3(old.bend))))


@njit
def begin_near(collision):
    """Mark no body."""
    counts, marks = collision.counts, collision.marks
    for body in range(marks.shape[0]):
        marks[body] = 0
    counts[ROUND], counts[NEAR], counts[NEAR_MEMBERS] = 1, 0, 0


@njit
def mark_near(body, collision):
    """Mark a body for the first round; not the world."""
    counts, marks, bodies = collision.counts, collision.marks, collision.marks.shape[0] - 1
    if body < bodies and marks[body] == 0:
        marks[body] = 1
        collision.members[bodies + counts[NEAR_MEMBERS]] = body
        counts[NEAR_MEMBERS] += 1


@njit
def restart_near(collision):
    """Begin again with the bodies that were marked for the first round."""
    counts, marks, bodies = collision.counts, collision.marks, collision.marks.shape[0] - 1
    counts[ROUND], counts[NEAR], counts[NEAR_MEMBERS] = 1, 0, 0
    for body in range(bodies):
        if marks[body] == 1:
            collision.members[bodies + counts[NEAR_MEMBERS]] = body
            counts[NEAR_MEMBERS] += 1
        else:
            marks[body] = 0


@njit
def end_near(collision):
    """Let the next detection take the places of all that was concerned for unknown: it does not know how they have moved."""
    bodies = collision.marks.shape[0] - 1
    for i in range(collision.colliders.shape[0]):
        body = collision.colliders[i].body
        if body < bodies and collision.marks[body] != 0:
            collision.places[i].known = 0
