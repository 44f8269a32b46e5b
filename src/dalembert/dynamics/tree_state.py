"""Between joint coordinates and bodies: the state of the mechanism from u and w, and u and w from that."""

import math

from ..core.c_function import FORCES, RECORD, call_pointer
from ..core.jit import njit
from ..core.math3 import (
    add,
    conjugate,
    cross,
    dot,
    from_matrix,
    load3,
    multiply,
    rotation_vector,
    scale,
    store3,
    sub,
    symvec,
)
from ..core.simd import load, store
from ..linalg.block_matrix import load_3, store_3
from ..model.tables import PROJECTION_WORK, REACTION_IMPULSE, REACTION_TORQUE, STATE_SIZE
from ..model.tree import FREE
from .kinematics import load6, load9
from .particle_forces import particles_at
from .tree_dynamics import factorize, fill_matrix, gather, solve, spread_speeds
from .tree_motion import ZERO, load_4, move, step, store9


@njit
def forward_kinematics(z, reduced):
    """Move the tree to the state z, and set the mechanism's state and the rows of its bodies."""
    options, tree, y = reduced.options[0], reduced.tree, reduced.y
    nodes, motion = tree.nodes, tree.motion
    rigid, kinematics = reduced.system.settings[0].rigid, reduced.system.kinematics
    move(z[: options.coordinates], z[options.coordinates : options.coordinates + options.speeds], tree)
    for i in range(nodes.shape[0]):
        row = nodes[i].row
        if row < 0:
            continue
        own, kin = motion[i], kinematics[row]
        x, rotation, v, omega = load3(own.x), load9(own.rotation), load3(own.v), load3(own.omega)
        store3(kin.x, x)
        store9(kin.rotation, rotation)
        store3(kin.v, v)
        store3(kin.omega, omega)
        if row < rigid:
            at = STATE_SIZE * row
            q = load_4(z, nodes[i].at + 3) if nodes[i].kind == FREE else from_matrix(rotation)
            store_3(y, at, x)
            for k in range(4):
                store(y, at + 3 + k, q[k])
            store_3(y, at + 7, scale(nodes[i].mass, v))
            store_3(y, at + 10, symvec(load6(own.inertia), omega))
    copy_tail(z, options.coordinates + options.speeds, y, STATE_SIZE * rigid)


@njit
def forward_velocities(w, reduced):
    """Set the velocities of the links and of the rows of their bodies to those of the speeds w, where the tree is."""
    tree, kinematics = reduced.tree, reduced.system.kinematics
    nodes, motion = tree.nodes, tree.motion
    spread_speeds(w, tree)
    for i in range(nodes.shape[0]):
        if nodes[i].row >= 0:
            kin = kinematics[nodes[i].row]
            store3(kin.v, load3(motion[i].v))
            store3(kin.omega, load3(motion[i].omega))


@njit
def copy_tail(source, first, target, to):
    for k in range(source.shape[0] - first):
        store(target, to + k, load(source, first + k))


ITERATIONS = 50
LIGHT = 1e-9  # share of the armatures, which bodies do not show, in the metric below: what keeps it definite


@njit
def lower(z, reduced):
    """u and w from the mechanism's state: the places nearest to those of the bodies in the metric of the masses, found from u
    as it was, and the speeds whose momentum is nearest. Returns the freedom that nothing resists, or −1."""
    options, tree, y = reduced.options[0], reduced.tree, reduced.y
    rigid, change = reduced.system.settings[0].rigid, reduced.change
    nodes, freedoms = tree.nodes, tree.freedoms
    first = options.coordinates
    u, w = z[:first], z[first : first + options.speeds]
    previous = math.inf
    for _ in range(ITERATIONS):
        move(u, w, tree)
        square = take_misplacement(reduced)
        if not square < previous:
            break
        previous = square
        gather(change, tree)
        limp = factorize_light(tree)
        if limp >= 0:
            return limp
        solve(change, 0, tree)
        step(u, 1.0, change, tree)
    move(u, w, tree)
    motion = tree.motion
    for i in range(nodes.shape[0]):
        own, row = motion[i], nodes[i].row
        inside = 0 <= row < rigid
        store3(own.bearing, load_3(y, STATE_SIZE * row + 7) if inside else ZERO)
        store3(own.bearing_torque, load_3(y, STATE_SIZE * row + 10) if inside else ZERO)
    gather(change, tree)
    for k in range(freedoms.shape[0]):
        store(change, k, load(change, k) + LIGHT * freedoms[k].armature * load(w, k))
    limp = factorize_light(tree)
    if limp >= 0:
        return limp
    solve(change, 0, tree)
    for k in range(freedoms.shape[0]):
        store(w, k, load(change, k))
    copy_tail(y, STATE_SIZE * rigid, z, first + options.speeds)
    return -1


@njit
def take_misplacement(reduced):
    """Mass times displacement, and inertia times turn, from where the tree has each body to where the mechanism's state has
    it, into `bearing`. Returns the sum of their products with these: kg m²."""
    y = reduced.y
    nodes, motion, rigid = reduced.tree.nodes, reduced.tree.motion, reduced.system.settings[0].rigid
    total = 0.0
    for i in range(nodes.shape[0]):
        own, row = motion[i], nodes[i].row
        f, g = ZERO, ZERO
        if 0 <= row < rigid:
            at = STATE_SIZE * row
            d = sub(load_3(y, at), load3(own.x))
            turn = rotation_vector(multiply(load_4(y, at + 3), conjugate(from_matrix(load9(own.rotation)))))
            f, g = scale(nodes[i].mass, d), symvec(load6(own.inertia), turn)
            total += dot(f, d) + dot(g, turn)
        store3(own.bearing, f)
        store3(own.bearing_torque, g)
    return total


@njit
def factorize_light(tree):
    """The factor of the mass matrix of the bodies alone."""
    fill_matrix(tree)
    freedoms, matrix = tree.freedoms, tree.matrix
    m = freedoms.shape[0]
    for k in range(m):
        store(matrix, k * m + k, load(matrix, k * m + k) - (1.0 - LIGHT) * freedoms[k].armature)
    return factorize(tree)


# ----------------------------------------------------------------------------------------------------------------------
# Energy and momenta before and after a correction; the difference goes to the ledger.


@njit
def update_kinematics(t, z, reduced):
    """Loops and forces at z. Returns a status."""
    forward_kinematics(z, reduced)
    return call_pointer(reduced.options[0].mechanism, reduced.options[0].handle, FORCES, t, reduced.y, reduced.dydt)


@njit
def update_at(t, z, reduced):
    """Loops, forces and energies at z. Returns a status."""
    status = update_kinematics(t, z, reduced)
    if status == 0:
        status = call_pointer(
            reduced.options[0].mechanism, reduced.options[0].handle, RECORD, t, reduced.y, reduced.dydt
        )
    return status


@njit
def audit(z, reduced):
    """Energy, momentum and angular momentum of everything, where `look` has been."""
    options = reduced.options[0]
    energy = reduced.system.energies[0] + reduced.system.energies[1]
    for k in range(options.speeds):
        w = load(z, options.coordinates + k)
        energy += 0.5 * reduced.tree.freedoms[k].armature * w * w
    total, turning = momenta(reduced.y, reduced.system)
    return energy, total, turning


@njit
def momenta(y, system):
    """Momentum and angular momentum of everything."""
    settings = system.settings[0]
    total, turning = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for b in range(settings.rigid):
        at = STATE_SIZE * b
        p = load_3(y, at + 7)
        total = add(total, p)
        turning = add(turning, add(cross(load_3(y, at), p), load_3(y, at + 10)))
    at = particles_at(system)
    for i in range(settings.particles):
        p = load_3(y, at + 3 * (settings.particles + i))
        total = add(total, p)
        turning = add(turning, cross(load_3(y, at + 3 * i), p))
    return total, turning


@njit
def book_projection(z, before, after, system):
    """What a correction has changed of energy and momenta (see `books`) goes to the ledger."""
    ledger = z.shape[0] - system.power.shape[0] + system.settings[0].ledger
    increase(z, ledger + PROJECTION_WORK, after[0] - before[0])
    impulse, turning = sub(after[1], before[1]), sub(after[2], before[2])
    for k in range(3):
        increase(z, ledger + REACTION_IMPULSE + k, impulse[k])
        increase(z, ledger + REACTION_TORQUE + k, turning[k])


@njit
def increase(z, at, amount):
    store(z, at, load(z, at) + amount)
