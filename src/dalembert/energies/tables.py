"""The tables of elements: one record array a kind, and the table of all of them.

An element acts between a few particles, `nodes`, of which every kind has its own number. Positions x and velocities v
are flat, three numbers a particle. SI units; angles in rad.
"""

from typing import Any, NamedTuple

import numpy as np

from ..tables import column

SPRING, ANGLE, CURVATURE, HINGE, CLOTH, AREA, VOLUME, TETRAHEDRON = range(8)


def _table(nodes: int, *fields: Any) -> np.dtype:
    return np.dtype([("nodes", "i8", nodes), *((f, "f8") if isinstance(f, str) else f for f in fields)], align=True)


# Stiffness of ½ k (|d| − l)² (N/m), damping (N s/m), rest length (m).
SPRING_ELEMENT = _table(2, "stiffness", "damping", "rest")
# Stiffness of ½ k (θ − θ₀)² (N m/rad²), damping (N m s/rad²), rest angle. nodes[1] is the vertex.
ANGLE_ELEMENT = _table(3, "stiffness", "damping", "rest")
# EI divided by the length that belongs to the middle node (N m), damping (N m s). nodes[1] is the middle one.
CURVATURE_ELEMENT = _table(3, "stiffness", "damping")
# Stiffness of ½ k (θ − θ₀)² (J/rad²), damping (J s/rad²), rest angle. Edge nodes[0] to nodes[1], corners nodes[2] and
# nodes[3].
HINGE_ELEMENT = _table(4, "stiffness", "damping", "rest")
# Inverse (row by row) of the 2×2 matrix whose columns are the material edges from nodes[0] (1/m), area at rest (m²),
# stiffnesses (N/m), dampings (N s/m).
CLOTH_ELEMENT = _table(
    3, ("inverse", "f8", 4), "area", "stretch_u", "stretch_v", "shear", "stretch_damping", "shear_damping"
)
# Stiffness of ½ k (A − A₀)²/A₀ (N/m), damping (N s/m), rest area (m²).
AREA_ELEMENT = _table(3, "stiffness", "damping", "rest")
# Stiffness of ½ k (V − V₀)²/V₀ (Pa), damping (Pa s), rest volume (m³), positive where edges nodes[0] → 1, 2, 3 are
# right-handed.
VOLUME_ELEMENT = _table(4, "stiffness", "damping", "rest")
# Inverse (row by row) of the 3×3 matrix whose columns are the edges from nodes[0] at rest (1/m), volume at rest (m³,
# positive), Lamé parameters (Pa), viscosity (Pa s).
TETRAHEDRON_ELEMENT = _table(4, ("inverse", "f8", 9), "volume", "mu", "lame", "viscosity")

ELEMENT_SET = np.dtype(
    [("kind", "i8"), ("first", "i8"), ("last", "i8"), ("ledger", "i8"), ("active", "i8")], align=True
)


class Kind(NamedTuple):
    """What there is to know of a kind of element."""

    number: int
    dtype: np.dtype
    nodes: int  # particles that one acts between
    rows: int  # the most damping rows that one has


KINDS = {
    "springs": Kind(SPRING, SPRING_ELEMENT, 2, 1),
    "angles": Kind(ANGLE, ANGLE_ELEMENT, 3, 1),
    "curvatures": Kind(CURVATURE, CURVATURE_ELEMENT, 3, 2),
    "hinges": Kind(HINGE, HINGE_ELEMENT, 4, 1),
    "cloths": Kind(CLOTH, CLOTH_ELEMENT, 3, 3),
    "areas": Kind(AREA, AREA_ELEMENT, 3, 1),
    "volumes": Kind(VOLUME, VOLUME_ELEMENT, 4, 1),
    "tetrahedra": Kind(TETRAHEDRON, TETRAHEDRON_ELEMENT, 4, 6),
}

OUT = 1 + 12 + 144  # numbers that `evaluate` of any kind writes: energy, gradient, Hessian
SCRATCH = OUT + 6 * 12  # and damping rows


class Elements(NamedTuple):
    """All elements of a model.

    A set is the elements first ≤ i < last of one kind; those that are not active do nothing. `ledger` is where the power
    of its damping is added, none if negative. Slots say where the matrix of an element goes; see `loops`. They may be
    empty where no matrix is asked for.
    """

    springs: Any = column(dtype=SPRING_ELEMENT)
    angles: Any = column(dtype=ANGLE_ELEMENT)
    curvatures: Any = column(dtype=CURVATURE_ELEMENT)
    hinges: Any = column(dtype=HINGE_ELEMENT)
    cloths: Any = column(dtype=CLOTH_ELEMENT)
    areas: Any = column(dtype=AREA_ELEMENT)
    volumes: Any = column(dtype=VOLUME_ELEMENT)
    tetrahedra: Any = column(dtype=TETRAHEDRON_ELEMENT)
    sets: Any = column(dtype=ELEMENT_SET)
    spring_slots: Any = column(dtype=np.int64, doc="k (k + 1)/2 numbers an element of k nodes")
    angle_slots: Any = column(dtype=np.int64)
    curvature_slots: Any = column(dtype=np.int64)
    hinge_slots: Any = column(dtype=np.int64)
    cloth_slots: Any = column(dtype=np.int64)
    area_slots: Any = column(dtype=np.int64)
    volume_slots: Any = column(dtype=np.int64)
    tetrahedron_slots: Any = column(dtype=np.int64)
    scratch: Any = column("SCRATCH")
