"""Prescribed motions: kinematic bodies, and joint coordinates that are functions of time.

A kinematic body has neither mass nor momentum. Its inverse mass and inertia are zero, so no force changes its velocity.
Its prescribed pose and velocity are in the kinematics table, where constraints, forces and contacts read those of all
bodies. A coordinate s(t) is the constraint

    C = s(q) − s(t),   Ċ = J v + ∂C/∂t,   ∂C/∂t = −ṡ(t),   C̈ = J v̇ + J̇ v − s̈(t).

The drive exerts the force that this motion requires. The drive's power is, for a body that gets the force f and the
torque τ from all others, −(f·v + τ·ω), and for a row with the multiplier λ, −λ ∂C/∂t. Both go to the ledger.

In order: motions, functions for derivatives and the end of a step, functions for a time step of contact, and the C
function, which only scenes with motions compile.
"""

import math

import numpy as np

from ..core.c_function import C_SIGNATURE, DERIVATIVE, call_pointer, viewer
from ..core.elementary import sin_cos
from ..core.jit import DISABLED, CFunction, inlined, njit
from ..core.math3 import (
    add,
    add_scaled,
    conjugate,
    cross,
    dot,
    from_rotation_vector,
    load3,
    matvec,
    multiply,
    norm,
    normalize,
    rotate_by,
    rotation_vector,
    scale,
    store3,
    sub,
    to_matrix,
)
from ..core.simd import load, store
from ..core.tables import own_address, table_at
from ..linalg.block_matrix import load_3, store_3
from ..model.tables import (
    COMMAND_FUNCTION,
    COMMAND_KEYFRAMES,
    COMMAND_SET,
    CONSTRAINT_WORK,
    LEDGER,
    PROJECTION_WORK,
    REACTION_IMPULSE,
    REACTION_TORQUE,
    STATE_SIZE,
    System,
)

# Tasks of the C function: motions at t; poses at t into y; powers of drives; for a step of contact over h = out[0], its
# begin, that of an instant, velocities with share t of those after it, and its books, with the impulses of joints in `out`;
# the books of the projection of velocities.
MOTIONS, PLACES, DRIVES, BEGIN_STEP, BEGIN_INSTANT, SHOW_VELOCITIES, SETTLE, SETTLE_PROJECTION = range(8)
ZERO = (0.0, 0.0, 0.0)
HEADER, BODY_PIECE, SCALAR_PIECE = 4, 29, 5  # as in `scene.motion`
AT_END = 1e-6  # of the time since a motion was set: it has arrived, but for the rounding of times
OVER_PIECE = 1e-4  # of a piece of keyframes: the difference that gives its angular acceleration


@njit
def load_quaternion(a):
    """The four numbers of a record's field."""
    return (a[0], a[1], a[2], a[3])


@njit
def store_quaternion(a, q):
    """a[:4] = q."""
    for k in range(4):
        a[k] = q[k]


# Motions ----------------------------------------------------------------------------------------------------------------


@njit
def evaluate(t, row, system):
    """Write x, q, v, omega, a, alpha of a motion at a time (s). Returns the status of the user's function."""
    if row.kind == COMMAND_FUNCTION:
        return evaluate_function(t, row, system.scratch)
    if row.kind == COMMAND_KEYFRAMES:
        at, s, width = find_piece(t, row.table, BODY_PIECE if row.body >= 0 else SCALAR_PIECE, system.keyframes)
        if row.body >= 0:
            evaluate_piece(s, width, at, row, system.keyframes)
        else:
            row.x[0], row.v[0], row.a[0] = cubic(s, at + 1, system.keyframes)
            if width == 0.0:
                row.v[0], row.a[0] = 0.0, 0.0
        return 0
    moved = min(max(t, row.begin), row.end) - row.begin
    moving = t <= row.end or t - row.end <= AT_END * (t - row.begin)  # until it arrives, where the next step stops it
    v, omega = load3(row.set_v), load3(row.set_omega)
    store3(row.x, add_scaled(load3(row.from_x), moved, v))
    store_quaternion(row.q, rotate_by(load_quaternion(row.from_q), scale(moved, omega)))
    store3(row.v, v if moving else ZERO)
    store3(row.omega, omega if moving else ZERO)
    store3(row.a, ZERO)
    store3(row.alpha, ZERO)
    return 0


# q̇ = ½ ω q gives ω = 2 q̇ q⁻¹, and q̈ q⁻¹ = ½ α − ¼ |ω|². For a q of any length, as a user's function returns it, the vector
# parts of q̇ q⁻¹ and q̈ q⁻¹ are those of the unit one, but for products with the change of that length.
@njit
def evaluate_function(t, row, scratch):
    """The same of a function of the user's, which returns values, rates and second rates."""
    size = 7 if row.body >= 0 else 1
    out = scratch[1 : 1 + 3 * size]
    status = call_pointer(row.address, 0, DERIVATIVE, t, scratch[:1], out)
    if status != 0:
        return status
    if size == 1:
        row.x[0], row.v[0], row.a[0] = out[0], out[1], out[2]
        return 0
    store3(row.x, load_3(out, 0))
    store3(row.v, load_3(out, 7))
    store3(row.a, load_3(out, 14))
    q = (out[3], out[4], out[5], out[6])
    length = dot4(q, q)
    inverse = conjugate(q)
    first, second = (out[10], out[11], out[12], out[13]), (out[17], out[18], out[19], out[20])
    turn, twist = multiply(first, inverse), multiply(second, inverse)
    stretch = dot4(q, first) / length
    omega = (2.0 * turn[1] / length, 2.0 * turn[2] / length, 2.0 * turn[3] / length)
    alpha = (2.0 * twist[1] / length, 2.0 * twist[2] / length, 2.0 * twist[3] / length)
    store_quaternion(row.q, normalize(q))
    store3(row.omega, omega)
    store3(row.alpha, add_scaled(alpha, -2.0 * stretch, omega))
    return 0


@njit
def dot4(p, q):
    """p·q of quaternions."""
    return p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3]


@njit
def find_piece(t, at, size, keyframes):
    """(where the piece of a time begins in the array, the time since its start, its width; 0 before the first keyframe and
    after the last, where the motion stands still)."""
    count, first, last = int(keyframes[at]), keyframes[at + 1], keyframes[at + 2]
    still = False
    if keyframes[at + 3] > 0.0:
        t -= math.floor((t - first) / (last - first)) * (last - first)
    elif t <= first or t >= last:
        still, t = True, min(max(t, first), last)
    low, high = 0, count - 1
    while low < high:
        middle = (low + high + 1) // 2
        if keyframes[at + HEADER + size * middle] <= t:
            low = middle
        else:
            high = middle - 1
    start = at + HEADER + size * low
    end = keyframes[start + size] if low + 1 < count else last
    return start, t - keyframes[start], 0.0 if still else end - keyframes[start]


@njit
def cubic(s, at, keyframes):
    """A cubic with coefficients from `at` on, and its two derivatives, at s."""
    c0, c1, c2, c3 = keyframes[at], keyframes[at + 1], keyframes[at + 2], keyframes[at + 3]
    return c0 + s * (c1 + s * (c2 + s * c3)), c1 + s * (2.0 * c2 + 3.0 * s * c3), 2.0 * c2 + 6.0 * s * c3


@njit
def cubic_3(s, at, keyframes):
    """Three of them: value, rate, second rate, (3,) each."""
    x0, v0, a0 = cubic(s, at, keyframes)
    x1, v1, a1 = cubic(s, at + 4, keyframes)
    x2, v2, a2 = cubic(s, at + 8, keyframes)
    return (x0, x1, x2), (v0, v1, v2), (a0, a1, a2)


@njit
def evaluate_piece(s, width, at, row, keyframes):
    """The pose, velocity and acceleration at s in a piece of keyframes that begins at `at`."""
    x, v, a = cubic_3(s, at + 1, keyframes)
    start = (keyframes[at + 13], keyframes[at + 14], keyframes[at + 15], keyframes[at + 16])
    turn, _, _ = cubic_3(s, at + 17, keyframes)
    rotation = to_matrix(start)
    q = multiply(start, from_rotation_vector(turn))
    store3(row.x, x)
    store_quaternion(row.q, q)
    if width == 0.0:
        store3(row.v, ZERO)
        store3(row.omega, ZERO)
        store3(row.a, ZERO)
        store3(row.alpha, ZERO)
        return
    h = OVER_PIECE * width
    before, after = spin_of_piece(s - h, at, keyframes), spin_of_piece(s + h, at, keyframes)
    store3(row.v, v)
    store3(row.a, a)
    store3(row.omega, matvec(rotation, spin_of_piece(s, at, keyframes)))
    store3(row.alpha, matvec(rotation, scale(0.5 / h, sub(after, before))))


# ω = J φ̇ in the axes of the keyframe, with the left Jacobian J = 1 + (1 − cos θ)/θ² [φ] + (θ − sin θ)/θ³ [φ]².
@njit
def spin_of_piece(s, at, keyframes):
    """The angular velocity in a piece, in the axes of its first keyframe."""
    phi, rate, _ = cubic_3(s, at + 17, keyframes)
    size = norm(phi)
    once = cross(phi, rate)
    twice = cross(phi, once)
    if size < 1e-4:
        return add_scaled(add_scaled(rate, 0.5, once), 1.0 / 6.0, twice)
    sine, cosine = sin_cos(size)
    omega = add_scaled(rate, (1.0 - cosine) / (size * size), once)
    return add_scaled(omega, (size - sine) / (size * size * size), twice)


# What a derivative needs --------------------------------------------------------------------------------------------------


@njit
def evaluate_all(t, system):
    """All motions at a time, and the rows of the kinematic bodies in the kinematics table. Returns a status."""
    commands, kinematics = system.commands, system.kinematics
    for i in range(commands.shape[0]):
        row = commands[i]
        status = evaluate(t, row, system)
        if status != 0:
            return status
        if row.body >= 0:
            kin = kinematics[row.body]
            rotation = to_matrix(load_quaternion(row.q))
            for k in range(9):
                kin.rotation[k] = rotation[k]
            store3(kin.x, load3(row.x))
            store3(kin.v, load3(row.v))
            store3(kin.omega, load3(row.omega))
    return 0


@inlined
def set_accelerations(system):
    """The accelerations of kinematic bodies, into the kinematics table."""
    commands, kinematics = system.commands, system.kinematics
    for i in range(commands.shape[0]):
        if commands[i].body >= 0:
            kin = kinematics[commands[i].body]
            store3(kin.acceleration, load3(commands[i].a))
            store3(kin.turning, load3(commands[i].alpha))


@njit
def place(t, y, system):
    """The poses of kinematic bodies at a time, into the state y. Returns a status."""
    commands = system.commands
    for i in range(commands.shape[0]):
        row = commands[i]
        status = evaluate(t, row, system)
        if status != 0:
            return status
        write_pose(row, y)
    return 0


@njit
def write_pose(row, y):
    """The pose of a kinematic body, where it was evaluated last, into the state y."""
    if row.body >= 0:
        at = STATE_SIZE * row.body
        store_3(y, at, load3(row.x))
        for k in range(4):
            store(y, at + 3 + k, row.q[k])


@njit
def drive_rates(y, dydt, system):
    """The powers of the drives into dydt, where kinematic bodies have no rate of momentum."""
    commands, multipliers, partial = system.commands, system.multipliers, system.partial
    common = state_end(system) - len(LEDGER)
    first = common - system.settings[0].ledger
    for i in range(commands.shape[0]):
        row = commands[i]
        if row.body < 0:
            work = -load(multipliers, row.row) * load(partial, row.row) if row.row >= 0 else 0.0
            store(dydt, common + CONSTRAINT_WORK, load(dydt, common + CONSTRAINT_WORK) - work)
        else:
            at = STATE_SIZE * row.body
            f, torque = load_3(dydt, at + 7), load_3(dydt, at + 10)
            store_3(dydt, at + 7, ZERO)
            store_3(dydt, at + 10, ZERO)
            work = -dot(f, load3(row.v)) - dot(torque, load3(row.omega))
            moment = add(cross(load3(row.x), f), torque)
            store_3(dydt, common + REACTION_IMPULSE, sub(load_3(dydt, common + REACTION_IMPULSE), f))
            store_3(dydt, common + REACTION_TORQUE, sub(load_3(dydt, common + REACTION_TORQUE), moment))
        store(dydt, first + row.entry, work)


@njit
def state_end(system):
    """How many numbers the state has without what a step carries behind it."""
    return (
        STATE_SIZE * system.settings[0].rigid + 6 * system.settings[0].particles + system.coordinates.shape[0]
        + system.power.shape[0]
    )  # fmt: skip


# A time step of contact ----------------------------------------------------------------------------------------------------
#
# Forces and impulses act at the middle of a step, where velocities change from v⁻ to v⁺. From there to the middle of the next
# step bodies move at v⁺. So the v⁺ of a kinematic body is its displacement between these two instants over h: what lies on it
# keeps its distance. In a step forces and impulses add to the momenta of kinematic bodies in the state, which are zero before
# and after it; so these momenta are what the drive has to balance.


@njit
def begin_step(t, h, y, system):
    """`before` and `after` of all motions for a step over h from t (s), and the poses of its middle in the state y. Returns a
    status."""
    commands = system.commands
    for i in range(commands.shape[0]):
        row = commands[i]
        if row.body < 0:
            if row.kind == COMMAND_SET:
                begin_set_row(t, h, row, system)
            continue
        status = evaluate(t + 0.5 * h, row, system)
        if status != 0:
            return status
        x, q, v, omega = load3(row.x), load_quaternion(row.q), load3(row.v), load3(row.omega)
        write_pose(row, y)
        if row.kind == COMMAND_FUNCTION or row.kind == COMMAND_KEYFRAMES:
            status = evaluate(t + 1.5 * h, row, system)
            if status != 0:
                return status
            v, omega = rates_between(x, q, load3(row.x), load_quaternion(row.q), h)
            store3(row.after_v, v)
            store3(row.after_omega, omega)
            if t >= h:
                evaluate(t - 0.5 * h, row, system)
                v, omega = rates_between(load3(row.x), load_quaternion(row.q), x, q, h)
            else:
                evaluate(t, row, system)
                v, omega = load3(row.v), load3(row.omega)
            store3(row.before_v, v)
            store3(row.before_omega, omega)
        else:
            v, omega = load3(row.after_v), load3(row.after_omega)
            store3(row.after_v, load3(row.v))
            store3(row.after_omega, load3(row.omega))
            store3(row.before_v, v)
            store3(row.before_omega, omega)
    return 0


# The rate of a coordinate that is set may jump, where it is set and where it arrives. The impulses of that step act at the
# mean of the rates before and after them, as those of other rows do, and not at the rate in its middle.
@njit
def begin_set_row(t, h, row, system):
    """The same of such a coordinate. `after`: its rate at the end of the last step, then at the end of this one; `before`:
    what the mean rate has more than that in the middle of the step, until `settle` clears it."""
    start = row.after_v[0]
    evaluate(t + h, row, system)
    row.after_v[0] = row.v[0]
    evaluate(t + 0.5 * h, row, system)
    row.before_v[0] = 0.5 * (start - row.v[0])


@njit
def rates_between(x, q, x_after, q_after, h):
    """The constant velocity and angular velocity that lead from one pose to another in h (s)."""
    turn = rotation_vector(multiply(q_after, conjugate(q)))
    return scale(1.0 / h, sub(x_after, x)), scale(1.0 / h, turn)


@njit
def set_both(row, v, omega):
    """The same velocity at both ends of the step."""
    store3(row.before_v, v)
    store3(row.before_omega, omega)
    store3(row.after_v, v)
    store3(row.after_omega, omega)


@njit
def begin_instant(t, y, system):
    """The same for an instant t, in which only impulses act. Returns a status."""
    commands = system.commands
    for i in range(commands.shape[0]):
        row = commands[i]
        if row.body >= 0:
            status = evaluate(t, row, system)
            if status != 0:
                return status
            write_pose(row, y)
            set_both(row, load3(row.v), load3(row.omega))
    return 0


@njit
def show_velocities(share, system):
    """Velocities of kinematic bodies into the kinematics table: (1 − share) of those before the impulses of the step and
    `share` of those after."""
    commands, kinematics = system.commands, system.kinematics
    for i in range(commands.shape[0]):
        row = commands[i]
        if row.body < 0:
            continue
        v, omega = step_velocity(share, row)
        kin = kinematics[row.body]
        store3(kin.v, v)
        store3(kin.omega, omega)


@njit
def step_velocity(share, row):
    """The same of one body, (v, ω)."""
    v = add(scale(1.0 - share, load3(row.before_v)), scale(share, load3(row.after_v)))
    return v, add(scale(1.0 - share, load3(row.before_omega)), scale(share, load3(row.after_omega)))


@njit
def surface_velocity(row):
    """(v, ω) of the surface of a kinematic body beside that of the body, world axes. Only what touches it feels that."""
    rotation = to_matrix(load_quaternion(row.q))
    return matvec(rotation, load3(row.surface_v)), matvec(rotation, load3(row.surface_omega))


@njit
def book_surface(body, impulse, moment, y, system):
    """Book the work of the drive of a moving surface against an impulse on its body, with the moment about its center."""
    commands = system.commands
    for i in range(commands.shape[0]):
        if commands[i].body == body:
            slide, spin = surface_velocity(commands[i])
            book_drive(body, -dot(impulse, slide) - dot(moment, spin), y, system)


@njit
def book_drive(body, work, y, system):
    """Add to the work of the drive of a kinematic body in the ledger."""
    commands, first = system.commands, y.shape[0] - len(LEDGER) - system.settings[0].ledger
    for i in range(commands.shape[0]):
        if commands[i].body == body:
            store(y, first + commands[i].entry, load(y, first + commands[i].entry) + work)


@njit
def settle(y, multipliers, system):
    """Book the work of all drives in a step, and clear the momenta that kinematic bodies received. multipliers: the impulses
    of the rows of joints."""
    commands = system.commands
    for i in range(commands.shape[0]):
        row = commands[i]
        if row.body < 0:
            settle_row(row, y, multipliers, system)
        else:
            v, omega = step_velocity(0.5, row)
            book_body(row, v, omega, y, system)


@njit
def settle_row(row, y, multipliers, system):
    """The same of the drive of a coordinate in a step."""
    if row.row >= 0:
        book_row(row, -load(system.partial, row.row), y, multipliers, system)
    row.before_v[0] = 0.0


# The multipliers of a projection of velocities are impulses too. The part of their work that passes through rows and bodies
# that move is a drive's, and no error. A row passes on the mean of its rates before and after.
@njit
def settle_projection(y, system):
    """The same of the projection of velocities, whose energy gain is booked as work of projection."""
    commands = system.commands
    settle_projected_rows(y, system.rhs, system)
    for i in range(commands.shape[0]):
        if commands[i].body >= 0:
            book_body(commands[i], load3(commands[i].v), load3(commands[i].omega), y, system)


@njit
def settle_projected_rows(y, changes, system):
    """Its part for coordinates; y: a state that ends with the ledger; changes: of the rates of all rows."""
    commands = system.commands
    projection = y.shape[0] - len(LEDGER) + PROJECTION_WORK
    for i in range(commands.shape[0]):
        row = commands[i]
        if row.body < 0 and row.row >= 0:
            rate = -load(system.partial, row.row) - 0.5 * load(changes, row.row)
            work = book_row(row, rate, y, system.multipliers, system)
            store(y, projection, load(y, projection) - work)


@njit
def book_row(row, rate, y, multipliers, system):
    """The work of the drive of a coordinate at a rate, λ ṡ, into the ledger; returns it (J)."""
    work = load(multipliers, row.row) * rate
    entry = y.shape[0] - len(LEDGER) - system.settings[0].ledger + row.entry
    store(y, entry, load(y, entry) + work)
    return work


@njit
def book_body(row, v, omega, y, system):
    """The work of the drive of a body with these velocities, which takes up the momenta that it received."""
    common = y.shape[0] - len(LEDGER)
    entry = common - system.settings[0].ledger + row.entry
    at = STATE_SIZE * row.body
    p, spin = load_3(y, at + 7), load_3(y, at + 10)
    moment = add(cross(load_3(y, at), p), spin)
    store_3(y, at + 7, ZERO)
    store_3(y, at + 10, ZERO)
    store_3(y, common + REACTION_IMPULSE, sub(load_3(y, common + REACTION_IMPULSE), p))
    store_3(y, common + REACTION_TORQUE, sub(load_3(y, common + REACTION_TORQUE), moment))
    store(y, entry, load(y, entry) - dot(p, v) - dot(spin, omega))


# The C function ----------------------------------------------------------------------------------------------------------

_floats = viewer(np.float64)


@njit
def command_task(task, t, y, out, system):
    """Do one of the tasks; returns a status."""
    if task == MOTIONS:
        return evaluate_all(t, system)
    if task == PLACES:
        return place(t, y, system)
    if task == DRIVES:
        drive_rates(y, out, system)
    elif task == BEGIN_STEP:
        return begin_step(t, out[0], y, system)
    elif task == BEGIN_INSTANT:
        return begin_instant(t, y, system)
    elif task == SHOW_VELOCITIES:
        show_velocities(t, system)
    elif task == SETTLE:
        settle(y, out, system)
    elif task == SETTLE_PROJECTION:
        settle_projection(y, system)
    return 0


def commands_entry(data, task, t, y, n, out, m):
    return command_task(task, t, _floats(y, n), _floats(out, m), table_at(System, data))


COMMANDS_ENTRY = CFunction(commands_entry, C_SIGNATURE)

if DISABLED:

    def call_commands(task, t, y, out, system):
        """Do one of the tasks. Returns a status."""
        return command_task(task, t, y, out, system)

else:

    @njit
    def call_commands(task, t, y, out, system):
        """Do one of the tasks. Returns a status."""
        return call_pointer(system.settings[0].motions, own_address(system), task, t, y, out)
