"""Integration of ordinary differential equations: methods as data, error control, events. Knows of no bodies."""

from .methods import METHODS, method_names
from .solve import Event, IntegrationError, Solution, solve
from .tableau import Tableau

__all__ = ["METHODS", "Event", "IntegrationError", "Solution", "Tableau", "method_names", "solve"]
