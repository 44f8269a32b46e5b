"""Recorded runs: labelled arrays over time, saved as NetCDF.

A `Trajectory` is a thin layer over an ``xarray.Dataset``. It owns no physics: it names the axes, states the units, and
reads and writes files. A file from elsewhere is checked before anything else looks at it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .file_format import SAVED, require_suffix
from .trajectory_file import read, write
from .trajectory_format import VARIABLES, TrajectoryError, check, particle_span

if TYPE_CHECKING:
    import xarray

    from .view.plots import Plots

__all__ = ["VARIABLES", "Trajectory", "TrajectoryError"]


class Trajectory:
    """A recorded run.

    `dataset` holds the variables of `VARIABLES` (those that were recorded) over the coordinates time (s), body, joint,
    force, coordinate (of joints), xyz, wxyz and phase, and along axis particle, which has no labels; its attributes say
    which scene was run and how. Each variable is also an attribute: ``trajectory.position`` is an ``xarray.DataArray``,
    (time, body, xyz), in metres.
    """

    def __init__(self, dataset: xarray.Dataset, *, source: str = "the trajectory") -> None:
        """Wrap `dataset` after checking it; `source` names it in errors.

        Raises:
            TrajectoryError: a required variable is missing, or a shape or a value is impossible.
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
        attrs: Mapping[str, Any] | None = None,
    ) -> Trajectory:
        """Build a trajectory from plain arrays.

        Args:
            variables: ``"time"`` (n,) in s and any of `VARIABLES`, each with the shape its axes say.
            bodies: names along axis ``body``.
            joints: names along axis ``joint``.
            forces: names along axis ``force``.
            coordinates: names along axis ``coordinate``, with the unit of each, "rad" or "m".
            attrs: strings and numbers: ``scene``, ``method``, ``scene_json``, ``report_json``,
                ``provenance_json``, ``version``.

        Raises:
            TrajectoryError: an unknown variable, no ``"time"``, or a wrong shape.
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
        unlabelled: dict[str, int] = {}  # lengths, by the first variable that has the axis
        data = {}
        for name, values in variables.items():
            if name == "time":
                continue
            if name not in VARIABLES:
                raise TrajectoryError(f"unknown variable {name!r}; the known ones are {', '.join(VARIABLES)}")
            variable, array = VARIABLES[name], np.asarray(values, float)
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
        things = f"{len(self.bodies)} bodies" + (f", {self.particle_number} particles" if self.particle_number else "")
        return f"<Trajectory {self.scene_name!r}: {len(self)} instants, {span}, {things}>"

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
    def coordinates(self) -> dict[str, str]:
        """Names of the recorded coordinates of joints, in the order of axis ``coordinate``, and the unit of each."""
        names = self._labels("coordinate")
        return dict(zip(names, self._labels("coordinate_unit") or ["rad or m"] * len(names), strict=True))

    @property
    def particle_number(self) -> int:
        """How many particles were recorded."""
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
        """What was doubtful of the run, as `Report.warnings` has it; empty where nothing was, or nobody looked."""
        found = self.report.get("warnings")
        return [str(message) for message in found] if isinstance(found, list) else []

    @property
    def provenance(self) -> dict[str, Any]:
        """Where the run comes from (from ``provenance_json``): scene with its parameters and seed, settings, versions,
        hashes of its states; see `replay`."""
        return json.loads(self.attrs.get("provenance_json", "{}"))

    @property
    def plot(self) -> Plots:
        """Figures with matplotlib: ``trajectory.plot.energy()``, ``.phase("bob")`` and others."""
        from .view.plots import Plots

        return Plots(self)

    @property
    def last_state(self) -> np.ndarray:
        """A copy of the last recorded flat state vector, (n,): where a continued run starts."""
        return self["state"].values[-1].copy()

    @property
    def last_joint_coordinates(self) -> dict[str, float]:
        """Joint → its last recorded coordinate, rad (with full turns) or m, by the names of `joint_state`."""
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

    def particles(self, name: str) -> xarray.Dataset:
        """The variables of the group of particles called `name`, along axis ``particle`` in the group's own order.

        Raises:
            KeyError: no group is called so.
            TrajectoryError: the scene description's group is not within the recorded particles.
        """
        groups = self.scene_description.get("particles")
        listed = groups if isinstance(groups, list) else []
        known = {str(group.get("name")): group for group in listed if isinstance(group, dict)}
        if name not in known:
            raise KeyError(f"no particles are called {name!r}; there are {', '.join(known) or 'none'}")
        selected = self.dataset.isel(particle=particle_span(known[name], self.particle_number), missing_dims="ignore")
        return selected[[v for v in selected.data_vars if "particle" in self.dataset[v].dims]]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write NetCDF-4 to `path`, .nc, whole or not at all: a temporary file beside it is renamed over it. Raises
        ValueError for another suffix."""
        return write(self.dataset, require_suffix(path, *SAVED))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trajectory:
        """Read a trajectory written by `save`, into memory.

        Raises:
            FileNotFoundError: there is no such file.
            TrajectoryError: the file is damaged, is not a trajectory, or is too large; the message names it.
        """
        return cls(read(Path(path)), source=str(path))

    def save_picture(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write a picture of one instant, ``time=`` (s; the end if not given), as PNG; `view.still.picture` has more options.

        >>> trajectory.save_picture("out/run.png", time=1.5, ghosts=(0.5, 1.0), size=(1600, 900))  # doctest: +SKIP
        """
        from .view.still import still

        return still(self, path, **options)

    def save_movie(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write the run as a film, .mp4 or .gif; `view.movie.save_movie` has the options and what it raises.

        >>> trajectory.save_movie("out/run.mp4", speed=0.25)  # doctest: +SKIP
        """
        from .view.movie import save_movie

        return save_movie(self, path, **options)

    def save_report(self, path: str | os.PathLike[str]) -> Path:
        """Write the run as one self-contained page, .html: animation, plots, tables, and how to run it again."""
        from .view.report import write_report

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
