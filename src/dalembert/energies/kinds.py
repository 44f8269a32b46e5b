"""The registry of energies of particles, and their description in a scene.

An element acts between a few particles, its `nodes`; each kind has a number of its own. Positions x and velocities v
are flat, three numbers a particle. SI units; angles in rad. `elements` describes the functions of a kind.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

MOST_NODES, MOST_ROWS = 4, 6  # of one element: particles, and rows of damping
OUT = (
    1 + 3 * MOST_NODES + (3 * MOST_NODES) ** 2
)  # numbers that `derivatives` of any kind writes: energy, gradient, Hessian
SCRATCH = OUT + MOST_ROWS * 3 * MOST_NODES  # and damping rows


class Kind(NamedTuple):
    """A kind of element: its table and its compiled functions."""

    number: int
    dtype: np.dtype  # of its table
    nodes: int  # particles that one acts between
    rows: int  # the most damping rows that one has
    derivatives: Any
    damping_rows: Any
    forces: Any  # loops of its own, in place of those of `elements.make_loops`
    matrix: Any


KINDS: dict[str, Kind] = {}


def register(
    name: str, nodes: int, rows: int, fields: str, derivatives: Callable[..., Any], damping_rows: Callable[..., Any], *,
    forces: Any = None, matrix: Any = None,
) -> Kind:  # fmt: skip
    """Add a kind of element. fields : names of the numbers of its table after `nodes`, "name" or "name:count" for several.

    Raises ValueError for a name that is taken, and for more nodes or rows than kernels have room for.
    """
    if name in KINDS:
        raise ValueError(f"energy {name!r}: the name is already in use; choose another")
    if not (1 <= nodes <= MOST_NODES and 0 <= rows <= MOST_ROWS):
        raise ValueError(
            f"energy {name!r}: {nodes} nodes and {rows} rows of damping; give up to {MOST_NODES} and {MOST_ROWS}"
        )
    columns = [field.partition(":") for field in fields.split()]
    shaped = [(field, "f8", int(count)) if count else (field, "f8") for field, _, count in columns]
    dtype = np.dtype([("nodes", "i8", nodes), *shaped], align=True)
    KINDS[name] = Kind(len(KINDS), dtype, nodes, rows, derivatives, damping_rows, forces, matrix)
    return KINDS[name]


class Energy:
    """An energy of particles as a user describes it; `Scene.add_energy` adds one to a scene.

    `kind` is the name of its table in `KINDS`, `label` its name in messages.
    """

    kind = ""
    label = ""

    def resolve(self, resolver: Any) -> tuple[Any, dict[str, Any]]:
        """(group of particles, fields of the rows of its table), checked by a `scene.resolve.Resolver`. Raises ValueError."""
        raise NotImplementedError(f"{type(self).__name__} does not define resolve(resolver)")
