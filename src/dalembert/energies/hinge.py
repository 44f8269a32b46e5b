"""HINGE: the dihedral angle of two triangles with a common edge, W = ½ k (θ − θ₀)².

The edge e goes from x₀ to x₁ and has the length ℓ; the corners are x₂ (triangle A) and x₃ (triangle B). The normals n_A
of e × (x₂ − x₀) and n_B of (x₃ − x₀) × e agree where the triangles are flat; θ is the angle from n_A to n_B about e,
negative where the corners rise on the side of the normals. Of either triangle, let h be the height of the corner over
the edge, s the coordinate of its foot (0 at x₀, 1 at x₁), r the unit vector from the foot to the corner, and w = (−(1 − s),
−s, 1) on x₀, x₁ and its corner. With
D = (−1, 1) on x₀, x₁,

    ∂θ/∂x = −Σ w ⊗ n/h,
    ∂²θ/∂x² = Σ [w wᵀ ⊗ (r nᵀ + n rᵀ)/h² + (D wᵀ ⊗ n êᵀ + w Dᵀ ⊗ ê nᵀ)/(ℓ h) + D Dᵀ ⊗ n rᵀ/ℓ²],

sums over both triangles, from δn = −ê (n·δe)/ℓ − r (n·δw)/h, δh = r·δw and δs = ê·δw/ℓ + h r·δe/ℓ², where δw = Σ wᵢ δxᵢ.
"""

import math
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

from ..core.jit import inlined, njit
from ..core.math3 import add, add_scaled, cross, dot, norm, scale, sub
from ..core.simd import store
from .kinds import Energy, register
from .matrices import add_product, clear_from, factors, outer, plus, point, put, put_block, subtract, times, transposed


class Hinges(Energy):
    """Bending at the common edges of triangles, of `hinges` (m, 4): two ends of an edge and the corners on either side.

    stiffness : k, J/rad². damping : J s/rad². rest : θ₀, rad; the initial angles if not given.
    """

    kind = label = "hinges"

    def __init__(self, particles: Any, hinges: Any, *, stiffness: Any, damping: Any = 0.0, rest: Any = None) -> None:
        self.particles, self.hinges, self.rest = particles, hinges, rest
        self.numbers = {"stiffness": stiffness, "damping": damping}

    def resolve(self, resolver: Any) -> tuple[Any, dict[str, Any]]:
        group = resolver.group(self.particles)
        rows = resolver.elements(group, self.hinges, 4)
        values = {"nodes": rows + group.first, **resolver.per_element(len(rows), **self.numbers)}
        angles = dihedral_angles(group.position, rows) if self.rest is None else np.broadcast_to(self.rest, len(rows))
        values["rest"] = resolver.array("rest", angles, (len(rows),))
        return group, values


def dihedral_angles(x: np.ndarray, hinges: np.ndarray) -> np.ndarray:
    """(m,) rad: the angles between the triangles (0, 1, 2) and (1, 0, 3) of each hinge, 0 where they are level."""
    a, b, c, d = (x[hinges[:, k]] for k in range(4))
    edge = b - a
    one, other = np.cross(edge, c - a), np.cross(d - a, edge)
    sine = np.einsum("ij,ij->i", np.cross(one, other), edge) / np.linalg.norm(edge, axis=1)
    return np.asarray(np.arctan2(sine, np.einsum("ij,ij->i", one, other)))


@inlined
def element_derivatives(e, x, order, out):
    """Energy, gradient (`order` ≥ 1) and Hessian (2: exact, 3: positive semidefinite) of one hinge; see `elements`."""
    edge, arm_a, arm_b, normal_a, normal_b, size = geometry(e, x)
    turn = turned(e.rest, edge, arm_b, normal_a, normal_b)
    store(out, 0, 0.5 * e.stiffness * turn * turn)
    if order == 0:
        return
    if not size > 0.0:
        clear_from(out, 1, 157 if order >= 2 else 13)
        return
    g_0, g_1, g_2, g_3 = gradient(edge, arm_a, arm_b, normal_a, normal_b)
    put_gradient(out, 1, e.stiffness * turn, g_0, g_1, g_2, g_3)
    if order >= 2:
        put_square(out, e.stiffness, g_0, g_1, g_2, g_3)
    if order == 2:
        add_curvature(out, e.stiffness * turn, edge, arm_a, arm_b, normal_a, normal_b)


@inlined
def geometry(e, x):
    """e, the arms from x₀ to the corners, the normals times twice the areas, and the product of their squares."""
    x_0 = point(x, e.nodes[0])
    edge = sub(point(x, e.nodes[1]), x_0)
    arm_a, arm_b = sub(point(x, e.nodes[2]), x_0), sub(point(x, e.nodes[3]), x_0)
    normal_a, normal_b = cross(edge, arm_a), cross(arm_b, edge)
    return edge, arm_a, arm_b, normal_a, normal_b, dot(normal_a, normal_a) * dot(normal_b, normal_b)


# (n_A × n_B) · e = −ℓ² n_A · (x₃ − x₀) for the long normals n_A = e × (x₂ − x₀), n_B = (x₃ − x₀) × e.
@inlined
def turned(rest, edge, arm_b, normal_a, normal_b):
    """θ − θ₀, in (−π, π]."""
    turn = angle_of(dot(normal_a, normal_b), -norm(edge) * dot(normal_a, arm_b)) - rest
    if abs(turn) >= math.pi:
        turn -= 2.0 * math.pi * math.ceil((turn - math.pi) / (2.0 * math.pi))
    return turn


@inlined
def gradient(edge, arm_a, arm_b, normal_a, normal_b):
    """∂θ/∂x, node by node; −n/h is −ℓ times the long normal over its square."""
    square = dot(edge, edge)
    length, inverse = math.sqrt(square), 1.0 / square
    g_2 = scale(-length / dot(normal_a, normal_a), normal_a)
    g_3 = scale(-length / dot(normal_b, normal_b), normal_b)
    g_1 = add_scaled(scale(-inverse * dot(arm_a, edge), g_2), -inverse * dot(arm_b, edge), g_3)
    return scale(-1.0, add(add(g_1, g_2), g_3)), g_1, g_2, g_3


@inlined
def put_gradient(out, at, s, g_0, g_1, g_2, g_3):
    """Write s g, node by node."""
    put(out, at, scale(s, g_0))
    put(out, at + 3, scale(s, g_1))
    put(out, at + 6, scale(s, g_2))
    put(out, at + 9, scale(s, g_3))


# θ does not change as a corner moves along its r, so that r ⊗ r of its block of H is zero while r ⊗ n is W'/h²: H is
# indefinite wherever W' = k (θ − θ₀) ≠ 0, and k ∇θ ∇θᵀ where it is positive semidefinite. That is taken everywhere. What
# is left out couples turns of the triangles with their stretches and shears, and, by W' sin θ, turns of the edge.
@inlined
def put_square(out, s, g_0, g_1, g_2, g_3):
    """Write s g gᵀ as the Hessian."""
    s_0, s_1, s_2, s_3 = scale(s, g_0), scale(s, g_1), scale(s, g_2), scale(s, g_3)
    put_block(out, 4, 0, 0, outer(s_0, g_0))
    put_block(out, 4, 0, 1, outer(s_0, g_1))
    put_block(out, 4, 0, 2, outer(s_0, g_2))
    put_block(out, 4, 0, 3, outer(s_0, g_3))
    put_block(out, 4, 1, 1, outer(s_1, g_1))
    put_block(out, 4, 1, 2, outer(s_1, g_2))
    put_block(out, 4, 1, 3, outer(s_1, g_3))
    put_block(out, 4, 2, 2, outer(s_2, g_2))
    put_block(out, 4, 2, 3, outer(s_2, g_3))
    put_block(out, 4, 3, 3, outer(s_3, g_3))


@njit
def add_curvature(out, slope, edge, arm_a, arm_b, normal_a, normal_b):
    """Add `slope` times ∂²θ/∂x² to the Hessian."""
    square = dot(edge, edge)
    length = math.sqrt(square)
    unit = scale(1.0 / length, edge)
    corner = 2
    for arm, normal in ((arm_a, normal_a), (arm_b, normal_b)):
        size = norm(normal)
        h, n, s = size / length, scale(1.0 / size, normal), dot(arm, edge) / square
        r = scale(1.0 / h, add_scaled(arm, -s, edge))
        turn = times(slope / (h * h), plus(outer(r, n), 1.0, outer(n, r)))
        twist = times(slope / (length * h), outer(n, unit))
        tilt = times(0.5 * slope / square, plus(outer(n, r), 1.0, outer(r, n)))
        for i in (0, 1, corner):
            w_i, d_i = node_weights(i, s)
            for j in (0, 1, corner):
                w_j, d_j = node_weights(j, s)
                block = plus(times(w_i * w_j, turn), d_i * w_j, twist)
                add_to(out, i, j, plus(plus(block, w_i * d_j, transposed(twist)), d_i * d_j, tilt))
        corner = 3


@njit
def node_weights(node, s):
    """w and D of a node."""
    if node == 0:
        return s - 1.0, -1.0
    if node == 1:
        return -s, 1.0
    return 1.0, 0.0


@njit
def add_to(out, i, j, m):
    """Add a 3×3 block to the Hessian of four nodes."""
    at = 13 + 36 * i + 3 * j
    for k in range(3):
        for c in range(3):
            out[at + 12 * k + c] += m[3 * k + c]


@inlined
def damping_rows(e, x, rows):
    """√c ∂θ/∂x; see `elements`."""
    if e.damping == 0.0:
        return 0
    edge, arm_a, arm_b, normal_a, normal_b, size = geometry(e, x)
    if not size > 0.0:
        return 0
    g_0, g_1, g_2, g_3 = gradient(edge, arm_a, arm_b, normal_a, normal_b)
    put_gradient(rows, 0, math.sqrt(e.damping), g_0, g_1, g_2, g_3)
    return 1


# Hinges are many, so that loops of their own pay.
@njit
def forces(elements, first, last, at, v, f, g, scratch):
    """Σ W and the power of damping; f += elastic forces, g += damping; see `elements.Loops`."""
    total, power = 0.0, 0.0
    for i in range(first, last):
        e = elements[i]
        edge, arm_a, arm_b, normal_a, normal_b, size = geometry(e, at.x)
        turn = turned(e.rest, edge, arm_b, normal_a, normal_b)
        total += 0.5 * e.stiffness * turn * turn
        g_0, g_1, g_2, g_3 = gradient(edge, arm_a, arm_b, normal_a, normal_b)
        if size > 0.0:
            subtract_gradient(f, e, e.stiffness * turn, g_0, g_1, g_2, g_3)
        if e.damping > 0.0:
            if not at.same:
                edge, arm_a, arm_b, normal_a, normal_b, size = geometry(e, at.about)
                g_0, g_1, g_2, g_3 = gradient(edge, arm_a, arm_b, normal_a, normal_b)
            if size > 0.0:
                v_0, v_1 = point(v, e.nodes[0]), point(v, e.nodes[1])
                v_2, v_3 = point(v, e.nodes[2]), point(v, e.nodes[3])
                rate = dot(g_1, sub(v_1, v_0)) + dot(g_2, sub(v_2, v_0)) + dot(g_3, sub(v_3, v_0))
                power -= e.damping * rate * rate
                subtract_gradient(g, e, e.damping * rate, g_0, g_1, g_2, g_3)
    return total, power


@inlined
def subtract_gradient(f, e, s, g_0, g_1, g_2, g_3):
    """f −= s g of the four nodes."""
    subtract(f, e.nodes[0], scale(s, g_0))
    subtract(f, e.nodes[1], scale(s, g_1))
    subtract(f, e.nodes[2], scale(s, g_2))
    subtract(f, e.nodes[3], scale(s, g_3))


@njit
def matrix(elements, slots, first, last, at, weights, values, scratch):
    """values += the weighted sum of positive Hessians and damping; see `elements.Loops`."""
    for i in range(first, last):
        e = elements[i]
        weight = weights.stiffness * e.stiffness
        if at.same:
            weight += weights.damping * e.damping
        add_square(values, slots, 10 * i, weight, e, at.x)
        if e.damping > 0.0 and not at.same:
            add_square(values, slots, 10 * i, weights.damping * e.damping, e, at.about)


@inlined
def add_square(values, slots, at, s, e, x):
    """Add s g gᵀ with the gradient g at x."""
    edge, arm_a, arm_b, normal_a, normal_b, size = geometry(e, x)
    if not size > 0.0:
        return
    g_0, g_1, g_2, g_3 = gradient(edge, arm_a, arm_b, normal_a, normal_b)
    f_0, f_1, f_2, f_3 = factors(s, g_0), factors(s, g_1), factors(s, g_2), factors(s, g_3)
    add_product(values, slots[at], f_0, f_0)
    add_product(values, slots[at + 1], f_0, f_1)
    add_product(values, slots[at + 2], f_0, f_2)
    add_product(values, slots[at + 3], f_0, f_3)
    add_product(values, slots[at + 4], f_1, f_1)
    add_product(values, slots[at + 5], f_1, f_2)
    add_product(values, slots[at + 6], f_1, f_3)
    add_product(values, slots[at + 7], f_2, f_2)
    add_product(values, slots[at + 8], f_2, f_3)
    add_product(values, slots[at + 9], f_3, f_3)


# The angle of a point of the plane ------------------------------------------------------------------------------------
# Without branches: an accurate `atan2` would take longer than all else of a hinge.
#
# By symmetry and one turn by π/4 it is that of a point between −π/8 and π/8: t = tan, |t| ≤ √2 − 1. Gauss's continued
# fraction
#
#     atan t = t/(1 + 1² z/(3 + 2² z/(5 + 3² z/(7 + …)))),   z = t²,
#
# cut after eleven terms is t A/B with polynomials A and B of z, and wrong by less than 2e-17 t. With C = (B − A)/z, t −
# t z C/B rounds little more than t does.

TERMS = 11
TAN_EIGHTH = math.sqrt(2.0) - 1.0


# From its end: the fraction that starts with 2 n − 1 is pₙ/pₙ₊₁, and pₙ = (2 n − 1) pₙ₊₁ + n² z pₙ₊₂.
def convergent() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """C (six numbers) and B (seven), from the constant term on; B begins with 1."""
    p, after = Polynomial([2.0 * TERMS + 1.0]), Polynomial([1.0])
    for n in range(TERMS, 0, -1):
        p, after = (2.0 * n - 1.0) * p + Polynomial([0.0, n * n]) * after, p
    first = p.coef[0]
    return tuple(((p - after).coef[1:] / first).tolist()), tuple((p.coef / first).tolist())


C, B = convergent()


@inlined
def angle_of(x, y):
    """atan2(y, x), rad; 0 for the origin."""
    a, b = abs(x), abs(y)
    low, high = min(a, b), max(a, b)
    turned = low > TAN_EIGHTH * high
    above, below = (low - high, low + high) if turned else (low, high)
    t = above / below if below > 0.0 else 0.0
    z = t * t
    zz = z * z
    c = C[0] + z * C[1] + zz * (C[2] + z * C[3]) + zz * zz * (C[4] + z * C[5])
    d = B[0] + z * B[1] + zz * (B[2] + z * B[3]) + zz * zz * (B[4] + z * B[5] + zz * B[6])
    angle = t - t * z * c / d
    if turned:
        angle += 0.25 * math.pi
    if b > a:
        angle = 0.5 * math.pi - angle
    if x < 0.0:
        angle = math.pi - angle
    return -angle if y < 0.0 else angle


# Stiffness of ½ k (θ − θ₀)² (J/rad²), damping (J s/rad²), rest angle. Edge nodes[0] to nodes[1], corners nodes[2] and
# nodes[3].
register("hinges", 4, 1, "stiffness damping rest", element_derivatives, damping_rows, forces=forces, matrix=matrix)
