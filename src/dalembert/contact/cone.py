"""Coulomb's cone and the Lorentz cone: projections, and the Jordan algebra that interior points need.

K_μ = {p : |p_t| ≤ μ p_n} holds the impulses of a contact (normal first, then two tangents); its dual is K_{1/μ}. The Lorentz
cone Q = {x : |x_t| ≤ x_0} is K_1, its own dual. With x = (x_0, x_t) the Jordan product is x ∘ y = (x·y, x_0 y_t + y_0 x_t).

F. Alizadeh, D. Goldfarb, "Second-order cone programming", 2003; L. Vandenberghe, "The CVXOPT linear and quadratic cone
program solvers", 2010, §2.2 and §4.2 (scaling).
"""

import math

from ..core.elementary import hypot
from ..core.jit import inlined, njit
from ..core.math3 import add, add_scaled, cross, dot, scale, sub, symvec
from ..core.simd import copy, load, store
from ..model.tables import STATE_SIZE
from .tables import ANGULAR, INVERSE_INERTIA, INVERSE_MASS, LINEAR, MOTION, SPEEDS

NEAREST = 1e-15  # how near to the boundary of Q, relative to x_0, a point is taken to be


@njit
def tangent_norm(x):
    return hypot(x[1], x[2])


@njit
def project_coulomb(x, mu):
    """The point of K_μ nearest to x."""
    t = tangent_norm(x)
    if mu * t <= -x[0]:
        return (0.0, 0.0, 0.0)
    if t <= mu * x[0]:
        return x
    normal = (x[0] + mu * t) / (1.0 + mu * mu)
    along = mu * normal / t if t > 0.0 else 0.0
    return (normal, along * x[1], along * x[2])


@njit
def project_dual(x, mu):
    """The point of the dual cone {u : u_n ≥ μ |u_t|} nearest to x (Moreau: x less the projection on −K_μ)."""
    return add(x, project_coulomb(scale(-1.0, x), mu))


@njit
def apply_spectrum(spectrum, x):
    """S x for the symmetric S with eigenvalues along (1, a, b), (1, −a, −b) and (0, −b, a); spectrum: these three, a and b.

    As a sum over eigenvectors, so that rounding of what a large eigenvalue gives does not get into what a small one gives.
    """
    plus, minus, across, a, b = spectrum
    along = a * x[1] + b * x[2]
    p, m, c = 0.5 * plus * (x[0] + along), 0.5 * minus * (x[0] - along), across * (a * x[2] - b * x[1])
    d = p - m
    return (p + m, d * a - c * b, d * b + c * a)


@njit
def tangent_direction(x):
    t = tangent_norm(x)
    return (x[1] / t, x[2] / t) if t > 0.0 else (1.0, 0.0)


@njit
def projection_spectrum(x):
    """(plus, minus, across, a, b) of the derivative of the projection on Q at x; one of them at a kink."""
    t = tangent_norm(x)
    a, b = tangent_direction(x)
    plus = 1.0 if x[0] >= -t else 0.0
    minus = 1.0 if x[0] >= t else 0.0
    across = min(max(0.5 * (1.0 + x[0] / t), 0.0), 1.0) if t > 0.0 else plus
    return plus, minus, across, a, b


@njit
def determinant(x):
    """x_0² − |x_t|² of a point of Q, kept above zero."""
    t = tangent_norm(x)
    return max(x[0] - t, NEAREST * x[0]) * (x[0] + t)


@njit
def product(x, y):
    """x ∘ y."""
    return (dot(x, y), x[0] * y[1] + y[0] * x[1], x[0] * y[2] + y[0] * x[2])


@njit
def divide(x, y):
    """The z with x ∘ z = y, for x inside Q."""
    z = (x[0] * y[0] - x[1] * y[1] - x[2] * y[2]) / determinant(x)
    return (z, (y[1] - z * x[1]) / x[0], (y[2] - z * x[2]) / x[0])


@njit
def scaling_point(s, z):
    """The Nesterov–Todd scaling W of s and z inside Q, W z = W⁻¹ s, as (β, w) with w_0² − |w_t|² = 1 and
    W² = β² (2 w wᵀ − diag(1, −1, −1))."""
    a, b = math.sqrt(determinant(s)), math.sqrt(determinant(z))
    s, z = scale(1.0 / a, s), scale(1.0 / b, z)
    gamma = math.sqrt(0.5 * (1.0 + dot(s, z)))
    x, y = 0.5 * (s[1] - z[1]) / gamma, 0.5 * (s[2] - z[2]) / gamma
    return math.sqrt(a / b), (math.sqrt(1.0 + x * x + y * y), x, y)


@njit
def apply_scaling(beta, w, x):
    """W x."""
    d = w[1] * x[1] + w[2] * x[2]
    c = x[0] + d / (1.0 + w[0])
    return scale(beta, (w[0] * x[0] + d, x[1] + c * w[1], x[2] + c * w[2]))


@njit
def apply_inverse_scaling(beta, w, x):
    """W⁻¹ x."""
    return apply_scaling(1.0 / beta, (w[0], -w[1], -w[2]), x)


@njit
def regularized_inverse(beta, w, delta):
    """The spectrum of (W² + δ)⁻¹: W² has the eigenvalues β² (w_0 ± |w_t|)² along (1, ±w_t/|w_t|), and β² across."""
    large = w[0] + tangent_norm(w)
    a, b = tangent_direction(w)
    square = beta * beta
    plus = 1.0 / (square * large * large + delta)
    minus = 1.0 / (square / (large * large) + delta)
    return (plus, minus, 1.0 / (square + delta), a, b)


@njit
def step_to_boundary(x, d):
    """The largest step α, at most 1e30, with x + α d in Q, for x inside Q."""
    a = d[0] * d[0] - d[1] * d[1] - d[2] * d[2]
    b = x[0] * d[0] - x[1] * d[1] - x[2] * d[2]
    c = determinant(x)
    # b² ≥ a c wherever a ≥ 0 (Cauchy–Schwarz reversed), but for rounding.
    q = -(b + math.copysign(math.sqrt(max(b * b - a * c, 0.0)), b))
    best = 1e30
    if a != 0.0 and q / a > 0.0:
        best = q / a
    if q != 0.0 and c / q > 0.0:
        best = min(best, c / q)
    return best


# ----------------------------------------------------------------------------------------------------------------------
# The velocities of bodies as Gauss–Seidel takes them: one packed row a body, in `motion`; the world's is zero.


@inlined
def three(values, at):
    return (load(values, at), load(values, at + 1), load(values, at + 2))


@inlined
def six(values, at):
    return (
        load(values, at), load(values, at + 1), load(values, at + 2), load(values, at + 3), load(values, at + 4),
        load(values, at + 5),
    )  # fmt: skip


@inlined
def put_three(values, at, a):
    store(values, at, a[0])
    store(values, at + 1, a[1])
    store(values, at + 2, a[2])


@inlined
def point_velocity(motion, body, arm):
    """Velocity of the point at `arm` from the centre of mass."""
    at = MOTION * body
    return add(three(motion, at + LINEAR), cross(three(motion, at + ANGULAR), arm))


@inlined
def push(motion, body, impulse, arm, sign):
    """Change the velocities of a body by ± an impulse at `arm`."""
    at = MOTION * body
    turn = symvec(six(motion, at + INVERSE_INERTIA), cross(arm, impulse))
    put_three(motion, at + LINEAR, add_scaled(three(motion, at), sign * load(motion, at + INVERSE_MASS), impulse))
    put_three(motion, at + ANGULAR, add_scaled(three(motion, at + ANGULAR), sign, turn))


@inlined
def relative_velocity(motion, contact, arm_a, arm_b):
    """Of b's point less a's, world axes."""
    return sub(point_velocity(motion, contact.b, arm_b), point_velocity(motion, contact.a, arm_a))


@njit
def copy_velocities(island, members, source, target):
    """Those of the bodies of an island."""
    for m in range(island.first_member, island.end_member):
        at = MOTION * members[m]
        for i in range(at, at + SPEEDS):
            store(target, i, load(source, i))


@njit
def clear_velocities(motion, out):
    """Fill `out` with the masses of `motion` and no velocities."""
    copy(out, motion)
    for i in range(motion.shape[0] // MOTION):
        put_three(out, MOTION * i + LINEAR, (0.0, 0.0, 0.0))
        put_three(out, MOTION * i + ANGULAR, (0.0, 0.0, 0.0))


@njit
def load_motion(y, bodies, kinematics, motion):
    """Fill `motion` from the momenta in y, at the orientations of the kinematics table."""
    for i in range(bodies.shape[0]):
        kin = kinematics[i]
        at, to = STATE_SIZE * i, MOTION * i
        w = bodies[i].inverse_mass
        put_three(motion, to + LINEAR, scale(w, three(y, at + 7)))
        store(motion, to + INVERSE_MASS, w)
        inverse = kin.inverse_inertia
        s = (inverse[0], inverse[1], inverse[2], inverse[3], inverse[4], inverse[5])
        for k in range(6):
            store(motion, to + INVERSE_INERTIA + k, s[k])
        put_three(motion, to + ANGULAR, symvec(s, three(y, at + 10)))
