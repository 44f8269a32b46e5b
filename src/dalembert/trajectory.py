"""Recorded runs: labelled arrays over time, saved as NetCDF.

A `Trajectory` is a thin layer over an ``xarray.Dataset``. It owns no physics: it names the axes, states the units, and
reads and writes files. A file from elsewhere is checked before anything else looks at it.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import xarray

__all__ = ["Trajectory", "TrajectoryError"]


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
    "kinetic": Variable(("time",), "J", "kinetic energy", required=True),
    "potential": Variable(("time",), "J", "potential energy", required=True),
    "work": Variable(("time", "force"), "J", "work done by each non-conservative force since the start"),
    "projection_loss": Variable(("time",), "J", "energy removed by projection on the constraints since the start"),
    "constraint_work": Variable(("time",), "J", "work done by constraint forces since the start"),
    "balance": Variable(("time",), "J", "residual of the energy ledger"),
    "linear_impulse_balance": Variable(("time", "xyz"), "kg m/s", "residual of linear momentum"),
    "angular_impulse_balance": Variable(("time", "xyz"), "kg m^2/s", "residual of angular momentum"),
    "reaction_force": Variable(("time", "joint", "xyz"), "N", "on the second body, world axes", may_be_nan=True),
    "reaction_torque": Variable(
        ("time", "joint", "xyz"), "N m", "on the second body, at the joint, world axes", may_be_nan=True
    ),
    "joint_error": Variable(("time", "joint"), "m", "position-level constraint error, largest component"),
    "joint_velocity_error": Variable(("time", "joint"), "m/s", "velocity-level constraint error, largest component"),
    "contact_force": Variable(("time", "body", "xyz"), "N", "of all contacts on the body in the last step, world axes"),
    "contacts": Variable(("time",), "1", "points of contact looked at in the last step"),
    "penetration": Variable(("time",), "m", "deepest overlap met since the frame before"),
    "contact_residual": Variable(("time",), "m/s", "largest natural-map residual since the frame before"),
}

MAX_VALUES = 500_000_000  # numbers in one variable: 4 GB
MAX_NAMES = 1_000_000  # bodies, joints or forces
MAX_TEXT = 256_000_000  # characters in one attribute (scene_json holds the meshes)
MAX_DIMENSIONS = {"xyz": 3, "wxyz": 4}


class TrajectoryError(ValueError):
    """A trajectory's arrays or its file are not what a trajectory must be; the message names what and where."""


class Trajectory:
    """A recorded run.

    `dataset` holds the variables of `VARIABLES` (those that were recorded) over the coordinates time (s), body, joint,
    force, xyz, wxyz and phase; its attributes say which scene was run and how. Each variable is also an attribute:
    ``trajectory.position`` is an ``xarray.DataArray``, (time, body, xyz), in metres.
    """

    def __init__(self, dataset: xarray.Dataset, *, source: str = "the trajectory") -> None:
        """Wrap `dataset` after checking it; `source` names it in errors.

        Raises:
            TrajectoryError: a required variable is missing, or a shape or a value is impossible.
        """
        _check(dataset, source)
        self.dataset = dataset

    @classmethod
    def from_arrays(
        cls,
        variables: Mapping[str, np.ndarray],
        *,
        bodies: Sequence[str],
        joints: Sequence[str] = (),
        forces: Sequence[str] = (),
        attrs: Mapping[str, Any] | None = None,
    ) -> Trajectory:
        """Build a trajectory from plain arrays.

        Args:
            variables: ``"time"`` (n,) in s and any of `VARIABLES`, each with the shape its axes say.
            bodies: names along axis ``body``.
            joints: names along axis ``joint``.
            forces: names along axis ``force``.
            attrs: strings and numbers: ``scene``, ``method``, ``scene_json``, ``report_json``, ``version``.

        Raises:
            TrajectoryError: an unknown variable, no ``"time"``, or a wrong shape.
        """
        import xarray

        if "time" not in variables:
            raise TrajectoryError('the trajectory has no "time": give its instants in seconds, shape (n,)')
        coordinates: dict[str, Any] = {
            "time": ("time", np.asarray(variables["time"], float), {"units": "s"}),
            "body": ("body", _names(bodies)),
            "joint": ("joint", _names(joints)),
            "force": ("force", _names(forces)),
            "xyz": ("xyz", _names("xyz")),
            "wxyz": ("wxyz", _names("wxyz")),
        }
        data = {}
        for name, values in variables.items():
            if name == "time":
                continue
            if name not in VARIABLES:
                raise TrajectoryError(f"unknown variable {name!r}; the known ones are {', '.join(VARIABLES)}")
            variable, array = VARIABLES[name], np.asarray(values, float)
            expected = tuple(len(coordinates[d][1]) if d in coordinates else -1 for d in variable.dims)
            if array.ndim != len(expected) or any(e not in (-1, s) for e, s in zip(expected, array.shape, strict=True)):
                wanted = ", ".join(f"{d}={'any' if e < 0 else e}" for d, e in zip(variable.dims, expected, strict=True))
                raise TrajectoryError(f"variable {name!r} has shape {array.shape}, expected ({wanted})")
            data[name] = (variable.dims, array, {"units": variable.units, "long_name": variable.description})
        if "state" in data:
            coordinates["phase"] = ("phase", np.arange(data["state"][1].shape[1]))
        return cls(xarray.Dataset(data, coords=coordinates, attrs=dict(attrs or {})))

    def __getitem__(self, name: str) -> xarray.DataArray:
        """The recorded variable or coordinate `name`; KeyError says which are there."""
        if name not in self.dataset.variables:
            raise KeyError(f"{name!r} was not recorded; recorded are {', '.join(map(str, self.dataset.data_vars))}")
        return self.dataset[name]

    def __getattr__(self, name: str) -> xarray.DataArray:
        if name.startswith("_") or name == "dataset":
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __contains__(self, name: object) -> bool:
        return name in self.dataset.variables

    def __len__(self) -> int:
        return int(self.dataset.sizes["time"])

    def __repr__(self) -> str:
        span = f"{self.times[0]:g} to {self.times[-1]:g} s" if len(self) else "empty"
        return f"<Trajectory {self.scene_name!r}: {len(self)} instants, {span}, {len(self.bodies)} bodies>"

    @property
    def times(self) -> np.ndarray:
        """The recorded instants, (n,), s."""
        return self.dataset["time"].values

    @property
    def bodies(self) -> list[str]:
        """Names of the bodies, in the order of axis ``body``."""
        return self._labels("body")

    @property
    def joints(self) -> list[str]:
        """Names of the joints, in the order of axis ``joint``."""
        return self._labels("joint")

    @property
    def forces(self) -> list[str]:
        """Names of the non-conservative forces of the energy ledger, in the order of axis ``force``."""
        return self._labels("force")

    @property
    def attrs(self) -> dict[str, Any]:
        """The run's attributes: scene, method, version and the two JSON texts."""
        return self.dataset.attrs

    @property
    def scene_name(self) -> str:
        """The name of the scene that was run."""
        return str(self.attrs.get("scene", "scene"))

    @property
    def scene_description(self) -> dict[str, Any]:
        """What to draw: bodies with meshes and colours, joints, springs and curves (from ``scene_json``)."""
        return json.loads(self.attrs.get("scene_json", "{}"))

    @property
    def report(self) -> dict[str, Any]:
        """The end-of-run table (from ``report_json``)."""
        return json.loads(self.attrs.get("report_json", "{}"))

    @property
    def last_state(self) -> np.ndarray:
        """A copy of the last recorded flat state vector, (n,): where a continued run starts."""
        return self["state"].values[-1].copy()

    def body(self, name: str) -> xarray.Dataset:
        """The variables of the body called `name`, without axis ``body``."""
        return self._select("body", name)

    def joint(self, name: str) -> xarray.Dataset:
        """The variables of the joint called `name`, without axis ``joint``."""
        return self._select("joint", name)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write NetCDF-4 to `path` whole or not at all: a temporary file beside it is renamed over it."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        os.close(handle)
        try:
            self.dataset.to_netcdf(temporary, engine="h5netcdf")
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return path

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trajectory:
        """Read a trajectory written by `save`, into memory.

        Raises:
            FileNotFoundError: there is no such file.
            TrajectoryError: the file is damaged, is not a trajectory, or is too large; the message names it.
        """
        import xarray

        path = Path(path)
        if not path.is_file():
            raise FileNotFoundError(f"there is no trajectory file {str(path)!r}")
        try:
            with xarray.open_dataset(
                path, engine="h5netcdf", cache=False, decode_times=False, mask_and_scale=False, phony_dims="sort"
            ) as lazy:
                _check_structure(lazy, str(path))
                dataset = lazy.load()
        except TrajectoryError:
            raise
        except Exception as error:  # h5py and xarray raise many kinds on damaged files
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise TrajectoryError(f"{str(path)!r} is not a readable NetCDF-4 file: {reason}") from error
        return cls(dataset, source=str(path))

    def _labels(self, axis: str) -> list[str]:
        return [str(name) for name in self.dataset[axis].values] if axis in self.dataset.coords else []

    def _select(self, axis: str, name: str) -> xarray.Dataset:
        known = self._labels(axis)
        if name not in known:
            raise KeyError(f"no {axis} is called {name!r}; there are {', '.join(known) or 'none'}")
        selected = self.dataset.isel({axis: known.index(name)})
        return selected[[v for v in selected.data_vars if axis in self.dataset[v].dims]]


def _names(names: Sequence[str]) -> np.ndarray:
    return np.array([str(name) for name in names], dtype=object)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _check(dataset: xarray.Dataset, source: str) -> None:
    """Refuse a dataset that is not a trajectory: structure first, then values."""
    _check_structure(dataset, source)
    _check_values(dataset, source)
    for key in ("scene_json", "report_json"):
        try:
            description = json.loads(dataset.attrs.get(key, "{}"))
        except (ValueError, TypeError, RecursionError) as error:
            raise TrajectoryError(f"{source}: attribute {key!r} is not JSON: {error}") from None
        if not isinstance(description, dict):
            raise TrajectoryError(f"{source}: attribute {key!r} must be a JSON object")


def _check_structure(dataset: xarray.Dataset, source: str) -> None:
    """Check names, axes, types and sizes, which need no array to be read."""
    missing = [name for name in ("time", "body") if name not in dataset.coords]
    missing += [name for name, variable in VARIABLES.items() if variable.required and name not in dataset.data_vars]
    if missing:
        raise TrajectoryError(f"{source} is not a trajectory: it has no {', '.join(missing)}")
    for axis in ("body", "joint", "force"):
        if dataset.sizes.get(axis, 0) > MAX_NAMES:
            raise TrajectoryError(f"{source}: {dataset.sizes[axis]} names along {axis!r}, at most {MAX_NAMES}")
    for axis, size in MAX_DIMENSIONS.items():
        if dataset.sizes.get(axis, size) != size:
            raise TrajectoryError(f"{source}: axis {axis!r} has length {dataset.sizes[axis]}, expected {size}")
    for name, array in dataset.variables.items():
        if array.size > MAX_VALUES:
            raise TrajectoryError(f"{source}: variable {name!r} has {array.size} values, at most {MAX_VALUES}")
        if name in VARIABLES and array.dims != VARIABLES[name].dims:
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
