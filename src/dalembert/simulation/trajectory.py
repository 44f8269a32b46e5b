"""Recorded runs: labelled arrays over time, saved as NetCDF.

A `Trajectory` is a thin layer over an ``xarray.Dataset``. It contains no physics: it names the axes, states the units,
and reads and writes files. Files are checked before they are used.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Unpack

import numpy as np

from ..core.file_format import SAVED, TABLES, require_suffix
from ..core.keywords import with_keywords
from .picture_options import MovieOptions, PictureOptions

if TYPE_CHECKING:
    import pandas
    import xarray

    from ..contact.contact_point import Contact
    from ..view.player import Animation
    from ..view.plots import Plots
    from .contact_points import RecordedPoints


# Variables, and checks of datasets from unknown sources ---------------------------------------------------------------


class Variable(NamedTuple):
    """What one recorded quantity is: its axes, its unit, and whether a run must have it."""

    dims: tuple[str, ...]
    units: str
    description: str
    required: bool = False
    may_be_nan: bool = False  # a solver may not define it at every instant
    dtype: str = "f8"


VARIABLES: dict[str, Variable] = {
    "state": Variable(("time", "phase"), "SI", "flat state vector, the point in phase space"),
    "position": Variable(("time", "body", "xyz"), "m", "centre of mass, world axes", required=True),
    "orientation": Variable(("time", "body", "wxyz"), "1", "unit quaternion, body to world", required=True),
    "momentum": Variable(("time", "body", "xyz"), "kg m/s", "linear momentum, world axes"),
    "angular_momentum": Variable(("time", "body", "xyz"), "kg m^2/s", "about the centre of mass, world axes"),
    "angular_velocity": Variable(("time", "body", "xyz"), "rad/s", "of each body, world axes"),
    "particle_position": Variable(("time", "particle", "xyz"), "m", "particles, world axes"),
    "particle_momentum": Variable(("time", "particle", "xyz"), "kg m/s", "of each particle, world axes"),
    "kinetic": Variable(("time",), "J", "kinetic energy", required=True),
    "potential": Variable(("time",), "J", "potential energy", required=True),
    "work": Variable(("time", "force"), "J", "work done by each non-conservative force since the start"),
    "projection_loss": Variable(
        ("time",), "J", "energy removed by projection on the constraints since the start, an error"
    ),
    "constraint_work": Variable(
        ("time",), "J", "work done by constraint forces since the start; an error unless constraints move"
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
    "obstacle_contact_force": Variable(
        ("time", "obstacle", "xyz"), "N", "of all contacts on the obstacle in the last step, world axes"
    ),
    "contacts": Variable(("time",), "1", "contact points in the last step"),
    "penetration": Variable(("time",), "m", "deepest overlap since the last frame"),
    "contact_residual": Variable(("time",), "m/s", "largest natural-map residual since the last frame"),
    # Contact points, frame after frame: see `contact_points`
    "contact_point_count": Variable(
        ("time",), "1", "number of contact points of each frame, −1 if not recorded", dtype="i4"
    ),
    "contact_point_start": Variable(("time",), "1", "index of the first point of each frame", dtype="i4"),
    "contact_point_a": Variable(
        ("contact_point",),
        "1",
        "index of the first body; for obstacles, the number of bodies plus their index",
        dtype="i4",
    ),
    "contact_point_b": Variable(("contact_point",), "1", "index of the second body or obstacle, likewise", dtype="i4"),
    "contact_point_manifold": Variable(
        ("contact_point",),
        "1",
        "points with the same number in a frame belong to the same two convex parts",
        dtype="i4",
    ),
    "contact_point_position": Variable(("contact_point", "xyz"), "m", "midway between the surfaces, world axes"),
    "contact_point_normal": Variable(("contact_point", "xyz"), "1", "unit, from a to b, world axes", dtype="f4"),
    "contact_point_separation": Variable(
        ("contact_point",), "m", "distance of the surfaces, negative in overlap", dtype="f4"
    ),
    "contact_point_force": Variable(("contact_point", "xyz"), "N", "on b, the mean over the last step, world axes"),
    "solver_iterations": Variable(
        ("time",), "1", "iterations for one solution of the constraint system, since the last frame"
    ),
    "solver_residual": Variable(("time",), "1", "largest relative residual of these solutions since the last frame"),
}

MAX_VALUES = 500_000_000  # numbers in one variable: 4 GB
MAX_NAMES = 1_000_000  # bodies, joints or forces
MAX_PARTICLES = 10_000_000
MAX_TEXT = 256_000_000  # characters in one attribute (scene_json holds the meshes)
MAX_DIMENSIONS = {"xyz": 3, "wxyz": 4}


class TrajectoryError(ValueError):
    """Raised if the arrays or the file of a trajectory are invalid; the message says what is wrong, and where."""


class Samples(dict[str, "xarray.DataArray"]):
    """Name of a sensor → its samples; see `Trajectory.sensors`."""

    def __missing__(self, name: str) -> NoReturn:
        raise KeyError(f"there is no sensor {name!r}; there are {', '.join(self) or 'none: see Scene.add_sensor'}")


def check(dataset: xarray.Dataset, source: str) -> None:
    """Refuse a dataset that is not a trajectory: structure first, then values."""
    check_structure(dataset, source)
    _check_values(dataset, source)
    for key in ("scene_json", "report_json", "provenance_json", "constants_json"):
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
    for axis in ("body", "obstacle", "joint", "force", "coordinate"):
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
                when = f" at t = {times[first[0]]:g} s" if variable.dims[0] == "time" else ""
                raise TrajectoryError(f"{source}: {name!r} is not finite{when}, index {tuple(first.tolist())}")
    if any(name.startswith("contact_point_") for name in map(str, dataset.data_vars)):
        from .contact_points import impossible

        found = impossible(dataset)
        if found is not None:
            raise TrajectoryError(f"{source}: {found}")
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


# Trajectory -----------------------------------------------------------------------------------------------------------


class Trajectory:
    """A recorded run, as labelled arrays.

    `dataset` has the recorded variables of `VARIABLES` over the coordinates time (s), body, obstacle, joint, force,
    coordinate (of joints), xyz, wxyz and phase, and over the axes particle and contact_point, which have no labels. Its
    attributes describe the scene and the settings. Each variable is also an attribute: ``trajectory.position`` is an
    ``xarray.DataArray``, (time, body, xyz), in metres.
    """

    if TYPE_CHECKING:  # the names of `VARIABLES`, and the axis of time, as attributes
        time: xarray.DataArray
        state: xarray.DataArray
        position: xarray.DataArray
        orientation: xarray.DataArray
        momentum: xarray.DataArray
        angular_momentum: xarray.DataArray
        angular_velocity: xarray.DataArray
        particle_position: xarray.DataArray
        particle_momentum: xarray.DataArray
        kinetic: xarray.DataArray
        potential: xarray.DataArray
        work: xarray.DataArray
        projection_loss: xarray.DataArray
        constraint_work: xarray.DataArray
        balance: xarray.DataArray
        linear_impulse_balance: xarray.DataArray
        angular_impulse_balance: xarray.DataArray
        reaction_force: xarray.DataArray
        reaction_torque: xarray.DataArray
        joint_error: xarray.DataArray
        joint_velocity_error: xarray.DataArray
        joint_coordinate: xarray.DataArray
        joint_speed: xarray.DataArray
        effort: xarray.DataArray
        contact_force: xarray.DataArray
        obstacle_contact_force: xarray.DataArray
        contacts: xarray.DataArray
        penetration: xarray.DataArray
        contact_residual: xarray.DataArray
        contact_point_count: xarray.DataArray
        contact_point_start: xarray.DataArray
        contact_point_a: xarray.DataArray
        contact_point_b: xarray.DataArray
        contact_point_manifold: xarray.DataArray
        contact_point_position: xarray.DataArray
        contact_point_normal: xarray.DataArray
        contact_point_separation: xarray.DataArray
        contact_point_force: xarray.DataArray
        solver_iterations: xarray.DataArray
        solver_residual: xarray.DataArray

    def __init__(self, dataset: xarray.Dataset, *, source: str = "the trajectory") -> None:
        """Wrap `dataset` after checking it; `source` names it in errors.

        Raises:
            TrajectoryError: if a required variable is missing, or a shape or a value is invalid.
        """
        check(dataset, source)
        self.dataset = dataset

    @classmethod
    def from_arrays(
        cls,
        variables: Mapping[str, np.ndarray],
        *,
        bodies: Sequence[str],
        joints: Sequence[str] = (),
        forces: Sequence[str] = (),
        coordinates: Mapping[str, str] | None = None,
        obstacles: Sequence[str] = (),
        attrs: Mapping[str, Any] | None = None,
    ) -> Trajectory:
        """Build a trajectory from plain arrays.

        Args:
            variables: ``"time"`` (n,) in s and any of `VARIABLES`, each with the shape given by its axes.
            bodies: names along axis ``body``.
            joints: names along axis ``joint``.
            forces: names along axis ``force``.
            coordinates: names along axis ``coordinate``, with the unit of each, "rad" or "m".
            obstacles: names along axis ``obstacle``.
            attrs: strings and numbers: ``scene``, ``method``, ``scene_json``, ``report_json``,
                ``provenance_json``, ``version``.

        Raises:
            TrajectoryError: for an unknown variable, a missing ``"time"``, or a wrong shape.
        """
        import xarray

        if "time" not in variables:
            raise TrajectoryError('the trajectory has no "time": give its instants in seconds, shape (n,)')
        labels: dict[str, Any] = {
            "time": ("time", np.asarray(variables["time"], float), {"units": "s"}),
            "body": ("body", _names(bodies)),
            "joint": ("joint", _names(joints)),
            "force": ("force", _names(forces)),
            "coordinate": ("coordinate", _names(list(coordinates or {}))),
            "coordinate_unit": ("coordinate", _names(list((coordinates or {}).values()))),
            "xyz": ("xyz", _names("xyz")),
            "wxyz": ("wxyz", _names("wxyz")),
        }
        if len(obstacles):
            labels["obstacle"] = ("obstacle", _names(obstacles))
        unlabelled: dict[str, int] = {}  # lengths, by the first variable that has the axis
        data = {}
        for name, values in variables.items():
            if name == "time":
                continue
            if name not in VARIABLES:
                raise TrajectoryError(f"unknown variable {name!r}; the known ones are {', '.join(VARIABLES)}")
            variable, array = VARIABLES[name], np.asarray(values, VARIABLES[name].dtype)
            expected = tuple(len(labels[d][1]) if d in labels else unlabelled.get(d, -1) for d in variable.dims)
            if array.ndim != len(expected) or any(e not in (-1, s) for e, s in zip(expected, array.shape, strict=True)):
                wanted = ", ".join(f"{d}={'any' if e < 0 else e}" for d, e in zip(variable.dims, expected, strict=True))
                raise TrajectoryError(f"variable {name!r} has shape {array.shape}, expected ({wanted})")
            unlabelled |= {d: s for d, s in zip(variable.dims, array.shape, strict=True) if d not in labels}
            data[name] = (variable.dims, array, {"units": variable.units, "long_name": variable.description})
        if "state" in data:
            labels["phase"] = ("phase", np.arange(unlabelled["phase"]))
        return cls(xarray.Dataset(data, coords=labels, attrs=dict(attrs or {})))

    def __getitem__(self, name: str) -> xarray.DataArray:
        """The recorded variable or coordinate `name`; raises KeyError, listing the names, for an unknown one."""
        if name not in self.dataset.variables:
            raise KeyError(
                f"{name!r} was not recorded{self._meant(name)}; recorded are {', '.join(map(str, self.dataset.data_vars))}"
            )
        return self.dataset[name]

    def _meant(self, name: str) -> str:
        """What to say of a name that is a body's, or like one."""
        bodies = [str(each) for each in self.dataset.coords["body"].values] if "body" in self.dataset.coords else []
        near = difflib.get_close_matches(str(name), bodies, n=1, cutoff=0.6)
        return f"; of the body {near[0]!r} write position.sel(body={near[0]!r})" if near else ""

    if not TYPE_CHECKING:  # to a type checker, a class with `__getattr__` has every attribute

        def __getattr__(self, name: str) -> xarray.DataArray:
            if name.startswith("_") or name == "dataset":
                raise AttributeError(name)
            try:
                return self[name]
            except KeyError as error:
                raise AttributeError(error.args[0]) from None

    def __dir__(self) -> list[str]:
        own = [name for name in super().__dir__() if not name.startswith("_")]
        return [*own, *(str(name) for name in self.dataset.data_vars if name in VARIABLES)]

    def __contains__(self, name: object) -> bool:
        return name in self.dataset.variables

    def __len__(self) -> int:
        return int(self.dataset.sizes["time"])

    def __repr__(self) -> str:
        span = f"{self.times[0]:g} to {self.times[-1]:g} s" if len(self) else "empty"
        things = f"{len(self.bodies)} bodies" + (f", {self.particle_number} particles" if self.particle_number else "")
        return f"<Trajectory {self.scene_name!r}: {len(self)} instants, {span}, {things}>"

    def _repr_html_(self) -> str:
        from ..view.notebook import run_html

        return run_html(self)

    @property
    def times(self) -> np.ndarray:
        """The recorded instants, (n,), s."""
        return self.dataset["time"].values

    @property
    def bodies(self) -> list[str]:
        """Names of the bodies, in the order of axis ``body``."""
        return self._labels("body")

    @property
    def obstacles(self) -> list[str]:
        """Names of the obstacles, in the order of axis ``obstacle``; empty if no body could touch them."""
        return self._labels("obstacle")

    @property
    def joints(self) -> list[str]:
        """Names of the joints, in the order of axis ``joint``."""
        return self._labels("joint")

    @property
    def forces(self) -> list[str]:
        """Names of the non-conservative forces of the energy ledger, in the order of axis ``force``."""
        return self._labels("force")

    @property
    def coordinates(self) -> dict[str, str]:
        """Names of the recorded coordinates of joints, in the order of axis ``coordinate``, and the unit of each."""
        names = self._labels("coordinate")
        return dict(zip(names, self._labels("coordinate_unit") or ["rad or m"] * len(names), strict=True))

    @property
    def particle_number(self) -> int:
        """The number of recorded particles."""
        return int(self.dataset.sizes.get("particle", 0))

    @property
    def attrs(self) -> dict[str, Any]:
        """The run's attributes: scene, method, version, final_state_hash and the JSON texts."""
        return self.dataset.attrs

    @property
    def scene_name(self) -> str:
        """The name of the scene that was run."""
        return str(self.attrs.get("scene", "scene"))

    @property
    def scene_description(self) -> dict[str, Any]:
        """What to draw: bodies with meshes and colours, particles, joints, springs and curves (from ``scene_json``)."""
        return json.loads(self.attrs.get("scene_json", "{}"))

    @property
    def report(self) -> dict[str, Any]:
        """The end-of-run table (from ``report_json``)."""
        return json.loads(self.attrs.get("report_json", "{}"))

    @property
    def warnings(self) -> list[str]:
        """The warnings of the run, those of `Report.warnings`."""
        found = self.report.get("warnings")
        return [str(message) for message in found] if isinstance(found, list) else []

    @property
    def provenance(self) -> dict[str, Any]:
        """The origin of the run (from ``provenance_json``): scene with parameters and seed, settings, versions, hashes
        of states; see `replay`."""
        return json.loads(self.attrs.get("provenance_json", "{}"))

    @property
    def plot(self) -> Plots:
        """Figures with matplotlib: ``trajectory.plot.energy()``, ``.phase("bob")`` and others."""
        from ..view.plots import Plots

        return Plots(self)

    @property
    def last_state(self) -> np.ndarray:
        """A copy of the last recorded flat state vector, (n,): the start of a resumed run."""
        return self["state"].values[-1].copy()

    @property
    def last_joint_coordinates(self) -> dict[str, float]:
        """Joint → its last recorded coordinate, rad (with full turns) or m, by the names of `JointStates`."""
        if "joint_coordinate" not in self:
            return {}
        last = self["joint_coordinate"].values[-1]
        return dict(zip(map(str, self["coordinate"].values), last.tolist(), strict=True))

    def body(self, name: str) -> xarray.Dataset:
        """The variables of the body called `name`, without axis ``body``."""
        return self._select("body", name)

    def joint(self, name: str) -> xarray.Dataset:
        """The variables of the joint called `name`, without axis ``joint``."""
        return self._select("joint", name)

    def obstacle(self, name: str) -> xarray.Dataset:
        """The variables of the obstacle called `name`, without axis ``obstacle``."""
        return self._select("obstacle", name)

    @property
    def recorded_points(self) -> RecordedPoints:
        """The contact points of all frames as plain arrays, frame after frame. Raises KeyError if none were recorded."""
        from .contact_points import RecordedPoints

        return RecordedPoints(self.dataset)

    @property
    def sensors(self) -> dict[str, xarray.DataArray]:
        """Sensor → its samples, (time, component), with the times (s) at which they were taken, the names of components, and
        the attributes ``kind``, ``units`` and ``rate`` (Hz); images have the axes time, row, column and color.

        >>> trajectory.sensors["imu"].sel(component="rate z")  # doctest: +SKIP
        """
        from ..sensors.recorded import detach

        return Samples(detach(self.dataset))

    @property
    def contact_points(self) -> xarray.Dataset:
        """All contact points along axis ``contact_point``: ``time`` of their frame (s), ``a`` and ``b`` (names of
        bodies or obstacles), ``position`` (m), ``normal`` (unit, from a to b), ``separation`` (m, negative in overlap),
        ``force`` (N, on b, the mean over the step before the frame), ``manifold``. All pairs with a force or an overlap
        are included. For sleeping bodies they are the points at the time when they fell asleep. Raises KeyError if none
        were recorded.
        """
        return self.recorded_points.dataset()

    def contacts_at(self, time: float) -> list[Contact]:
        """The contact points of the last frame at or before `time` (s).

        Raises KeyError for a run without contact points, and ValueError for a time outside the run and a frame without
        recorded points.
        """
        from ..view.still import within

        within(self, "time", time)
        points = self.recorded_points
        index = max(int(np.searchsorted(self.times, time + 1e-9 * max(1.0, abs(time)), side="right")) - 1, 0)
        if not points.kept[index]:
            raise ValueError(
                f"the contact points of the frame at {self.times[index]:g} s were not recorded; choose another time"
            )
        return points.listed(index)

    @property
    def contact_pairs(self) -> dict[tuple[str, str], float]:
        """Names of each pair in contact → the largest force between them in any frame, N; the largest first. Raises
        KeyError for a run without contact points."""
        return self.recorded_points.pairs()

    def contact_force_between(self, a: str, b: str) -> xarray.DataArray:
        """The contact force of `a` on `b` (names of bodies or obstacles), (time, xyz), N, world axes: the mean over the
        step before each frame, zero without contact, NaN for frames without recorded points.

        Raises KeyError for an unknown name and for a run without contact points, and ValueError if `a` and `b` are the
        same.
        """
        import xarray

        forces = self.recorded_points.force_between(a, b)
        about = {"units": "N", "long_name": f"contact force of {a} on {b}"}
        axes = {"time": self.dataset["time"], "xyz": self.dataset["xyz"]}
        return xarray.DataArray(forces, axes, ("time", "xyz"), f"force of {a} on {b}", about)

    def particles(self, name: str) -> xarray.Dataset:
        """The variables of the group of particles called `name`, along axis ``particle`` in the group's own order.

        Raises:
            KeyError: if there is no such group.
            TrajectoryError: if the group of the scene description exceeds the recorded particles.
        """
        groups = self.scene_description.get("particles")
        listed = groups if isinstance(groups, list) else []
        known = {str(group.get("name")): group for group in listed if isinstance(group, dict)}
        if name not in known:
            raise KeyError(f"there are no particles {name!r}; there are {', '.join(known) or 'none'}")
        selected = self.dataset.isel(particle=particle_span(known[name], self.particle_number), missing_dims="ignore")
        return selected[[v for v in selected.data_vars if "particle" in self.dataset[v].dims]]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the run to `path`. The file is complete or not written at all: a temporary file beside it is renamed.
        The suffix determines the format:

        - .nc: NetCDF-4, all of the run; `load` reads it;
        - .csv, .parquet: the table of `to_pandas`, without the scene and its report.

        Raises ValueError for another suffix, and ImportError for .parquet without pyarrow.
        """
        path = require_suffix(path, *SAVED, *TABLES)
        if path.suffix.lower() in SAVED:
            from .netcdf import write

            return write(self.dataset, path)
        from .data_frame import save_table

        return save_table(self, path)

    def to_pandas(self, *, particles: bool | None = None) -> pandas.DataFrame:
        """The frames as a `pandas.DataFrame`, whose index is the time in s.

        The name of a column has the object, the quantity and the unit: ``box.x [m]``, ``box.wz [rad/s]``,
        ``pivot.force_x [N]``, ``air.work [J]``, ``kinetic [J]``. Values are exactly those of the arrays.

        particles : True: each particle has columns, such as ``sand[3].x [m]``. False: no columns for particles.
            Default: columns for each particle in runs with up to 200 particles; in larger ones the mean of each group,
            ``sand.mean_x [m]``.

        Raises ValueError for other values of `particles`.

        >>> import dalembert as dal
        >>> scene = dal.Scene("thrown")
        >>> ball = scene.add_body("ball", dal.Sphere(0.1), mass=1.0, velocity=(1.0, 0.0, 5.0))
        >>> table = dal.simulate(scene, 1.0, rtol=1e-10).trajectory.to_pandas()
        >>> round(float(table["ball.z [m]"].max()), 3)
        1.274
        """
        from .data_frame import data_frame

        return data_frame(self, particles)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trajectory:
        """Read a trajectory written by `save`, into memory.

        Raises:
            FileNotFoundError: if the file does not exist.
            TrajectoryError: if the file is damaged, is not a trajectory, or is too large; the message names it.
            ValueError: if the file is a table, which does not contain the whole run.
        """
        from .netcdf import read

        if Path(path).suffix.lower() in TABLES:
            raise ValueError(
                f"{str(path)!r} is a table, which does not contain the whole run; read it with pandas, and save runs as .nc"
            )
        return cls(read(Path(path)), source=str(path))

    @with_keywords(PictureOptions)
    def save_picture(self, path: str | os.PathLike[str], **options: Unpack[PictureOptions]) -> Path:
        """Write a picture of one instant, ``time=`` (s; default: the end), as PNG; `view.still.picture` has more
        options.

        >>> trajectory.save_picture("out/run.png", time=1.5, ghosts=(0.5, 1.0), size=(1600, 900))  # doctest: +SKIP
        """
        from ..view.still import still

        return still(self, path, **options)

    @with_keywords(MovieOptions)
    def save_movie(self, path: str | os.PathLike[str], **options: Unpack[MovieOptions]) -> Path:
        """Write the run as a film, .mp4 or .gif; `view.still.save_movie` has the options and what it raises.

        >>> trajectory.save_movie("out/run.mp4", speed=0.25)  # doctest: +SKIP
        """
        from ..view.still import save_movie

        return save_movie(self, path, **options)

    def animate(self, *, speed: float = 1.0, height: int = 480, autoplay: bool = True) -> Animation:
        """A player of the run for notebooks, shown as the last value of a cell. Drag to rotate, scroll to zoom; play,
        pause, and choose the time.

        It needs no server and no network, and works in a saved notebook. Its size is at most 4 MB: up to 400 frames,
        fewer for runs with many bodies or particles; large meshes are drawn coarser.

        speed : simulated seconds per second: 0.5 is slow motion. height : pixels. autoplay : whether it plays when it
            becomes visible, without a click.

        Raises ValueError for a run without frames, and for invalid numbers.

        >>> trajectory.animate(speed=0.5)  # doctest: +SKIP
        """
        from ..view.player import Animation

        return Animation(self, speed, height, autoplay)

    def save_report(self, path: str | os.PathLike[str]) -> Path:
        """Write the run as one self-contained page, .html: animation, plots, tables, and the command that runs it
        again.
        """
        from ..view.report import write_report

        return write_report(self, path)

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
