"""CLOTH: a triangle with material coordinates (u, v).

D. Baraff, A. Witkin, "Large steps in cloth simulation", 1998, §4.2 and 4.3:

w_u = ∂x/∂u and w_v = ∂x/∂v are constant over the triangle: the columns of (x₁ − x₀, x₂ − x₀) D⁻¹, with D the 2×2 matrix
of material edges. So w_u = Σ αᵢ xᵢ and w_v = Σ βᵢ xᵢ, and

    W = ½ a (k_u (|w_u| − 1)² + k_v (|w_v| − 1)² + k_s (w_u · w_v)²)

with a the area at rest (the paper has a²; with a, cloth of any mesh is the same).
"""

import math
from typing import Any

import numpy as np

from ..core.jit import inlined, njit
from ..core.math3 import add, add_scaled, dot, norm, scale, sub
from ..core.simd import four, plus4, spread, store, times4
from .kinds import Energy, register
from .matrices import (
    add_nine,
    determinants,
    factors,
    inverses,
    nine,
    point,
    product,
    put_block,
    put_pair_gradient,
    subtract,
)


class Cloth(Energy):
    """Triangles of a cloth that is at rest as it is; see `Scene.cloth`."""

    kind, label = "cloths", "cloth"

    def __init__(
        self, particles: Any, faces: Any, *, stretch: Any, shear: float, damping: float = 0.0, coordinates: Any = None
    ) -> None:
        self.particles, self.faces, self.coordinates = particles, faces, coordinates
        self.stretch, self.shear, self.damping = stretch, shear, damping

    def resolve(self, resolver: Any) -> tuple[Any, dict[str, Any]]:
        group = resolver.group(self.particles)
        rows = resolver.elements(group, self.faces, 3)
        plane = None if self.coordinates is None else resolver.array("coordinates", self.coordinates, (len(group), 2))
        edges, area = material_edges(resolver.owner, group.position, rows, plane)
        along = (self.stretch, self.stretch) if np.ndim(self.stretch) == 0 else self.stretch
        k_u, k_v = (resolver.positive("stretch", stiffness, "N/m") for stiffness in along)
        k_s, time = resolver.number("shear", self.shear, 0.0), resolver.number("damping", self.damping, 0.0)
        return group, {
            "nodes": rows + group.first, "inverse": inverses(edges).reshape(-1, 4), "area": area, "stretch_u": k_u,
            "stretch_v": k_v, "shear": k_s, "damping_u": time * k_u, "damping_v": time * k_v, "shear_damping": time * k_s,
        }  # fmt: skip


LEVEL = 0.9  # |n_x| of a triangle's normal from which u is the direction y in its plane, not x
FLAT = 1e-10  # area of a triangle over the square of its longest edge, below which it has none


def material_edges(
    owner: str, x: np.ndarray, rows: np.ndarray, coordinates: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """(m, 2, 2) edges of triangles in the plane of the cloth, as columns, and their areas (m²).

    coordinates : (n, 2) m, u and v of the particles; None: u is the direction x, or y where x is nearly normal, in each
    triangle's plane. Raises ValueError for a triangle without area.
    """
    d, e = x[rows[:, 1]] - x[rows[:, 0]], x[rows[:, 2]] - x[rows[:, 0]]
    if coordinates is None:
        normal = np.cross(d, e)
        size = np.linalg.norm(normal, axis=1, keepdims=True)
        normal = normal / np.where(size > 0.0, size, 1.0)
        axis = np.where(np.abs(normal[:, :1]) < LEVEL, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
        u = axis - normal * np.einsum("ij,ij->i", axis, normal)[:, None]
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        frame = np.stack([u, np.cross(normal, u)], axis=1)
        edges = np.stack([np.einsum("ijk,ik->ij", frame, d), np.einsum("ijk,ik->ij", frame, e)], axis=2)
    else:
        first = coordinates[rows[:, 0]]
        edges = np.stack([coordinates[rows[:, 1]] - first, coordinates[rows[:, 2]] - first], axis=2)
    area = 0.5 * np.abs(determinants(edges))
    flat = area <= FLAT * np.abs(edges).max(axis=(1, 2)) ** 2
    if flat.any():
        i = int(np.argmax(flat))
        raise ValueError(
            f"{owner}: triangle {i}, vertices {rows[i].tolist()}, has no area; leave it out, or move a vertex"
        )
    return edges, area


@inlined
def element_derivatives(e, x, order, out):
    """Energy, gradient (`order` ≥ 1) and Hessian (2: exact, 3: positive semidefinite) of one triangle; see `elements`."""
    w_u, w_v, i_u, i_v = measures(e, x)
    energy, g_u, g_v = stress(e, w_u, w_v, i_u, i_v)
    store(out, 0, energy)
    if order >= 1:
        alpha, beta = shape_derivatives(e)
        put_pair_gradient(out, 1, alpha, beta, g_u, g_v)
    if order >= 2:
        m, squares = stiffness(e, order, w_u, w_v, i_u, i_v)
        parts = parts_of(e, m, squares, (w_u, w_v, i_u, i_v))
        put_block(out, 3, 0, 0, nine(pair(parts, 0, 0)))
        put_block(out, 3, 0, 1, nine(pair(parts, 0, 1)))
        put_block(out, 3, 0, 2, nine(pair(parts, 0, 2)))
        put_block(out, 3, 1, 1, nine(pair(parts, 1, 1)))
        put_block(out, 3, 1, 2, nine(pair(parts, 1, 2)))
        put_block(out, 3, 2, 2, nine(pair(parts, 2, 2)))


@inlined
def shape_derivatives(e):
    """α and β."""
    return (
        (-e.inverse[0] - e.inverse[2], e.inverse[0], e.inverse[2]),
        (-e.inverse[1] - e.inverse[3], e.inverse[1], e.inverse[3]),
    )


@inlined
def derivatives(e, x):
    """w_u and w_v; with velocities in place of x, their rates."""
    x_0 = point(x, e.nodes[0])
    d_1, d_2 = sub(point(x, e.nodes[1]), x_0), sub(point(x, e.nodes[2]), x_0)
    w_u = add_scaled(scale(e.inverse[0], d_1), e.inverse[2], d_2)
    return w_u, add_scaled(scale(e.inverse[1], d_1), e.inverse[3], d_2)


@inlined
def measures(e, x):
    """w_u, w_v, 1/|w_u| and 1/|w_v|, zero where there is no length."""
    w_u, w_v = derivatives(e, x)
    length_u, length_v = norm(w_u), norm(w_v)
    return w_u, w_v, 1.0 / length_u if length_u > 0.0 else 0.0, 1.0 / length_v if length_v > 0.0 else 0.0


@inlined
def stress(e, w_u, w_v, i_u, i_v):
    """W and its gradients by w_u and w_v."""
    stretch_u, stretch_v, shear = norm(w_u) - 1.0, norm(w_v) - 1.0, dot(w_u, w_v)
    t_u, t_v, t_s = e.area * e.stretch_u * stretch_u, e.area * e.stretch_v * stretch_v, e.area * e.shear * shear
    g_u, g_v = add_scaled(scale(t_u * i_u, w_u), t_s, w_v), add_scaled(scale(t_v * i_v, w_v), t_s, w_u)
    return 0.5 * (t_u * stretch_u + t_v * stretch_v + t_s * shear), g_u, g_v


# In terms of w_u and w_v, with unit vectors u, v and τ_u = 1 − 1/|w_u| (1 at w_u = 0, where it has no direction), τ_v
# likewise,
#     H = M ⊗ 1 + (k_u − M_uu) u uᵀ + (k_v − M_vv) v vᵀ + k_s g gᵀ,   M = ((k_u τ_u, k_s S), (k_s S, k_v τ_v)),
# where g = (w_v, w_u) is the gradient of the shear S = w_u · w_v. All but M are positive; and M alone acts at right
# angles to the triangle. So H is positive semidefinite just where M is, and M is what is projected.
@inlined
def stiffness(e, order, w_u, w_v, i_u, i_v):
    """M as (uu, uv, vv), and the factors of the three squares."""
    k_u, k_v, k_s = e.area * e.stretch_u, e.area * e.stretch_v, e.area * e.shear
    m_uu, m_uv, m_vv = k_u - k_u * i_u, k_s * dot(w_u, w_v), k_v - k_v * i_v
    if order == 3:
        m_uu, m_uv, m_vv = positive_part(m_uu, m_uv, m_vv)
    return (m_uu, m_uv, m_vv), (max(k_u - m_uu, 0.0), max(k_v - m_vv, 0.0), k_s)


# The gradients of |w_u|, |w_v| and w_u · w_v by xᵢ are αᵢ u, βᵢ v and rᵢ = αᵢ w_v + βᵢ w_u, so that the block (i, j) of H is
#     (M_uu αᵢ αⱼ + M_uv (αᵢ βⱼ + βᵢ αⱼ) + M_vv βᵢ βⱼ) 1 + αᵢ αⱼ c_u u uᵀ + βᵢ βⱼ c_v v vᵀ + c_s rᵢ rⱼᵀ.
@inlined
def parts_of(e, m, squares, at):
    """Arguments of `pair`: α, β, M, the squares of u and v, and the factors of r. squares : c_u, c_v and c_s; at : the result
    of `measures`."""
    (c_u, c_v, c_s), (w_u, w_v, i_u, i_v) = squares, at
    alpha, beta = shape_derivatives(e)
    u, v = factors(c_u * i_u * i_u, w_u), factors(c_v * i_v * i_v, w_v)
    r_0 = factors(c_s, add_scaled(scale(alpha[0], w_v), beta[0], w_u))
    r_1 = factors(c_s, add_scaled(scale(alpha[1], w_v), beta[1], w_u))
    r_2 = factors(c_s, add_scaled(scale(alpha[2], w_v), beta[2], w_u))
    return alpha, beta, m, product(u, u), product(v, v), (r_0, r_1, r_2)


@inlined
def pair(parts, i, j, turned=False):
    """The block of two nodes, as `matrices.product` has it, or its transpose."""
    alpha, beta, m, uu, vv, r = parts
    p, q = alpha[i] * alpha[j], beta[i] * beta[j]
    s = m[0] * p + m[1] * (alpha[i] * beta[j] + beta[i] * alpha[j]) + m[2] * q
    head, middle, last = product(r[j], r[i]) if turned else product(r[i], r[j])
    p_4, q_4 = spread(p), spread(q)
    return (
        plus4(plus4(times4(p_4, uu[0]), times4(q_4, vv[0])), plus4(head, four(s, 0.0, 0.0, 0.0))),
        plus4(plus4(times4(p_4, uu[1]), times4(q_4, vv[1])), plus4(middle, four(s, 0.0, 0.0, 0.0))),
        p * uu[2] + q * vv[2] + (last + s),
    )


@inlined
def add_pair(values, slot, parts, i, j):
    """Add the block of two nodes, or its transpose, to the block of a slot."""
    add_nine(values, 9 * (slot >> 1), pair(parts, i, j, slot & 1 == 1))


@inlined
def add_pairs(values, slots, at, parts):
    """Add the blocks of the six pairs of nodes, whose slots begin at `at`."""
    add_pair(values, slots[at], parts, 0, 0)
    add_pair(values, slots[at + 1], parts, 0, 1)
    add_pair(values, slots[at + 2], parts, 0, 2)
    add_pair(values, slots[at + 3], parts, 1, 1)
    add_pair(values, slots[at + 4], parts, 1, 2)
    add_pair(values, slots[at + 5], parts, 2, 2)


@njit
def positive_part(a, b, c):
    """The symmetric matrix M = ((a, b), (b, c)) with its negative eigenvalues set to zero: λ₁ (M − λ₂)/(λ₁ − λ₂) where
    λ₁ > 0 > λ₂."""
    mean, radius = 0.5 * (a + c), math.sqrt(0.25 * (a - c) * (a - c) + b * b)
    if mean - radius >= 0.0:
        return a, b, c
    if mean + radius <= 0.0:
        return 0.0, 0.0, 0.0
    share = (mean + radius) / (2.0 * radius)
    low = mean - radius
    return share * (a - low), share * b, share * (c - low)


@inlined
def dampings(e):
    """a d of the two stretches, and of the shear."""
    return e.area * e.damping_u, e.area * e.damping_v, e.area * e.shear_damping


@inlined
def damping_rows(e, x, rows):
    """√(a d) times the gradients of |w_u|, |w_v| and w_u · w_v; see `elements`."""
    c_u, c_v, shear = dampings(e)
    if c_u == 0.0 and c_v == 0.0 and shear == 0.0:
        return 0
    alpha, beta = shape_derivatives(e)
    w_u, w_v, i_u, i_v = measures(e, x)
    root_u, root_v, shear = math.sqrt(c_u), math.sqrt(c_v), math.sqrt(shear)
    none = (0.0, 0.0, 0.0)
    put_pair_gradient(rows, 0, alpha, beta, scale(root_u * i_u, w_u), none)
    put_pair_gradient(rows, 9, alpha, beta, none, scale(root_v * i_v, w_v))
    put_pair_gradient(rows, 18, alpha, beta, scale(shear, w_v), scale(shear, w_u))
    return 3


# Triangles of cloth are many, so that loops of their own pay: damping is summed by w_u and w_v, as what it damps.
@njit
def forces(elements, first, last, at, v, f, g, scratch):
    """Σ W and the power of damping; f += elastic forces, g += damping; see `elements.Loops`."""
    total, power = 0.0, 0.0
    for i in range(first, last):
        e = elements[i]
        w_u, w_v, i_u, i_v = measures(e, at.x)
        energy, g_u, g_v = stress(e, w_u, w_v, i_u, i_v)
        total += energy
        subtract_pair(f, e, g_u, g_v)
        if e.damping_u > 0.0 or e.damping_v > 0.0 or e.shear_damping > 0.0:
            if not at.same:
                w_u, w_v, i_u, i_v = measures(e, at.about)
            lost, g_u, g_v = damping(e, w_u, w_v, i_u, i_v, v)
            power -= lost
            subtract_pair(g, e, g_u, g_v)
    return total, power


@inlined
def damping(e, w_u, w_v, i_u, i_v, v):
    """Σ c Ċ² and Σ c Ċ ∇C by w_u and w_v, for the three measures C."""
    c_u, c_v, shear = dampings(e)
    change_u, change_v = derivatives(e, v)
    rate_u, rate_v, rate = i_u * dot(w_u, change_u), i_v * dot(w_v, change_v), dot(w_v, change_u) + dot(w_u, change_v)
    t_u, t_v, t_s = c_u * rate_u, c_v * rate_v, shear * rate
    g_u, g_v = add_scaled(scale(t_u * i_u, w_u), t_s, w_v), add_scaled(scale(t_v * i_v, w_v), t_s, w_u)
    return t_u * rate_u + t_v * rate_v + t_s * rate, g_u, g_v


@inlined
def subtract_pair(f, e, g_u, g_v):
    """Subtract the gradient by nodes of what has these by w_u and w_v."""
    g_1 = add_scaled(scale(e.inverse[0], g_u), e.inverse[1], g_v)
    g_2 = add_scaled(scale(e.inverse[2], g_u), e.inverse[3], g_v)
    subtract(f, e.nodes[0], scale(-1.0, add(g_1, g_2)))
    subtract(f, e.nodes[1], g_1)
    subtract(f, e.nodes[2], g_2)


@njit
def matrix(elements, slots, first, last, at, weights, values, scratch):
    """values += the weighted sum of positive Hessians and damping; see `elements.Loops`."""
    for i in range(first, last):
        e = elements[i]
        c_u, c_v, shear = dampings(e)
        c_u, c_v, shear = weights.damping * c_u, weights.damping * c_v, weights.damping * shear
        w_u, w_v, i_u, i_v = measures(e, at.x)
        m, squares = stiffness(e, 3, w_u, w_v, i_u, i_v)
        m, squares = scale(weights.stiffness, m), scale(weights.stiffness, squares)
        if at.same:
            squares = (squares[0] + c_u, squares[1] + c_v, squares[2] + shear)
        add_pairs(values, slots, 6 * i, parts_of(e, m, squares, (w_u, w_v, i_u, i_v)))
        if not at.same and (c_u > 0.0 or c_v > 0.0 or shear > 0.0):
            parts = parts_of(e, (0.0, 0.0, 0.0), (c_u, c_v, shear), measures(e, at.about))
            add_pairs(values, slots, 6 * i, parts)


# Inverse (row by row) of the 2×2 matrix whose columns are the material edges from nodes[0] (1/m), area at rest (m²),
# stiffnesses (N/m), dampings (N s/m).
FIELDS = "inverse:4 area stretch_u stretch_v shear damping_u damping_v shear_damping"
register("cloths", 3, 3, FIELDS, element_derivatives, damping_rows, forces=forces, matrix=matrix)
