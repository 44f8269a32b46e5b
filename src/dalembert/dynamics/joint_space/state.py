"""States in joint and in maximal coordinates: forward kinematics, its inverse, and the change of energy and momenta that a
correction makes."""

import math

from ...core.c_function import FORCES, RECORD, call_pointer
from ...core.jit import njit
from ...core.math3 import (
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
from ...core.simd import load, store
from ...linalg.block_ldl import add_at
from ...linalg.block_matrix import load_3, store_3
from ...model.tables import PROJECTION_WORK, REACTION_IMPULSE, REACTION_TORQUE, STATE_SIZE
from ...model.tree import FREE
from ..commands import MOTIONS, call_commands
from ..kinematics import load6, load9
from ..particle_forces import particles_at
from .dynamics import factorize, fill_matrix, generalized_forces, link_velocities, solve
from .kinematics import ZERO, displace_coordinates, load_4, store9, update_links


@njit
def place_commanded(t, reduced):
    """Evaluate the motions at a time (s), and write pose, velocity and acceleration of the links that move by command.
    Returns a status."""
    system, motion = reduced.system, reduced.tree.motion
    status = call_commands(MOTIONS, t, reduced.y, reduced.y, system)
    commands, kinematics = system.commands, system.kinematics
    for i in range(commands.shape[0]):
        row = commands[i]
        if row.body < 0:
            continue
        own, kin = motion[reduced.node_of_row[row.body]], kinematics[row.body]
        store3(own.x, load3(kin.x))
        store9(own.rotation, load9(kin.rotation))
        store3(own.v, load3(kin.v))
        store3(own.omega, load3(kin.omega))
        store3(own.bias, load3(row.a))
        store3(own.bias_turn, load3(row.alpha))
        store3(own.r, ZERO)
        store3(own.arm, ZERO)
    return status


@njit
def forward_kinematics(z, reduced):
    """The links at the state z: the tree's `motion`, the mechanism's state y, and the rows of its bodies in the kinematics
    table."""
    options = reduced.options[0]
    update_links(z[: options.coordinates], z[options.coordinates : options.coordinates + options.speeds], reduced.tree)
    show_bodies(z, reduced)


@njit
def show_bodies(z, reduced):
    """The mechanism's state y, and the rows of its bodies in the kinematics table, where the links are."""
    options, tree, y = reduced.options[0], reduced.tree, reduced.y
    nodes, motion = tree.nodes, tree.motion
    rigid, kinematics = reduced.system.settings[0].rigid, reduced.system.kinematics
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
    """Velocities of the links and of their rows in the kinematics table from the speeds w; poses stay."""
    tree, kinematics = reduced.tree, reduced.system.kinematics
    nodes, motion = tree.nodes, tree.motion
    link_velocities(w, tree)
    for i in range(nodes.shape[0]):
        if nodes[i].row >= 0:
            kin = kinematics[nodes[i].row]
            store3(kin.v, load3(motion[i].v))
            store3(kin.omega, load3(motion[i].omega))


@njit
def copy_tail(source, first, target, to):
    """target[to:] = source[first:], as many as source has."""
    for k in range(source.shape[0] - first):
        store(target, to + k, load(source, first + k))


ITERATIONS = 50
ARMATURE_SHARE = (
    1e-9  # of the armatures, in the metric of the bodies' masses: keeps it definite where a freedom moves no mass
)


@njit
def coordinates_from_bodies(z, reduced):
    """z = (u, w, rest) from the mechanism's state y. u: the poses nearest to those of the bodies in the metric of the masses,
    by Gauss–Newton from the u in z; w: the speeds whose momenta are nearest. Returns the freedom without inertia, or −1."""
    options, tree, y = reduced.options[0], reduced.tree, reduced.y
    rigid, change = reduced.system.settings[0].rigid, reduced.change
    freedoms, first = tree.freedoms, options.coordinates
    u, w = z[:first], z[first : first + options.speeds]
    previous = math.inf
    for _ in range(ITERATIONS):
        update_links(u, w, tree)
        square = pose_errors(reduced)
        if not square < previous:
            break
        previous = square
        generalized_forces(change, tree)
        limp = factorize_bodies(tree)
        if limp >= 0:
            return limp
        solve(change, 0, tree)
        displace_coordinates(u, 1.0, change, tree)
    update_links(u, w, tree)
    momentum_errors(reduced)
    generalized_forces(change, tree)
    limp = factorize_bodies(tree)
    if limp >= 0:
        return limp
    solve(change, 0, tree)
    for k in range(freedoms.shape[0]):
        store(w, k, load(w, k) + load(change, k))
    copy_tail(y, STATE_SIZE * rigid, z, first + options.speeds)
    return -1


@njit
def pose_errors(reduced):
    """`bearing` = mass times displacement, and inertia times rotation, from each body's pose in the tree to its pose in y.
    Returns the sum of their products with these, kg m²."""
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
def momentum_errors(reduced):
    """`bearing` and `bearing_torque`: the momenta of each body in y less those in the tree, where links move with their
    speeds and with what moves by command."""
    y = reduced.y
    nodes, motion, rigid = reduced.tree.nodes, reduced.tree.motion, reduced.system.settings[0].rigid
    for i in range(nodes.shape[0]):
        own, row = motion[i], nodes[i].row
        p, turning = ZERO, ZERO
        if 0 <= row < rigid:
            p = sub(load_3(y, STATE_SIZE * row + 7), scale(nodes[i].mass, load3(own.v)))
            turning = sub(load_3(y, STATE_SIZE * row + 10), symvec(load6(own.inertia), load3(own.omega)))
        store3(own.bearing, p)
        store3(own.bearing_torque, turning)


@njit
def factorize_bodies(tree):
    """Factor the mass matrix with ARMATURE_SHARE of the armatures. Returns the freedom without inertia, or −1."""
    fill_matrix(tree)
    freedoms, matrix = tree.freedoms, tree.matrix
    m = freedoms.shape[0]
    for k in range(m):
        store(matrix, k * m + k, load(matrix, k * m + k) - (1.0 - ARMATURE_SHARE) * freedoms[k].armature)
    return factorize(tree)


# Energy and momenta before and after a correction ----------------------------------------------------------------------


@njit
def update_kinematics(t, z, reduced):
    """Kinematics, rows of loops and forces at z. Returns a status."""
    forward_kinematics(z, reduced)
    return call_pointer(reduced.options[0].mechanism, reduced.options[0].handle, FORCES, t, reduced.y, reduced.dydt)


@njit
def update_at(t, z, reduced):
    """The same, and energies."""
    status = update_kinematics(t, z, reduced)
    if status == 0:
        status = call_pointer(
            reduced.options[0].mechanism, reduced.options[0].handle, RECORD, t, reduced.y, reduced.dydt
        )
    return status


@njit
def energy_and_momenta(z, reduced):
    """(energy (J), momentum, angular momentum about the origin) of bodies, particles and rotors, after `update_at`."""
    options = reduced.options[0]
    energy = reduced.system.energies[0] + reduced.system.energies[1]
    for k in range(options.speeds):
        w = load(z, options.coordinates + k)
        energy += 0.5 * reduced.tree.freedoms[k].armature * w * w
    total, turning = momenta(reduced.y, reduced.system)
    return energy, total, turning


@njit
def momenta(y, system):
    """(momentum, angular momentum about the origin) of bodies and particles, from the mechanism's state y."""
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
def record_projection(z, before, after, system):
    """Add the change of energy and momenta by a correction (see `energy_and_momenta`) to the ledger in z."""
    ledger = z.shape[0] - system.power.shape[0] + system.settings[0].ledger
    add_at(z, ledger + PROJECTION_WORK, after[0] - before[0])
    impulse, turning = sub(after[1], before[1]), sub(after[2], before[2])
    for k in range(3):
        add_at(z, ledger + REACTION_IMPULSE + k, impulse[k])
        add_at(z, ledger + REACTION_TORQUE + k, turning[k])
