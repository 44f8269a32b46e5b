"""SPRING: a damped spring between two particles, W = ½ k (|d| − l)², with d from the first to the second."""

import math

from ..jit import inlined, njit
from ..unchecked import poke
from ..vec import add, dot, scale, sub
from .matrices import outer, point, put, put_block, shifted, times


@inlined
def evaluate(e, x, order, out):
    """Energy, gradient (`order` ≥ 1) and Hessian (2: exact, 3: positive semidefinite) of one spring; see `loops`."""
    energy, tension, length, u = pull(e, x)
    poke(out, 0, energy)
    if order >= 1:
        put(out, 1, scale(-tension, u))
        put(out, 4, scale(tension, u))
    if order >= 2:
        put_hessian(e, order, length, u, out)


@inlined
def pull(e, x):
    """Energy, tension k (|d| − l), length and direction; that is zero where the ends meet, as is the tension it gives."""
    d = sub(point(x, e.nodes[1]), point(x, e.nodes[0]))
    length = math.sqrt(dot(d, d))
    inverse = 1.0 / length if length > 0.0 else 0.0
    stretch = length - e.rest
    return 0.5 * e.stiffness * stretch * stretch, e.stiffness * stretch, length, scale(inverse, d)


# ∂²W/∂d² = k [u uᵀ + τ (1 − u uᵀ)] with τ = 1 − l/|d|: eigenvalues k and, twice, k τ, which is negative where the spring
# is compressed. As ∂²W/∂x² is ((K, −K), (−K, K)), its projection is that of K. Where the ends meet τ = 1, the limit for
# l = 0.
@inlined
def put_hessian(e, order, length, u, out):
    tau = 1.0 - e.rest / length if length > 0.0 else 1.0
    if order == 3:
        tau = max(tau, 0.0)
    block = shifted(times(e.stiffness * (1.0 - tau), outer(u, u)), e.stiffness * tau)
    put_block(out, 2, 0, 0, block)
    put_block(out, 2, 0, 1, times(-1.0, block))
    put_block(out, 2, 1, 1, block)


@inlined
def damping_rows(e, x, rows):
    """√c ∂|d|/∂x; see `loops`."""
    if e.damping == 0.0:
        return 0
    _, _, _, u = pull(e, x)
    row = scale(math.sqrt(e.damping), u)
    put(rows, 0, scale(-1.0, row))
    put(rows, 3, row)
    return 1


# Springs are many and cheap, so that a loop of their own pays: each direction serves for both forces.
@njit
def forces(elements, first, last, x, about, v, f, g, scratch):
    """Σ W and the power of damping; f += elastic forces, g += damping; see `loops.Loops`."""
    total, power = 0.0, 0.0
    for i in range(first, last):
        e = elements[i]
        a, b = e.nodes[0], e.nodes[1]
        energy, tension, _, u = pull(e, x)
        total += energy
        push = scale(tension, u)
        put(f, 3 * a, add(point(f, a), push))
        put(f, 3 * b, sub(point(f, b), push))
        if e.damping > 0.0:
            _, _, _, u = pull(e, about)
            rate = dot(u, sub(point(v, b), point(v, a)))
            power -= e.damping * rate * rate
            push = scale(e.damping * rate, u)
            put(g, 3 * a, add(point(g, a), push))
            put(g, 3 * b, sub(point(g, b), push))
    return total, power
