"""Energies of a few particles each, with their gradients and Hessians: one file a kind."""

from . import spring
from . import angle
from . import bending as curvature
from . import hinge
from . import cloth
from . import area
from . import volume
from . import tetrahedron

# ruff: noqa: F401, I001 - imported for what they register, in the order of their numbers
