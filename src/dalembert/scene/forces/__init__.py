"""Forces on bodies, one file each: the description in a scene, and the compiled laws of its rows."""

from . import drag, external_force, limit, motor, spring, torsion_spring

# ruff: noqa: F401 - imported because they register laws
