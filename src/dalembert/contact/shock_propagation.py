"""Shock propagation: the load of a stack is carried down in one pass (E. Guendelman, R. Bridson, R. Fedkiw 2003).

In a sweep of Gauss–Seidel a contact affects only its neighbours. The lowest box of a stack of n boxes carries the
others after n sweeps, and the sway of the stack, which contacts resist like the bending of a beam, decays over n⁴
sweeps. But a body that stands on others can be solved alone, once their motion is known. Let the level of a body be the
least number of contacts between it and the world:

1. from the ground up, each body is brought to rest on its supports, without reaction on them: the velocities v*;
2. from the top down, each body gets the load of the bodies that stand on it, and the impulses that satisfy the law on
supports that move with v*.

Bodies of one level do not affect each other here, so threads can share them. If every body ends with v*, as in stacks
at rest, this is the solution. If bodies slide under a load, or support each other, it is only a guess; the line search
of `gauss_seidel` determines how much of it to use.
"""

from ..collide.tables import FREE, MOVED
from ..core.jit import inlined, njit
from ..core.math3 import add, congruence, cross, dot, load3, scale, store3, sub, symvec
from ..core.simd import clear, load, store
from ..core.thread_pool import CONTACT_JOBS, run_parallel
from ..dynamics.kinematics import load6, load9
from ..linalg.block_ldl import invert
from .cone import project_coulomb
from .gauss_seidel import (
    axes_of,
    improve,
    is_zero,
    put_row,
    response,
    restore_search,
    save_search,
    search_line,
    size_of,
    world_impulse,
)
from .parallel import (
    BODIES_PER_CHUNK,
    LOAD,
    RESIDUAL,
    STORE,
    SUPPORT_DOWN,
    SUPPORT_UP,
    is_shared,
    move_impulses,
    over_contacts,
)
from .tables import (
    ANGULAR,
    FRICTION_STEP,
    INVERSE_NORMAL,
    LINEAR,
    MOTION,
    ROW,
    copy_velocities,
    point_velocity,
    push,
    three,
)

EVERY = 5  # sweeps over all contacts from one propagation to the next
WORTH = 0.3  # of the residual: what may be left of it at most, as a propagation takes as long as thirty sweeps
HELPED, DID_NOT_HELP, NO_STACK = range(3)
UNKNOWN, JOINTED = -1, -2  # levels: not standing on the world; held by joints, which a body cannot leave alone
PASSES = 10  # most sweeps over the contacts below one body
SHARE = 1.5  # over the number of contacts that bear: the damping of a sweep
ENOUGH = 0.02  # of the tolerance: what ends them
INDEPENDENT = 1e-6  # the least pivot, of its diagonal, of contacts that fix a body in all directions
# Blocks of `support_system`: S and its inverse, its diagonal, and vectors of six.
BLOCK, DIAGONAL, RIGHT, WANTED = 0, 36, 42, 48
SIZE = 54


@njit
def propagate_shocks(island, tables):
    """Change the impulses of an island and `motion` as the head of this file says, if that brings the residual down; returns
    HELPED, DID_NOT_HELP or NO_STACK."""
    stepping = tables.stepping
    end = find_levels(island, tables)
    if end == island.first_member or stepping.levels[stepping.queue[end - 1]] < 2:
        return NO_STACK
    before = over_contacts(RESIDUAL, island, tables)
    move_impulses(STORE, island, tables)
    prepare_support_rows(island, tables)
    save_search(1.0, island, tables)
    begin = island.first_member
    while begin < end:
        begin = solve_level(SUPPORT_UP, begin, end, 1, island, tables)
    copy_velocities(island, tables.collision.members, stepping.motion, stepping.support_motion)
    restore_search(0.0, island, tables)
    last = end - 1
    while last >= island.first_member:
        last = solve_level(SUPPORT_DOWN, last, island.first_member - 1, -1, island, tables)
    if search_line(island, tables) > 0.0:
        move_impulses(LOAD, island, tables)
        if over_contacts(RESIDUAL, island, tables) < WORTH * before:
            return HELPED
        restore_search(0.0, island, tables)
    move_impulses(LOAD, island, tables)
    return DID_NOT_HELP


@njit
def find_levels(island, tables):
    """Fill `levels`, and `queue` with the bodies that have one, lowest first, after listing the contacts of each body.
    Returns where they end there."""
    collision, stepping = tables.collision, tables.stepping
    contacts, members, linked = collision.contacts, collision.members, collision.linked
    levels, queue, links = stepping.levels, stepping.queue, stepping.links
    starts, ends = stepping.link_starts, stepping.link_ends
    list_contacts(island, tables)
    world = collision.counts[MOVED]
    reached = island.first_member
    for m in range(island.first_member, island.end_member):
        body = members[m]
        levels[body] = UNKNOWN if linked[body] == FREE else JOINTED
        for k in range(starts[body], ends[body]):
            contact = contacts[links[k]]
            if contact.a + contact.b - body >= world and levels[body] == UNKNOWN:
                levels[body] = 1
                queue[reached] = body
                reached += 1
    q = island.first_member
    while q < reached:
        body = queue[q]
        for k in range(starts[body], ends[body]):
            contact = contacts[links[k]]
            other = contact.a + contact.b - body
            if levels[other] == UNKNOWN:
                levels[other] = levels[body] + 1
                queue[reached] = other
                reached += 1
        q += 1
    return reached


@njit
def list_contacts(island, tables):
    """The contacts of a body become links[link_starts[body] : link_ends[body]]."""
    stepping = tables.stepping
    contacts, members = tables.collision.contacts, tables.collision.members
    starts, ends, links = stepping.link_starts, stepping.link_ends, stepping.links
    world = tables.collision.counts[MOVED]
    for m in range(island.first_member, island.end_member):
        ends[members[m]] = 0
    for i in range(island.first, island.end):
        for body in (contacts[i].a, contacts[i].b):
            if body < world:
                ends[body] += 1
    at = 2 * island.first
    for m in range(island.first_member, island.end_member):
        body = members[m]
        starts[body] = at
        at += ends[body]
        ends[body] = starts[body]
    for i in range(island.first, island.end):
        for body in (contacts[i].a, contacts[i].b):
            if body < world:
                links[ends[body]] = i
                ends[body] += 1


@njit
def prepare_support_rows(island, tables):
    """The rows of contacts between levels, with the response of the upper body only."""
    stepping = tables.stepping
    contacts = tables.collision.contacts
    levels, motion, rows = stepping.levels, stepping.motion, stepping.support_rows
    for i in range(island.first, island.end):
        contact = contacts[i]
        a, b = contact.a, contact.b
        if min(levels[a], levels[b]) < 0 or levels[a] == levels[b]:
            continue
        n, t, s = axes_of(contact)
        if levels[b] > levels[a]:
            k = response(b, load3(contact.arm_b), n, t, s, motion)
        else:
            k = response(a, load3(contact.arm_a), n, t, s, motion)
        put_row(k, rows, ROW * i)


@njit
def solve_supports(down, begin, end, tables):
    """Bodies begin … end of the queue, which must not touch each other."""
    queue = tables.stepping.queue
    for q in range(begin, end):
        solve_support(queue[q], down, tables)


@njit
def solve_level(kind, begin, end, step, island, tables):
    """The bodies of one level, from `begin` of the queue in steps of ±1 and before `end`; returns where the next level
    begins."""
    levels, queue = tables.stepping.levels, tables.stepping.queue
    q = begin
    while q != end and levels[queue[q]] == levels[queue[begin]]:
        q += step
    first, last = min(begin, q - step), max(begin, q - step) + 1
    if is_shared(island, tables.collision):
        run_parallel(tables.collision.job_queue, CONTACT_JOBS, kind, first, last, BODIES_PER_CHUNK)
    else:
        solve_supports(kind == SUPPORT_DOWN, first, last, tables)
    return q


# One body on its supports ----------------------------------------------------------------------------------------------


@inlined
def velocity_on(contact, body, v, omega, supports):
    """The relative velocity of a contact, with v and ω those of the body."""
    arm_a, arm_b = load3(contact.arm_a), load3(contact.arm_b)
    if contact.b == body:
        return sub(add(v, cross(omega, arm_b)), point_velocity(supports, contact.a, arm_a))
    return sub(point_velocity(supports, contact.b, arm_b), add(v, cross(omega, arm_a)))


@njit
def push_alone(contact, body, d, motion):
    """Change the velocities of a body alone by a change d (n, t, s) of the impulse."""
    n, t, s = axes_of(contact)
    impulse = world_impulse(n, t, s, d[0], d[1], d[2])
    if contact.b == body:
        push(motion, body, impulse, load3(contact.arm_b), 1.0)
    else:
        push(motion, body, impulse, load3(contact.arm_a), -1.0)


@njit
def solve_support(body, down, tables):
    """Solve the law of contact for one body on its supports, which do not feel it. On the way `down` the body first takes the
    load of the bodies above, and its supports have the velocities v*.

    First by one linear system (`balance`), and then, for the rest, in sweeps over the contacts below it. All impulses of a
    sweep change together, damped, and not in turn (Jacobi): contacts in like places bear alike, and the body is not wedged.
    """
    stepping = tables.stepping
    contacts, tolerance = tables.collision.contacts, stepping.options[0].tolerance
    levels, links = stepping.levels, stepping.links
    starts, ends = stepping.link_starts, stepping.link_ends
    motion, rows = stepping.motion, stepping.support_rows
    supports = stepping.support_motion if down else motion
    if down:
        take_load(body, contacts, stepping)
    balance(body, supports, contacts, tables)
    at = MOTION * body
    active = ends[body] - starts[body]
    for _ in range(PASSES):
        v, omega = three(motion, at + LINEAR), three(motion, at + ANGULAR)
        share = min(1.0, SHARE / max(active, 1))
        active, largest = 0, 0.0
        for k in range(starts[body], ends[body]):
            i = links[k]
            contact = contacts[i]
            below = levels[contact.a + contact.b - body]
            if below < 0 or below >= levels[body]:
                continue
            n, t, s = axes_of(contact)
            u = velocity_on(contact, body, v, omega, supports)
            d = improve(contact, (dot(n, u), dot(t, u), dot(s, u)), share, rows, ROW * i)
            active += contact.impulse[0] > 0.0
            if is_zero(d):
                continue
            push_alone(contact, body, d, motion)
            largest = max(largest, size_of(d, rows, ROW * i))
        if largest <= ENOUGH * tolerance:
            return


@njit
def take_load(body, contacts, stepping):
    """Apply to a body the impulses that the bodies above have received since `save_search`."""
    levels, links, start = stepping.levels, stepping.links, stepping.search_impulses
    motion = stepping.motion
    for k in range(stepping.link_starts[body], stepping.link_ends[body]):
        i = links[k]
        contact = contacts[i]
        if levels[contact.a + contact.b - body] > levels[body]:
            push_alone(contact, body, sub(load3(contact.impulse), three(start, 3 * i)), motion)


# With g = (d, r × d) for each direction d = n, t, s of each supporting contact, at r from the centre of mass, the
# velocities V that leave no contact moving satisfy g·V = c with c the velocity of its support. S = Σ g gᵀ/K_d, with K_d the
# response: V is S⁻¹ Σ g c/K_d, the least-squares solution where supports move apart, and the impulse M (V − V_now) that it
# takes is distributed by p_d = g·y/K_d with S y = M (V − V_now), which minimizes Σ K_d p_d².
@njit
def balance(body, supports, contacts, tables):
    """Give a body the impulses that bring it to rest on its supports, as far as these lie in the cones. Does nothing where
    the contacts do not fix it in all directions."""
    system, stepping = tables.system, tables.stepping
    block, motion, rows = stepping.support_system, stepping.motion, stepping.support_rows
    links, levels = stepping.links, stepping.levels
    start, end = stepping.link_starts[body], stepping.link_ends[body]
    v, omega = three(motion, MOTION * body + LINEAR), three(motion, MOTION * body + ANGULAR)
    clear(block)
    for k in range(start, end):
        contact = contacts[links[k]]
        if is_support(contact, body, v, omega, supports, levels):
            add_to_system(contact, body, supports, rows, ROW * links[k], block)
    for i in range(6):
        if load(block, BLOCK + 7 * i) == 0.0:
            return
        store(block, DIAGONAL + i, load(block, BLOCK + 7 * i))
    if not invert(block, BLOCK, 6, block, DIAGONAL) > INDEPENDENT:
        return
    multiply_block(block)
    inertia = congruence(load9(system.kinematics[body].rotation), load6(system.bodies[body].inertia))
    linear = scale(system.bodies[body].mass, sub(three(block, WANTED), v))
    angular = symvec(inertia, sub(three(block, WANTED + 3), omega))
    for c in range(3):
        store(block, RIGHT + c, linear[c])
        store(block, RIGHT + 3 + c, angular[c])
    multiply_block(block)
    y, z = three(block, WANTED), three(block, WANTED + 3)
    for k in range(start, end):
        contact = contacts[links[k]]
        if is_support(contact, body, v, omega, supports, levels):
            distribute(contact, body, y, z, rows, ROW * links[k], motion)


@njit
def is_support(contact, body, v, omega, supports, levels):
    """Whether a contact is below the body, and bears force or is about to."""
    below = levels[contact.a + contact.b - body]
    if below < 0 or below >= levels[body]:
        return False
    if contact.impulse[0] > 0.0:
        return True
    n, _, _ = axes_of(contact)
    return dot(n, velocity_on(contact, body, v, omega, supports)) + contact.bias < 0.0


@inlined
def weights(contact, rows, at):
    """1/K of the normal and of the tangents, which are zero without friction."""
    return load(rows, at + INVERSE_NORMAL), load(rows, at + FRICTION_STEP) if contact.friction > 0.0 else 0.0


@njit
def add_to_system(contact, body, supports, rows, at, block):
    """S += Σ g gᵀ/K_d and RIGHT += Σ g c/K_d over the directions of one contact."""
    axes = axes_of(contact)
    of_normal, of_tangent = weights(contact, rows, at)
    if contact.b == body:
        arm, u, sign = load3(contact.arm_b), point_velocity(supports, contact.a, load3(contact.arm_a)), 1.0
    else:
        arm, u, sign = load3(contact.arm_a), point_velocity(supports, contact.b, load3(contact.arm_b)), -1.0
    for k in range(3):
        d = axes[k]
        r = cross(arm, d)
        g = (d[0], d[1], d[2], r[0], r[1], r[2])
        w = of_normal if k == 0 else of_tangent
        wanted = dot(d, u) - (sign * contact.bias if k == 0 else 0.0)
        for i in range(6):
            store(block, RIGHT + i, load(block, RIGHT + i) + w * g[i] * wanted)
            for j in range(6):
                store(block, BLOCK + 6 * i + j, load(block, BLOCK + 6 * i + j) + w * g[i] * g[j])


@njit
def multiply_block(block):
    """WANTED = S⁻¹ RIGHT."""
    for i in range(6):
        total = 0.0
        for j in range(6):
            total += load(block, BLOCK + 6 * i + j) * load(block, RIGHT + j)
        store(block, WANTED + i, total)


@njit
def distribute(contact, body, y, z, rows, at, motion):
    """Change the impulse of a contact by its part p_d, projected on the cone."""
    n, t, s = axes_of(contact)
    of_normal, of_tangent = weights(contact, rows, at)
    arm = load3(contact.arm_b) if contact.b == body else load3(contact.arm_a)
    sign = 1.0 if contact.b == body else -1.0
    w = add(y, cross(z, arm))  # g·(y, z) = d·w
    old = load3(contact.impulse)
    wanted = add(old, scale(sign, (of_normal * dot(n, w), of_tangent * dot(t, w), of_tangent * dot(s, w))))
    new = project_coulomb(wanted, contact.friction)
    store3(contact.impulse, new)
    push_alone(contact, body, sub(new, old), motion)
