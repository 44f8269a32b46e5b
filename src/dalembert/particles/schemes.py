"""The schemes of a time step of particles, by name, and what they are like; see `stage`."""

from ..jit import inlined
from .tables import BDF2, EXPLICIT, IMPLICIT_EULER, IMPLICIT_MIDPOINT, LINEAR_EULER

SCHEMES = {
    "time_stepping": EXPLICIT, "linear_implicit_euler": LINEAR_EULER, "implicit_euler": IMPLICIT_EULER,
    "implicit_midpoint": IMPLICIT_MIDPOINT, "bdf2": BDF2,
}  # fmt: skip


@inlined
def solves_once(scheme):
    """Whether a stage is one linear solve."""
    return scheme == LINEAR_EULER or scheme == EXPLICIT  # noqa: SIM109 - for the compiler


@inlined
def at_middle(scheme):
    """Whether the stage is in the middle of the step."""
    return scheme == IMPLICIT_MIDPOINT or scheme == EXPLICIT  # noqa: SIM109 - for the compiler
