"""A mechanism in joint coordinates as one C function; see `pointer` for its tasks. Forces and loops are those of the
mechanism whose state has bodies in it, which is asked for them."""

import numpy as np

from ..arrays import clear
from ..jit import CFunction, njit
from ..linalg.block_matrix import store_3
from ..mechanics.constraints import jacobian_acceleration, jacobian_velocity, spread
from ..mechanics.kinematics import load6
from ..mechanics.system import (
    bias_of,
    energies_of,
    error_of,
    kinematics_of,
    multipliers_of,
    power_of,
    settings_of,
    wrenches_of,
)
from ..mechanics.system import nodes_of as particle_nodes_of
from ..model.tables import CONSTRAINT_WORK, FEEDBACK, PENALTY, PROJECTION, STATE_SIZE
from ..pointer import (
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
from ..tables import table_at
from ..unchecked import peek, poke
from ..vec import add, cross, load3, scale, store3, sub, symvec
from .ask_loops import factor_loops, project, solve_loops
from .forward import accelerate
from .inverse import bear, spread_rates
from .lift import lift, lower
from .mass_matrix import fill_matrix
from .motion import coordinate_rates, normalize_quaternions
from .spin import carry, spin_rates, use_spins
from .tables import Reduced
from .tables_of import (
    change_of,
    dydt_of,
    efforts_of,
    freedoms_of,
    motion_of,
    nodes_of,
    options_of,
    rates_of,
    residual_of,
    scratch_of,
    system_of,
    tree_of,
    wanted_of,
    y_of,
)

LIFT, LOWER = 40, 41  # tasks of our own: the mechanism's state from z, and the reverse
INERTIA = 42  # `matrix` of the tree = M
LIMP = 110  # nothing resists a freedom: which one is in the options
_floats = viewer(np.float64)
_addresses = viewer(np.int64)


@njit
def perform(task, t, z, dzdt, reduced):
    """Do one of the tasks; returns a status."""
    size = options_of(reduced)[0].size
    if task == LIFT:
        lift(z[:size], reduced)
        return 0
    if task == INERTIA:
        lift(z, reduced)
        fill_matrix(tree_of(reduced))
        return 0
    if task == LOWER:
        options_of(reduced)[0].held = 0
        limp = lower(z, reduced)
        if limp >= 0:
            options_of(reduced)[0].limp = limp
        return 0 if limp < 0 else LIMP
    if task == DERIVATIVE:
        use_spins(z, reduced)
        lift(z[:size], reduced)
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
        lift(z, reduced)
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
    options, tree, system = options_of(reduced)[0], tree_of(reduced), system_of(reduced)
    y, dydt = y_of(reduced), dydt_of(reduced)
    if moved or settings_of(system)[0].particles > 0:  # whose forces are in dydt, which `look` has written over
        status = call_pointer(options.mechanism, options.handle, FORCES, t, y, dydt)
        if status != 0:
            return status
    load_forces(False, reduced)
    if error_of(system).shape[0] == 0 or settings_of(system)[0].hold == PENALTY:
        if error_of(system).shape[0] > 0:
            pull_loops(reduced)
            load_forces(True, reduced)
        options.limp = accelerate(tree)
    else:
        options.limp = factor_loops(options.held == 0, reduced) if moved else -1
        accelerate_in_loops(reduced)
        load_forces(True, reduced)
    if options.limp >= 0:
        return LIMP
    react(reduced)
    call_pointer(options.mechanism, options.handle, WRITE, t, y, dydt)
    first = options.coordinates
    w, rates = z[first : first + options.speeds], rates_of(tree)
    coordinate_rates(z, w, dzdt, tree)
    for k in range(options.speeds):
        poke(dzdt, first + k, peek(rates, k))
    copy_tail_back(dydt, STATE_SIZE * settings_of(system)[0].rigid, dzdt, first + options.speeds)
    spinning = 0.0  # what rotors take up is kinetic energy, and not work of the constraints
    for k in range(options.speeds):
        spinning += freedoms_of(tree)[k].armature * peek(rates, k) * peek(w, k)
    at = settings_of(system)[0].ledger + CONSTRAINT_WORK - power_of(system).shape[0] + dzdt.shape[0]
    poke(dzdt, at, peek(dzdt, at) + spinning)
    return 0


@njit
def copy_tail_back(source, first, target, to):
    for k in range(target.shape[0] - to):
        poke(target, to + k, peek(source, first + k))


@njit
def load_forces(constrained, reduced):
    """Applied forces on links, with those of the loops if `constrained`."""
    tree, kinematics = tree_of(reduced), kinematics_of(system_of(reduced))
    nodes, motion = nodes_of(tree), motion_of(tree)
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
    system = system_of(reduced)
    settings, wanted, multipliers, error = (
        settings_of(system)[0], wanted_of(reduced), multipliers_of(system), error_of(system)
    )  # fmt: skip
    jacobian_velocity(system, wanted)
    for r in range(wanted.shape[0]):
        poke(multipliers, r, -settings.stiffness * peek(error, r) - settings.damping * peek(wanted, r))
    spread(system, multipliers)


@njit
def accelerate_in_loops(reduced):
    """`rates`, accelerations of all links, and λ, spread over the bodies, where the loops are factored."""
    tree, system, change = tree_of(reduced), system_of(reduced), change_of(reduced)
    efforts, rates, scratch, multipliers = efforts_of(tree), rates_of(tree), scratch_of(tree), multipliers_of(system)
    clear(rates)
    spread_rates(rates, tree)
    bear(rates, scratch, tree)
    for k in range(rates.shape[0]):
        poke(change, k, peek(efforts, k) - peek(scratch, k))
    want_accelerations(reduced)
    solve_loops(reduced)
    for k in range(rates.shape[0]):
        poke(rates, k, peek(change, k))
    spread_rates(rates, tree)
    spread(system, multipliers)


@njit
def want_accelerations(reduced):
    """c of the loops, where links have the accelerations that they have with ẇ = 0; forces on particles into `change`."""
    tree, system, change = tree_of(reduced), system_of(reduced), change_of(reduced)
    nodes, motion, kinematics = nodes_of(tree), motion_of(tree), kinematics_of(system)
    settings = settings_of(system)[0]
    wanted, error, bias = wanted_of(reduced), error_of(system), bias_of(system)
    for i in range(nodes.shape[0]):
        row = nodes[i].row
        if row >= 0:
            store3(kinematics[row].acceleration, load3(motion[i].acceleration))
            store3(kinematics[row].turning, load3(motion[i].turning))
    for i in range(particle_nodes_of(system).shape[0]):
        kin = kinematics[settings.rigid + i]
        store3(kin.acceleration, (0.0, 0.0, 0.0))
        store_3(change, options_of(reduced)[0].speeds + 3 * i, load3(kin.force))
    jacobian_acceleration(system, wanted)
    for r in range(wanted.shape[0]):
        poke(wanted, r, -peek(wanted, r) - peek(bias, r))
    if settings.hold == FEEDBACK:
        rates = residual_of(reduced)
        jacobian_velocity(system, rates)
        for r in range(wanted.shape[0]):
            change_of_rate = settings.stiffness * peek(error, r) + settings.damping * peek(rates, r)
            poke(wanted, r, peek(wanted, r) - change_of_rate)


@njit
def react(reduced):
    """What joints do to each body: what its acceleration takes beside the applied forces."""
    tree, system = tree_of(reduced), system_of(reduced)
    nodes, motion, kinematics = nodes_of(tree), motion_of(tree), kinematics_of(system)
    for i in range(nodes.shape[0]):
        own, row = motion[i], nodes[i].row
        if 0 <= row < settings_of(system)[0].rigid:
            kin, inertia, omega = kinematics[row], load6(own.inertia), load3(own.omega)
            moment = add(symvec(inertia, load3(own.turning)), cross(omega, symvec(inertia, omega)))
            store3(kin.linear, sub(scale(nodes[i].mass, load3(own.acceleration)), load3(kin.force)))
            store3(kin.angular, sub(moment, load3(kin.torque)))


@njit
def record(t, z, reduced):
    """What is recorded of a state that was just evaluated: the mechanism's part, rotors, and what the tree's joints bear."""
    options, tree, system = options_of(reduced)[0], tree_of(reduced), system_of(reduced)
    call_pointer(options.mechanism, options.handle, RECORD, t, y_of(reduced), dydt_of(reduced))
    freedoms, energies = freedoms_of(tree), energies_of(system)
    for k in range(options.speeds):
        w = peek(z, options.coordinates + k)
        energies[0] += 0.5 * freedoms[k].armature * w * w
    bear(rates_of(tree), scratch_of(tree), tree)
    nodes, motion, wrenches = nodes_of(tree), motion_of(tree), wrenches_of(system)
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
    system = system_of(reduced)
    normalize_quaternions(z, tree_of(reduced))
    if error_of(system).shape[0] > 0 and settings_of(system)[0].hold == PROJECTION:
        status = project(t, z, reduced)
        return status if status != 0 else derivative(t, z, dzdt, False, reduced)
    if evaluated:
        return 0
    lift(z, reduced)
    return derivative(t, z, dzdt, True, reduced)


# With EVENT `data` is the address of an event function of y, and after it that of the tables.
def evaluate(data, task, t, z, n, dzdt, m):
    if task == EVENT:
        at = _addresses(data, 2)
        reduced = table_at(Reduced, at[1])
        lift(_floats(z, n), reduced)
        return call_pointer(at[0], 0, EVENT, t, y_of(reduced), _floats(dzdt, m))
    return perform(task, t, _floats(z, n), _floats(dzdt, m), table_at(Reduced, data))


COMPILED = CFunction(evaluate, C_SIGNATURE)
