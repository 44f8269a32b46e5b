"""SPRING: a damped spring between two particles, W = ½ k (|d| − l)², with d from the first to the second."""

import math
from typing import Any

import numpy as np

from ..core.jit import inlined, njit
from ..core.math3 import add, dot, scale, sub
from ..core.simd import store
from .kinds import Energy, register
from .matrices import outer, point, put, put_block, shifted, times


class Springs(Energy):
    """Damped springs between pairs of particles; see `Scene.springs`."""

    kind = label = "springs"

    def __init__(
        self, particles: Any, pairs: Any, *, stiffness: Any, damping: Any = 0.0, rest: Any = None, draw: bool = True
    ) -> None:
        self.particles, self.pairs, self.rest, self.draw = particles, pairs, rest, draw
        self.numbers = {"stiffness": stiffness, "damping": damping}

    def resolve(self, found: Any) -> tuple[Any, dict[str, Any]]:
        group = found.group(self.particles)
        rows = found.elements(group, self.pairs, 2)
        lengths = np.linalg.norm(group.position[rows[:, 1]] - group.position[rows[:, 0]], axis=1)
        values = {"nodes": rows + group.first, **found.per_element(len(rows), **self.numbers)}
        values["rest"] = lengths if self.rest is None else found.per_element(len(rows), rest=self.rest)["rest"]
        lost = (lengths == 0.0) & (values["rest"] > 0.0)
        if lost.any():
            i = int(np.argmax(lost))
            raise ValueError(
                f"{found.owner}: spring {i}, particles {rows[i].tolist()}, starts with both ends at one place and a rest "
                f"length of {values['rest'][i]:g} m, and so has no direction; move one, or give it no rest length"
            )
        if self.draw:
            group.segments.append(rows)
        return group, values


@inlined
def element_derivatives(e, x, order, out):
    """Energy, gradient (`order` ≥ 1) and Hessian (2: exact, 3: positive semidefinite) of one spring; see `loops`."""
    energy, tension, length, u = pull(e, x)
    store(out, 0, energy)
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
def forces(elements, first, last, x, about, same, v, f, g, scratch):
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


# Stiffness of ½ k (|d| − l)² (N/m), damping (N s/m), rest length (m).
register("springs", 2, 1, "stiffness damping rest", element_derivatives, damping_rows, forces=forces)
