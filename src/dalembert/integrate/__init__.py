"""Integration of ordinary differential equations: methods as data, error control, events. Knows of no bodies."""

from .methods import METHODS
from .solution import IntegrationError, Solution
from .solve import Event, solve
from .tableau import Tableau

method_names = tuple(METHODS)

__all__ = ["METHODS", "Event", "IntegrationError", "Solution", "Tableau", "method_names", "solve"]
