"""The smooth part of a time step of contact: free drifts, and the forces and their kick between them; see `step`."""

from ..collide.tables import AWAKE
from ..jit import njit
from ..model.tables import CONSTRAINT_WORK, LEDGER, REACTION_IMPULSE, REACTION_TORQUE, STATE_SIZE
from ..pointer import DERIVATIVE, DRIFT, POWERS, call_pointer
from ..status import OK
from ..unchecked import peek, poke
from ..vec import add, add_scaled, scale, store3, symvec
from .sleep import bear_sleeper
from .tables import ANGULAR, INVERSE_INERTIA, INVERSE_MASS, LINEAR, MOTION
from .velocities import six, three


@njit
def drift(walls, h, y, spare):
    """Free motion over h; see `mechanics.drift`."""
    spare[0] = h
    return call_pointer(walls.mechanism, walls.mechanism_data, DRIFT, 0.0, y, spare)


@njit
def find_forces(walls, t, h, y, dydt, system, stepping):
    """Forces at the middle of the step, in the kinematics table; those that depend on velocities, at velocities that are
    half a step further than those in y."""
    status = call_pointer(walls.mechanism, walls.mechanism_data, DERIVATIVE, t, y, dydt)
    if status != OK or stepping.options[0].predict == 0:
        return status
    for i in range(system.bodies.shape[0]):
        for k in range(STATE_SIZE * i + 7, STATE_SIZE * (i + 1)):
            poke(y, k, peek(y, k) + 0.5 * h * peek(dydt, k))
    status = call_pointer(walls.mechanism, walls.mechanism_data, DERIVATIVE, t, y, dydt)
    saved = stepping.saved
    for i in range(system.bodies.shape[0]):
        for k in range(STATE_SIZE * i + 7, STATE_SIZE * (i + 1)):
            poke(y, k, peek(saved, k))
    return status


@njit
def kick(h, y, dydt, system, collision):
    """Momenta and what the ledger has of them over the whole step, by the applied forces; their work is known when the
    impulses of constraints and contacts are: see `book_work`."""
    kinematics, asleep = system.kinematics, collision.asleep
    bodies = system.bodies.shape[0]
    for i in range(bodies):
        if asleep[i] != AWAKE:
            bear_sleeper(i, h, y, system)
            continue
        kin = kinematics[i]
        at = STATE_SIZE * i + 7
        for k in range(3):
            poke(y, at + k, peek(y, at + k) + h * kin.force[k])
            poke(y, at + 3 + k, peek(y, at + 3 + k) + h * kin.torque[k])
    common = y.shape[0] - len(LEDGER)
    dydt[common + CONSTRAINT_WORK] = 0.0
    for k in range(3):
        dydt[common + REACTION_IMPULSE + k] = 0.0
        dydt[common + REACTION_TORQUE + k] = 0.0
    for i in range(STATE_SIZE * bodies, y.shape[0] - system.power.shape[0]):
        y[i] += h * dydt[i]
    for i in range(common, y.shape[0]):
        y[i] += h * dydt[i]


@njit
def book_work(walls, h, apart, y, system, stepping):
    """The work of the applied forces of a step, F · h ½ (v⁻ + v⁺), after its impulses; and along the displacement in `shift`,
    if bodies are put `apart`. Velocities of the kinematics table are those means then."""
    if stepping.options[0].predict == 0 and system.settings[0].stepped == 0:
        return  # nothing acts but fields, which have a potential
    kinematics, motion, saved, shift = (
        system.kinematics,
        stepping.motion,
        stepping.saved,
        stepping.shift,
    )
    for i in range(system.bodies.shape[0]):
        kin, at, to = kinematics[i], STATE_SIZE * i, MOTION * i
        momentum, spin = add(three(saved, at + 7), three(y, at + 7)), add(three(saved, at + 10), three(y, at + 10))
        v = scale(0.5 * peek(motion, to + INVERSE_MASS), momentum)
        omega = scale(0.5, symvec(six(motion, to + INVERSE_INERTIA), spin))
        if apart:
            v = add_scaled(v, 1.0 / h, three(shift, to + LINEAR))
            omega = add_scaled(omega, 1.0 / h, three(shift, to + ANGULAR))
        store3(kin.v, v)
        store3(kin.omega, omega)
    call_pointer(walls.mechanism, walls.mechanism_data, POWERS, 0.0, y, y)
    power = system.power
    first = y.shape[0] - power.shape[0]
    for i in range(power.shape[0] - len(LEDGER)):
        y[first + i] += h * power[i]
