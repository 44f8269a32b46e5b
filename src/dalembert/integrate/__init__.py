"""Integration of ordinary differential equations: methods as data, error control, events. Knows of no bodies."""

from .methods import METHODS, method_names
from .solution import IntegrationError, Solution
from .solve import Event, solve
from .tableau import Tableau

__all__ = ["METHODS", "Event", "IntegrationError", "Solution", "Tableau", "method_names", "solve"]
