"""Bodies in a stage of a step of particles: their mass matrices and displacements; see `stage`."""

from ..jit import inlined, njit
from ..linalg.block_matrix import load_3, store_3
from ..mechanics.kinematics import load6, load9
from ..unchecked import peek, poke
from ..vec import add_scaled, congruence, load3, scale, sub, symvec
from .tables import BODY_ROW


@njit
def begin_bodies(system, steps):
    """Mass matrices, and the displacements X₀, from the forces in the kinematics table."""
    options = steps.options[0]
    bodies, kinematics = system.bodies, system.kinematics
    inertia, moved, wanted = steps.inertia, steps.moved, steps.wanted
    tau = options.fraction * options.dt
    kick = options.dt if options.explicit != 0 else tau
    steps.stage[0].body_weight = 1.0 / (tau * kick)
    for b in range(system.settings[0].rigid):
        kin, body = kinematics[b], bodies[b]
        m = congruence(load9(kin.rotation), load6(body.inertia))
        turn = symvec(load6(kin.inverse_inertia), load3(kin.torque))
        shift = add_scaled(load3(kin.v), kick * body.inverse_mass, load3(kin.force))
        spin = add_scaled(load3(kin.omega), kick, turn)
        at = BODY_ROW * b
        for k in range(6):
            poke(inertia, 7 * b + 1 + k, m[k])
        poke(inertia, 7 * b, body.mass)
        store_3(wanted, at, scale(tau, shift))
        store_3(wanted, at + 3, scale(tau, spin))
        store_3(moved, at, scale(tau, shift))
        store_3(moved, at + 3, scale(tau, spin))


@njit
def move_bodies(length, change, system, steps):
    """X += length · change."""
    moved = steps.moved
    first = 3 * system.settings[0].particles
    for k in range(moved.shape[0]):
        poke(moved, k, peek(moved, k) + length * peek(change, first + k))


@inlined
def body_offset(b, steps):
    """X − X₀ of a body: displacement, turn."""
    at = BODY_ROW * b
    return sub(load_3(steps.moved, at), load_3(steps.wanted, at)), sub(
        load_3(steps.moved, at + 3), load_3(steps.wanted, at + 3)
    )


@inlined
def body_momentum(b, u, turn, steps):
    """The mass matrix of a body times a displacement and a turn."""
    inertia, at = steps.inertia, 7 * b
    moments = (
        peek(inertia, at + 1), peek(inertia, at + 2), peek(inertia, at + 3), peek(inertia, at + 4),
        peek(inertia, at + 5), peek(inertia, at + 6),
    )  # fmt: skip
    return scale(peek(inertia, at), u), symvec(moments, turn)
