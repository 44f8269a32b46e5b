"""A mechanism in joint coordinates as one C function; see `pointer` for its tasks. Forces and loops are those of the
mechanism whose state has bodies in it, which is asked for them."""

import numpy as np

from ..core.c_function import (
    C_SIGNATURE,
    CARRY,
    COMPLETE_EVALUATED,
    DERIVATIVE,
    EVENT,
    FORCES,
    MEASURE,
    MERGE,
    RECORD,
    WRITE,
    call_pointer,
    viewer,
)
from ..core.jit import CFunction, njit
from ..core.math3 import add, cross, load3, scale, store3, sub, symvec
from ..core.simd import clear, load, store
from ..core.tables import table_at
from ..linalg.block_matrix import store_3
from ..model.tables import CONSTRAINT_WORK, FEEDBACK, PENALTY, PROJECTION, STATE_SIZE
from .constraints import jacobian_acceleration, jacobian_velocity, spread
from .kinematics import load6
from .tree_dynamics import accelerate, bear, fill_matrix, spread_rates
from .tree_loops import ask_factor_loops, ask_project, ask_solve_loops
from .tree_motion import Reduced, carry, coordinate_rates, normalize_quaternions, spin_rates, use_spins
from .tree_state import forward_kinematics, lower

FORWARD_KINEMATICS, LOWER = 40, 41  # tasks of our own: the mechanism's state from z, and the reverse
INERTIA = 42  # `matrix` of the tree = M
LIMP = 110  # nothing resists a freedom: which one is in the options
_floats = viewer(np.float64)
_addresses = viewer(np.int64)


@njit
def tree_task(task, t, z, dzdt, reduced):
    """Do one of the tasks; returns a status."""
    size = reduced.options[0].size
    if task == FORWARD_KINEMATICS:
        forward_kinematics(z[:size], reduced)
        return 0
    if task == INERTIA:
        forward_kinematics(z, reduced)
        fill_matrix(reduced.tree)
        return 0
    if task == LOWER:
        reduced.options[0].held = 0
        limp = lower(z, reduced)
        if limp >= 0:
            reduced.options[0].limp = limp
        return 0 if limp < 0 else LIMP
    if task == DERIVATIVE:
        use_spins(z, reduced)
        forward_kinematics(z[:size], reduced)
        status = derivative(t, z[:size], dzdt[:size], True, reduced)
        spin_rates(z, dzdt, reduced)
        return status
    if task == CARRY:
        carry(z, dzdt, reduced)
        return 0
    if task == MERGE:
        use_spins(z, reduced)
        return 0
    if task == MEASURE:
        forward_kinematics(z, reduced)
        status = derivative(t, z, dzdt, True, reduced)
        record(t, z, reduced)
        return status
    status = complete(t, z[:size], dzdt[:size], task == COMPLETE_EVALUATED, reduced)
    if z.shape[0] > size:
        carry(z, dzdt, reduced)
    return status


@njit
def derivative(t, z, dzdt, moved, reduced):
    """u̇, ẇ and the rates of all that comes after them, where `lift` has put the tree. moved : whether forces and the factors
    of the loops are those of another state. Returns a status."""
    options, tree, system = reduced.options[0], reduced.tree, reduced.system
    dydt = reduced.dydt
    if moved or system.settings[0].particles > 0:  # whose forces are in dydt, which `look` has written over
        status = call_pointer(options.mechanism, options.handle, FORCES, t, reduced.y, dydt)
        if status != 0:
            return status
    load_forces(False, reduced)
    if system.error.shape[0] == 0 or system.settings[0].hold == PENALTY:
        if system.error.shape[0] > 0:
            pull_loops(reduced)
            load_forces(True, reduced)
        options.limp = accelerate(tree)
    else:
        options.limp = ask_factor_loops(options.held == 0, reduced) if moved else -1
        accelerate_in_loops(reduced)
        load_forces(True, reduced)
    if options.limp >= 0:
        return LIMP
    react(reduced)
    call_pointer(options.mechanism, options.handle, WRITE, t, reduced.y, dydt)
    first = options.coordinates
    w, rates = z[first : first + options.speeds], tree.rates
    coordinate_rates(z, w, dzdt, tree)
    for k in range(options.speeds):
        store(dzdt, first + k, load(rates, k))
    copy_tail_back(dydt, STATE_SIZE * system.settings[0].rigid, dzdt, first + options.speeds)
    spinning = 0.0  # what rotors take up is kinetic energy, and not work of the constraints
    for k in range(options.speeds):
        spinning += tree.freedoms[k].armature * load(rates, k) * load(w, k)
    at = system.settings[0].ledger + CONSTRAINT_WORK - system.power.shape[0] + dzdt.shape[0]
    store(dzdt, at, load(dzdt, at) + spinning)
    return 0


@njit
def copy_tail_back(source, first, target, to):
    for k in range(target.shape[0] - to):
        store(target, to + k, load(source, first + k))


@njit
def load_forces(constrained, reduced):
    """Applied forces on links, with those of the loops if `constrained`."""
    kinematics = reduced.system.kinematics
    nodes, motion = reduced.tree.nodes, reduced.tree.motion
    for i in range(nodes.shape[0]):
        own, row = motion[i], nodes[i].row
        force, torque = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        if row >= 0:
            kin = kinematics[row]
            force, torque = load3(kin.force), load3(kin.torque)
            if constrained:
                force, torque = add(force, load3(kin.linear)), add(torque, load3(kin.angular))
        store3(own.force, force)
        store3(own.torque, torque)


@njit
def pull_loops(reduced):
    """λ of loops that are stiff springs, spread over the bodies."""
    system = reduced.system
    settings, wanted, multipliers, error = (
        system.settings[0], reduced.wanted, system.multipliers, system.error
    )  # fmt: skip
    jacobian_velocity(system, wanted)
    for r in range(wanted.shape[0]):
        store(multipliers, r, -settings.stiffness * load(error, r) - settings.damping * load(wanted, r))
    spread(system, multipliers)


@njit
def accelerate_in_loops(reduced):
    """`rates`, accelerations of all links, and λ, spread over the bodies, where the loops are factored."""
    tree, change = reduced.tree, reduced.change
    efforts, rates, scratch = tree.efforts, tree.rates, tree.scratch
    clear(rates)
    spread_rates(rates, tree)
    bear(rates, scratch, tree)
    for k in range(rates.shape[0]):
        store(change, k, load(efforts, k) - load(scratch, k))
    want_accelerations(reduced)
    ask_solve_loops(reduced)
    for k in range(rates.shape[0]):
        store(rates, k, load(change, k))
    spread_rates(rates, tree)
    spread(reduced.system, reduced.system.multipliers)


@njit
def want_accelerations(reduced):
    """c of the loops, where links have the accelerations that they have with ẇ = 0; forces on particles into `change`."""
    system, change = reduced.system, reduced.change
    nodes, motion, kinematics = reduced.tree.nodes, reduced.tree.motion, system.kinematics
    settings = system.settings[0]
    wanted, error, bias = reduced.wanted, system.error, system.bias
    for i in range(nodes.shape[0]):
        row = nodes[i].row
        if row >= 0:
            store3(kinematics[row].acceleration, load3(motion[i].acceleration))
            store3(kinematics[row].turning, load3(motion[i].turning))
    for i in range(system.nodes.shape[0]):
        kin = kinematics[settings.rigid + i]
        store3(kin.acceleration, (0.0, 0.0, 0.0))
        store_3(change, reduced.options[0].speeds + 3 * i, load3(kin.force))
    jacobian_acceleration(system, wanted)
    for r in range(wanted.shape[0]):
        store(wanted, r, -load(wanted, r) - load(bias, r))
    if settings.hold == FEEDBACK:
        rates = reduced.residual
        jacobian_velocity(system, rates)
        for r in range(wanted.shape[0]):
            change_of_rate = settings.stiffness * load(error, r) + settings.damping * load(rates, r)
            store(wanted, r, load(wanted, r) - change_of_rate)


@njit
def react(reduced):
    """What joints do to each body: what its acceleration takes beside the applied forces."""
    system = reduced.system
    nodes, motion, kinematics = reduced.tree.nodes, reduced.tree.motion, system.kinematics
    for i in range(nodes.shape[0]):
        own, row = motion[i], nodes[i].row
        if 0 <= row < system.settings[0].rigid:
            kin, inertia, omega = kinematics[row], load6(own.inertia), load3(own.omega)
            moment = add(symvec(inertia, load3(own.turning)), cross(omega, symvec(inertia, omega)))
            store3(kin.linear, sub(scale(nodes[i].mass, load3(own.acceleration)), load3(kin.force)))
            store3(kin.angular, sub(moment, load3(kin.torque)))


@njit
def record(t, z, reduced):
    """What is recorded of a state that was just evaluated: the mechanism's part, rotors, and what the tree's joints bear."""
    options, tree = reduced.options[0], reduced.tree
    call_pointer(options.mechanism, options.handle, RECORD, t, reduced.y, reduced.dydt)
    freedoms, energies = tree.freedoms, reduced.system.energies
    for k in range(options.speeds):
        w = load(z, options.coordinates + k)
        energies[0] += 0.5 * freedoms[k].armature * w * w
    bear(tree.rates, tree.scratch, tree)
    nodes, motion, wrenches = tree.nodes, tree.motion, reduced.system.wrenches
    for i in range(nodes.shape[0]):
        node, own = nodes[i], motion[i]
        if node.joint < 0:
            continue
        f, arm = load3(own.bearing), load3(own.arm)
        torque = sub(load3(own.bearing_torque), cross(arm, f))
        for k in range(3):
            wrenches[6 * node.joint + k] = node.sign * f[k]
            wrenches[6 * node.joint + 3 + k] = node.sign * torque[k]


@njit
def complete(t, z, dzdt, evaluated, reduced):
    """Finish a step in place: unit quaternions, loops closed; f(t, z) in dzdt. Returns a status."""
    normalize_quaternions(z, reduced.tree)
    if reduced.system.error.shape[0] > 0 and reduced.system.settings[0].hold == PROJECTION:
        status = ask_project(t, z, reduced)
        return status if status != 0 else derivative(t, z, dzdt, False, reduced)
    if evaluated:
        return 0
    forward_kinematics(z, reduced)
    return derivative(t, z, dzdt, True, reduced)


# With EVENT `data` is the address of an event function of y, and after it that of the tables.
def tree_entry(data, task, t, z, n, dzdt, m):
    if task == EVENT:
        at = _addresses(data, 2)
        reduced = table_at(Reduced, at[1])
        forward_kinematics(_floats(z, n), reduced)
        return call_pointer(at[0], 0, EVENT, t, reduced.y, _floats(dzdt, m))
    return tree_task(task, t, _floats(z, n), _floats(dzdt, m), table_at(Reduced, data))


TREE_ENTRY = CFunction(tree_entry, C_SIGNATURE)
