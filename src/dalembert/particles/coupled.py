"""Conjugate gradients for particles and the bodies that they touch at once; see `linear` for the system."""

from ..arrays import clear
from ..jit import inlined, njit
from ..linalg.block import load_3x3
from ..linalg.block_matrix import add_3, load_3, store_3
from ..linalg.conjugate_gradient import INDEFINITE, NOT_CONVERGED
from ..linalg.krylov import add_multiple, inner, turn
from ..linalg.ssor import inverse_of, load_symmetric, store_symmetric
from ..status import OK
from ..unchecked import peek, poke
from ..vec import add_scaled, cross, load3, matvec, scale, sub, unit
from .conjugate import apply
from .stage_bodies import body_momentum
from .tables import BODY_ROW
from .touch import body_point, free_part, locked_part, push_carrier, slides, tangent_part


@njit
def expand(z, u, system, steps):
    """u = T z without what is prescribed: particles from the unknowns of particles and bodies."""
    touches, pinned = steps.touches, steps.pinned
    n = 3 * system.settings[0].particles
    for k in range(n):
        poke(u, k, peek(z, k))
    for k in range(pinned.shape[0]):
        store_3(u, 3 * pinned[k], (0.0, 0.0, 0.0))
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        i = 3 * touch.particle
        u_i = load_3(u, i)
        along = locked_part(touch, u_i)
        if touch.body < system.settings[0].rigid:
            along = sub(along, locked_part(touch, body_point(touch, z, n + BODY_ROW * touch.body)))
        store_3(u, i, sub(u_i, along))


@njit
def gather(w, q, system, steps):
    """q = Tᵀ w: forces on particles become those on the unknowns."""
    touches, pinned = steps.touches, steps.pinned
    n = 3 * system.settings[0].particles
    for k in range(n):
        poke(q, k, peek(w, k))
    for k in range(n, q.shape[0]):
        poke(q, k, 0.0)
    for k in range(pinned.shape[0]):
        store_3(q, 3 * pinned[k], (0.0, 0.0, 0.0))
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        i = 3 * touch.particle
        borne = locked_part(touch, load_3(w, i))
        add_3(q, i, scale(-1.0, borne))
        if touch.body < system.settings[0].rigid:
            push_carrier(touch, borne, q, n + BODY_ROW * touch.body)


@njit
def add_inertia(z, q, system, steps):
    """q += w M (δ, θ) of all bodies."""
    n, weight = 3 * system.settings[0].particles, steps.stage[0].body_weight
    for b in range(system.settings[0].rigid):
        at = n + BODY_ROW * b
        m, spin = body_momentum(b, load_3(z, at), load_3(z, at + 3), steps)
        add_3(q, at, scale(weight, m))
        add_3(q, at + 3, scale(weight, spin))


@njit
def product(z, q, u, system, steps):
    """q = (Tᵀ A T + inertia) z; u is scratch of the size of z."""
    expand(z, u, system, steps)
    apply(u, steps.image, system, steps)
    gather(steps.image, q, system, steps)
    add_inertia(z, q, system, steps)
    add_slip(z, u, q, system, steps)


@njit
def add_slip(z, u, q, system, steps):
    """Add κ times the slip of what slides on bodies to q, for those, and what the matrix does not have for the particles."""
    touches, n = steps.touches, 3 * system.settings[0].particles
    explicit = steps.options[0].explicit != 0
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        if not slides(touch):
            continue
        i = 3 * touch.particle
        own = tangent_part(touch, load_3(u, i))
        slip = own
        if touch.body < system.settings[0].rigid:
            at = n + BODY_ROW * touch.body
            slip = sub(slip, tangent_part(touch, body_point(touch, z, at)))
            push_carrier(touch, scale(-touch.grip, slip), q, at)
        if not explicit:
            slip = sub(slip, own)
        add_3(q, i, scale(touch.grip, slip))


@njit
def solve_coupled(tolerance, system, steps):
    """Conjugate gradients for particles and bodies at once; see the head of this file."""
    report, rhs, change = steps.report[0], steps.rhs, steps.change
    z, r, p, q, s, u = steps.d, steps.residual, steps.direction, steps.g, steps.scaled, steps.t
    n, total = 3 * system.settings[0].particles, rhs.shape[0]
    apply(change, steps.image, system, steps)
    for k in range(n):
        poke(u, k, peek(rhs, k) - peek(steps.image, k))
    gather(u, r, system, steps)
    for k in range(n, total):
        poke(r, k, peek(r, k) + peek(rhs, k))
    clear(z)
    clear(p)
    if not invert_blocks(system, steps):
        return INDEFINITE
    goal, last, status = -1.0, 1.0, NOT_CONVERGED
    for iteration in range(steps.options[0].linear_iterations):
        precondition(r, s, system, steps)
        square = inner(r, s)
        if goal < 0.0:
            goal = tolerance * tolerance * square
        if square <= goal:
            status = OK
            break
        turn(p, square / last if iteration > 0 else 0.0, s)
        last = square
        product(p, q, u, system, steps)
        report.linear += 1
        curvature = inner(p, q)
        if not curvature > 0.0:
            return INDEFINITE
        add_multiple(z, square / curvature, p)
        add_multiple(r, -square / curvature, q)
    expand(z, u, system, steps)
    for k in range(total):
        poke(change, k, peek(change, k) + (peek(u, k) if k < n else peek(z, k)))
    return status


@njit
def invert_blocks(system, steps):
    """The inverse blocks on the diagonal: 9 numbers a particle, then 9 + 9 a body. Returns whether all are definite."""
    stage, diagonal, mass = steps.stage[0], steps.diagonal, system.particle_mass
    explicit = steps.options[0].explicit != 0
    n = mass.shape[0]
    good = True
    for i in range(n):
        m = stage.weight * peek(mass, i)
        block = (m, m, m, 0.0, 0.0, 0.0) if explicit else load_symmetric(steps.values, 9 * steps.starts[i])
        inverse, definite = inverse_of(block)
        store_symmetric(diagonal, 9 * i, inverse, 1.0)
        good = good and definite
    for b in range(system.settings[0].rigid):
        at = 9 * (n + 2 * b)
        for k in range(18):
            poke(diagonal, at + k, 0.0)
        for c in range(3):
            m, spin = body_momentum(b, unit(c), unit(c), steps)
            for r in range(3):
                poke(diagonal, at + 3 * r + c, stage.body_weight * m[r])
                poke(diagonal, at + 9 + 3 * r + c, stage.body_weight * spin[r])
    touches = steps.touches
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        if touch.body < system.settings[0].rigid and touch.locked > 0:
            add_load(touch, explicit, n, system, steps)
    for b in range(2 * system.settings[0].rigid):
        inverse, definite = inverse_of(load_symmetric(diagonal, 9 * (n + b)))
        store_symmetric(diagonal, 9 * (n + b), inverse, 1.0)
        good = good and definite
    return good


@njit
def add_load(touch, explicit, n, system, steps):
    """Add what a locked particle's own block is to its carrier, to the blocks of that."""
    diagonal = steps.diagonal
    m = steps.stage[0].weight * peek(system.particle_mass, touch.particle)
    grip = touch.grip if slides(touch) else 0.0
    arm, at = load3(touch.arm), 9 * (n + 2 * touch.body)
    for c in range(3):
        push = borne_block(touch, m, grip, unit(c), explicit, steps)
        moment = cross(arm, borne_block(touch, m, grip, cross(unit(c), arm), explicit, steps))
        for r in range(3):
            poke(diagonal, at + 3 * r + c, peek(diagonal, at + 3 * r + c) + push[r])
            poke(diagonal, at + 9 + 3 * r + c, peek(diagonal, at + 9 + 3 * r + c) + moment[r])


@njit
def borne_block(touch, m, grip, v, explicit, steps):
    """What the carrier bears of a touch where it moves by v there."""
    push = locked_part(touch, block_times(touch.particle, m, locked_part(touch, v), explicit, steps))
    return add_scaled(push, grip, tangent_part(touch, v))


@inlined
def block_times(i, m, v, explicit, steps):
    if explicit:
        return (m * v[0], m * v[1], m * v[2])
    return matvec(load_3x3(steps.values, 9 * steps.starts[i]), v)


@njit
def precondition(r, s, system, steps):
    diagonal, touches = steps.diagonal, steps.touches
    for i in range(r.shape[0] // 3):
        store_3(s, 3 * i, matvec(load_3x3(diagonal, 9 * i), load_3(r, 3 * i)))
    for k in range(steps.touch_counts[0]):
        touch = touches[k]
        i = 3 * touch.particle
        store_3(s, i, free_part(touch, load_3(s, i)))
