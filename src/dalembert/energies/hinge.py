"""HINGE: the dihedral angle of two triangles with a common edge, W = ½ k (θ − θ₀)².

The edge e goes from x₀ to x₁ and has the length ℓ; the corners are x₂ (triangle A) and x₃ (triangle B). The normals n_A
of e × (x₂ − x₀) and n_B of (x₃ − x₀) × e agree where the triangles are flat; θ is the angle from n_A to n_B about e,
negative where the corners rise on the side of the normals. Of either triangle, let h be the height of the corner over
the edge, s the place of its foot (0 at x₀, 1 at x₁), r the unit vector from the foot to the corner, and w = (−(1 − s),
−s, 1) on x₀, x₁ and its corner. With
D = (−1, 1) on x₀, x₁,

    ∂θ/∂x = −Σ w ⊗ n/h,
    ∂²θ/∂x² = Σ [w wᵀ ⊗ (r nᵀ + n rᵀ)/h² + (D wᵀ ⊗ n êᵀ + w Dᵀ ⊗ ê nᵀ)/(ℓ h) + D Dᵀ ⊗ n rᵀ/ℓ²],

sums over both triangles, from δn = −ê (n·δe)/ℓ − r (n·δw)/h, δh = r·δw and δs = ê·δw/ℓ + h r·δe/ℓ², where δw = Σ wᵢ δxᵢ.
"""

import math

from ..jit import inlined, njit
from ..unchecked import poke
from ..vec import add_scaled, cross, dot, norm, scale, sub
from .matrices import clear_from, outer, plus, point, put, put_block, times, transposed


@inlined
def evaluate(e, x, order, out):
    """Energy, gradient (`order` ≥ 1) and Hessian (2: exact, 3: positive semidefinite) of one hinge; see `loops`."""
    edge, arm_a, arm_b, normal_a, normal_b, size = geometry(e, x)
    turn = turned(e.rest, edge, normal_a, normal_b)
    poke(out, 0, 0.5 * e.stiffness * turn * turn)
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


@inlined
def turned(rest, edge, normal_a, normal_b):
    """θ − θ₀, in (−π, π]."""
    length = norm(edge)
    sine = dot(cross(normal_a, normal_b), edge)
    turn = math.atan2(sine, length * dot(normal_a, normal_b)) - rest
    return turn - 2.0 * math.pi * math.ceil((turn - math.pi) / (2.0 * math.pi))


@inlined
def gradient(edge, arm_a, arm_b, normal_a, normal_b):
    """∂θ/∂x, node by node; −n/h is −ℓ times the long normal over its square."""
    square = dot(edge, edge)
    length = math.sqrt(square)
    g_2 = scale(-length / dot(normal_a, normal_a), normal_a)
    g_3 = scale(-length / dot(normal_b, normal_b), normal_b)
    s_a, s_b = dot(arm_a, edge) / square, dot(arm_b, edge) / square
    g_0 = add_scaled(scale(s_a - 1.0, g_2), s_b - 1.0, g_3)
    return g_0, add_scaled(scale(-s_a, g_2), -s_b, g_3), g_2, g_3


@inlined
def put_gradient(out, at, s, g_0, g_1, g_2, g_3):
    put(out, at, scale(s, g_0))
    put(out, at + 3, scale(s, g_1))
    put(out, at + 6, scale(s, g_2))
    put(out, at + 9, scale(s, g_3))


# θ does not change as a corner moves along its r, so that r ⊗ r of its block of H is zero while r ⊗ n is W'/h²: H is
# indefinite wherever W' = k (θ − θ₀) ≠ 0, and k ∇θ ∇θᵀ where it is positive semidefinite. That is taken everywhere. What
# is left out couples turns of the triangles with their stretches and shears, and, by W' sin θ, turns of the edge.
@inlined
def put_square(out, s, g_0, g_1, g_2, g_3):
    """Put s g gᵀ in place of the Hessian."""
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
            w_i, d_i = weights(i, s)
            for j in (0, 1, corner):
                w_j, d_j = weights(j, s)
                block = plus(times(w_i * w_j, turn), d_i * w_j, twist)
                add_block(out, i, j, plus(plus(block, w_i * d_j, transposed(twist)), d_i * d_j, tilt))
        corner = 3


@njit
def weights(node, s):
    """w and D of a node."""
    if node == 0:
        return s - 1.0, -1.0
    if node == 1:
        return -s, 1.0
    return 1.0, 0.0


@njit
def add_block(out, i, j, m):
    at = 13 + 36 * i + 3 * j
    for k in range(3):
        for c in range(3):
            out[at + 12 * k + c] += m[3 * k + c]


@inlined
def damping_rows(e, x, rows):
    """√c ∂θ/∂x; see `loops`."""
    if e.damping == 0.0:
        return 0
    edge, arm_a, arm_b, normal_a, normal_b, size = geometry(e, x)
    if not size > 0.0:
        return 0
    g_0, g_1, g_2, g_3 = gradient(edge, arm_a, arm_b, normal_a, normal_b)
    put_gradient(rows, 0, math.sqrt(e.damping), g_0, g_1, g_2, g_3)
    return 1
