"""The constraint system J W Jᵀ λ = b: its right-hand side, its solution, and what λ does to the bodies.

Ċ = J v and C̈ = J v̇ + J̇ v, with v̇ = W (Q + Jᵀ λ) (notes, Constrained dynamics, §3): C̈ = 0 gives
J W Jᵀ λ = −J̇ v − J W Q. W is block diagonal: 1/m and I⁻¹ in world axes. See `assembly` for the matrix.

Redundant constraints make J W Jᵀ singular. Then a small ε is added to its diagonal and the solution is corrected with
the true residual, Δλ = (A + ε)⁻¹ (b − A λ), until that stops falling: the proximal iteration of Carpentier, Budhiraja &
Mansard (RSS 2021), whose limit is exact.
"""

from ..arrays import clear
from ..jit import inlined, njit
from ..linalg.block import load_6
from ..linalg.iterative_tables import AGAIN, ANEW
from ..linalg.ldl import solve
from ..pointer import call_pointer
from ..unchecked import peek, poke
from ..vec import add, add_scaled, cross, load3, scale, store3, symvec
from .assembly import increase, load_point, row_dot
from .kinematics import load6

PROXIMAL_STEPS = 12
CONVERGED = 1e-14
NOT_SOLVED = 104  # an iterative solver failed


@inlined
def add_rates(incidence, jacobian, linear, angular, out):
    """out += J (linear, angular) of one incidence; nothing where its joint was let go, as its Jacobian is zero."""
    row = incidence.row
    if incidence.is_point != 0:
        sign, r = load_point(jacobian, incidence.offset)
        rate = scale(sign, add(linear, cross(angular, r)))
        for k in range(3):
            increase(out, row + k, rate[k])
        return
    for k in range(incidence.rows):
        increase(out, row + k, row_dot(load_6(jacobian, incidence.offset + 6 * k), linear, angular))


@njit
def jacobian_velocity(system, out):
    """out = J v."""
    incidences = system.incidences
    kinematics = system.kinematics
    jacobian = system.jacobian
    clear(out)
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
            sign * peek(multipliers, row), sign * peek(multipliers, row + 1), sign * peek(multipliers, row + 2)
        )  # fmt: skip
        return force, cross(r, force)
    force = (0.0, 0.0, 0.0)
    torque = (0.0, 0.0, 0.0)
    for k in range(incidence.rows):
        m = load_6(jacobian, incidence.offset + 6 * k)
        f = peek(multipliers, row + k)
        force = add_scaled(force, f, (m[0], m[1], m[2]))
        torque = add_scaled(torque, f, (m[3], m[4], m[5]))
    return force, torque


@njit
def solve_multipliers(system, multipliers, again):
    """λ with J W Jᵀ λ = `rhs`; then `spread` holds for it. `again`: an iterative solver starts from the last such λ.

    Where an iterative solver has failed, `unsolved` of the settings says so.
    """
    if system.settings[0].solver != 0:
        solve_by_iteration(system, multipliers, again)
    else:
        solve_directly(system, multipliers)


@njit
def solve_by_iteration(system, multipliers, again):
    settings = system.settings[0]
    task = AGAIN if again else ANEW
    settings.unsolved = call_pointer(settings.solver, settings.solver_data, task, 0.0, system.rhs, multipliers)
    spread(system, multipliers)


@njit
def solve_directly(system, multipliers):
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
    previous = 1e300
    size = largest_of_rigid(rhs, system)
    for _ in range(PROXIMAL_STEPS):
        residual = schur_residual(system)
        settings.linear_residual = residual / size if size > 0.0 else 0.0
        if not (residual < 0.5 * previous) or residual <= CONVERGED * size:
            break
        previous = residual
        solve(columns, entries, values, lower, system.residual)
        for r in range(multipliers.shape[0]):
            multipliers[r] += system.residual[r]
        spread(system, multipliers)


@njit
def constrain(rates, impulses, system):
    """The impulses λ that change the rates J v by so much: J W Jᵀ λ = `rates`, with the factorization at hand. Their
    wrenches are in the kinematics table."""
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
    """The largest |value| of the rows without compliance; what a row with one needs may be any number of times larger."""
    joints, largest = system.joints, 0.0
    for i in range(joints.shape[0]):
        if joints[i].compliance == 0.0:
            for r in range(joints[i].row, joints[i].row + joints[i].rows):
                largest = max(largest, abs(peek(values, r)))
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
    jacobian_acceleration(system, rhs)
    for i in range(joints.shape[0]):
        joint = joints[i]
        if joint.active != 0:
            for r in range(joint.row, joint.row + joint.rows):
                poke(rhs, r, -peek(rhs, r) - peek(bias, r))
