"""How far a set of impulses and velocities is from Coulomb's law: what every contact solver reports.

With û = u + (bias + μ |u_t|) e_n (De Saxcé, Feng 1998), Coulomb's law with impenetrability is K_μ ∋ p ⊥ û ∈ K_μ*. For each
contact ρ = 1/(J W Jᵀ)_nn turns velocities into impulses, and all residuals are velocities over a typical speed V:

    cone             |p − proj_K(p)| / ρ
    dual             |û − proj_K*(û)|
    complementarity  |p·û| / max(|p|, ρ V)
    natural map      |p − proj_K(p − ρ û)| / ρ

The natural map is the error that V. Acary, M. Brémond, O. Huber, "On solving contact problems with Coulomb friction:
formulations and numerical comparisons", 2018, measure their solvers with (there with ρ = 1, a 2-norm, and the norm of
the free relative velocity for V); the worst contact counts here. `joints` is |G v − g| over V (rows are taken as speeds), and
`balance` the momentum x = M (v − v_free) − Jᵀ p − Gᵀ y of a body as a speed, √(xᵀ W x / m), over V or over the speed that the
sum of all |p| and |y| on the body would give it, where that is more (`motion.unbalance`). V is the greatest free speed
of a body, √(v·M v / m), or the greatest bias or target where that is more.
"""

from ..jit import njit
from ..vec import dot, load3, norm, scale, sub
from .cone import project_coulomb, project_dual
from .motion import (
    add_load,
    add_momentum,
    contact_compliance,
    coulomb_velocity,
    push,
    push_row,
    relative_velocity,
    rigidity,
    row_compliance,
    row_velocity,
    speed_of_momentum,
    unbalance,
)


@njit
def natural_map(p, u_hat, mu, compliance):
    """|p − proj_K(p − ρ û)| / ρ with ρ = 1/compliance, m/s.

    With x = p − ρ û it is |û − proj_K*(−x) / ρ| (Moreau), which is û itself where a contact sticks: p does not drown it.
    """
    x = sub(p, scale(1.0 / compliance, u_hat))
    return norm(sub(u_hat, scale(compliance, project_dual(scale(-1.0, x), mu))))


@njit
def typical_speed(system):
    """V of the module's docstring; 1 where nothing moves."""
    step = system.step[0]
    mass, inertia, velocity = system.mass, system.inertia, system.velocity
    inverse_mass, inverse_inertia = system.inverse_mass, system.inverse_inertia
    scratch = system.vectors
    speed = 0.0
    for i in range(step.bodies):
        if inverse_mass[i] > 0.0:
            for k in range(6):
                scratch[k] = 0.0
            add_momentum(mass, inertia, i, 1.0, velocity, 6 * i, scratch, 0)
            speed = max(speed, speed_of_momentum(inverse_mass, inverse_inertia, i, scratch, 0))
    contacts, groups, target = system.contacts, system.groups, system.target
    compliance = system.compliance
    for i in range(step.contacts):
        speed = max(speed, abs(contacts[i].bias))
    for i in range(step.groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            if compliance[row] == 0.0:
                speed = max(speed, abs(target[row]))
    return speed if speed > 0.0 else 1.0


@njit
def measure(system, free, scratch, loads):
    """Fill the residuals of the STEP record from `velocity`, the contacts' impulses and the multipliers.

    `free`, `scratch` and `loads` say where in `vectors` the free velocity is, and two vectors to work with. Needs `speed`.
    """
    step = system.step[0]
    inverse_mass, inverse_inertia = system.inverse_mass, system.inverse_inertia
    velocity, vectors, jacobian = system.velocity, system.vectors, system.jacobian
    contacts, groups = system.contacts, system.groups
    target, multiplier, compliance = system.target, system.multiplier, system.compliance
    momentum_change(system, free, scratch)
    for i in range(step.bodies):
        vectors[loads + i] = 0.0
    cone, dual, complementarity, natural, joints, balance = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(step.contacts):
        contact = contacts[i]
        p = load3(contact.impulse)
        push(contact, (-p[0], -p[1], -p[2]), vectors, scratch, step.bodies)
        add_load(contact.a, contact.b, norm(p), vectors, loads, step.bodies)
        c = contact_compliance(contact, inverse_mass, inverse_inertia, step.bodies)
        if c == 0.0:
            continue
        u = coulomb_velocity(contact, relative_velocity(contact, velocity, 0, step.bodies))
        cone = max(cone, c * norm(sub(p, project_coulomb(p, contact.friction))))
        dual = max(dual, norm(sub(u, project_dual(u, contact.friction))))
        complementarity = max(complementarity, c * abs(dot(p, u)) / max(c * norm(p), step.speed))
        natural = max(natural, natural_map(p, u, contact.friction, c))
    for i in range(step.groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            push_row(groups[i], row, jacobian, -multiplier[row], vectors, scratch, step.bodies)
            add_load(groups[i].a, groups[i].b, abs(multiplier[row]), vectors, loads, step.bodies)
            error = row_velocity(groups[i], row, jacobian, velocity, 0, step.bodies) - target[row]
            error += compliance[row] * multiplier[row]
            own = row_compliance(groups[i], row, jacobian, inverse_mass, inverse_inertia, step.bodies)
            joints = max(joints, abs(error) * rigidity(own, compliance[row]))
    for i in range(step.bodies):
        if inverse_mass[i] > 0.0:
            at = scratch + 6 * i
            balance = max(balance, unbalance(inverse_mass, inverse_inertia, i, vectors, at, vectors, loads, step.speed))
    step.cone = cone / step.speed
    step.dual = dual / step.speed
    step.complementarity = complementarity / step.speed
    step.natural_map = natural / step.speed
    step.joints = joints / step.speed
    step.balance = balance


@njit
def momentum_change(system, free, out):
    """M (v − v_free), for v in `velocity` and v_free in `vectors`, into vectors[out:]."""
    mass, inertia, velocity, vectors = system.mass, system.inertia, system.velocity, system.vectors
    inverse_mass = system.inverse_mass
    for i in range(system.step[0].bodies):
        at = out + 6 * i
        for k in range(6):
            vectors[at + k] = 0.0
        if inverse_mass[i] > 0.0:
            add_momentum(mass, inertia, i, 1.0, velocity, 6 * i, vectors, at)
            add_momentum(mass, inertia, i, -1.0, vectors, free + 6 * i, vectors, at)
