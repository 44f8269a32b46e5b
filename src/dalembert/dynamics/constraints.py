"""The constraint system J W Jᵀ λ = b: the matrix block by block and its factorization (`factorize`), the right-hand side,
the solution (`solve_multipliers`), and the forces Jᵀ λ on the bodies (`spread`).

A body whose joints have the rows J_i and J_j adds J_i W J_jᵀ to block (i, j), with W = (1/m, I⁻¹). The rows of a point at
the arm r are σ (1, −[r]×), so that two points give σ σ′ (1/m + [r]× I⁻¹ [s]×ᵀ), and a point and another row (l, a) give
σ (l/m + (I⁻¹ a) × r): the products are never written out as matrices.

A body of many joints (a hub) would make a dense block of all of them. It is an unknown instead: with
a = W Jᵀ λ its constraint acceleration, the rows −M a + Jᵀ λ = 0 and J a + (J W Jᵀ of the other bodies) λ = b have one
block a body, and eliminating the hub last leaves a tree a tree. The matrix is quasi-definite, so that every
admissible order has its LDLᵀ.
"""

import math

from ..core.c_function import call_pointer
from ..core.jit import inlined, njit
from ..core.math3 import add, add_scaled, congruence, cross, load3, scale, store3, sub, symvec
from ..core.profiler import end_stage
from ..core.simd import clear, load, store
from ..linalg.block_ldl import add_at, factor, factor_independent, load_6, solve
from ..linalg.precondition import AGAIN, ANEW, PREPARE
from ..model.tables import ASSEMBLY, POINT_POINT, POINT_ROWS
from .commands import set_accelerations
from .jacobian import HUBS, call_special
from .kinematics import load6, load9

# A smaller pivot, relative to its diagonal entry, calls for regularization; in time steps its row is left out
NEARLY_DEPENDENT = 1e-9
REGULARIZATION = 1e-10  # ε, relative to the diagonal of J W Jᵀ: the proximal iteration removes its effect
PROXIMAL_STEPS = 12
PROXIMAL_PROGRESS = 0.5  # the iteration ends where the residual does not fall to this share
CONVERGED = 1e-14  # of the right-hand side: a smaller residual is rounding
NOT_SOLVED = 104  # status: an iterative solver failed


# The matrix and its factorization --------------------------------------------------------------------------------------


@njit
def assemble(system):
    """`values` = the blocks of the matrix; `scale` = the diagonal of J W Jᵀ before any elimination."""
    pairs = system.pairs
    joints = system.joints
    bodies = system.bodies
    kinematics = system.kinematics
    jacobian = system.jacobian
    values = system.values
    sizes = system.scale
    clear(values)
    for i in range(pairs.shape[0]):
        pair = pairs[i]
        w = bodies[pair.body].inverse_mass
        inverse = load6(kinematics[pair.body].inverse_inertia)
        if pair.kind == POINT_POINT:
            point_point(pair, w, inverse, jacobian, values)
        elif pair.kind == POINT_ROWS:
            point_rows(pair, w, inverse, jacobian, values)
        else:
            rows_rows(pair, w, inverse, jacobian, values)
    for i in range(joints.shape[0]):
        joint = joints[i]
        for r in range(joint.rows):
            at = joint.pivot + (joint.rows + 1) * r
            if joint.active == 0:
                store(values, at, 1.0)
            elif joint.compliance != 0.0:
                add_at(values, at, joint.compliance)
            store(sizes, joint.row + r, load(values, at))
    if system.hubs.shape[0] > 0:
        call_special(HUBS, 0.0, values, values, system)


@inlined
def load_point(jacobian, at):
    """(sign, arm) of a point's rows."""
    return load(jacobian, at), (load(jacobian, at + 1), load(jacobian, at + 2), load(jacobian, at + 3))


@inlined
def point_point(pair, w, inverse, jacobian, values):
    """Add the block σ σ′ (1/m + [r]× I⁻¹ [s]×ᵀ) of two points of one body."""
    sign, r = load_point(jacobian, pair.left)
    other, s = load_point(jacobian, pair.right)
    both = sign * other
    r = scale(both, r)
    # I⁻¹ [s]×ᵀ row by row: the row i of I⁻¹ gives s × i.
    g_x = cross(s, (inverse[0], inverse[3], inverse[4]))
    g_y = cross(s, (inverse[3], inverse[1], inverse[5]))
    g_z = cross(s, (inverse[4], inverse[5], inverse[2]))
    k_x = sub(scale(r[1], g_z), scale(r[2], g_y))
    k_y = sub(scale(r[2], g_x), scale(r[0], g_z))
    k_z = sub(scale(r[0], g_y), scale(r[1], g_x))
    w *= both
    add_row(values, pair.target, pair.column_step, (k_x[0] + w, k_x[1], k_x[2]))
    add_row(values, pair.target + pair.row_step, pair.column_step, (k_y[0], k_y[1] + w, k_y[2]))
    add_row(values, pair.target + 2 * pair.row_step, pair.column_step, (k_z[0], k_z[1], k_z[2] + w))


@inlined
def add_row(values, at, step, a):
    """Add three numbers from `at` on, `step` apart."""
    add_at(values, at, a[0])
    add_at(values, at + step, a[1])
    add_at(values, at + 2 * step, a[2])


@inlined
def point_rows(pair, w, inverse, jacobian, values):
    """Add the columns σ (l/m + (I⁻¹ a) × r) of a point with other rows (l, a) of one body."""
    sign, r = load_point(jacobian, pair.left)
    for j in range(pair.columns):
        m = load_6(jacobian, pair.right + 6 * j)
        turned = cross(symvec(inverse, (m[3], m[4], m[5])), r)
        column = (
            sign * (w * m[0] + turned[0]), sign * (w * m[1] + turned[1]), sign * (w * m[2] + turned[2])
        )  # fmt: skip
        add_row(values, pair.target + pair.column_step * j, pair.row_step, column)


@inlined
def rows_rows(pair, w, inverse, jacobian, values):
    """Add the products (l, a) W (l′, a′) of rows of one body that are not of points."""
    for j in range(pair.columns):
        m = load_6(jacobian, pair.right + 6 * j)
        linear = (w * m[0], w * m[1], w * m[2])
        angular = symvec(inverse, (m[3], m[4], m[5]))
        for i in range(pair.rows):
            amount = row_dot(load_6(jacobian, pair.left + 6 * i), linear, angular)
            add_at(values, pair.target + pair.row_step * i + pair.column_step * j, amount)


@inlined
def row_dot(m, linear, angular):
    """A row of the Jacobian (six floats) times a motion."""
    s = m[0] * linear[0] + m[1] * linear[1] + m[2] * linear[2]
    return s + (m[3] * angular[0] + m[4] * angular[1] + m[5] * angular[2])


@inlined
def load_row(incidence, r, jacobian):
    """Row r of an incidence, written out: six floats."""
    if incidence.is_point == 0:
        return load_6(jacobian, incidence.offset + 6 * r)
    sign, arm = load_point(jacobian, incidence.offset)
    x, y, z = scale(sign, arm)
    if r == 0:
        return (sign, 0.0, 0.0, 0.0, z, -y)
    if r == 1:
        return (0.0, sign, 0.0, -z, 0.0, x)
    return (0.0, 0.0, sign, y, -x, 0.0)


@njit
def assemble_hubs(system):
    """The rows and columns of the hubs: −M, and J itself."""
    hubs = system.hubs
    bodies = system.bodies
    incidences = system.incidences
    kinematics = system.kinematics
    sizes = system.scale
    jacobian = system.jacobian
    values = system.values
    for i in range(hubs.shape[0]):
        hub = hubs[i]
        body = bodies[hub.body]
        inertia = congruence(load9(kinematics[hub.body].rotation), load6(body.inertia))
        for k in range(3):
            values[hub.pivot + 7 * k] = -body.mass
            sizes[hub.x + k] = body.mass
            values[hub.pivot + 7 * (k + 3)] = -inertia[k]
            sizes[hub.x + 3 + k] = inertia[k]
        for k in range(3):
            row, column = (0, 1) if k == 0 else ((0, 2) if k == 1 else (1, 2))
            values[hub.pivot + 6 * (3 + row) + 3 + column] = -inertia[3 + k]
            values[hub.pivot + 6 * (3 + column) + 3 + row] = -inertia[3 + k]
    for i in range(incidences.shape[0]):
        incidence = incidences[i]
        if incidence.hub < 0:
            continue
        w = bodies[incidence.body].inverse_mass
        inverse = load6(kinematics[incidence.body].inverse_inertia)
        for r in range(incidence.rows):
            m = load_row(incidence, r, jacobian)
            for k in range(6):
                values[incidence.target + incidence.row_step * r + incidence.column_step * k] = m[k]
            weighted = symvec(inverse, (m[3], m[4], m[5]))
            sizes[incidence.row + r] += row_dot(m, (w * m[0], w * m[1], w * m[2]), weighted)


@inlined
def factorize(system):
    """Assemble and factor, with ε on the diagonal where rows are (nearly) dependent, which counts as condition 0. Returns 0,
    or 1 where that failed. An iterative solver receives the matrix, and makes its preconditioner.

    Writes `values`, `lower`, `scale`, and `condition` and `regularization` of the settings.
    """
    values = system.values
    lower = system.lower
    sizes = system.scale
    joints = system.joints
    settings = system.settings[0]
    assemble(system)
    end_stage(system.timer, ASSEMBLY)
    if settings.solver != 0:
        return 0 if call_pointer(settings.solver, settings.solver_data, PREPARE, 0.0, values, lower) == 0 else 1
    if settings.open != 0:
        settings.regularization, settings.condition = 0.0, 0.0
        return 0 if factor_chosen(0.0, system) > 0.0 else 1
    if settings.deficient == 0:
        ratio = factor(system.columns, system.entries, system.updates, values, lower, sizes)
        settings.condition = ratio
        settings.regularization = 0.0
        if ratio > NEARLY_DEPENDENT:
            return 0
        assemble(system)
    settings.refactored += 1
    settings.regularization = REGULARIZATION
    for i in range(joints.shape[0]):
        joint = joints[i]
        for r in range(joint.rows):
            values[joint.pivot + joint.rows * r + r] += REGULARIZATION * sizes[joint.row + r]
    settings.condition = 0.0
    return 0 if factor(system.columns, system.entries, system.updates, values, lower, sizes) > 0.0 else 1


# Within a step joints are open by the error of the step. Rows that depend on each other where the joints are closed, as in a
# linkage in a plane, are then independent, and would hold what should move. So which rows are independent is decided where a
# step begins, and in the step the others have no multiplier.


@njit
def choose_rows(system):
    """Find out which rows are independent, where joints are closed and J has been evaluated; those alone count until
    `settings.open` is cleared."""
    settings = system.settings[0]
    settings.open = 0
    if settings.deficient != 0 and settings.solver == 0:
        assemble(system)
        settings.open = 1 if factor_chosen(NEARLY_DEPENDENT, system) > 0.0 else 0
        settings.regularization = 0.0


@njit
def factor_chosen(least, system):
    """Factor the rows that are independent, or with least > 0 decide which are. Returns as `factor`."""
    return factor_independent(
        system.columns, system.entries, system.updates, system.values, system.lower, system.scale, system.independent,
        least,
    )  # fmt: skip


# Right-hand side and solution ------------------------------------------------------------------------------------------
#
# Ċ = J v and C̈ = J v̇ + J̇ v, with v̇ = W (Q + Jᵀ λ) (notes, Constrained dynamics, §3): C̈ = 0 gives
# J W Jᵀ λ = −J̇ v − J W Q. W is block diagonal: 1/m and I⁻¹ in world axes.
#
# Redundant constraints make J W Jᵀ singular. Then a small ε is added to its diagonal and the solution is corrected with the
# true residual, Δλ = (A + ε)⁻¹ (b − A λ), until that stops falling: the proximal iteration of Carpentier, Budhiraja & Mansard
# (RSS 2021), whose limit is exact.


@inlined
def add_rates(incidence, jacobian, linear, angular, out):
    """out += J (linear, angular) of one incidence; nothing where its joint is released, as its Jacobian is zero."""
    row = incidence.row
    if incidence.is_point != 0:
        sign, r = load_point(jacobian, incidence.offset)
        rate = scale(sign, add(linear, cross(angular, r)))
        for k in range(3):
            add_at(out, row + k, rate[k])
        return
    for k in range(incidence.rows):
        add_at(out, row + k, row_dot(load_6(jacobian, incidence.offset + 6 * k), linear, angular))


@njit
def add_partial(partial, out):
    """out += ∂C/∂t."""
    for r in range(partial.shape[0]):
        store(out, r, load(out, r) + load(partial, r))


@njit
def jacobian_velocity(system, out):
    """out = Ċ = J v + ∂C/∂t."""
    incidences = system.incidences
    kinematics = system.kinematics
    jacobian = system.jacobian
    clear(out)
    if system.commands.shape[0] > 0:
        add_partial(system.partial, out)
    for i in range(incidences.shape[0]):
        incidence = incidences[i]
        kin = kinematics[incidence.body]
        add_rates(incidence, jacobian, load3(kin.v), load3(kin.omega), out)


@njit
def jacobian_acceleration(system, out):
    """out = J of (`acceleration`, `turning`) of the kinematics table."""
    incidences = system.incidences
    kinematics = system.kinematics
    jacobian = system.jacobian
    clear(out)
    for i in range(incidences.shape[0]):
        incidence = incidences[i]
        kin = kinematics[incidence.body]
        add_rates(incidence, jacobian, load3(kin.acceleration), load3(kin.turning), out)


@njit
def spread(system, multipliers):
    """Jᵀ λ of every body, into (`linear`, `angular`) of the kinematics table."""
    incidences = system.incidences
    jacobian = system.jacobian
    kinematics = system.kinematics
    for i in range(kinematics.shape[0]):
        kin = kinematics[i]
        for k in range(3):
            kin.linear[k] = 0.0
            kin.angular[k] = 0.0
    for i in range(incidences.shape[0]):
        incidence = incidences[i]
        kin = kinematics[incidence.body]
        force, torque = wrench_of(incidence, jacobian, multipliers)
        store3(kin.linear, add(load3(kin.linear), force))
        store3(kin.angular, add(load3(kin.angular), torque))


@inlined
def wrench_of(incidence, jacobian, multipliers):
    """Jᵀ λ of one incidence: force and torque on its body, world axes, about the centre of mass."""
    row = incidence.row
    if incidence.is_point != 0:
        sign, r = load_point(jacobian, incidence.offset)
        force = (
            sign * load(multipliers, row), sign * load(multipliers, row + 1), sign * load(multipliers, row + 2)
        )  # fmt: skip
        return force, cross(r, force)
    force = (0.0, 0.0, 0.0)
    torque = (0.0, 0.0, 0.0)
    for k in range(incidence.rows):
        m = load_6(jacobian, incidence.offset + 6 * k)
        f = load(multipliers, row + k)
        force = add_scaled(force, f, (m[0], m[1], m[2]))
        torque = add_scaled(torque, f, (m[3], m[4], m[5]))
    return force, torque


@njit
def solve_multipliers(system, multipliers, again):
    """λ with J W Jᵀ λ = `rhs`, into `multipliers`, and Jᵀ λ into the kinematics table (`spread`).

    again : whether an iterative solver starts from the last λ of such a call. Its failure is recorded in `unsolved` of the
    settings.
    """
    if system.settings[0].solver != 0:
        solve_by_iteration(system, multipliers, again)
    else:
        solve_directly(system, multipliers)


@njit
def solve_by_iteration(system, multipliers, again):
    """λ by the iterative solver of the settings."""
    settings = system.settings[0]
    task = AGAIN if again else ANEW
    settings.unsolved = call_pointer(settings.solver, settings.solver_data, task, 0.0, system.rhs, multipliers)
    spread(system, multipliers)


@njit
def solve_directly(system, multipliers):
    """λ by the factors, with proximal corrections where the matrix was regularized."""
    rhs = system.rhs
    columns = system.columns
    entries = system.entries
    values = system.values
    lower = system.lower
    settings = system.settings[0]
    for r in range(multipliers.shape[0]):
        multipliers[r] = rhs[r]
    solve(columns, entries, values, lower, multipliers)
    spread(system, multipliers)
    if settings.regularization == 0.0:
        return
    previous = math.inf
    size = largest_of_rigid(rhs, system)
    for _ in range(PROXIMAL_STEPS):
        residual = schur_residual(system)
        settings.linear_residual = residual / size if size > 0.0 else 0.0
        if not (residual < PROXIMAL_PROGRESS * previous) or residual <= CONVERGED * size:
            break
        previous = residual
        solve(columns, entries, values, lower, system.residual)
        for r in range(multipliers.shape[0]):
            multipliers[r] += system.residual[r]
        spread(system, multipliers)


@njit
def constrain(rates, impulses, system):
    """impulses = the λ that change J v by `rates`, J W Jᵀ λ = `rates`, with the current factorization. Jᵀ λ into the
    kinematics table. Returns a status."""
    rhs = system.rhs
    clear(rhs)
    for r in range(rates.shape[0]):
        rhs[r] = rates[r]
    multipliers = system.multipliers
    solve_multipliers(system, multipliers, False)
    for r in range(rates.shape[0]):
        impulses[r] = multipliers[r]
    return 0 if system.settings[0].unsolved == 0 else NOT_SOLVED


@inlined
def schur_residual(system):
    """b − J W Jᵀ λ for the λ that was spread, into `residual`; returns the largest entry of a rigid row."""
    kinematics = system.kinematics
    bodies = system.bodies
    rhs = system.rhs
    residual = system.residual
    for i in range(bodies.shape[0]):
        kin = kinematics[i]
        store3(kin.acceleration, scale(bodies[i].inverse_mass, load3(kin.linear)))
        store3(kin.turning, symvec(load6(kin.inverse_inertia), load3(kin.angular)))
    jacobian_acceleration(system, residual)
    for r in range(system.error.shape[0]):
        residual[r] = rhs[r] - residual[r]
    joints, multipliers = system.joints, system.multipliers
    for i in range(joints.shape[0]):
        if joints[i].compliance != 0.0:
            residual[joints[i].row] -= joints[i].compliance * multipliers[joints[i].row]
    return largest_of_rigid(residual, system)


@njit
def largest_of_rigid(values, system):
    """The largest |value| of the rows without compliance; those with one may be larger by any factor."""
    joints, largest = system.joints, 0.0
    for i in range(joints.shape[0]):
        if joints[i].compliance == 0.0:
            for r in range(joints[i].row, joints[i].row + joints[i].rows):
                largest = max(largest, abs(load(values, r)))
    return largest


@inlined
def acceleration_rhs(system):
    """b = −J̇ v − J W Q, with the gyroscopic term in Q: I ω̇ = τ − ω × L, as L̇ = τ."""
    joints = system.joints
    kinematics = system.kinematics
    bodies = system.bodies
    bias = system.bias
    rhs = system.rhs
    rigid = system.settings[0].rigid
    for i in range(bodies.shape[0]):
        kin = kinematics[i]
        store3(kin.acceleration, scale(bodies[i].inverse_mass, load3(kin.force)))
        if i >= rigid:
            continue
        torque = add(load3(kin.torque), cross(load3(kin.momentum), load3(kin.omega)))
        store3(kin.turning, symvec(load6(kin.inverse_inertia), torque))
    if system.commands.shape[0] > 0:
        set_accelerations(system)
    jacobian_acceleration(system, rhs)
    for i in range(joints.shape[0]):
        joint = joints[i]
        if joint.active != 0:
            for r in range(joint.row, joint.row + joint.rows):
                store(rhs, r, -load(rhs, r) - load(bias, r))
