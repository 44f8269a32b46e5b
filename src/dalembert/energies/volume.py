"""VOLUME: resistance of a tetrahedron to changes of its volume, W = ½ k (V − V₀)²/V₀.

V = d₁ · (d₂ × d₃)/6 with the edges d from the first node. V is negative where the tetrahedron is inverted, and its
gradient does not vanish when it is flat, so that the force turns it back.
"""

import math
from typing import Any

import numpy as np

from ..core.jit import inlined
from ..core.math3 import add_scaled, cross, dot, scale
from ..core.simd import store
from .determinant import add_positive, edges, put_determinant_hessian, put_edge_gradient
from .kinds import Energy, register
from .matrices import determinants

FLAT = 1e-12  # of the cube of its longest side: a smaller volume is rounding


class Volumes(Energy):
    """Tetrahedra that keep their volume; see `Scene.volumes`."""

    kind = label = "volumes"

    def __init__(self, particles: Any, tetrahedra: Any, *, stiffness: Any, damping: Any = 0.0) -> None:
        self.particles, self.tetrahedra = particles, tetrahedra
        self.numbers = {"stiffness": stiffness, "damping": damping}

    def resolve(self, resolver: Any) -> tuple[Any, dict[str, Any]]:
        group = resolver.group(self.particles)
        rows = resolver.elements(group, self.tetrahedra, 4, apart="a tetrahedron needs a volume")
        values = {"nodes": rows + group.first, **resolver.per_element(len(rows), **self.numbers)}
        values["rest"] = require_upright(resolver.owner, group.position, rows)
        return group, values


def require_upright(owner: str, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The volumes of tetrahedra (m³). Raises ValueError for one that is flat or turned inside out."""
    edges = x[rows[:, 1:]] - x[rows[:, :1]]
    volume = determinants(edges) / 6.0
    flat = volume <= FLAT * np.abs(edges).max(axis=(1, 2)) ** 3
    if flat.any():
        i = int(np.argmax(flat))
        raise ValueError(
            f"{owner}: tetrahedron {i}, particles {rows[i].tolist()}, has the volume {volume[i]:.3g} m³; exchange two of its "
            "corners where it is inside out, and leave out flat ones"
        )
    return volume


NOTHING = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
# Rows of D⁻¹ of a regular tetrahedron with edges of length √2, from one corner; D has the columns (0, 1, 1), (1, 0, 1),
# (1, 1, 0).
B_1, B_2, B_3 = (-0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0.5, 0.5, -0.5)


# Seen from a regular tetrahedron with F = d D⁻¹, V = det D det F/6 = det F/3, and the four gradients of its shape
# functions are such that what is orthogonal among F is so among nodes: modes of F are those of the nodes, and the
# projection is exact.
@inlined
def element_derivatives(e, x, order, out):
    """Energy, gradient (`order` ≥ 1) and Hessian (2: exact, 3: positive semidefinite) of one tetrahedron; see `elements`."""
    d_1, d_2, d_3 = edges(e, x)
    c_1 = cross(d_2, d_3)
    change = dot(d_1, c_1) / 6.0 - e.rest
    slope = e.stiffness * change / e.rest
    store(out, 0, 0.5 * slope * change)
    if order >= 1:
        s = slope / 6.0
        put_edge_gradient(out, 1, scale(s, c_1), scale(s, cross(d_3, d_1)), scale(s, cross(d_1, d_2)))
    if order >= 2:
        bend = e.stiffness / e.rest
        put_determinant_hessian(out, NOTHING, bend / 36.0, slope / 6.0, d_1, d_2, d_3)
        if order == 3:
            f = (
                scale(0.5, add_scaled(add_scaled(d_3, 1.0, d_2), -1.0, d_1)),
                scale(0.5, add_scaled(add_scaled(d_3, -1.0, d_2), 1.0, d_1)),
                scale(0.5, add_scaled(add_scaled(d_2, -1.0, d_3), 1.0, d_1)),
            )
            add_positive(out, 1.0, (0.0, slope / 3.0, bend / 9.0), f, B_1, B_2, B_3)


@inlined
def damping_rows(e, x, rows):
    """√(c/V₀) ∂V/∂x; see `elements`."""
    if e.damping == 0.0:
        return 0
    d_1, d_2, d_3 = edges(e, x)
    s = math.sqrt(e.damping / e.rest) / 6.0
    put_edge_gradient(rows, 0, scale(s, cross(d_2, d_3)), scale(s, cross(d_3, d_1)), scale(s, cross(d_1, d_2)))
    return 1


# Stiffness of ½ k (V − V₀)²/V₀ (Pa), damping (Pa s), rest volume (m³), positive where edges nodes[0] → 1, 2, 3 are
# right-handed.
register("volumes", 4, 1, "stiffness damping rest", element_derivatives, damping_rows)
