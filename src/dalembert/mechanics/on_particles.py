"""What acts on particles, each as a C function of its own, so that a run compiles what its scene has: fields on each
(`fields`), elements (`element_forces`), and laws between them (`pair_forces`).

The functions are handed the tables of the system, and these tasks:

    PARTICLE_RATES    given: x; found: v, forces, to which theirs are added
    PARTICLE_FORCES   given: x, v, the velocities about which forces are linear in v, and the places at which damping and wind
                      are looked at; found: conservative forces and all others, to which theirs are added
    PARTICLE_MATRIX   given: the same; found: a block matrix, to which is added −∂f/∂x − rate ∂f/∂v with `rate` of the
                      settings, made positive semidefinite, without fields of the user's
    PARTICLE_ENERGY   given: x; found: room for v and forces, which are overwritten

All vectors have 3 numbers a particle. But for PARTICLE_MATRIX the potential energy is added to `energies[2]`, and powers
to `power` of the system.
"""

from ..jit import DISABLED, njit
from ..pointer import PARTICLE_MATRIX, call_pointer
from ..tables import own_address

ON_EACH, ON_ELEMENTS, ON_PAIRS = range(3)  # places in `on_particles` of the settings

if DISABLED:

    def ask(which, task, t, given, found, system):
        """A task for one of them. Returns a status."""
        from . import element_forces, fields, pair_forces

        return (fields, element_forces, pair_forces)[which].perform(task, t, given, found, system)

else:

    @njit
    def ask(which, task, t, given, found, system):
        """A task for one of them. Returns a status."""
        address = system.settings[0].on_particles[which]
        return call_pointer(address, own_address(system), task, t, given, found)


@njit
def ask_all(task, t, given, found, system):
    """A task for all that is there. Returns a status."""
    functions, matrix = system.settings[0].on_particles, task == PARTICLE_MATRIX
    system.energies[2] = 0.0
    for k in range(3):
        which = k
        if matrix and k < ON_PAIRS:
            which = ON_ELEMENTS - k  # the larger blocks first
        if functions[which] != 0:
            status = ask(which, task, t, given, found, system)
            if status != 0:
                return status
    return 0
