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
from ..linalg.block import add_product_6
from ..linalg.ldl import factor, solve
from ..model.tables import STATE_SIZE
from ..vec import add, congruence, cross, load3, symvec
from .kinematics import load6, load9

NEARLY_DEPENDENT = 1e-9
REGULARIZATION = 1e-10
PROXIMAL_STEPS = 12
CONVERGED = 1e-14


@njit
def weigh(system):
    """J W of every block of the Jacobian, and the diagonal of J W Jᵀ."""
    system.scale[:] = 0.0
    for i in range(system.incidences.shape[0]):
        incidence = system.incidences[i]
        joint = system.joints[incidence.joint]
        kin = system.kinematics[incidence.body]
        inverse = load6(kin.inverse_inertia)
        w = system.bodies[incidence.body].inverse_mass
        for r in range(joint.rows):
            at = incidence.offset + 6 * r
            turned = symvec(
                inverse, (system.jacobian[at + 3], system.jacobian[at + 4], system.jacobian[at + 5])
            )
            s = 0.0
            for k in range(3):
                system.weighted[at + k] = w * system.jacobian[at + k]
                system.weighted[at + 3 + k] = turned[k]
                s += w * system.jacobian[at + k] ** 2 + turned[k] * system.jacobian[at + 3 + k]
            system.scale[joint.row + r] += s


@njit
def assemble(system):
    """The blocks of the matrix, from the pairs of joints that share a body."""
    values = system.values
    values[:] = 0.0
    for i in range(system.pairs.shape[0]):
        pair = system.pairs[i]
        add_product_6(
            values, pair.target, system.weighted, pair.left, pair.rows, system.jacobian, pair.right, pair.columns
        )
    for i in range(system.joints.shape[0]):
        joint = system.joints[i]
        if joint.active == 0:
            for r in range(joint.rows):
                values[joint.pivot + joint.rows * r + r] = 1.0
                system.scale[joint.row + r] = 1.0
    if system.hubs.shape[0] > 0:
        assemble_hubs(system)


@njit
def assemble_hubs(system):
    values = system.values
    for i in range(system.hubs.shape[0]):
        hub = system.hubs[i]
        body = system.bodies[hub.body]
        inertia = world_inertia(body, system.kinematics[hub.body])
        for k in range(3):
            values[hub.pivot + 7 * k] = -body.mass
            system.scale[hub.x + k] = body.mass
            values[hub.pivot + 7 * (k + 3)] = -inertia[k]
            system.scale[hub.x + 3 + k] = inertia[k]
        for k in range(3):
            row, column = (0, 1) if k == 0 else ((0, 2) if k == 1 else (1, 2))
            values[hub.pivot + 6 * (3 + row) + 3 + column] = -inertia[3 + k]
            values[hub.pivot + 6 * (3 + column) + 3 + row] = -inertia[3 + k]
    for i in range(system.incidences.shape[0]):
        incidence = system.incidences[i]
        if incidence.hub < 0:
            continue
        rows = system.joints[incidence.joint].rows
        for r in range(rows):
            for k in range(6):
                at = incidence.target + (rows * k + r if incidence.swapped != 0 else 6 * r + k)
                values[at] = system.jacobian[incidence.offset + 6 * r + k]


@njit
def world_inertia(body, kin):
    """R I Rᵀ as six floats."""
    return congruence(load9(kin.rotation), load6(body.inertia))


@njit
def factorize(system):
    """Assemble and factor; with ε on the diagonal where rows are (nearly) dependent. 0 or 1 (failed)."""
    settings = system.settings[0]
    if settings.deficient == 0:
        assemble(system)
        ratio = factor(system.columns, system.entries, system.updates, system.values, system.lower, system.scale)
        settings.condition = ratio
        settings.regularization = 0.0
        if ratio > NEARLY_DEPENDENT:
            return 0
    settings.refactored += 1
    assemble(system)
    settings.regularization = REGULARIZATION
    for i in range(system.joints.shape[0]):
        joint = system.joints[i]
        for r in range(joint.rows):
            system.values[joint.pivot + joint.rows * r + r] += REGULARIZATION * system.scale[joint.row + r]
    ratio = factor(system.columns, system.entries, system.updates, system.values, system.lower, system.scale)
    settings.condition = ratio
    return 0 if ratio > 0.0 else 1


@njit
def jacobian_velocity(system, out):
    """out = J v."""
    out[:] = 0.0
    for i in range(system.incidences.shape[0]):
        incidence = system.incidences[i]
        joint = system.joints[incidence.joint]
        if joint.active == 0:
            continue
        kin = system.kinematics[incidence.body]
        add_rows(system.jacobian, incidence.offset, joint.rows, load3(kin.v), load3(kin.omega), out, joint.row)


@njit
def add_rows(blocks, offset, rows, linear, angular, out, row):
    for r in range(rows):
        at = offset + 6 * r
        out[row + r] += (
            blocks[at] * linear[0] + blocks[at + 1] * linear[1] + blocks[at + 2] * linear[2]
            + blocks[at + 3] * angular[0] + blocks[at + 4] * angular[1] + blocks[at + 5] * angular[2]
        )  # fmt: skip


@njit
def spread(system, multipliers):
    """Jᵀ λ of every body, into (`linear`, `angular`) of the kinematics table."""
    kinematics = system.kinematics
    for i in range(kinematics.shape[0]):
        kin = kinematics[i]
        for k in range(3):
            kin.linear[k] = 0.0
            kin.angular[k] = 0.0
    for i in range(system.incidences.shape[0]):
        incidence = system.incidences[i]
        joint = system.joints[incidence.joint]
        if joint.active == 0:
            continue
        kin = kinematics[incidence.body]
        for r in range(joint.rows):
            at = incidence.offset + 6 * r
            f = multipliers[joint.row + r]
            for k in range(3):
                kin.linear[k] += f * system.jacobian[at + k]
                kin.angular[k] += f * system.jacobian[at + 3 + k]


@njit
def solve_multipliers(system, multipliers):
    """λ with J W Jᵀ λ = `rhs`; then `spread` holds for it."""
    settings = system.settings[0]
    count = system.error.shape[0]
    multipliers[:] = system.rhs
    solve(system.columns, system.entries, system.values, system.lower, multipliers)
    spread(system, multipliers)
    if settings.regularization == 0.0:
        return
    previous = 1e300
    size = 0.0
    for r in range(count):
        size = max(size, abs(system.rhs[r]))
    for _ in range(PROXIMAL_STEPS):
        residual = schur_residual(system)
        settings.linear_residual = residual / size if size > 0.0 else 0.0
        if not (residual < 0.5 * previous) or residual <= CONVERGED * size:
            break
        previous = residual
        solve(system.columns, system.entries, system.values, system.lower, system.residual)
        for r in range(multipliers.shape[0]):
            multipliers[r] += system.residual[r]
        spread(system, multipliers)


@njit
def schur_residual(system):
    """b − J W Jᵀ λ for the λ that was spread, into `residual`; returns its largest entry."""
    residual = system.residual
    count = system.error.shape[0]
    residual[:] = 0.0
    for i in range(system.incidences.shape[0]):
        incidence = system.incidences[i]
        joint = system.joints[incidence.joint]
        if joint.active == 0:
            continue
        kin = system.kinematics[incidence.body]
        add_rows(
            system.weighted, incidence.offset, joint.rows, load3(kin.linear), load3(kin.angular), residual, joint.row
        )
    worst = 0.0
    for r in range(count):
        residual[r] = system.rhs[r] - residual[r]
        worst = max(worst, abs(residual[r]))
    return worst


@njit
def acceleration_rhs(system):
    """b = −J̇ v − J W Q, with the gyroscopic term: I ω̇ = τ − ω × L and L̇ = τ."""
    rhs = system.rhs
    rhs[:] = 0.0
    for i in range(system.incidences.shape[0]):
        incidence = system.incidences[i]
        joint = system.joints[incidence.joint]
        if joint.active == 0:
            continue
        kin = system.kinematics[incidence.body]
        add_rows(
            system.weighted, incidence.offset, joint.rows, load3(kin.force), load3(kin.angular), rhs, joint.row
        )
    for i in range(system.joints.shape[0]):
        joint = system.joints[i]
        if joint.active != 0:
            for r in range(joint.row, joint.row + joint.rows):
                rhs[r] = -rhs[r] - system.bias[r]


@njit
def gyroscopic_torque(y, system):
    """τ − ω × L of every body, into `angular`."""
    for i in range(system.bodies.shape[0]):
        kin = system.kinematics[i]
        at = STATE_SIZE * i + 10
        spin = cross((y[at], y[at + 1], y[at + 2]), load3(kin.omega))
        effective = add(load3(kin.torque), spin)
        for k in range(3):
            kin.angular[k] = effective[k]
