"""Resting contact: the forces of contacts between events, and their place in the derivative of the state.

Between events it is known which contacts carry a force and which of them slide. The forces satisfy, with A the matrix
of responses and b the accelerations without them,

    (A f + b)_n = 0 at each,   (A f + b)_t = 0 where it sticks,   f_t = −μ f_n d where it slides along d,

which is linear. That f_n ≥ 0, that f_t stays in the cone and that sliding does not stop is checked (`system`), not
imposed: if one of these conditions fails there is an event, and `contact_law.classify` determines how the motion
continues. If the forces are not unique (four contacts under a box), those with the least sum of squares are chosen,
with friction in proportion to the normal force, so that all contacts slip at the same time.

The direction d of friction follows that of the slip u at the rate μ f_n A/|u|. A block that friction almost holds
accelerates by a small part p of g and slides at p g t: however long it has slid, the rate is 1/(p t), and an explicit
method takes steps of p t, or goes astray. But the direction hardly changes. A contact that slides straight is therefore
held on its line: it bears a force f_e across d as well, as if it had there the mass M = 1/(ε A), A the response across d,

    f_t = −μ f_n d + f_e e,   f_e = −M (A f + b)·e,

which takes ε of the rate and obeys Coulomb's law where f_e = 0. Where |f_e| exceeds a tiny part of μ f_n, `most_angle`, the
slip turns: there is an event, and from then on friction follows the slip alone.

In order: responses, forces between events, straight lines, the derivative, and the end of a step.
"""

from __future__ import annotations

import math

from ..contact.tables import put_three, three
from ..core.c_function import COMPLETE, DERIVATIVE, POTENTIAL, call_pointer
from ..core.jit import inlined, njit
from ..core.math3 import add, cross, dot, load3, rotate_by, scale, store3, sub, symvec
from ..core.simd import load, store
from ..dynamics.commands import set_accelerations
from ..dynamics.constraints import jacobian_acceleration, solve_multipliers
from ..dynamics.kinematics import load6
from ..linalg.dense import lu_factorize, lu_substitute
from ..model.tables import (
    CONSTRAINT_WORK,
    LEDGER,
    PENALTY,
    PROJECTION_WORK,
    REACTION_IMPULSE,
    REACTION_TORQUE,
    STATE_SIZE,
)
from .features import BLIND, SLIDING, STICKING, sliding_direction, update_touches

# Responses -------------------------------------------------------------------------------------------------------------
#
# A unit force at a contact accelerates its two bodies, and the joints react with Δλ so that G v̇ is unchanged:
# G W Gᵀ Δλ = −G W Jᵀ. The column holds Jᵀ + Gᵀ Δλ of every body; its product with the Jacobian of another contact is the
# entry of the matrix, which so belongs to the mechanism and not to free bodies. Impulses change velocities in the same way.


@inlined
def axis(touch, c):
    """Normal or tangent number c."""
    return (touch.frame[3 * c], touch.frame[3 * c + 1], touch.frame[3 * c + 2])


@njit
def compute_responses(count, tables):
    """Columns and matrix of the first `count` touches, at the geometry in their table."""
    system = tables.system
    touches = tables.touching.touches
    columns = tables.touching.columns
    size = 6 * system.bodies.shape[0]
    jointed = system.error.shape[0] > 0 and system.settings[0].hold != PENALTY
    for k in range(count):
        for c in range(3):
            at = (3 * k + c) * size
            set_column(touches[k], axis(touches[k], c), at, size, columns)
            if jointed:
                add_joint_response(at, system, columns)
                unknowns = system.multipliers.shape[0]
                for r in range(unknowns):
                    store(tables.touching.answers, (3 * k + c) * unknowns + r, load(system.multipliers, r))
    width = 3 * touches.shape[0]
    for k in range(3 * count):
        for r in range(count):
            relative(touches[r], k, 3 * r * width + k, width, tables)


@inlined
def set_column(touch, e, at, size, columns):
    """Write Jᵀ e for a unit vector e at a contact to columns[at : at + size]."""
    for x in range(at, at + size):
        store(columns, x, 0.0)
    if 6 * touch.i < size:
        put_three(columns, at + 6 * touch.i, e)
        put_three(columns, at + 6 * touch.i + 3, cross(load3(touch.arm_i), e))
    if 6 * touch.j < size:
        put_three(columns, at + 6 * touch.j, scale(-1.0, e))
        put_three(columns, at + 6 * touch.j + 3, cross(e, load3(touch.arm_j)))


@njit
def add_joint_response(at, system, columns):
    """Add Gᵀ Δλ, the reactions of joints, to a column. Writes accelerations, `rhs` and `multipliers` of the system."""
    bodies = system.bodies
    kinematics = system.kinematics
    rhs = system.rhs
    rows = system.error.shape[0]
    for i in range(bodies.shape[0]):
        kin = kinematics[i]
        set_acceleration(kin, bodies[i].inverse_mass, three(columns, at + 6 * i), three(columns, at + 6 * i + 3))
    jacobian_acceleration(system, rhs)
    for r in range(rhs.shape[0]):
        rhs[r] = -rhs[r] if r < rows else 0.0
    solve_multipliers(system, system.multipliers, False)
    for i in range(bodies.shape[0]):
        kin = kinematics[i]
        put_three(columns, at + 6 * i, add(three(columns, at + 6 * i), load3(kin.linear)))
        put_three(columns, at + 6 * i + 3, add(three(columns, at + 6 * i + 3), load3(kin.angular)))


@inlined
def set_acceleration(kin, w, force, torque):
    """Write the accelerations of a body under a force and a torque; w is 1/m."""
    linear, turning = scale(w, force), symvec(load6(kin.inverse_inertia), torque)
    for x in range(3):
        kin.acceleration[x] = linear[x]
        kin.turning[x] = turning[x]


@inlined
def relative(touch, column, at, width, tables):
    """Relative acceleration at one contact that a column makes, into three rows of the matrix."""
    touching = tables.touching
    matrix = touching.matrix
    a = sub(
        point_acceleration(touch.i, load3(touch.arm_i), column, tables.system, touching.columns),
        point_acceleration(touch.j, load3(touch.arm_j), column, tables.system, touching.columns),
    )
    for c in range(3):
        store(matrix, at + c * width, dot(axis(touch, c), a))


@njit
def point_acceleration(body, arm, column, system, columns):
    """The acceleration by a column of the point at `arm` from the centre of mass, world axes."""
    bodies = system.bodies
    if body >= bodies.shape[0]:
        return (0.0, 0.0, 0.0)
    at = 6 * (column * bodies.shape[0] + body)
    turning = symvec(load6(system.kinematics[body].inverse_inertia), three(columns, at + 3))
    return add(scale(bodies[body].inverse_mass, three(columns, at)), cross(turning, arm))


@njit
def free_accelerations(count, y, dydt, tables):
    """Relative accelerations under the smooth forces, whose derivative of the state is dydt: I ω̇ = L̇ − ω × L."""
    system = tables.system
    touches = tables.touching.touches
    free = tables.touching.free
    bodies = system.bodies
    kinematics = system.kinematics
    for i in range(system.settings[0].rigid):  # nodes touch nothing
        kin = kinematics[i]
        at = STATE_SIZE * i
        torque = sub(three(dydt, at + 10), cross(load3(kin.omega), three(y, at + 10)))
        set_acceleration(kin, bodies[i].inverse_mass, three(dydt, at + 7), torque)
    if system.commands.shape[0] > 0:
        set_accelerations(system)
    for k in range(count):
        touch = touches[k]
        a = (0.0, 0.0, 0.0)
        if touch.i < bodies.shape[0]:
            kin = kinematics[touch.i]
            a = add(load3(kin.acceleration), cross(load3(kin.turning), load3(touch.arm_i)))
        if touch.j < bodies.shape[0]:
            kin = kinematics[touch.j]
            a = sub(a, add(load3(kin.acceleration), cross(load3(kin.turning), load3(touch.arm_j))))
        for c in range(3):
            store(free, 3 * k + c, dot(axis(touch, c), a) + touch.bias[c])


# Forces between events -------------------------------------------------------------------------------------------------

EPSILON = 1e-7  # of the diagonal: regularization of a singular system
CORRECTIONS = 4  # steps of the proximal iteration, each a factor of about ε
UNSOLVED = 151  # status: the forces of contact cannot be found
LOOSE = 1e-5  # ε of what slides straight; less would enlarge rounding where contacts depend on each other
LEAST_PART = 1e-6  # of the greatest normal force: what a contact counts for at least where friction is shared out


@njit
def solve_least(n, touching):
    """`unknown` f of least fᵀ D f with M f = r, M = `system` positive semidefinite, D = `weight`, r = `right`; n rows.

    f ← f + (M + ε D)⁻¹ (r − M f), the proximal iteration from f = 0. Returns 0, or 1 where the factorization fails.
    """
    a, factor, pivots = touching.system, touching.factor, touching.pivots
    right, weight, x, change = touching.right, touching.weight, touching.unknown, touching.change
    for i in range(n * n):
        store(factor, i, load(a, i))
    for i in range(n):
        store(factor, i * n + i, load(factor, i * n + i) + EPSILON * load(weight, i))
        x[i] = 0.0
    if lu_factorize(n, factor, 0, pivots, 0) != 0:
        return 1
    for _ in range(CORRECTIONS):
        for i in range(n):
            value = load(right, i)
            for j in range(n):
                value -= load(a, i * n + j) * load(x, j)
            change[i] = value
        lu_substitute(n, factor, 0, pivots, 0, change, 0)
        for i in range(n):
            x[i] += change[i]
    return 0


@njit
def list_unknowns(active, sticking, friction, touching):
    """List the unknown components in `rows`; returns how many. sticking: 1 to include tangents of sticking contacts;
    friction: 1 to include that across the line of what slides straight, as the first tangent."""
    touches, rows = touching.touches, touching.rows
    n = 0
    for k in range(active):
        components = 1
        if sticking != 0 and touches[k].mode == STICKING:
            components = 3
        if friction != 0 and is_straight(touches[k]):
            components = 2
        for c in range(components):
            rows[n] = 3 * k + c
            n += 1
    return n


@inlined
def is_straight(touch):
    """Whether a contact is held on the straight line on which it slides."""
    return touch.mode == SLIDING and touch.straight != 0


@njit
def set_equations(n, friction, touching):
    """The equations of the listed components; friction: 1 to include that of sliding contacts."""
    touches, matrix, rows = touching.touches, touching.matrix, touching.rows
    system, weight = touching.system, touching.weight
    tiny, width = touching.options[0].tiny_speed, 3 * touches.shape[0]
    for j in range(n):
        column = rows[j]
        touch = touches[column // 3]
        slides = friction != 0 and touch.mode == SLIDING
        d = sliding_direction(touch, tiny) if slides else (0.0, 0.0)
        for i in range(n):
            at = rows[i] * width + column
            value = response(at, column % 3, slides, touch.friction, d, matrix)
            if friction != 0 and is_across(rows[i], touching):
                e = sliding_direction(touches[rows[i] // 3], tiny)
                other = response(at + width, column % 3, slides, touch.friction, d, matrix)
                value = e[0] * other - e[1] * value
            store(system, i * n + j, value)
        if friction != 0 and is_across(column, touching):
            store(system, j * n + j, load(system, j * n + j) * (1.0 + LOOSE))
        store(weight, j, largest_response(matrix, width, column - column % 3))


@inlined
def is_across(row, touching):
    """Whether a listed component is that across the line of what slides straight."""
    return row % 3 == 1 and is_straight(touching.touches[row // 3])


@inlined
def response(at, component, slides, slope, d, matrix):
    """The response, with `at` its place in the matrix, to a unit of a component: of a contact that slides along d, to the
    normal force with its friction, or to the friction across d."""
    value = load(matrix, at)
    if slides and component == 0:
        value -= slope * (d[0] * load(matrix, at + 1) + d[1] * load(matrix, at + 2))
    elif slides:
        value = d[0] * load(matrix, at + 1) - d[1] * value
    return value


@njit
def largest_response(matrix, width, first):
    """The largest diagonal entry of a contact: one weight for its three components, so that no axis is preferred."""
    largest = load(matrix, first * (width + 1))
    for i in range(first + 1, first + 3):
        largest = max(largest, load(matrix, i * (width + 1)))
    return largest


@njit
def share_friction(n, touching):
    """Weights of the tangents in inverse proportion to the present normal forces."""
    rows, weight, unknown = touching.rows, touching.weight, touching.unknown
    most = 0.0
    for i in range(n):
        if rows[i] % 3 == 0:
            most = max(most, unknown[i])
    part = 1.0
    for i in range(n):
        if rows[i] % 3 == 0:
            part = max(unknown[i] / most, LEAST_PART) if most > 0.0 else 1.0
        else:
            weight[i] /= part


@njit
def find_forces(active, touching):
    """The forces of the active contacts, into their table. Returns a status."""
    touches, unknown, rows = touching.touches, touching.unknown, touching.rows
    right, free, tiny = touching.right, touching.free, touching.options[0].tiny_speed
    n = list_unknowns(active, 1, 1, touching)
    set_equations(n, 1, touching)
    for i in range(n):
        right[i] = -free[rows[i]]
        if is_across(rows[i], touching):
            e = sliding_direction(touches[rows[i] // 3], tiny)
            right[i] = e[1] * free[rows[i]] - e[0] * free[rows[i] + 1]
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
            d = sliding_direction(touch, tiny)
            most = -touch.friction * touch.force[0]
            across = touch.force[1]  # zero where it is not held
            touch.force[1], touch.force[2] = most * d[0] - across * d[1], most * d[1] + across * d[0]
    return 0


@inlined
def force_margin(touch, options):
    """(how far the normal force is from vanishing, with its slack; how far friction is from its limit where it sticks,
    likewise, infinite elsewhere), N."""
    normal = touch.force[0] + options.tiny_force + touch.slack_force
    if touch.mode != STICKING:
        return normal, math.inf
    rubs = math.sqrt(touch.force[1] * touch.force[1] + touch.force[2] * touch.force[2])
    return normal, touch.friction * touch.force[0] - rubs + touch.slack_cone + options.tiny_force


@njit
def note_margins(begins, touching):
    """Note the least and the greatest margin of the force of each contact, since the state at which this `begins`."""
    options = touching.options[0]
    for k in range(options.active):
        touch = touching.touches[k]
        margin = min(force_margin(touch, options))
        touch.least = margin if begins else min(touch.least, margin)
        touch.most = margin if begins else max(touch.most, margin)


# Straight lines --------------------------------------------------------------------------------------------------------

LEAST_ANGLE, MOST_ANGLE = (
    1e-8,
    1e-4,
)  # rad, of fast and of slow slips; less is rounding, more changes friction along the slip
SLOW = 100.0  # of the speed that counts as zero: about the error of a velocity in a step
AHEAD = 0.1  # of the largest angle: that at which a contact begins to be held, and its turn in the last step
TRIED = 2  # `straight` of a contact while forces are found with it held
WAIT = 100  # steps after a slip turned, in which nothing is held: an event costs as much as these


@inlined
def most_angle(touch, tiny):
    """The largest angle between friction and slip of a contact that is held on its line, rad: |f_e| over μ f_n. The velocity
    across the line lags by this part of the slip: by at most `SLOW` speeds that count as zero where the slip is slow."""
    u, v = touch.velocity[1], touch.velocity[2]
    slow = SLOW * tiny / max(math.sqrt(u * u + v * v), tiny)
    return min(max(LEAST_ANGLE, slow), MOST_ANGLE)


@njit
def hold_lines(touching):
    """Hold each sliding contact on its line if the forces in the table hardly bend it, and those that hold it are small. They
    are not small where joints leave no motion across the line, which then turns with them; nothing needs to be held there."""
    options, tried = touching.options[0], False
    for k in range(options.active):
        touch = touching.touches[k]
        if touch.mode == SLIDING and touch.straight == 0 and touch.force[0] > options.tiny_force:
            bend, response = bend_of(k, sliding_direction(touch, options.tiny_speed), touching)
            if abs(bend) <= most_across(touch, options.tiny_speed) * response:
                touch.straight, tried = TRIED, True
    while tried:
        solved, tried = find_forces(options.active, touching) == 0, False
        for k in range(options.active):
            touch = touching.touches[k]
            if touch.straight == TRIED:
                d = sliding_direction(touch, options.tiny_speed)
                if not (solved and abs(force_across(touch, d)) <= most_across(touch, options.tiny_speed)):
                    touch.straight, tried = 0, True
    for k in range(options.active):
        touch = touching.touches[k]
        touch.straight = min(touch.straight, 1)


@inlined
def most_across(touch, tiny):
    """The largest force across its line with which a contact begins to be held on it, N."""
    return AHEAD * most_angle(touch, tiny) * touch.friction * touch.force[0]


@inlined
def force_across(touch, d):
    """The force across the way d along which a contact slides, N."""
    return d[0] * touch.force[2] - d[1] * touch.force[1]


@njit
def hold_straight(touching):
    """`hold_lines`, at the end of a step in which no slip turned."""
    options = touching.options[0]
    tiny = options.tiny_speed
    if options.wait > 0:
        options.wait -= 1
        return
    for k in range(options.active):
        touch = touching.touches[k]
        if touch.mode == SLIDING and touch.straight == 0:
            turn = turn_since(touch, sliding_direction(touch, tiny))
            if not is_seen(touch, tiny) or turn > AHEAD * most_angle(touch, tiny):
                return
    hold_lines(touching)


@njit
def bend_of(k, d, touching):
    """(acceleration across d of contact k under the forces in the table, response to a unit force there)."""
    touches, matrix = touching.touches, touching.matrix
    width, row = 3 * touches.shape[0], 3 * k + 1
    bend = d[0] * touching.free[row + 1] - d[1] * touching.free[row]
    for i in range(touching.options[0].active):
        for c in range(3):
            at = row * width + 3 * i + c
            bend += touches[i].force[c] * (d[0] * load(matrix, at + width) - d[1] * load(matrix, at))
    at = row * width + row
    mixed = load(matrix, at + 1) + load(matrix, at + width)
    return bend, d[1] * d[1] * load(matrix, at) - d[0] * d[1] * mixed + d[0] * d[0] * load(matrix, at + width + 1)


@inlined
def is_seen(touch, tiny):
    """Whether a contact slides so fast that the direction is that of the slip, see `sliding_direction`."""
    u, v = touch.velocity[1], touch.velocity[2]
    return u * u + v * v > (BLIND * tiny) ** 2


@inlined
def turn_since(touch, d):
    """Sine of the angle between d and `slide`."""
    f, slide = touch.frame, load3(touch.slide)
    u, v = dot((f[3], f[4], f[5]), slide), dot((f[6], f[7], f[8]), slide)
    return abs(d[0] * v - d[1] * u)


# The derivative --------------------------------------------------------------------------------------------------------


@njit
def sum_columns(active, tables):
    """The wrench of the forces in the table on every body, into `shift`."""
    touching = tables.touching
    touches, columns, shift = touching.touches, touching.columns, touching.shift
    size = 6 * tables.system.bodies.shape[0]
    for x in range(size):
        shift[x] = 0.0
    for k in range(active):
        for c in range(3):
            f = touches[k].force[c]
            if f != 0.0:
                at = (3 * k + c) * size
                for x in range(size):
                    store(shift, x, load(shift, x) + f * load(columns, at + x))


@njit
def add_forces(active, dydt, tables):
    """Add the forces in the table to the derivative: momenta, and the rates of the ledger."""
    touching = tables.touching
    touches, shift = touching.touches, touching.shift
    kinematics = tables.system.kinematics
    sum_columns(active, tables)
    add_to_momenta(1.0, dydt, dydt, tables)
    power = 0.0
    entry = touching.options[0].ledger
    own, rubbed = 0.0, 0.0
    for k in range(active):
        touch = touches[k]
        own += touch.force[0] * touch.velocity[0]
        rubbed += touch.force[1] * touch.velocity[1] + touch.force[2] * touch.velocity[2]
    dydt[entry] += own
    dydt[entry + 1] += rubbed
    for i in range(tables.system.bodies.shape[0]):
        kin = kinematics[i]
        power += dot(three(shift, 6 * i), load3(kin.v)) + dot(three(shift, 6 * i + 3), load3(kin.omega))
    dydt[dydt.shape[0] - len(LEDGER) + CONSTRAINT_WORK] += power - own - rubbed
    if tables.system.commands.shape[0] > 0:
        add_drives(active, CONSTRAINT_WORK, dydt, tables)
        add_belt_powers(active, dydt, tables)


@njit
def add_drives(active, other, values, tables):
    """The drives take what the contacts in the table do to all that moves by command, whose momenta in `values`, rates or
    those of the state, are zero but for it. Their work goes to their entries; that through joints is in entry `other` so
    far."""
    system, touching = tables.system, tables.touching
    commands, kinematics = system.commands, system.kinematics
    common = values.shape[0] - len(LEDGER)
    first = common - system.settings[0].ledger
    for i in range(commands.shape[0]):
        row = commands[i]
        if row.body >= 0:
            kin, at = kinematics[row.body], STATE_SIZE * row.body + 7
            f, torque = three(values, at), three(values, at + 3)
            put_three(values, at, (0.0, 0.0, 0.0))
            put_three(values, at + 3, (0.0, 0.0, 0.0))
            work = -dot(f, load3(kin.v)) - dot(torque, load3(kin.omega))
            moment = add(cross(load3(kin.x), f), torque)
            at = common + REACTION_IMPULSE
            put_three(values, at, sub(three(values, at), f))
            at = common + REACTION_TORQUE
            put_three(values, at, sub(three(values, at), moment))
        else:
            work = drive_of_row(row.row, active, system, touching)
            values[common + other] -= work
        values[first + row.entry] += work


@njit
def drive_of_row(row, active, system, touching):
    """−Δλ ∂C/∂t of a prescribed coordinate, Δλ the answer of its row to the forces in the table."""
    if row < 0:
        return 0.0
    touches, unknowns = touching.touches, system.multipliers.shape[0]
    answer = 0.0
    for k in range(active):
        for c in range(3):
            if touches[k].force[c] != 0.0:
                answer += touches[k].force[c] * load(touching.answers, (3 * k + c) * unknowns + row)
    return -answer * load(system.partial, row)


@njit
def add_belt_powers(active, dydt, tables):
    """The powers of surfaces that move along themselves, which are in CONSTRAINT_WORK so far, to their entries."""
    system, touches = tables.system, tables.touching.touches
    commands = system.commands
    common = dydt.shape[0] - len(LEDGER)
    first = common - system.settings[0].ledger
    for k in range(active):
        touch = touches[k]
        f = touch.frame
        force = add(scale(touch.force[0], (f[0], f[1], f[2])), scale(touch.force[1], (f[3], f[4], f[5])))
        force = add(force, scale(touch.force[2], (f[6], f[7], f[8])))
        for i in range(commands.shape[0]):
            row = commands[i]
            power = 0.0
            if row.body == touch.j:
                power = dot(force, load3(touch.belt_j))
            elif row.body == touch.i:
                power = -dot(force, load3(touch.belt_i))
            dydt[first + row.entry] += power
            dydt[common + CONSTRAINT_WORK] -= power


@inlined
def node_at(i, system):
    """Where the position of a node, row i of `bodies`, stands in the state vector; its momentum follows 3 n later."""
    return STATE_SIZE * system.settings[0].rigid + 3 * system.nodes[i - system.settings[0].rigid].particle


@njit
def add_to_momenta(s, momenta, ledger, tables):
    """Add s times `shift` to the momenta of the state vector `momenta`, and to the reactions in that of `ledger`."""
    system = tables.system
    settings = system.settings[0]
    shift = tables.touching.shift
    kinematics = system.kinematics
    force_at = ledger.shape[0] - len(LEDGER) + REACTION_IMPULSE
    torque_at = ledger.shape[0] - len(LEDGER) + REACTION_TORQUE
    for i in range(system.bodies.shape[0]):
        force, torque = scale(s, three(shift, 6 * i)), scale(s, three(shift, 6 * i + 3))
        if i < settings.rigid:
            at = STATE_SIZE * i + 7
            put_three(momenta, at + 3, add(three(momenta, at + 3), torque))
        else:
            at, torque = node_at(i, system) + 3 * settings.particles, (0.0, 0.0, 0.0)
        put_three(momenta, at, add(three(momenta, at), force))
        put_three(ledger, force_at, add(three(ledger, force_at), force))
        moment = add(cross(load3(kinematics[i].x), force), torque)
        put_three(ledger, torque_at, add(three(ledger, torque_at), moment))


@njit
def contact_forces(y, dydt, tables):
    """The forces at the state whose smooth derivative is dydt, added to it. Returns a status."""
    active = tables.touching.options[0].active
    if active == 0:
        return 0
    update_touches(active, tables)
    compute_responses(active, tables)
    free_accelerations(active, y, dydt, tables)
    status = find_forces(active, tables.touching)
    if status == 0:
        add_forces(active, dydt, tables)
    return status


@njit
def momenta_to_velocities(tables):
    """shift ← W shift: momenta become velocities."""
    shift = tables.touching.shift
    bodies = tables.system.bodies
    for i in range(bodies.shape[0]):
        put_three(shift, 6 * i, scale(bodies[i].inverse_mass, three(shift, 6 * i)))
        inverse = load6(tables.system.kinematics[i].inverse_inertia)
        put_three(shift, 6 * i + 3, symvec(inverse, three(shift, 6 * i + 3)))


# End of a step ---------------------------------------------------------------------------------------------------------
#
# Contacts that bear force are projected, as joints are. Position: δ = W Jᵀ μ with A_nn μ = −g, the least correction in the
# metric of the masses that leaves the joints closed. Velocity: the impulse that removes the normal rates, and all rates of
# contacts that stick. The work of both goes to the ledger, as that of the projection of joints.


ROUNDING = 1e-3  # of `tiny_gap`: smaller gaps are rounding
ITERATIONS = 8  # of the position correction


@njit
def project_contacts(t, y, dydt, tables):
    """Complete a step in place: project contacts that bear force, and compute the derivative into dydt. Returns a status."""
    touching = tables.touching
    options = touching.options[0]
    status = call_pointer(options.mechanism, options.mechanism_data, COMPLETE, t, y, dydt)
    if status != 0 or options.active == 0:
        return status
    gained = -potential_energy(y, tables)
    worst = update_active(tables)
    for _ in range(ITERATIONS):
        if not worst > ROUNDING * options.tiny_gap:
            break
        compute_responses(options.active, tables)
        if solve_correction(0, touching) != 0:
            return UNSOLVED
        gained += apply_position_correction(y, tables)
        status = call_pointer(options.mechanism, options.mechanism_data, DERIVATIVE, t, y, dydt)
        if status != 0:
            return status
        before = worst
        worst = update_active(tables)
        if not worst < 0.5 * before:
            break
    compute_responses(options.active, tables)
    if solve_correction(1, touching) != 0:
        return UNSOLVED
    gained += apply_velocity_correction(y, tables)
    status = call_pointer(options.mechanism, options.mechanism_data, DERIVATIVE, t, y, dydt)
    if status != 0:
        return status
    gained += potential_energy(y, tables)
    y[y.shape[0] - len(LEDGER) + PROJECTION_WORK] += gained
    status = contact_forces(y, dydt, tables)
    hold_straight(touching)
    store_slides(touching)
    return status


@njit
def potential_energy(y, tables):
    """The potential energy of the forces on bodies (J)."""
    call_pointer(tables.touching.options[0].mechanism, tables.touching.options[0].mechanism_data, POTENTIAL, 0.0, y, y)
    return tables.system.energies[1]


@njit
def update_active(tables):
    """The geometry of the active contacts; returns their largest gap."""
    active = tables.touching.options[0].active
    update_touches(active, tables)
    worst = 0.0
    for k in range(active):
        worst = max(worst, abs(tables.touching.touches[k].gap))
    return worst


@njit
def solve_correction(velocities, touching):
    """The multipliers that remove the gaps (velocities = 0) or the rates (1), as forces in the table. Returns 0, or 1 where
    they cannot be found."""
    touches, rows, right, unknown = touching.touches, touching.rows, touching.right, touching.unknown
    active = touching.options[0].active
    n = list_unknowns(active, velocities, 0, touching)
    set_equations(n, 0, touching)
    for i in range(n):
        touch = touches[rows[i] // 3]
        right[i] = -touch.velocity[rows[i] % 3] if velocities != 0 else -touch.gap
    if solve_least(n, touching) != 0:
        return 1
    for k in range(active):
        store3(touches[k].force, (0.0, 0.0, 0.0))
    for i in range(n):
        touches[rows[i] // 3].force[rows[i] % 3] = unknown[i]
    return 0


@njit
def apply_position_correction(y, tables):
    """Move the bodies by the multipliers in the table; returns the kinetic energy gained, as `projection` does."""
    system = tables.system
    shift = tables.touching.shift
    kinematics = system.kinematics
    sum_columns(tables.touching.options[0].active, tables)
    momenta_to_velocities(tables)
    gained = 0.0
    ledger = y.shape[0] - len(LEDGER) + REACTION_TORQUE
    settings = system.settings[0]
    for i in range(system.bodies.shape[0]):
        node = i >= settings.rigid
        at = node_at(i, system) if node else STATE_SIZE * i
        move, turn = three(shift, 6 * i), three(shift, 6 * i + 3)
        moment = cross(move, three(y, at + (3 * settings.particles if node else 7)))
        put_three(y, at, add(three(y, at), move))
        put_three(y, ledger, add(three(y, ledger), moment))
        if node:
            continue
        gained += dot(turn, cross(load3(kinematics[i].omega), three(y, at + 10)))
        q = rotate_by((y[at + 3], y[at + 4], y[at + 5], y[at + 6]), turn)
        for x in range(4):
            y[at + 3 + x] = q[x]
    return gained


@njit
def apply_velocity_correction(y, tables):
    """Apply the impulses in the table; returns the kinetic energy gained: ½ Δp·(v + v′) over all bodies."""
    shift = tables.touching.shift
    bodies = tables.system.bodies
    kinematics = tables.system.kinematics
    sum_columns(tables.touching.options[0].active, tables)
    add_to_momenta(1.0, y, y, tables)
    if tables.system.commands.shape[0] > 0:
        add_drives(tables.touching.options[0].active, PROJECTION_WORK, y, tables)
    gained = 0.0
    for i in range(bodies.shape[0]):
        kin = kinematics[i]
        force, torque = three(shift, 6 * i), three(shift, 6 * i + 3)
        gained += dot(force, load3(kin.v)) + dot(torque, load3(kin.omega))
        gained += 0.5 * bodies[i].inverse_mass * dot(force, force)
        gained += 0.5 * dot(torque, symvec(load6(kin.inverse_inertia), torque))
    return gained


@njit
def store_slides(touching):
    """Store the direction in which each contact slides, for the next step; see `sliding_direction`."""
    options = touching.options[0]
    touches = touching.touches
    for k in range(options.active):
        touch = touches[k]
        if touch.mode == SLIDING:
            u, v = sliding_direction(touch, options.tiny_speed)
            f = touch.frame
            store3(touch.slide, (u * f[3] + v * f[6], u * f[4] + v * f[7], u * f[5] + v * f[8]))
