"""Equations of motion from SymPy expressions: derived, compiled, and run by any integration method."""

from .generalized import GeneralizedCoordinates
from .lagrangian import Lagrangian

__all__ = ["GeneralizedCoordinates", "Lagrangian"]
