"""The numbers of laws of forces on bodies in the field `kind` of the FORCE table."""

from __future__ import annotations

from ..scene.forces.laws import LAWS
from . import tables

# Those that other kernels know of; from BOUNDED on, rows of contact solvers.
NUMBERS = {
    "field": tables.FIELD, "spring": tables.SPRING, "torsion": tables.TORSION, "drag": tables.DRAG,
    "constant": tables.CONSTANT, "motor": tables.MOTOR, "custom_force": tables.CUSTOM_FORCE,
    "custom_motor": tables.CUSTOM_MOTOR, "cable": tables.CABLE_PULL,
    "stop": tables.STOP, "dry_friction": tables.DRY_FRICTION, "servo": tables.SERVO,
}  # fmt: skip
# All others are below 0, in the order of registration.
NUMBERS |= {name: -1 - i for i, name in enumerate(name for name in LAWS if name not in NUMBERS)}

ON_COORDINATE = tuple(NUMBERS[law.name] for law in LAWS.values() if law.on_coordinate)
KEEPS_AWAKE = tuple(NUMBERS[law.name] for law in LAWS.values() if law.keeps_awake and not law.on_coordinate)
