"""The constraint system J W Jᵀ λ = b: its assembly, its solution, and what λ does to the bodies.

Ċ = J v and C̈ = J v̇ + J̇ v, with v̇ = W (Q + Jᵀ λ) (notes, Constrained dynamics, §3): C̈ = 0 gives
J W Jᵀ λ = −J̇ v − J W Q. W is block diagonal: 1/m and I⁻¹ in world axes.

A body of many joints (a hub) would make a dense block of all of them. It is kept as an unknown instead: with
a = W Jᵀ λ its constraint acceleration, the rows −M a + Jᵀ λ = 0 and J a + (J W Jᵀ of the other bodies) λ = b have one
block a body, and eliminating the hub last leaves a tree a tree. The matrix is quasi-definite, so that every
admissible order has its LDLᵀ.

Redundant constraints make J W Jᵀ singular. Then a small ε is added to its diagonal and the solution is corrected with
the true residual, Δλ = (A + ε)⁻¹ (b − A λ), until that stops falling: the proximal iteration of Carpentier, Budhiraja &
Mansard (RSS 2021), whose limit is exact.
"""

from ..jit import njit
from ..linalg.block import add_product_6, clear, load_6
from ..linalg.ldl import factor, solve
from ..model.tables import STATE_SIZE
from ..unchecked import peek, poke
from ..vec import add, add_scaled, congruence, cross, load3, store3, symvec
from .kinematics import load6, load9
from .system import (
    bias_of,
    bodies_of,
    columns_of,
    entries_of,
    error_of,
    hubs_of,
    incidences_of,
    jacobian_of,
    joints_of,
    kinematics_of,
    lower_of,
    pairs_of,
    residual_of,
    rhs_of,
    scale_of,
    settings_of,
    updates_of,
    values_of,
    weighted_of,
)

NEARLY_DEPENDENT = 1e-9
REGULARIZATION = 1e-10
PROXIMAL_STEPS = 12
CONVERGED = 1e-14


@njit
def weigh(system):
    """J W of every block of the Jacobian, and the diagonal of J W Jᵀ."""
    scale = scale_of(system)
    incidences = incidences_of(system)
    joints = joints_of(system)
    kinematics = kinematics_of(system)
    bodies = bodies_of(system)
    weighted = weighted_of(system)
    jacobian = jacobian_of(system)
    clear(scale)
    for i in range(incidences.shape[0]):
        incidence = incidences[i]
        joint = joints[incidence.joint]
        kin = kinematics[incidence.body]
        inverse = load6(kin.inverse_inertia)
        w = bodies[incidence.body].inverse_mass
        for r in range(joint.rows):
            at = incidence.offset + 6 * r
            m = load_6(jacobian, at)
            turned = symvec(inverse, (m[3], m[4], m[5]))
            poke(weighted, at, w * m[0])
            poke(weighted, at + 1, w * m[1])
            poke(weighted, at + 2, w * m[2])
            poke(weighted, at + 3, turned[0])
            poke(weighted, at + 4, turned[1])
            poke(weighted, at + 5, turned[2])
            s = w * (m[0] * m[0] + m[1] * m[1] + m[2] * m[2])
            s += turned[0] * m[3] + turned[1] * m[4] + turned[2] * m[5]
            poke(scale, joint.row + r, peek(scale, joint.row + r) + s)


@njit
def assemble(system):
    """The blocks of the matrix, from the pairs of joints that share a body."""
    pairs = pairs_of(system)
    weighted = weighted_of(system)
    jacobian = jacobian_of(system)
    joints = joints_of(system)
    hubs = hubs_of(system)
    scale = scale_of(system)
    values = values_of(system)
    clear(values)
    for i in range(pairs.shape[0]):
        pair = pairs[i]
        add_product_6(values, pair.target, weighted, pair.left, pair.rows, jacobian, pair.right, pair.columns)
    for i in range(joints.shape[0]):
        joint = joints[i]
        if joint.active == 0:
            for r in range(joint.rows):
                values[joint.pivot + joint.rows * r + r] = 1.0
                scale[joint.row + r] = 1.0
    if hubs.shape[0] > 0:
        assemble_hubs(system)


@njit
def assemble_hubs(system):
    hubs = hubs_of(system)
    bodies = bodies_of(system)
    incidences = incidences_of(system)
    kinematics = kinematics_of(system)
    scale = scale_of(system)
    joints = joints_of(system)
    jacobian = jacobian_of(system)
    values = values_of(system)
    for i in range(hubs.shape[0]):
        hub = hubs[i]
        body = bodies[hub.body]
        inertia = world_inertia(body, kinematics[hub.body])
        for k in range(3):
            values[hub.pivot + 7 * k] = -body.mass
            scale[hub.x + k] = body.mass
            values[hub.pivot + 7 * (k + 3)] = -inertia[k]
            scale[hub.x + 3 + k] = inertia[k]
        for k in range(3):
            row, column = (0, 1) if k == 0 else ((0, 2) if k == 1 else (1, 2))
            values[hub.pivot + 6 * (3 + row) + 3 + column] = -inertia[3 + k]
            values[hub.pivot + 6 * (3 + column) + 3 + row] = -inertia[3 + k]
    for i in range(incidences.shape[0]):
        incidence = incidences[i]
        if incidence.hub < 0:
            continue
        rows = joints[incidence.joint].rows
        for r in range(rows):
            for k in range(6):
                at = incidence.target + (rows * k + r if incidence.swapped != 0 else 6 * r + k)
                values[at] = jacobian[incidence.offset + 6 * r + k]


@njit
def world_inertia(body, kin):
    """R I Rᵀ as six floats."""
    return congruence(load9(kin.rotation), load6(body.inertia))


@njit
def factorize(system):
    """Assemble and factor; with ε on the diagonal where rows are (nearly) dependent. 0 or 1 (failed)."""
    columns = columns_of(system)
    entries = entries_of(system)
    updates = updates_of(system)
    values = values_of(system)
    lower = lower_of(system)
    scale = scale_of(system)
    joints = joints_of(system)
    settings = settings_of(system)[0]
    if settings.deficient == 0:
        assemble(system)
        ratio = factor(columns, entries, updates, values, lower, scale)
        settings.condition = ratio
        settings.regularization = 0.0
        if ratio > NEARLY_DEPENDENT:
            return 0
    settings.refactored += 1
    assemble(system)
    settings.regularization = REGULARIZATION
    for i in range(joints.shape[0]):
        joint = joints[i]
        for r in range(joint.rows):
            values[joint.pivot + joint.rows * r + r] += REGULARIZATION * scale[joint.row + r]
    ratio = factor(columns, entries, updates, values, lower, scale)
    settings.condition = ratio
    return 0 if ratio > 0.0 else 1


@njit
def jacobian_velocity(system, out):
    """out = J v."""
    incidences = incidences_of(system)
    joints = joints_of(system)
    kinematics = kinematics_of(system)
    jacobian = jacobian_of(system)
    clear(out)
    for i in range(incidences.shape[0]):
        incidence = incidences[i]
        joint = joints[incidence.joint]
        if joint.active == 0:
            continue
        kin = kinematics[incidence.body]
        add_rows(jacobian, incidence.offset, joint.rows, load3(kin.v), load3(kin.omega), out, joint.row)


@njit
def add_rows(blocks, offset, rows, linear, angular, out, row):
    for r in range(rows):
        at = offset + 6 * r
        m = load_6(blocks, at)
        s = m[0] * linear[0] + m[1] * linear[1] + m[2] * linear[2]
        s += m[3] * angular[0] + m[4] * angular[1] + m[5] * angular[2]
        poke(out, row + r, peek(out, row + r) + s)


@njit
def spread(system, multipliers):
    """Jᵀ λ of every body, into (`linear`, `angular`) of the kinematics table."""
    incidences = incidences_of(system)
    joints = joints_of(system)
    jacobian = jacobian_of(system)
    kinematics = kinematics_of(system)
    for i in range(kinematics.shape[0]):
        kin = kinematics[i]
        for k in range(3):
            kin.linear[k] = 0.0
            kin.angular[k] = 0.0
    for i in range(incidences.shape[0]):
        incidence = incidences[i]
        joint = joints[incidence.joint]
        if joint.active == 0:
            continue
        kin = kinematics[incidence.body]
        force = load3(kin.linear)
        torque = load3(kin.angular)
        for r in range(joint.rows):
            m = load_6(jacobian, incidence.offset + 6 * r)
            f = multipliers[joint.row + r]
            force = add_scaled(force, f, (m[0], m[1], m[2]))
            torque = add_scaled(torque, f, (m[3], m[4], m[5]))
        store3(kin.linear, force)
        store3(kin.angular, torque)


@njit
def solve_multipliers(system, multipliers):
    """λ with J W Jᵀ λ = `rhs`; then `spread` holds for it."""
    rhs = rhs_of(system)
    columns = columns_of(system)
    entries = entries_of(system)
    values = values_of(system)
    lower = lower_of(system)
    error = error_of(system)
    settings = settings_of(system)[0]
    count = error.shape[0]
    for r in range(multipliers.shape[0]):
        multipliers[r] = rhs[r]
    solve(columns, entries, values, lower, multipliers)
    spread(system, multipliers)
    if settings.regularization == 0.0:
        return
    previous = 1e300
    size = 0.0
    for r in range(count):
        size = max(size, abs(rhs[r]))
    for _ in range(PROXIMAL_STEPS):
        residual = schur_residual(system)
        settings.linear_residual = residual / size if size > 0.0 else 0.0
        if not (residual < 0.5 * previous) or residual <= CONVERGED * size:
            break
        previous = residual
        solve(columns, entries, values, lower, residual_of(system))
        for r in range(multipliers.shape[0]):
            multipliers[r] += residual_of(system)[r]
        spread(system, multipliers)


@njit
def schur_residual(system):
    """b − J W Jᵀ λ for the λ that was spread, into `residual`; returns its largest entry."""
    error = error_of(system)
    incidences = incidences_of(system)
    joints = joints_of(system)
    kinematics = kinematics_of(system)
    weighted = weighted_of(system)
    rhs = rhs_of(system)
    residual = residual_of(system)
    count = error.shape[0]
    clear(residual)
    for i in range(incidences.shape[0]):
        incidence = incidences[i]
        joint = joints[incidence.joint]
        if joint.active == 0:
            continue
        kin = kinematics[incidence.body]
        add_rows(weighted, incidence.offset, joint.rows, load3(kin.linear), load3(kin.angular), residual, joint.row)
    worst = 0.0
    for r in range(count):
        residual[r] = rhs[r] - residual[r]
        worst = max(worst, abs(residual[r]))
    return worst


@njit
def acceleration_rhs(system):
    """b = −J̇ v − J W Q, with the gyroscopic term: I ω̇ = τ − ω × L and L̇ = τ."""
    incidences = incidences_of(system)
    joints = joints_of(system)
    kinematics = kinematics_of(system)
    weighted = weighted_of(system)
    bias = bias_of(system)
    rhs = rhs_of(system)
    clear(rhs)
    for i in range(incidences.shape[0]):
        incidence = incidences[i]
        joint = joints[incidence.joint]
        if joint.active == 0:
            continue
        kin = kinematics[incidence.body]
        add_rows(weighted, incidence.offset, joint.rows, load3(kin.force), load3(kin.angular), rhs, joint.row)
    for i in range(joints.shape[0]):
        joint = joints[i]
        if joint.active != 0:
            for r in range(joint.row, joint.row + joint.rows):
                rhs[r] = -rhs[r] - bias[r]


@njit
def gyroscopic_torque(y, system):
    """τ − ω × L of every body, into `angular`."""
    kinematics = kinematics_of(system)
    bodies = bodies_of(system)
    for i in range(bodies.shape[0]):
        kin = kinematics[i]
        at = STATE_SIZE * i + 10
        spin = cross((y[at], y[at + 1], y[at + 2]), load3(kin.omega))
        effective = add(load3(kin.torque), spin)
        for k in range(3):
            kin.angular[k] = effective[k]
