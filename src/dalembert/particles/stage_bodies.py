"""Bodies in a stage of a step of particles: their mass matrices and displacements; see `stage`."""

from ..jit import inlined, njit
from ..linalg.block_matrix import load_3, store_3
from ..mechanics.kinematics import load6, load9
from ..mechanics.system import (
    bodies_of,
    kinematics_of,
    settings_of,
)
from ..unchecked import peek, poke
from ..vec import add_scaled, congruence, load3, scale, sub, symvec
from .tables import BODY_ROW
from .tables_of import (
    inertia_of,
    moved_of,
    options_of,
    stage_of,
    wanted_of,
)


@njit
def begin_bodies(system, steps):
    """Mass matrices, and the displacements X₀, from the forces in the kinematics table."""
    options, stage = options_of(steps)[0], stage_of(steps)[0]
    bodies, kinematics = bodies_of(system), kinematics_of(system)
    inertia, moved, wanted = inertia_of(steps), moved_of(steps), wanted_of(steps)
    tau = options.fraction * options.dt
    kick = options.dt if options.explicit != 0 else tau
    stage.body_weight = 1.0 / (tau * kick)
    for b in range(settings_of(system)[0].rigid):
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
    moved = moved_of(steps)
    first = 3 * settings_of(system)[0].particles
    for k in range(moved.shape[0]):
        poke(moved, k, peek(moved, k) + length * peek(change, first + k))


@inlined
def body_offset(b, steps):
    """X − X₀ of a body: displacement, turn."""
    moved, wanted, at = moved_of(steps), wanted_of(steps), BODY_ROW * b
    return sub(load_3(moved, at), load_3(wanted, at)), sub(load_3(moved, at + 3), load_3(wanted, at + 3))


@inlined
def body_momentum(b, u, turn, steps):
    """The mass matrix of a body times a displacement and a turn."""
    inertia, at = inertia_of(steps), 7 * b
    moments = (
        peek(inertia, at + 1), peek(inertia, at + 2), peek(inertia, at + 3), peek(inertia, at + 4),
        peek(inertia, at + 5), peek(inertia, at + 6),
    )  # fmt: skip
    return scale(peek(inertia, at), u), symvec(moments, turn)
