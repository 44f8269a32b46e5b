"""One body on what bears it, which moves as given."""

from ..core.jit import inlined, njit
from ..core.math3 import add, add_scaled, congruence, cross, dot, load3, scale, store3, sub, symvec
from ..core.simd import clear, load, store
from ..dynamics.kinematics import load6, load9
from ..linalg.block_ldl import invert
from .cone import copy_velocities, point_velocity, project_coulomb, push, relative_velocity, three
from .gauss_seidel import axes_of, improve, is_zero, size_of, world_impulse
from .tables import ANGULAR, FRICTION_STEP, INVERSE_NORMAL, LINEAR, MOTION, ROW, SPEEDS

PASSES = 10  # most over the contacts below one body
SHARE = 1.5  # over the number of contacts that bear: how far each goes in a pass
ENOUGH = 0.02  # of the tolerance: what ends them
INDEPENDENT = 1e-6  # the least pivot, of its diagonal, of contacts that hold a body in all directions
# Blocks of `own_system`: S and its inverse, its diagonal, and vectors of six.
BLOCK, DIAGONAL, RIGHT, WANTED = 0, 36, 42, 48
SIZE = 54


@inlined
def velocity_on(contact, body, v, omega, supports):
    """The relative velocity of a contact, with v and ω those of the body."""
    arm_a, arm_b = load3(contact.arm_a), load3(contact.arm_b)
    if contact.b == body:
        return sub(add(v, cross(omega, arm_b)), point_velocity(supports, contact.a, arm_a))
    return sub(point_velocity(supports, contact.b, arm_b), add(v, cross(omega, arm_a)))


@njit
def exert(contact, body, d, motion):
    """Change the velocities of a body alone by a change d (n, t, s) of the impulse."""
    n, t, s = axes_of(contact)
    impulse = world_impulse(n, t, s, d[0], d[1], d[2])
    if contact.b == body:
        push(motion, body, impulse, load3(contact.arm_b), 1.0)
    else:
        push(motion, body, impulse, load3(contact.arm_a), -1.0)


@njit
def solve_support(body, down, system, collision, stepping):
    """Bring a body to what the law asks for on what bears it, which does not feel it. On the way `down` it takes the load of
    what stands on it first, and its supports move as they did in the end on the way up.

    At once (`balance`), and then, for what that leaves undone, in passes over the contacts below it. In a pass all change
    together, by a share of the way, and not in turn: alike in like places, they bear alike, and none is wedged.
    """
    contacts, tolerance = collision.contacts, stepping.options[0].tolerance
    levels, links = stepping.levels, stepping.links
    starts, ends = stepping.link_starts, stepping.link_ends
    motion, rows = stepping.motion, stepping.own_rows
    supports = stepping.standing if down else motion
    if down:
        take_load(body, contacts, stepping)
    balance(body, supports, contacts, system, stepping)
    at = MOTION * body
    bearing = ends[body] - starts[body]
    for _ in range(PASSES):
        v, omega = three(motion, at + LINEAR), three(motion, at + ANGULAR)
        share = min(1.0, SHARE / max(bearing, 1))
        bearing, largest = 0, 0.0
        for k in range(starts[body], ends[body]):
            i = links[k]
            contact = contacts[i]
            below = levels[contact.a + contact.b - body]
            if below < 0 or below >= levels[body]:
                continue
            n, t, s = axes_of(contact)
            u = velocity_on(contact, body, v, omega, supports)
            d = improve(contact, (dot(n, u), dot(t, u), dot(s, u)), share, rows, ROW * i)
            bearing += contact.impulse[0] > 0.0
            if is_zero(d):
                continue
            exert(contact, body, d, motion)
            largest = max(largest, size_of(d, rows, ROW * i))
        if largest <= ENOUGH * tolerance:
            return


@njit
def take_load(body, contacts, stepping):
    """What the bodies above have been given since the velocities were kept, on the one that bears them."""
    levels, links, kept = stepping.levels, stepping.links, stepping.kept_impulses
    motion = stepping.motion
    for k in range(stepping.link_starts[body], stepping.link_ends[body]):
        i = links[k]
        contact = contacts[i]
        if levels[contact.a + contact.b - body] > levels[body]:
            exert(contact, body, sub(load3(contact.impulse), three(kept, 3 * i)), motion)


# With g = (d, r × d) for each direction d = n, t, s of each contact that bears, at r from the centre of mass, the velocities
# V that leave no contact moving satisfy g·V = c with c what its support does. S = Σ g gᵀ/K_d, with K_d the response: V is
# S⁻¹ Σ g c/K_d, the best there is where supports move apart, and the impulse M (V − V_now) that it takes is shared out by
# p_d = g·y/K_d with S y = M (V − V_now), which makes Σ K_d p_d² least.
@njit
def balance(body, supports, contacts, system, stepping):
    """Give a body the impulses that bring it to what bears it at once, as far as these lie in the cones. Nothing is done
    where it is not held in all directions."""
    block, motion, rows = stepping.own_system, stepping.motion, stepping.own_rows
    links, levels = stepping.links, stepping.levels
    start, end = stepping.link_starts[body], stepping.link_ends[body]
    v, omega = three(motion, MOTION * body + LINEAR), three(motion, MOTION * body + ANGULAR)
    clear(block)
    for k in range(start, end):
        contact = contacts[links[k]]
        if bears(contact, body, v, omega, supports, levels):
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
        if bears(contact, body, v, omega, supports, levels):
            share_out(contact, body, y, z, rows, ROW * links[k], motion)


@njit
def bears(contact, body, v, omega, supports, levels):
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
    """1/K of the normal and of the tangents; without friction these bear nothing."""
    return load(rows, at + INVERSE_NORMAL), load(rows, at + FRICTION_STEP) if contact.friction > 0.0 else 0.0


@njit
def add_to_system(contact, body, supports, rows, at, block):
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
def share_out(contact, body, y, z, rows, at, motion):
    """Change the impulse of a contact by its share, as far as the cone has room."""
    n, t, s = axes_of(contact)
    of_normal, of_tangent = weights(contact, rows, at)
    arm = load3(contact.arm_b) if contact.b == body else load3(contact.arm_a)
    sign = 1.0 if contact.b == body else -1.0
    w = add(y, cross(z, arm))  # g·(y, z) = d·w
    old = load3(contact.impulse)
    wanted = add(old, scale(sign, (of_normal * dot(n, w), of_tangent * dot(t, w), of_tangent * dot(s, w))))
    new = project_coulomb(wanted, contact.friction)
    store3(contact.impulse, new)
    exert(contact, body, sub(new, old), motion)


# ----------------------------------------------------------------------------------------------------------------------
# How far to follow a guess at the impulses of an island.
#
# Without friction the impulses p of a step are where D is least: kinetic energy, with the biases b,
#
#     D(p) = ½ vᵀ M v + bᵀ p,   D(p + α Δp) = D(p) + α (u + b)·Δp + ½ α² Δu·Δp   with v = v_free + W Jᵀ p, u = J v.
#
# Each change that Gauss–Seidel makes brings D down. From p to a guess p + Δp, this goes on to the α in [0, 1] where D
# is least:
# mixtures of impulses in the cones are in the cones. So the impulses of the step before, with which a step starts,
# bring no
# energy, whatever has changed since; and nothing goes too far, to be undone in the next step, and so on, ever more.


@njit
def save_velocities(share, island, collision, stepping):
    """The velocities as they are, and this share of the impulses (1: as they are; 0: those that made the velocities)."""
    contacts, kept = collision.contacts, stepping.kept_impulses
    copy_velocities(island, collision.members, stepping.motion, stepping.kept_motion)
    for i in range(island.first, island.end):
        for k in range(3):
            store(kept, 3 * i + k, share * contacts[i].impulse[k])


@njit
def take_best(island, collision, stepping):
    """Go back to where D is least between what was kept and what is; returns α."""
    share = best_share(island, collision, stepping)
    if share < 1.0:
        go_back(share, island, collision, stepping)
    return share


@njit
def best_share(island, collision, stepping):
    """The α in [0, 1] at which D is least between what was kept (0) and what is (1)."""
    contacts = collision.contacts
    motion, before, kept = stepping.motion, stepping.kept_motion, stepping.kept_impulses
    slope, curvature = 0.0, 0.0
    for i in range(island.first, island.end):
        contact = contacts[i]
        n, t, s = axes_of(contact)
        d = sub(load3(contact.impulse), three(kept, 3 * i))
        if is_zero(d):
            continue
        impulse = world_impulse(n, t, s, d[0], d[1], d[2])
        arm_a, arm_b = load3(contact.arm_a), load3(contact.arm_b)
        first = dot(impulse, relative_velocity(before, contact, arm_a, arm_b))
        slope += first + contact.bias * d[0]
        curvature += dot(impulse, relative_velocity(motion, contact, arm_a, arm_b)) - first
    return min(1.0, max(0.0, -slope / curvature)) if curvature > 0.0 else 0.0


@njit
def go_back(share, island, collision, stepping):
    """So far from what was kept to what is: mixtures of impulses in the cones are in the cones."""
    contacts, members = collision.contacts, collision.members
    motion, before, kept = stepping.motion, stepping.kept_motion, stepping.kept_impulses
    for m in range(island.first_member, island.end_member):
        at = MOTION * members[m]
        for i in range(at, at + SPEEDS):
            store(motion, i, load(before, i) + share * (load(motion, i) - load(before, i)))
    for i in range(island.first, island.end):
        old = three(kept, 3 * i)
        store3(contacts[i].impulse, add_scaled(old, share, sub(load3(contacts[i].impulse), old)))
