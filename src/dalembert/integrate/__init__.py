"""Integration of ordinary differential equations: methods as data, error control, events. Independent of mechanics."""

from .solve import Event, IntegrationError, Solution, solve
from .tableaus import METHODS, Tableau, method_names

__all__ = ["METHODS", "Event", "IntegrationError", "Solution", "Tableau", "method_names", "solve"]
