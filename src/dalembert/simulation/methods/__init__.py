"""The methods of this package, one family per file. Importing this registers them, in the order of the tables; a new file
needs a line here."""

from .. import registry
from .explicit import Events, RungeKutta
from .time_stepping import TimeStepping
from .implicit_particles import ImplicitParticles

# isort: skip_file

__all__ = ["Events", "ImplicitParticles", "RungeKutta", "TimeStepping", "registry"]
