"""What few scenes need of mechanics is behind a C pointer: see `special`."""

from ..jit import DISABLED, njit
from ..pointer import call_pointer
from ..tables import own_address

# Tasks: rows of special parts; all forces; their powers; their energy; rates of parameters of curves; rows of hubs
ROWS, FORCES, POWERS, ENERGY, RATES, HUBS = range(6)

if DISABLED:

    def ask(task, t, given, found, system):
        """Do one of the tasks. Returns a status."""
        from .special import perform

        return perform(task, t, given, found, system)

else:

    @njit
    def ask(task, t, given, found, system):
        """Do one of the tasks. Returns a status."""
        return call_pointer(system.settings[0].special, own_address(system), task, t, given, found)
