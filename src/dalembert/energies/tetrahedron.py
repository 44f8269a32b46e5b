"""TETRAHEDRON: stable neo-Hookean elasticity with Kelvin–Voigt damping.

The deformation gradient F = (d₁, d₂, d₃) D⁻¹ of the edges from the first node is constant over the tetrahedron. With J =
det F,

    W = V [½ μ (|F|² − 3) − μ (J − 1) + ½ (λ + μ) (J − 1)²]

(B. Smith, F. de Goes, T. Kim, "Stable neo-Hookean flesh simulation", 2018, without the logarithm, with λ + μ instead of
their λ, and zero at rest). For F = 1 + ε: |F|² − 3 = 2 tr ε + |ε|² and J − 1 = tr ε + ½ ((tr ε)² − |ε|²) + …, so that
W/V = μ |ε|² + ½ λ (tr ε)² for small strains: μ and λ are the Lamé parameters. W is finite for any F, and inverted
tetrahedra turn back; one that is squeezed in all directions at once below μ/(λ + 2 μ) of its size stays shrunk, which the
paper's logarithm would prevent.

By the edges, with the rows bᵢ of D⁻¹ and β = det D⁻¹, |F|² = Σ dᵢ·dⱼ bᵢ·bⱼ and J = β det(d₁, d₂, d₃).
"""

import math
from typing import Any

import numpy as np

from ..core.jit import inlined, njit
from ..core.math3 import add, add_scaled, cross, dot, scale
from ..core.simd import store
from .determinant import add_positive, edges, put_determinant_hessian, put_edge_gradient
from .kinds import Energy, register
from .matrices import inverses
from .volume import require_upright


class Tetrahedra(Energy):
    """An elastic solid of tetrahedra that is at rest as it is; see `Scene.soft_body`."""

    kind = label = "tetrahedra"

    def __init__(
        self, particles: Any, tetrahedra: Any, *, young: float, poisson: float = 0.45, viscosity: float = 0.0
    ) -> None:
        self.particles, self.tetrahedra = particles, tetrahedra
        self.young, self.poisson, self.viscosity = young, poisson, viscosity

    def resolve(self, resolver: Any) -> tuple[Any, dict[str, Any]]:
        group = resolver.group(self.particles)
        rows = resolver.elements(group, self.tetrahedra, 4)
        volume = require_upright(resolver.owner, group.position, rows)
        e, nu = resolver.positive("young", self.young, "Pa"), resolver.number("poisson", self.poisson, 0.0)
        if nu >= 0.5:
            raise ValueError(
                f"{resolver.owner}: poisson is {nu:g}; give a number below ½, as 0.49 for nearly no change of volume"
            )
        edges = np.swapaxes(group.position[rows[:, 1:]] - group.position[rows[:, :1]], 1, 2)
        return group, {
            "nodes": rows + group.first, "inverse": inverses(edges).reshape(-1, 9), "volume": volume,
            "mu": e / (2.0 * (1.0 + nu)), "lame": e * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)),
            "viscosity": resolver.number("viscosity", self.viscosity, 0.0),
        }  # fmt: skip


@inlined
def element_derivatives(e, x, order, out):
    """Energy, gradient (`order` ≥ 1) and Hessian (2: exact, 3: positive semidefinite) of one tetrahedron; see `elements`."""
    d_1, d_2, d_3 = edges(e, x)
    b_1, b_2, b_3, f = gradient(e, d_1, d_2, d_3)
    beta = dot(b_1, cross(b_2, b_3))
    c_1 = cross(d_2, d_3)
    change = beta * dot(d_1, c_1) - 1.0
    square = dot(f[0], f[0]) + dot(f[1], f[1]) + dot(f[2], f[2])
    stiff = e.lame + e.mu
    store(out, 0, e.volume * (0.5 * e.mu * (square - 3.0) + change * (0.5 * stiff * change - e.mu)))
    if order == 0:
        return
    slope = stiff * change - e.mu
    s = e.volume * slope * beta
    m = e.volume * e.mu
    g_1 = add_scaled(scale(m, stretched(f, b_1)), s, c_1)
    g_2 = add_scaled(scale(m, stretched(f, b_2)), s, cross(d_3, d_1))
    g_3 = add_scaled(scale(m, stretched(f, b_3)), s, cross(d_1, d_2))
    put_edge_gradient(out, 1, g_1, g_2, g_3)
    if order >= 2:
        products = (
            m * dot(b_1, b_1), m * dot(b_2, b_2), m * dot(b_3, b_3), m * dot(b_1, b_2), m * dot(b_1, b_3),
            m * dot(b_2, b_3),
        )  # fmt: skip
        put_determinant_hessian(out, products, e.volume * stiff * beta * beta, s, d_1, d_2, d_3)
        if order == 3:
            add_positive(out, e.volume, (e.mu, slope, stiff), f, b_1, b_2, b_3)


@inlined
def gradient(e, d_1, d_2, d_3):
    """The rows of D⁻¹, and the columns of F."""
    b_1 = (e.inverse[0], e.inverse[1], e.inverse[2])
    b_2 = (e.inverse[3], e.inverse[4], e.inverse[5])
    b_3 = (e.inverse[6], e.inverse[7], e.inverse[8])
    f_1 = add_scaled(add_scaled(scale(b_1[0], d_1), b_2[0], d_2), b_3[0], d_3)
    f_2 = add_scaled(add_scaled(scale(b_1[1], d_1), b_2[1], d_2), b_3[1], d_3)
    f_3 = add_scaled(add_scaled(scale(b_1[2], d_1), b_2[2], d_2), b_3[2], d_3)
    return b_1, b_2, b_3, (f_1, f_2, f_3)


@inlined
def stretched(f, b):
    """F b."""
    return add_scaled(add_scaled(scale(b[0], f[0]), b[1], f[1]), b[2], f[2])


# The stress −2 η Ė of Kelvin and Voigt with half of η: power −η V |Ė|², with E = ½ (FᵀF − 1), so that δEᵢⱼ = ½ (fᵢ·δfⱼ +
# fⱼ·δfᵢ). A pair i ≠ j occurs twice in |Ė|².
@njit
def damping_rows(e, x, rows):
    """√(η V) ∂Eᵢⱼ/∂x, √2 times that for i ≠ j; see `elements`."""
    if e.viscosity == 0.0:
        return 0
    d_1, d_2, d_3 = edges(e, x)
    b_1, b_2, b_3, f = gradient(e, d_1, d_2, d_3)
    root = math.sqrt(e.viscosity * e.volume)
    p, q, r = (b_1[0], b_2[0], b_3[0]), (b_1[1], b_2[1], b_3[1]), (b_1[2], b_2[2], b_3[2])
    put_strain(rows, 0, root, f[0], f[0], p, p)
    put_strain(rows, 12, root, f[1], f[1], q, q)
    put_strain(rows, 24, root, f[2], f[2], r, r)
    root *= math.sqrt(2.0)
    put_strain(rows, 36, root, f[0], f[1], p, q)
    put_strain(rows, 48, root, f[1], f[2], q, r)
    put_strain(rows, 60, root, f[2], f[0], r, p)
    return 6


@njit
def put_strain(rows, at, root, f, g, p, q):
    """½ root (f·δg + g·δf) by the edges, with δf = Σ pᵢ δdᵢ and δg = Σ qᵢ δdᵢ."""
    half = 0.5 * root
    put_edge_gradient(
        rows, at, add(scale(half * q[0], f), scale(half * p[0], g)), add(scale(half * q[1], f), scale(half * p[1], g)),
        add(scale(half * q[2], f), scale(half * p[2], g)),
    )  # fmt: skip


# Inverse (row by row) of the 3×3 matrix whose columns are the edges from nodes[0] at rest (1/m), volume at rest (m³,
# positive), Lamé parameters (Pa), viscosity (Pa s).
register("tetrahedra", 4, 6, "inverse:9 volume mu lame viscosity", element_derivatives, damping_rows)
