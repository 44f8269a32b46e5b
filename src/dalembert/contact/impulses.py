"""The impulses of a step on the momenta, and what the audit books of them.

Work is p·½ (u⁻ + u⁺), with u⁻ the velocities before forces and impulses acted: see `step`.
"""

from ..collide.tables import CONTACTS
from ..jit import inlined, njit
from ..mechanics.constraints import wrench_of
from ..model.tables import CONSTRAINT_WORK, LEDGER, REACTION_IMPULSE, REACTION_TORQUE, STATE_SIZE
from ..unchecked import peek
from ..vec import add, cross, dot, load3, scale
from .gauss_seidel import axes_of, world_impulse
from .joints import joint_work
from .tables import BEFORE, ROW
from .velocities import relative_velocity


@njit
def apply_impulses(y, system, collision, stepping):
    """P, L ← P, L + Jᵀ p for contacts and joints; work and reactions to the ledger."""
    contacts = collision.contacts
    motion = stepping.motion
    rows = stepping.rows
    bodies = system.bodies.shape[0]
    entry = stepping.options[0].ledger
    for i in range(collision.counts[CONTACTS]):
        contact = contacts[i]
        p = load3(contact.impulse)
        if p[0] == 0.0:
            continue
        n, t, s = axes_of(contact)
        arm_a, arm_b = load3(contact.arm_a), load3(contact.arm_b)
        normal_work, friction_work = contact_work(contact, p, motion, rows, ROW * i + BEFORE)
        y[entry] += normal_work
        y[entry + 1] += friction_work
        impulse = world_impulse(n, t, s, p[0], p[1], p[2])
        opposite = scale(-1.0, impulse)
        if contact.b < bodies:
            give(y, contact.b, impulse, cross(arm_b, impulse))
        else:
            book_reaction(y, opposite, cross(arm_b, opposite))
        if contact.a < bodies:
            give(y, contact.a, opposite, cross(arm_a, opposite))
        else:
            book_reaction(y, impulse, cross(arm_a, impulse))
    apply_joint_impulses(y, system, stepping)


@njit
def contact_work(contact, p, motion, rows, before):
    """(work of the normal part, of friction) of an impulse p, with the velocities before at rows[before:]."""
    n, t, s = axes_of(contact)
    u = relative_velocity(motion, contact, load3(contact.arm_a), load3(contact.arm_b))
    normal = 0.5 * p[0] * (peek(rows, before) + dot(n, u))
    friction = 0.5 * p[1] * (peek(rows, before + 1) + dot(t, u)) + 0.5 * p[2] * (peek(rows, before + 2) + dot(s, u))
    return normal, friction


@inlined
def give(y, body, impulse, moment):
    at = STATE_SIZE * body + 7
    for k in range(3):
        y[at + k] += impulse[k]
        y[at + 3 + k] += moment[k]


@inlined
def book_reaction(y, impulse, moment):
    """An impulse from outside, and its moment about the origin."""
    ledger = y.shape[0] - len(LEDGER)
    for k in range(3):
        y[ledger + REACTION_IMPULSE + k] += impulse[k]
        y[ledger + REACTION_TORQUE + k] += moment[k]


@njit
def apply_joint_impulses(y, system, stepping):
    incidences = system.incidences
    jacobian = system.jacobian
    kinematics = system.kinematics
    for i in range(incidences.shape[0]):
        body = incidences[i].body
        force, torque = wrench_of(incidences[i], jacobian, stepping.joint_impulses)
        give(y, body, force, torque)
        book_reaction(y, force, add(cross(load3(kinematics[body].x), force), torque))
    y[y.shape[0] - len(LEDGER) + CONSTRAINT_WORK] += joint_work(system, stepping)
