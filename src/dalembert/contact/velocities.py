"""The velocities of bodies as Gauss–Seidel takes them: one packed row a body, in `motion`; the world's is zero."""

from ..arrays import copy
from ..jit import inlined, njit
from ..model.tables import STATE_SIZE
from ..unchecked import peek, poke
from ..vec import add, add_scaled, cross, scale, sub, symvec
from .tables import ANGULAR, INVERSE_INERTIA, INVERSE_MASS, LINEAR, MOTION, SPEEDS


@inlined
def three(values, at):
    return (peek(values, at), peek(values, at + 1), peek(values, at + 2))


@inlined
def six(values, at):
    return (
        peek(values, at), peek(values, at + 1), peek(values, at + 2), peek(values, at + 3), peek(values, at + 4),
        peek(values, at + 5),
    )  # fmt: skip


@inlined
def put_three(values, at, a):
    poke(values, at, a[0])
    poke(values, at + 1, a[1])
    poke(values, at + 2, a[2])


@inlined
def point_velocity(motion, body, arm):
    """Velocity of the point at `arm` from the centre of mass."""
    at = MOTION * body
    return add(three(motion, at + LINEAR), cross(three(motion, at + ANGULAR), arm))


@inlined
def push(motion, body, impulse, arm, sign):
    """Change the velocities of a body by ± an impulse at `arm`."""
    at = MOTION * body
    turn = symvec(six(motion, at + INVERSE_INERTIA), cross(arm, impulse))
    put_three(motion, at + LINEAR, add_scaled(three(motion, at), sign * peek(motion, at + INVERSE_MASS), impulse))
    put_three(motion, at + ANGULAR, add_scaled(three(motion, at + ANGULAR), sign, turn))


@inlined
def relative_velocity(motion, contact, arm_a, arm_b):
    """Of b's point less a's, world axes."""
    return sub(point_velocity(motion, contact.b, arm_b), point_velocity(motion, contact.a, arm_a))


@njit
def copy_velocities(island, members, source, target):
    """Those of the bodies of an island."""
    for m in range(island.first_member, island.end_member):
        at = MOTION * members[m]
        for i in range(at, at + SPEEDS):
            poke(target, i, peek(source, i))


@njit
def clear_velocities(motion, out):
    """Fill `out` with the masses of `motion` and no velocities."""
    copy(out, motion)
    for i in range(motion.shape[0] // MOTION):
        put_three(out, MOTION * i + LINEAR, (0.0, 0.0, 0.0))
        put_three(out, MOTION * i + ANGULAR, (0.0, 0.0, 0.0))


@njit
def load_motion(y, bodies, kinematics, motion):
    """Fill `motion` from the momenta in y, at the orientations of the kinematics table."""
    for i in range(bodies.shape[0]):
        kin = kinematics[i]
        at, to = STATE_SIZE * i, MOTION * i
        w = bodies[i].inverse_mass
        put_three(motion, to + LINEAR, scale(w, three(y, at + 7)))
        poke(motion, to + INVERSE_MASS, w)
        inverse = kin.inverse_inertia
        s = (inverse[0], inverse[1], inverse[2], inverse[3], inverse[4], inverse[5])
        for k in range(6):
            poke(motion, to + INVERSE_INERTIA + k, s[k])
        put_three(motion, to + ANGULAR, symvec(s, three(y, at + 10)))
