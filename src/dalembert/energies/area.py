"""AREA: resistance of a triangle to changes of its area, W = ½ k (A − A₀)²/A₀.

With a = x₁ − x₀, b = x₂ − x₀, n the unit vector of a × b, and 2 A = |a × b|:

    ∂A/∂a = ½ b × n,   ∂A/∂b = ½ n × a,
    ∂²A/∂a² = |b|²/(4 A) n nᵀ,   ∂²A/∂b² = |a|²/(4 A) n nᵀ,   ∂²A/∂a∂b = −½ [n]× − a·b/(4 A) n nᵀ:

in the plane A is bilinear; out of it, it grows like the square of the slope.
"""

import math
from typing import Any

import numpy as np

from ..core.jit import inlined
from ..core.math3 import cross, dot, norm, scale, sub
from ..core.simd import store
from .kinds import Energy, register
from .matrices import IDENTITY, clear_from, outer, plus, point, put_pair_gradient, put_pair_hessian, skew, times


class Areas(Energy):
    """Triangles that keep their area; see `Scene.areas`."""

    kind = label = "areas"

    def __init__(self, particles: Any, faces: Any, *, stiffness: Any, damping: Any = 0.0) -> None:
        self.particles, self.faces = particles, faces
        self.numbers = {"stiffness": stiffness, "damping": damping}

    def resolve(self, resolver: Any) -> tuple[Any, dict[str, Any]]:
        group = resolver.group(self.particles)
        rows = resolver.elements(group, self.faces, 3, apart="a triangle needs an area")
        values = {"nodes": rows + group.first, **resolver.per_element(len(rows), **self.numbers)}
        a, b, c = (group.position[rows[:, k]] for k in range(3))
        area = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
        values["rest"] = resolver.per_element(len(rows), above_zero=True, area=area)["area"]
        return group, values


ALPHA = (-1.0, 1.0, 0.0)
BETA = (-1.0, 0.0, 1.0)


@inlined
def element_derivatives(e, x, order, out):
    """Energy, gradient (`order` ≥ 1) and Hessian (2: exact, 3: positive semidefinite) of one triangle; see `elements`."""
    triangle = geometry(e, x)
    a, b, n, area = triangle
    slope = e.stiffness * (area - e.rest) / e.rest
    store(out, 0, 0.5 * slope * (area - e.rest))
    if order == 0:
        return
    if area == 0.0:
        clear_from(out, 1, 91 if order >= 2 else 10)
        return
    g_a, g_b = scale(0.5, cross(b, n)), scale(0.5, cross(n, a))
    put_pair_gradient(out, 1, ALPHA, BETA, scale(slope, g_a), scale(slope, g_b))
    if order >= 2:
        put_hessian(e.stiffness / e.rest, slope, order, triangle, g_a, g_b, out)


@inlined
def geometry(e, x):
    """a, b, n (zero where there is no area) and A."""
    x_0 = point(x, e.nodes[0])
    a, b = sub(point(x, e.nodes[1]), x_0), sub(point(x, e.nodes[2]), x_0)
    normal = cross(a, b)
    size = norm(normal)
    return a, b, scale(1.0 / size if size > 0.0 else 0.0, normal), 0.5 * size


# W' ∂²A/∂x² has in the plane the eigenvalues ±(√3/2) W', each twice, and 0 for translations, so that W'' ∇A ∇Aᵀ cannot
# make it positive: H is indefinite wherever W' ≠ 0. The square of the matrix J of those eigenvalues is ¾ W'² (1 − 1
# 1ᵀ/3), and its positive part
#     ½ (J + (√3/2) |W'| (1 − 1 1ᵀ/3)),   where Σᵢⱼ (δᵢⱼ − 1/3) xᵢ·xⱼ = (2/3) (a·a + b·b − a·b).
@inlined
def put_hessian(stiffness, slope, order, triangle, g_a, g_b, out):
    """Write W'' ∇A ∇Aᵀ + W' ∂²A/∂x² with W'' = `stiffness` and W' = `slope`, projected where `order` is 3."""
    a, b, n, area = triangle
    normal = outer(n, n)
    turn, out_of_plane, plane = -0.5 * slope, 0.25 * slope / area, 0.0
    if order == 3:
        turn, out_of_plane, plane = 0.5 * turn, max(out_of_plane, 0.0), abs(slope) / (2.0 * math.sqrt(3.0))
    in_plane = plus(IDENTITY, -1.0, normal)
    h_aa = plus(times(stiffness, outer(g_a, g_a)), out_of_plane * dot(b, b), normal)
    h_bb = plus(times(stiffness, outer(g_b, g_b)), out_of_plane * dot(a, a), normal)
    h_ab = plus(plus(times(stiffness, outer(g_a, g_b)), -out_of_plane * dot(a, b), normal), turn, skew(n))
    h_aa, h_bb = plus(h_aa, plane, in_plane), plus(h_bb, plane, in_plane)
    put_pair_hessian(out, ALPHA, BETA, h_aa, plus(h_ab, -0.5 * plane, in_plane), h_bb)


@inlined
def damping_rows(e, x, rows):
    """√(c/A₀) ∂A/∂x; see `elements`."""
    if e.damping == 0.0:
        return 0
    a, b, n, area = geometry(e, x)
    if area == 0.0:
        return 0
    root = 0.5 * math.sqrt(e.damping / e.rest)
    put_pair_gradient(rows, 0, ALPHA, BETA, scale(root, cross(b, n)), scale(root, cross(n, a)))
    return 1


# Stiffness of ½ k (A − A₀)²/A₀ (N/m), damping (N s/m), rest area (m²).
register("areas", 3, 1, "stiffness damping rest", element_derivatives, damping_rows)
