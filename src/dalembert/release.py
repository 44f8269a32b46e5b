"""Letting a joint or a force go in the middle of a run."""

from __future__ import annotations

from .model.compile import Model
from .model.graph import POINT_SIZE
from .model.tables import System


def release(model: Model, system: System, name: str) -> None:
    """Take a joint or a force out of the equations of motion. Raises ValueError for a name that is neither's."""
    if name in model.joint_names:
        index = model.joint_names.index(name)
        if index >= len(system.joints):
            raise ValueError(
                f"joint {name!r} is one of the coordinates, which stay; run the scene with coordinates='maximal' to let it go"
            )
        joint = system.joints[index]
        joint.active = 0
        for incidence in system.incidences[joint.first : joint.last]:
            size = POINT_SIZE if incidence.is_point else 6 * incidence.rows
            system.jacobian[incidence.offset : incidence.offset + size] = 0.0
        rows = slice(joint.row, joint.row + joint.rows)
        for values in (system.error, system.bias, system.multipliers):
            values[rows] = 0.0
    elif name in model.force_names:
        entry = model.force_names.index(name)
        forces = system.forces
        forces.active[(forces.ledger == entry) & (forces.kind != 0)] = 0
        for table in (system.particle_forces, system.elements.sets, system.interactions.laws):
            table.active[table.ledger == entry] = 0
    else:
        raise ValueError(f"there is no joint or force {name!r} to release")
