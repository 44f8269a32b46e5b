"""What forces of contact do: columns of J W Jᵀ, with the answer of the joints in them.

A unit force at a contact accelerates its two bodies, and the joints answer with Δλ so that G v̇ stays what it is:
G W Gᵀ Δλ = −G W Jᵀ. The column holds Jᵀ + Gᵀ Δλ of every body; its product with the Jacobian of another contact is the
entry of the matrix, which so belongs to the mechanism and not to loose bodies. An impulse does the same to velocities.
"""

from ..jit import inlined, njit
from ..mechanics.constraints import jacobian_acceleration, solve_multipliers
from ..mechanics.kinematics import load6
from ..model.tables import PENALTY, STATE_SIZE
from ..unchecked import peek, poke
from ..vec import add, cross, dot, load3, scale, sub, symvec


@inlined
def axis(touch, c):
    """Normal or tangent number c."""
    return (touch.frame[3 * c], touch.frame[3 * c + 1], touch.frame[3 * c + 2])


@inlined
def three(values, at):
    return (peek(values, at), peek(values, at + 1), peek(values, at + 2))


@inlined
def put(values, at, a):
    poke(values, at, a[0])
    poke(values, at + 1, a[1])
    poke(values, at + 2, a[2])


@njit
def respond(count, system, touching):
    """Columns and matrix of the first `count` touches, at the geometry that is in their table."""
    touches = touching.touches
    columns = touching.columns
    size = 6 * system.bodies.shape[0]
    jointed = system.error.shape[0] > 0 and system.settings[0].hold != PENALTY
    for k in range(count):
        for c in range(3):
            at = (3 * k + c) * size
            load_column(touches[k], axis(touches[k], c), at, size, columns)
            if jointed:
                answer_of_joints(at, system, columns)
    width = 3 * touches.shape[0]
    for k in range(3 * count):
        for r in range(count):
            relative(touches[r], k, 3 * r * width + k, width, system, touching)


@inlined
def load_column(touch, e, at, size, columns):
    for x in range(at, at + size):
        poke(columns, x, 0.0)
    if 6 * touch.i < size:
        put(columns, at + 6 * touch.i, e)
        put(columns, at + 6 * touch.i + 3, cross(load3(touch.arm_i), e))
    if 6 * touch.j < size:
        put(columns, at + 6 * touch.j, scale(-1.0, e))
        put(columns, at + 6 * touch.j + 3, cross(e, load3(touch.arm_j)))


@njit
def answer_of_joints(at, system, columns):
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
        put(columns, at + 6 * i, add(three(columns, at + 6 * i), load3(kin.linear)))
        put(columns, at + 6 * i + 3, add(three(columns, at + 6 * i + 3), load3(kin.angular)))


@inlined
def set_acceleration(kin, w, force, torque):
    linear, turning = scale(w, force), symvec(load6(kin.inverse_inertia), torque)
    for x in range(3):
        kin.acceleration[x] = linear[x]
        kin.turning[x] = turning[x]


@inlined
def relative(touch, column, at, width, system, touching):
    """Relative acceleration at one contact that a column makes, into three rows of the matrix."""
    matrix = touching.matrix
    a = sub(
        point_acceleration(touch.i, load3(touch.arm_i), column, system, touching.columns),
        point_acceleration(touch.j, load3(touch.arm_j), column, system, touching.columns),
    )
    for c in range(3):
        poke(matrix, at + c * width, dot(axis(touch, c), a))


@njit
def point_acceleration(body, arm, column, system, columns):
    bodies = system.bodies
    if body >= bodies.shape[0]:
        return (0.0, 0.0, 0.0)
    at = 6 * (column * bodies.shape[0] + body)
    turning = symvec(load6(system.kinematics[body].inverse_inertia), three(columns, at + 3))
    return add(scale(bodies[body].inverse_mass, three(columns, at)), cross(turning, arm))


@njit
def free_accelerations(count, y, dydt, system, touching):
    """Relative accelerations under the smooth forces, whose derivative of the state is dydt: I ω̇ = L̇ − ω × L."""
    touches = touching.touches
    free = touching.free
    bodies = system.bodies
    kinematics = system.kinematics
    for i in range(system.settings[0].rigid):  # nodes touch nothing
        kin = kinematics[i]
        at = STATE_SIZE * i
        torque = sub(three(dydt, at + 10), cross(load3(kin.omega), three(y, at + 10)))
        set_acceleration(kin, bodies[i].inverse_mass, three(dydt, at + 7), torque)
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
            poke(free, 3 * k + c, dot(axis(touch, c), a) + touch.bias[c])
