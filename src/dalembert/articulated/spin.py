"""Angular velocities of balls and free bodies in the axes of what turns, which a step of an integration method carries.

w has them in the axes of the carrier (of the world for what is free), where the error of a quaternion q turns the inertia
that resists them: see `mechanics.spin`. With w = R ω, R the rotation of q, w × w = 0 leaves ẇ = R ω̇. So a step carries ω
behind the state, by ω̇ = Rᵀ ẇ; the speeds of its stages and of its end are R ω.
"""

from ..jit import njit
from ..linalg.block_matrix import load_3, store_3
from ..model.tree_tables import BALL, FREE
from ..quat import to_matrix
from ..vec import matvec, matvec_t
from .motion import load_4


@njit
def carry(z, dzdt, reduced):
    """Write ω and ω̇ behind the state z at the start of a step and its derivative."""
    first, at = reduced.options[0].coordinates, reduced.options[0].size
    nodes = reduced.tree.nodes
    for i in range(nodes.shape[0]):
        if nodes[i].kind == BALL or nodes[i].kind == FREE:
            rotation, speeds = turn_of(nodes[i], z), first + nodes[i].last - 3
            store_3(z, at, matvec_t(rotation, load_3(z, speeds)))
            store_3(dzdt, at, matvec_t(rotation, load_3(dzdt, speeds)))
            at += 3


@njit
def use_spins(z, reduced):
    """Speeds from ω, where the state z carries it."""
    first, at = reduced.options[0].coordinates, reduced.options[0].size
    if z.shape[0] == at:
        return
    nodes = reduced.tree.nodes
    for i in range(nodes.shape[0]):
        if nodes[i].kind == BALL or nodes[i].kind == FREE:
            store_3(z, first + nodes[i].last - 3, matvec(turn_of(nodes[i], z), load_3(z, at)))
            at += 3


@njit
def spin_rates(z, dzdt, reduced):
    """ω̇ behind the derivative, where the state z carries ω."""
    first, at = reduced.options[0].coordinates, reduced.options[0].size
    if z.shape[0] == at:
        return
    nodes = reduced.tree.nodes
    for i in range(nodes.shape[0]):
        if nodes[i].kind == BALL or nodes[i].kind == FREE:
            store_3(dzdt, at, matvec_t(turn_of(nodes[i], z), load_3(dzdt, first + nodes[i].last - 3)))
            at += 3


@njit
def turn_of(node, z):
    """The rotation of a ball or of what is free."""
    return to_matrix(load_4(z, node.at + (3 if node.kind == FREE else 0)))
