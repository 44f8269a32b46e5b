"""The tables of contact between particles and colliders.

A particle is a ball: its centre, its radius, and one of a few materials. The rules of contact are those of bodies, looked
up by material and collider.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..tables import column

# A particle near a collider. `separation` (m): of its ball from the plane that touches the collider at `position` (world)
# with the unit normal `normal`, from the body out to the particle; negative where they overlap. `facet`: of a mesh; else
# zero. `impulse`: N s on the particle, world axes, zero at first.
PARTICLE_CONTACT = np.dtype(
    [("particle", "i8"), ("collider", "i8"), ("body", "i8"), ("facet", "i8"), ("normal", "f8", 3), ("position", "f8", 3),
     ("separation", "f8"), ("friction", "f8"), ("restitution", "f8"), ("impulse", "f8", 3)],
    align=True,
)  # fmt: skip
# What happens where a material meets a collider; `touches` is zero where they pass through each other.
RULE = np.dtype([("touches", "i8"), ("friction", "f8"), ("restitution", "f8")], align=True)

# Entries of `counts`: contacts; how many there should be room for, where there was not enough; colliders that are looked at
# one by one; cells of the grid along each axis.
CONTACTS, NEED_CONTACTS, WIDE, CELLS_X, CELLS_Y, CELLS_Z, COUNTS = range(7)
# Entries of `grid`, m: its lower and upper corner; cells in a metre along each axis.
LOWER, UPPER, PER_METRE, GRID = 0, 3, 6, 9
CHUNK = 128  # particles
CHUNK_ROWS = 7
MOST_CELLS = 4  # of the grid, for each collider
MOST_ENTRIES = 27  # cells that a collider of the grid may cover


class Particles(NamedTuple):
    """What is known of particles beside their positions and velocities, and where they meet colliders."""

    radius: Any = column("n", unit="m")
    material: Any = column("n", np.int64)
    rules: Any = column("materials * colliders", RULE, doc="row by row of a material: one for each collider")
    contacts: Any = column("contacts", PARTICLE_CONTACT, used="counts[CONTACTS]", doc="by particle, then collider")
    counts: Any = column("COUNTS", np.int64, doc="see CONTACTS and those that follow")
    chunk: Any = column("CHUNK_ROWS * CHUNK", doc="see `particle_chunk`")
    wide: Any = column("colliders", np.int64, doc="those that are looked at one by one")
    grid: Any = column("GRID")
    cells: Any = column(
        "2 * (MOST_CELLS * colliders + 1)",
        np.int64,
        doc="first entry of each cell, and then one more; behind them, where the next entry goes",
    )
    entries: Any = column("MOST_ENTRIES * colliders", np.int64, doc="the colliders of each cell")
    candidates: Any = column("colliders", np.int64, doc="near one particle")
