"""Energy and momenta before and after a correction; the difference goes to the ledger."""

from ..jit import njit
from ..linalg.block_matrix import load_3
from ..mechanics.particles import particles_at
from ..model.tables import PROJECTION_WORK, REACTION_IMPULSE, REACTION_TORQUE, STATE_SIZE
from ..pointer import FORCES, RECORD, call_pointer
from ..unchecked import peek, poke
from ..vec import add, cross, sub
from .lift import lift


@njit
def place(t, z, reduced):
    """Loops and forces at z. Returns a status."""
    lift(z, reduced)
    return call_pointer(reduced.options[0].mechanism, reduced.options[0].handle, FORCES, t, reduced.y, reduced.dydt)


@njit
def look(t, z, reduced):
    """Loops, forces and energies at z. Returns a status."""
    status = place(t, z, reduced)
    if status == 0:
        status = call_pointer(
            reduced.options[0].mechanism, reduced.options[0].handle, RECORD, t, reduced.y, reduced.dydt
        )
    return status


@njit
def books(z, reduced):
    """Energy, momentum and angular momentum of everything, where `look` has been."""
    options = reduced.options[0]
    energy = reduced.system.energies[0] + reduced.system.energies[1]
    for k in range(options.speeds):
        w = peek(z, options.coordinates + k)
        energy += 0.5 * reduced.tree.freedoms[k].armature * w * w
    total, turning = momenta(reduced.y, reduced.system)
    return energy, total, turning


@njit
def momenta(y, system):
    """Momentum and angular momentum of everything."""
    settings = system.settings[0]
    total, turning = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for b in range(settings.rigid):
        at = STATE_SIZE * b
        p = load_3(y, at + 7)
        total = add(total, p)
        turning = add(turning, add(cross(load_3(y, at), p), load_3(y, at + 10)))
    at = particles_at(system)
    for i in range(settings.particles):
        p = load_3(y, at + 3 * (settings.particles + i))
        total = add(total, p)
        turning = add(turning, cross(load_3(y, at + 3 * i), p))
    return total, turning


@njit
def book_change(z, before, after, system):
    """What a correction has changed of energy and momenta (see `books`) goes to the ledger."""
    ledger = z.shape[0] - system.power.shape[0] + system.settings[0].ledger
    increase(z, ledger + PROJECTION_WORK, after[0] - before[0])
    impulse, turning = sub(after[1], before[1]), sub(after[2], before[2])
    for k in range(3):
        increase(z, ledger + REACTION_IMPULSE + k, impulse[k])
        increase(z, ledger + REACTION_TORQUE + k, turning[k])


@njit
def increase(z, at, amount):
    poke(z, at, peek(z, at) + amount)
