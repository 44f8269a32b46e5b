"""Equations of motion from SymPy expressions: derived, compiled, and run by any integration method."""

from .lagrangian import Lagrangian

__all__ = ["Lagrangian"]
