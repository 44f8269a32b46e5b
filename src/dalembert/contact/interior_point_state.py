"""The iterate of the contact solver: where it starts, how far it is from the solution, moving it, and keeping the best."""

import math

from ..elementary.hypotenuse import hypot
from ..jit import njit
from ..vec import add, load3, norm, scale, store3
from .interior_point_matrix import set_spectrum, to_impulse
from .interior_point_tables import DIRECTION, FREE, GRADIENT, LEFT, POINT, SAVED
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
    unbalance,
)
from .residual import natural_map, typical_speed

HUGE = 1e300  # the residual of what is not finite


@njit
def start(system):
    """Copy the free velocities, find compliances and the typical speed. Returns 1 where the input is not finite."""
    step = system.step[0]
    n = step.bodies
    velocity, vectors = system.velocity, system.vectors
    inverse_mass, inverse_inertia = system.inverse_mass, system.inverse_inertia
    step.speed = typical_speed(system)
    step.residual = HUGE
    check = step.speed
    for i in range(6 * n):
        vectors[6 * n * FREE + i] = velocity[i]
        check += abs(velocity[i])
    contacts, cones = system.contacts, system.cones
    for i in range(step.contacts):
        c = contact_compliance(contacts[i], inverse_mass, inverse_inertia, n)
        cones[i].compliance = c
        check += c + abs(contacts[i].bias) + contacts[i].friction
    groups, jacobian, links = system.groups, system.jacobian, system.links
    target = system.target
    for i in range(step.groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            c = row_compliance(groups[i], row, jacobian, inverse_mass, inverse_inertia, n)
            links[row].compliance = c
            check += c + abs(target[row])
    return 0 if check < HUGE else 1


@njit
def place_on_axes(system, share, factor):
    """Place the iterate at `share` of the free velocities (0: at rest) and on the axes of the cones, with the same λ·z at
    every contact, so that it is on the central path but for feasibility; `factor` pushes it further inside."""
    step = system.step[0]
    size = 6 * step.bodies
    vectors, inverse_mass = system.vectors, system.inverse_mass
    for i in range(size):
        part = share if inverse_mass[i // 6] > 0.0 else 1.0
        vectors[size * POINT + i] = part * vectors[size * FREE + i]
        vectors[size * DIRECTION + i] = 0.0
    cones, groups, links = system.cones, system.groups, system.links
    stiffness, count = 0.0, 0
    for i in range(step.contacts):
        if cones[i].compliance > 0.0:
            stiffness += 1.0 / cones[i].compliance
            count += 1
    unit = factor * step.speed * math.sqrt(stiffness / max(count, 1))
    for i in range(step.contacts):
        cone = cones[i]
        set_spectrum(cone, (0.0, 0.0, 0.0, 1.0, 0.0))
        store3(cone.f, (0.0, 0.0, 0.0))
        store3(cone.force_step, (0.0, 0.0, 0.0))
        store3(cone.slack_step, (0.0, 0.0, 0.0))
        root = math.sqrt(cone.compliance)
        store3(cone.slack, (unit * root, 0.0, 0.0))
        store3(cone.force, (unit / root if root > 0.0 else 0.0, 0.0, 0.0))
    for i in range(step.groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            links[row].force = 0.0
            links[row].force_step = 0.0


@njit
def evaluate(system):
    """z(v) and the direction of sliding of each contact, the defects of joint rows and the unbalanced momentum; returns the
    residual: the worst of natural map, joint rows and balance, as `residual.measure` defines them."""
    step = system.step[0]
    vectors, mass, inertia = system.vectors, system.mass, system.inertia
    inverse_mass, inverse_inertia = system.inverse_mass, system.inverse_inertia
    size = 6 * step.bodies
    gradient, point, loads = GRADIENT * size, POINT * size, LEFT * size
    worst, total = 0.0, 0.0
    for i in range(size):
        vectors[gradient + i] = 0.0
        vectors[loads + i] = 0.0
    for i in range(step.bodies):
        if inverse_mass[i] > 0.0:
            at = gradient + 6 * i
            add_momentum(mass, inertia, i, 1.0, vectors, point + 6 * i, vectors, at)
            add_momentum(mass, inertia, i, -1.0, vectors, FREE * size + 6 * i, vectors, at)
    contacts, cones = system.contacts, system.cones
    for i in range(step.contacts):
        if cones[i].compliance > 0.0:
            error = evaluate_contact(contacts[i], cones[i], vectors, point, gradient, loads, step.bodies) / step.speed
            worst = max(worst, error)
            total += error
    groups, jacobian, links, target = system.groups, system.jacobian, system.links, system.target
    compliance = system.compliance
    for i in range(step.groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            defect = row_velocity(groups[i], row, jacobian, vectors, point, step.bodies) - target[row]
            defect += compliance[row] * links[row].force
            push_row(groups[i], row, jacobian, -links[row].force, vectors, gradient, step.bodies)
            add_load(groups[i].a, groups[i].b, abs(links[row].force), vectors, loads, step.bodies)
            links[row].defect = defect
            error = abs(defect) * rigidity(links[row].compliance, compliance[row])
            worst = max(worst, error / step.speed)
            total += error
    for i in range(step.bodies):
        if inverse_mass[i] > 0.0:
            at = gradient + 6 * i
            error = unbalance(inverse_mass, inverse_inertia, i, vectors, at, vectors, loads, step.speed)
            worst = max(worst, error)
            total += error
    return worst if total < HUGE else HUGE


@njit
def evaluate_contact(contact, cone, vectors, point, gradient, loads, bodies):
    u = relative_velocity(contact, vectors, point, bodies)
    u_hat = coulomb_velocity(contact, u)
    mu = contact.friction
    store3(cone.value, (u_hat[0], mu * u[1], mu * u[2]))
    t = hypot(u[1], u[2])
    cone.sliding[0] = u[1] / t if t > 0.0 else 0.0
    cone.sliding[1] = u[2] / t if t > 0.0 else 0.0
    p = to_impulse(mu, load3(cone.force))
    push(contact, (-p[0], -p[1], -p[2]), vectors, gradient, bodies)
    add_load(contact.a, contact.b, norm(p), vectors, loads, bodies)
    return natural_map(p, u_hat, mu, cone.compliance)


@njit
def move(system, length):
    """Add `length` times the step to velocities, forces, slacks and multipliers."""
    move_velocities(system, length)
    cones = system.cones
    for i in range(system.step[0].contacts):
        cone = cones[i]
        store3(cone.force, add(load3(cone.force), scale(length, load3(cone.force_step))))
        store3(cone.slack, add(load3(cone.slack), scale(length, load3(cone.slack_step))))


@njit
def move_velocities(system, length):
    """Add `length` times the step to velocities and to the multipliers of joint rows."""
    vectors = system.vectors
    size = 6 * system.step[0].bodies
    for i in range(size):
        vectors[POINT * size + i] += length * vectors[DIRECTION * size + i]
    links, groups = system.links, system.groups
    for i in range(system.step[0].groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            links[row].force += length * links[row].force_step


@njit
def keep_best(system, residual):
    """Write the iterate to the outputs if it is the best so far."""
    step = system.step[0]
    if not residual < step.residual:
        return
    step.residual = residual
    velocity, vectors = system.velocity, system.vectors
    contacts, cones = system.contacts, system.cones
    groups, links, multiplier = system.groups, system.links, system.multiplier
    size = 6 * step.bodies
    for i in range(size):
        velocity[i] = vectors[POINT * size + i]
    for i in range(step.contacts):
        store3(contacts[i].impulse, to_impulse(contacts[i].friction, load3(cones[i].force)))
    for i in range(step.groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            multiplier[row] = links[row].force


@njit
def save(system):
    """Keep the iterate; the slacks stay as they are in the method of multipliers."""
    step = system.step[0]
    vectors = system.vectors
    size = 6 * step.bodies
    for i in range(size):
        vectors[SAVED * size + i] = vectors[POINT * size + i]
    cones, links, groups = system.cones, system.links, system.groups
    for i in range(step.contacts):
        store3(cones[i].saved, load3(cones[i].force))
    for i in range(step.groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            links[row].saved = links[row].force


@njit
def restore(system):
    step = system.step[0]
    vectors = system.vectors
    size = 6 * step.bodies
    for i in range(size):
        vectors[POINT * size + i] = vectors[SAVED * size + i]
    cones, links, groups = system.cones, system.links, system.groups
    for i in range(step.contacts):
        store3(cones[i].force, load3(cones[i].saved))
    for i in range(step.groups):
        for row in range(groups[i].first, groups[i].first + groups[i].rows):
            links[row].force = links[row].saved
