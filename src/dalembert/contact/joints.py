"""Joints in a time step, solved all at once with the factorization of the mechanism; and the impulses of a step on the
momenta.

A joint that turns has J v ≠ 0 at the middle of a step, where its impulse acts, even when it holds at both ends. With v⁻
the velocities before and v⁺ those after, a time-reversible step has

    J (v⁻ + v⁺) = 0.

The impulse p = Jᵀ λ then does the work λ · ½ J (v⁻ + v⁺) = 0: d'Alembert's principle for a step, whatever its length.
"""

import numpy as np

from ..collide.tables import CONTACTS, ISLANDS, MOVED
from ..core.c_function import CONSTRAIN
from ..core.jit import inlined, njit
from ..core.math3 import add, add_scaled, cross, dot, load3, scale, symvec
from ..core.simd import clear, load, store
from ..core.thread_pool import CONTACT_JOBS, run_parallel
from ..dynamics.commands import book_surface, surface_velocity
from ..dynamics.constraints import add_rates, wrench_of
from ..model.tables import CONSTRAINT_WORK, LEDGER, REACTION_IMPULSE, REACTION_TORQUE, STATE_SIZE
from .gauss_seidel import axes_of, world_impulse
from .parallel import (
    ADD_IMPULSES,
    ADD_IMPULSES_OF_ISLANDS,
    is_shared,
    over_colours_of_contacts,
    shares_contacts,
)
from .tables import (
    ANGULAR,
    BEFORE,
    INVERSE_INERTIA,
    INVERSE_MASS,
    LINEAR,
    MOTION,
    ROW,
    call_mechanism,
    put_three,
    relative_velocity,
    six,
    three,
)

LOCKED = 1e-9  # of the response without joints: a smaller one is rounding, as joints leave the coordinate no freedom


@njit
def rates_of_motion(system, motion, out):
    """out = J v for the velocities in `motion`."""
    incidences = system.incidences
    jacobian = system.jacobian
    clear(out)
    for i in range(incidences.shape[0]):
        at = MOTION * incidences[i].body
        add_rates(incidences[i], jacobian, three(motion, at + LINEAR), three(motion, at + ANGULAR), out)


@njit
def set_targets(tables):
    """What J v must be after the step, from what it is before it: J ½ (v⁻ + v⁺) + ∂C/∂t = 0."""
    targets = tables.stepping.targets
    rates_of_motion(tables.system, tables.stepping.motion, targets)
    for r in range(targets.shape[0]):
        targets[r] = -targets[r]
    if tables.system.commands.shape[0] > 0:
        subtract_surfaces(tables)
        for r in range(targets.shape[0]):
            targets[r] -= 2.0 * tables.system.partial[r]


@njit
def subtract_surfaces(tables):
    """Moving surfaces, whose velocities `motion` has in it before and after the step, move no joint: their part of J v twice,
    into the targets."""
    system, targets = tables.system, tables.stepping.targets
    for i in range(system.commands.shape[0]):
        slide, spin = surface_velocity(system.commands[i])
        for k in range(system.incidences.shape[0]):
            if system.incidences[k].body == system.commands[i].body:
                add_rates(system.incidences[k], system.jacobian, scale(2.0, slide), scale(2.0, spin), targets)


@njit
def solve_joints(tables):
    """Change `motion` by the joint impulses that bring J v to its target, and add them to `joint_impulses`. Returns a
    status."""
    stepping = tables.stepping
    total, targets = stepping.joint_impulses, stepping.targets
    rates, change = stepping.rates, stepping.change
    rates_of_motion(tables.system, stepping.motion, rates)
    for r in range(rates.shape[0]):
        rates[r] = targets[r] - rates[r]
    soft, joints = stepping.soft, tables.system.joints
    for i in range(soft.shape[0]):
        row = soft[i].row
        rates[row] -= joints[soft[i].joint].compliance * total[row]
    status = apply_rate_change(tables, stepping.motion)
    for r in range(rates.shape[0]):
        total[r] += change[r]
    return status


@njit
def project_velocities(tables, motion):
    """Change the velocities in `motion` by the joint impulses that bring J v to zero. Returns a status."""
    rates = tables.stepping.rates
    rates_of_motion(tables.system, motion, rates)
    for r in range(rates.shape[0]):
        rates[r] = -rates[r]
    return apply_rate_change(tables, motion)


@njit
def apply_rate_change(tables, motion):
    """Change `motion` by the joint impulses that change J v by `rates`; writes these impulses to `change`. Returns a
    status."""
    status = call_mechanism(tables.callbacks, CONSTRAIN, 0.0, tables.stepping.rates, tables.stepping.change)
    kinematics = tables.system.kinematics
    for i in range(tables.system.bodies.shape[0]):
        kin = kinematics[i]
        at = MOTION * i
        turn = symvec(six(motion, at + INVERSE_INERTIA), load3(kin.angular))
        v = add_scaled(three(motion, at + LINEAR), motion[at + INVERSE_MASS], load3(kin.linear))
        put_three(motion, at + LINEAR, v)
        put_three(motion, at + ANGULAR, add(three(motion, at + ANGULAR), turn))
    return status


@njit
def joint_work(tables):
    """λ · ½ J (v⁻ + v⁺): zero but for the residual of the solver (J)."""
    stepping = tables.stepping
    rates, targets, impulses = stepping.rates, stepping.targets, stepping.joint_impulses
    rates_of_motion(tables.system, stepping.motion, rates)
    work = 0.0
    for r in range(rates.shape[0] - stepping.soft.shape[0]):  # rows that are soft come last
        work += 0.5 * impulses[r] * (rates[r] - targets[r])
    return work


# Impulses on the momenta, and their work ---------------------------------------------------------------------------------
#
# Work is p·½ (u⁻ + u⁺), with u⁻ the velocities before forces and impulses acted: see `step`.


@njit
def apply_impulses(y, tables):
    """P, L ← P, L + Jᵀ p for contacts and joints; work and reactions to the ledger."""
    collision, stepping = tables.collision, tables.stepping
    if shares_contacts(collision):
        stepping.job_state[0], stepping.job_state[1] = np.int64(y.ctypes.data), y.shape[0]
        islands, count = collision.islands, collision.counts[ISLANDS]
        for i in range(count):
            if is_shared(islands[i], collision):
                over_colours_of_contacts(ADD_IMPULSES, islands[i], collision)
        run_parallel(collision.job_queue, CONTACT_JOBS, ADD_IMPULSES_OF_ISLANDS, 0, count, 1)
        for i in range(collision.counts[CONTACTS]):
            book_impulse(i, y, tables)
    else:
        add_and_book(0, collision.counts[CONTACTS], y, tables)
    apply_joint_impulses(y, tables)


@njit
def add_and_book(begin, end, y, tables):
    """`add_impulses` and `book_impulse` of contacts begin … end, one after the other, while a contact is in the cache."""
    for i in range(begin, end):
        add_impulses(i, i + 1, y, tables)
        book_impulse(i, y, tables)


@njit
def add_impulses(begin, end, y, tables):
    """P, L ← P, L + Jᵀ p for contacts begin … end, of bodies that contacts move; writes the work of each contact."""
    stepping, contacts, moved = tables.stepping, tables.collision.contacts, tables.collision.counts[MOVED]
    motion, rows, works = stepping.motion, stepping.rows, stepping.contact_works
    for i in range(begin, end):
        contact = contacts[i]
        p = load3(contact.impulse)
        if p[0] == 0.0:
            continue
        normal_work, friction_work = contact_work(contact, p, motion, rows, ROW * i + BEFORE)
        store(works, 2 * i, normal_work)
        store(works, 2 * i + 1, friction_work)
        n, t, s = axes_of(contact)
        impulse = world_impulse(n, t, s, p[0], p[1], p[2])
        if contact.b < moved:
            add_impulse(y, contact.b, impulse, cross(load3(contact.arm_b), impulse))
        if contact.a < moved:
            opposite = scale(-1.0, impulse)
            add_impulse(y, contact.a, opposite, cross(load3(contact.arm_a), opposite))


@njit
def book_impulse(i, y, tables):
    """The work that `add_impulses` found for contact i to the ledger, and its impulse on a kinematic body or from the
    world."""
    stepping, contact, moved = tables.stepping, tables.collision.contacts[i], tables.collision.counts[MOVED]
    works, entry = stepping.contact_works, stepping.options[0].ledger
    if contact.impulse[0] == 0.0:
        return
    y[entry] += load(works, 2 * i)
    y[entry + 1] += load(works, 2 * i + 1)
    if contact.a < moved and contact.b < moved:
        return
    p, (n, t, s) = load3(contact.impulse), axes_of(contact)
    impulse = world_impulse(n, t, s, p[0], p[1], p[2])
    opposite = scale(-1.0, impulse)
    if contact.b >= moved:
        book_outside(y, contact.b, impulse, opposite, load3(contact.arm_b), tables)
    if contact.a >= moved:
        book_outside(y, contact.a, opposite, impulse, load3(contact.arm_a), tables)


@njit
def book_outside(y, body, impulse, opposite, arm, tables):
    """An impulse on a kinematic body goes to its momenta, one on the world to the reactions."""
    if body < tables.system.bodies.shape[0]:
        moment = cross(arm, impulse)
        add_impulse(y, body, impulse, moment)
        book_surface(body, impulse, moment, y, tables.system)
    else:
        book_reaction(y, opposite, cross(arm, opposite))


@njit
def contact_work(contact, p, motion, rows, before):
    """(work of the normal part, of friction) of an impulse p, with the velocities before at rows[before:]."""
    n, t, s = axes_of(contact)
    u = relative_velocity(motion, contact, load3(contact.arm_a), load3(contact.arm_b))
    normal = 0.5 * p[0] * (load(rows, before) + dot(n, u))
    friction = 0.5 * p[1] * (load(rows, before + 1) + dot(t, u)) + 0.5 * p[2] * (load(rows, before + 2) + dot(s, u))
    return normal, friction


@inlined
def add_impulse(y, body, impulse, moment):
    """P, L of a body += an impulse and its moment about the centre of mass."""
    at = STATE_SIZE * body + 7
    for k in range(3):
        y[at + k] += impulse[k]
        y[at + 3 + k] += moment[k]


@inlined
def book_reaction(y, impulse, moment):
    """Book an impulse from outside the system, and its moment about the origin."""
    ledger = y.shape[0] - len(LEDGER)
    for k in range(3):
        y[ledger + REACTION_IMPULSE + k] += impulse[k]
        y[ledger + REACTION_TORQUE + k] += moment[k]


@njit
def apply_joint_impulses(y, tables):
    """P, L ← P, L + Gᵀ λ; work and reactions to the ledger."""
    system = tables.system
    incidences = system.incidences
    jacobian = system.jacobian
    kinematics = system.kinematics
    for i in range(incidences.shape[0]):
        body = incidences[i].body
        force, torque = wrench_of(incidences[i], jacobian, tables.stepping.joint_impulses)
        add_impulse(y, body, force, torque)
        book_reaction(y, force, add(cross(load3(kinematics[body].x), force), torque))
    y[y.shape[0] - len(LEDGER) + CONSTRAINT_WORK] += joint_work(tables)
