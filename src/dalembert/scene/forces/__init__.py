"""Forces on bodies, one file each: the description that a scene holds, and the compiled laws of its rows."""

from . import drag, limit, load, motor, spring, torsion_spring

# ruff: noqa: F401 - imported because they register laws
