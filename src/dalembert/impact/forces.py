"""The forces of the contacts that bear any, and their place in the derivative of the state.

Between events it is known which contacts bear force and which of them slide. The forces satisfy, with A the matrix of
`response` and b the accelerations without them,

    (A f + b)_n = 0 at each,   (A f + b)_t = 0 where it sticks,   f_t = −μ f_n d where it slides along d,

which is linear. That f_n ≥ 0, that f_t stays in the cone and that nothing comes to a stop is watched (`watch`), not imposed:
where one of these ends there is an event, and `rest` says how it goes on. More contacts than the bodies can tell apart (four
under a box) have the forces of least sum of squares, friction in proportion to the normal force of its contact, so that all
slip at the same moment.
"""

from ..jit import inlined, njit
from ..mechanics.kinematics import load6
from ..model.tables import CONSTRAINT_WORK, LEDGER, REACTION_IMPULSE, REACTION_TORQUE, STATE_SIZE
from ..unchecked import peek, poke
from ..vec import add, cross, dot, load3, scale, store3, symvec
from .dense import solve_least
from .geometry import place_touches, sliding_direction
from .response import free_accelerations, put, respond, three
from .tables import SLIDING, STICKING

UNSOLVED = 151  # status: the forces of contact cannot be found
LEAST_PART = 1e-6  # of the greatest normal force: what a contact counts for at least where friction is shared out


@njit
def list_rows(active, sticking, touching):
    """Write the components that are unknown; returns how many. sticking: 1 where tangents of sticking contacts count."""
    touches, rows = touching.touches, touching.rows
    n = 0
    for k in range(active):
        for c in range(3 if sticking != 0 and touches[k].mode == STICKING else 1):
            rows[n] = 3 * k + c
            n += 1
    return n


@njit
def set_system(n, friction, touching):
    """The equations of the listed components; friction: 1 where that of sliding contacts goes with their normal force."""
    touches, matrix, rows = touching.touches, touching.matrix, touching.rows
    system, weight = touching.system, touching.weight
    width = 3 * touches.shape[0]
    for j in range(n):
        column = rows[j]
        touch = touches[column // 3]
        slides = friction != 0 and touch.mode == SLIDING
        d = sliding_direction(touch, touching.options[0].tiny_speed) if slides else (0.0, 0.0)
        for i in range(n):
            at = rows[i] * width + column
            value = peek(matrix, at)
            if slides:
                value -= touch.friction * (d[0] * peek(matrix, at + 1) + d[1] * peek(matrix, at + 2))
            poke(system, i * n + j, value)
        poke(weight, j, largest_response(matrix, width, column - column % 3))


@njit
def largest_response(matrix, width, first):
    """The largest diagonal entry of a contact: one weight for its three components, as no axis is to be preferred."""
    largest = peek(matrix, first * (width + 1))
    for i in range(first + 1, first + 3):
        largest = max(largest, peek(matrix, i * (width + 1)))
    return largest


@njit
def share_friction(n, touching):
    """Weights of the tangents in inverse proportion to the normal forces just found."""
    rows, weight, unknown = touching.rows, touching.weight, touching.unknown
    most = 0.0
    for i in range(n):
        if rows[i] % 3 == 0:
            most = max(most, unknown[i])
    bears = 1.0
    for i in range(n):
        if rows[i] % 3 == 0:
            bears = max(unknown[i] / most, LEAST_PART) if most > 0.0 else 1.0
        else:
            weight[i] /= bears


@njit
def find_forces(active, touching):
    """The forces of the active contacts, into their table. Returns a status."""
    touches, unknown, rows = touching.touches, touching.unknown, touching.rows
    right, free = touching.right, touching.free
    n = list_rows(active, 1, touching)
    set_system(n, 1, touching)
    for i in range(n):
        right[i] = -free[rows[i]]
    if solve_least(n, touching) != 0:
        return UNSOLVED
    if n > active and active > 1:
        share_friction(n, touching)
        if solve_least(n, touching) != 0:
            return UNSOLVED
    for k in range(active):
        store3(touches[k].force, (0.0, 0.0, 0.0))
    for i in range(n):
        touches[rows[i] // 3].force[rows[i] % 3] = unknown[i]
    for k in range(active):
        touch = touches[k]
        if touch.mode == SLIDING:
            d = sliding_direction(touch, touching.options[0].tiny_speed)
            most = -touch.friction * touch.force[0]
            touch.force[1], touch.force[2] = most * d[0], most * d[1]
    return 0


@njit
def sum_columns(active, system, touching):
    """What the forces in the table are to every body, into `shift`."""
    touches, columns, shift = touching.touches, touching.columns, touching.shift
    size = 6 * system.bodies.shape[0]
    for x in range(size):
        shift[x] = 0.0
    for k in range(active):
        for c in range(3):
            f = touches[k].force[c]
            if f != 0.0:
                at = (3 * k + c) * size
                for x in range(size):
                    poke(shift, x, peek(shift, x) + f * peek(columns, at + x))


@njit
def add_forces(active, dydt, system, touching):
    """Put the forces in the table into the derivative: momenta, and the rates of the ledger."""
    touches, shift = touching.touches, touching.shift
    kinematics = system.kinematics
    sum_columns(active, system, touching)
    book(1.0, dydt, dydt, system, touching)
    power = 0.0
    entry = touching.options[0].ledger
    own, rubbed = 0.0, 0.0
    for k in range(active):
        touch = touches[k]
        own += touch.force[0] * touch.velocity[0]
        rubbed += touch.force[1] * touch.velocity[1] + touch.force[2] * touch.velocity[2]
    dydt[entry] += own
    dydt[entry + 1] += rubbed
    for i in range(system.bodies.shape[0]):
        kin = kinematics[i]
        power += dot(three(shift, 6 * i), load3(kin.v)) + dot(three(shift, 6 * i + 3), load3(kin.omega))
    dydt[dydt.shape[0] - len(LEDGER) + CONSTRAINT_WORK] += power - own - rubbed


@inlined
def node_at(i, system):
    """Where the position of a node, row i of `bodies`, stands in the state vector; its momentum follows 3 n later."""
    return STATE_SIZE * system.settings[0].rigid + 3 * system.nodes[i - system.settings[0].rigid].particle


@njit
def book(s, momenta, ledger, system, touching):
    """Add s times `shift` to the momenta of the state vector `momenta`, and to the reactions in that of `ledger`."""
    settings = system.settings[0]
    shift = touching.shift
    kinematics = system.kinematics
    force_at = ledger.shape[0] - len(LEDGER) + REACTION_IMPULSE
    torque_at = ledger.shape[0] - len(LEDGER) + REACTION_TORQUE
    for i in range(system.bodies.shape[0]):
        force, torque = scale(s, three(shift, 6 * i)), scale(s, three(shift, 6 * i + 3))
        if i < settings.rigid:
            at = STATE_SIZE * i + 7
            put(momenta, at + 3, add(three(momenta, at + 3), torque))
        else:
            at, torque = node_at(i, system) + 3 * settings.particles, (0.0, 0.0, 0.0)
        put(momenta, at, add(three(momenta, at), force))
        put(ledger, force_at, add(three(ledger, force_at), force))
        moment = add(cross(load3(kinematics[i].x), force), torque)
        put(ledger, torque_at, add(three(ledger, torque_at), moment))


@njit
def contact_forces(y, dydt, system, touching):
    """Find the forces at the state whose smooth derivative is dydt, and add them to it. Returns a status."""
    active = touching.options[0].active
    if active == 0:
        return 0
    place_touches(active, system, touching)
    respond(active, system, touching)
    free_accelerations(active, y, dydt, system, touching)
    status = find_forces(active, touching)
    if status == 0:
        add_forces(active, dydt, system, touching)
    return status


@njit
def move_by_shift(system, touching):
    """Turn the momenta in `shift` into velocities, W of them."""
    shift = touching.shift
    bodies = system.bodies
    for i in range(bodies.shape[0]):
        put(shift, 6 * i, scale(bodies[i].inverse_mass, three(shift, 6 * i)))
        inverse = load6(system.kinematics[i].inverse_inertia)
        put(shift, 6 * i + 3, symvec(inverse, three(shift, 6 * i + 3)))
