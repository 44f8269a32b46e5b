"""The recorded frames as one table: a pandas DataFrame, and the same as CSV and Parquet files.

A row is a frame and a column is one number of it, such as "box.x [m]": the name of the body, joint, force or group of
particles, the quantity, and its unit.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .netcdf import write_with
from .trajectory import VARIABLES

if TYPE_CHECKING:
    import pandas

    from .trajectory import Trajectory

INDEX = "time [s]"
EACH_PARTICLE = 200  # particles of a run, up to which each has columns of its own
NO_COLUMNS = ("state", "contact_point_count", "contact_point_start")  # and all that has no axis of time

# Variable → the names of its columns behind the name of the body, joint or force: one, or one for each component.
SHORT: dict[str, tuple[str, ...]] = {
    "position": ("x", "y", "z"),
    "orientation": ("qw", "qx", "qy", "qz"),
    "momentum": ("px", "py", "pz"),
    "angular_momentum": ("Lx", "Ly", "Lz"),
    "angular_velocity": ("wx", "wy", "wz"),
    "particle_position": ("x", "y", "z"),
    "particle_momentum": ("px", "py", "pz"),
    "contact_force": ("contact_x", "contact_y", "contact_z"),
    "obstacle_contact_force": ("contact_x", "contact_y", "contact_z"),
    "reaction_force": ("force_x", "force_y", "force_z"),
    "reaction_torque": ("torque_x", "torque_y", "torque_z"),
    "joint_coordinate": ("position",),
    "joint_speed": ("speed",),
    "joint_error": ("error",),
    "joint_velocity_error": ("velocity_error",),
}

VELOCITY = ("vx", "vy", "vz")  # momentum over mass, of bodies with a mass

Column = tuple[str, str, str, np.ndarray]  # owner, quantity, unit, values (time,)


def data_frame(trajectory: Trajectory, particles: bool | None = None) -> pandas.DataFrame:
    """See `Trajectory.to_pandas`."""
    import pandas

    if particles not in (None, True, False):
        raise ValueError(f"particles is {particles!r:.80}; give True, False, or None for the rule")
    table = pandas.DataFrame(
        _named(_columns(trajectory, particles), trajectory), index=pandas.Index(trajectory.times, name=INDEX)
    )
    about = {"scene": trajectory.scene_name, **{key: trajectory.attrs.get(key) for key in ("method", "version")}}
    table.attrs = {key: str(value) for key, value in about.items() if value is not None}
    return table


def save_table(trajectory: Trajectory, path: Path) -> Path:
    """Write the table to `path`, .csv or .parquet, whole or not at all. Raises ImportError without pyarrow for Parquet."""
    if path.suffix.lower() == ".csv":
        table = data_frame(trajectory)
        return write_with(lambda temporary: table.to_csv(temporary, encoding="utf-8", lineterminator="\n"), path)
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError(
            f"'{path}': Parquet needs pyarrow: pip install 'dalembert[parquet]'; or write a .csv, which needs nothing more"
        ) from None
    table = data_frame(trajectory)
    return write_with(lambda temporary: table.to_parquet(temporary, engine="pyarrow"), path)


def _named(columns: Iterator[Column], trajectory: Trajectory) -> dict[str, np.ndarray]:
    """Columns by "owner.quantity [unit]"; where two are called the same, the later one has its axis in its name."""
    found: dict[str, np.ndarray] = {}
    for owner, quantity, unit, values in columns:
        behind = f" [{unit}]" if unit not in ("", "1") else ""
        name = f"{owner}.{quantity}{behind}" if owner else f"{quantity}{behind}"
        number = 2
        while name in found:
            name = f"{owner}.{quantity} ({number}){behind}"
            number += 1
        found[name] = values
    return found


def _columns(trajectory: Trajectory, particles: bool | None) -> Iterator[Column]:
    """All columns: what a run has one of, then owner by owner what bodies, joints and others have."""
    variables = [
        (str(name), array)
        for name, array in trajectory.dataset.data_vars.items()
        if array.dims[:1] == ("time",) and name not in NO_COLUMNS and array.dtype.kind in "fiu"
    ]
    order = {name: i for i, name in enumerate(VARIABLES)}
    variables.sort(key=lambda item: order.get(item[0], len(order)))
    for name, array in variables:
        if array.dims[1:] == () or array.dims[1:] == ("xyz",):
            yield from _components("", name, array.values, _unit(array), ())
    masses = _masses(trajectory)
    axes = dict.fromkeys(array.dims[1] for _, array in variables if array.ndim > 1)
    for axis in (axis for axis in axes if axis not in ("xyz", "wxyz", "particle")):
        own = [(name, array) for name, array in variables if array.dims[1:2] == (axis,) and array.ndim < 4]
        units = list(trajectory.coordinates.values()) if axis == "coordinate" else None
        for i, label in enumerate(trajectory.dataset[axis].values if axis in trajectory.dataset.coords else []):
            for name, array in own:
                unit = _of_coordinate(name, units[i]) if units else _unit(array)
                yield from _components(str(label), name, array.values[:, i], unit, SHORT.get(name, ()))
                if name == "momentum" and str(label) in masses:
                    velocity = array.values[:, i] / masses[str(label)]
                    yield from _components(str(label), "velocity", velocity, "m/s", VELOCITY)
    if particles is not False and trajectory.particle_number:
        yield from _particles(trajectory, particles)


def _components(owner: str, name: str, values: np.ndarray, unit: str, parts: tuple[str, ...]) -> Iterator[Column]:
    """The columns of one variable of one owner, values (time,) or (time, k)."""
    if values.ndim == 1:
        yield owner, parts[0] if owner and parts else name, unit, values
        return
    for k in range(values.shape[1]):
        own = owner and len(parts) == values.shape[1]
        quantity = parts[k] if own else f"{name}_{'xyz'[k] if values.shape[1] == 3 else k}"
        yield owner, quantity, unit, values[:, k]


def _particles(trajectory: Trajectory, each: bool | None) -> Iterator[Column]:
    """Of each group its particles ("sand[3]"), or the mean over them ("sand.mean")."""
    found = [
        (name, trajectory[name]) for name in ("particle_position", "particle_momentum") if name in trajectory.dataset
    ]
    for group, rows in _groups(trajectory):
        if each or (each is None and trajectory.particle_number <= EACH_PARTICLE):
            for i in range(rows.start, rows.stop):
                for name, array in found:
                    owner = f"{group}[{i - rows.start}]"
                    yield from _components(owner, name, array.values[:, i], _unit(array), SHORT[name])
        elif rows.stop > rows.start:
            for name, array in found:
                mean = array.values[:, rows].mean(axis=1)
                for k, part in enumerate(SHORT[name]):
                    yield group, f"mean_{part}", _unit(array), mean[:, k]


def _groups(trajectory: Trajectory) -> list[tuple[str, slice]]:
    """Names of the groups of particles and their rows; one group where the scene description has none."""
    from .trajectory import particle_span

    listed = trajectory.scene_description.get("particles")
    groups: list[Any] = [group for group in listed if isinstance(group, dict)] if isinstance(listed, list) else []
    if not groups:
        return [("particles", slice(0, trajectory.particle_number))]
    return [(str(group.get("name")), particle_span(group, trajectory.particle_number)) for group in groups]


def _masses(trajectory: Trajectory) -> dict[str, float]:
    """Body → its mass, kg, where the scene description has one."""
    listed = trajectory.scene_description.get("bodies")
    found = {}
    for body in listed if isinstance(listed, list) else []:
        mass = body.get("mass") if isinstance(body, dict) else None
        if isinstance(mass, int | float) and np.isfinite(mass) and mass > 0.0:
            found[str(body.get("name"))] = float(mass)
    return found


def _unit(array: Any) -> str:
    return str(array.attrs.get("units", VARIABLES[array.name].units if array.name in VARIABLES else ""))


def _of_coordinate(name: str, unit: str) -> str:
    """The unit of a variable of a coordinate in rad or m."""
    return f"{unit}/s" if name == "joint_speed" and " or " not in unit else unit
