"""The methods that this package has, a family a file. Importing this registers them, in the order in which tables list them;
a new file needs a line here."""

# isort: skip_file
from .. import registry
from .explicit import Events, RungeKutta
from .time_stepping import TimeStepping
from .implicit_particles import ImplicitParticles

__all__ = ["Events", "ImplicitParticles", "RungeKutta", "TimeStepping", "registry"]
