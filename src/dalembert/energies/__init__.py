"""Energies of a few particles each, with their gradients and Hessians: one file a kind."""

# ruff: noqa: F401, I001 - imported for what they register, in the order of their numbers
from . import spring
from . import angle
from . import curvature
from . import hinge
from . import cloth
from . import area
from . import volume
from . import tetrahedron
