"""The end of a step: contacts that bear force are put back on each other, as joints are.

Position: δ = W Jᵀ μ with A_nn μ = −g, the least correction in the metric of the masses that leaves the joints closed.
Velocity: the impulse that stops the normal rates, and all rates of contacts that stick. What both add goes to the
ledger, as in `mechanics.projection`.
"""

from ..jit import njit
from ..mechanics.kinematics import load6
from ..model.tables import LEDGER, PROJECTION_WORK, REACTION_TORQUE, STATE_SIZE
from ..pointer import COMPLETE, DERIVATIVE, POTENTIAL, call_pointer
from ..quat import rotate_by
from ..vec import add, cross, dot, load3, store3, symvec
from .dense import solve_least
from .forces import UNSOLVED, book, contact_forces, list_rows, move_by_shift, node_at, set_system, sum_columns
from .geometry import place_touches, sliding_direction
from .response import put, respond, three
from .tables import SLIDING

ROUNDING = 1e-3  # of `tiny_gap`: gaps below are rounding
ITERATIONS = 8


@njit
def complete(t, y, dydt, system, touching):
    """Finish a step in place, with the derivative there in dydt. Returns a status."""
    options = touching.options[0]
    status = call_pointer(options.mechanism, options.mechanism_data, COMPLETE, t, y, dydt)
    if status != 0 or options.active == 0:
        return status
    gained = -potential_energy(y, system, touching)
    worst = place_active(system, touching)
    for _ in range(ITERATIONS):
        if not worst > ROUNDING * options.tiny_gap:
            break
        respond(options.active, system, touching)
        if correct(0, touching) != 0:
            return UNSOLVED
        gained += displace(y, system, touching)
        status = call_pointer(options.mechanism, options.mechanism_data, DERIVATIVE, t, y, dydt)
        if status != 0:
            return status
        before = worst
        worst = place_active(system, touching)
        if not worst < 0.5 * before:
            break
    respond(options.active, system, touching)
    if correct(1, touching) != 0:
        return UNSOLVED
    gained += stop_rates(y, system, touching)
    status = call_pointer(options.mechanism, options.mechanism_data, DERIVATIVE, t, y, dydt)
    if status != 0:
        return status
    gained += potential_energy(y, system, touching)
    y[y.shape[0] - len(LEDGER) + PROJECTION_WORK] += gained
    status = contact_forces(y, dydt, system, touching)
    note_slides(touching)
    return status


@njit
def potential_energy(y, system, touching):
    """That of the forces on bodies (J)."""
    call_pointer(touching.options[0].mechanism, touching.options[0].mechanism_data, POTENTIAL, 0.0, y, y)
    return system.energies[1]


@njit
def place_active(system, touching):
    """The geometry of the active contacts; returns their largest gap."""
    active = touching.options[0].active
    place_touches(active, system, touching)
    worst = 0.0
    for k in range(active):
        worst = max(worst, abs(touching.touches[k].gap))
    return worst


@njit
def correct(velocities, touching):
    """The multipliers that take away the gaps (0), or the velocities (1), as forces in the table. Returns 0 or 1."""
    touches, rows, right, unknown = touching.touches, touching.rows, touching.right, touching.unknown
    active = touching.options[0].active
    n = list_rows(active, velocities, touching)
    set_system(n, 0, touching)
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
def displace(y, system, touching):
    """Move the bodies by the multipliers in the table; returns the kinetic energy gained, as `projection` does."""
    shift = touching.shift
    kinematics = system.kinematics
    sum_columns(touching.options[0].active, system, touching)
    move_by_shift(system, touching)
    gained = 0.0
    ledger = y.shape[0] - len(LEDGER) + REACTION_TORQUE
    settings = system.settings[0]
    for i in range(system.bodies.shape[0]):
        node = i >= settings.rigid
        at = node_at(i, system) if node else STATE_SIZE * i
        move, turn = three(shift, 6 * i), three(shift, 6 * i + 3)
        moment = cross(move, three(y, at + (3 * settings.particles if node else 7)))
        put(y, at, add(three(y, at), move))
        put(y, ledger, add(three(y, ledger), moment))
        if node:
            continue
        gained += dot(turn, cross(load3(kinematics[i].omega), three(y, at + 10)))
        q = rotate_by((y[at + 3], y[at + 4], y[at + 5], y[at + 6]), turn)
        for x in range(4):
            y[at + 3 + x] = q[x]
    return gained


@njit
def stop_rates(y, system, touching):
    """Apply the impulses in the table; returns the kinetic energy gained: ½ Δp·(v + v′) over all bodies."""
    shift = touching.shift
    bodies = system.bodies
    kinematics = system.kinematics
    sum_columns(touching.options[0].active, system, touching)
    book(1.0, y, y, system, touching)
    gained = 0.0
    for i in range(bodies.shape[0]):
        kin = kinematics[i]
        force, torque = three(shift, 6 * i), three(shift, 6 * i + 3)
        gained += dot(force, load3(kin.v)) + dot(torque, load3(kin.omega))
        gained += 0.5 * bodies[i].inverse_mass * dot(force, force)
        gained += 0.5 * dot(torque, symvec(load6(kin.inverse_inertia), torque))
    return gained


@njit
def note_slides(touching):
    """Keep the way each contact slides, for the next step; see `sliding_direction`."""
    options = touching.options[0]
    touches = touching.touches
    for k in range(options.active):
        touch = touches[k]
        if touch.mode == SLIDING:
            u, v = sliding_direction(touch, options.tiny_speed)
            f = touch.frame
            store3(touch.slide, (u * f[3] + v * f[6], u * f[4] + v * f[7], u * f[5] + v * f[8]))
