"""Forces on bodies, one file each: the description that a scene holds, and the compiled laws of its rows."""

# ruff: noqa: F401 - imported for what they register
from . import (
    drag,
    joint_friction,
    limit,
    load,
    motor,
    spring,
    torsion_spring,
)
