"""What a trajectory holds: the table of recorded quantities, and the checks of a dataset that may be anybody's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import xarray

__all__ = ["VARIABLES", "TrajectoryError", "Variable", "check", "check_structure", "particle_span"]


class Variable(NamedTuple):
    """What one recorded quantity is: its axes, its unit, and whether a run must have it."""

    dims: tuple[str, ...]
    units: str
    description: str
    required: bool = False
    may_be_nan: bool = False  # a solver may not define it at every instant


VARIABLES: dict[str, Variable] = {
    "state": Variable(("time", "phase"), "SI", "flat state vector, the point in phase space"),
    "position": Variable(("time", "body", "xyz"), "m", "centre of mass, world axes", required=True),
    "orientation": Variable(("time", "body", "wxyz"), "1", "unit quaternion, body to world", required=True),
    "momentum": Variable(("time", "body", "xyz"), "kg m/s", "linear momentum, world axes"),
    "angular_momentum": Variable(("time", "body", "xyz"), "kg m^2/s", "about the centre of mass, world axes"),
    "particle_position": Variable(("time", "particle", "xyz"), "m", "particles, world axes"),
    "particle_momentum": Variable(("time", "particle", "xyz"), "kg m/s", "of each particle, world axes"),
    "kinetic": Variable(("time",), "J", "kinetic energy", required=True),
    "potential": Variable(("time",), "J", "potential energy", required=True),
    "work": Variable(("time", "force"), "J", "work done by each non-conservative force since the start"),
    "projection_loss": Variable(
        ("time",), "J", "energy removed by projection on the constraints since the start, an error"
    ),
    "constraint_work": Variable(
        ("time",), "J", "work done by constraint forces since the start, an error unless they move"
    ),
    "balance": Variable(("time",), "J", "error of the energy: its change since the start less the work of forces"),
    "linear_impulse_balance": Variable(("time", "xyz"), "kg m/s", "residual of linear momentum"),
    "angular_impulse_balance": Variable(("time", "xyz"), "kg m^2/s", "residual of angular momentum"),
    "reaction_force": Variable(("time", "joint", "xyz"), "N", "on the second body, world axes", may_be_nan=True),
    "reaction_torque": Variable(
        ("time", "joint", "xyz"), "N m", "on the second body, at the joint, world axes", may_be_nan=True
    ),
    "joint_error": Variable(("time", "joint"), "m", "position-level constraint error, largest component"),
    "joint_velocity_error": Variable(("time", "joint"), "m/s", "velocity-level constraint error, largest component"),
    "joint_coordinate": Variable(("time", "coordinate"), "rad or m", "coordinates of joints, 0 at the initial pose"),
    "joint_speed": Variable(("time", "coordinate"), "rad/s or m/s", "rates of the coordinates of joints"),
    "effort": Variable(
        ("time", "force"), "N or N m", "of motors, stops and dry friction, along their coordinates", may_be_nan=True
    ),
    "contact_force": Variable(("time", "body", "xyz"), "N", "of all contacts on the body in the last step, world axes"),
    "contacts": Variable(("time",), "1", "points of contact looked at in the last step"),
    "penetration": Variable(("time",), "m", "deepest overlap met since the frame before"),
    "contact_residual": Variable(("time",), "m/s", "largest natural-map residual since the frame before"),
    "solver_iterations": Variable(
        ("time",), "1", "iterations for one solution of the constraint system, since the frame before"
    ),
    "solver_residual": Variable(("time",), "1", "largest relative residual of these solutions since the frame before"),
}

MAX_VALUES = 500_000_000  # numbers in one variable: 4 GB
MAX_NAMES = 1_000_000  # bodies, joints or forces
MAX_PARTICLES = 10_000_000
MAX_TEXT = 256_000_000  # characters in one attribute (scene_json holds the meshes)
MAX_DIMENSIONS = {"xyz": 3, "wxyz": 4}


class TrajectoryError(ValueError):
    """A trajectory's arrays or its file are not what a trajectory must be; the message names what and where."""


def check(dataset: xarray.Dataset, source: str) -> None:
    """Refuse a dataset that is not a trajectory: structure first, then values."""
    check_structure(dataset, source)
    _check_values(dataset, source)
    for key in ("scene_json", "report_json", "provenance_json"):
        try:
            description = json.loads(dataset.attrs.get(key, "{}"))
        except (ValueError, TypeError, RecursionError) as error:
            raise TrajectoryError(f"{source}: attribute {key!r} is not JSON: {error}") from None
        if not isinstance(description, dict):
            raise TrajectoryError(f"{source}: attribute {key!r} must be a JSON object")


def check_structure(dataset: xarray.Dataset, source: str) -> None:
    """Check names, axes, types and sizes, which need no array to be read."""
    missing = [name for name in ("time", "body") if name not in dataset.coords]
    missing += [name for name, variable in VARIABLES.items() if variable.required and name not in dataset.data_vars]
    if missing:
        raise TrajectoryError(f"{source} is not a trajectory: it has no {', '.join(missing)}")
    check_sizes(dataset, source)
    if "particle_momentum" in dataset and "particle_position" not in dataset:
        raise TrajectoryError(f"{source}: it has 'particle_momentum' and no 'particle_position'")


def check_sizes(dataset: xarray.Dataset, source: str, outer: str | None = None) -> None:
    """Check axes, types and sizes of what is there; outer : an axis that may stand before the others."""
    for axis in ("body", "joint", "force", "coordinate"):
        if dataset.sizes.get(axis, 0) > MAX_NAMES:
            raise TrajectoryError(f"{source}: {dataset.sizes[axis]} names along {axis!r}, at most {MAX_NAMES}")
    if dataset.sizes.get("particle", 0) > MAX_PARTICLES:
        raise TrajectoryError(f"{source}: {dataset.sizes['particle']} particles, at most {MAX_PARTICLES}")
    for axis, size in MAX_DIMENSIONS.items():
        if dataset.sizes.get(axis, size) != size:
            raise TrajectoryError(f"{source}: axis {axis!r} has length {dataset.sizes[axis]}, expected {size}")
    for name, array in dataset.variables.items():
        if array.size > MAX_VALUES:
            raise TrajectoryError(f"{source}: variable {name!r} has {array.size} values, at most {MAX_VALUES}")
        if name in VARIABLES and array.dims not in (VARIABLES[name].dims, (outer, *VARIABLES[name].dims)):
            raise TrajectoryError(f"{source}: variable {name!r} has axes {array.dims}, expected {VARIABLES[name].dims}")
        if (name in VARIABLES or name == "time") and array.dtype.kind not in "fiu":
            raise TrajectoryError(f"{source}: variable {name!r} holds {array.dtype}, expected numbers")
    for key, value in dataset.attrs.items():
        if isinstance(value, str) and len(value) > MAX_TEXT:
            raise TrajectoryError(f"{source}: attribute {key!r} is longer than {MAX_TEXT} characters")


def _check_values(dataset: xarray.Dataset, source: str) -> None:
    """Check that time increases and that what must be finite is."""
    times = dataset["time"].values
    if not np.all(np.isfinite(times)) or np.any(np.diff(times) < 0):
        raise TrajectoryError(f"{source}: time must be finite and never decrease")
    for name, variable in VARIABLES.items():
        if name in dataset and not variable.may_be_nan:
            bad = ~np.isfinite(dataset[name].values)
            if bad.any():
                first = np.argwhere(bad)[0]
                raise TrajectoryError(
                    f"{source}: {name!r} is not finite at t = {times[first[0]]:g} s, index {tuple(first.tolist())}"
                )
    norms = np.linalg.norm(dataset["orientation"].values, axis=-1)
    if norms.size and np.abs(norms - 1.0).max() > 1e-3:
        raise TrajectoryError(f"{source}: an orientation is not a unit quaternion (norm {norms.min():g})")


def particle_span(group: Mapping[str, Any], particles: int = MAX_PARTICLES) -> slice:
    """Where one group of the scene description lies along axis ``particle``, which is `particles` long.

    Raises:
        TrajectoryError: ``first`` or ``number`` is no count, or the group goes beyond the last particle.
    """
    what = f"particles {str(group.get('name'))[:80]!r}"
    first, number = group.get("first"), group.get("number")
    for key, value in (("first", first), ("number", number)):
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_PARTICLES:
            raise TrajectoryError(f"{what}: {key!r} must be a whole number, 0 to {MAX_PARTICLES}")
    assert isinstance(first, int) and isinstance(number, int)
    if first + number > particles:
        raise TrajectoryError(f"{what}: {first} + {number} goes beyond the last of {particles} particles")
    return slice(first, first + number)
