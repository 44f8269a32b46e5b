"""What is asked of a tree from Python, behind one entry point."""

from ..jit import njit
from ..kernel import array, kernel, out
from ..linalg.block_matrix import load_3, store_3
from ..mechanics.kinematics import load9
from ..model.tree_tables import Tree
from ..unchecked import peek, poke
from ..vec import load3, matvec, scale, store3
from .forward import accelerate
from .inverse import bear, spread_rates
from .jacobian import fill_jacobian, momentum
from .mass_matrix import factorize, fill_matrix, solve
from .motion import coordinate_rates, move, step

PLACES, FORWARD, INVERSE, MATRIX, SOLVE, JACOBIAN, MOMENTUM, RATES, MOVED = range(9)


@kernel
def answer(task: int, u: array(), w: array(), given: array(), found: out(), tree: Tree) -> int:
    """Do a task at coordinates u and speeds w; returns a status, 0, or 1 + the freedom that nothing resists.

    PLACES : found = x, rotation, v, ω of each node (18 numbers).
    FORWARD : given = gravity (3), efforts (m); found = ẇ. INVERSE : given = gravity, ẇ; found = efforts.
    MATRIX : found = mass matrix (m × m). SOLVE : found = its inverse times given (m).
    JACOBIAN : given = node, point in its frame (3); found (6 × m). RATES : found = u̇.
    MOVED : found = u after a displacement along the speeds, given (m).
    MOMENTUM : given = a point; found = mass, Σ m x, P, L about it.
    """
    move(u, w, tree)
    limp = -1
    if task == PLACES:
        tell_places(found, tree)
    elif task == FORWARD:
        weigh(load_3(given, 0), tree)
        copy_part(given, 3, tree.efforts)
        limp = accelerate(tree)
        copy_part(tree.rates, 0, found)
    elif task == INVERSE:
        weigh(load_3(given, 0), tree)
        rates = tree.rates
        copy_part(given, 3, rates)
        spread_rates(rates, tree)
        bear(rates, found, tree)
    elif task == MATRIX:
        fill_matrix(tree)
        copy_part(tree.matrix, 0, found)
    elif task == SOLVE:
        fill_matrix(tree)
        limp = factorize(tree)
        copy_part(given, 0, found)
        if limp < 0:
            solve(found, 0, tree)
    elif task == JACOBIAN:
        node = int(peek(given, 0))
        arm = matvec(load9(tree.motion[node].rotation), load_3(given, 1))
        fill_jacobian(node, arm, found, tree)
    elif task == MOMENTUM:
        mass, first, total, turning = momentum(load_3(given, 0), tree)
        poke(found, 0, mass)
        store_3(found, 1, first)
        store_3(found, 4, total)
        store_3(found, 7, turning)
    elif task == RATES:
        coordinate_rates(u, w, found, tree)
    else:
        copy_part(u, 0, found)
        step(found, 1.0, given, tree)
    return 1 + limp


@njit
def copy_part(source, at, target):
    for k in range(target.shape[0]):
        poke(target, k, peek(source, at + k))


@njit
def tell_places(out, tree):
    motion = tree.motion
    for i in range(motion.shape[0]):
        own, at = motion[i], 18 * i
        store_3(out, at, load3(own.x))
        for k in range(9):
            poke(out, at + 3 + k, own.rotation[k])
        store_3(out, at + 12, load3(own.v))
        store_3(out, at + 15, load3(own.omega))


@njit
def weigh(gravity, tree):
    """Apply gravity to all links, and nothing else."""
    motion, nodes = tree.motion, tree.nodes
    for i in range(nodes.shape[0]):
        store3(motion[i].force, scale(nodes[i].mass, gravity))
        store3(motion[i].torque, (0.0, 0.0, 0.0))
