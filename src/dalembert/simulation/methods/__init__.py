"""The methods that this package has, a family a file. Importing this registers them, in the order in which tables list them;
a new file needs a line here."""

from .. import registry
from .explicit import Events
from .explicit import RungeKutta
from .contact import TimeStepping
from .implicit_particles import ImplicitParticles

# isort: skip_file

__all__ = ["Events", "ImplicitParticles", "RungeKutta", "TimeStepping", "registry"]
